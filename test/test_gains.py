"""Drive gains follow from a known load."""

import numpy as np
import pytest
from robident_ros.errors import EstimationError
from robident_ros.estimation.compress import compress
from robident_ros.estimation.gains import identify_gains
from robident_ros.model.base import base_parameters
from robident_ros.model.composite import transport
from robident_ros.model.parameters import from_inertial
from shipped import shipped
from synthetic import changed, simulate, with_drives

ROBOT = shipped('arm6')
BASE = base_parameters(ROBOT)
LOAD = from_inertial(3.0, [0.05, 0.02, 0.1], np.diag([0.02, 0.02, 0.01]))
GAINS = np.array([9.0, 7.0, 5.0, 3.0, 2.0, 1.0])


def currents(load: np.ndarray | None, noise: float, seed: int):
    theta = with_drives(ROBOT)
    if load is not None:
        theta[ROBOT.link_columns[-1]:ROBOT.link_columns[-1] + 10] += load
    samples = simulate(ROBOT, theta, 1000, noise, seed)
    return compress(changed(samples, tau=samples.tau / GAINS), ROBOT, BASE)[0]


def test_exact_currents_give_gains_and_parameters() -> None:
    found = identify_gains([(currents(None, 0, 1), None), (currents(LOAD, 0, 2), LOAD)], ROBOT,
                           BASE)
    np.testing.assert_allclose(found.gain, GAINS, rtol=1e-9)
    np.testing.assert_allclose(found.beta, BASE.K @ with_drives(ROBOT), atol=1e-7)


def test_noise_does_not_bias_the_gains() -> None:
    """Linear least squares would shrink them; maximum likelihood does not, and σ is honest."""
    errors = []
    for seed in range(0, 30, 2):
        found = identify_gains([(currents(None, 0.1, seed), None),
                                (currents(LOAD, 0.1, seed + 1), LOAD)], ROBOT, BASE)
        errors.append((found.gain - GAINS) / found.std)
    # 90 values in all, correlated between joints: means within half a deviation
    assert np.abs(np.mean(errors)) < 0.5
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1, abs=0.35)


def test_the_known_load_may_be_told_in_another_frame() -> None:
    frame = next(f for f in ROBOT.tree.frames if f.name == 'tool0')
    there = transport(frame.placement.inverse()) @ LOAD
    found = identify_gains([(currents(None, 0, 1), None), (currents(LOAD, 0, 2), there)], ROBOT,
                           BASE, 'tool0')
    np.testing.assert_allclose(found.gain, GAINS, rtol=1e-8)


def test_a_robot_with_two_ends_must_be_told_where_the_load_is() -> None:
    robot = shipped('parallelogram')
    base = base_parameters(robot)
    data = compress(simulate(robot, with_drives(robot), 100), robot, base)[0]
    with pytest.raises(EstimationError, match='2 ends'):
        identify_gains([(data, LOAD)], robot, base)


def test_without_a_load_there_is_no_scale() -> None:
    with pytest.raises(EstimationError, match='known load'):
        identify_gains([(currents(None, 0, 1), None)], ROBOT, BASE)


def test_reversed_currents_are_noticed() -> None:
    def reverse(load, seed):
        theta = with_drives(ROBOT)
        if load is not None:
            theta[ROBOT.link_columns[-1]:ROBOT.link_columns[-1] + 10] += load
        samples = simulate(ROBOT, theta, 500, 0, seed)
        return compress(changed(samples, tau=-samples.tau), ROBOT, BASE)[0]
    with pytest.raises(EstimationError, match='sign of the currents'):
        identify_gains([(reverse(None, 1), None), (reverse(LOAD, 2), LOAD)], ROBOT, BASE)
