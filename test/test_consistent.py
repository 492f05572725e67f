"""Consistent estimates: bodies, always; near the URDF where the data are silent."""

from dataclasses import replace

import numpy as np
import pytest
from robident_ros.config import Config, ModelOptions
from robident_ros.estimation.compress import compress
from robident_ros.estimation.cones import ConeProgramme, to_matrix, to_vector
from robident_ros.estimation.consistent import Bounds, estimate_consistent
from robident_ros.estimation.least_squares import estimate_base
from robident_ros.estimation.prior import make_prior, nearest_body
from robident_ros.model.base import base_parameters
from robident_ros.model.parameters import M, MX
from robident_ros.model.physical import judge_link, pseudo_inertia
from robident_ros.model.robot import load_robot
from shipped import ROBOTS, ROOT, shipped
from synthetic import simulate, with_drives

ROBOT = shipped('arm6')
BASE = base_parameters(ROBOT)
PRIOR = make_prior(ROBOT)


def problem_of(theta: np.ndarray, noise: float, robot=ROBOT, base=BASE, count: int = 500):
    return estimate_base(compress(simulate(robot, theta, count, noise), robot, base)[0]).problem


def masses(theta: np.ndarray, robot=ROBOT) -> np.ndarray:
    return theta[robot.link_columns + M]


def bodies(theta: np.ndarray, robot=ROBOT) -> bool:
    return all(judge_link('', theta[c:c + 10]).consistent for c in robot.link_columns)


@pytest.mark.parametrize('noise', [0.0, 0.05, 0.5])
def test_every_link_is_a_body_and_drives_resist(noise: float) -> None:
    found = estimate_consistent(problem_of(with_drives(ROBOT), noise), ROBOT, BASE, PRIOR)
    assert bodies(found.theta)
    for parameter, value in zip(ROBOT.parameters, found.theta):
        assert value >= 0 or parameter.symbol not in ('Ia', 'Fv', 'Fc')


def test_exact_data_are_reproduced() -> None:
    theta = with_drives(ROBOT)
    problem = problem_of(theta, 0.0)
    found = estimate_consistent(problem, ROBOT, BASE, PRIOR)
    residual = np.sqrt(problem.cost(BASE.K @ found.theta))
    # the solver's tolerance and the least weight of the prior leave this much
    assert residual < 1e-3 * np.linalg.norm(problem.y)


def test_the_prior_costs_no_more_than_its_budget() -> None:
    problem = problem_of(1.3 * with_drives(ROBOT), 0.05)
    for budget in (0.001, 0.01):
        found = estimate_consistent(problem, ROBOT, BASE, PRIOR, budget)
        light = estimate_consistent(problem, ROBOT, BASE, PRIOR, weight=1e-3)
        assert 1 + found.loss <= (1 + budget) * (1 + light.loss) + 1e-6


def test_a_larger_budget_stays_nearer_to_the_urdf() -> None:
    problem = problem_of(1.3 * with_drives(ROBOT), 0.05)
    near, far = (estimate_consistent(problem, ROBOT, BASE, PRIOR, budget)
                 for budget in (0.05, 0.001))
    assert near.weight > far.weight
    assert near.divergence.sum() < far.divergence.sum()


def test_links_that_the_data_do_not_show_stay_as_they_are() -> None:
    """Of link 1 only ZZ has an effect: its mass must not run away."""
    found = estimate_consistent(problem_of(with_drives(ROBOT), 0.1), ROBOT, BASE, PRIOR)
    assert masses(found.theta)[0] == pytest.approx(masses(PRIOR.theta)[0], rel=0.05)


def test_masses_are_bounded_where_asked() -> None:
    problem = problem_of(1.5 * with_drives(ROBOT), 0.3)
    found = estimate_consistent(problem, ROBOT, BASE, PRIOR, weight=1e-3,
                                bounds=Bounds(mass=(0.5, 2.0)))
    ratio = masses(found.theta) / masses(PRIOR.theta)
    assert found.bounded
    assert (ratio > 0.5 - 1e-6).all() and (ratio < 2 + 1e-6).all()


def test_bounds_that_the_data_contradict_are_given_up() -> None:
    """A URDF of feathers does not make a robot light."""
    light = replace(PRIOR, theta=np.where(np.isin(np.arange(len(PRIOR.theta)),
                                                  ROBOT.drive_columns), 1, 0.01) * PRIOR.theta)
    theta = with_drives(ROBOT)
    problem = problem_of(theta, 0.01)
    found = estimate_consistent(problem, ROBOT, BASE, light, bounds=Bounds(mass=(0.2, 5.0)))
    assert not found.bounded
    assert problem.cost(BASE.K @ found.theta) < 1.1 * problem.cost(problem.solve())


