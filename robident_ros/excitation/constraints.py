"""
Limits as constraints with gradients: joints, efforts, workspace, collisions.

A family of constraints gives rows y (m, N) over the samples of a motion, scaled so that a
two-sided row must stay within ±1 and a one-sided one must not exceed zero, and a function that
pulls weights on them back to the motion. Lengths are counted in units of a given ``length``.
An optimiser sees one smooth number per row, or one for a family whose rows go ``together``: the
Kreisselmeier–Steinhauser aggregate over time, which is never below the largest sample.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Callable, NamedTuple, Protocol

import numpy as np
from robident_ros.config import WorkspaceOptions
from robident_ros.errors import ConfigError
from robident_ros.model.capsules import CapsuleModel
from robident_ros.model.points import end_effector, locate, locate_product, Points
from robident_ros.model.regressor import torque_regressor, torque_regressor_product
from robident_ros.model.robot import Robot


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


Pull = Callable[[np.ndarray], Bars]


class Family(Protocol):
    """Constraints of one kind."""

    kind: str
    names: tuple[str, ...]
    two_sided: bool
    together: bool

    def evaluate(self, motion: Motion) -> tuple[np.ndarray, Pull]:
        """Return y (m, N), and what gives the gradient of Σ weights ∘ y."""


@dataclass(frozen=True, eq=False)
class JointFamily:
    """
    Position, speed or acceleration of joints, scaled to ±1 between their bounds.

    ``which`` is 'q', 'v' or 'a'; ``G`` (m, n) and ``c`` (m,) give the joints' values from those
    of the active joints, for passive joints are limited too.
    """

    kind: str
    names: tuple[str, ...]
    which: str
    G: np.ndarray
    c: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    two_sided: bool = True
    together: bool = False

    @property
    def half(self) -> np.ndarray:
        """Half of the range between the bounds."""
        return (self.upper - self.lower) / 2

    def evaluate(self, motion: Motion) -> tuple[np.ndarray, Pull]:
        """Return scaled values (m, N), and their pull."""
        values = getattr(motion, self.which) @ self.G.T + self.c
        zero = np.zeros_like(motion.q)

        def pull(weights: np.ndarray) -> Bars:
            bar = weights.T @ (self.G / self.half[:, None])
            return Bars(zero, zero, zero)._replace(**{self.which: bar})
        return ((values - (self.lower + self.upper) / 2) / self.half).T, pull


@dataclass(frozen=True, eq=False)
class EffortFamily:
    """Effort of each joint by the a-priori parameters, scaled to ±1 at its limit."""

    names: tuple[str, ...]
    joints: np.ndarray
    limits: np.ndarray
    kind: str = 'effort'
    two_sided: bool = True
    together: bool = True  # each gradient costs as much as that of the criterion

    def evaluate(self, motion: Motion) -> tuple[np.ndarray, Pull]:
        """Return scaled efforts (m, N), and their pull."""
        def pull(weights: np.ndarray) -> Bars:
            tau_bar = np.zeros(motion.q.T.shape)
            tau_bar[self.joints] = weights / self.limits[:, None]
            W_bar = motion.robot.theta[:, None, None] * tau_bar
            return motion.product(W_bar.transpose(1, 2, 0))
        return motion.W[self.joints] @ motion.robot.theta / self.limits[:, None], pull


class WorkspaceFamily:
    """The watched link: how far outside of its box and inside the keep-out cylinder it is."""

    kind = 'workspace'
    two_sided = False
    together = False
    moving = 1  # points whose motion changes a row

    def __init__(self, robot: Robot, options: WorkspaceOptions, length: float) -> None:
        self.length = length
        self.points = end_effector(robot, options.link)
        self._radius, self._height = options.keep_out_radius, options.keep_out_height
        corners = zip((-1, 1), workspace_box(options))
        self._sides = [(axis, sign, bound) for sign, corner in corners
                       for axis, bound in enumerate(corner) if np.isfinite(bound)]
        names = [f'{"lower" if sign < 0 else "upper"} {"xyz"[axis]}'
                 for axis, sign, _ in self._sides]
        if (self._radius is None) != (self._height is None):
            raise ConfigError('workspace: keep_out_radius and keep_out_height go together')
        self.names = (*names, *(['keep-out cylinder'] if self._radius is not None else []))

    def evaluate(self, motion: Motion) -> tuple[np.ndarray, Pull]:
        """Return how far the link is outside (m, N), negative inside, and the pull."""
        pose = locate(motion.robot, self.points, motion.q)
        place = pose.positions[:, 0]

        def pull(weights: np.ndarray) -> Bars:
            bar = np.einsum('mn,mna->na', weights, self._slopes(place)) / self.length
            return _position_bars(locate_product(motion.robot, self.points, pose, bar[:, None]))
        rows = [sign * (place[:, axis] - bound) for axis, sign, bound in self._sides]
        if self._radius is not None:
            rows.append(np.minimum(*self._cylinder(place)))
        return np.array(rows) / self.length, pull

    def _cylinder(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how deep a place is within the radius, and below the height."""
        return (self._radius - np.hypot(place[:, 0], place[:, 1]), self._height - place[:, 2])

    def _slopes(self, place: np.ndarray) -> np.ndarray:
        """Return the gradients of all rows with respect to the place, (m, N, 3)."""
        slopes = np.zeros((len(self.names), *place.shape))
        for slope, (axis, sign, _) in zip(slopes, self._sides):
            slope[:, axis] = sign
        if self._radius is not None:
            inside, below = self._cylinder(place)
            outward = place[:, :2] / np.maximum(np.hypot(*place[:, :2].T), 1e-9)[:, None]
            slopes[-1, :, :2] = np.where((inside < below)[:, None], -outward, 0)
            slopes[-1, :, 2] = np.where(inside < below, 0, -1)
        return slopes


