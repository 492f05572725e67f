"""
How well parameters predict efforts, on the data they come from and on others.

The relative error is ‖τ − τ̂‖ / ‖τ‖, over all joints or of one; R² compares with the mean.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from robident_ros.estimation.information import combine, SquareRootInformation


@dataclass(frozen=True, eq=False)
class Prediction:
    """Errors of predicted efforts; arrays have one value per joint."""

    joint_names: tuple[str, ...]
    rms: np.ndarray
    relative_error: np.ndarray
    r_squared: np.ndarray
    total: float


def judge_prediction(joint_names: tuple[str, ...], measured: np.ndarray, predicted: np.ndarray,
                     weights: np.ndarray | None = None) -> Prediction:
    """
    Compare efforts (N, n).

    :param weights: rows of weight zero are left out; other weights do not matter.
    """
    valid = np.isfinite(measured)
    if weights is not None:
        valid &= weights > 0
    error = np.where(valid, measured - predicted, 0.0)
    efforts = np.where(valid, measured, 0.0)
    count = np.maximum(valid.sum(axis=0), 1)
    spread = np.where(valid, measured - efforts.sum(axis=0) / count, 0.0)
    squares = (error**2).sum(axis=0)
    return Prediction(joint_names, np.sqrt(squares / count),
                      np.sqrt(_ratio(squares, (efforts**2).sum(axis=0))),
                      1 - _ratio(squares, (spread**2).sum(axis=0)),
                      float(np.sqrt(_ratio(squares.sum(), (efforts**2).sum()))))


def _ratio(numerator, denominator):
    """Return the quotient; nothing over nothing is no error."""
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.where(denominator > 0, numerator / denominator,
                        np.where(np.asarray(numerator) > 0, np.inf, 0.0))


def relative_error(information: SquareRootInformation, beta: np.ndarray) -> float:
    """Return the relative error over all joints, from compressed data."""
    efforts = np.linalg.norm(information.effort_norms)
    residual = np.linalg.norm(information.residual_norms(beta))
    return float(residual / efforts) if efforts > 0 else 0.0


def cross_validate(parts: Sequence[SquareRootInformation],
                   estimator: Callable[[SquareRootInformation], np.ndarray],
                   tests: Sequence[SquareRootInformation] | None = None) -> np.ndarray:
    """
    Return the relative error on each part of what the other parts say.

    Parts are joined from their factors, so the data are not read again.

    :param estimator: returns base parameters.
    :param tests: what to test on in place of the parts, such as the same without weights.
    """
    return np.array([relative_error(test, estimator(combine(
        [other for other in parts if other is not part])))
        for part, test in zip(parts, parts if tests is None else tests)])