def test_centres_of_mass_are_bounded_where_asked() -> None:
    found = estimate_consistent(problem_of(with_drives(ROBOT), 0.2), ROBOT, BASE, PRIOR,
                                weight=1e-3, bounds=Bounds(com=0.1))
    for column in ROBOT.link_columns:
        com = found.theta[column + MX:column + MX + 3] / found.theta[column + M]
        assert np.abs(com).max() < 0.1 + 1e-6


def test_what_is_known_to_be_zero_stays_zero() -> None:
    config = replace(Config(), model=ModelOptions(zero=('XY2', 'MX3')))
    robot = load_robot(ROOT / 'urdf' / 'arm6.urdf', config)
    base = base_parameters(robot)
    found = estimate_consistent(problem_of(with_drives(robot), 0.05, robot, base), robot, base,
                                make_prior(robot))
    for name in ('XY2', 'MX3'):
        assert found.theta[robot.parameter_names.index(name)] == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize('weight', [0.0, 1e-2, 1.0, 100.0])
def test_clarabel_and_cvxpy_agree(weight: float) -> None:
    """The cones written by hand are the problem that cvxpy states in words."""
    cvxpy = pytest.importorskip('cvxpy')
    rng = np.random.default_rng(5)
    B, y = rng.normal(size=(30, 24)), rng.normal(size=30) + 3
    G = np.zeros((2, 24))
    G[[0, 1], [20, 22]] = 1
    found = ConeProgramme(B, y, 2, G, np.zeros(2), np.zeros((0, 24))).solve(weight)
    x = cvxpy.Variable(24)
    links = [cvxpy.Variable((4, 4), PSD=True) for _ in range(2)]
    entries = [(i, j) for j in range(4) for i in range(j + 1)]
    constraints = [x[20] >= 0, x[22] >= 0]
    constraints += [P[i, j] == x[10 * k + n] for k, P in enumerate(links)
                    for n, (i, j) in enumerate(entries)]
    cost = cvxpy.sum_squares(B @ x - y) / 2
    if weight:
        cost += weight * sum(cvxpy.trace(P) - cvxpy.log_det(P) for P in links)
    cvxpy.Problem(cvxpy.Minimize(cost), constraints).solve(solver='CLARABEL')
    np.testing.assert_allclose(found, x.value, atol=2e-4)

    def value(z: np.ndarray) -> float:
        total = np.sum((B @ z - y)**2) / 2
        for k in range(2 if weight else 0):
            P = to_matrix(z[10 * k:10 * k + 10])
            total += weight * (np.trace(P) - np.linalg.slogdet(P)[1])
        return float(total)
    assert value(found) == pytest.approx(value(x.value), rel=1e-6)


def test_entries_of_a_symmetric_matrix_come_back() -> None:
    u = np.arange(10.0)
    assert np.array_equal(to_vector(to_matrix(u)), u)


# --- the prior -----------------------------------------------------------------------------------

@pytest.mark.parametrize('name', ROBOTS)
def test_every_prior_is_made_of_bodies(name: str) -> None:
    robot = shipped(name)
    prior = make_prior(robot)
    for column in robot.link_columns:
        assert np.linalg.eigvalsh(pseudo_inertia(prior.theta[column:column + 10]))[0] > 0
    sound = [i for i, joint in enumerate(robot.tree_joint_names)
             if joint not in prior.mended + prior.invented]
    for i in sound:
        ten = slice(robot.link_columns[i], robot.link_columns[i] + 10)
        assert np.array_equal(prior.theta[ten], robot.theta[ten])


def test_impossible_links_are_mended_by_name() -> None:
    """As printed, links 3 and 6 of the TX-40 are no bodies."""
    prior = make_prior(shipped('tx40'))
    assert prior.mended == ('joint3', 'joint6')
    assert prior.invented == ()


def test_missing_inertials_are_replaced_by_a_plausible_solid() -> None:
    text = (ROOT / 'urdf' / 'arm6.urdf').read_text()
    start = text.index('<inertial>', text.index('<link name="link3"'))
    end = text.index('</inertial>', start) + len('</inertial>')
    with pytest.warns(UserWarning, match='joint3'):
        robot = load_robot(text[:start] + text[end:])
    prior = make_prior(robot)
    assert prior.invented == ('joint3',)
    assert masses(prior.theta, robot)[2] == np.median(masses(robot.theta, robot)[
        [0, 1, 3, 4, 5]])
    assert bodies(prior.theta, robot)


def test_the_nearest_body_of_a_body_is_itself() -> None:
    ten = PRIOR.theta[ROBOT.link_columns[1]:ROBOT.link_columns[1] + 10]
    assert np.array_equal(nearest_body(ten), ten)
