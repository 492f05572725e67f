"""
The linear problem that every estimator starts from: minimise ‖A·β − y‖² + rss.

It is the weighted stack of a recording's triangular factors, reduced to one; its size depends
on the number of parameters only.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.estimation.information import SquareRootInformation


@dataclass(frozen=True, eq=False)
class Problem:
    """
    Weighted least squares in base parameters.

    ``rss`` is the squared residual that no β can remove, ``rows`` the number of equations that
    the data had.
    """

    names: tuple[str, ...]
    A: np.ndarray
    y: np.ndarray
    rss: float
    rows: int

    def cost(self, beta: np.ndarray) -> float:
        """Return the squared norm of the weighted residual."""
        return float(np.sum((self.A @ beta - self.y)**2) + self.rss)

    def solve(self) -> np.ndarray:
        """Return the parameters of least cost; columns are scaled, units do not matter."""
        scale = column_norms(self.A)
        return np.linalg.lstsq(self.A / scale, self.y, rcond=None)[0] / scale

    def restrict(self, keep: np.ndarray, held: np.ndarray | None = None) -> 'Problem':
        """
        Return the problem of some parameters, the others held at given values.

        :param keep: columns that stay free.
        :param held: values of all parameters, of which those not kept are used; default zero.
        """
        keep = np.asarray(keep, dtype=int)
        others = np.setdiff1d(np.arange(len(self.names)), keep)
        y = self.y if held is None else self.y - self.A[:, others] @ np.asarray(held)[others]
        return _triangular(tuple(self.names[i] for i in keep),
                           np.column_stack([self.A[:, keep], y]), self.rss, self.rows)


def weighted_problem(information: SquareRootInformation,
                     deviations: np.ndarray | None = None) -> Problem:
    """
    Return the problem of all joints together.

    :param deviations: standard deviation of each joint's error, whose inverse is its weight;
        default 1. A joint of infinite deviation has no say.
    """
    b = len(information.parameter_names)
    weights = np.ones(len(information.joint_names)) if deviations is None else 1 / deviations
    blocks = []
    for columns, factor, weight in zip(information.columns, information.factors, weights):
        block = np.zeros((len(factor), b + 1))
        block[:, np.append(columns, b)] = weight * factor
        blocks.append(block)
    rows = int(information.counts[weights > 0].sum())
    return _triangular(information.parameter_names, np.vstack(blocks), 0.0, rows)


def _triangular(names: tuple[str, ...], stacked: np.ndarray, rss: float, rows: int) -> Problem:
    b = len(names)
    R = np.linalg.qr(np.vstack([stacked, np.zeros((max(b + 1 - len(stacked), 0), b + 1))]), 'r')
    return Problem(names, read_only(R[:b, :b]), read_only(R[:b, b]), rss + float(R[b, b]**2), rows)


def column_norms(A: np.ndarray) -> np.ndarray:
    """Return the norms of the columns, 1 for a column of zeros, to divide by."""
    norms = np.linalg.norm(A, axis=0)
    return np.where(norms > 0, norms, 1.0)
