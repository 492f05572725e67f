"""Messages to arrays and back: nothing is lost, and what is odd is noticed."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed: pip install "robident_ros[ros]"')

from robident_ros.errors import ExperimentError  # noqa: E402, I100
from robident_ros.experiment.motion import rest_to_rest  # noqa: E402
from robident_ros.experiment.timeline import Points  # noqa: E402
from robident_ros.ros.messages import from_command, from_time, from_trajectory  # noqa: E402
from robident_ros.ros.messages import sample_points, to_time, to_trajectory  # noqa: E402

pytestmark = pytest.mark.ros
NAMES = ('a', 'b')


def test_points_go_through_a_message_and_come_back() -> None:
    """Times are kept to the nanosecond, numbers to the last bit."""
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 2))
    points = Points(np.linspace(0.1, 7.3, 5), q, v, a)
    names, back = from_trajectory(to_trajectory(NAMES, points, 12.5))
    assert names == NAMES
    np.testing.assert_allclose(back.t, points.t, atol=1e-9)
    for name in ('q', 'v', 'a'):
        np.testing.assert_array_equal(getattr(back, name), getattr(points, name))


def test_stamps_are_kept_and_no_stamp_means_on_arrival() -> None:
    assert from_time(to_time(1234.000000001)) == pytest.approx(1234.000000001, abs=1e-9)
    points = Points(np.ones(1), np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)))
    assert to_trajectory(NAMES, points, None).header.stamp.sec == 0


@pytest.mark.parametrize('start', [-5.0, 0.0, 0.7, 1.9999, 2.0, 3.0])
def test_sampled_points_increase_and_end_at_rest_with_the_motion(start: float) -> None:
    points = sample_points(rest_to_rest(np.zeros(2), np.ones(2), 2.0), start, 50.0)
    assert points.t[0] > 0 and (np.diff(points.t) > 0).all()
    assert points.t[-1] == 2.0
    np.testing.assert_array_equal(points.v[-1], 0)
    np.testing.assert_array_equal(points.q[-1], 1)
    assert len(points.t) == 1 or points.t[0] >= start - 1e-9


def test_streamed_positions_are_sorted_by_joint() -> None:
    np.testing.assert_array_equal(from_command([1.0, 2.0], ('b', 'a'), NAMES), [2.0, 1.0])
    np.testing.assert_array_equal(from_command([1.0, 2.0], (), NAMES), [1.0, 2.0])
    with pytest.raises(ExperimentError, match="no joint 'b'"):
        from_command([1.0, 2.0], ('c', 'a'), NAMES)


def test_commanded_efforts_become_joint_states() -> None:
    """In Gazebo: positions as measured, efforts as commanded; without efforts, nothing."""
    from types import SimpleNamespace
    from builtin_interfaces.msg import Time
    from robident_ros.ros.commanded_effort_node import to_joint_state
    state = SimpleNamespace(
        joint_names=['a', 'b'], header=SimpleNamespace(stamp=Time(sec=3)),
        feedback=SimpleNamespace(positions=[1.0, 2.0], velocities=[0.1, 0.2]),
        output=SimpleNamespace(effort=[5.0, 6.0]))
    message = to_joint_state(state)
    assert list(message.effort) == [5.0, 6.0] and list(message.position) == [1.0, 2.0]
    state.output.effort = []
    assert to_joint_state(state) is None
