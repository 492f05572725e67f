"""
Recordings in text files: one layout of our own, and a column map for foreign files.

Our layout is a table of comma-separated numbers under one header line::

    time,position/shoulder,position/elbow,velocity/shoulder,velocity/elbow,effort/shoulder,...

in s, rad (m), rad/s (m/s) and N·m (N, or A), with ``nan`` for what is not known. Columns may
stand in any order; velocities may be left out, efforts too. Lines that start with ``#`` are
comments; ``# start_ns: 123`` says what the clock showed at time 0.

Foreign files are described by ``RecordingOptions``: which columns of which file, their units,
and the reduction between motors and joints.
"""  # noqa: A005

import csv
from io import StringIO
from pathlib import Path
import re
import warnings

import numpy as np
from robident_ros.config import ChannelOptions, RecordingOptions, UNITS
from robident_ros.errors import did_you_mean, RecordingError
from robident_ros.files import write_text
from robident_ros.recording.recording import EXACT_NS, Recording

QUANTITIES = {'position': 'q', 'velocity': 'v', 'effort': 'tau'}
DELIMITERS = (',', ';', '\t', None)  # None: any white space


def write_csv(recording: Recording, path: str | Path) -> None:
    """Write a recording in our layout; every number comes back exactly."""
    path = Path(path)
    header, columns = ['time'], [recording.t[:, None]]
    for quantity, attribute in QUANTITIES.items():
        values = getattr(recording, attribute)
        if values is not None:
            header += [f'{quantity}/{name}' for name in recording.joint_names]
            columns.append(values)
    text = StringIO()
    text.write(f'# start_ns: {recording.start_ns}\n')
    csv.writer(text, lineterminator='\n').writerow(header)
    np.savetxt(text, np.hstack(columns), fmt='%.17g', delimiter=',')
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text.getvalue())


def read_csv(path: str | Path) -> Recording:
    """Read a recording in our layout."""
    path = Path(path)
    comments, header, table = read_table(path)
    quantities: dict[str, dict[str, int]] = {name: {} for name in QUANTITIES}
    for column, title in enumerate(header or ()):
        quantity, slash, joint = title.partition('/')
        if slash and quantity in quantities:
            quantities[quantity][joint] = column
    names = tuple(quantities['position'])
    if 'time' not in (header or ()) or not names:
        raise RecordingError(f'{path}: expected a header line with "time" and "position/<joint>", '
                             f'found {", ".join(header or ["none"])}; describe a foreign file in '
                             'the "recording" section of a configuration')

    def pick(quantity: str) -> np.ndarray:
        unknown = np.full(len(table), np.nan)
        columns = quantities[quantity]
        return np.column_stack([table[:, columns[n]] if n in columns else unknown for n in names])

    start = re.search(r'start_ns: *(-?\d+)', comments)
    v = pick('velocity') if quantities['velocity'] else None
    return _to_recording(table[:, header.index('time')], pick('position'), v, pick('effort'),
                         names, path, int(start[1]) if start else 0)


def _to_recording(t: np.ndarray, q: np.ndarray, v: np.ndarray | None, tau: np.ndarray,
                  names: tuple[str, ...], path: Path, start_ns: int = 0) -> Recording:
    """Make a recording; times since 1970 are counted from the first sample."""
    if np.isfinite(t).all() and len(t) and abs(t[0]) * 1e9 >= EXACT_NS:
        start_ns += round(t[0] * 1e9)
        t = t - t[0]
    return Recording(t, q, v, np.where(np.isinf(tau), np.nan, tau), names, str(path), start_ns)


def read_mapped(path: str | Path, options: RecordingOptions) -> Recording:
    """
    Read a recording from foreign files.

    :param path: the file, or the folder of the files named in the options
    """
    path, names = Path(path), options.joints
    if not names or options.position is None:
        raise RecordingError(f'{path}: to read a foreign file, the configuration must give '
                             'recording: joints and recording: position')
    ratios = reduction_matrix(options)
    tables: dict[Path, tuple] = {}

    def channel(name: str, width: int) -> np.ndarray | None:
        chosen = getattr(options, name)
        return None if chosen is None else _pick(path, name, chosen, width, tables)

    q, v, tau = (channel(name, len(names)) for name in QUANTITIES)
    if options.position.side == 'motor':
        q = np.linalg.solve(ratios, q.T).T
    if v is not None and options.velocity.side == 'motor':
        v = np.linalg.solve(ratios, v.T).T
    if tau is not None and options.effort.side == 'motor':
        tau = tau @ ratios
    q = q + [options.position_offset.get(name, 0.0) for name in names]
    t = channel('time', 1)
    if t is None and not options.rate_hz:
        raise RecordingError(f'{path}: give recording: time or recording: rate_hz')
    t = np.arange(len(q)) / options.rate_hz if t is None else t[:, 0]
    _check_lengths(path, {'time': t, 'position': q, 'velocity': v, 'effort': tau})
    return _to_recording(t, q, v, np.full(q.shape, np.nan) if tau is None else tau, names, path)


