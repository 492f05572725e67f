"""Measured data as commands take them: read, matched with the robot, processed."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
import warnings

from robident_ros.errors import RecordingError, RobidentWarning

if TYPE_CHECKING:
    from robident_ros.model.robot import Robot
    from robident_ros.processing import Samples
    from robident_ros.recording import Recording


def add_recording_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say what was measured."""
    parser.add_argument('recordings', metavar='RECORDING', nargs='+',
                        help='rosbag2 folder, .db3, .mcap or .csv file, or the folder of text '
                        'files that the configuration describes')
    parser.add_argument('--topic', help='topic of the joint states (default: /joint_states)')
    parser.add_argument('--trajectory', metavar='FILE',
                        help='the trajectory that was played, to align periods with')


def read_samples(paths: Sequence[str], robot: 'Robot', args: argparse.Namespace
                 ) -> tuple['Robot', list['Samples']]:
    """
    Read and process recordings of a robot.

    Joints of the robot that were not recorded are locked, which is said; unless the
    configuration names the joints that move, as then they must all be there.
    """
    from robident_ros.processing import process
    from robident_ros.recording import read_recording
    config = robot.config
    recordings = [read_recording(path, None, args.topic, config.recording) for path in paths]
    robot = _with_recorded_joints(robot, recordings)
    reference = None
    if args.trajectory:
        from robident_ros.excitation.trajectory import load_trajectory
        reference = load_trajectory(args.trajectory)
    return robot, [process(_to_efforts(recording.select(robot.joint_names), robot),
                           config.processing, reference, config.estimation.robust)
                   for recording in recordings]


def _with_recorded_joints(robot: 'Robot', recordings: list['Recording']) -> 'Robot':
    from robident_ros.model.robot import load_robot
    recorded = [name for name in robot.joint_names
                if all(name in recording.joint_names for recording in recordings)]
    missing = [name for name in robot.joint_names if name not in recorded]
    if not missing or robot.config.model.joints is not None:
        return robot
    if not recorded:
        raise RecordingError(f'{recordings[0].source}: has joints '
                             f'{", ".join(recordings[0].joint_names)}, the robot '
                             f'{", ".join(robot.joint_names)}; say which is which in the '
                             'configuration, recording: rename')
    warnings.warn(f'{recordings[0].source}: has no {", ".join(missing)}; taken as locked at zero',
                  RobidentWarning, stacklevel=3)
    config = replace(robot.config, model=replace(robot.config.model, joints=tuple(recorded)))
    return load_robot(_source(robot), config)


def _source(robot: 'Robot') -> str | Path:
    source = robot.description.source
    return source if Path(source).is_file() else robot.description.xml


def _to_efforts(recording: 'Recording', robot: 'Robot') -> 'Recording':
    """Apply the drive gains: effort = gain · measured value."""
    gains = robot.config.drives.gains
    if not gains:
        return recording
    factors = [gains.get(name, 1.0) for name in recording.joint_names]
    return replace(recording, tau=recording.tau * factors)
