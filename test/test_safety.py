"""The envelope: each fault is found, named with joint, value and bound, and nothing else is."""

from experiment_cases import chain, with_limits
import numpy as np
import pytest
from robident_ros.config import Config, EnvelopeOptions, WorkspaceOptions
from robident_ros.errors import ConfigError, SafetyStop
from robident_ros.experiment.safety import Envelope, JointState, Monitor, stop_motion, Verdict
from robident_ros.model.robot import load_robot, Robot
from shipped import shipped

OPTIONS = EnvelopeOptions()
ZERO = np.zeros(3)


@pytest.fixture(scope='module')
def robot() -> Robot:
    return load_robot(chain(kinds=('revolute', 'revolute', 'prismatic')))


@pytest.fixture(scope='module')
def envelope(robot: Robot) -> Envelope:
    return Envelope(robot, OPTIONS)


def state(q: np.ndarray = ZERO, v: np.ndarray = ZERO, effort: np.ndarray = ZERO,
          stamp: float = 10.0) -> JointState:
    return JointState(stamp, np.array(q, float), np.array(v, float), np.array(effort, float))


# --- one state alone -----------------------------------------------------------------------------

def test_what_is_within_all_bounds_is_safe(envelope: Envelope) -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        q, v, effort = rng.uniform(-1, 1, (3, 3)) * [[3], [4], [100]]
        command = q + rng.uniform(-0.1, 0.1, 3)
        verdict = envelope.check(state(q, v, effort), 10.05, command)
        assert verdict.ok and verdict and verdict == Verdict(True)
        verdict.enforce()


@pytest.mark.parametrize('fault, kind, joint, value, bound, reason', [
    (state(q=[0, 3.02, 0]), 'position', 'j2', 3.02, 3.01, 'j2: position 3.02 rad is above 3.01'),
    (state(q=[0, 0, -3.5]), 'position', 'j3', -3.5, -3.01, 'j3: position -3.5 m is below'),
    (state(v=[-4.5, 0, 0]), 'velocity', 'j1', -4.5, -4.4, 'j1: velocity -4.5 rad/s is below'),
    (state(effort=[0, 0, 101]), 'effort', 'j3', 101, 100, 'j3: effort 101 N is above 100 N'),
    (state(q=[0.2, 0, 0]), 'tracking error', 'j1', 0.2, 0.1, 'j1: tracking error 0.2 rad'),
    (state(stamp=9.8), 'staleness', '', 0.25, 0.1, 'joint states are 0.25 s old'),
    (state(stamp=11.0), 'staleness', '', -0.95, 0.1, 'stamped 0.95 s in the future'),
    (state(q=[0, np.nan, 0]), 'non-finite', 'j2', np.nan, 3.01, 'j2: position is nan'),
    (state(v=[np.inf, 0, 0]), 'non-finite', 'j1', np.inf, 4.4, 'j1: velocity is inf'),
    (state(effort=[0, 0, np.nan]), 'non-finite', 'j3', np.nan, 100, 'j3: effort is nan'),
    (state(stamp=np.nan), 'staleness', '', np.nan, 0.1, 'joint states')])
def test_fault_is_named(envelope: Envelope, fault: JointState, kind: str, joint: str,
                        value: float, bound: float, reason: str) -> None:
    """The verdict has kind, joint, value and bound, and enforcing it raises them."""
    verdict = envelope.check(fault, 10.05, ZERO)
    assert not verdict.ok and not verdict
    assert (verdict.kind, verdict.joint) == (kind, joint)
    assert reason in verdict.reason
    np.testing.assert_allclose([verdict.value, verdict.bound], [value, bound])
    with pytest.raises(SafetyStop, match='stopped: ') as caught:
        verdict.enforce()
    assert caught.value.joint == joint and caught.value.bound == pytest.approx(bound)


def test_a_command_that_is_no_number_is_a_fault(envelope: Envelope) -> None:
    verdict = envelope.check(state(), 10.0, np.array([0, np.nan, 0]))
    assert (verdict.kind, verdict.joint) == ('non-finite', 'j2')


