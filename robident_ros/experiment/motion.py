"""
Motions: anything with ``duration`` (s) and ``sample(t) -> (q, v, a)``, arrays (N, n).

A motion is built from three kinds: a spline through timed points as joint_trajectory_controller
interpolates them, a trajectory as it is played, and another motion at a changing pace.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.excitation.trajectory import Trajectory

Sample = tuple[np.ndarray, np.ndarray, np.ndarray]

# Quintic Hermite basis on [0, 1]: powers of x (highest first) for q, v, a at 0 and at 1.
_QUINTIC = np.array([
    [-6, 15, -10, 0, 0, 1], [-3, 8, -6, 0, 1, 0], [-0.5, 1.5, -1.5, 0.5, 0, 0],
    [6, -15, 10, 0, 0, 0], [-3, 7, -4, 0, 0, 0], [0.5, -1, 0.5, 0, 0, 0]])
_CUBIC = np.array([[2, -3, 0, 1], [1, -2, 1, 0], [-2, 3, 0, 0], [1, -1, 0, 0]])
_LINEAR = np.array([[-1, 1], [1, 0]])


class Motion(Protocol):
    """A motion that ends."""

    duration: float

    def sample(self, t: np.ndarray) -> Sample:
        """Return positions, speeds and accelerations, (N, n) each, at times ``t`` (N,)."""


@dataclass(frozen=True, eq=False)
class Spline:
    """
    Timed points joined by polynomials: quintic, cubic or linear, as far as derivatives are given.

    Before its first point it is at rest in the first, after its last point at rest in the last.
    """

    t: np.ndarray
    coefficients: np.ndarray  # (pieces, degree + 1, n), powers 0, 1, … of the time in the piece

    @property
    def duration(self) -> float:
        """Time of the last point, in s."""
        return float(self.t[-1])

    def sample(self, t: np.ndarray) -> Sample:
        """Return positions, speeds and accelerations at times ``t``."""
        t = np.asarray(t, dtype=float)
        inside = np.minimum(np.maximum(t, self.t[0]), self.t[-1])
        piece = self.t[1:-1].searchsorted(inside, side='right')
        powers = (inside - self.t[piece])[:, None] ** np.arange(self.coefficients.shape[1])
        bases = (powers @ _DERIVATIVES[self.coefficients.shape[1]]).reshape(len(t), 3, -1)
        q, v, a = (bases @ self.coefficients[piece]).swapaxes(0, 1)
        moving = (inside == t)[:, None]
        return q, v * moving, a * moving


def _derivatives(count: int) -> np.ndarray:
    """Return what makes of the powers of x, times this, the powers and their two derivatives."""
    D = np.diag(np.arange(1.0, count), k=1)  # column k: the derivative of xᵏ
    return np.hstack([np.eye(count), D, D @ D])


_DERIVATIVES = {count: _derivatives(count) for count in range(2, 7)}


def make_spline(t: np.ndarray, q: np.ndarray, v: np.ndarray | None = None,
                a: np.ndarray | None = None) -> Spline:
    """
    Join points (at least two, at increasing times) by polynomials, piece by piece.

    :param q: (N, n), with speeds ``v`` and accelerations ``a`` where they are known.
    """
    t, q = read_only(t), read_only(q)
    h = np.diff(t)
    if v is None:
        given, basis = (q,), _LINEAR
    elif a is None:
        given, basis = (q, v), _CUBIC
    else:
        given, basis = (q, v, a), _QUINTIC
    scaled = [np.asarray(values) for values in given]
    rows = [scaled[k][side] * h[:, None]**k for side in (slice(None, -1), slice(1, None))
            for k in range(len(given))]
    coefficients = np.einsum('kp,kij->ipj', basis[:, ::-1], np.array(rows))
    return Spline(t, read_only(coefficients / h[:, None, None]
                               ** np.arange(basis.shape[1])[:, None]))


def rest_to_rest(start: np.ndarray, goal: np.ndarray, duration: float) -> Spline:
    """Return the quintic from rest in ``start`` to rest in ``goal``."""
    rest = np.zeros((2, len(start)))
    return make_spline([0, duration], [start, goal], rest, rest)


@dataclass(frozen=True, eq=False)
class Played:
    """A trajectory played for ``duration`` (s), beginning with its time zero."""

    trajectory: Trajectory
    columns: tuple[int, ...]  # of the trajectory, in the robot's order of joints
    duration: float

    def sample(self, t: np.ndarray) -> Sample:
        """Return positions, speeds and accelerations; a periodic one is so before and after."""
        period = self.trajectory.period
        t = np.mod(t, period) if self.trajectory.is_periodic else np.clip(t, 0, period)
        q, v, a = (np.asarray(values)[:, self.columns] for values in self.trajectory.sample(t))
        return q, v, a


@dataclass(frozen=True, eq=False)
class Paced:
    """
    Another motion along its own path, at a pace that rises from 0 to 1 or falls from 1 to 0.

    The path's time s(t) has the pace ds/dt = 3x² - 2x³ of x = t / duration (or one minus that),
    so that the motion begins or ends at rest and joins the other one with equal speed and
    acceleration; it stays on the path, hence within its position limits and free of collisions.
    Ramps advance the path by half their duration.
    """

    motion: Motion
    start: float  # the path's time at t = 0
    duration: float
    rising: bool

    def sample(self, t: np.ndarray) -> Sample:
        """Return positions, speeds and accelerations at times ``t``."""
        x = np.clip(np.asarray(t, dtype=float) / self.duration, 0, 1)
        advance, pace = x**3 - x**4 / 2, 3 * x**2 - 2 * x**3
        change = 6 * x * (1 - x) / self.duration
        if not self.rising:
            advance, pace, change = x - advance, 1 - pace, -change
        q, v, a = self.motion.sample(self.start + self.duration * advance)
        pace, change = pace[:, None], change[:, None]
        return q, v * pace, a * pace**2 + v * change
