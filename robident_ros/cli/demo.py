"""``robident demo``: the whole way on the embedded robot, whose true parameters are known."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
import json
import os
from pathlib import Path
import sys
from time import monotonic, strftime
from typing import TYPE_CHECKING

from robident_ros.cli.progress import ExperimentProgress
from robident_ros.cli.tables import format_table
from robident_ros.errors import ConfigError, ExperimentError, RobidentError

if TYPE_CHECKING:
    from robident_ros.estimation.estimate import Estimate
    from robident_ros.model.robot import Robot
    from robident_ros.ros.experiment_run import Plan

ROBOT, CONFIG = 'arm6', 'demo'
BUDGET_S = 8.0  # CPU seconds of each design
VALIDATION_PERIODS = 3
SPEED = 1.0  # simulated seconds per second, where the machine can


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        'demo', help='design, run, identify and validate on the embedded robot, over ROS 2',
        description='Design an exciting trajectory for a six-joint arm, play it on the embedded '
        'robot through ROS 2 with all nodes as processes of their own, identify, validate on a '
        'second trajectory, and compare with the true parameters.')
    parser.add_argument('-o', '--output', metavar='DIR', type=Path,
                        help='new folder for everything (default: demo_<date>_<time>)')
    parser.add_argument('--budget', type=float, default=BUDGET_S, metavar='S',
                        help='CPU seconds for each of the two trajectories (default: %(default)s)')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Go the whole way."""
    from robident_ros.config import load_config
    from robident_ros.model.robot import load_robot
    from robident_ros.share import share_path
    begin, output = monotonic(), args.output or Path(strftime('demo_%Y%m%d_%H%M%S'))
    if output.exists():
        raise ConfigError(f'{output}: is there already; name a new folder')
    output.mkdir(parents=True)
    output = output.resolve()
    urdf, config = share_path() / f'urdf/{ROBOT}.urdf', share_path() / f'config/{CONFIG}.yaml'
    robot = load_robot(urdf, load_config(config))
    _say(f'everything goes to {output}')
    for name, seed in (('excitation', 0), ('validation', 1)):
        _design(robot, output / f'{name}.yaml', seed, args.budget)
    with _nodes(output) as (processes, conductor):
        _experiment(output, urdf, config, processes, conductor)
    found = compare(robot, output)
    found['seconds'] = monotonic() - begin
    print(json.dumps(found, ensure_ascii=False) if args.json else as_text(found, output))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _design(robot: 'Robot', path: Path, seed: int, budget_s: float) -> None:
    from robident_ros.excitation.design import design_fourier
    from robident_ros.excitation.trajectory import save_trajectory
    begin = monotonic()
    design = design_fourier(robot, seed, budget_s)
    save_trajectory(design.trajectory, path)
    _say(f'designed {path.name} in {monotonic() - begin:.0f} s: condition number '
         f'{design.cond:.0f}, limits kept')


@contextmanager
def _nodes(output: Path) -> Iterator[tuple]:
    """Open processes and a conductor on this machine only, apart from other robots."""
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        raise ExperimentError('the demonstration needs ROS 2: source it, or pip install '
                              '"robident_ros[ros]"') from error
    from robident_ros.ros.conductor import Conductor
    from robident_ros.ros.processes import private_environment, Processes
    environment = private_environment(output / 'log')
    os.environ.update(environment)
    with Processes(output / 'log', environment) as processes, Conductor() as conductor:
        yield processes, conductor


def _experiment(output: Path, urdf: Path, config: Path, processes, conductor) -> None:
    """Run both trajectories on the simulated robot, and identify from the first."""
    from robident_ros.ros.experiment_run import Plan
    robot = {'urdf': str(urdf), 'config': str(config), 'use_sim_time': True}
    # By simulated time a busy machine takes longer, and changes nothing else.
    processes.start('simulated_robot', {'urdf': str(urdf), 'config': str(config), 'clock': True,
                                        'speed': SPEED, 'rate_hz': 500.0})
    processes.start('identification', {
        **robot, 'recording': str(output / 'recording'), 'output': str(output / 'identified'),
        'trajectory': str(output / 'excitation.yaml')})
    plan = Plan(output / 'excitation.yaml', **robot)
    _play(plan, output / 'recording', processes, conductor)
    _say('identifying …')
    success, message = conductor.ask('/identification/identify', 600, processes.failure)
    if not success:
        raise RobidentError(message)
    _say(message)
    processes.stop('identification')
    _say('validating on another trajectory …')
    plan = Plan(output / 'validation.yaml', **robot, periods=VALIDATION_PERIODS)
    _play(plan, output / 'validation', processes, conductor)


