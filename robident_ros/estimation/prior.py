"""
The a-priori links that a consistent estimate stays near: the URDF's, made usable.

A link whose inertial is no body (as in some published robots) is replaced by the nearest one
that is; a link without inertial by a plausible solid. Both are said, by joint.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.model.parameters import from_inertial, M
from robident_ros.model.physical import from_pseudo_inertia, pseudo_inertia
from robident_ros.model.robot import Robot

# Smallest eigenvalue of a prior's pseudo-inertia over the largest, lengths scaled to the body:
# a real link is thinner than a hundredth of its length in no direction.
THINNEST = 1e-3
SMALLEST_RADIUS = 0.05  # [m] of the solid that stands in for a missing inertial


@dataclass(frozen=True, eq=False)
class Prior:
    """
    A-priori standard parameters of which every link is a body.

    ``mended``: joints whose links were no bodies; ``invented``: joints whose links had no mass.
    """

    theta: np.ndarray
    mended: tuple[str, ...]
    invented: tuple[str, ...]


def make_prior(robot: Robot) -> Prior:
    """Return the URDF's parameters with every link made a body."""
    theta, mended, invented = np.array(robot.theta), [], []
    masses = [theta[c + M] for c in robot.link_columns if theta[c + M] > 0]
    typical = float(np.median(masses)) if masses else 1.0
    for link, (joint, column) in enumerate(zip(robot.tree_joint_names, robot.link_columns)):
        ten = theta[column:column + 10]
        if ten[M] <= 0 or not np.any(ten[:6]):
            mass = ten[M] if ten[M] > 0 else typical
            ten[:] = _plausible_solid(robot, link, mass)
            invented.append(joint)
            continue
        nearest = nearest_body(ten)
        if not np.array_equal(nearest, ten):
            mended.append(joint)
            ten[:] = nearest
    return Prior(read_only(theta), tuple(mended), tuple(invented))


def nearest_body(parameters: np.ndarray) -> np.ndarray:
    """
    Return ten parameters with a pseudo-inertia that is positive definite with room to spare.

    Eigenvalues are lifted in units where the mass and the second moments have one magnitude:
    the projection in the Frobenius norm there. A sound link is returned as it is.
    """
    P = pseudo_inertia(parameters)
    length = np.sqrt(np.abs(np.diag(P)[:3]).sum() / P[3, 3])
    scale = np.array([1 / length] * 3 + [1.0])
    values, vectors = np.linalg.eigh(P * np.outer(scale, scale))
    least = THINNEST * values[-1] * 1e-3
    if values[0] >= least:
        return np.array(parameters)
    lifted = (vectors * np.maximum(values, THINNEST * values[-1])) @ vectors.T
    return from_pseudo_inertia(lifted / np.outer(scale, scale))


def _plausible_solid(robot: Robot, link: int, mass: float) -> np.ndarray:
    """
    Return a solid sphere half-way to the next joints, reaching from this joint to them.

    The last link, which leads nowhere, sits at its joint.
    """
    children = [placement.translation for placement, parent in
                zip(list(robot.tree.jointPlacements)[1:], list(robot.tree.parents)[1:])
                if parent == link + 1]
    centre = np.mean(children, axis=0) / 2 if children else np.zeros(3)
    radius = max(float(np.linalg.norm(centre)), SMALLEST_RADIUS)
    return from_inertial(mass, centre, 0.4 * mass * radius**2 * np.eye(3))
