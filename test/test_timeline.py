"""The timeline: smooth to the second derivative, within limits, at rest at both ends."""

from dataclasses import dataclass, replace
from functools import cache

from experiment_cases import (chain, configured, Fourier, middle, random_trajectory,
                              with_limits)
import numpy as np
import pytest
from robident_ros.config import Config, ExperimentOptions, WorkspaceOptions
from robident_ros.errors import ExperimentError, UnsafeMotion
from robident_ros.excitation.fourier import FourierTrajectory, make_basis
from robident_ros.experiment.motion import make_spline, rest_to_rest, Spline
from robident_ros.experiment.timeline import plan_timeline, Timeline
from robident_ros.model.collision import CollisionModel
from robident_ros.model.robot import load_robot, Robot
from shipped import shipped

OPTIONS = ExperimentOptions(periods=2)
NAMES = ['approach', 'ramp_in', 'periods', 'ramp_out', 'return']


@pytest.fixture(scope='module')
def arm() -> Robot:
    return shipped('arm6')


@pytest.fixture(scope='module')
def rods() -> Robot:
    return load_robot(chain())


@cache
def plan(robot: Robot, seed: int = 0, options: ExperimentOptions = OPTIONS,
         **keys: float) -> Timeline:
    rng = np.random.default_rng(seed)
    start = middle(robot) + rng.uniform(-0.3, 0.3, len(robot.joint_names))
    return plan_timeline(random_trajectory(robot, seed, **keys), start, robot, options)


@pytest.fixture(scope='module')
def timeline(arm: Robot) -> Timeline:
    return plan(arm)


# --- smoothness ----------------------------------------------------------------------------------

@pytest.mark.parametrize('name', ['arm6', 'arm7', 'kuka_ir361'])
@pytest.mark.parametrize('seed', range(3))
def test_timeline_is_smooth_to_the_second_derivative(name: str, seed: int) -> None:
    """
    Over each step, q and v change by the integral of v and a, everywhere.

    Also across phases, where the jerk jumps, by less than 100 rad/s³: the trapezoidal rule is
    wrong by h²/8 of that. A jump of q, v or a would show.
    """
    robot = shipped(name)
    timeline = plan(robot, seed)
    h = 1e-3
    t = np.arange(-0.1, timeline.duration + 0.1, h)
    q, v, a = timeline.sample(t)
    for value, rate, error in ((q, v, 100 * h**3), (v, a, 100 * h**2 / 8)):
        expected = (rate[1:] + rate[:-1]) / 2 * h
        np.testing.assert_allclose(np.diff(value, axis=0), expected, rtol=0, atol=error)
    assert np.abs(np.diff(a, axis=0)).max() < 100 * h


@pytest.mark.parametrize('seed', range(5))
def test_phases_join_with_equal_state(arm: Robot, seed: int) -> None:
    """One nanosecond before and after each joint, position, speed and acceleration agree."""
    timeline = plan(arm, seed)
    for phase in timeline.phases[1:]:
        for values in timeline.sample(np.array([phase.start - 1e-9, phase.start + 1e-9])):
            np.testing.assert_allclose(values[0], values[1], atol=1e-6)


def test_timeline_begins_and_ends_at_rest_where_the_robot_was(arm: Robot) -> None:
    start = np.array([0.3, -0.2, 0.1, 0.4, -0.5, 0.6])
    timeline = plan_timeline(random_trajectory(arm), start, arm, OPTIONS)
    q, v, a = timeline.sample(np.array([-1.0, 0.0, timeline.duration, timeline.duration + 1]))
    np.testing.assert_allclose(q, np.tile(start, (4, 1)), atol=1e-12)
    assert not v.any() and not a.any()


