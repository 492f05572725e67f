"""
The batched torque regressor of a tree of joints, and its reverse-mode product.

One evaluation gives, for N samples at once, the rows W with τ = W·θ; the product gives the
gradient of Σ W̄ ∘ W with respect to positions, speeds and accelerations, which is all that a
trajectory optimiser needs. Two implementations of the same recursion: numba, when it is
installed, with samples along SIMD lanes; else numpy, with small matrices batched over samples.

Recursion, in frames of the joints (motions are linear part first, then angular)::

    v_i = X_i v_p + S_i q̇_i          a_i = X_i a_p + S_i q̈_i + (v_i × S_i) q̇_i
    s_ij = X_i s_pj,  s_ii = S_i      (axis of ancestor j seen from link i)
    row j of link i's ten columns:    s_ijᵀ B(a_i, v_i)

with gravity as the acceleration −g of the root, and B the 6×10 matrix that turns inertial
parameters into the link's inertial wrench.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pinocchio as pin
from robident_ros.arrays import read_only


@dataclass(frozen=True, eq=False)
class Kinematics:
    """
    Constant geometry of a tree of n one-coordinate joints, parents first.

    ``rotation``, ``translation``: placement of each joint in its parent at q = 0;
    ``axis``: S, (n, 6); ``parent``: -1 for the root.
    """

    parent: np.ndarray
    prismatic: np.ndarray
    axis: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    gravity: np.ndarray

    def ancestors(self, joint: int) -> np.ndarray:
        """Return the joints from the root to ``joint``, itself included."""
        path = []
        while joint >= 0:
            path.append(joint)
            joint = self.parent[joint]
        return np.array(path[::-1])


def kinematics_of(model: pin.Model) -> Kinematics:
    """Take the geometry out of a Pinocchio model whose joints have one coordinate each."""
    axes = []
    for joint in list(model.joints)[1:]:
        data = joint.createData()
        joint.calc(data, np.zeros(model.nq), np.zeros(model.nv))
        axes.append(np.asarray(data.S).ravel())
    axes = np.array(axes)
    placements = list(model.jointPlacements)[1:]
    return Kinematics(
        parent=np.array(list(model.parents)[1:], dtype=np.int64) - 1,
        prismatic=np.linalg.norm(axes[:, 3:], axis=1) < 0.5,
        axis=read_only(axes),
        rotation=read_only([placement.rotation for placement in placements]),
        translation=read_only([placement.translation for placement in placements]),
        gravity=read_only(model.gravity.linear))


DEFAULT = 'numba' if find_spec('numba') else 'numpy'


def implementation(name: str | None = None) -> ModuleType:
    """Return the 'numba' or the 'numpy' implementation; by default the fastest there is."""
    if (name or DEFAULT) == 'numba':
        from robident_ros.model import kernel_numba
        return kernel_numba
    from robident_ros.model import kernel_numpy
    return kernel_numpy


def fill_regressor(W: np.ndarray, columns: np.ndarray, kinematics: Kinematics, q: np.ndarray,
                   v: np.ndarray, a: np.ndarray, use: str | None = None) -> None:
    """
    Write the torque regressor of a tree.

    :param W: (p, n, N), zero on entry; link i's ten columns are written from ``columns[i]`` on.
    :param q: positions (n, N), with speeds ``v`` and accelerations ``a`` alike.
    :param use: 'numba' or 'numpy'; default: numba when it is installed.
    """
    implementation(use).fill_regressor(W, columns, kinematics, q, v, a)


def regressor_product(W_bar: np.ndarray, columns: np.ndarray, kinematics: Kinematics,
                      q: np.ndarray, v: np.ndarray, a: np.ndarray,
                      use: str | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the gradient of Σ W_bar ∘ W with respect to q, v and a, each (n, N).

    Arguments as for ``fill_regressor``; ``W_bar`` has the shape of W.
    """
    return implementation(use).regressor_product(W_bar, columns, kinematics, q, v, a)
