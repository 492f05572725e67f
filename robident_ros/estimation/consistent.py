"""
Physically consistent standard parameters: bodies that fit the torques, near the URDF's bodies.

Every pseudo-inertia is positive definite, rotor inertia and friction are not negative. The data
leave many directions of the standard parameters open, and a bare fit lets masses run away to
hundreds of kilograms there; the log-det divergence from the a-priori links, whitened by them,
keeps those directions near the URDF. Its weight follows from the data (discrepancy principle):
as large as possible while the residual's norm stays within ``budget`` of the best consistent
fit. So better data say more, and exact data are reproduced.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import SolverFailed
from robident_ros.estimation.cones import ConeProgramme, to_matrix
from robident_ros.estimation.prior import Prior
from robident_ros.estimation.problem import Problem
from robident_ros.model.base import BaseParameters
from robident_ros.model.parameters import M, MX
from robident_ros.model.physical import from_pseudo_inertia, pseudo_inertia
from robident_ros.model.robot import Robot

NOT_NEGATIVE = ('Ia', 'Fv', 'Fc')
MAY_BE_ZERO = ('XY', 'XZ', 'YZ', 'MX', 'MY', 'MZ', 'Ia', 'Fv', 'Fc', 'off')
# Weights of the prior tried, in units of the residual variance. The lowest stands for "none".
LIGHTEST, HEAVIEST = 1e-3, 1e6
# Bounds on mass that raise the residual by this share are contradicted by the data.
CONTRADICTION = 0.02
EXACT = 1e-4  # residuals below this fraction of the efforts count as if they were this large
SEARCH = 9  # solutions in the search for the weight; each halves its logarithm's interval


# weight of the prior → cost and parameters
Fit = Callable[[float], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Consistent:
    """
    Consistent standard parameters.

    ``weight`` is that of the prior, ``loss`` the relative rise of the residual's norm over the
    unconstrained fit, ``divergence`` each link's distance from its a-priori self; ``bounded``
    says whether the bounds on mass were kept.
    """

    theta: np.ndarray
    weight: float
    loss: float
    divergence: np.ndarray
    bounded: bool
    prior: Prior


@dataclass(frozen=True)
class Bounds:
    """Optional bounds: mass relative to the a-priori mass, centre of mass in the joint frame."""

    mass: tuple[float, float] | None = None
    com: float | None = None


def estimate_consistent(problem: Problem, robot: Robot, base: BaseParameters, prior: Prior,
                        budget: float = 0.005, weight: float | None = None,
                        bounds: Bounds = Bounds(), trusted: bool = False) -> Consistent:
    """
    Estimate consistent standard parameters.

    :param problem: in all base parameters of ``base``.
    :param budget: rise of the residual's norm that the prior may cost, over the consistent fit
        that it influences least.
    :param weight: of the prior; default: the largest within the budget.
    :param trusted: whether the bounds on mass are kept even if the data contradict them.
    """
    T = _whitening(robot, prior)
    unconstrained = problem.cost(problem.solve())
    # Where data are all but exact, the prior must still be seen by the solver.
    variance = max(unconstrained, EXACT**2 * float(problem.y @ problem.y)) / problem.rows

    def fitter(bounds: Bounds) -> Fit:
        programme = _programme(problem, robot, base, T, prior, bounds)

        def fit(w: float) -> tuple[float, np.ndarray]:
            theta = T @ programme.solve(w * variance)
            return problem.cost(base.K @ theta), theta
        return fit

    fit, bounded = (fitter(bounds), True) if trusted else _bounded(fitter, bounds)
    if weight is None:
        weight, cost, theta = _heaviest_within(fit, budget)
    else:
        cost, theta = fit(weight)
    theta = _inside(theta, robot)
    loss = np.sqrt(cost / unconstrained) - 1 if unconstrained > 0 else 0.0
    return Consistent(read_only(theta), float(weight), float(loss),
                      read_only(_divergences(robot, theta, prior)), bounded, prior)


def _bounded(fitter: Callable[[Bounds], Fit], bounds: Bounds) -> tuple[Fit, bool]:
    """
    Return the bounded fit, or the one without bounds on mass where the data contradict them.

    A URDF may have masses that nobody ever weighed. Bounds that cost this much are wrong.
    """
    if bounds.mass is None:
        return fitter(bounds), False
    with_bounds, without = fitter(bounds), fitter(replace(bounds, mass=None))
    best = without(LIGHTEST)[0]
    try:
        if with_bounds(LIGHTEST)[0] > (1 + CONTRADICTION)**2 * best:
            return without, False
    except SolverFailed:  # as good as contradicted
        return without, False
    return with_bounds, True


def _heaviest_within(fit: Fit, budget: float) -> tuple[float, float, np.ndarray]:
    """Return the largest weight whose residual is within the budget, by bisection."""
    best, theta = fit(LIGHTEST)
    bound = (1 + budget)**2 * best
    found = (LIGHTEST, best, theta)
    low, high = np.log(LIGHTEST), np.log(HEAVIEST)
    for _ in range(SEARCH):
        middle = (low + high) / 2
        try:
            cost, theta = fit(np.exp(middle))
        except SolverFailed:
            cost = np.inf
        if cost <= bound:
            low, found = middle, (float(np.exp(middle)), cost, theta)
        else:
            high = middle
    return found


def _whitening(robot: Robot, prior: Prior) -> np.ndarray:
    """Return T with θ = T·x: x holds ten entries of P̃ for each link, then drive parameters."""
    links, drives = len(robot.link_columns), len(robot.drive_columns)
    T = np.zeros((len(robot.parameters), 10 * links + drives))
    for link, column in enumerate(robot.link_columns):
        L = np.linalg.cholesky(pseudo_inertia(prior.theta[column:column + 10]))
        for k in range(10):
            entry = to_matrix(np.eye(10)[k])
            T[column:column + 10, 10 * link + k] = from_pseudo_inertia(L @ entry @ L.T)
    T[robot.drive_columns, 10 * links + np.arange(drives)] = 1
    return T


def _programme(problem: Problem, robot: Robot, base: BaseParameters, T: np.ndarray,
               prior: Prior, bounds: Bounds) -> ConeProgramme:
    G, h = _inequalities(robot, prior, bounds)
    return ConeProgramme(problem.A @ base.K @ T, problem.y, len(robot.link_columns), G @ T, h,
                         _known_zero(robot) @ T)


def _known_zero(robot: Robot) -> np.ndarray:
    """Return E·θ = 0 for what is known to be zero, as far as a body can have it so."""
    rows = [row for row, parameter in zip(np.eye(len(robot.parameters)), robot.parameters)
            if parameter.name in robot.config.model.zero and parameter.symbol in MAY_BE_ZERO]
    return np.array(rows).reshape(-1, len(robot.parameters))


def _inequalities(robot: Robot, prior: Prior, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """Return G·θ ≥ h: drive terms not negative, and the optional bounds."""
    unit = np.eye(len(robot.parameters))
    rows = [(unit[i], 0.0) for i, parameter in enumerate(robot.parameters)
            if parameter.symbol in NOT_NEGATIVE]
    for joint, column in zip(robot.tree_joint_names, robot.link_columns):
        mass = unit[column + M]
        if bounds.mass is not None and joint not in prior.invented:
            low, high = np.array(bounds.mass) * prior.theta[column + M]
            rows += [(mass, low), (-mass, -high)]
        if bounds.com is not None:
            for axis in range(3):
                first = unit[column + MX + axis]
                rows += [(bounds.com * mass - first, 0.0), (bounds.com * mass + first, 0.0)]
    if not rows:
        return np.zeros((1, len(unit))), np.full(1, -1.0)
    return np.array([row for row, _ in rows]), np.array([bound for _, bound in rows])


def _inside(theta: np.ndarray, robot: Robot) -> np.ndarray:
    """Remove the solver's round-off: what is just below zero is zero."""
    theta = np.array(theta)
    for i, parameter in enumerate(robot.parameters):
        if parameter.symbol in NOT_NEGATIVE:
            theta[i] = max(theta[i], 0.0)
    return theta


def _divergences(robot: Robot, theta: np.ndarray, prior: Prior) -> np.ndarray:
    """Return tr P̃ − log det P̃ − 4 of each link."""
    values = []
    for column in robot.link_columns:
        own, apriori = (pseudo_inertia(t[column:column + 10]) for t in (theta, prior.theta))
        whitened = np.linalg.solve(apriori, own)
        values.append(np.trace(whitened) - np.linalg.slogdet(whitened)[1] - 4)
    return np.array(values)
