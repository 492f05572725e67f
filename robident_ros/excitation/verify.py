"""
Whether a periodic motion keeps to its limits everywhere, between samples too.

Joint values and efforts are smooth periodic functions, so their spectrum tells how far they can
rise between two samples that are h apart: by at most h²/8 · Σ ω²·|c| above the larger one.
Samples are refined until the spectrum has died out, so that this is a bound and not a hope.
Distances have corners; but a point cannot move faster than Σ ω·|c|, so they are searched for
their smallest value by branch and bound, to a millimetre.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np
from robident_ros.excitation.constraints import Family, Motion, violation
from robident_ros.excitation.trajectory import Trajectory
from robident_ros.model.points import locate
from robident_ros.model.robot import Robot

# Share of the spectrum's sum in its last quarter up to which it counts as resolved.
RESOLVED = 1e-6
SAMPLES, MOST_SAMPLES = 2048, 16384
BINDING = 0.02
MILLIMETRE, FAR = 1e-3, 0.1


@dataclass(frozen=True)
class Margin:
    """How far one constraint is from its limit at worst: a share of the limit, or metres."""

    kind: str
    name: str
    margin: float
    scaled: float  # in the units of the constraint

    @property
    def unit(self) -> str:
        """Return 'm' for distances, nothing for shares."""
        return 'm' if self.kind in ('workspace', 'collision') else ''


@dataclass(frozen=True)
class Verification:
    """Margins of all constraints, guaranteed; negative where a limit may be exceeded."""

    margins: tuple[Margin, ...]

    @property
    def feasible(self) -> bool:
        """Whether every limit is kept."""
        return all(margin.margin >= 0 for margin in self.margins)

    @property
    def worst(self) -> Margin:
        """Return the constraint with the smallest margin."""
        return min(self.margins, key=lambda margin: margin.margin)

    @property
    def binding(self) -> tuple[str, ...]:
        """Names of the constraints that the motion goes to the limit of."""
        return tuple(f'{margin.kind} {margin.name}' for margin in self.margins
                     if margin.margin < BINDING)

    def smallest(self) -> dict[str, float]:
        """Return the smallest margin of each kind."""
        kinds = dict.fromkeys(margin.kind for margin in self.margins)
        return {kind: min(margin.margin for margin in self.margins if margin.kind == kind)
                for kind in kinds}


def verify(trajectory: Trajectory, robot: Robot, families: tuple[Family, ...]) -> Verification:
    """Hold a periodic trajectory against all constraints, with bounds between the samples."""
    count = SAMPLES
    while True:
        checks = [_check_smooth(family, robot, trajectory, count) if family.two_sided else
                  _check_distances(family, robot, trajectory, count) for family in families]
        if all(resolved for _, resolved in checks) or count >= MOST_SAMPLES:
            return Verification(tuple(margin for margins, _ in checks for margin in margins))
        count *= 2


def _move(robot: Robot, trajectory: Trajectory, t: np.ndarray) -> Motion:
    return Motion(robot, *trajectory.sample(t))


def _check_smooth(family: Family, robot: Robot, trajectory: Trajectory,
                  count: int) -> tuple[list[Margin], bool]:
    step = trajectory.period / count
    rows, _ = family.evaluate(_move(robot, trajectory, np.arange(count) * step))
    curvature, resolved = _spectral_sum(rows, trajectory.period, 2)
    margins = -(violation(rows, True) + step**2 / 8 * curvature)
    return [Margin(family.kind, name, float(margin), float(margin))
            for name, margin in zip(family.names, margins)], resolved


def _check_distances(family: Family, robot: Robot, trajectory: Trajectory,
                     count: int) -> tuple[list[Margin], bool]:
    t = np.arange(count) / count * trajectory.period
    places = locate(robot, family.points, trajectory.sample(t)[0]).positions
    speeds, resolved = _spectral_sum(places.reshape(count, -1).T, trajectory.period, 1)
    fastest = family.moving * np.linalg.norm(speeds.reshape(-1, 3), axis=1).max()

    def outside(t: np.ndarray) -> np.ndarray:
        """Return for each name how far outside it is at times t, in m."""
        rows, _ = family.evaluate(_move(robot, trajectory, t))
        return rows * family.length
    margins = -_largest(outside, trajectory.period, fastest, count)
    return [Margin(family.kind, name, float(margin), float(margin / family.length))
            for name, margin in zip(family.names, margins)], resolved


def _largest(function: Callable[[np.ndarray], np.ndarray], period: float, slope: float,
             count: int) -> np.ndarray:
    """
    Return bounds on the largest values of periodic functions (m, N), within a millimetre.

    Between two samples they are at most their mean plus slope · h/2; intervals where that
    matters are halved. Functions that stay below minus a tenth of a metre matter to nobody.
    """
    t = np.linspace(0, period, count // 8 + 1)
    start, end = t[:-1], t[1:]
    values = function(t)
    low, high = values[:, :-1], values[:, 1:]
    largest = values.max(axis=1)
    beyond = np.full(len(largest), -np.inf)  # bounds of intervals that are not halved any more
    while start.size:
        bounds = (low + high) / 2 + slope * (end - start) / 2
        wanted = np.maximum(largest, -FAR)[:, None] + MILLIMETRE
        halve = (bounds > wanted).any(axis=0)
        beyond = np.maximum(beyond, bounds[:, ~halve].max(axis=1, initial=-np.inf))
        start, end, low, high = start[halve], end[halve], low[:, halve], high[:, halve]
        middle = (start + end) / 2
        between = function(middle) if middle.size else low
        largest = np.maximum(largest, between.max(axis=1, initial=-np.inf))
        start, end = np.concatenate([start, middle]), np.concatenate([middle, end])
        low, high = np.hstack([low, between]), np.hstack([between, high])
    return np.maximum(beyond, largest)


def _spectral_sum(rows: np.ndarray, period: float, power: int) -> tuple[np.ndarray, bool]:
    """Return Σ ω^power·|c| of each row (m, N), and whether the spectrum has died out."""
    amplitude = np.abs(np.fft.rfft(rows, axis=1)) * (2 / rows.shape[1])
    omega = 2 * np.pi / period * np.arange(amplitude.shape[1])
    total = amplitude[:, 1:].sum()
    tail = amplitude[:, 3 * amplitude.shape[1] // 4:].sum()
    return amplitude @ omega**power, bool(tail <= RESOLVED * max(total, 1e-12))
