"""``robident run``: the whole experiment on a robot that is there, asking before it moves."""

import argparse
from pathlib import Path
import sys
from time import strftime

from robident_ros.cli.progress import ExperimentProgress
from robident_ros.errors import ConfigError, RobidentError


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        'run', help='play a trajectory on a robot, record and identify (needs ROS 2)',
        description='Rehearse, ask, play the trajectory through a controller of ros2_control, '
        'record, and identify. The robot is stopped smoothly by Ctrl-C and whenever something '
        'leaves its envelope. Clear the workspace and keep the emergency stop at hand.')
    parser.add_argument('urdf', metavar='URDF', help='URDF or xacro file of the robot; "topic" '
                        'takes it from /robot_description')
    parser.add_argument('trajectory', metavar='TRAJECTORY', type=Path, help='trajectory file')
    parser.add_argument('--config', metavar='FILE', default='', help='configuration (YAML)')
    parser.add_argument('--controller', default='joint_trajectory_controller',
                        help='name of the controller (default: joint_trajectory_controller)')
    parser.add_argument('--interface', default='topic', choices=('topic', 'action', 'stream'),
                        help='JointTrajectory topic, FollowJointTrajectory action, or streamed '
                        'positions (default: topic)')
    parser.add_argument('--joint-states', default='/joint_states', metavar='TOPIC',
                        help='topic of the measured states (default: /joint_states)')
    parser.add_argument('--best-effort', action='store_true',
                        help='joint states are published as best effort')
    parser.add_argument('--periods', type=int, default=0, help='how often it is played')
    parser.add_argument('--rate', type=float, default=0.0, metavar='HZ',
                        help='trajectory points or commands per second')
    parser.add_argument('-o', '--output', metavar='DIR', type=Path,
                        help='new folder for bag and result (default: run_<date>_<time>)')
    parser.add_argument('--yes', action='store_true', help='do not ask before moving')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Perform the experiment and identify."""
    from robident_ros.ros.conductor import Conductor
    from robident_ros.ros.experiment_run import perform, Plan
    from robident_ros.ros.processes import Processes
    if not args.trajectory.is_file():
        raise ConfigError(f'{args.trajectory}: there is no such file')
    output = args.output or Path(strftime('run_%Y%m%d_%H%M%S'))
    if output.exists():
        raise ConfigError(f'{output}: is there already; name a new folder')
    urdf = '' if args.urdf == 'topic' else str(Path(args.urdf).resolve())
    plan = Plan(args.trajectory.resolve(), urdf,
                str(Path(args.config).resolve()) if args.config else '',
                args.controller, args.interface, args.joint_states, args.best_effort,
                args.periods, args.rate)
    progress = ExperimentProgress()
    with Processes(output / 'log') as processes, Conductor() as conductor:
        bag = output.resolve() / 'recording'
        processes.start('identification', {
            **plan.robot_parameters(), 'recording': str(bag),
            'trajectory': str(plan.trajectory), 'output': str(output / 'identified')})
        perform(plan, bag, processes, conductor, lambda text: args.yes or _confirm(text),
                progress)
        progress.done()
        success, message = conductor.ask('/identification/identify', 600, processes.failure)
    if not success:
        raise RobidentError(f'{message}; the recording is in {bag}')
    print(message)
    return 0


def _confirm(text: str) -> bool:
    print(text)
    if not sys.stdin.isatty():
        raise ConfigError('there is nobody to ask before the robot moves; use --yes if it may')
    return input('Is the workspace clear, and may the robot move now? [y/N] ').lower() == 'y'
