"""``robident identify``: from recordings to parameters and an identified URDF."""

import argparse
from dataclasses import replace
import json
from pathlib import Path
import re
import resource
from textwrap import fill
import time
from typing import TYPE_CHECKING

from robident_ros.cli.measured import add_recording_options, read_samples
from robident_ros.cli.options import add_robot_options, load_robot_from
from robident_ros.cli.progress import Progress
from robident_ros.cli.tables import format_table

if TYPE_CHECKING:
    from robident_ros.estimation.estimate import Estimate


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        'identify', help='identify parameters from recordings, and write a URDF with them',
        description='Identify base, essential and physically consistent standard parameters '
        'from recordings of joint positions and efforts.')
    add_robot_options(parser)
    add_recording_options(parser)
    parser.add_argument('-o', '--output', metavar='DIR', type=Path,
                        help='folder for estimate.yaml, identified.urdf, config.yaml, '
                        'parameters.csv and residuals.npz (default: <robot>_identified)')
    parser.add_argument('--holdout', metavar='WHAT',
                        help='second-half, or another recording, to test the result on')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Identify, write, and tell in short."""
    from robident_ros.estimation.identify import identify
    from robident_ros.report.folder import write_folder
    from robident_ros.report.provenance import provenance_of
    start, progress = time.process_time(), Progress()
    robot, samples = read_samples(args.recordings, load_robot_from(args), args)
    holdout = args.holdout
    if holdout not in (None, 'second-half'):
        holdout = read_samples([holdout], robot, args)[1]
    result = identify(samples, robot, robot.config.estimation, holdout, progress)
    progress.done()
    result = replace(result, estimate=replace(result.estimate, provenance=provenance_of(
        [args.urdf, *args.recordings], result.robot.config)))
    folder = args.output or Path(re.sub(r'\W', '_', robot.name) + '_identified')
    files = write_folder(result, folder)
    seconds = time.process_time() - start
    if args.json:
        print(json.dumps(as_data(result.estimate, seconds, folder), ensure_ascii=False))
    else:
        print(as_text(result.estimate))
        print(f'\nwritten to {folder}: {", ".join(files)}')
    return 0


def as_data(estimate: 'Estimate', seconds: float, folder: Path) -> dict:
    """Return the result in numbers, for programs."""
    chosen = 'consistent'  # what the identified URDF predicts
    return {
        'robot': estimate.robot,
        'samples': estimate.samples,
        'relative_error': estimate.relative_error[chosen],
        'relative_error_per_joint': {joint.joint: joint.relative_error[chosen]
                                     for joint in estimate.joints},
        'relative_errors': estimate.relative_error,
        'cross_validation': estimate.cross_validation,
        'holdout_error': estimate.holdout_error,
        'condition': estimate.excitation.condition,
        'scaled_condition': estimate.excitation.scaled_condition,
        'base': len(estimate.base.names),
        'identified': sum(estimate.base.identified),
        'essential': len(estimate.essential.names),
        'consistent': estimate.is_consistent,
        'links': {link.joint: link.consistent for link in estimate.links},
        'masses': {link.joint: link.mass for link in estimate.links},
        'apriori_masses': {link.joint: link.apriori_mass for link in estimate.links},
        'coulomb_width': estimate.coulomb_width,
        'notes': list(estimate.notes),
        'output': str(folder),
        'cpu_seconds': seconds,
        'peak_mb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def as_text(estimate: 'Estimate') -> str:
    """Return the result in short, for a terminal of 80 columns."""
    error, excitation = estimate.relative_error, estimate.excitation
    shown = ('apriori', 'base', 'consistent')
    joints = [[joint.joint, f'{joint.rms_effort:.4g}',
               *(_percent(joint.relative_error[name]) for name in shown)]
              for joint in estimate.joints]
    joints.append(['all', '', *(_percent(error[name]) for name in shown)])
    links = [[link.joint, f'{link.apriori_mass:.3f}', f'{link.mass:.3f}',
              'consistent' if link.consistent else f'no: {link.reason}']
             for link in estimate.links]
    lines = [
        f'{estimate.robot}: {len(estimate.joint_names)} joints, {estimate.samples} samples '
        'behind the filter', '',
        format_table(['effort of', 'rms', 'a priori', 'base', 'consistent'], joints,
                     right=(1, 2, 3, 4)), '',
        format_table(['link of', 'URDF [kg]', 'found [kg]', ''], links, right=(1, 2)), '',
        f'{sum(estimate.base.identified)} of {len(estimate.base.names)} base parameters '
        f'identified, condition number {excitation.condition:.0f} '
        f'({excitation.scaled_condition:.1f} scaled)',
        f'{len(estimate.essential.names)} essential parameters, error '
        f'{_percent(error["essential"])}',
        *_validation(estimate)]
    if estimate.coulomb_width:
        lines.append(f'Coulomb friction rises over {estimate.coulomb_width:g} rad/s')
    notes = [fill(f'note: {note}', 79, subsequent_indent='  ') for note in estimate.notes]
    return '\n'.join([*lines, *notes])


def _validation(estimate: 'Estimate') -> list[str]:
    lines = []
    if estimate.cross_validation:
        found = ', '.join(f'{name} {_percent(value)}'
                          for name, value in estimate.cross_validation.items())
        lines.append(f'on segments not used for them: {found}')
    if estimate.holdout_error is not None:
        lines.append(f'on held-out data: consistent {_percent(estimate.holdout_error)}')
    return lines


def _percent(share: float) -> str:
    return f'{100 * share:.2f} %' if share < 10 else '> 1000 %'
