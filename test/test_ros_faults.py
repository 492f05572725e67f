"""
The fault table over real DDS: whatever goes wrong, the robot holds, and the bag can be read.

A hold is believed only when the simulated robot itself says that it rests.
"""

from collections.abc import Iterator
from pathlib import Path
import re
import resource
import signal
import warnings

import pytest
from robident_ros.recording import read_recording
from ros_harness import last_line, Stage, stage, URDF, write_config, write_trajectory

pytestmark = pytest.mark.ros
# Detection takes 0.1 s (stale) to 1 s (recorder), a stop at most 1.2 s; the rest is for reports,
# five a second, and for a busy machine.
HOLD_S = 5.0


@pytest.fixture(scope='module')
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Give a simulated robot, which outlives all faults, and the trajectory for it."""
    folder = tmp_path_factory.mktemp('lab')
    write_trajectory(folder / 'trajectory.yaml')
    write_config(folder / 'config.yaml')
    with stage(folder) as conductor:
        conductor.start('simulated_robot', urdf=str(URDF), clock=True)
        yield conductor


@pytest.fixture(params=['topic'])
def running(lab: Stage, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Give a robot that is playing periods, recorded."""
    start_nodes(lab, request.param)
    start_motion(lab)
    yield lab
    end_nodes(lab)


def start_nodes(lab: Stage, interface: str = 'topic') -> None:
    lab.statuses.clear()
    lab.bag = lab.folder / f'bag_{len(list(lab.folder.glob("bag_*")))}'
    controller = ('forward_position_controller' if interface == 'stream' else
                  'joint_trajectory_controller')
    lab.recorder = lab.start('recorder', output=str(lab.bag), use_sim_time=True)
    lab.excitation = lab.start('excitation', trajectory=str(lab.folder / 'trajectory.yaml'),
                               recorder='recorder', periods=1000, interface=interface,
                               controller=controller, use_sim_time=True,
                               config=str(lab.folder / 'config.yaml'))
    lab.until(lab.is_ready, what='nodes')


def end_nodes(lab: Stage) -> None:
    lab.processes.stop('excitation')
    lab.processes.stop('recorder')
    lab.set_parameter('simulated_robot', 'fault', 'none')


def start_motion(lab: Stage) -> None:
    success, message = lab.ask('/excitation/start', 60)
    assert success, message
    lab.until(lambda: lab.status('excitation', 'phase') == 'periods', what='periods')


def rests(lab: Stage) -> bool:
    """Whether the robot itself has nothing to do, and does not move."""
    return (lab.status('simulated_robot', 'mode') == 'hold'
            and float(lab.status('simulated_robot', 'speed')) < 1e-3)


def assert_held(lab: Stage, reason: str, seconds: float = HOLD_S) -> None:
    lab.until(lambda: lab.state() == 'held', seconds, 'hold')
    assert re.search(reason, lab.reason())
    lab.statuses.pop('simulated_robot', None)
    lab.until(lambda: 'simulated_robot' in lab.statuses and rests(lab), seconds, 'rest')


def assert_readable(bag: Path, at_least: int = 100) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        assert len(read_recording(bag)) >= at_least


@pytest.mark.parametrize('fault, reason', [
    ('silent', 'joint states'),
    ('frozen', 'have not changed|tracking error'),  # whichever comes first
    ('not_a_number', 'is nan'),
    ('beyond_limits', 'joint1: position'),
    ('off_track', 'tracking error')])
def test_a_fault_of_the_robot_ends_in_a_hold(running: Stage, fault: str, reason: str) -> None:
    assert running.set_parameter('simulated_robot', 'fault', fault)[0]
    assert_held(running, reason)
    running.processes.stop('recorder')
    assert_readable(running.bag)


def test_a_controller_that_ignores_commands_is_noticed(lab: Stage) -> None:
    """The command moves away from a robot that does not follow: tracking error."""
    start_nodes(lab)
    try:
        lab.set_parameter('simulated_robot', 'fault', 'deaf')
        assert lab.ask('/excitation/start', 60)[0]
        lab.until(lambda: lab.state() == 'held', 30, 'hold')
        assert 'tracking error' in lab.reason()
    finally:
        end_nodes(lab)
    assert_readable(lab.bag)


def test_a_stop_request_ends_in_a_hold_and_it_can_be_started_again(running: Stage) -> None:
    success, message = running.ask('/excitation/start')
    assert not success and 'runs already' in message  # started twice: the motion goes on
    assert running.state() == 'playing'
    assert running.ask('/excitation/stop')[0]
    assert_held(running, 'stop was requested')
    start_motion(running)
    assert running.ask('/excitation/stop')[0]
    assert_held(running, 'stop was requested')


def test_an_interrupted_node_brings_the_robot_to_rest_first(running: Stage) -> None:
    running.excitation.send_signal(signal.SIGINT)
    assert running.excitation.wait(HOLD_S) == 0
    running.processes.stop('excitation')
    running.statuses.clear()
    running.until(lambda: running.statuses.get('simulated_robot') and rests(running), HOLD_S,
                  'rest')