def test_periods_are_the_trajectory(arm: Robot, timeline: Timeline) -> None:
    """Between the ramps the robot does the trajectory itself, beginning with its phase zero."""
    t = np.linspace(0, 8, 100)
    start = timeline.phase('periods').start
    for found, expected in zip(timeline.sample(start + t), random_trajectory(arm).sample(t)):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_designed_trajectories_are_played(arm: Robot) -> None:
    """The excitation stage's own Fourier series fits, as it is."""
    basis = make_basis(arm.joint_names, 0.25, (1, 2))
    coefficients = 0.05 * np.random.default_rng(0).normal(size=basis.mask.shape)
    trajectory = FourierTrajectory(basis, coefficients)
    timeline = plan_timeline(trajectory, np.zeros(6), arm, OPTIONS)
    t = np.linspace(0, 8, 33)
    found = timeline.sample(timeline.phase('periods').start + t)[0]
    np.testing.assert_allclose(found, trajectory.sample(t)[0], atol=1e-9)


# --- phases and points ---------------------------------------------------------------------------

def test_phases_are_named_in_order(timeline: Timeline) -> None:
    assert [phase.name for phase in timeline.phases] == NAMES
    for phase in timeline.phases:
        assert timeline.phase_at(phase.start).name == phase.name
    assert timeline.phase_at(-1).name == 'approach'
    assert timeline.phase_at(timeline.duration + 1).name == 'return'
    assert timeline.phase('periods').motion.duration == 8.0
    with pytest.raises(ExperimentError, match="no phase 'period', did you mean 'periods'"):
        timeline.phase('period')


def test_holding_leaves_out_the_return(arm: Robot) -> None:
    timeline = plan(arm, options=replace(OPTIONS, return_to_start=False))
    assert [phase.name for phase in timeline.phases] == NAMES[:-1]
    _, v, a = timeline.sample(np.array([timeline.duration]))
    assert not v.any() and not a.any()


def test_points_are_what_controllers_demand(timeline: Timeline) -> None:
    """Times increase evenly from after zero to the end; the last point is at rest exactly."""
    points = timeline.points(100.0)
    steps = np.diff(points.t, prepend=0)
    assert steps.min() > 0 and steps.max() <= 0.01 + 1e-12
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)
    assert points.t[-1] == timeline.duration
    assert not points.v[-1].any() and not points.a[-1].any()


def test_interpolated_points_are_the_timeline(timeline: Timeline) -> None:
    """A controller's quintics between points at 100 Hz keep to the plan within 0.1 µrad."""
    points = timeline.points(100.0)
    spline = make_spline(points.t, points.q, points.v, points.a)
    t = np.linspace(points.t[0], timeline.duration, 7919)
    np.testing.assert_allclose(spline.sample(t)[0], timeline.sample(t)[0], atol=1e-7)


def test_trajectory_joints_may_stand_in_another_order(rods: Robot) -> None:
    rng = np.random.default_rng(1)
    trajectory = Fourier(('j3', 'j1', 'j2'), np.array([3.0, 1.0, 2.0]) / 10,
                         *0.02 * rng.normal(size=(2, 3, 2)))
    timeline = plan_timeline(trajectory, np.zeros(3), rods, OPTIONS)
    q = timeline.sample(np.array([timeline.phase('periods').start]))[0][0]
    np.testing.assert_allclose(q, trajectory.sample(np.zeros(1))[0][0][[1, 2, 0]], atol=1e-9)


@dataclass(frozen=True, eq=False)
class Shifted(Fourier):
    """A trajectory that begins at another phase."""

    shift: float = 0.0

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return super().sample(np.asarray(t) + self.shift)


# --- durations -----------------------------------------------------------------------------------

def test_approach_keeps_its_gentle_speed(rods: Robot) -> None:
    """The approach is as fast as the slowest of its bounds allows, and no faster."""
    trajectory = random_trajectory(rods, amplitude=0.01)
    far = np.array([1.5, 0.0, 0.0])
    for options, peak in ((OPTIONS, 0.5), (replace(OPTIONS, approach_fraction=0.05), 0.2)):
        timeline = plan_timeline(trajectory, far, rods, options)
        t = np.linspace(0, timeline.phase('ramp_in').start, 20001)
        assert np.abs(timeline.sample(t)[1]).max() == pytest.approx(peak, rel=1e-6)


