"""
Limits as constraints with gradients: joints, efforts, workspace, collisions.

A family of constraints gives rows y (m, N) over the samples of a motion, scaled so that a
two-sided row must stay within ±1 and a one-sided one must not exceed zero, and pulls weights on
a row back to the motion. An optimiser sees one smooth number per row: the Kreisselmeier–
Steinhauser aggregate over time, which is never below the largest sample.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from robident_ros.config import WorkspaceOptions
from robident_ros.errors import ConfigError
from robident_ros.model.capsules import CapsuleModel
from robident_ros.model.points import end_effector, locate, locate_product
from robident_ros.model.regressor import torque_regressor, torque_regressor_product
from robident_ros.model.robot import Robot

# Lengths are counted in these, so that they have the size of the scaled joint limits.
DECIMETRE = 0.1


class Bars(NamedTuple):
    """Gradient with respect to positions, speeds and accelerations, (N, n) each."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples of a motion, (N, n) each, and what is computed from them once."""

    robot: Robot
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    @cached_property
    def W(self) -> np.ndarray:
        """Torque regressor, (n, N, p)."""
        return torque_regressor(self.robot, self.q, self.v, self.a)

    def product(self, W_bar: np.ndarray) -> Bars:
        """Return the gradient of Σ W_bar ∘ W."""
        return Bars(*torque_regressor_product(self.robot, W_bar, self.q, self.v, self.a))


class Family(Protocol):
    """Constraints of one kind."""

    kind: str
    names: tuple[str, ...]
    two_sided: bool

    def rows(self, motion: Motion) -> np.ndarray:
        """Return y (m, N)."""

    def pull(self, motion: Motion, row: int, weights: np.ndarray) -> Bars:
        """Return the gradient of Σ weights ∘ y[row]."""


@dataclass(frozen=True, eq=False)
class JointFamily:
    """Position, speed or acceleration of each joint, scaled to ±1 between its bounds."""

    kind: str
    names: tuple[str, ...]
    which: str
    joints: np.ndarray
    middle: np.ndarray
    half: np.ndarray
    two_sided: bool = True

    def rows(self, motion: Motion) -> np.ndarray:
        """Return scaled values (m, N)."""
        values = getattr(motion, self.which)[:, self.joints]
        return ((values - self.middle) / self.half).T

    def pull(self, motion: Motion, row: int, weights: np.ndarray) -> Bars:
        """Return the gradient of one row."""
        bars = {key: np.zeros_like(motion.q) for key in 'qva'}
        bars[self.which][:, self.joints[row]] = weights / self.half[row]
        return Bars(**bars)


@dataclass(frozen=True, eq=False)
class EffortFamily:
    """Effort of each joint by the a-priori parameters, scaled to ±1 at its limit."""

    names: tuple[str, ...]
    joints: np.ndarray
    limits: np.ndarray
    kind: str = 'effort'
    two_sided: bool = True

    def rows(self, motion: Motion) -> np.ndarray:
        """Return scaled efforts (m, N)."""
        return motion.W[self.joints] @ motion.robot.theta / self.limits[:, None]

    def pull(self, motion: Motion, row: int, weights: np.ndarray) -> Bars:
        """Return the gradient of one row."""
        W_bar = np.zeros((len(motion.robot.parameters), *motion.q.T.shape))
        W_bar[:, self.joints[row]] = np.outer(motion.robot.theta, weights / self.limits[row])
        return motion.product(W_bar.transpose(1, 2, 0))


