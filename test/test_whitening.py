"""Noise that joints share is weighted by its whole covariance: maximum likelihood."""

from dataclasses import replace

import numpy as np
import pytest
from robident_ros.config import EstimatorOptions
from robident_ros.estimation.compress import compress
from robident_ros.estimation.identify import identify
from robident_ros.estimation.least_squares import estimate_base
from robident_ros.estimation.whitening import compress_whitened, noise_covariance
from robident_ros.model.base import base_parameters
from robident_ros.model.regressor import stack, torque_regressor
from robident_ros.processing import process
from robident_ros.recording import Recording
from shipped import shipped
from synthetic import simulate, torque, with_drives

ROBOT = shipped('arm6')
BASE = base_parameters(ROBOT)
THETA = with_drives(ROBOT)


def shared_noise(scale: np.ndarray) -> np.ndarray:
    """Return the covariance of noise of which nine tenths are common to all joints."""
    return np.outer(scale, scale) * (0.9 + 0.1 * np.eye(len(scale)))


def test_whitened_data_are_the_generalised_least_squares() -> None:
    samples = simulate(ROBOT, THETA, 200, 0.05)
    covariance = shared_noise(np.linspace(1, 2, 6))
    found = estimate_base(*compress_whitened(samples, ROBOT, BASE, covariance), 'none').beta
    W = torque_regressor(ROBOT, samples.q, samples.v, samples.a)[..., BASE.kept]
    inverse = np.kron(np.linalg.inv(covariance), np.eye(200))
    A, y = stack(W), samples.tau.T.ravel()
    expected = np.linalg.solve(A.T @ inverse @ A, A.T @ inverse @ y)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.slow
def test_shared_noise_reaches_the_cramer_rao_bound() -> None:
    """With the covariance the bound is reached; with deviations alone it is missed by far."""
    exact = simulate(ROBOT, THETA, 200)
    covariance = shared_noise(0.05 * exact.tau.std(axis=0))
    L, truth = np.linalg.cholesky(covariance), BASE.K @ THETA
    W = torque_regressor(ROBOT, exact.q, exact.v, exact.a)[..., BASE.kept]
    bound = np.linalg.qr(stack(np.tensordot(np.linalg.inv(L), W, 1)), 'r')
    rng, whole, diagonal = np.random.default_rng(0), [], []
    for _ in range(150):
        noisy = replace(exact, tau=exact.tau + rng.normal(size=exact.tau.shape) @ L.T)
        found = estimate_base(*compress_whitened(noisy, ROBOT, BASE, covariance), 'noise',
                              np.ones(6))
        whole.append(np.mean((bound @ (found.beta - truth))**2))
        plain = estimate_base(*compress(noisy, ROBOT, BASE), 'noise', np.sqrt(np.diag(covariance)))
        diagonal.append(np.mean((bound @ (plain.beta - truth))**2))
    # 150 replicates of 58 directions: a deviation of 1.5 %
    assert np.mean(whole) == pytest.approx(1, abs=0.05)
    assert np.mean(diagonal) > 1.5


def test_identification_takes_the_covariance_from_the_periods() -> None:
    period, rate, n = 8.0, 100.0, 6
    rng = np.random.default_rng(1)
    t = np.arange(0, 6 * period, 1 / rate)
    w = 2 * np.pi / period * np.arange(1, 6)[:, None, None]
    A, phase = rng.normal(0, 0.4, (5, n, 1)), rng.uniform(0, 6, (5, n, 1))
    q = (A * np.sin(w * t + phase)).sum(axis=0).T
    v = (A * w * np.cos(w * t + phase)).sum(axis=0).T
    a = -(A * w**2 * np.sin(w * t + phase)).sum(axis=0).T
    tau = torque(ROBOT, THETA, q, v, a)
    covariance = shared_noise(0.05 * tau.std(axis=0))
    noise = rng.normal(size=tau.shape) @ np.linalg.cholesky(covariance).T
    samples = process(Recording(t, q, None, tau + noise, ROBOT.joint_names))
    found = noise_covariance([samples])
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    np.testing.assert_allclose(found / scale, shared_noise(np.ones(6)), atol=0.1)
    errors = {}
    for weighting in ('residual', 'noise'):
        options = EstimatorOptions(weighting=weighting, coulomb='sign', segments=2)
        result = identify([samples], ROBOT, options).estimate
        exact = BASE.K @ THETA
        W = torque_regressor(ROBOT, q[:800], v[:800], a[:800])[..., BASE.kept]
        errors[weighting] = np.linalg.norm(W @ (result.base.value - exact))
    assert errors['noise'] < errors['residual']


def test_without_periods_only_deviations_are_known() -> None:
    assert noise_covariance([simulate(ROBOT, THETA, 50)]) is None