def test_approach_keeps_its_gentle_acceleration(rods: Robot) -> None:
    near = np.array([0.3, 0.0, 0.0])
    options = replace(OPTIONS, approach_s=0.1, approach_acceleration=0.4)
    timeline = plan_timeline(random_trajectory(rods, amplitude=0.001), near, rods, options)
    t = np.linspace(0, timeline.phase('ramp_in').start, 20001)
    assert np.abs(timeline.sample(t)[2]).max() == pytest.approx(0.4, rel=1e-6)


def test_ramps_lengthen_where_limits_demand(rods: Robot) -> None:
    """A fast start that a short ramp could only reach with too much acceleration takes longer."""
    # The largest acceleration comes just before the end of the ramp, while the joint moves.
    sines, cosines = np.zeros((2, 3, 3))
    sines[0, 0], cosines[0, 2] = 0.2, 0.1
    trajectory = Fourier(rods.joint_names, np.zeros(3), sines, cosines, period=2.0)
    t = np.linspace(0, 2, 20001)
    a = np.abs(trajectory.sample(t)[2][:, 0])
    trajectory = Shifted(*vars(trajectory).values(), shift=t[a.argmax()] + 0.015)
    tight = with_limits(rods, acceleration=[1.0005 * a.max(), 0.5, 0.5])
    loose = plan_timeline(trajectory, np.zeros(3), rods, OPTIONS)
    timeline = plan_timeline(trajectory, np.zeros(3), tight, OPTIONS)
    assert loose.phase('ramp_in').motion.duration == 1.0
    assert timeline.phase('ramp_in').motion.duration > 1.0
    with pytest.raises(UnsafeMotion, match=r'ramp_(in|out), t = .* j1: acceleration') as caught:
        plan_timeline(trajectory, np.zeros(3), tight, replace(OPTIONS, ramp_s=0.2))
    assert abs(caught.value.value) > caught.value.bound


# --- stopping ------------------------------------------------------------------------------------

@pytest.mark.parametrize('name', NAMES)
def test_stop_follows_the_path_smoothly(arm: Robot, timeline: Timeline, name: str) -> None:
    """A stop begins in the state of the plan, ends at rest, and is on the plan's path."""
    t0 = timeline.phase(name).start + 0.4
    stop = timeline.stop(t0, arm.limits, shortest=0.3)
    q, v, a = stop.sample(np.linspace(0, stop.duration, 200))
    for values, expected in zip((q, v, a), timeline.sample(np.array([t0]))):
        np.testing.assert_allclose(values[0], expected[0], atol=1e-12)
    assert not v[-1].any() and not a[-1].any()
    path = timeline.sample(np.linspace(t0, t0 + stop.duration, 20001))[0]
    distance = np.abs(path[:, None] - q[::20]).max(axis=2).min(axis=0)
    assert distance.max() < 1e-4  # the sampling of the path


def test_stop_takes_longer_where_accelerations_are_limited(rods: Robot) -> None:
    trajectory = random_trajectory(rods, amplitude=0.3)
    timeline = plan_timeline(trajectory, np.zeros(3), rods, OPTIONS)
    t = np.linspace(0, timeline.duration, 5001)
    peaks = np.abs(timeline.sample(t)[2]).max(axis=0)
    fastest = t[np.abs(timeline.sample(t)[1][:, 0]).argmax()]
    free = timeline.stop(fastest, rods.limits, 0.1)
    limited = with_limits(rods, acceleration=peaks).limits
    bounded = timeline.stop(fastest, limited, 0.1)
    assert free.duration == pytest.approx(0.1)
    assert 0.1 < bounded.duration <= 0.4 + 1e-9


# --- refusals ------------------------------------------------------------------------------------

@pytest.mark.parametrize('limit, quantity', [
    ('velocity', 'velocity'), ('acceleration', 'acceleration'), ('effort', 'effort'),
    ('upper', 'position')])
