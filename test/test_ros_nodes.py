"""Recorder, identification and simulated robot over real DDS."""

from pathlib import Path
import time

import numpy as np
import pytest
from robident_ros.recording import read_recording
from ros_harness import PATIENCE, stage, URDF, write_config, write_trajectory

pytestmark = pytest.mark.ros


def test_an_experiment_ends_with_an_identified_description(tmp_path: Path) -> None:
    """Play, record without loss, see the means settle, identify, and receive the URDF."""
    from robident_ros.ros.experiment_run import perform, Plan
    from robident_ros.ros.messages import LATCHED
    from std_msgs.msg import String
    from trajectory_msgs.msg import JointTrajectory
    trajectory = write_trajectory(tmp_path / 'trajectory.yaml')
    config = str(write_config(tmp_path / 'config.yaml'))
    plan = Plan(trajectory, config=config, periods=4, use_sim_time=True)  # URDF by topic
    bag, descriptions, means = tmp_path / 'recording', [], []
    with stage(tmp_path) as conductor:
        conductor.node.create_subscription(String, '/identification/robot_description',
                                           descriptions.append, LATCHED)
        conductor.node.create_subscription(JointTrajectory, '/recorder/period_mean',
                                           means.append, LATCHED)
        conductor.start('simulated_robot', urdf=str(URDF), config=config, clock=True)
        conductor.start('identification', config=config, recording=str(bag),
                        output=str(tmp_path / 'identified'), use_sim_time=True)
        shown = []
        perform(plan, bag, conductor.processes, conductor, lambda text: not shown.append(text))
        assert 'velocity of joint1' in shown[0]
        assert conductor.status('recorder', 'lost') == '0'
        assert conductor.status('identification', 'torque error')
        success, message = conductor.ask('/identification/identify', 300)
        assert success, message
        conductor.until(lambda: bool(descriptions), what='identified description')
    assert (tmp_path / 'identified' / 'identified.urdf').read_text() == descriptions[0].data
    assert len(means[-1].points) == 50 and len(means[-1].points[0].effort) == 6
    recording = read_recording(bag)
    assert np.diff(recording.t).max() < 1.5 / 500  # not one of 500 per second is missing


def test_nothing_moves_unless_it_is_confirmed(tmp_path: Path) -> None:
    from robident_ros.errors import ExperimentError
    from robident_ros.ros.experiment_run import perform, Plan
    trajectory = write_trajectory(tmp_path / 'trajectory.yaml')
    with stage(tmp_path) as conductor:
        conductor.start('simulated_robot', urdf=str(URDF), clock=True)
        with pytest.raises(ExperimentError, match='was not confirmed'):
            perform(Plan(trajectory, str(URDF), use_sim_time=True), tmp_path / 'bag',
                    conductor.processes, conductor, lambda text: False)
    q = read_recording(tmp_path / 'bag').q
    assert np.ptp(q, axis=0).max() < 1e-3


def test_simulated_time_runs_faster_when_asked(tmp_path: Path) -> None:
    from rosgraph_msgs.msg import Clock
    times = []
    with stage(tmp_path) as conductor:
        conductor.node.create_subscription(
            Clock, '/clock', lambda message: times.append(
                (time.monotonic(), message.clock.sec + 1e-9 * message.clock.nanosec)), 10)
        conductor.start('simulated_robot', urdf=str(URDF), clock=True, speed=4.0, rate_hz=100.0)
        conductor.until(lambda: len(times) > 50, PATIENCE, 'clock')
    steps = np.diff([simulated for _, simulated in times])
    assert (steps >= 0).all() and times[-1][1] > times[0][1]


@pytest.mark.parametrize('parameters, words', [
    ({}, 'parameter urdf: is empty'),
    ({'urdf': str(URDF), 'speed': 2.0}, 'parameter speed: needs clock'),
    ({'urdf': str(URDF), 'rate_hz': 333.0}, 'expected a divisor of 1000'),
    ({'urdf': str(URDF), 'fault': 'borken'}, 'known are: none, silent')])
def test_a_simulated_robot_that_cannot_be_is_refused(tmp_path: Path, parameters: dict,
                                                     words: str) -> None:
    from ros_harness import last_line
    with stage(tmp_path) as conductor:
        process = conductor.start('simulated_robot', **parameters)
        code, line = last_line(process, conductor.processes.log_path('simulated_robot'))
    assert code == 1 and words in line
