"""
Points of polynomial trajectories, optimised by exact gradients (paper 000, section 4).

The rows are energy differences between neighbouring points, so every point is used twice: r + 1
points give r rows, without accelerations. They show what stores energy, so friction must be small
or known. Or the rows are torques along the motion, drive terms included; at the points themselves
accelerations are zero, which hides what only accelerations show, so each interval is sampled.

The paper checks positions between the points afterwards, and starts again with smaller limits
where they are violated. Here durations are variables as well, and what the quintics exceed, known
exactly with its gradient, is charged for: lightly at first, so that the points may find their
order, then so heavily that it vanishes. If some is left, limits are tightened and it is redone.
"""

from dataclasses import dataclass, replace
import logging
from time import process_time

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import ConfigError, did_you_mean, ExcitationError, InfeasibleExcitation
from robident_ros.excitation.criteria import cond, Criterion, equilibrium, normalised, Scaled
from robident_ros.excitation.criteria import smooth, Weighted
from robident_ros.excitation.limits import motion_limits
from robident_ros.excitation.polynomial import is_within, join, margins, PolynomialTrajectory
from robident_ros.excitation.quintic import Quintics, shortest_durations
from robident_ros.model.base import base_parameters
from robident_ros.model.regressor import energy_regressor, energy_regressor_product, stack
from robident_ros.model.regressor import torque_regressor, torque_regressor_product
from robident_ros.model.robot import Limits, Robot

log = logging.getLogger(__name__)

REGRESSORS = ('energy', 'torque')
# Where torques are sampled in each interval; the accelerations of quintics are largest near 1/5.
SAMPLES = np.array([0.0, 0.2, 0.5, 0.8])
# What exceeding a limit by all of its size costs, beside the logarithm of the criterion.
SOFT, FIRM, HARD = 0.1, 10.0, 1e3
# Parts of the limits that are kept free, so that small charges mean none; tried in this order.
TIGHTENINGS = (1e-3, 1e-2, 0.05, 0.1, 0.2)
ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class PointsDesign:
    """A polynomial trajectory with what it is worth; ``W`` are the rows it was designed for."""

    trajectory: PolynomialTrajectory
    names: tuple[str, ...]
    W: np.ndarray
    margins: dict[str, np.ndarray]
    history: tuple[float, ...]
    evaluations: int
    cpu_seconds: float

    @property
    def cond(self) -> float:
        """Condition number of the rows."""
        return cond(self.W)[0]

    @property
    def scaled_cond(self) -> float:
        """Condition number of the rows with columns of length one."""
        return cond(normalised(self.W))[0]

    @property
    def equilibrium(self) -> float:
        """S, the largest over the smallest entry of the rows."""
        return equilibrium(self.W)[0]


def design_points(robot: Robot, rows: int | None = None, *, regressor: str = 'energy',
                  factor: float = 1.0, equilibrium_factor: float = 0.0,
                  scale: np.ndarray | float = 1.0, limits: Limits | None = None,
                  rest: np.ndarray | None = None, starts: int = 5, seed: int = 0,
                  budget: float = np.inf) -> PointsDesign:
    """
    Design a polynomial trajectory that makes base parameters most identifiable.

    :param rows: intervals between optimised points; default: twice the base parameters, as the
        paper recommends, for energies, and as many for torques.
    :param regressor: 'energy' or 'torque'.
    :param factor: λ₁ of the condition number; ``equilibrium_factor`` λ₂ of S (eq. 18).
    :param scale: a-priori sizes of the base parameters, to count relative errors.
    :param limits: finite limits to keep; default: those of the robot.
    :param rest: position where it starts and ends; default: the middle of the limits.
    :param starts: random starts that are compared before the best is finished.
    :param budget: seconds of CPU after which no further start is made.
    """
    limits = motion_limits(robot) if limits is None else limits
    if regressor not in REGRESSORS:
        raise ConfigError(f'excitation: regressor: unknown {regressor!r}, '
                          + did_you_mean(regressor, REGRESSORS))
    base = base_parameters(robot, 'dh' if regressor == 'energy' else 'd')
    b = len(base.kept)
    rows = (2 * b if regressor == 'energy' else b) if rows is None else rows
    if regressor == 'energy' and rows < b:
        raise ExcitationError(f'excitation: {rows} rows cannot show {b} base parameters of '
                              f'{robot.name}; give at least {b}')
    rest = (limits.lower + limits.upper) / 2 if rest is None else np.asarray(rest, dtype=float)
    _check_rest(robot, rest, limits)
    value = Weighted(smooth, factor, equilibrium_factor)
    problem = _Problem(robot, base.kept, regressor, limits, rest, rows, Scaled(value, scale))
    return _search(problem, base.names, max(starts, 1), np.random.default_rng(seed), budget)


