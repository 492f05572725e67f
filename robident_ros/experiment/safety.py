"""
The envelope: the single gate that every measured state and every command passes.

``Envelope.check`` looks at one state alone; ``Monitor`` adds what needs a memory: joint states
that stand still while the command moves, and time that runs backwards. A verdict names the first
thing that is wrong. ``stop_motion`` brings a robot without a plan to rest.
"""

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.config import EnvelopeOptions
from robident_ros.errors import SafetyStop
from robident_ros.experiment.motion import Spline
from robident_ros.experiment.units import joint_units
from robident_ros.experiment.workspace import Workspace
from robident_ros.model.robot import Limits, Robot


@dataclass(frozen=True, eq=False)
class JointState:
    """A measured state in the robot's order of joints; ``stamp`` in s on the clock of ``now``."""

    stamp: float
    q: np.ndarray
    v: np.ndarray | None = None
    effort: np.ndarray | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether to go on; if not, what is wrong (``kind``), where, and by how much."""

    ok: bool
    reason: str = ''
    joint: str = ''
    value: float = 0.0
    bound: float = 0.0
    kind: str = ''

    def __bool__(self) -> bool:
        return self.ok

    def enforce(self) -> None:
        """Raise SafetyStop unless all is well."""
        if not self.ok:
            raise SafetyStop(self.joint, self.value, self.bound, self.reason)


SAFE = Verdict(True)
LONGEST_STOP = 5.0  # s; what cannot stop within its limits until then brakes harder
_KINDS = ('position', 'velocity', 'effort', 'tracking error')


class Envelope:
    """Bounds on what is measured, made of a robot's limits and the options."""

    def __init__(self, robot: Robot, options: EnvelopeOptions) -> None:
        limits, n = robot.limits, len(robot.joint_names)
        velocity = options.velocity_factor * limits.velocity
        effort = options.effort_factor * limits.effort
        tracking = np.full(n, options.tracking_error)
        # One row of bounds per kind, so that a check is one comparison.
        self.lower = read_only([limits.lower - options.position_tolerance, -velocity, -effort,
                                -tracking])
        self.upper = read_only([limits.upper + options.position_tolerance, velocity, effort,
                                tracking])
        self.joint_names = robot.joint_names
        self.options = options
        self._units = joint_units(robot, robot.joint_names)
        self._workspace = Workspace(robot)

    def check(self, state: JointState, now: float,
              command: np.ndarray | None = None) -> Verdict:
        """
        Judge one measured state.

        :param now: the present time in s.
        :param command: the position that is commanded for the time of the state.
        """
        age = now - state.stamp
        if not abs(age) <= self.options.staleness_s:
            return self._stale(age)
        values = np.zeros(self.lower.shape)
        values[0] = state.q
        if state.v is not None:
            values[1] = state.v
        if state.effort is not None:
            values[2] = state.effort
        if command is not None:
            values[3] = state.q - command
        # Written so that a value that is not a number is outside, and infinity too.
        inside = (values >= self.lower) & (values <= self.upper) & np.isfinite(values)
        if not inside.all():
            return self._explain(values, inside)
        return self._check_workspace(state.q) if self._workspace.is_limited else SAFE

    def check_command(self, q: np.ndarray, v: np.ndarray | None = None) -> Verdict:
        """Judge a command before it is sent: finite, and within the bounds of what is measured."""
        values = np.zeros(self.lower.shape)
        values[0] = q
        values[1] = 0 if v is None else v
        inside = (values >= self.lower) & (values <= self.upper) & np.isfinite(values)
        return SAFE if inside.all() else self._explain(values, inside, 'command: ')

    def _stale(self, age: float) -> Verdict:
        bound = self.options.staleness_s
        reason = (f'joint states are {age:.3g} s old, more than {bound:.3g} s' if age > 0 else
                  f'joint states are stamped {-age:.3g} s in the future; the clocks differ')
        return Verdict(False, reason, '', age, bound, 'staleness')

    def _explain(self, values: np.ndarray, inside: np.ndarray, what: str = '') -> Verdict:
        row, column = np.argwhere(~inside)[0]
        kind, joint = _KINDS[row], self.joint_names[column]
        unit = self._units[column][kind]
        value = float(values[row, column])
        below = value < self.lower[row, column]
        bound = float((self.lower if below else self.upper)[row, column])
        if not isfinite(value):
            reason = f'{what}{joint}: {kind} is {value}, expected a finite number'
            return Verdict(False, reason, joint, value, bound, 'non-finite')
        return Verdict(False, f'{what}{joint}: {kind} {value:.4g} {unit} is '
                       f'{"below" if below else "above"} {bound:.4g} {unit}', joint, value, bound,
                       kind)

    def _check_workspace(self, q: np.ndarray) -> Verdict:
        violation = self._workspace.violation(q)
        if violation is None:
            return SAFE
        what, value, bound = violation
        return Verdict(False, f'workspace: {what} of the watched link is {value:.4g} m, beyond '
                       f'{bound:.4g} m', what, value, bound, 'workspace')


