"""The simulated controllers: interpolation, refusals, deadline, hold."""

from experiment_cases import chain
import numpy as np
import pytest
from robident_ros.config import SimulationOptions
from robident_ros.errors import ExperimentError
from robident_ros.experiment.controller import SetPoint
from robident_ros.experiment.motion import make_spline
from robident_ros.model.robot import load_robot, Robot

NAMES = ('j1', 'j2')
OPTIONS = SimulationOptions(deadline_s=0.1)


@pytest.fixture(scope='module')
def robot() -> Robot:
    return load_robot(chain(('', '')))


@pytest.fixture
def set_point(robot: Robot) -> SetPoint:
    return SetPoint(np.array([0.1, 0.2]), robot, OPTIONS)


def test_it_holds_where_it_begins(set_point: SetPoint) -> None:
    q, v, a = set_point.at(7.0)
    np.testing.assert_array_equal(q, [0.1, 0.2])
    assert set_point.mode == 'hold' and not v.any() and not a.any()


@pytest.mark.parametrize('given', [1, 2, 3], ids=['linear', 'cubic', 'quintic'])
def test_points_are_interpolated_as_far_as_they_are_given(set_point: SetPoint,
                                                          given: int) -> None:
    """From the present set point to the first point, then from point to point."""
    rng = np.random.default_rng(0)
    times, points = np.array([0.5, 1.0, 1.7]), rng.normal(size=(3, 3, 2))
    points[1, -1] = 0
    set_point.follow(2.0, NAMES, times, *points[:given])
    begin = [np.array([0.1, 0.2]), np.zeros(2), np.zeros(2)]
    spline = make_spline([0, *times], *(np.vstack([now, values])
                                        for now, values in zip(begin, points[:given])))
    for t in (2.0, 2.2, 2.9, 3.6):
        for found, expected in zip(set_point.at(t), spline.sample(np.array([t - 2]))):
            np.testing.assert_allclose(found, expected[0], atol=1e-12)
    assert set_point.mode == 'follow'
    np.testing.assert_allclose(set_point.at(9.0)[0], points[0, -1], atol=1e-12)
    assert set_point.mode == 'hold'


def test_joints_go_by_name(set_point: SetPoint) -> None:
    set_point.follow(0.0, ('j2', 'j1'), [1.0], [[2.0, 1.0]])
    np.testing.assert_allclose(set_point.at(1.0)[0], [1.0, 2.0])


def test_point_that_is_due_at_once_is_jumped_to(set_point: SetPoint) -> None:
    set_point.follow(0.0, NAMES, [0.0], [[1.0, 2.0]])
    np.testing.assert_array_equal(set_point.at(0.0)[0], [1.0, 2.0])


def test_new_trajectory_replaces_the_old_one_smoothly(set_point: SetPoint) -> None:
    rest = np.zeros((1, 2))
    set_point.follow(0.0, NAMES, [1.0], [[1.0, 1.0]], rest, rest)
    before = set_point.at(0.5)
    set_point.follow(0.5, NAMES, [1.0], [[0.0, 0.0]], rest, rest)
    for old, new in zip(before, set_point.at(0.5)):
        np.testing.assert_allclose(old, new, atol=1e-12)
    np.testing.assert_allclose(set_point.at(1.5)[0], 0, atol=1e-12)


@pytest.mark.parametrize('names, times, q, v, a, message', [
    (NAMES, [], np.zeros((0, 2)), None, None, 'no points'),
    (NAMES, [1, 1], np.zeros((2, 2)), None, None, 'time_from_start must increase'),
    (NAMES, [-1, 1], np.zeros((2, 2)), None, None, 'time_from_start must increase'),
    (NAMES, [1, np.nan], np.zeros((2, 2)), None, None, 'time_from_start must increase'),
    (NAMES, [1], np.zeros((1, 3)), None, None, r'positions have shape \(1, 3\), expected \(1, 2'),
    (NAMES, [1], [[0, np.nan]], None, None, 'positions of j2 in point 0 are nan'),
    (NAMES, [1], np.zeros((1, 2)), [[0, 0.5]], None, 'last point has velocity 0.5 of j2'),
    (NAMES, [1], np.zeros((1, 2)), None, np.zeros((1, 2)), 'accelerations are given without'),
    (('j1', 'j3'), [1], np.zeros((1, 2)), None, None, "has no joint 'j2' of the robot"),
    (('j1', 'j2', 'j3'), [1], np.zeros((1, 3)), None, None, "moves 'j3', which is no active")])
def test_wrong_trajectories_are_refused_and_change_nothing(
        set_point: SetPoint, names: tuple[str, ...], times: list, q: np.ndarray,
        v: np.ndarray | None, a: np.ndarray | None, message: str) -> None:
    with pytest.raises(ExperimentError, match=f'joint trajectory: .*{message}'):
        set_point.follow(0.0, names, times, q, v, a)
    np.testing.assert_array_equal(set_point.at(5.0)[0], [0.1, 0.2])


def test_streamed_positions_are_joined_over_their_interval(set_point: SetPoint) -> None:
    for k in range(1, 20):
        set_point.stream(0.01 * k, np.array([0.1 + 0.001 * k, 0.2]))
    assert set_point.mode == 'stream'
    q, v, _ = set_point.at(0.195)
    np.testing.assert_allclose(v, [0.1, 0], atol=0.02)
    np.testing.assert_allclose(set_point.at(0.2)[0], [0.119, 0.2], atol=1e-9)


def test_stream_that_ends_is_held_after_the_deadline(set_point: SetPoint) -> None:
    for k in range(1, 20):
        set_point.stream(0.01 * k, np.array([0.1 + 0.001 * k, 0.2]))
    set_point.at(0.19 + 0.099)
    assert set_point.mode == 'stream'
    q, v, a = set_point.at(0.19 + 0.101)
    assert set_point.mode == 'hold'
    np.testing.assert_allclose(q, [0.119, 0.2], atol=1e-9)
    assert not v.any() and not a.any()


@pytest.mark.parametrize('q', [np.zeros(3), np.array([0, np.nan])])
def test_wrong_streamed_commands_are_refused(set_point: SetPoint, q: np.ndarray) -> None:
    with pytest.raises(ExperimentError, match='position command is .*expected 2 finite numbers'):
        set_point.stream(0.0, q)
    assert set_point.mode == 'hold'


def test_hold_stops_smoothly(set_point: SetPoint) -> None:
    rest = np.zeros((1, 2))
    set_point.follow(0.0, NAMES, [1.0], [[1.0, 1.0]], rest, rest)
    before = set_point.at(0.4)
    set_point.hold(0.4)
    for old, new in zip(before, set_point.at(0.4)):
        np.testing.assert_allclose(old, new, atol=1e-12)
    q, v, a = set_point.at(2.0)
    assert set_point.mode == 'hold' and not v.any() and not a.any()
    assert (q > before[0]).all() and (q < 1).all()