def test_trajectory_beyond_a_limit_is_refused(rods: Robot, limit: str, quantity: str) -> None:
    """The error names joint, quantity, value, bound, time and phase."""
    trajectory = random_trajectory(rods, seed=1, amplitude=0.3)
    bounds = np.array(getattr(rods.limits, limit))
    bounds[1] = 0.05
    with pytest.raises(UnsafeMotion) as caught:
        plan_timeline(trajectory, np.zeros(3), with_limits(rods, **{limit: bounds}), OPTIONS)
    error = caught.value
    assert (error.quantity, error.joint, error.phase) == (quantity, 'j2', 'periods')
    assert abs(error.value) > abs(error.bound) == 0.05
    assert f'j2: {quantity}' in str(error) and 't = ' in str(error)


def test_peaks_between_samples_are_found(rods: Robot) -> None:
    """A speed limit one part in 1e5 below the true peak is refused, one above is not."""
    sines = np.array([[0.01], [0.0], [0.0]])
    trajectory = Fourier(rods.joint_names, np.zeros(3), 0 * sines, sines, period=0.0917)
    peak = 0.01 * 2 * np.pi / 0.0917
    free = with_limits(rods, effort=np.full(3, np.inf))
    fits = with_limits(free, velocity=[peak * (1 + 1e-5), 4, 4])
    plan_timeline(trajectory, np.zeros(3), fits, OPTIONS)
    with pytest.raises(UnsafeMotion, match='j1: velocity'):
        plan_timeline(trajectory, np.zeros(3), with_limits(free, velocity=[
            peak * (1 - 1e-5), 4, 4]), OPTIONS)


def test_start_beyond_the_limits_is_refused(rods: Robot) -> None:
    with pytest.raises(UnsafeMotion, match='approach, t = 0.000 s: j3: position 3.5 rad is '
                                           'beyond 3 rad; move the robot'):
        plan_timeline(random_trajectory(rods), np.array([0, 0, 3.5]), rods, OPTIONS)


def test_approach_that_would_collide_is_refused(rods: Robot) -> None:
    """Both ends are free, but folding through itself is not: the links and the time are named."""
    robot = with_limits(rods, upper=[3, 3, 4])
    trajectory = random_trajectory(robot, amplitude=0.001)
    trajectory = replace(trajectory, center=np.array([0.0, 2.6, 1.0]))
    before, behind = np.array([0.0, 2.6, 0.5]), np.array([0.0, 2.6, 3.6])
    collision = CollisionModel(robot.description, robot)
    assert collision.distances(np.array([before, behind])).min() > 0.1
    plan_timeline(trajectory, before, robot, OPTIONS, collision)
    with pytest.raises(UnsafeMotion) as caught:
        plan_timeline(trajectory, behind, robot, OPTIONS, collision)
    error = caught.value
    assert (error.joint, error.quantity, error.phase) == ('l1 and l3', 'distance', 'approach')
    assert error.value < 0 and error.bound == 0.01 and error.time > 0


def test_passive_joints_have_limits_too() -> None:
    """Driven joints within their limits may take a follower beyond its own."""
    robot = shipped('parallelogram')
    trajectory = random_trajectory(robot, amplitude=0.001)
    trajectory = replace(trajectory, center=np.array([0.0, -0.5, -1.0]))
    with pytest.raises(UnsafeMotion, match='joint3: position -0.5'):
        plan_timeline(trajectory, trajectory.center, robot, OPTIONS)


