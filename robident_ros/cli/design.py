"""``robident design``: an exciting trajectory for a robot, within its limits."""

import argparse
import json
from pathlib import Path
import sys

from robident_ros.cli.options import add_robot_options, load_robot_from
from robident_ros.cli.tables import format_table
from robident_ros.errors import ExcitationError

KINDS = ('fourier', 'polynomial', 'single-joint')


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        'design', help='design an exciting trajectory within the limits of a robot',
        description='Design the motion that makes the parameters of a robot most identifiable, '
        'within the limits of the URDF and the configuration.')
    add_robot_options(parser)
    parser.add_argument('--kind', default='fourier', choices=KINDS,
                        help='Fourier series (periodic), points joined by polynomials, or one '
                        'joint at a time')
    parser.add_argument('--seed', type=int, default=0, help='of the random starts')
    parser.add_argument('--budget', type=float, metavar='SECONDS',
                        help='CPU time of all starts together (default: as configured, else 20)')
    parser.add_argument('-o', '--output', metavar='FILE', help='write the trajectory (YAML)')
    parser.add_argument('--plot', metavar='FILE', help='write a picture of it (.png, .pdf)')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Design, save, draw, print."""
    from robident_ros.excitation.outcome import design
    from robident_ros.excitation.trajectory import save_trajectory
    _check_folders(args)
    robot = load_robot_from(args)
    outcome = design(robot, args.kind, args.seed, args.budget, _Line())
    if args.output:
        save_trajectory(outcome.trajectory, args.output, outcome.to_data())
    if args.plot:
        from robident_ros.report.trajectory_plot import plot_trajectory
        plot_trajectory(outcome.trajectory, robot, args.plot)
    print(json.dumps(outcome.to_data(), ensure_ascii=False) if args.json
          else _as_text(outcome, args))
    return 0


def _check_folders(args: argparse.Namespace) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    for path in (args.output, args.plot):
        if path and not Path(path).resolve().parent.is_dir():
            raise ExcitationError(f'{path}: its folder does not exist; make it first')


class _Line:
    """Progress on stderr: one line that changes in a terminal, lines elsewhere."""

    def __call__(self, progress) -> None:
        text = (f'{progress.elapsed_seconds:5.1f} s  {progress.stage:8} {progress.starts:3} '
                f'starts  cond {progress.cond:8.2f}  '
                f'{"violation" if progress.violation > 0 else "room"} '
                f'{abs(progress.violation):.3f}')
        if sys.stderr.isatty():
            print(f'\r{text}\033[K', end='', file=sys.stderr, flush=True)
            if progress.stage == 'polish':
                print(file=sys.stderr)
        else:
            print(text, file=sys.stderr, flush=True)


def _as_text(outcome, args: argparse.Namespace) -> str:
    rows = [[kind, f'{margin:.3g}{" m" if kind in ("workspace", "collision") else ""}']
            for kind, margin in outcome.margins.items()]
    binding = ', '.join(outcome.binding) or 'none'
    lines = [outcome.headline,
             f'condition number {outcome.cond:.2f} ({outcome.scaled_cond:.2f} with scaled columns)'
             f', equilibrium S = {outcome.equilibrium:.3g}', '',
             format_table(['limit', 'margin (share of the limit)'], rows), '',
             f'at the limit: {binding}',
             f'{outcome.evaluations} evaluations, {outcome.cpu_seconds:.1f} s of CPU']
    lines += [f'note: {note}' for note in outcome.notes]
    if outcome.interrupted:
        lines.append('stopped early: this is the best so far')
    if args.output:
        lines.append(f'written: {args.output}')
    return '\n'.join(lines)
