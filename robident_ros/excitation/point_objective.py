"""
What is minimised over the points and durations of a polynomial trajectory, with its gradient.

It is the logarithm of a criterion of the rows, plus a charge for what the quintics exceed of their
limits of position, speed and acceleration, at their exact extrema.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.excitation.criteria import Criterion, P_NORM, Value
from robident_ros.excitation.quintic import Quintics
from robident_ros.model.regressor import energy_regressor, energy_regressor_product, stack
from robident_ros.model.regressor import torque_regressor, torque_regressor_product
from robident_ros.model.robot import Limits, Robot

# Where torques are sampled in each interval; the accelerations of quintics are largest near 1/5.
SAMPLES = np.array([0.0, 0.2, 0.5, 0.8])
# Of the p-norm of S: its many entries need a smaller one than the few eigenvalues of cond.
_P = P_NORM / 2


@dataclass(frozen=True, eq=False)
class PointProblem:
    """
    The problem for one criterion.

    :param columns: base parameters among the standard ones; ``regressor`` is energy or torque.
    :param rest: position that is added at both ends, outside the rows.
    :param weight: what exceeding a limit by all of its size costs.
    :param tightening: part of the limits that is kept free.
    """

    robot: Robot
    columns: np.ndarray
    regressor: str
    limits: Limits
    rest: np.ndarray
    rows: int
    criterion: Criterion
    weight: float
    tightening: float

    def unpack(self, x: np.ndarray) -> Quintics:
        """Return the quintics of variables q, v and log u; rest is added at both ends."""
        size = (self.rows + 1) * len(self.rest)
        still = np.zeros_like(self.rest)
        q = np.vstack([self.rest, x[:size].reshape(-1, len(self.rest)), self.rest])
        v = np.vstack([still, x[size:2 * size].reshape(-1, len(self.rest)), still])
        return Quintics(q, v, np.exp(x[2 * size:]))

    def bounds(self) -> np.ndarray:
        """Return the bounds of the variables, (…, 2); those of durations are only numerical."""
        count = self.rows + 1
        speed = self.limits.velocity
        return np.vstack([np.tile(np.column_stack([self.limits.lower, self.limits.upper]),
                                  (count, 1)),
                          np.tile(np.column_stack([-speed, speed]), (count, 1)),
                          np.tile([np.log(1e-3), np.log(1e3)], (count + 1, 1))])

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient."""
        quintics = self.unpack(x)
        value, bars = self._value(quintics)
        charge, charge_bars = exceeded(quintics, self.limits, self.tightening)
        q, v, u = (bar / value + self.weight * extra for bar, extra in zip(bars, charge_bars))
        gradient = np.concatenate([q[1:-1].ravel(), v[1:-1].ravel(), u * quintics.u])
        return np.log(value) + self.weight * charge, gradient

    def matrix(self, quintics: Quintics) -> np.ndarray:
        """Return the rows, (rows, b)."""
        if self.regressor == 'energy':
            h = energy_regressor(self.robot, quintics.q[1:-1], quintics.v[1:-1])
            return np.diff(h, axis=0)[:, self.columns]
        return stack(torque_regressor(self.robot, *self._samples(quintics)))[:, self.columns]

    def _samples(self, quintics: Quintics) -> list[np.ndarray]:
        n = len(self.rest)
        return [np.moveaxis(quintics.value(SAMPLES, order), 1, 2).reshape(-1, n)
                for order in range(3)]

    def _value(self, quintics: Quintics) -> tuple[float, list[np.ndarray]]:
        """Return the criterion and its gradient with respect to q, v and u of the quintics."""
        value, W_bar = self.criterion(self.matrix(quintics))
        bars = [np.zeros_like(x) for x in (quintics.q, quintics.v, quintics.u)]
        p = len(self.robot.parameters)
        if self.regressor == 'energy':
            h_bar = np.zeros((self.rows + 1, p))
            h_bar[1:, self.columns] += W_bar
            h_bar[:-1, self.columns] -= W_bar
            bars[0][1:-1], bars[1][1:-1] = energy_regressor_product(
                self.robot, h_bar, quintics.q[1:-1], quintics.v[1:-1])
            return value, bars
        samples = self._samples(quintics)
        full = np.zeros((len(self.rest), len(samples[0]), p))
        full[..., self.columns] = W_bar.reshape(*full.shape[:2], -1)
        for order, bar in enumerate(torque_regressor_product(self.robot, full, *samples)):
            bar = np.moveaxis(bar.reshape(len(quintics.u), len(SAMPLES), -1), 1, 2)
            bars = [x + y for x, y in zip(bars, quintics.product(bar, SAMPLES, order))]
        return value, bars


@dataclass(frozen=True)
class Balanced:
    """λ₁·criterion + λ₂·S (eq. 18), with the S of ``smooth_equilibrium``."""

    criterion: Criterion
    factor: float
    equilibrium_factor: float

    def __call__(self, W: np.ndarray) -> Value:
        """Return value and gradient of the sum."""
        value, W_bar = self.criterion(W)
        if not self.equilibrium_factor:
            return value, W_bar
        S, S_bar = smooth_equilibrium(W)
        return (self.factor * value + self.equilibrium_factor * S,
                self.factor * W_bar + self.equilibrium_factor * S_bar)


def smooth_equilibrium(W: np.ndarray) -> Value:
    """
    Return S in p-norms of the entries and of their inverses, never below S, and its gradient.

    S itself depends on two entries only, too few for a descent to make progress.
    """
    size = np.abs(W)
    live = size > np.finfo(float).eps * size.max()
    high, low = size.max(), size[live].min()
    inverse = np.divide(1, size, out=np.zeros_like(size), where=live)
    large, small = np.where(live, size / high, 0)**_P, (low * inverse)**_P
    value = high / low * (large.sum() * small.sum())**(1 / _P)
    slope = value * (large / large.sum() - small / small.sum()) * inverse
    return float(value), slope * np.sign(W)


def exceeded(quintics: Quintics, limits: Limits,
             tightening: float) -> tuple[float, list[np.ndarray]]:
    """Return the squares of what exceeds the limits, relative to them, and the gradient."""
    centre = (limits.lower + limits.upper) / 2
    sizes = ((limits.upper - limits.lower) / 2, limits.velocity, limits.acceleration)
    total = 0.0
    bars = [np.zeros_like(x) for x in (quintics.q, quintics.v, quintics.u)]
    for order, size in enumerate(sizes):
        s = quintics.extrema(order)
        middle = centre[:, None] if order == 0 else 0.0
        relative = (quintics.value(s, order) - middle) / size[:, None]
        excess = np.maximum(np.abs(relative) - (1 - tightening), 0)
        total += np.sum(excess**2)
        bar = 2 * excess * np.sign(relative) / size[:, None]
        bars = [x + y for x, y in zip(bars, quintics.product(bar, s, order))]
    return total, bars