class Monitor:
    """An envelope that remembers the last states: give it each one, in order."""

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self._still: tuple[float, JointState, np.ndarray] | None = None
        self._now = -inf

    def check(self, state: JointState, now: float,
              command: np.ndarray | None = None) -> Verdict:
        """Judge a state as the envelope does, and against those before it."""
        verdict = self._check_clock(now)
        if verdict.ok:
            verdict = self.envelope.check(state, now, command)
        return verdict if not verdict.ok else self._check_frozen(state, now, command)

    def _check_clock(self, now: float) -> Verdict:
        before, self._now = self._now, now
        if now < before:
            return Verdict(False, f'the clock jumped back by {before - now:.3g} s', '',
                           now - before, 0.0, 'clock')
        return SAFE

    def _check_frozen(self, state: JointState, now: float,
                      command: np.ndarray | None) -> Verdict:
        """Find values that stay the same to the last bit although the command has moved."""
        options = self.envelope.options
        if command is None:
            self._still = None
            return SAFE
        if self._still is None or not _equal(self._still[1], state):
            self._still = (now, state, np.array(command))
            return SAFE
        since, _, then = self._still
        moved = np.abs(command - then)
        joint = int(moved.argmax())
        if now - since <= options.frozen_s or moved[joint] <= options.frozen_motion:
            return SAFE
        name = self.envelope.joint_names[joint]
        return Verdict(False, f'joint states have not changed for {now - since:.3g} s while the '
                       f'command of {name} moved by {moved[joint]:.3g}', name, now - since,
                       options.frozen_s, 'frozen')


def _equal(first: JointState, second: JointState) -> bool:
    """Whether two states have the same values; noise of efforts shows that a robot is alive."""
    return first is second or all(
        (one is None and other is None) or np.array_equal(one, other)
        for one, other in ((first.q, second.q), (first.v, second.v),
                           (first.effort, second.effort)))


def stop_motion(q: np.ndarray, v: np.ndarray, limits: Limits, a: np.ndarray | None = None,
                shortest: float = 0.3) -> Spline:
    """
    Return a motion from a commanded state to rest, smooth to the second derivative.

    All joints stop together in ``shortest`` (s) or as much longer as the acceleration limits
    demand; an acceleration that is there at the beginning is allowed. It leaves the planned path:
    where there is one, stop along it (``Timeline.stop``).
    """
    q, v = read_only(q), read_only(v)
    a = np.zeros(len(q)) if a is None else read_only(a)
    if not np.isfinite([q, v, a]).all():
        raise SafetyStop('', float('nan'), inf, 'the commanded state is not a finite number; '
                         'hold the last one that was')
    allowed = np.maximum(limits.acceleration, np.abs(a))
    duration = shortest
    while (duration < LONGEST_STOP
           and np.any(_peak_acceleration(v, a, duration) > allowed * (1 + 1e-9))):
        duration *= 1.1
    # Integral of the cubic speed with v₀, a₀ at the beginning and zeros at the end.
    T = duration
    coefficients = [q, v, a / 2, (-3 * v - 2 * a * T) / T**2 / 3, (2 * v + a * T) / T**3 / 4]
    return Spline(read_only([0, T]), read_only([coefficients]))


def _peak_acceleration(v: np.ndarray, a: np.ndarray, T: float) -> np.ndarray:
    """Return the largest |v₀(6x² - 6x)/T + a₀(1 - 4x + 3x²)| over x in [0, 1]."""
    square, linear = 6 * v / T + 3 * a, -6 * v / T - 4 * a
    with np.errstate(divide='ignore', invalid='ignore'):
        x = np.clip(np.nan_to_num(-linear / (2 * square)), 0, 1)
    return np.maximum(np.abs(a), np.abs(a + linear * x + square * x**2))