class WorkspaceFamily:
    """The watched link: sides of its box, and the keep-out cylinder, in decimetres outside."""

    kind = 'workspace'
    two_sided = False

    def __init__(self, robot: Robot, options: WorkspaceOptions) -> None:
        self._point = end_effector(robot, options.link)
        self._radius, self._height = options.keep_out_radius, options.keep_out_height
        self._sides = [(axis, sign, bound) for sign, corner in zip((-1, 1), _box(options))
                       for axis, bound in enumerate(corner) if np.isfinite(bound)]
        names = [f'{"lower" if sign < 0 else "upper"} {"xyz"[axis]}'
                 for axis, sign, _ in self._sides]
        if (self._radius is None) != (self._height is None):
            raise ConfigError('workspace: keep_out_radius and keep_out_height go together')
        self.names = (*names, *(['keep-out cylinder'] if self._radius is not None else []))

    def rows(self, motion: Motion) -> np.ndarray:
        """Return how far the link is outside (m, N); negative is inside."""
        place = locate(motion.robot, self._point, motion.q).positions[:, 0]
        rows = [sign * (place[:, axis] - bound) for axis, sign, bound in self._sides]
        if self._radius is not None:
            rows.append(np.minimum(*self._cylinder(place)))
        return np.array(rows) / DECIMETRE

    def _cylinder(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how deep a place is within the radius, and below the height."""
        return (self._radius - np.hypot(place[:, 0], place[:, 1]), self._height - place[:, 2])

    def pull(self, motion: Motion, row: int, weights: np.ndarray) -> Bars:
        """Return the gradient of one row."""
        pose = locate(motion.robot, self._point, motion.q)
        place = pose.positions[:, 0]
        slope = np.zeros_like(place)
        if row < len(self._sides):
            axis, sign, _ = self._sides[row]
            slope[:, axis] = sign
        else:
            inside, below = self._cylinder(place)
            outward = place[:, :2] / np.maximum(np.hypot(*place[:, :2].T), 1e-9)[:, None]
            slope[:, :2] = np.where((inside < below)[:, None], -outward, 0)
            slope[:, 2] = np.where(inside < below, 0, -1)
        bar = (weights[:, None] * slope / DECIMETRE)[:, None]
        return _position_bars(locate_product(motion.robot, self._point, pose, bar))


@dataclass(frozen=True, eq=False)
class CollisionFamily:
    """Pairs of links: how much nearer than allowed they are, in decimetres; one row for all."""

    capsules: CapsuleModel
    clearance: float
    kind: str = 'collision'
    names: tuple[str, ...] = ('links',)
    two_sided: bool = False

    def rows(self, motion: Motion) -> np.ndarray:
        """Return for each pair and sample, in one row."""
        distances, _ = self.capsules.clearances(motion.q)
        return ((self.clearance - distances) / DECIMETRE).T.reshape(1, -1)

    def pull(self, motion: Motion, row: int, weights: np.ndarray) -> Bars:
        """Return the gradient of the row."""
        _, contact = self.capsules.clearances(motion.q)
        bar = -weights.reshape(-1, len(motion.q)).T / DECIMETRE
        return _position_bars(self.capsules.product(bar, contact))


def _position_bars(q_bar: np.ndarray) -> Bars:
    zero = np.zeros_like(q_bar)
    return Bars(q_bar, zero, zero)


def _box(options: WorkspaceOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper corner, infinite where nothing is said."""
    corners = []
    for key, height, tighter in (('lower', options.floor, max), ('upper', options.ceiling, min)):
        corner = getattr(options, key)
        if corner is not None and len(corner) != 3:
            raise ConfigError(f'workspace: {key}: has {len(corner)} numbers, expected three')
        fallback = -np.inf if key == 'lower' else np.inf
        corner = np.full(3, fallback) if corner is None else np.array(corner)
        if height is not None:
            corner[2] = tighter(corner[2], height)
        corners.append(corner)
    for axis, low, high in zip('xyz', *corners):
        if low > high:
            raise ConfigError(f'workspace: lower {axis} {low} is above upper {axis} {high}')
    return tuple(corners)


def is_limited(options: WorkspaceOptions) -> bool:
    """Whether a workspace is described at all."""
    return any(value is not None for key, value in vars(options).items() if key != 'link')


def aggregate(rows: np.ndarray, two_sided: bool, sharpness: float) -> tuple[np.ndarray,
                                                                            np.ndarray]:
    """
    Return the Kreisselmeier–Steinhauser aggregate of each row, and its slope, (m,) and (m, N).

    It lies between the largest violation and that plus log(N) / sharpness.
    """
    sides = np.stack([rows - 1, -rows - 1]) if two_sided else rows[None]
    largest = sides.max(axis=(0, 2), keepdims=True)
    weights = np.exp(sharpness * (sides - largest))
    total = weights.sum(axis=(0, 2), keepdims=True)
    values = (largest + np.log(total) / sharpness)[0, :, 0]
    weights = weights / total
    return values, weights[0] - weights[1] if two_sided else weights[0]


def violation(rows: np.ndarray, two_sided: bool) -> np.ndarray:
    """Return the largest violation of each row over its samples; negative is a margin."""
    return (np.abs(rows) - 1 if two_sided else rows).max(axis=1)
