"""
Base parameters by least squares: ordinary, weighted by joint, or of maximum likelihood.

Per joint weights are the inverse residual deviations of each joint's own least squares (paper
003, section III), or the measured deviations of the noise; the latter gives the estimate of
maximum likelihood when the noise is white. Covariance as of eqs. (10) and (11), relative
deviations %σ as of eq. (12).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import RankDeficient
from robident_ros.estimation.information import SquareRootInformation
from robident_ros.estimation.problem import column_norms, Problem, weighted_problem

WEIGHTINGS = ('none', 'residual', 'noise')
# Residuals below this fraction of the efforts are round-off: a weight of 1/0 would be absurd.
ROUND_OFF = 1e-9
# Tukey's biweight: 95 % as efficient as least squares on normal errors, deaf to outliers.
BIWEIGHT = 4.685
NORMAL_MAD = 0.6745


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """
    Base parameters with their uncertainty.

    ``deviations`` are those the joints were weighted with; ``variance`` is the mean square of
    the weighted residual, one when the weights are right.
    """

    problem: Problem
    beta: np.ndarray
    covariance: np.ndarray
    deviations: np.ndarray
    variance: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.problem.names

    @property
    def std(self) -> np.ndarray:
        """Return σ of each parameter."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_std(self) -> np.ndarray:
        """Return %σ of each parameter, infinite where it is estimated as zero."""
        with np.errstate(divide='ignore', invalid='ignore'):
            return np.where(self.beta == 0, np.inf, 100 * self.std / np.abs(self.beta))

    @property
    def correlation(self) -> np.ndarray:
        """Correlations between the errors of the parameters."""
        scale = np.where(self.std > 0, self.std, 1)
        return self.covariance / np.outer(scale, scale)

    @cached_property
    def singular_values(self) -> np.ndarray:
        """Singular values of the weighted regressor."""
        return np.linalg.svd(self.problem.A, compute_uv=False)


def estimate_base(information: SquareRootInformation, weighting: str = 'residual',
                  noise: np.ndarray | None = None,
                  ignored: np.ndarray | None = None) -> LeastSquares:
    """
    Estimate the base parameters.

    :param weighting: 'none' (ordinary least squares), 'residual' (deviations of each joint's
        own least squares) or 'noise' (measured deviations).
    :param noise: measured standard deviation of each joint's effort.
    :param ignored: joints whose rows have no say, as flags.
    """
    deviations = joint_deviations(information, weighting, noise)
    if ignored is not None:
        deviations = np.where(ignored, np.inf, deviations)
    problem = weighted_problem(information, deviations)
    return solve_problem(problem, deviations, known_noise=weighting == 'noise')


def joint_deviations(information: SquareRootInformation, weighting: str,
                     noise: np.ndarray | None = None) -> np.ndarray:
    """Return the deviations to weight the joints with."""
    if weighting not in WEIGHTINGS:
        raise ValueError(f'weighting is {weighting!r}, expected one of {", ".join(WEIGHTINGS)}')
    if weighting == 'none':
        return np.ones(len(information.joint_names))
    if weighting == 'noise' and noise is None:
        raise ValueError('weighting by noise needs the measured deviation of each joint')
    deviations = information.own_deviations if weighting == 'residual' else np.asarray(noise)
    rms = information.effort_norms / np.sqrt(np.maximum(information.counts, 1))
    return np.maximum(deviations, ROUND_OFF * max(rms.max(initial=0), np.finfo(float).tiny))


def solve_problem(problem: Problem, deviations: np.ndarray,
                  known_noise: bool = False) -> LeastSquares:
    """Solve a weighted problem of full column rank."""
    b = len(problem.names)
    if problem.rows <= b:
        raise RankDeficient(f'{problem.rows} equations for {b} parameters; record longer, or '
                            'leave drive terms out')
    beta = problem.solve()
    variance = problem.cost(beta) / (problem.rows - b)
    scale = column_norms(problem.A)
    inverse = np.linalg.pinv(problem.A / scale) / scale[:, None]
    covariance = inverse @ inverse.T * (1.0 if known_noise else variance)
    return LeastSquares(problem, read_only(beta), read_only(covariance), read_only(deviations),
                        variance)


def robust_weights(residuals: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """
    Return row weights (N, n) that silence outliers: the square root of Tukey's biweight.

    The scale of each joint is the median of its absolute residuals, which outliers do not move.

    :param weights: rows of weight zero do not count for the scale.
    """
    size = np.abs(residuals)
    if weights is not None:
        size = np.where(weights > 0, size, np.nan)
    scale = np.nan_to_num(np.nanmedian(size, axis=0)) / NORMAL_MAD
    u = np.nan_to_num(residuals) / (BIWEIGHT * np.where(scale > 0, scale, np.inf))
    return np.clip(1 - u**2, 0, None)


def correlation_length(residuals: np.ndarray) -> float:
    """
    Return how many successive residuals say as much as one independent one.

    This is 1 + 2·Σ ρ_k, over the lags up to the first at which the correlation ρ_k is lost in
    its own noise; 1 for white residuals.
    """
    residuals = np.nan_to_num(residuals)
    count = len(residuals)
    if count < 3 or not np.any(residuals):
        return 1.0
    spectrum = np.fft.rfft(residuals - residuals.mean(), 2 * count)
    correlation = np.fft.irfft(np.abs(spectrum)**2)[:count]
    rho = correlation[1:] / correlation[0]
    lost = int(np.argmax(np.append(rho, 0) < 2 / np.sqrt(count)))
    return float(max(1 + 2 * rho[:lost].sum(), 1.0))
