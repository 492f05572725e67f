"""
All estimators in a row, on compressed data: what takes the same time for any recording.

The order is that of paper 003: base parameters, then standard parameters near the a-priori
ones, and the physically consistent estimate that the identified URDF is made of.
"""

from dataclasses import dataclass, replace

import numpy as np
from robident_ros.config import EstimatorOptions
from robident_ros.errors import RankDeficient, SolverFailed
from robident_ros.estimation.consistent import Bounds, Consistent, estimate_consistent
from robident_ros.estimation.essential import Essential, essential_parameters
from robident_ros.estimation.information import SquareRootInformation
from robident_ros.estimation.least_squares import joint_deviations, LeastSquares, solve_problem
from robident_ros.estimation.prior import Prior
from robident_ros.estimation.problem import column_norms, Problem, weighted_problem
from robident_ros.estimation.standard import closest_to, essential_closest_to
from robident_ros.estimation.standard import reference_parameters
from robident_ros.model.base import BaseParameters
from robident_ros.model.robot import Robot

RANK = 1e-6  # smallest pivot over the largest, columns scaled, that still says something
OWN_MOTION = ('Ia', 'Fv', 'Fc')  # what only the motion of the drive itself shows


@dataclass(frozen=True, eq=False)
class Setting:
    """
    What stays the same however the data are split.

    ``still``: joints that do not move; ``silent``: joints whose efforts say nothing;
    ``noise``: measured deviations of the efforts, where known.
    """

    robot: Robot
    base: BaseParameters
    prior: Prior
    options: EstimatorOptions
    still: np.ndarray
    silent: np.ndarray
    noise: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class BaseSolution:
    """
    Base parameters: ``free`` were estimated, the others are held at their a-priori values.

    ``problem`` is in all base parameters, ``estimate`` in the free ones.
    """

    problem: Problem
    estimate: LeastSquares
    free: np.ndarray
    beta: np.ndarray

    @property
    def std(self) -> np.ndarray:
        """Return σ of all base parameters, infinite where they are held."""
        std = np.full(len(self.beta), np.inf)
        std[self.free] = self.estimate.std
        return std


def solve_base(information: SquareRootInformation, setting: Setting) -> BaseSolution:
    """Estimate what the data show of the base parameters."""
    options = setting.options
    deviations = joint_deviations(information, options.weighting, setting.noise)
    deviations = np.where(setting.silent, np.inf, deviations)
    problem = weighted_problem(information, deviations)
    apriori = setting.base.K @ setting.robot.theta
    free = _visible(problem, setting)
    if problem.rows <= len(free):
        raise RankDeficient(f'{problem.rows} equations for {len(free)} parameters; record longer, '
                            'or leave drive terms out')
    estimate = solve_problem(problem.restrict(free, apriori), deviations,
                             known_noise=options.weighting == 'noise')
    beta = np.array(apriori)
    beta[free] = estimate.beta
    return BaseSolution(problem, estimate, free, beta)


def _visible(problem: Problem, setting: Setting) -> np.ndarray:
    """Return the base parameters that the data determine."""
    from scipy.linalg import qr
    still = {name for name, flag in zip(setting.robot.joint_names, setting.still) if flag}
    parameters = [setting.robot.parameters[column] for column in setting.base.kept]
    candidates = np.array([i for i, parameter in enumerate(parameters) if not
                           (parameter.symbol in OWN_MOTION and parameter.joint in still)])
    norms = np.linalg.norm(problem.A, axis=0)
    candidates = candidates[norms[candidates] > RANK**2 * norms.max(initial=0)]
    if not candidates.size:
        raise RankDeficient('the recording shows none of the base parameters; does the robot '
                            'move, and are efforts measured?')
    A = problem.A[:, candidates] / column_norms(problem.A[:, candidates])
    R, order = qr(A, mode='r', pivoting=True)
    pivots = np.abs(np.diag(R))
    return np.sort(candidates[order[:int(np.sum(pivots > RANK * pivots[0]))]])


def solve_consistent(solution: BaseSolution, setting: Setting,
                     like: Consistent | None = None) -> Consistent:
    """
    Estimate the consistent standard parameters.

    :param like: an estimate whose weight of the prior and bounds are to be taken as they are.
    """
    options = setting.options
    bounds, weight = Bounds(options.mass_bounds, options.com_bound), options.prior_weight
    if like is not None:
        bounds, weight = replace(bounds, mass=bounds.mass if like.bounded else None), like.weight
    return estimate_consistent(solution.problem, setting.robot, setting.base, setting.prior,
                               options.prior_budget, weight, bounds, trusted=like is not None)


def consistent_or_prior(solution: BaseSolution, setting: Setting) -> tuple[Consistent, list[str]]:
    """Return the consistent estimate; where no solver finds it the a-priori one, which is said."""
    try:
        return solve_consistent(solution, setting), []
    except SolverFailed as error:
        cost, best = (solution.problem.cost(beta) for beta in
                      (setting.base.K @ setting.prior.theta, solution.beta))
        loss = float(np.sqrt(cost / best) - 1) if best > 0 else 0.0
        found = Consistent(setting.prior.theta, np.inf, loss,
                           np.zeros(len(setting.robot.link_columns)), False, setting.prior)
        return found, [f'there is no consistent estimate, the a-priori bodies stand in for it in '
                       f'every file: {error}']


@dataclass(frozen=True, eq=False)
class NearSolution:
    """Essential parameters, and standard parameters near the a-priori ones."""

    essential: Essential
    essential_beta: np.ndarray
    closest: np.ndarray
    essential_closest: np.ndarray


def solve_near(solution: BaseSolution, setting: Setting, correlation: float) -> NearSolution:
    """
    Find the essential parameters and the standard ones closest to the a-priori ones.

    :param correlation: number of samples that say as much as one independent one.
    """
    base, robot, options = setting.base, setting.robot, setting.options
    essential = essential_parameters(solution.estimate, options.essential_std,
                                     options.essential_level, correlation,
                                     options.essential_loss)
    # What is held is no data: it stays out of the essential set but keeps its value.
    values = np.zeros(len(solution.beta))
    values[solution.free[essential.kept]] = essential.estimate.beta
    held = np.setdiff1d(np.arange(len(values)), solution.free)
    beta = np.array(values)
    beta[held] = solution.beta[held]
    reference = reference_parameters(robot, base, solution.estimate)
    return NearSolution(essential, beta, closest_to(reference, solution.problem, base),
                        essential_closest_to(reference, solution.problem, base, values))
