"""
Polynomial trajectories (paper 000): points (q, q̇) joined by quintics, from rest to rest.

Every interval takes the shortest time that meets the limits of speed and acceleration (section
5.2). Positions between the points are checked exactly, from the extrema of the quintics.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.excitation.quintic import Quintics, shortest_durations
from robident_ros.model.robot import Limits

# Relative to a limit; round-off of times and polynomials.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class PolynomialTrajectory:
    """
    Quintics through points.

    :param points: (m + 1, 2, n): positions and speeds of each point.
    :param durations: (m,), s.
    """

    joint_names: tuple[str, ...]
    points: np.ndarray
    durations: np.ndarray

    def __post_init__(self) -> None:
        """Close the arrays, and refuse those that make no trajectory."""
        object.__setattr__(self, 'joint_names', tuple(self.joint_names))
        for name in ('points', 'durations'):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        count = len(self.points)
        if self.points.shape != (count, 2, len(self.joint_names)) or count < 2:
            raise ValueError(f'points have shape {self.points.shape}, expected two or more, each '
                             f'of (2, {len(self.joint_names)})')
        if self.durations.shape != (count - 1,) or not np.all(self.durations > 0):
            raise ValueError(f'expected {count - 1} durations above zero')
        if not (np.isfinite(self.points).all() and np.isfinite(self.durations).all()):
            raise ValueError('points and durations are not all finite')

    @property
    def quintics(self) -> Quintics:
        """Return the polynomials."""
        return Quintics(self.points[:, 0], self.points[:, 1], self.durations)

    @property
    def times(self) -> np.ndarray:
        """Return the times of the points, (m + 1,), s."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])

    @property
    def period(self) -> float:
        """Duration, s."""
        return float(self.times[-1])

    @property
    def is_periodic(self) -> bool:
        """Whether it can be repeated: no, it is a motion from rest to rest."""
        return False

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and a at times t (N,), each (N, n); outside it stays where it ends."""
        times = self.times
        t = np.clip(np.asarray(t, dtype=float), 0, times[-1])
        i = np.clip(np.searchsorted(times, t, side='right') - 1, 0, len(self.durations) - 1)
        s = (t - times[i]) / self.durations[i]
        return self.quintics.at(i, s)

    def to_data(self) -> dict:
        """Return all that defines it."""
        return {'kind': 'polynomial', 'joints': list(self.joint_names),
                'durations': self.durations.tolist(),
                'points': [{'q': q, 'v': v} for q, v in self.points.tolist()]}

    @classmethod
    def from_data(cls, data: dict) -> 'PolynomialTrajectory':
        """Rebuild a trajectory from ``to_data``."""
        points = [[point['q'], point['v']] for point in data['points']]
        return cls(tuple(data['joints']), np.array(points, dtype=float),
                   np.array(data['durations'], dtype=float))


def join(joint_names: tuple[str, ...], q: np.ndarray, v: np.ndarray, limits: Limits,
         durations: np.ndarray | None = None) -> PolynomialTrajectory:
    """
    Join points with quintics.

    :param q: positions of the points, (m + 1, n); ``v`` their speeds.
    :param durations: default: the shortest that meet the limits of speed and acceleration.
    """
    if durations is None:
        durations = shortest_durations(q, v, limits.velocity, limits.acceleration)
    return PolynomialTrajectory(joint_names, np.stack([q, v], axis=1), durations)


def margins(quintics: Quintics, limits: Limits) -> dict[str, np.ndarray]:
    """
    Return how far each joint stays from its limits of position, speed and acceleration.

    The extrema are exact; a negative margin is a limit that is not met, in the limit's unit.
    """
    def extreme(order: int) -> np.ndarray:
        return quintics.value(quintics.extrema(order), order)

    q = np.concatenate([quintics.q.T, *np.transpose(extreme(0), (2, 1, 0))], axis=1)
    v = np.concatenate([quintics.v.T, *np.transpose(extreme(1), (2, 1, 0))], axis=1)
    return {'position': np.minimum(q.min(axis=1) - limits.lower, limits.upper - q.max(axis=1)),
            'velocity': limits.velocity - np.abs(v).max(axis=1),
            'acceleration': limits.acceleration - np.abs(extreme(2)).max(axis=(0, 2))}


def tightest(found: dict[str, np.ndarray], limits: Limits) -> tuple[str, int, float]:
    """Return which limit has the smallest margin, of which joint, relative to its size."""
    sizes = {'position': limits.upper - limits.lower, 'velocity': limits.velocity,
             'acceleration': limits.acceleration}
    relative = {key: found[key] / size for key, size in sizes.items()}
    key = min(relative, key=lambda key: relative[key].min())
    return key, int(relative[key].argmin()), float(relative[key].min())


def is_within(found: dict[str, np.ndarray], limits: Limits) -> bool:
    """Return whether margins are those of a motion within the limits, to round-off."""
    return tightest(found, limits)[2] >= -TOLERANCE