def _check_rest(robot: Robot, rest: np.ndarray, limits: Limits) -> None:
    for name, q, lower, upper in zip(robot.joint_names, rest, limits.lower, limits.upper):
        if not lower <= q <= upper:
            raise ExcitationError(f'excitation: rest position of joint {name!r} is {q:g}, '
                                  f'outside its limits {lower:g} to {upper:g}')


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is minimised: of points and durations, the criterion and what limits are exceeded."""

    robot: Robot
    columns: np.ndarray
    regressor: str
    limits: Limits
    rest: np.ndarray
    rows: int
    criterion: Criterion
    weight: float = SOFT
    tightening: float = TIGHTENINGS[0]

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
        charge, charge_bars = _exceeded(quintics, self.limits, self.tightening)
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


def _exceeded(quintics: Quintics, limits: Limits,
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


def _search(problem: _Problem, names: tuple[str, ...], starts: int, rng: np.random.Generator,
            budget: float) -> PointsDesign:
    """Compare starts under soft limits, then finish the best; if it fails, the next."""
    began, evaluations, found, history = process_time(), 0, [], []
    for start in range(starts):
        x, value, count = _minimise(problem, _random_start(problem, rng))
        evaluations += count
        found.append((value, start, x))
        log.info('start %d of %d: log of the criterion %.3f, %.1f s', start + 1, starts, value,
                 process_time() - began)
        if process_time() - began > budget:
            break
    for value, _, x in sorted(found, key=lambda item: item[:2]):
        history.append(float(value))
        trajectory, count = _finish(problem, x)
        evaluations += count
        if trajectory is not None:
            quintics = trajectory.quintics
            return PointsDesign(trajectory, names, read_only(problem.matrix(quintics)),
                                margins(quintics, problem.limits), tuple(history), evaluations,
                                process_time() - began)
    raise _infeasible(problem, x)


def _minimise(problem: _Problem, x: np.ndarray) -> tuple[np.ndarray, float, int]:
    from scipy.optimize import minimize
    result = minimize(problem, x, jac=True, method='L-BFGS-B', bounds=problem.bounds(),
                      options={'maxiter': ITERATIONS, 'maxfun': 4 * ITERATIONS, 'maxcor': 20})
    return result.x, float(result.fun), result.nfev


def _random_start(problem: _Problem, rng: np.random.Generator) -> np.ndarray:
    """Return random points, each followed by the nearest one that is left."""
    limits, shape = problem.limits, (problem.rows + 1, len(problem.rest))
    q = rng.uniform(limits.lower, limits.upper, shape)
    v = rng.uniform(-limits.velocity, limits.velocity, shape)
    order, left = [], list(range(len(q)))
    position = problem.rest
    while left:
        distance = np.abs((q[left] - position) / limits.velocity).max(axis=1)
        order.append(left.pop(int(np.argmin(distance))))
        position = q[order[-1]]
    x = np.concatenate([q[order].ravel(), v[order].ravel(), np.zeros(problem.rows + 2)])
    return _with_shortest_durations(problem, x)


def _with_shortest_durations(problem: _Problem, x: np.ndarray) -> np.ndarray:
    quintics = problem.unpack(x)
    u = shortest_durations(quintics.q, quintics.v, problem.limits.velocity,
                           problem.limits.acceleration)
    return np.concatenate([x[:-len(u)], np.log(u)])


def _finish(problem: _Problem, x: np.ndarray) -> tuple[PolynomialTrajectory | None, int]:
    """Make a feasible trajectory: firm limits, then hard ones, tightened until they are met."""
    x, _, evaluations = _minimise(replace(problem, weight=FIRM), x)
    for tightening in TIGHTENINGS:
        x, _, count = _minimise(replace(problem, weight=HARD, tightening=tightening), x)
        evaluations += count
        # Shorter durations are first choice; where torques count, they change the criterion.
        choices = [join(problem.robot.joint_names, quintics.q, quintics.v, problem.limits,
                        quintics.u)
                   for quintics in map(problem.unpack, (_with_shortest_durations(problem, x), x))]
        feasible = [choice for choice in choices if is_within(
            margins(choice.quintics, problem.limits), problem.limits)]
        if feasible:
            return min(feasible, key=lambda choice: problem.criterion(
                problem.matrix(choice.quintics))[0]), evaluations
    return None, evaluations


def _infeasible(problem: _Problem, x: np.ndarray) -> InfeasibleExcitation:
    found = margins(problem.unpack(x), problem.limits)
    key, worst = min(found.items(), key=lambda item: item[1].min())
    joint = problem.robot.joint_names[int(worst.argmin())]
    return InfeasibleExcitation(
        f'{problem.robot.name}: no points found whose motion stays within the limits: {key} of '
        f'joint {joint!r} is exceeded by {-worst.min():.3g}; use more starts or wider limits')
