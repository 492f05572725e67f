"""``robident payload``: the load at the tool, from recordings without and with it."""

import argparse
import json
from textwrap import fill
from typing import TYPE_CHECKING

from robident_ros.cli.measured import read_samples
from robident_ros.cli.options import add_robot_options, load_robot_from
from robident_ros.cli.tables import format_table

if TYPE_CHECKING:
    from robident_ros.estimation.load import Load


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        'payload', help='identify a load from recordings without and with it',
        description='Identify the mass, first moments and inertia of a load at the tool from '
        'two recordings of exciting motions, the first without it and the second with it.')
    add_robot_options(parser)
    parser.add_argument('unloaded', metavar='WITHOUT', help='recording without the load')
    parser.add_argument('loaded', metavar='WITH', help='recording with the load')
    parser.add_argument('--frame', help='link that carries the load, to tell its parameters in '
                        '(default: the frame of the last joint, if there is only one end)')
    parser.add_argument('--topic', help='topic of the joint states (default: /joint_states)')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.set_defaults(run=run, trajectory=None)


def run(args: argparse.Namespace) -> int:
    """Compress both recordings and compare."""
    from robident_ros.estimation.load import identify_load
    robot, samples = read_samples([args.unloaded, args.loaded], load_robot_from(args), args)
    found = identify_load(*samples, robot, robot.config.estimation, args.frame)
    print(json.dumps(_as_data(found), ensure_ascii=False) if args.json else _as_text(found))
    return 0


def _as_data(load: 'Load') -> dict:
    """Return the load in numbers; what the motion does not show is null."""
    found = load.payload
    return {'frame': found.frame,
            'parameters': {name: _known(value) for name, value in zip(found.names, found.value)},
            'std': {name: _known(std) for name, std in zip(found.names, found.std)},
            'consistent': None if found.verdict is None else found.verdict.consistent,
            'correlation': load.correlation, 'notes': list(load.notes)}


def _known(value: float) -> float | None:
    return float(value) if abs(value) < float('inf') else None


def _as_text(load: 'Load') -> str:
    found = load.payload
    rows = [[name, f'{value:.5g}', f'{std:.2g}'] if _known(std) is not None
            else [name, 'not shown', ''] for name, value, std in
            zip(found.names, found.value, found.std)]
    lines = [f'load in the frame of {found.frame}', '',
             format_table(['parameter', 'value', 'σ'], rows, right=(1, 2))]
    if found.verdict is not None and not found.verdict.consistent:
        lines += ['', f'not a possible body: {found.verdict.reason}; mind the deviations']
    lines += [fill(f'note: {note}', 79, subsequent_indent='  ') for note in load.notes]
    return '\n'.join(lines)