def reduction_matrix(options: RecordingOptions) -> np.ndarray:
    """Return R of q_motor = R·q; motors that are not named turn one to one."""
    names, ratios = options.joints, np.eye(len(options.joints))
    for key in (*options.reduction, *(j for row in options.reduction.values() for j in row),
                *options.position_offset):
        if key not in names:
            raise RecordingError('recording: reduction or position_offset: unknown joint '
                                 f'{key!r}, {did_you_mean(key, names)}')
    for motor, row in options.reduction.items():
        ratios[names.index(motor)] = [row.get(name, 0.0) for name in names]
    if np.linalg.matrix_rank(ratios) < len(names):
        raise RecordingError('recording: reduction: cannot be inverted; every joint must turn a '
                             'motor of its own')
    return ratios


def _pick(path: Path, name: str, options: ChannelOptions, width: int,
          tables: dict[Path, tuple]) -> np.ndarray:
    """Return the columns of one quantity in the units used here."""
    if path.is_dir() and options.file is None:
        raise RecordingError(f'{path}: is a folder: give recording: {name}: file')
    file = (path if path.is_dir() else path.parent) / options.file if options.file else path
    if file not in tables:
        tables[file] = read_table(file)
    _, header, table = tables[file]
    where = f'{file}: recording: {name}'
    if options.one_per_line:
        if table.shape[1] != 1 or table.size % width:
            raise RecordingError(f'{where}: expected one number per line and a multiple of '
                                 f'{width} lines, found {table.shape[1]} columns and '
                                 f'{len(table)} lines')
        columns, table = list(range(width)), table.reshape(-1, width)
    else:
        columns = _find_columns(where, options, header, table.shape[1], width)
    return table[:, columns] * (options.scale * UNITS[options.unit or 's'])


def _find_columns(where: str, options: ChannelOptions, header: list[str] | None, available: int,
                  width: int) -> list[int]:
    if options.columns is not None:
        for title in options.columns:
            if title not in (header or ()):
                raise RecordingError(f'{where}: no column {title!r}, '
                                     f'{did_you_mean(title, header or ())}')
        columns = [header.index(title) for title in options.columns]
    elif options.first_column is not None:
        first = options.first_column - 1
        columns = list(range(first, min(first + width, available)))
    else:
        columns = list(range(available))
    if len(columns) != width:
        raise RecordingError(f'{where}: expected {width} columns, one per joint, found '
                             f'{len(columns)}; give columns or first_column')
    return columns


def _check_lengths(path: Path, channels: dict[str, np.ndarray | None]) -> None:
    lengths = {name: len(value) for name, value in channels.items() if value is not None}
    if len(set(lengths.values())) > 1:
        found = ', '.join(f'{name} {length}' for name, length in lengths.items())
        raise RecordingError(f'{path}: expected as many samples of each quantity, found {found}')


def read_table(path: Path) -> tuple[str, list[str] | None, np.ndarray]:
    """Read comments, header (if any) and numbers of a text file; find its delimiter."""
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            comments, first, skipped = '', '', 0
            for line in file:
                first = line
                if line.strip() and not line.startswith('#'):
                    break
                comments, skipped = comments + line, skipped + 1
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, 'strerror', None) or 'it is not a text file'
        raise RecordingError(f'{path}: cannot be read: {reason}') from error
    delimiter = next(d for d in DELIMITERS if d is None or d in first)
    titles = next(csv.reader([first.strip()], delimiter=delimiter)) if delimiter else first.split()
    titles = [title.strip() for title in titles]
    header = None if all(_is_number(title) for title in titles) else titles
    table = _load(path, delimiter, skipped + (header is not None))
    if header is not None and len(header) != table.shape[1]:
        raise RecordingError(f'{path}: the header names {len(header)} columns, the table has '
                             f'{table.shape[1]}')
    return comments, header, table


def _is_number(text: str) -> bool:
    try:
        float(text or 'nan')
    except ValueError:
        return False
    return True


def _load(path: Path, delimiter: str | None, skip: int) -> np.ndarray:
    settings = {'delimiter': delimiter, 'skiprows': skip, 'ndmin': 2, 'encoding': 'utf-8-sig'}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', UserWarning)  # of an empty file, refused below
            table = np.loadtxt(path, **settings)
    except ValueError:
        try:  # slower, but an empty cell is an unknown value
            table = np.loadtxt(path, converters=lambda cell: float(cell or 'nan'), **settings)
        except ValueError as error:
            raise RecordingError(f'{path}: is not a table of numbers below line {skip}: '
                                 f'{error}') from error
    if len(table) < 2:
        raise RecordingError(f'{path}: expected two samples or more, found {len(table)}')
    return table