def test_without_command_nothing_is_tracked(envelope: Envelope) -> None:
    assert envelope.check(state(q=[1, 1, 1]), 10.0).ok


def test_speeds_and_efforts_may_be_missing(envelope: Envelope) -> None:
    """A robot that reports positions only is watched by them."""
    assert envelope.check(JointState(10.0, ZERO), 10.0).ok
    assert envelope.check(JointState(10.0, np.array([9.0, 0, 0])), 10.0).kind == 'position'


def test_infinite_limits_bound_nothing_but_infinity(robot: Robot) -> None:
    free = with_limits(robot, lower=[-np.inf] * 3, upper=[np.inf] * 3, velocity=[np.inf] * 3,
                       effort=[np.inf] * 3)
    envelope = Envelope(free, OPTIONS)
    assert envelope.check(state(*np.full((3, 3), 1e9)), 10.0).ok
    assert envelope.check(state(q=[0, 0, np.inf]), 10.0).kind == 'non-finite'


@pytest.mark.parametrize('q, v, kind', [
    ([0, 0, 0], None, ''), ([0, 3.1, 0], None, 'position'), ([0, np.nan, 0], None, 'non-finite'),
    ([0, 0, 0], [5, 0, 0], 'velocity')])
def test_commands_pass_the_same_gate(envelope: Envelope, q: list, v: list | None,
                                     kind: str) -> None:
    verdict = envelope.check_command(np.array(q), v)
    assert verdict.kind == kind and verdict.ok == (not kind)
    assert verdict.ok or verdict.reason.startswith('command: j')


# --- workspace -----------------------------------------------------------------------------------

@pytest.mark.parametrize('options, angle, value, bound', [
    (WorkspaceOptions('l2', floor=-0.2), 1.0, -0.5 * np.sin(1.0), -0.2),
    (WorkspaceOptions('l2', upper=(0.4, 1.0, 1.0)), 0.3, 0.5 * np.cos(0.3), 0.4),
    (WorkspaceOptions('l2', lower=(-1.0, -1.0, -0.1)), 0.9, -0.5 * np.sin(0.9), -0.1),
    (WorkspaceOptions('l2', ceiling=0.4), -1.0, 0.5 * np.sin(1.0), 0.4),
    (WorkspaceOptions('l2', keep_out_radius=0.3, keep_out_height=0.2), 1.3, 0.5 * np.cos(1.3),
     0.3)])
def test_leaving_the_workspace_is_a_fault(options: WorkspaceOptions, angle: float, value: float,
                                          bound: float) -> None:
    robot = load_robot(chain(), Config(workspace=options))
    envelope = Envelope(robot, OPTIONS)
    verdict = envelope.check(state(q=[angle, 0, 0]), 10.0)
    assert verdict.kind == 'workspace' and verdict.joint in ('x', 'z', 'distance from the z axis')
    assert verdict.value == pytest.approx(value) and verdict.bound == bound
    assert envelope.check(state(q=[-0.8, 0, 0]), 10.0).ok


@pytest.mark.parametrize('options, message', [
    (WorkspaceOptions('l22', floor=0.0), "workspace: link: there is no 'l22', did you mean"),
    (WorkspaceOptions('l2', lower=(0.0, 0.0)), 'workspace: lower: has 2 numbers, expected three'),
    (WorkspaceOptions('l2', lower=(0, 0, 1), upper=(1, 1, 0)), 'lower z 1 is above upper z 0')])
