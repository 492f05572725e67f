"""
The timeline: approach → ramp in → periods → ramp out → return, smooth to the second derivative.

The approach and the return are quintics from rest to rest in joint space. The ramps play the
trajectory itself at a pace that rises from rest to full speed, so that they need no room of
their own; a trajectory that is not periodic, hence begins and ends at rest, needs none. Whoever
plans a timeline gets one that was checked (see ``feasibility``).
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.config import ExperimentOptions
from robident_ros.errors import did_you_mean, ExperimentError, UnsafeMotion
from robident_ros.excitation.trajectory import Trajectory
from robident_ros.experiment.feasibility import check_motion, Extreme
from robident_ros.experiment.motion import Motion, Paced, Played, rest_to_rest, Sample
from robident_ros.model.collision import CollisionModel
from robident_ros.model.robot import Limits, Robot

# Peaks of the speed and the acceleration of a quintic from rest to rest over unit way and time.
PEAK_VELOCITY = 15 / 8
PEAK_ACCELERATION = 10 / np.sqrt(3)
# Relative step between the end of one period and the beginning of the next that is round-off.
PERIODICITY = 1e-6


@dataclass(frozen=True, eq=False)
class Phase:
    """A named part of a timeline."""

    name: str
    start: float
    motion: Motion

    @property
    def end(self) -> float:
        """Time at which the next phase begins, in s."""
        return self.start + self.motion.duration


@dataclass(frozen=True, eq=False)
class Points:
    """Timed points as a JointTrajectory message carries them, arrays (N, n)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@dataclass(frozen=True, eq=False)
