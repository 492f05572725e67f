"""Live estimation agrees with what it must become, and is silent before it knows anything."""

from experiment_cases import random_trajectory
import numpy as np
from robident_ros.estimation.live import LiveEstimation
from robident_ros.experiment.feasibility import predict_effort
from shipped import shipped


def test_blocks_of_a_motion_give_the_parameters_that_made_it() -> None:
    """Efforts of known parameters: base parameters come back, errors are those of the filter."""
    robot = shipped('arm6')
    trajectory = random_trajectory(robot, amplitude=0.8, period=5.0)
    live, found = LiveEstimation(robot), []
    for start in range(0, 20, 2):
        t = start + np.arange(0, 2, 0.002)
        q, v, a = trajectory.sample(t)
        found.append(live.add(t, q, v, predict_effort(robot, q, v, a)))
    last = found[-1]
    assert last.torque_error < 1e-3
    assert last.rows > found[1].rows
    apriori = dict(zip(live._base.names, live._base.K @ robot.theta))
    large = np.argsort(-np.abs(last.beta))[:10]
    for i in large:
        np.testing.assert_allclose(last.beta[i], apriori[last.names[i]], rtol=0.02)


def test_a_robot_at_rest_says_nothing_and_raises_nothing() -> None:
    robot = shipped('arm6')
    live = LiveEstimation(robot)
    t = np.arange(0, 2, 0.002)
    rest = np.zeros((len(t), 6))
    assert live.add(t, rest, rest, rest + 1) is None
    assert live.add(t[:3], rest[:3], rest[:3], rest[:3]) is None
