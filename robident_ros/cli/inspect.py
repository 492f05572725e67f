"""Command ``robident inspect``: what a recording holds, and what it is good for."""  # noqa: A005

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, replace
import json
from pathlib import Path
from typing import TYPE_CHECKING
import warnings

from robident_ros.cli.tables import format_table
from robident_ros.errors import RecordingError, RobidentWarning

if TYPE_CHECKING:
    from robident_ros.processing.inspection import Facts
    from robident_ros.recording import Recording


def add_parser(subparsers) -> None:
    """Add the command."""
    parser: ArgumentParser = subparsers.add_parser(
        'inspect', help='look at a recording: joints, rate, gaps, periods, noise',
        description='Look at a recording before identifying from it.')
    parser.add_argument('recording', help='rosbag2 folder, .db3, .mcap or .csv file, or the '
                        'folder of text files that --config describes')
    parser.add_argument('--topic', help='topic of the joint states (default: /joint_states)')
    parser.add_argument('--joints', help='joints to look at, e.g. shoulder,elbow (default: all)')
    parser.add_argument('--config', help='configuration file: sections recording and processing')
    parser.add_argument('--period', type=float, metavar='S',
                        help='period of the motion in seconds (default: found in the data)')
    parser.add_argument('--plot', metavar='FILE', help='write a picture of the data (.png, .pdf)')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Read, look, print."""
    from robident_ros.config import load_config
    from robident_ros.processing.inspection import inspect_recording
    from robident_ros.recording import read_recording
    config = load_config(args.config)
    options = config.processing
    if args.period is not None:
        options = replace(options, period_s=args.period)
    joints = args.joints.split(',') if args.joints else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always', RobidentWarning)
        recording = read_recording(args.recording, joints, args.topic, config.recording)
        facts = inspect_recording(recording, options)
    notes = list(dict.fromkeys(str(item.message) for item in caught
                               if issubclass(item.category, RobidentWarning)))
    if args.plot:
        plot(recording, facts, Path(args.plot))
    if args.json:
        print(json.dumps({**asdict(facts), 'warnings': notes}, ensure_ascii=False))
    else:
        print('\n'.join([*describe(facts), *(f'warning: {note}' for note in notes)]))
    return 0


def describe(facts: 'Facts') -> list[str]:
    """Return the report as lines of text."""
    lines = [f'{facts.source}: {facts.samples} samples, {facts.duration_s:.3f} s at '
             f'{facts.rate_hz:.6g} Hz, jitter {facts.jitter_ms:.3g} ms, '
             + ('with velocities' if facts.has_velocities else 'without velocities')]
    if facts.gaps:
        start, length = facts.gaps[0]
        lines.append(f'gaps: {len(facts.gaps)}, the longest {1e3 * length:.1f} ms at '
                     f'{start:.3f} s')
    else:
        lines.append('gaps: none')
    if facts.period_s:
        lines.append(f'periods: {facts.periods} of {facts.period_s:.6g} s')
        lines += [f'  left out: {reason}' for reason in facts.periods_left_out]
    else:
        lines.append('periods: none, the motion does not repeat itself')
    lines.append(f'excitation up to {facts.excitation_hz:.3g} Hz, filter cutoff '
                 f'{facts.cutoff_hz:.3g} Hz')
    lines += ['', _table(facts), '']
    lines.append(f'rows to identify from: {facts.kept}')
    lines += [f'  dropped: {reason}' for reason in facts.dropped]
    return lines


def _table(facts: 'Facts') -> str:
    rows = []
    for joint in facts.joints:
        values = list(asdict(joint).values())[1:]
        rows.append([joint.name, *('–' if value is None else f'{value:.3g}' for value in values)])
    header = ['joint', 'lowest', 'highest', 'fastest', 'strongest', 'noise q', 'noise τ',
              'unknown', 'saturated']
    return format_table(header, rows, right=range(1, len(header)))


def plot(recording: 'Recording', facts: 'Facts', path: Path) -> None:
    """Draw positions and efforts of every joint over time, with gaps marked."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RecordingError('--plot needs matplotlib: pip install matplotlib') from error
    count = len(recording.joint_names)
    figure = Figure(figsize=(12, 1 + 1.6 * count), layout='constrained')
    axes = figure.subplots(count, 2, sharex=True, squeeze=False)
    for row, name, q, tau in zip(axes, recording.joint_names, recording.q.T, recording.tau.T):
        row[0].plot(recording.t, q, linewidth=0.8)
        row[1].plot(recording.t, tau, linewidth=0.8, color='tab:orange')
        row[0].set_ylabel(name, fontsize='small')
        for axis in row:
            axis.grid(alpha=0.3)
            for start, length in facts.gaps[:50]:
                axis.axvspan(start, start + length, color='red', alpha=0.3)
    axes[0, 0].set_title('position [rad or m]')
    axes[0, 1].set_title('effort [N·m, N or A]')
    for axis in axes[-1]:
        axis.set_xlabel('time [s]')
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise RecordingError(f'{path}: the picture cannot be written: {error}') from error
