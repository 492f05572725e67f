"""
Physical consistency: which links could be made of matter.

A link is consistent when its pseudo-inertia, the 4×4 matrix of the second moments of its mass
distribution, is positive definite. That says at once that the mass is positive, the inertia at
the centre of mass positive definite (paper 003, eq. 36) and the triangle inequalities hold.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.model.parameters import M, MX, MZ, symmetric, to_inertial

# Eigenvalues below this fraction of the largest one are round-off, not a defect.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class LinkVerdict:
    """
    What is known of one link.

    ``semidefinite``: on the boundary, as a point mass or a thin rod is; it passes, but a solver
    that needs an interior will not like it. ``reason`` is empty for a consistent link.
    """

    joint: str
    mass: float
    inertia_eigenvalues: np.ndarray
    pseudo_eigenvalues: np.ndarray
    consistent: bool
    semidefinite: bool
    reason: str


def pseudo_inertia(parameters: np.ndarray) -> np.ndarray:
    """Return the 4×4 pseudo-inertia of ten parameters: [[Σ, h], [hᵀ, m]], Σ = tr(I)/2·1 - I."""
    inertia = symmetric(parameters)
    J = np.empty((4, 4))
    J[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = parameters[MX:MZ + 1]
    J[3, 3] = parameters[M]
    return J


def from_pseudo_inertia(J: np.ndarray) -> np.ndarray:
    """Return the ten parameters of a 4×4 pseudo-inertia."""
    inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.concatenate([inertia[np.triu_indices(3)], J[:3, 3], [J[3, 3]]])


def is_positive_definite(matrix: np.ndarray, tolerance: float = TOLERANCE) -> bool:
    """Try Cholesky's factorisation with a tolerance relative to the largest diagonal entry."""
    margin = tolerance * np.abs(np.diag(matrix)).max(initial=0)
    try:
        np.linalg.cholesky(matrix - margin * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


def judge_link(joint: str, parameters: np.ndarray, tolerance: float = TOLERANCE) -> LinkVerdict:
    """Say whether ten parameters can be those of a body, and why not."""
    mass, _, inertia = to_inertial(parameters)
    # Scale lengths so that the mass and the second moments have one magnitude.
    length = np.sqrt(max(np.trace(inertia), 0) / mass) if mass > 0 else 1.0
    scale = np.diag([1 / length] * 3 + [1]) if length else np.eye(4)
    scaled = np.linalg.eigvalsh(scale @ pseudo_inertia(parameters) @ scale)
    margin = tolerance * max(abs(scaled[-1]), abs(scaled[0]))
    eigenvalues = np.linalg.eigvalsh(inertia)
    consistent = mass > 0 and bool(scaled[0] >= -margin)
    return LinkVerdict(
        joint, mass, eigenvalues, np.linalg.eigvalsh(pseudo_inertia(parameters)), consistent,
        semidefinite=consistent and bool(scaled[0] <= margin),
        reason='' if consistent else _reason(mass, eigenvalues, tolerance))


def _reason(mass: float, eigenvalues: np.ndarray, tolerance: float) -> str:
    if mass <= 0:
        return f'mass {mass:.3g} kg is not positive'
    if eigenvalues[0] < -tolerance * abs(eigenvalues).max():
        return (f'inertia at the centre of mass is not positive definite '
                f'(eigenvalue {eigenvalues[0]:.3g} kg·m²)')
    small, middle, large = eigenvalues
    return (f'triangle inequality fails: principal inertias '
            f'{small:.3g} + {middle:.3g} < {large:.3g} kg·m²')