def test_wrong_workspace_is_refused(options: WorkspaceOptions, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Envelope(load_robot(chain(), Config(workspace=options)), OPTIONS)


# --- states in a row -----------------------------------------------------------------------------

def test_frozen_states_are_found_while_the_command_moves(envelope: Envelope) -> None:
    """Values equal to the last bit are a fault after frozen_s, if the command has moved."""
    monitor = Monitor(envelope)
    q = np.array([0.1, 0.2, 0.3])
    for now in np.arange(0, 1, 0.01):
        command = q + [0, 0.05 * now, 0]
        verdict = monitor.check(state(q, stamp=now), now, command)
        if not verdict.ok:
            break
    assert verdict.kind == 'frozen' and verdict.joint == 'j2'
    assert now == pytest.approx(OPTIONS.frozen_s + 0.01)
    assert verdict.value > verdict.bound == OPTIONS.frozen_s


@pytest.mark.parametrize('alive', ['q', 'v', 'effort'])
def test_any_value_that_changes_shows_life(envelope: Envelope, alive: str) -> None:
    """A joint held by friction is not frozen: its efforts still have noise."""
    monitor, rng = Monitor(envelope), np.random.default_rng(0)
    for now in np.arange(0, 2, 0.01):
        values = {alive: 1e-6 * rng.normal(size=3)}
        command = np.array([0.04 * now, 0, 0])
        assert monitor.check(state(stamp=now, **values), now, command).ok


def test_resting_robot_is_not_frozen(envelope: Envelope) -> None:
    monitor = Monitor(envelope)
    for now in np.arange(0, 2, 0.01):
        assert monitor.check(state(stamp=now), now, ZERO).ok
        assert monitor.check(state(stamp=now), now).ok


def test_clock_that_jumps_back_is_a_fault(envelope: Envelope) -> None:
    monitor = Monitor(envelope)
    assert monitor.check(state(), 10.0).ok
    verdict = monitor.check(state(stamp=5.0), 5.0)
    assert verdict.kind == 'clock' and verdict.value == pytest.approx(-5.0)


def test_clock_that_jumps_forward_makes_states_stale(envelope: Envelope) -> None:
    monitor = Monitor(envelope)
    assert monitor.check(state(), 10.0).ok
    assert monitor.check(state(), 60.0).kind == 'staleness'


# --- stopping ------------------------------------------------------------------------------------

@pytest.mark.parametrize('seed', range(10))
def test_stop_is_smooth_and_within_limits(seed: int) -> None:
    """From any state to rest: q, v, a continue, |a| keeps to its limit or to what it was."""
    arm = shipped('arm6')
    rng = np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, 6))
    limits = with_limits(arm, acceleration=rng.uniform(1, 4, 6)).limits
    stop = stop_motion(q, v, limits, a, shortest=0.2)
    t = np.linspace(0, stop.duration, 2001)
    found = stop.sample(t)
    for values, begin in zip(found, (q, v, a)):
        np.testing.assert_allclose(values[0], begin, atol=1e-12)
    np.testing.assert_allclose(found[1][-1], 0, atol=1e-12)
    np.testing.assert_allclose(found[2][-1], 0, atol=1e-11)
    allowed = np.maximum(limits.acceleration, np.abs(a)) * (1 + 1e-6)
    assert (np.abs(found[2]) <= allowed).all() and 0.2 <= stop.duration <= 5
    for values, rate in zip(found[:2], found[1:]):
        steps = (rate[1:] + rate[:-1]) / 2 * t[1]
        np.testing.assert_allclose(np.diff(values, axis=0), steps, atol=1e-6)


def test_stop_of_a_robot_at_rest_stays(robot: Robot) -> None:
    q = np.array([0.1, 0.2, 0.3])
    stop = stop_motion(q, ZERO, robot.limits)
    for values, expected in zip(stop.sample(np.linspace(0, 1, 5)), (q, ZERO, ZERO)):
        np.testing.assert_array_equal(values, np.tile(expected, (5, 1)))


def test_stop_ends_although_a_limit_is_zero(robot: Robot) -> None:
    limits = with_limits(robot, acceleration=ZERO).limits
    assert stop_motion(ZERO, np.ones(3), limits).duration < 6


def test_stop_from_what_is_no_number_is_refused(robot: Robot) -> None:
    with pytest.raises(SafetyStop, match='not a finite number'):
        stop_motion(ZERO, np.array([0, np.nan, 0]), robot.limits)