@dataclass(frozen=True, eq=False)
class CollisionFamily:
    """Pairs of links: how much nearer than allowed they are."""

    capsules: CapsuleModel
    clearance: float
    length: float
    kind: str = 'collision'
    two_sided: bool = False
    together: bool = True
    moving: int = 2  # points whose motion changes a row

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pairs."""
        return tuple(' and '.join(pair) for pair in self.capsules.names)

    @property
    def points(self) -> Points:
        """Return the ends of all capsules."""
        return self.capsules.points

    def evaluate(self, motion: Motion) -> tuple[np.ndarray, Pull]:
        """Return the pairs at all samples (m, N), and their pull."""
        distances, contact = self.capsules.clearances(motion.q)

        def pull(weights: np.ndarray) -> Bars:
            return _position_bars(self.capsules.product(-weights.T / self.length, contact))
        return ((self.clearance - distances) / self.length).T, pull


def _position_bars(q_bar: np.ndarray) -> Bars:
    zero = np.zeros_like(q_bar)
    return Bars(q_bar, zero, zero)


def workspace_box(options: WorkspaceOptions) -> tuple[np.ndarray, np.ndarray]:
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


def aggregate(rows: np.ndarray, family: Family,
              sharpness: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the Kreisselmeier–Steinhauser aggregates of a family, and the slope of their sum.

    An aggregate lies between the largest violation and that plus log(count) / sharpness. Their
    number is that of the rows, or one where these go together; the slope is (m, N).
    """
    sides = np.stack([rows - 1, -rows - 1]) if family.two_sided else rows[None]
    axes = (0, 1, 2) if family.together else (0, 2)
    largest = sides.max(axis=axes, keepdims=True)
    weights = np.exp(sharpness * (sides - largest))
    total = weights.sum(axis=axes, keepdims=True)
    values = (largest + np.log(total) / sharpness).ravel()
    weights = weights / total
    return values, weights[0] - weights[1] if family.two_sided else weights[0]


def pull_apart(weights: np.ndarray, family: Family) -> np.ndarray:
    """Return the slope of each aggregate by itself, (aggregates, m, N)."""
    if family.together:
        return weights[None]
    return np.eye(len(weights))[:, :, None] * weights


def violation(rows: np.ndarray, two_sided: bool) -> np.ndarray:
    """Return the largest violation of each row over its samples; negative is a margin."""
    return (np.abs(rows) - 1 if two_sided else rows).max(axis=1)
