"""Velocities and accelerations, against motions known exactly."""

from motions import fourier_motion, periodic_recording
import numpy as np
import pytest
from robident_ros.config import ProcessingOptions
from robident_ros.processing import process
from robident_ros.processing.derivatives import count_harmonics, differentiate, fit_fourier


def test_a_fourier_series_is_its_own_derivative() -> None:
    """Velocities and accelerations agree with central differences of positions."""
    motion, t, h = fourier_motion(), np.linspace(0, 5, 40), 1e-4
    q, v, a = motion.sample(t)
    before, after = motion.sample(t - h)[0], motion.sample(t + h)[0]
    np.testing.assert_allclose(v, (after - before) / (2 * h), atol=1e-5)  # h² · third derivative
    np.testing.assert_allclose(a, (after - 2 * q + before) / h ** 2, atol=1e-4)


def test_a_fit_recovers_the_series_from_uneven_samples() -> None:
    motion = fourier_motion()
    t = np.sort(np.random.default_rng(0).uniform(0, 12, 60))
    fit = fit_fourier(t, motion.sample(t)[0], 5.0, 4)
    np.testing.assert_allclose(fit.cos, motion.cos, atol=1e-12)
    np.testing.assert_allclose(fit.sin, motion.sin, atol=1e-12)


@pytest.mark.parametrize('noise', [0, 1e-5, 1e-3])
@pytest.mark.parametrize('harmonics', [1, 4, 10])
def test_harmonics_are_counted_against_noise(harmonics: int, noise: float) -> None:
    t = np.arange(500) / 100
    rng = np.random.default_rng(harmonics)
    q = fourier_motion(5.0, harmonics).sample(t)[0] + noise * rng.standard_normal((500, 3))
    assert count_harmonics(q, np.full(3, noise)) == harmonics


def test_rounding_is_noise_though_it_repeats() -> None:
    """Periods do not differ by it, but the upper half of the spectrum knows."""
    q = fourier_motion(5.0, 10).sample(np.arange(500) / 100)[0]
    assert count_harmonics(np.round(q, 4), np.zeros(3)) == 10


def test_central_differences_follow_slow_motion() -> None:
    """Away from the ends, a tenth of the cutoff passes to three parts in ten thousand."""
    t = np.arange(3000) / 100
    q = np.column_stack([np.sin(2 * np.pi * 0.5 * t), np.cos(2 * np.pi * 0.4 * t)])
    smooth, v, a = differentiate(q, 100, 5.0, 0.4)
    inside = slice(100, -100)
    omega = 2 * np.pi * np.array([0.5, 0.4])
    exact = np.column_stack([np.cos(omega[0] * t), -np.sin(omega[1] * t)]) * omega
    np.testing.assert_allclose(smooth[inside], q[inside], atol=3e-4)
    np.testing.assert_allclose(v[inside], exact[inside], atol=1e-3)
    np.testing.assert_allclose(a[inside], (-q * omega ** 2)[inside], atol=3e-3)


def test_a_straight_line_keeps_its_slope_up_to_the_ends() -> None:
    q = np.column_stack([np.linspace(0, 1, 200)])
    _, v, a = differentiate(q, 100, 5.0, 0.4)
    np.testing.assert_allclose(v, 100 / 199, rtol=1e-9)
    np.testing.assert_allclose(a, 0, atol=1e-8)


@pytest.mark.parametrize('periods', [2, 10])
def test_fourier_accelerations_beat_filtered_differences(periods: int) -> None:
    """Encoder noise of 1e-4 rad at 100 Hz: the error is at least five times smaller."""
    motion = fourier_motion()
    recording = periodic_recording(periods, rate=100, noise_q=1e-4)

    def error(average: bool) -> float:
        samples = process(recording, ProcessingOptions(average_periods=average))
        start = samples.periods.start if average else 0.0
        exact = motion.sample(start + samples.t)[2]
        rows = samples.filter.rows  # away from the ends
        return np.sqrt(np.mean((samples.a - exact)[rows] ** 2))

    assert 5 * error(average=True) < error(average=False)
