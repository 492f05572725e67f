"""The width of smooth Coulomb friction is found where it matters, from one pass over the data."""

import numpy as np
import pytest
from robident_ros.config import EstimatorOptions
from robident_ros.estimation.compress import compress
from robident_ros.estimation.coulomb import best_width, candidate_widths, choose, width_columns
from robident_ros.estimation.coulomb import with_width
from robident_ros.estimation.identify import identify
from robident_ros.model.base import base_parameters
from shipped import shipped
from synthetic import motion, samples_of, simulate, torque, with_drives


@pytest.mark.parametrize('name', ['arm6', 'tx40'])
def test_one_pass_holds_every_width(name: str) -> None:
    """Choosing a width's columns from the factors is compressing with that width."""
    robot = shipped(name)
    base, widths = base_parameters(robot), (0.0, 0.1, 0.4)
    samples = simulate(robot, with_drives(robot), 300, 0.05)
    columns = width_columns(robot, base, widths)
    everything = compress(samples, columns.robot, base, widths=columns)[0]
    for k, width in enumerate(widths):
        direct = compress(samples, with_width(robot, width), base)[0]
        chosen = choose(everything, columns, k)
        assert chosen.parameter_names == direct.parameter_names
        for one, other in zip(chosen.factors, direct.factors):
            np.testing.assert_allclose(one.T @ one, other.T @ other,
                                       atol=1e-11 * np.abs(one).max()**2)


def test_a_smooth_robot_is_seen_to_be_smooth() -> None:
    robot = shipped('arm6')
    t, q, v, a = motion(robot, 800)
    width = candidate_widths(v)[4]
    smooth = with_width(robot, width)
    tau = torque(smooth, with_drives(robot), q, v, a)
    noisy = tau + 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    found = identify([samples_of(robot, t, q, v, a, noisy)], robot)
    assert found.estimate.coulomb_width == width


def test_a_sharp_robot_stays_sharp() -> None:
    robot = shipped('arm6')
    found = identify([simulate(robot, with_drives(robot), 500, 0.02)], robot)
    assert found.estimate.coulomb_width == 0


def test_the_sign_is_kept_where_it_is_asked_for() -> None:
    robot = shipped('arm6')
    t, q, v, a = motion(robot, 300)
    tau = torque(with_width(robot, 1.0), with_drives(robot), q, v, a)
    samples = samples_of(robot, t, q, v, a, tau)
    assert identify([samples], robot, EstimatorOptions(coulomb='sign')).estimate.coulomb_width == 0
    assert identify([samples], robot, EstimatorOptions(coulomb='smooth')).estimate.coulomb_width


def test_a_gain_of_less_than_a_percent_is_not_worth_it() -> None:
    assert best_width([1.0, 0.995, 0.999]) == 0
    assert best_width([1.0, 0.98, 0.97]) == 2


def test_widths_follow_the_speed_of_the_motion() -> None:
    v = np.random.default_rng(0).normal(size=(100, 2))
    np.testing.assert_allclose(candidate_widths(10 * v), 10 * np.array(candidate_widths(v)),
                               rtol=0.1)
    assert candidate_widths(0 * v) == (0.0,)