@pytest.mark.parametrize('running', ['topic', 'stream'], indirect=True)
def test_a_killed_excitation_node_leaves_a_robot_that_stops_by_itself(running: Stage) -> None:
    """By topic, no message reaches beyond the horizon; streamed, the robot has a deadline."""
    running.excitation.kill()
    running.excitation.wait()
    running.processes.stop('excitation')
    running.statuses.clear()
    running.until(lambda: running.statuses.get('simulated_robot') and rests(running), HOLD_S,
                  'rest')
    running.processes.stop('recorder')
    assert_readable(running.bag)


def test_a_killed_recorder_stops_the_robot_and_leaves_a_bag(running: Stage) -> None:
    """All but the last second of what had been recorded is there."""
    seen = int(running.status('recorder', 'messages'))
    running.recorder.kill()
    running.recorder.wait()
    running.processes.stop('recorder')
    assert_held(running, 'recorder')
    assert_readable(running.bag, seen - 500)


def test_a_full_disk_stops_the_robot_and_leaves_a_bag(running: Stage) -> None:
    resource.prlimit(running.recorder.pid, resource.RLIMIT_FSIZE,
                     (int(running.status('recorder', 'bytes')) + 50_000,) * 2)
    assert_held(running, 'cannot be written')
    assert_readable(running.bag)


def test_streamed_positions_stop_smoothly_too(lab: Stage) -> None:
    start_nodes(lab, 'stream')
    try:
        start_motion(lab)
        lab.set_parameter('simulated_robot', 'fault', 'off_track')
        assert_held(lab, 'tracking error|effort')  # jitter of the stream costs effort
    finally:
        end_nodes(lab)
    assert_readable(lab.bag)


@pytest.mark.parametrize('parameters, words', [
    ({}, 'parameter trajectory: is empty'),
    ({'trajectory': 'missing.yaml'}, 'missing.yaml: cannot be read'),
    ({'trajectory': '{other}'}, "trajectory: moves 'joint7'"),
    ({'urdf': '{other}'}, 'other.yaml'),
    ({'urdf': '', 'robot_description': '<robot name="x"/>'}, 'has no movable joint'),
    ({'rate_hz': -5.0}, 'parameter rate_hz: is -5'),
    ({'rate_hz': 100}, 'write it with a decimal point'),
    ({'interface': 'topics'}, "did you mean 'topic'"),
    ({'perods': 3}, "did you mean 'periods'"),
    ({'periods': -1}, 'parameter periods: is -1, expected at least 0'),
    ({'interface': 'action'}, 'control_msgs')])
def test_what_cannot_work_is_refused_in_one_line(tmp_path: Path, parameters: dict,
                                                 words: str) -> None:
    """Wrong robot, wrong trajectory, wrong parameters: the node ends and says why."""
    if 'action' in parameters.values():
        try:
            import control_msgs  # noqa: F401
            pytest.skip('control_msgs is installed')
        except ImportError:
            pass
    other = write_trajectory(tmp_path / 'other.yaml', 'arm7')
    own = write_trajectory(tmp_path / 'own.yaml')
    given = {'urdf': str(URDF), 'trajectory': str(own), **{
        key: value.format(other=other) if isinstance(value, str) else value
        for key, value in parameters.items()}}
    if not parameters:
        given.pop('trajectory')
    with stage(tmp_path) as conductor:
        process = conductor.start('excitation', **given)
        code, line = last_line(process, conductor.processes.log_path('excitation'))
    assert code == 1
    assert words in line
    assert 'Traceback' not in (tmp_path / 'log' / 'excitation.log').read_text()


def test_a_start_is_refused_while_anything_is_missing(tmp_path: Path) -> None:
    """Without joint states, a controller or a recorder, nothing moves, and each is named."""
    trajectory = write_trajectory(tmp_path / 'trajectory.yaml')
    with stage(tmp_path) as conductor:
        conductor.start('excitation', urdf=str(URDF), trajectory=str(trajectory),
                        recorder='recorder', controller='nobody')
        success, message = conductor.ask('/excitation/start', 60)
        assert not success and 'no message on /joint_states' in message
        conductor.start('simulated_robot', urdf=str(URDF))
        conductor.until(lambda: 'nobody' in conductor.status('excitation', 'waits for'))
        success, message = conductor.ask('/excitation/rehearse', 60)
        assert not success and 'no controller listens on /nobody/joint_trajectory' in message


def test_nothing_moves_without_a_start(lab: Stage) -> None:
    start_nodes(lab)
    try:
        success, message = lab.ask('/excitation/rehearse', 60)
        assert success and 'velocity of joint1' in message
        lab.spin(1.0)
        assert lab.state() == 'idle' and rests(lab)
    finally:
        end_nodes(lab)


def test_parameters_out_of_range_are_refused_while_running(lab: Stage) -> None:
    success, reason = lab.set_parameter('simulated_robot', 'fault', 'frosen')
    assert not success and "did you mean 'frozen'" in reason
    assert not lab.set_parameter('simulated_robot', 'rate_hz', 100.0)[0]  # fixed once started