def _play(plan: 'Plan', bag: Path, processes, conductor) -> None:
    from robident_ros.ros.experiment_run import perform
    progress = ExperimentProgress()
    perform(plan, bag, processes, conductor, lambda text: True, progress)
    progress.done()


def compare(robot: 'Robot', output: Path) -> dict:
    """Hold the result against the truth, and its predictions against the noise."""
    import numpy as np
    from robident_ros.experiment.truth import true_parameters
    from robident_ros.model.base import base_parameters
    from robident_ros.report.folder import read_folder
    identified, estimate = read_folder(output / 'identified')
    truth = true_parameters(robot, robot.config.simulation)
    beta = base_parameters(robot).K @ truth
    error = np.abs(estimate.base.value - beta) / estimate.base.std
    rms, floor, before = _validate(identified, estimate, output)
    return {
        'output': str(output),
        'parameters': [{'name': name, 'unit': unit, 'apriori': a, 'true': b, 'identified': c,
                        'std': s} for name, unit, a, b, c, s in zip(
            estimate.base.names, estimate.base.units, estimate.base.apriori.tolist(),
            beta.tolist(), estimate.base.value.tolist(), estimate.base.std.tolist())],
        'within_3_sigma': float(np.mean(error <= 3)),
        'worst_sigma': float(error.max()),
        'consistent': estimate.is_consistent,
        'masses': {link.joint: [link.apriori_mass, float(truth[column + 9]), link.mass]
                   for link, column in zip(estimate.links, robot.link_columns)},
        'validation_rms': dict(zip(robot.joint_names, rms.tolist())),
        'noise_floor': dict(zip(robot.joint_names, floor.tolist())),
        'apriori_rms': dict(zip(robot.joint_names, before.tolist())),
        'validation_over_noise': float(np.sqrt(np.mean((rms / floor)**2))),
    }


def _validate(robot: 'Robot', estimate: 'Estimate', output: Path) -> tuple:
    """
    Return rms errors of predicted efforts, the noise floor, and the errors of the URDF.

    All of the recording counts, sample by sample, without averaging over its periods; the floor
    is the injected noise behind the same filter.
    """
    from dataclasses import replace
    import numpy as np
    from robident_ros.cli.measured import read_samples
    from robident_ros.estimation.compress import predict
    config = robot.config
    robot = replace(robot, config=replace(config, processing=replace(
        config.processing, average_periods=False)))
    options = argparse.Namespace(topic=None, trajectory=None)
    robot, (samples,) = read_samples([str(output / 'validation')], robot, options)
    thetas = np.array([estimate.standard.consistent, estimate.standard.apriori])
    used = samples.weights > 0
    measured = samples.filter.apply(samples.tau)
    after, before = (_rms(measured - tau, used) for tau in predict(samples, robot, thetas))
    sigma = robot.config.simulation.effort_noise * robot.limits.effort
    noise = np.random.default_rng(0).standard_normal(samples.tau.shape) * sigma
    return after, _rms(samples.filter.apply(noise), used), before


def _rms(values, used):
    return (((values**2 * used).sum(axis=0)) / used.sum(axis=0))**0.5


def as_text(found: dict, output: Path) -> str:
    """Return the comparison for a terminal."""
    rows = [[p['name'], f'{p["apriori"]:.4g}', f'{p["true"]:.4g}', f'{p["identified"]:.4g}',
             f'{p["std"]:.2g}', f'{abs(p["identified"] - p["true"]) / p["std"]:.1f}', p['unit']]
            for p in found['parameters']]
    efforts = [[joint, f'{found["apriori_rms"][joint]:.3g}', f'{rms:.3g}',
                f'{found["noise_floor"][joint]:.3g}']
               for joint, rms in found['validation_rms'].items()]
    masses = [[joint, *(f'{mass:.3f}' for mass in values)]
              for joint, values in found['masses'].items()]
    return '\n'.join([
        format_table(['base parameter', 'URDF', 'true', 'identified', 'σ', 'error/σ', 'unit'],
                     rows, right=(1, 2, 3, 4, 5)), '',
        format_table(['mass of link', 'URDF', 'true', 'identified [kg]'], masses,
                     right=(1, 2, 3)), '',
        format_table(['effort on the second trajectory', 'URDF', 'identified', 'noise floor'],
                     efforts, right=(1, 2, 3)), '',
        f'{100 * found["within_3_sigma"]:.0f} % of {len(rows)} base parameters are within 3 σ of '
        f'the truth (the worst: {found["worst_sigma"]:.1f} σ)',
        f'torque error on the second trajectory: {found["validation_over_noise"]:.2f} times the '
        'noise that was injected',
        'the identified URDF is ' + ('physically consistent' if found['consistent'] else
                                     'NOT physically consistent'),
        f'{found["seconds"]:.0f} s; everything is in {output}'])
