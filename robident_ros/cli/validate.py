"""``robident validate``: how well a URDF or an estimate predicts other recordings."""

import argparse
from dataclasses import replace
import json
from pathlib import Path
from typing import TYPE_CHECKING

from robident_ros.cli.measured import add_recording_options, read_samples
from robident_ros.cli.options import add_robot_options, load_config_from
from robident_ros.cli.tables import format_table
from robident_ros.errors import ConfigError, EstimationError

if TYPE_CHECKING:
    import numpy as np
    from robident_ros.estimation.validation import Prediction
    from robident_ros.model.robot import Robot


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        'validate', help='test a URDF or an estimate on recordings',
        description='Predict the efforts of recordings and compare. With an estimate.yaml (or '
        'its folder), before is the original URDF and after the consistent estimate.')
    add_robot_options(parser)
    add_recording_options(parser)
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Predict and compare."""
    import numpy as np
    from robident_ros.estimation.compress import predict
    from robident_ros.estimation.validation import judge_prediction
    robot, thetas = _load(args)
    selected, samples = read_samples(args.recordings, robot, args)
    if selected is not robot:
        if len(thetas) > 1:
            raise EstimationError(f'the estimate is of {", ".join(robot.joint_names)}, the '
                                  'recording has not all of them')
        robot, thetas = selected, selected.theta[None]
    predicted = np.concatenate([predict(part, robot, thetas) for part in samples], axis=1)
    measured = np.concatenate([part.filter.apply(part.tau) for part in samples])
    weights = np.concatenate([part.weights for part in samples])
    found = [judge_prediction(robot.joint_names, measured, torque, weights)
             for torque in predicted]
    print(json.dumps(_as_data(found), ensure_ascii=False) if args.json else _as_text(found))
    return 0


def _load(args: argparse.Namespace) -> tuple['Robot', 'np.ndarray']:
    """Return the robot and one or two sets of standard parameters."""
    from robident_ros.model.robot import load_robot
    path = Path(args.urdf)
    if path.is_dir() or path.suffix in ('.yaml', '.yml'):
        from robident_ros.report.folder import read_folder
        import numpy as np
        robot, estimate = read_folder(path)
        robot = _with_own_data(robot, args)
        return robot, np.array([estimate.standard.apriori, estimate.standard.consistent])
    robot = load_robot(path, load_config_from(args))
    return robot, robot.theta[None]


def _with_own_data(robot: 'Robot', args: argparse.Namespace) -> 'Robot':
    """
    Return the robot of an estimate, with what a configuration says about the recordings.

    What the robot is like belongs to the estimate. The file that it was made with is welcome.
    """
    if args.terms is not None:
        raise ConfigError('--terms: an estimate has its own drive terms; leave them out')
    if args.config is None:
        return robot
    from robident_ros.config import Config
    given, own = load_config_from(args), robot.config
    # identification may have chosen the width, and locked joints that were not recorded
    drives = replace(given.drives, coulomb_width=own.drives.coulomb_width)
    model = replace(given.model, joints=own.model.joints)
    for name, mine, theirs, default in (('model', model, own.model, Config().model),
                                        ('drives', drives, own.drives, Config().drives)):
        if mine != theirs and getattr(given, name) != default:
            raise ConfigError(f'{args.config}: {name}: differs from what the estimate was made '
                              'with; give only recording and processing, or identify again')
    return replace(robot, config=replace(own, recording=given.recording,
                                         processing=given.processing))


def _as_data(found: list['Prediction']) -> dict:
    after, before = found[-1], found[0] if len(found) > 1 else None
    joints = after.joint_names
    return {
        'relative_error': after.total,
        'relative_error_per_joint': dict(zip(joints, after.relative_error.tolist())),
        'rms_per_joint': dict(zip(joints, after.rms.tolist())),
        'r_squared_per_joint': dict(zip(joints, after.r_squared.tolist())),
        'before': None if before is None else before.total,
        'after': after.total,
    }


def _as_text(found: list['Prediction']) -> str:
    after = found[-1]
    header = ['effort of', 'rms error', 'R²', *(['before'] if len(found) > 1 else []), 'error']
    rows = [[name, f'{after.rms[j]:.4g}', f'{after.r_squared[j]:.4f}',
             *(f'{100 * prediction.relative_error[j]:.2f} %' for prediction in found)]
            for j, name in enumerate(after.joint_names)]
    rows.append(['all', '', '', *(f'{100 * prediction.total:.2f} %' for prediction in found)])
    return format_table(header, rows, right=range(1, len(header)))
