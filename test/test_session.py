"""The course of an experiment, without a robot and without a clock: time is what a test says."""

from dataclasses import replace

from experiment_cases import middle, random_trajectory
import numpy as np
import pytest
from robident_ros.config import ExperimentOptions
from robident_ros.errors import ExperimentError, SafetyStop
from robident_ros.experiment.safety import JointState
from robident_ros.experiment.session import FINISHED, HELD, IDLE, PLAYING, Session, STOPPING
from shipped import shipped

OPTIONS = ExperimentOptions(periods=2)


@pytest.fixture(scope='module')
def planned():
    robot = shipped('arm6')
    session = Session(robot, random_trajectory(robot), OPTIONS)
    return session, session.plan(JointState(0.0, middle(robot)), 0.0)


@pytest.fixture
def session(planned) -> Session:
    """Give a session that plays from t = 1 s on."""
    made, timeline = planned
    made.state = IDLE
    made.start(timeline, JointState(0.0, middle(made.robot)), 0.0, delay=1.0)
    return made


def follow(session: Session, until: float, step: float = 0.05, begin: float = 0.0) -> None:
    """Let the robot do exactly what is commanded."""
    for now in np.arange(begin, until, step):
        session.update([JointState(now, session.command(now)[0])], now)


def test_an_undisturbed_session_plays_all_phases_and_finishes(session: Session) -> None:
    seen = []
    for now in np.arange(0, session.timeline.duration + 1.1, 0.05):
        session.update([JointState(now, session.command(now)[0])], now)
        progress = session.progress(now)
        seen.append((progress.phase, progress.period))
    assert session.state == FINISHED
    assert list(dict.fromkeys(seen)) == [('approach', 0), ('ramp_in', 0), ('periods', 1),
                                         ('periods', 2), ('ramp_out', 0), ('return', 0)]


def test_a_stop_is_smooth_ends_at_rest_and_holds(session: Session) -> None:
    """Position, speed and acceleration are continuous where the stop begins."""
    t = session.timeline.phase('periods').start + 1.7
    before = session.command(t)
    follow(session, t)
    assert session.stop(t, 'because')
    for old, new in zip(before, session.command(t)):
        np.testing.assert_allclose(new, old, atol=1e-9)
    assert session.state == STOPPING
    follow(session, t + 5, begin=t)
    assert (session.state, session.reason) == (HELD, 'because')
    q, v, _ = session.command(t + 5)
    np.testing.assert_array_equal(v, 0)
    np.testing.assert_array_equal(q, session.command(t + 50)[0])


def test_a_broken_bound_stops_and_says_which(session: Session) -> None:
    now = session.timeline.phase('periods').start + 1.5
    q = np.array(session.command(now)[0])
    q[2] += 0.2
    verdict = session.update([JointState(now, q)], now)
    assert (verdict.kind, verdict.joint) == ('tracking error', 'joint3')
    assert session.state == STOPPING and 'joint3' in session.reason


def test_states_that_waited_for_us_are_not_stale_but_silence_is(session: Session) -> None:
    """After a pause of our own, the newest state tells; an old newest one is silence."""
    times = np.arange(1.0, 2.0, 0.01)
    assert session.update([JointState(t, session.command(t)[0]) for t in times], 2.0).ok
    last = JointState(times[-1], session.command(times[-1])[0])
    assert session.update([last], 2.05).ok
    assert session.update([last], 2.2).kind == 'staleness'


def test_a_clock_that_jumps_back_stops(session: Session) -> None:
    session.update([JointState(2.0, session.command(2.0)[0])], 2.0)
    assert session.update([JointState(1.5, session.command(1.5)[0])], 1.5).kind == 'clock'


def test_a_window_follows_the_plan_to_its_horizon_and_then_stops(session: Session) -> None:
    now = session.timeline.phase('periods').start + 1.3
    window = session.window(now, 0.5)
    t = np.linspace(0, now + 0.5 - session.begin, 50)
    np.testing.assert_allclose(window.sample(t)[0], session.timeline.sample(t)[0], atol=1e-12)
    assert window.duration < now + 0.5 - session.begin + 4 * OPTIONS.envelope.stop_s + 1e-9
    np.testing.assert_array_equal(window.sample(np.array([window.duration]))[1], 0)
    assert session.window(session.timeline.duration, 5.0) is session.motion


def test_it_is_started_once_and_from_where_the_plan_begins(planned, session: Session) -> None:
    timeline, state = planned[1], JointState(0.0, middle(session.robot))
    with pytest.raises(ExperimentError, match='runs already'):
        session.start(timeline, state, 0.0, 1.0)
    session.state = IDLE
    with pytest.raises(ExperimentError, match='joint1 has moved by 0.1 since the plan'):
        session.start(timeline, replace(state, q=state.q + 0.1), 0.0, 1.0)
    assert session.state == IDLE
    session.state = PLAYING


def test_nothing_is_planned_for_a_robot_that_moves_or_is_not_heard(planned) -> None:
    session, q = planned[0], middle(planned[0].robot)
    with pytest.raises(SafetyStop, match='wait until the robot rests'):
        session.plan(JointState(0.0, q, np.full(6, 0.3)), 0.0)
    with pytest.raises(SafetyStop, match='old'):
        session.plan(JointState(0.0, q), 5.0)


def test_a_trajectory_for_another_robot_is_refused() -> None:
    with pytest.raises(ExperimentError, match='joint7'):
        Session(shipped('arm6'), random_trajectory(shipped('arm7')), OPTIONS)


def test_a_robot_that_stops_by_its_window_is_held_there(session: Session) -> None:
    """Who is too late must not go on: the session follows the robot to where it stops."""
    now = session.timeline.phase('periods').start + 1.3
    window = session.window(now, 0.5)
    session.fall_back(window, 'too slow')
    follow(session, now + 5, begin=now)
    assert (session.state, session.reason) == (HELD, 'too slow')
    np.testing.assert_array_equal(session.command(now + 5)[0],
                                  window.sample(np.array([window.duration]))[0][0])
