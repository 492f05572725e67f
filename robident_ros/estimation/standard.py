"""
Standard parameters closest to a-priori ones (paper 003, section IV).

Of all standard parameters that fit the data best, eq. (30) takes those nearest to χ_ref. Eq. (32)
changes only the essential parameters, weighted by their values; it equals the least squares of
the residual torque on the essential columns. Neither promises bodies that can exist: judge them.
"""

import numpy as np
from robident_ros.estimation.least_squares import LeastSquares
from robident_ros.estimation.problem import Problem
from robident_ros.model.base import BaseParameters
from robident_ros.model.robot import Robot

DRIVE = ('Ia', 'Fv', 'Fc', 'off')
# Singular values below this fraction of the largest belong to directions without effect.
RANK = 1e-10


def reference_parameters(robot: Robot, base: BaseParameters, first: LeastSquares,
                         apriori: np.ndarray | None = None) -> np.ndarray:
    """
    Return χ_ref: the a-priori links, with the drives of a first identification.

    A URDF says little of friction and nothing of rotors, so the paper takes both from the base
    estimate. A rotor inertia that is regrouped with a link's keeps its configured value.

    :param apriori: standard parameters; default: those of the URDF and the configuration.
    """
    reference = np.array(robot.theta if apriori is None else apriori)
    estimated = dict(zip(first.names, first.beta))
    regrouped_with = base.K[:, base.regrouped]
    for row, column in enumerate(base.kept):
        parameter = robot.parameters[column]
        if parameter.symbol in DRIVE and parameter.name in estimated:
            others = regrouped_with[row] @ reference[base.regrouped]
            reference[column] = estimated[parameter.name] - others
    return reference


def closest_to(reference: np.ndarray, problem: Problem, base: BaseParameters) -> np.ndarray:
    """
    Return the best standard parameters nearest to the reference, eq. (30).

    :param problem: in all base parameters of ``base``.
    """
    W = problem.A @ base.K
    return reference + _pseudo_inverse(W, len(base.kept)) @ (problem.y - W @ reference)


def essential_closest_to(reference: np.ndarray, problem: Problem, base: BaseParameters,
                         essential: np.ndarray) -> np.ndarray:
    """
    Return the reference with its essential parameters corrected, eq. (32).

    :param essential: values of all base parameters, zero where they are not essential.
    """
    W = problem.A @ base.K
    weights = base.to_standard(essential)  # diag(χ_e)
    weighted = W * weights
    correction = _pseudo_inverse(weighted, np.count_nonzero(weights))
    return reference + weights * (correction @ (problem.y - W @ reference))


def _pseudo_inverse(W: np.ndarray, rank: int) -> np.ndarray:
    """Return V₁·Σ₁⁻¹·U₁ᵀ of the first singular values."""
    U, sigma, Vt = np.linalg.svd(W, full_matrices=False)
    rank = min(rank, int(np.sum(sigma > RANK * sigma.max(initial=0))))
    return Vt[:rank].T / sigma[:rank] @ U[:, :rank].T


def relative_distance(theta: np.ndarray, reference: np.ndarray) -> float:
    """Return ‖χ − χ_ref‖ / ‖χ_ref‖, as below Table II of paper 003."""
    return float(np.linalg.norm(np.subtract(theta, reference)) / np.linalg.norm(reference))
