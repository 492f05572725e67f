"""Run the benchmarks, print a table and write results.json; arguments choose by name."""

from dataclasses import asdict
from importlib import import_module
import json
from pathlib import Path
import sys

from harness import BENCHMARKS, Figure
from robident_ros.cli.tables import format_table

HERE = Path(__file__).parent


def main(names: list[str]) -> int:
    """Measure and report; exit code 1 when a target is missed."""
    for path in sorted(HERE.glob('*.py')):
        if path.stem not in ('harness', 'run'):
            import_module(path.stem)
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(f'unknown: {", ".join(sorted(unknown))}; there are: {", ".join(BENCHMARKS)}')
        return 2
    figures = {}
    for name in names or BENCHMARKS:
        print(f'measuring {name} …', file=sys.stderr, flush=True)
        figures[name] = BENCHMARKS[name]()
    _write({name: _as_data(figure) for name, figure in figures.items()})
    print(_as_text(figures))
    return int(any(figure.met is False for figure in figures.values()))


def _as_data(figure: Figure) -> dict:
    return {**asdict(figure), 'ratio': figure.ratio, 'met': figure.met}


def _write(results: dict) -> None:
    """Keep what was measured before under other names."""
    path = HERE / 'results.json'
    known = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**known, **results}, indent=1, ensure_ascii=False) + '\n')


def _as_text(figures: dict[str, Figure]) -> str:
    rows = [[name, f'{figure.value:.4g} {figure.unit}',
             '' if figure.ratio is None else f'{figure.ratio:.3g}',
             '' if figure.target is None else f'{figure.target:g}',
             {True: 'yes', False: 'NO', None: ''}[figure.met],
             '' if figure.baseline is None
             else f'{figure.baseline:.4g} {figure.unit} {figure.baseline_name}']
            for name, figure in figures.items()]
    return format_table(['benchmark', 'value', 'ratio', 'target', 'met', 'baseline'], rows,
                        right=(1, 2, 3))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
