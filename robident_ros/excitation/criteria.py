"""
Criteria: how well a regressor determines its parameters, each with its exact gradient.

A criterion takes a stacked regressor W (rows, b) and returns its value and the gradient W̄ with
respect to every entry of W, which the reverse-mode product of the regressor carries on to the
trajectory. Most are functions φ of A = WᵀW, with W̄ = 2·W·∂φ/∂A.

==============  ==================================================================================
cond            2-norm condition number of W; not smooth where extreme singular values coincide
qr              its estimate |R₁₁ / R_bb| from a QR with column pivoting (paper 000)
frobenius       ‖A‖·‖A⁻¹‖ in the Frobenius norm (paper 000, eq. 21)
smooth          condition number in a p-norm of the eigenvalues: smooth, and never below cond
logdet          -log det(A) / 2b, the D-optimal criterion; its value is relative
equilibrium     S = largest over smallest non-zero |W_ij| (paper 000, eq. 19)
==============  ==================================================================================
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np
from robident_ros.errors import ConfigError, did_you_mean

Value = tuple[float, np.ndarray]
Criterion = Callable[[np.ndarray], Value]

# Large enough for the smooth condition number to be within some percent of the true one.
P_NORM = 8


def cond(W: np.ndarray) -> Value:
    """2-norm condition number."""
    U, sigma, Vt = np.linalg.svd(W, full_matrices=False)
    value = sigma[0] / sigma[-1]
    gradient = (np.outer(U[:, 0], Vt[0]) - value * np.outer(U[:, -1], Vt[-1])) / sigma[-1]
    return float(value), gradient


def qr(W: np.ndarray) -> Value:
    """Estimate of the condition number from QR with column pivoting."""
    from scipy.linalg import qr as pivoted_qr
    order = pivoted_qr(W, mode='r', pivoting=True)[1]
    A = W.T @ W
    # In pivoted order R₁₁² = A₁₁ and R_bb² = 1 / (A⁻¹)_bb, smooth as long as the order holds.
    first, last = order[0], order[-1]
    column = np.linalg.solve(A, np.eye(len(A))[last])
    value = np.sqrt(A[first, first] * column[last])
    C = -np.outer(column, column) * A[first, first]
    C[first, first] += column[last]
    return float(value), W @ C / value


def frobenius(W: np.ndarray) -> Value:
    """Condition number of WᵀW in the Frobenius norm."""
    value, slope, V = _of_eigenvalues(W, lambda lam: _product(
        np.sqrt(np.sum(lam**2)), lam / np.sqrt(np.sum(lam**2)),
        np.sqrt(np.sum(lam**-2.)), -lam**-3. / np.sqrt(np.sum(lam**-2.))))
    return value, 2 * W @ ((V * slope) @ V.T)


def smooth(W: np.ndarray, p: float = P_NORM) -> Value:
    """Condition number in a p-norm of the eigenvalues of WᵀW, square root taken."""
    def phi(lam: np.ndarray) -> tuple[float, np.ndarray]:
        high, low = (lam / lam[-1])**p, (lam[0] / lam)**p
        value = np.sqrt(lam[-1] / lam[0]) * (high.sum() * low.sum())**(0.5 / p)
        return value, value / 2 * (high / high.sum() - low / low.sum()) / lam
    value, slope, V = _of_eigenvalues(W, phi)
    return value, 2 * W @ ((V * slope) @ V.T)


def logdet(W: np.ndarray) -> Value:
    """D-optimal criterion."""
    b = W.shape[1]
    value, slope, V = _of_eigenvalues(
        W, lambda lam: (-np.sum(np.log(lam)) / (2 * b), -1 / (2 * b * lam)))
    return value, 2 * W @ ((V * slope) @ V.T)


def equilibrium(W: np.ndarray) -> Value:
    """Largest over smallest magnitude of the entries that are not zero by structure."""
    size = np.abs(W)
    negligible = size <= np.finfo(float).eps * size.max()
    high = np.unravel_index(size.argmax(), W.shape)
    low = np.unravel_index(np.where(negligible, np.inf, size).argmin(), W.shape)
    value = size[high] / size[low]
    gradient = np.zeros_like(W)
    gradient[high] += np.sign(W[high]) / size[low]
    gradient[low] -= np.sign(W[low]) * value / size[low]
    return float(value), gradient


def _product(f: float, df: np.ndarray, g: float, dg: np.ndarray) -> tuple[float, np.ndarray]:
    return f * g, f * dg + g * df


def _of_eigenvalues(W: np.ndarray, phi: Callable) -> tuple[float, np.ndarray, np.ndarray]:
    """Return φ of the eigenvalues of WᵀW, its slopes, and the eigenvectors."""
    lam, V = np.linalg.eigh(W.T @ W)
    # A trajectory that excites nothing has zero eigenvalues, and round-off below.
    lam = np.maximum(lam, np.finfo(float).eps * lam[-1])
    value, slope = phi(lam)
    return float(value), slope, V


CRITERIA: dict[str, Criterion] = {'cond': cond, 'qr': qr, 'frobenius': frobenius,
                                  'smooth': smooth, 'logdet': logdet, 'equilibrium': equilibrium}


def find_criterion(name: str) -> Criterion:
    """Return the criterion of that name."""
    if name not in CRITERIA:
        raise ConfigError(f'excitation: criterion: unknown {name!r}, '
                          + did_you_mean(name, CRITERIA))
    return CRITERIA[name]


@dataclass(frozen=True)
class Weighted:
    """λ₁·criterion + λ₂·S (paper 000, eq. 18)."""

    criterion: Criterion
    factor: float = 1.0
    equilibrium_factor: float = 0.0

    def __call__(self, W: np.ndarray) -> Value:
        """Return value and gradient of the sum."""
        value, gradient = self.criterion(W)
        value, gradient = self.factor * value, self.factor * gradient
        if self.equilibrium_factor:
            S, S_bar = equilibrium(W)
            value += self.equilibrium_factor * S
            gradient = gradient + self.equilibrium_factor * S_bar
        return value, gradient


@dataclass(frozen=True, eq=False)
class Scaled:
    """
    A criterion of D_r·W·D_c.

    ``columns`` are a-priori sizes of the parameters (paper 004's remark), so that relative
    errors count; ``rows`` are inverse noise deviations, one per row.
    """

    criterion: Criterion
    columns: np.ndarray | float = 1.0
    rows: np.ndarray | float = 1.0

    def __call__(self, W: np.ndarray) -> Value:
        """Return value and gradient for the unscaled W."""
        scale = np.reshape(self.rows, (-1, 1)) * np.reshape(self.columns, (1, -1))
        value, gradient = self.criterion(W * scale)
        return value, gradient * scale


def normalised(W: np.ndarray) -> np.ndarray:
    """Return W with columns of length one; no scaling gives a much smaller condition number."""
    return W / np.linalg.norm(W, axis=0)
