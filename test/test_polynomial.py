"""Polynomial trajectories: what they pass through, what they keep to, and their files."""

import numpy as np
import pytest
from robident_ros.arrays import read_only
from robident_ros.errors import ExcitationError
from robident_ros.excitation.polynomial import is_within, join, margins, PolynomialTrajectory
from robident_ros.excitation.polynomial import tightest
from robident_ros.excitation.trajectory import load_trajectory, save_trajectory, Trajectory
from robident_ros.model.robot import Limits

NAMES = ('shoulder', 'elbow')
LIMITS = Limits(*map(read_only, ([-1, -2], [1, 2], [1, 1.5], [4, 3], [np.inf, np.inf])))


@pytest.fixture
def trajectory() -> PolynomialTrajectory:
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-0.5, 0.5, (2, 8, 2))
    v[[0, -1]] = 0
    return join(NAMES, q, v, LIMITS)


def test_it_passes_through_its_points(trajectory: PolynomialTrajectory) -> None:
    q, v, a = trajectory.sample(trajectory.times)
    np.testing.assert_allclose(q, trajectory.points[:, 0], atol=1e-12)
    np.testing.assert_allclose(v, trajectory.points[:, 1], atol=1e-12)
    np.testing.assert_allclose(a, 0, atol=1e-10)
    assert isinstance(trajectory, Trajectory)
    assert not trajectory.is_periodic
    assert trajectory.period == trajectory.times[-1]


def test_speeds_and_accelerations_are_derivatives(trajectory: PolynomialTrajectory) -> None:
    t = np.linspace(0.01, trajectory.period - 0.01, 300)
    step = 1e-5
    before, here, after = (trajectory.sample(t + shift) for shift in (-step, 0, step))
    np.testing.assert_allclose((after[0] - before[0]) / (2 * step), here[1], atol=1e-7)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * step), here[2], atol=1e-4)


def test_it_rests_before_and_after(trajectory: PolynomialTrajectory) -> None:
    q, v, a = trajectory.sample(np.array([-1.0, trajectory.period + 1]))
    np.testing.assert_allclose(q, trajectory.points[[0, -1], 0], atol=1e-12)
    np.testing.assert_allclose([v, a], 0, atol=1e-10)


def test_every_interval_is_at_some_limit(trajectory: PolynomialTrajectory) -> None:
    """Section 5.2: on one joint the highest speed or acceleration is reached."""
    for i in range(len(trajectory.durations)):
        one = PolynomialTrajectory(NAMES, trajectory.points[i:i + 2],
                                   trajectory.durations[i:i + 1])
        found = margins(one.quintics, LIMITS)
        closest = min(found['velocity'].min(), found['acceleration'].min())
        assert closest == pytest.approx(0, abs=1e-9)


def test_margins_are_those_of_dense_samples(trajectory: PolynomialTrajectory) -> None:
    q, v, a = trajectory.sample(np.linspace(0, trajectory.period, 100_001))
    found = margins(trajectory.quintics, LIMITS)
    np.testing.assert_allclose(found['position'], np.minimum(
        (q - LIMITS.lower).min(axis=0), (LIMITS.upper - q).min(axis=0)), atol=1e-6)
    np.testing.assert_allclose(found['velocity'], LIMITS.velocity - np.abs(v).max(axis=0),
                               atol=1e-6)
    np.testing.assert_allclose(found['acceleration'], LIMITS.acceleration - np.abs(a).max(axis=0),
                               atol=1e-4)


def test_overshoot_between_points_is_seen() -> None:
    """Both points are inside, but the joint comes at the limit with speed and turns behind it."""
    q, v = np.array([[0.0, 0.0], [0.99, 0.0]]), np.array([[0.0, 0.0], [0.8, 0.0]])
    motion = join(NAMES, np.vstack([q, q[:1]]), np.vstack([v, v[:1]]), LIMITS)
    found = margins(motion.quintics, LIMITS)
    assert not is_within(found, LIMITS)
    key, joint, relative = tightest(found, LIMITS)
    assert (key, joint) == ('position', 0) and relative < -0.01


def test_a_file_brings_it_back(trajectory: PolynomialTrajectory, tmp_path) -> None:
    save_trajectory(trajectory, tmp_path / 'trajectory.yaml', {'seed': 0})
    again = load_trajectory(tmp_path / 'trajectory.yaml')
    assert again.joint_names == NAMES
    np.testing.assert_array_equal(again.points, trajectory.points)
    np.testing.assert_array_equal(again.durations, trajectory.durations)


def test_damaged_files_are_refused(trajectory: PolynomialTrajectory, tmp_path) -> None:
    path = tmp_path / 'trajectory.yaml'
    save_trajectory(trajectory, path)
    path.write_text(path.read_text().replace('durations:\n- ', 'durations:\n- -'))
    with pytest.raises(ExcitationError, match='is damaged.*expected 7 durations above zero'):
        load_trajectory(path)


def test_arrays_are_closed_and_checked(trajectory: PolynomialTrajectory) -> None:
    assert not trajectory.points.flags.writeable
    with pytest.raises(ValueError, match='points have shape'):
        PolynomialTrajectory(NAMES, np.zeros((3, 2, 3)), np.ones(2))
    with pytest.raises(ValueError, match='not all finite'):
        PolynomialTrajectory(NAMES, np.full((3, 2, 2), np.nan), np.ones(2))
