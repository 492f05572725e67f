"""Designs: exact gradients, proven limits, published robots, every refusal."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.config import Config, DriveOptions, LimitOptions, WorkspaceOptions
from robident_ros.errors import ConfigError, ExcitationError, InfeasibleExcitation
from robident_ros.excitation.constraints import Motion, violation
from robident_ros.excitation.criteria import CRITERIA
from robident_ros.excitation.design import design_fourier, evaluate
from robident_ros.excitation.fourier import FourierTrajectory, make_basis
from robident_ros.excitation.optimise import find_start
from robident_ros.excitation.problem import Problem
from robident_ros.excitation.verify import verify
from robident_ros.model.parameters import to_pinocchio
from robident_ros.model.regressor import stack, torque_regressor, torque_regressor_product
from robident_ros.model.robot import load_robot, Robot
from shipped import random_samples, ROOT, shipped

WORKSPACE = WorkspaceOptions(floor=0.05, upper=(2.0, 2.0, 2.0), keep_out_radius=0.2,
                             keep_out_height=0.6)


def configured(name: str, workspace: WorkspaceOptions = WorkspaceOptions(), model: dict = {},
               drives: DriveOptions | None = None, **excitation) -> Robot:
    config = shipped(name).config
    return load_robot(ROOT / 'urdf' / f'{name}.urdf', replace(
        config, workspace=workspace, drives=drives or config.drives,
        model=replace(config.model, **model),
        excitation=replace(config.excitation, **excitation)))


@pytest.mark.parametrize('criterion', sorted(set(CRITERIA) - {'equilibrium'}))
@pytest.mark.parametrize('name', ['arm6', 'stanford', 'parallelogram'])
def test_gradients_of_criteria_equal_finite_differences(name: str, criterion: str) -> None:
    """Through regressor, friction, passive and sliding joints and the series: 1e-6 relative."""
    problem = Problem(configured(name))
    rng = np.random.default_rng(0)
    x = 0.3 * rng.normal(size=len(problem.bounds))
    _, gradient = problem.objective(x, CRITERIA[criterion])
    direction = rng.normal(size=len(x))
    step = 1e-6
    high, low = (problem.objective(x + sign * step * direction, CRITERIA[criterion])[0]
                 for sign in (1, -1))
    scale = np.linalg.norm(gradient) * np.linalg.norm(direction)
    assert gradient @ direction == pytest.approx((high - low) / (2 * step), abs=1e-6 * scale)


@pytest.mark.parametrize('name', ['arm6', 'stanford', 'parallelogram'])
def test_gradients_of_constraints_equal_finite_differences(name: str) -> None:
    problem = Problem(configured(name, WORKSPACE))
    rng = np.random.default_rng(1)
    x = 0.2 * rng.normal(size=len(problem.bounds))
    _, jacobian = problem.constraints(x, 50)
    direction = rng.normal(size=len(x))
    step = 1e-6
    high, low = (problem.constraints(x + sign * step * direction, 50)[0] for sign in (1, -1))
    scale = np.linalg.norm(jacobian, axis=1).max() * np.linalg.norm(direction)
    np.testing.assert_allclose(jacobian @ direction, (high - low) / (2 * step), atol=1e-6 * scale)


def test_aggregates_are_never_below_the_largest_violation() -> None:
    problem = Problem(configured('arm6', WORKSPACE))
    for seed in range(5):
        x = 0.3 * np.random.default_rng(seed).normal(size=len(problem.bounds))
        assert (problem.constraints(x, 50)[0] >= problem.violations(x) - 1e-12).all()


def test_gradient_of_a_singular_value_is_that_of_virtual_robots() -> None:
    """
    Physics check: dσ = uᵀ·dW·v, and W·v is inverse dynamics with inertial parameters v.

    Pinocchio differentiates inverse dynamics by itself. It needs sound inertias, so a multiple
    of one is added to v and subtracted again; to 1e-10.
    """
    robot = load_robot(ROOT / 'urdf' / 'arm6.urdf', Config(drives=DriveOptions(terms=())))
    q, v, a = random_samples(robot, 30)
    W = torque_regressor(robot, q, v, a)
    U, _, Vt = np.linalg.svd(stack(W), full_matrices=False)
    sound = np.tile([1, 0, 0, 1, 0, 1, 0, 0, 0, 1.0], 6)
    for index in (0, 10):
        u, direction = U[:, index], Vt[index]
        W_bar = np.outer(u, direction).reshape(W.shape)
        bars = torque_regressor_product(robot, W_bar, q, v, a)
        expected = [np.zeros_like(q) for _ in range(3)]
        for parameters, sign in ((direction + 10 * sound, 1), (10 * sound, -1)):
            _add_derivatives(expected, robot, parameters, sign * u.reshape(6, -1).T, q, v, a)
        for bar, value in zip(bars, expected):
            np.testing.assert_allclose(bar, value, atol=1e-10 * np.abs(value).max())


def _add_derivatives(into: list, robot: Robot, parameters, weights, q, v, a) -> None:
    model = robot.tree.copy()
    for i in range(6):
        model.inertias[i + 1] = pin.Inertia.FromDynamicParameters(
            to_pinocchio(parameters[10 * i:10 * i + 10]))
    data = model.createData()
    for k in range(len(q)):
        derivatives = pin.computeRNEADerivatives(model, data, q[k], v[k], a[k])
        for target, derivative in zip(into, derivatives):
            target[k] += weights[k] @ derivative


def test_published_trajectory_of_paper_004(golden: dict) -> None:
    """Table 1 evaluates to 14.09475 as printed, 13.56221 with a and b exchanged."""
    robot, expected = shipped('kuka_ir361'), golden['p004']
    problem, table = Problem(robot), expected['table1']
    basis = make_basis(robot.joint_names, table['f'], (1, 2, 3, 4, 5))
    for first, second, key in (('a', 'b', 'eval_printed'), ('b', 'a', 'eval_ab_swapped')):
        coefficients = np.hstack([np.array(table['q0'])[:, None], table[first], table[second]])
        trajectory = FourierTrajectory(basis, coefficients)
        assert evaluate(robot, problem, trajectory)[0] == pytest.approx(
            expected[key]['cond_fric'], abs=expected['tol_cond'])
        _, v, a = trajectory.sample(np.arange(750) / 75)
        np.testing.assert_allclose(np.abs(v).max(axis=0), expected[key]['max_qd'], atol=1e-5)
        np.testing.assert_allclose(np.abs(a).max(axis=0), expected[key]['max_qdd'], atol=1e-5)


def test_values_of_the_papers_parameters_follow_from_the_urdf(golden: dict) -> None:
    robot = shipped('kuka_ir361')
    target = Problem(robot).target
    values = target.T @ (target.base.K @ robot.theta)
    np.testing.assert_allclose(values[:9], golden['p004']['theta_urdf'], atol=1e-9)


def limits_hold_everywhere(robot: Robot, trajectory: FourierTrajectory) -> bool:
    """Look at fifty thousand samples of a period."""
    problem = Problem(robot)
    motion = Motion(problem.robot, *trajectory.sample(np.linspace(0, trajectory.period, 50_000)))
    return all(violation(family.evaluate(motion)[0], family.two_sided).max() <= 0
               for family in problem.families)


@pytest.mark.slow
def test_a_design_for_paper_004_beats_it_and_keeps_all_limits() -> None:
    robot = shipped('kuka_ir361')
    design = design_fourier(robot, seed=0, budget_s=15)
    assert design.cond < 8.66 and design.feasible
    assert limits_hold_everywhere(robot, design.trajectory)


def test_a_short_design_is_feasible_and_repeatable() -> None:
    """Half a second of CPU gives a motion that is proven to keep every limit."""
    robot = configured('arm6', WorkspaceOptions(floor=0.1))
    design = design_fourier(robot, seed=3, budget_s=0.5, workers=1)
    assert design.feasible and limits_hold_everywhere(robot, design.trajectory)
    assert set(design.verification.smallest()) == {
        'position', 'velocity', 'acceleration', 'effort', 'workspace', 'collision'}
    assert design.history and design.evaluations > 0 and not design.interrupted


@pytest.mark.parametrize('seed', range(4))
def test_verified_margins_are_bounds(seed: int) -> None:
    """Of a random motion, feasible or not: never better than very many samples say."""
    robot = configured('arm7', WORKSPACE)
    problem = Problem(robot)
    x = 0.25 * np.random.default_rng(seed).normal(size=len(problem.bounds))
    trajectory = problem.trajectory(x)
    verification = verify(trajectory, problem.robot, problem.families)
    motion = Motion(problem.robot, *trajectory.sample(
        np.linspace(0, trajectory.period, 20_000)))
    margins = iter(verification.margins)
    for family in problem.families:
        rows = violation(family.evaluate(motion)[0], family.two_sided)
        for row in rows:
            found = next(margins).scaled
            assert found <= -row + 1e-9
            # … and not much worse: a percent of a limit, a centimetre where it matters
            assert found >= -row - 0.02 or found > 0.1


def test_starts_are_feasible_without_luck() -> None:
    problem = Problem(configured('arm7', WorkspaceOptions(floor=0.1)))
    for seed in range(10):
        assert problem.violations(find_start(problem, np.random.default_rng(seed))).max() < 0


def test_ctrl_c_gives_the_best_so_far() -> None:
    def interrupt(progress) -> None:
        if progress.stage == 'explore':
            raise KeyboardInterrupt
    design = design_fourier(configured('arm6'), budget_s=2, report=interrupt, workers=1)
    assert design.interrupted and design.feasible


def test_a_posture_is_kept() -> None:
    robot = configured('arm6', posture={'joint2': 0.5})
    design = design_fourier(robot, budget_s=0.3, workers=1)
    assert design.trajectory.coefficients[1, 0] == 0.5


def test_passive_joints_keep_their_limits() -> None:
    robot = shipped('parallelogram')
    design = design_fourier(robot, budget_s=0.5, workers=1)
    q, _, _ = design.trajectory.sample(np.linspace(0, design.trajectory.period, 5000))
    tree = q @ robot.joint_map.G.T + robot.joint_map.c
    for column, name in zip(tree.T, robot.tree_joint_names):
        joint = robot.description.joint(name)
        assert joint.lower <= column.min() and column.max() <= joint.upper


@pytest.mark.parametrize(('change', 'error', 'message'), [
    ({'model': {'limits': {'joint2': LimitOptions(velocity=0.0)}}}, ExcitationError,
     "joint 'joint2' cannot move: its velocity limit is zero"),
    ({'model': {'limits': {'joint2': LimitOptions(lower=0.5, upper=0.5)}}}, ExcitationError,
     "joint 'joint2' cannot move: its position limits leave no room"),
    ({'model': {'joints': ('tool_joint',)}}, ConfigError, 'there is no movable joint'),
    ({'harmonics': ()}, ExcitationError, "joint 'joint1' has none"),
    ({'frequency_hz': 0.0}, ExcitationError, 'frequency_hz is 0.0'),
    ({'posture': {'joint1': 9.0}}, ConfigError, 'posture: joint1: is 9.0, outside the limits'),
    ({'posture': {'joint9': 0.0}}, ConfigError, "posture: there is no joint 'joint9'"),
    ({'noise': {'joint9': 1.0}}, ConfigError, "noise: there is no joint 'joint9'"),
    ({'noise': {'joint1': 0.0}}, ConfigError, 'noise: joint1: is 0.0, expected above zero'),
    ({'parameters': {'a': {'XX1': 1.0}}}, ConfigError, '1 are given, expected as many as'),
    ({'workspace': WorkspaceOptions(floor=5.0)}, InfeasibleExcitation,
     r'no posture keeps to all limits: the best of 100 .* workspace \(lower z\) by'),
    ({'workspace': WorkspaceOptions(floor=0.0, link='toool')}, ConfigError,
     "there is no 'toool', did you mean 'tool0'"),
    ({'workspace': WorkspaceOptions(keep_out_radius=0.5)}, ConfigError, 'go together'),
    ({'workspace': WorkspaceOptions(lower=(0.0, 1.0))}, ConfigError, 'has 2 numbers'),
    ({'workspace': WorkspaceOptions(floor=1.0, ceiling=0.0)}, ConfigError,
     'lower z 1.0 is above upper z 0.0'),
    ({'model': {'limits': {'joint2': LimitOptions(effort=0.01)}}}, InfeasibleExcitation,
     r'exceeds the effort limit of joint2 by .* N·m'),
])
def test_what_cannot_be_designed_is_said_in_one_line(change: dict, error, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        design_fourier(configured('arm6', **change), budget_s=0.3, workers=1)
    assert '\n' not in str(caught.value)


def test_joints_without_a_speed_limit_are_refused() -> None:
    urdf = (ROOT / 'urdf' / 'arm6.urdf').read_text().replace('velocity="3.1"', '', 1)
    with pytest.raises(ExcitationError, match="'joint1' has no velocity limit; give it one"):
        design_fourier(load_robot(urdf), budget_s=0.3, workers=1)


def test_wrong_combinations_of_parameters_are_named(golden: dict) -> None:
    robot = shipped('kuka_ir361')
    wrong = {**robot.config.excitation.parameters, 'kd3': {'ZZ3': 0.5, 'XX3': -0.4}}
    with pytest.raises(ConfigError, match='kd3: is no combination of base parameters'):
        Problem(configured('kuka_ir361', parameters=wrong))
    twice = {**robot.config.excitation.parameters, 'kd3': {'YZ3': 1.0}}
    with pytest.raises(ConfigError, match='they depend on each other'):
        Problem(configured('kuka_ir361', parameters=twice))


def test_scaling_and_noise_change_what_is_minimised() -> None:
    from robident_ros.excitation.information import adapt_criterion
    robot = configured('arm6', scale_columns=True, noise={'joint1': 2.0})
    problem = Problem(robot)
    W = problem.target.reduce(problem.motion(0.2 * np.ones(len(problem.bounds))).W)
    scaled = adapt_criterion(robot, problem.target, CRITERIA['cond'])(W)[0]
    sizes = np.abs(problem.target.base.K @ robot.theta)
    sizes[sizes <= 1e-9] = np.median(sizes[sizes > 1e-9])
    rows = np.repeat([0.5, 1, 1, 1, 1, 1], len(W) // 6)
    assert scaled == pytest.approx(np.linalg.cond(W * sizes * rows[:, None]))
