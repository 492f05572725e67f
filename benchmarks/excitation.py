"""Quality and cost of exciting trajectories."""

from dataclasses import replace
from pathlib import Path
import time

from harness import benchmark, cpu_seconds, Figure
import numpy as np
from robident_ros.config import Config, DriveOptions, ExcitationOptions, LimitOptions
from robident_ros.config import load_config, ModelOptions, WorkspaceOptions
from robident_ros.excitation.criteria import smooth
from robident_ros.excitation.design import design_fourier
from robident_ros.excitation.optimise import find_start
from robident_ros.excitation.problem import Problem
from robident_ros.model.robot import load_robot, Robot

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / 'shared' / 'data'
BUDGET = 20.0  # CPU seconds
SEEDS = 5
RANDOM = 10_000
PANDA = [15, 7.5, 10, 12.5, 15, 20, 20]


def _cost(name: str, kernel: str) -> Figure:
    """Measure value and gradient of the smooth condition number beside the value alone."""
    from robident_ros.model import kernel as kernels
    chosen, kernels.DEFAULT = kernels.DEFAULT, kernel
    try:
        problem = Problem(load_robot(ROOT / 'urdf' / f'{name}.urdf'))
        problem.set_grid(400)
        x = 0.2 * np.random.default_rng(0).normal(size=len(problem.bounds))

        def value() -> None:
            problem.set_grid(400)
            smooth(problem.target.reduce(problem.motion(x).W))

        def value_and_gradient() -> None:
            problem.set_grid(400)
            problem.objective(x, smooth)
        value_and_gradient()
        return Figure(cpu_seconds(value_and_gradient, 20), 's', cpu_seconds(value, 20),
                      f'value alone, {name}, 400 samples, {len(x)} variables', 4)
    finally:
        kernels.DEFAULT = chosen


for _name, _joints in (('arm6', 6), ('arm7', 7)):
    for _kernel in ('numba', 'numpy'):
        _label = 'gradient_cost' if (_joints, _kernel) == (7, 'numba') else \
            f'gradient_cost_{_joints}_{_kernel}'
        benchmark(_label)(lambda name=_name, kernel=_kernel: _cost(name, kernel))


def _kuka(friction: bool) -> Robot:
    config = load_config(ROOT / 'config' / 'kuka_ir361.yaml')
    if not friction:
        inertial = {name: combination for name, combination in config.excitation.parameters.items()
                    if name[0] in 'km'}
        config = replace(config, drives=replace(config.drives, terms=()),
                         excitation=replace(config.excitation, parameters=inertial))
    return load_robot(ROOT / 'urdf' / 'kuka_ir361.urdf', config)


def _fourth_best(robot: Robot, budget: float) -> float:
    """Return the condition number that four of five seeds reach, all feasible."""
    found = [design_fourier(robot, seed, budget) for seed in range(SEEDS)]
    assert all(design.feasible for design in found)
    print('   ', ', '.join(f'{design.cond:.2f} in {design.cpu_seconds:.1f} s' for design in found))
    return sorted(design.cond for design in found)[3]


@benchmark('kuka_cond')
def kuka_cond() -> Figure:
    """Condition number for the KUKA IR/361 with friction; the paper has 8.66."""
    return Figure(_fourth_best(_kuka(True), BUDGET), '', 8.66, 'paper 004', 1)


@benchmark('kuka_cond_inertial')
def kuka_cond_inertial() -> Figure:
    """Measure the same without friction."""
    return Figure(_fourth_best(_kuka(False), BUDGET), '', target=4.6)


def _today(name: str, terms: tuple[str, ...]) -> Robot:
    """Return a Panda or a UR10 with the limits that the comparison is made for."""
    options = {'drives': DriveOptions(terms, coulomb_width=0.05),
               'workspace': WorkspaceOptions(floor=0.1),
               'excitation': ExcitationOptions(position_fraction=1.0)}
    if name == 'panda':
        limits = {f'panda_joint{i + 1}': LimitOptions(acceleration=0.7 * value)
                  for i, value in enumerate(PANDA)}
        model = ModelOptions(locked={'panda_finger_joint1': 0.0}, limits=limits)
        return load_robot(DATA / 'panda' / 'panda.urdf', Config(model, **options))
    joints = ['shoulder_pan', 'shoulder_lift', 'elbow', 'wrist_1', 'wrist_2', 'wrist_3']
    limits = {f'{joint}_joint': LimitOptions(acceleration=6.0) for joint in joints}
    return load_robot(DATA / 'ur10_bag' / 'ur10_robot.urdf',
                      Config(ModelOptions(limits=limits), **options))


def _by_differences(problem: Problem, budget: float) -> float:
    """Return what SLSQP reaches from one start with finite differences instead of gradients."""
    from scipy.optimize import minimize
    best, deadline = [np.inf], time.process_time() + budget

    def objective(x: np.ndarray) -> float:
        if time.process_time() > deadline:
            raise TimeoutError
        W = problem.target.reduce(problem.motion(x).W)
        if problem.violations(x).max() <= 0:
            best[0] = min(best[0], float(np.linalg.cond(W)))
        return float(np.log(smooth(W)[0]))
    limits = {'type': 'ineq', 'fun': lambda x: -problem.constraints(x, 100)[0]}
    try:
        minimize(objective, find_start(problem, np.random.default_rng([0, 0])), method='SLSQP',
                 constraints=[limits], bounds=problem.bounds, options={'maxiter': 1000})
    except TimeoutError:
        pass
    return best[0]


def _by_chance(problem: Problem) -> float:
    """Return the best of many random feasible trajectories."""
    rng, best = np.random.default_rng(0), np.inf
    for _ in range(RANDOM):
        x = find_start(problem, rng)
        best = min(best, float(np.linalg.cond(problem.target.reduce(problem.motion(x).W))))
    return best


def _today_cond(name: str) -> Figure:
    if not DATA.is_dir():
        raise FileNotFoundError(f'{name}: the URDF of the measured robot is not on this machine')
    robot = _today(name, ('Fv', 'Fc', 'off'))
    value = _fourth_best(robot, BUDGET)
    problem = Problem(robot)
    differences = _by_differences(problem, BUDGET)
    print(f'    finite differences, one start, {BUDGET:g} s: {differences:.1f}')
    chance = _by_chance(problem)
    rotors = design_fourier(_today(name, ('Ia', 'Fv', 'Fc', 'off')), 0, BUDGET)
    print(f'    with rotor inertias: {rotors.cond:.1f}')
    return Figure(value, '', chance, f'best of {RANDOM} random ones', 36, of_ratio=False)


@benchmark('panda_cond')
def panda_cond() -> Figure:
    """Condition number for a Panda within 20 s of CPU, in four of five seeds."""
    return _today_cond('panda')


@benchmark('ur10_cond')
def ur10_cond() -> Figure:
    """Measure the same for a UR10."""
    return _today_cond('ur10')
