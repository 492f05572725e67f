"""Lin's Algorithm 2 on the Stanford arm: Table II of paper 001, and its refusals."""

import numpy as np
import pytest
from robident_ros.config import Config, DriveOptions
from robident_ros.errors import EstimationError, RankDeficient
from robident_ros.estimation.sequential import estimate_sequentially, Motion
from robident_ros.model.composite import minimal_set
from robident_ros.model.robot import load_robot, Robot
from shipped import ROOT
from synthetic import torque

HOME = (0.7, 0.7, 0.0, 0.7, 0.7, 0.7)  # eq. (62)


def stanford(*terms: str) -> Robot:
    return load_robot(ROOT / 'urdf' / 'stanford.urdf', Config(drives=DriveOptions(terms=terms)))


def step(robot: Robot, theta: np.ndarray, position: tuple, joint: int,
         times: tuple = (0.2, 0.3, 0.4), noise: float = 0.0) -> Motion:
    """Turn one joint by 30° with the critically damped response of eqs. (64) to (66)."""
    t, sigma = np.array(times), 10.0
    q = np.tile(np.array(position, dtype=float), (len(t), 1))
    v, a = np.zeros_like(q), np.zeros_like(q)
    decay = np.pi / 6 * np.exp(-sigma * t)
    q[:, joint] += np.pi / 6 - (1 + sigma * t) * decay
    v[:, joint], a[:, joint] = sigma**2 * t * decay, sigma**2 * (1 - sigma * t) * decay
    tau = torque(robot, theta, q, v, a)
    return Motion(q, v, a, tau + noise * np.random.default_rng(joint).normal(size=tau.shape))


def programme(robot: Robot, theta: np.ndarray, **options) -> list[Motion]:
    """Return the paper's motions: joint 1 in several configurations, then joint 2 alone."""
    positions = [HOME] + [HOME[:j] + (x,) + HOME[j + 1:] for j in (1, 3, 4, 5)
                          for x in (-0.6, -0.7)]
    return [step(robot, theta, position, 0, **options) for position in positions] + [
        step(robot, theta, HOME, 1, **options)]


def test_table_2_of_the_paper(golden: dict) -> None:
    """The constants come out to 1e-10, and to the printed digits."""
    robot = stanford()
    found = estimate_sequentially(programme(robot, robot.theta), robot)
    np.testing.assert_allclose(found.values, minimal_set(robot).map @ robot.theta, atol=1e-10)
    rename = {'U1_33': 'U33_1', 'mh3': 'm_3', 'k3x': 'kx_3', 'k3y': 'ky_3', 'k3z': 'kz_3'}
    reference = golden['p001']
    values = dict(zip(found.names, found.values))
    for label, printed in zip(reference['theorem2_labels'], reference['theta_table2']):
        tolerance = reference['tol_U2_11_22' if label == 'U11-U22_2' else 'tol_table']
        assert values[rename.get(label, label)] == pytest.approx(printed, abs=tolerance), label


def test_friction_is_found_with_the_constants() -> None:
    robot = stanford('Fv', 'Fc', 'off')
    theta = np.array(robot.theta)
    theta[robot.drive_columns] = np.random.default_rng(0).uniform(0.5, 2, len(robot.drive_columns))
    times = tuple(np.linspace(0.02, 0.8, 30))
    motions = programme(robot, theta, times=times)
    # every joint must move itself, both ways, to show its friction
    for joint in range(6):
        forward = step(robot, theta, HOME, joint, times)
        v = -forward.v
        motions += [forward, Motion(forward.q, v, forward.a,
                                    torque(robot, theta, forward.q, v, forward.a))]
    found = dict(zip(*(lambda e: (e.names, e.values))(estimate_sequentially(motions, robot))))
    for name, value in zip(robot.parameter_names, theta):
        if name in found:
            assert found[name] == pytest.approx(value, abs=1e-8), name


def test_deviations_tell_the_noise() -> None:
    robot = stanford()
    times = tuple(np.linspace(0.02, 0.8, 60))
    found = estimate_sequentially(programme(robot, robot.theta, times=times, noise=1e-3), robot)
    last = np.array([name.endswith('_6') for name in found.names])
    error = found.values - minimal_set(robot).map @ robot.theta
    # of the first step, which knows all of its error; later ones inherit what is behind
    assert (np.abs(error[last]) < 5 * found.std[last]).all()


def test_two_joints_moving_are_refused() -> None:
    robot = stanford()
    motion = step(robot, robot.theta, HOME, 0)
    with pytest.raises(EstimationError, match='joint1, joint2'):
        estimate_sequentially([Motion(motion.q, motion.v + motion.v[:, [1, 0, 2, 3, 4, 5]],
                                      motion.a, motion.tau)], robot)


def test_configurations_that_show_too_little_are_named() -> None:
    robot = stanford()
    with pytest.raises(RankDeficient, match="joint 'joint6'"):
        estimate_sequentially([step(robot, robot.theta, HOME, 0)], robot)


def test_rotor_inertia_is_refused() -> None:
    robot = stanford('Ia')
    with pytest.raises(EstimationError, match='--terms'):
        estimate_sequentially([step(robot, robot.theta, HOME, 0)], robot)
