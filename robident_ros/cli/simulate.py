"""``robident simulate``: play a trajectory on the embedded robot, without ROS."""

import argparse
from dataclasses import replace
import json
from pathlib import Path

from robident_ros.cli.options import add_robot_options, load_robot_from


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        'simulate', help='record a trajectory on the embedded robot, whose truth is known',
        description='Plan the whole experiment, play it on the embedded robot as fast as this '
        'machine can, and write the bag that a recorder would have written, with the true '
        'parameters beside it.')
    add_robot_options(parser)
    parser.add_argument('trajectory', metavar='TRAJECTORY', help='trajectory file')
    parser.add_argument('-o', '--output', metavar='DIR', type=Path, required=True,
                        help='new folder for the bag and truth.yaml')
    parser.add_argument('--periods', type=int, help='how often it is played')
    parser.add_argument('--rate', type=float, default=500.0, metavar='HZ',
                        help='joint states per second (default: 500)')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plan, simulate, write."""
    from robident_ros.errors import ConfigError
    from robident_ros.excitation.trajectory import load_trajectory
    from robident_ros.experiment.simulator import record, Simulator
    from robident_ros.experiment.timeline import plan_timeline
    from robident_ros.files import write_text
    from robident_ros.recording import Recording, write_bag
    import yaml
    robot = load_robot_from(args)
    options = robot.config.experiment
    if args.periods is not None:
        if args.periods < 1:
            raise ConfigError(f'--periods: is {args.periods}, expected at least 1')
        options = replace(options, periods=args.periods)
    if not args.rate > 0:
        raise ConfigError(f'--rate: is {args.rate:g}, expected above zero')
    simulator = Simulator(robot, robot.config.simulation)
    timeline = plan_timeline(load_trajectory(args.trajectory), simulator.q, robot, options)
    points = timeline.points(options.rate_hz)
    simulator.follow(robot.joint_names, points.t, points.q, points.v, points.a)
    t, q, v, effort = record(simulator, timeline.duration, args.rate)
    write_bag(Recording(t, q, v, effort, robot.joint_names, 'simulation'),
              args.output / 'recording')
    write_text(args.output / 'truth.yaml', yaml.safe_dump(
        dict(zip(robot.parameter_names, simulator.theta.tolist())), sort_keys=False))
    if args.json:
        print(json.dumps({'output': str(args.output), 'samples': len(t),
                          'duration_s': timeline.duration}))
    else:
        print(f'{len(t)} joint states of {timeline.duration:.1f} s in {args.output}/recording, '
              f'true parameters in {args.output}/truth.yaml')
    return 0
