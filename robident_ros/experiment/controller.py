"""
The controller of the simulated robot: what it is commanded, and the efforts that follow it.

It behaves as ros2_control's controllers do. A trajectory is interpolated as
joint_trajectory_controller does it, and refused for the same reasons; streamed positions are
joined linearly over the time between them, and when they stop coming the robot holds.
"""

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.config import SimulationOptions
from robident_ros.errors import ExperimentError
from robident_ros.experiment.motion import make_spline, Motion, rest_to_rest, Sample
from robident_ros.experiment.safety import stop_motion
from robident_ros.experiment.timeline import match_joints
from robident_ros.experiment.truth import Drives
from robident_ros.model.robot import Robot

HOLD, FOLLOW, STREAM = 'hold', 'follow', 'stream'
SLOW = 0.01  # rad/s or m/s, below which the controller compensates less Coulomb friction


class SetPoint:
    """What the robot shall do: position, speed and acceleration at a time."""

    def __init__(self, q: np.ndarray, robot: Robot, options: SimulationOptions) -> None:
        self._robot, self._deadline = robot, options.deadline_s
        self._motion: Motion = rest_to_rest(q, q, 1.0)
        self._begin = 0.0
        self._commanded = -np.inf
        self.mode = HOLD

    def at(self, t: float) -> Sample:
        """Return commanded position, speed and acceleration, (n,) each, at time ``t``."""
        if self.mode == STREAM and t - self._commanded > self._deadline:
            self.hold(t)
        elif self.mode == FOLLOW and t - self._begin >= self._motion.duration:
            self.mode = HOLD
        q, v, a = self._motion.sample(np.array([t - self._begin]))
        return q[0], v[0], a[0]

    def hold(self, t: float) -> None:
        """Come to rest smoothly from what is commanded now."""
        q, v, a = (values[0] for values in self._motion.sample(np.array([t - self._begin])))
        self._play(t, stop_motion(q, v, self._robot.limits, a), HOLD)

    def follow(self, t: float, names: tuple[str, ...], times: np.ndarray, q: np.ndarray,
               v: np.ndarray | None = None, a: np.ndarray | None = None) -> None:
        """
        Follow timed points from now on, in place of any others.

        :param times: seconds from now, increasing; without derivatives the points are joined
            linearly, with speeds by cubics, with accelerations too by quintics.
        """
        columns = list(match_joints(names, self._robot.joint_names, 'joint trajectory'))
        points = [None if values is None else np.asarray(values, dtype=float)
                  for values in (q, v, a)]
        times = np.asarray(times, dtype=float)
        _check_points(names, times, *points)
        points = [None if values is None else values[:, columns] for values in points]
        if times[0] > 0:  # from what is commanded now to the first point
            times = np.concatenate([[0.0], times])
            points = [None if values is None else np.vstack([now, values])
                      for now, values in zip(self.at(t), points)]
        if len(times) == 1:
            self._play(t, rest_to_rest(points[0][0], points[0][0], 1.0), HOLD)
        else:
            self._play(t, make_spline(times, *points), FOLLOW)

    def stream(self, t: float, q: np.ndarray) -> None:
        """Go to a position by the time when the next command is due."""
        q = read_only(q)
        if q.shape != (len(self._robot.joint_names),) or not np.isfinite(q).all():
            raise ExperimentError(f'position command is {q.tolist()}, expected '
                                  f'{len(self._robot.joint_names)} finite numbers: '
                                  + ', '.join(self._robot.joint_names))
        interval = t - self._commanded if self.mode == STREAM else self._deadline
        interval = min(max(interval, 1e-4), self._deadline)
        now = self.at(t)[0]
        self._play(t, make_spline([0, interval], [now, q]), STREAM)
        self._commanded = t

    def _play(self, t: float, motion: Motion, mode: str) -> None:
        self._motion, self._begin, self.mode = motion, t, mode


def _check_points(names: tuple[str, ...], times: np.ndarray, q: np.ndarray,
                  v: np.ndarray | None, a: np.ndarray | None) -> None:
    """Refuse what joint_trajectory_controller refuses."""
    where = 'joint trajectory: refused:'
    if not len(times):
        raise ExperimentError(f'{where} it has no points')
    for values, what in ((q, 'positions'), (v, 'velocities'), (a, 'accelerations')):
        if values is not None and values.shape != (len(times), len(names)):
            raise ExperimentError(f'{where} {what} have shape {values.shape}, expected '
                                  f'({len(times)}, {len(names)})')
        if values is not None and not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise ExperimentError(f'{where} {what} of {names[column]} in point {row} are '
                                  f'{values[row, column]}')
    if a is not None and v is None:
        raise ExperimentError(f'{where} accelerations are given without velocities')
    if not (np.isfinite(times).all() and times[0] >= 0 and (np.diff(times) > 0).all()):
        raise ExperimentError(f'{where} time_from_start must increase from point to point')
    if v is not None and np.abs(v[-1]).max() > 1e-9:
        joint = int(np.abs(v[-1]).argmax())
        raise ExperimentError(f'{where} the last point has velocity {v[-1][joint]:.4g} of '
                              f'{names[joint]}, expected 0')


class ComputedTorque:
    """
    Efforts that follow a set point: inverse dynamics, and the error fed back.

    The error decays with the bandwidth, critically damped, in every joint of any robot, since
    the controller knows the robot: its inertia and, at the commanded speed, its friction.
    """

    def __init__(self, drives: Drives, bound: np.ndarray, bandwidth_hz: float) -> None:
        self._drives, self._bound = drives, bound
        self._omega = 2 * np.pi * bandwidth_hz

    def effort(self, q: np.ndarray, v: np.ndarray, set_point: Sample, M: np.ndarray,
               bias: np.ndarray) -> np.ndarray:
        """Return the efforts in a state, within the limits of the drives."""
        q_set, v_set, a_set = set_point
        omega, drives = self._omega, self._drives
        a = a_set + 2 * omega * (v_set - v) + omega**2 * (q_set - q)
        friction = drives.viscous @ v_set + drives.offset
        if len(drives.level):
            direction = np.tanh(drives.rows @ v_set / SLOW)
            friction = friction + drives.rows.T @ (drives.level * direction)
        return np.minimum(np.maximum(M @ a + bias + friction, -self._bound), self._bound)