def test_workspace_is_part_of_the_check() -> None:
    arm = configured('arm6', Config(workspace=WorkspaceOptions('tool0', floor=0.2)))
    trajectory = random_trajectory(arm, amplitude=0.02)
    options = replace(OPTIONS, ramp_s=2.0)
    plan_timeline(trajectory, np.zeros(6), arm, options)
    low = np.array([0.0, 1.6, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(UnsafeMotion, match='workspace lower z: distance outside'):
        plan_timeline(trajectory, low, arm, options)


@pytest.mark.parametrize('names, message', [
    (('j1', 'j2', 'x3'), "trajectory: has no joint 'j3' of the robot"),
    (('j1', 'j2', 'j3', 'j4'), "trajectory: moves 'j4', which is no active joint"),
    (('j1', 'j2', 'j3', 'j3'), 'trajectory: names a joint twice')])
def test_trajectory_of_another_robot_is_refused(rods: Robot, names: tuple[str, ...],
                                                message: str) -> None:
    zeros = np.zeros((len(names), 2))
    trajectory = Fourier(names, np.zeros(len(names)), zeros, zeros)
    with pytest.raises(ExperimentError, match=message):
        plan_timeline(trajectory, np.zeros(3), rods, OPTIONS)


@pytest.mark.parametrize('start, message', [
    (np.zeros(2), 'measured position has 2 values, expected 3: j1, j2, j3'),
    (np.array([0, np.nan, 0]), 'measured position of j2 is nan')])
def test_unusable_start_is_refused(rods: Robot, start: np.ndarray, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        plan_timeline(random_trajectory(rods), start, rods, OPTIONS)


def test_joint_that_may_not_move_is_refused(rods: Robot) -> None:
    stuck = with_limits(rods, velocity=[4, 0, 4])
    with pytest.raises(ExperimentError, match='joint j2 cannot move: .* model: limits: j2'):
        plan_timeline(random_trajectory(rods), np.zeros(3), stuck, OPTIONS)


@dataclass(frozen=True, eq=False)
class Drifting(Fourier):
    """A trajectory that does not end where it began."""

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v, a = super().sample(t)
        return q + 1e-3 * np.asarray(t)[:, None], v + 1e-3, a


def test_trajectory_that_is_not_periodic_is_refused(rods: Robot) -> None:
    drifting = Drifting(*vars(random_trajectory(rods)).values())
    with pytest.raises(ExperimentError, match='position of j1 differs by 0.004 at its ends'):
        plan_timeline(drifting, np.zeros(3), rods, OPTIONS)


def test_motion_that_is_not_periodic_is_played_once_between_rests(rods: Robot) -> None:
    """It needs no ramps; one that begins or ends with speed cannot be joined smoothly."""
    goal = np.array([0.4, 0.2, -0.3])
    once = Once(rods.joint_names, rest_to_rest(np.zeros(3), goal, 3.0))
    timeline = plan_timeline(once, np.full(3, 0.1), rods, OPTIONS)
    assert [phase.name for phase in timeline.phases] == ['approach', 'periods', 'return']
    start, end = timeline.phase('periods').start, timeline.phase('periods').end
    assert end - start == 3.0
    np.testing.assert_allclose(timeline.sample(np.array([start, end]))[0], [0 * goal, goal],
                               atol=1e-9)
    moving = Once(rods.joint_names, make_spline([0, 3], [0 * goal, goal]))
    with pytest.raises(ExperimentError, match='velocity of j1 differs by .* expected rest, since'):
        plan_timeline(moving, np.zeros(3), rods, OPTIONS)


@dataclass(frozen=True, eq=False)
class Once:
    """A trajectory that is a spline, and cannot be repeated."""

    joint_names: tuple[str, ...]
    spline: Spline
    is_periodic: bool = False

    @property
    def period(self) -> float:
        return self.spline.duration

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.spline.sample(t)


@pytest.mark.parametrize('period', [0.0, -1.0, np.inf, np.nan])
def test_impossible_period_is_refused(rods: Robot, period: float) -> None:
    trajectory = replace(random_trajectory(rods), period=period)
    with pytest.raises(ExperimentError, match='trajectory: period is'):
        plan_timeline(trajectory, np.zeros(3), rods, OPTIONS)


def test_trajectory_with_values_that_are_no_numbers_is_refused(rods: Robot) -> None:
    trajectory = random_trajectory(rods)
    broken = replace(trajectory, center=np.array([0, np.nan, 0]))
    with pytest.raises(ExperimentError):
        plan_timeline(broken, np.zeros(3), rods, OPTIONS)