class Timeline:
    """A whole experiment as one motion, at rest before and after; ``extremes`` were checked."""

    joint_names: tuple[str, ...]
    phases: tuple[Phase, ...]
    extremes: tuple[Extreme, ...] = ()

    @property
    def duration(self) -> float:
        """Duration in s."""
        return self.phases[-1].end

    def phase(self, name: str) -> Phase:
        """Return the phase of that name."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        names = [phase.name for phase in self.phases]
        raise ExperimentError(f'timeline: there is no phase {name!r}, {did_you_mean(name, names)}')

    def phase_at(self, t: float) -> Phase:
        """Return the phase at a time: the first one before it begins, the last one after it."""
        return next((phase for phase in self.phases if t < phase.end), self.phases[-1])

    def sample(self, t: np.ndarray) -> Sample:
        """Return positions, speeds and accelerations, (N, n) each, at times ``t`` (N,) in s."""
        t = np.asarray(t, dtype=float)
        q, v, a = (np.zeros((len(t), len(self.joint_names))) for _ in range(3))
        inside = np.clip(t, 0, self.duration)
        index = np.searchsorted([phase.end for phase in self.phases[:-1]], inside, side='right')
        for i in np.unique(index):
            phase, here = self.phases[i], index == i
            q[here], v[here], a[here] = phase.motion.sample(inside[here] - phase.start)
        # The ends are at rest, to the last bit: controllers demand it.
        resting = (t <= 0) | (t >= self.duration)
        v[resting] = a[resting] = 0
        return q, v, a

    def points(self, rate_hz: float) -> Points:
        """
        Return points at ``rate_hz`` or slightly faster, so that the last one is the end.

        There is none at t = 0: the robot is there already, and joint_trajectory_controller jumps
        to a point that is due at once.
        """
        count = int(np.ceil(self.duration * rate_hz - 1e-9))
        t = self.duration * np.arange(1, count + 1) / count
        return Points(*(read_only(values) for values in (t, *self.sample(t))))

    def stop(self, t: float, limits: Limits, shortest: float) -> Paced:
        """
        Return the motion that stops from time ``t`` on, along the timeline's own path.

        It takes ``shortest`` (s), or as much longer as the acceleration limits demand, up to four
        times; an acceleration that the timeline has at ``t`` anyway is allowed.
        """
        _, _, a = self.sample([t])
        allowed = np.maximum(limits.acceleration, np.abs(a[0])) * (1 + 1e-6)
        for duration in shortest * np.geomspace(1, 4, 13):
            motion = Paced(self, t, duration, rising=False)
            _, _, a = motion.sample(np.linspace(0, duration, 100))
            if np.all(np.abs(a) <= allowed):
                break
        return motion


@dataclass(frozen=True, eq=False)
class Interrupted:
    """A timeline up to the time ``at``, and from there on a stop along its path."""

    timeline: Timeline
    at: float
    stop: Motion

    @property
    def duration(self) -> float:
        """Time at which it rests, in s."""
        return self.at + self.stop.duration

    def sample(self, t: np.ndarray) -> Sample:
        """Return positions, speeds and accelerations; at rest after its end."""
        t = np.asarray(t, dtype=float)
        before = self.timeline.sample(t)
        after = self.stop.sample(np.clip(t - self.at, 0, self.stop.duration))
        stopping, resting = t >= self.at, t >= self.duration
        q, v, a = (np.where(stopping[:, None], late, early)
                   for early, late in zip(before, after))
        v[resting] = a[resting] = 0
        return q, v, a


def plan_timeline(trajectory: Trajectory, q_start: np.ndarray, robot: Robot,
                  options: ExperimentOptions, collision: CollisionModel | None = None) -> Timeline:
    """
    Plan the whole experiment from the measured position, and check it.

    :param q_start: where the robot is and rests, in the order of ``robot.joint_names``.
    :param collision: made from the robot's description when not given.
    """
    columns = match_joints(trajectory.joint_names, robot.joint_names, 'trajectory')
    q_start = read_only(q_start)
    _check_start(q_start, robot)
    _check_ends(trajectory)
    if collision is None:
        collision = CollisionModel(robot.description, robot)
    passes = options.periods if trajectory.is_periodic else 1
    played = Played(trajectory, columns, passes * trajectory.period)
    once = Timeline(robot.joint_names, (Phase(
        'periods', 0.0, Played(trajectory, columns, trajectory.period)),))
    check_motion(once, robot, options, collision)  # no ramp can mend the trajectory itself
    *shorter, longest = _ramp_durations(trajectory, options)
    for ramp_s in shorter:
        try:
            return _plan(played, q_start, ramp_s, robot, options, collision)
        except UnsafeMotion:
            pass  # a longer ramp is gentler, and begins elsewhere on the path
    return _plan(played, q_start, longest, robot, options, collision)


def _plan(played: Played, q_start: np.ndarray, ramp_s: float, robot: Robot,
          options: ExperimentOptions, collision: CollisionModel) -> Timeline:
    timeline = _assemble(played, q_start, ramp_s, robot, options)
    extremes = check_motion(timeline, robot, options, collision)
    return Timeline(timeline.joint_names, timeline.phases, extremes)


def match_joints(names: tuple[str, ...], wanted: tuple[str, ...], what: str) -> tuple[int, ...]:
    """Return where each wanted joint stands among ``names``, which must be the same joints."""
    for name in wanted:
        if name not in names:
            raise ExperimentError(f'{what}: has no joint {name!r} of the robot, '
                                  + did_you_mean(name, names))
    for name in names:
        if name not in wanted:
            raise ExperimentError(f'{what}: moves {name!r}, which is no active joint of the '
                                  f'robot, {did_you_mean(name, wanted)}')
    if len(names) != len(wanted):
        raise ExperimentError(f'{what}: names a joint twice: {", ".join(names)}')
    return tuple(list(names).index(name) for name in wanted)


def _check_start(q_start: np.ndarray, robot: Robot) -> None:
    for name, velocity, acceleration in zip(robot.joint_names, robot.limits.velocity,
                                            robot.limits.acceleration):
        if velocity == 0 or acceleration == 0:
            raise ExperimentError(f'joint {name} cannot move: its velocity or acceleration limit '
                                  f'is 0; set model: limits: {name} in the configuration')
    if q_start.shape != (len(robot.joint_names),):
        raise ExperimentError(f'measured position has {q_start.size} values, expected '
                              f'{len(robot.joint_names)}: {", ".join(robot.joint_names)}')
    for name, value in zip(robot.joint_names, q_start):
        if not np.isfinite(value):
            raise ExperimentError(f'measured position of {name} is {value}, expected a finite '
                                  'number; check the joint states')


def _check_ends(trajectory: Trajectory) -> None:
    """Refuse a trajectory that does not end as it begins, or neither moves once between rests."""
    if not (np.isfinite(trajectory.period) and trajectory.period > 0):
        raise ExperimentError(f'trajectory: period is {trajectory.period} s, expected a positive '
                              'number')
    ends = trajectory.sample(np.array([0.0, trajectory.period]))
    dense = trajectory.sample(np.linspace(0, trajectory.period, 50))
    for k, quantity in enumerate(('position', 'velocity', 'acceleration')):
        if trajectory.is_periodic:
            steps, expected = np.abs(ends[k][1] - ends[k][0]), 'the same at both ends'
        elif k == 0:
            continue
        else:
            steps, expected = np.abs(ends[k]).max(axis=0), 'rest, since it is not periodic'
        allowed = PERIODICITY * (1 + np.abs(dense[k]).max(axis=0))
        for name, step, limit in zip(trajectory.joint_names, steps, allowed):
            if not step <= limit:
                raise ExperimentError(f'trajectory: {quantity} of {name} differs by {step:.3g} '
                                      f'at its ends, expected {expected}')


def _ramp_durations(trajectory: Trajectory, options: ExperimentOptions) -> tuple[float, ...]:
    if not trajectory.is_periodic:
        return (0.0,)
    if options.ramp_s is not None:
        return (options.ramp_s,)
    return (trajectory.period / 2, trajectory.period, 2 * trajectory.period)


def _assemble(played: Played, q_start: np.ndarray, ramp_s: float, robot: Robot,
              options: ExperimentOptions) -> Timeline:
    parts: list[tuple[str, Motion]] = [('periods', played)]
    if played.trajectory.is_periodic:  # it moves at its beginning and its end
        parts = [('ramp_in', Paced(played, -ramp_s / 2, ramp_s, rising=True)), *parts,
                 ('ramp_out', Paced(played, 0.0, ramp_s, rising=False))]
    q_ready = parts[0][1].sample(np.zeros(1))[0][0]
    q_end = parts[-1][1].sample(np.array([parts[-1][1].duration]))[0][0]
    parts.insert(0, ('approach', _transfer(q_start, q_ready, robot, options)))
    if options.return_to_start:
        parts.append(('return', _transfer(q_end, q_start, robot, options)))
    phases, start = [], 0.0
    for name, motion in parts:
        phases.append(Phase(name, start, motion))
        start = phases[-1].end
    return Timeline(robot.joint_names, tuple(phases))


def _transfer(start: np.ndarray, goal: np.ndarray, robot: Robot,
              options: ExperimentOptions) -> Motion:
    """Return the quintic that keeps to the gentle speed and acceleration of the approach."""
    way = np.abs(goal - start)
    speed = np.minimum(options.approach_fraction * robot.limits.velocity,
                       options.approach_velocity)
    acceleration = np.minimum(options.approach_fraction * robot.limits.acceleration,
                              options.approach_acceleration)
    duration = max(options.approach_s, np.max(PEAK_VELOCITY * way / speed),
                   np.max(np.sqrt(PEAK_ACCELERATION * way / acceleration)))
    return rest_to_rest(start, goal, float(duration))
