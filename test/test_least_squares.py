"""Least squares on compressed data: the estimates of textbooks, efficient and honest."""

import numpy as np
import pytest
from robident_ros.errors import RankDeficient
from robident_ros.estimation.compress import compress
from robident_ros.estimation.information import empty_information
from robident_ros.estimation.least_squares import correlation_length, estimate_base
from robident_ros.estimation.least_squares import robust_weights
from robident_ros.model.base import base_parameters
from robident_ros.model.regressor import stack, torque_regressor
from shipped import shipped
from synthetic import motion, simulate, torque, with_drives

ROBOT = shipped('arm6')
BASE = base_parameters(ROBOT)
THETA = with_drives(ROBOT)
SAMPLES = simulate(ROBOT, THETA, 400, noise=0.05)
INFORMATION = compress(SAMPLES, ROBOT, BASE)[0]
W = torque_regressor(ROBOT, SAMPLES.q, SAMPLES.v, SAMPLES.a)[..., BASE.kept]


def test_exact_data_give_the_truth() -> None:
    exact = compress(simulate(ROBOT, THETA, 400), ROBOT, BASE)[0]
    for weighting in ('none', 'residual'):
        np.testing.assert_allclose(estimate_base(exact, weighting).beta, BASE.K @ THETA,
                                   atol=1e-9)


def test_ordinary_least_squares_is_lstsq() -> None:
    found = estimate_base(INFORMATION, 'none')
    A, y = stack(W), SAMPLES.tau.T.ravel()
    beta, (rss,), *_ = np.linalg.lstsq(A, y, rcond=None)
    np.testing.assert_allclose(found.beta, beta, rtol=1e-9, atol=1e-10)
    covariance = rss / (len(A) - len(beta)) * np.linalg.inv(A.T @ A)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-14)
    assert found.singular_values == pytest.approx(np.linalg.svd(A, compute_uv=False))


def test_joints_are_weighted_by_their_own_residuals() -> None:
    """The deviations are those of each joint's own least squares (paper 003, section III)."""
    found = estimate_base(INFORMATION, 'residual')
    for j, columns in enumerate(INFORMATION.columns):
        A = W[j][:, columns]
        rest = SAMPLES.tau[:, j] - A @ np.linalg.lstsq(A, SAMPLES.tau[:, j], rcond=None)[0]
        assert found.deviations[j] == pytest.approx(np.linalg.norm(rest)
                                                    / np.sqrt(len(A) - len(columns)))
    weights = np.repeat(1 / found.deviations, len(SAMPLES.t))
    beta = np.linalg.lstsq(stack(W) * weights[:, None], SAMPLES.tau.T.ravel() * weights,
                           rcond=None)[0]
    np.testing.assert_allclose(found.beta, beta, rtol=1e-8, atol=1e-9)


def test_relative_deviations_and_correlations() -> None:
    found = estimate_base(INFORMATION)
    np.testing.assert_allclose(found.relative_std, 100 * found.std / np.abs(found.beta))
    assert np.diag(found.correlation) == pytest.approx(np.ones(len(found.beta)))
    assert np.abs(found.correlation).max() <= 1 + 1e-12


def test_noise_weighting_needs_the_noise() -> None:
    with pytest.raises(ValueError, match='deviation'):
        estimate_base(INFORMATION, 'noise')


def test_too_few_equations_are_refused() -> None:
    few = compress(simulate(ROBOT, THETA, 8), ROBOT, BASE)[0]
    with pytest.raises(RankDeficient, match='48 equations for'):
        estimate_base(few)


def monte_carlo(name: str, weighting: str, replicates: int) -> tuple[float, float]:
    """Return mean squared whitened error (1 at the Cramér–Rao bound), and 95 % coverage."""
    robot = shipped(name)
    base, theta = base_parameters(robot), with_drives(robot)
    t, q, v, a = motion(robot, 250)
    regressor, exact = torque_regressor(robot, q, v, a), torque(robot, theta, q, v, a)
    std = 0.05 * np.sqrt(np.mean(exact**2, axis=0)) * np.linspace(0.5, 2, exact.shape[1])
    truth, rng, empty = base.K @ theta, np.random.default_rng(3), empty_information(robot, base)
    A = stack(regressor[..., base.kept]) / np.repeat(std, len(t))[:, None]
    bound = np.linalg.qr(A, 'r')  # the information is boundᵀ·bound
    squares, covered = [], []
    for _ in range(replicates):
        noisy = exact + std * rng.normal(size=exact.shape)
        found = estimate_base(empty.update(regressor, noisy), weighting, std)
        squares.append(np.mean((bound @ (found.beta - truth))**2))
        covered.append(np.mean(np.abs(found.beta - truth) < 1.96 * found.std))
    return float(np.mean(squares)), float(np.mean(covered))


@pytest.mark.slow
@pytest.mark.parametrize('name, weighting', [('arm6', 'residual'), ('arm6', 'noise'),
                                             ('puma560', 'residual'), ('tx40', 'residual')])
def test_estimates_reach_the_cramer_rao_bound(name: str, weighting: str) -> None:
    """Covariance within 5 % of the bound; 95 % intervals cover 93 to 97 %."""
    # 300 replicates of some 50 directions: the mean has a deviation of about 1 %.
    ratio, coverage = monte_carlo(name, weighting, 300)
    assert 0.95 < ratio < 1.05
    assert 0.93 < coverage < 0.97


def test_outliers_lose_their_weight() -> None:
    residuals = np.random.default_rng(0).normal(size=(1000, 2))
    residuals[::50] += 30
    weights = robust_weights(residuals)
    assert (weights[::50] == 0).all()
    assert np.median(weights) > 0.95


def test_robust_weights_undo_outliers() -> None:
    """With 2 % of the samples spoiled, robust estimation is ten times nearer to the truth."""
    tau = np.array(SAMPLES.tau)
    tau[::50] += 20 * SAMPLES.tau.std(axis=0)
    empty = empty_information(ROBOT, BASE)
    full = torque_regressor(ROBOT, SAMPLES.q, SAMPLES.v, SAMPLES.a)
    truth = W @ (BASE.K @ THETA)
    beta = estimate_base(empty.update(full, tau)).beta
    errors = [np.linalg.norm(W @ beta - truth)]
    for _ in range(5):
        weights = robust_weights(tau - (W @ beta).T)
        beta = estimate_base(empty.update(full, tau, weights)).beta
    errors.append(np.linalg.norm(W @ beta - truth))
    assert errors[1] < errors[0] / 10


def test_white_residuals_are_uncorrelated_and_smooth_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    white = rng.normal(size=8000)
    assert correlation_length(white) == pytest.approx(1, abs=0.2)
    smooth = np.convolve(white, np.ones(10), 'valid')
    # the moving average of ten has Σρ over both sides of 10
    assert correlation_length(smooth) == pytest.approx(10, rel=0.2)
