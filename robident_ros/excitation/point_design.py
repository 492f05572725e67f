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
from robident_ros.excitation.criteria import smooth
from robident_ros.excitation.limits import design_limits
from robident_ros.excitation.point_objective import Balanced, PointProblem
from robident_ros.excitation.polynomial import is_within, join, margins, PolynomialTrajectory
from robident_ros.excitation.polynomial import tightest
from robident_ros.excitation.quintic import shortest_durations
from robident_ros.model.base import base_parameters
from robident_ros.model.robot import Limits, Robot

log = logging.getLogger(__name__)

REGRESSORS = ('energy', 'torque')
# What exceeding a limit by all of its size costs, beside the logarithm of the criterion.
SOFT, FIRM, HARD = 0.1, 10.0, 1e3
# Parts of the limits that are kept free, so that small charges mean none; tried in this order.
TIGHTENINGS = (1e-3, 1e-2, 0.05, 0.1, 0.2)
ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class PointsDesign:
    """
    A polynomial trajectory with what it is worth.

    ``W`` are the rows that it was designed for, ``names`` the base parameters of its columns;
    ``history`` has the criterion of each start under soft limits.
    """

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
    limits = design_limits(robot) if limits is None else limits
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
    problem = PointProblem(robot, base.kept, regressor, limits, rest, rows, Scaled(smooth, scale),
                           SOFT, TIGHTENINGS[0])
    finishing = [Scaled(Balanced(criterion, factor, equilibrium_factor), scale)
                 for criterion in (smooth, cond)]
    return _search(problem, finishing, base.names, max(starts, 1), np.random.default_rng(seed),
                   budget)


def _check_rest(robot: Robot, rest: np.ndarray, limits: Limits) -> None:
    for name, q, lower, upper in zip(robot.joint_names, rest, limits.lower, limits.upper):
        if not lower <= q <= upper:
            raise ExcitationError(f'excitation: rest position of joint {name!r} is {q:g}, '
                                  f'outside its limits {lower:g} to {upper:g}')


def _search(problem: PointProblem, finishing: list[Criterion], names: tuple[str, ...], starts: int,
            rng: np.random.Generator, budget: float) -> PointsDesign:
    """Compare starts under soft limits, then finish the best; if it fails, the next."""
    began, evaluations, found = process_time(), 0, []
    for start in range(starts):
        try:
            x, value, count = _minimise(problem, _random_start(problem, rng))
        except KeyboardInterrupt:
            if not found:
                raise
            break  # go on with the best so far
        evaluations += count
        found.append((value, start, x))
        log.info('start %d of %d: criterion %.4g, %.1f s', start + 1, starts, np.exp(value),
                 process_time() - began)
        if process_time() - began > budget:
            break
    for _, _, x in sorted(found, key=lambda item: item[:2]):
        trajectory, count = _finish(problem, finishing, x)
        evaluations += count
        if trajectory is not None:
            quintics = trajectory.quintics
            return PointsDesign(trajectory, names, read_only(problem.matrix(quintics)),
                                margins(quintics, problem.limits),
                                tuple(float(np.exp(value)) for value, _, _ in found),
                                evaluations, process_time() - began)
    raise _infeasible(problem, x)


def _minimise(problem: PointProblem, x: np.ndarray) -> tuple[np.ndarray, float, int]:
    from scipy.optimize import minimize
    result = minimize(problem, x, jac=True, method='L-BFGS-B', bounds=problem.bounds(),
                      options={'maxiter': ITERATIONS, 'maxfun': 4 * ITERATIONS, 'maxcor': 20})
    return result.x, float(result.fun), result.nfev


def _random_start(problem: PointProblem, rng: np.random.Generator) -> np.ndarray:
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


def _with_shortest_durations(problem: PointProblem, x: np.ndarray) -> np.ndarray:
    quintics = problem.unpack(x)
    u = shortest_durations(quintics.q, quintics.v, problem.limits.velocity,
                           problem.limits.acceleration)
    return np.concatenate([x[:-len(u)], np.log(u)])


def _finish(problem: PointProblem, finishing: list[Criterion],
            x: np.ndarray) -> tuple[PolynomialTrajectory | None, int]:
    """
    Make a feasible trajectory: firm limits, then hard ones, tightened until they are met.

    S joins in here: entries near zero then need small changes only, whereas from the start they
    would hold the points where they happen to be.
    """
    smooth_one, exact = finishing
    x, _, evaluations = _minimise(replace(problem, weight=FIRM, criterion=smooth_one), x)
    for tightening in TIGHTENINGS:
        x, _, count = _minimise(replace(problem, weight=HARD, tightening=tightening,
                                        criterion=exact), x)
        evaluations += count
        # Shorter durations are first choice; where torques count, they change the criterion.
        choices = [join(problem.robot.joint_names, quintics.q, quintics.v, problem.limits,
                        quintics.u)
                   for quintics in map(problem.unpack, (_with_shortest_durations(problem, x), x))]
        feasible = [choice for choice in choices if is_within(
            margins(choice.quintics, problem.limits), problem.limits)]
        if feasible:
            return min(feasible, key=lambda choice: exact(
                problem.matrix(choice.quintics))[0]), evaluations
    return None, evaluations


def _infeasible(problem: PointProblem, x: np.ndarray) -> InfeasibleExcitation:
    found = margins(problem.unpack(x), problem.limits)
    key, joint, relative = tightest(found, problem.limits)
    return InfeasibleExcitation(
        f'{problem.robot.name}: no points found whose motion stays within the limits: {key} of '
        f'joint {problem.robot.joint_names[joint]!r} is exceeded by {-relative:.1%}; use more '
        'starts, wider limits, or a rest position further inside')
