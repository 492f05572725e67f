"""Periods: found, averaged, and what their spread says about noise."""

from dataclasses import dataclass, replace

from motions import fourier_motion, NAMES, periodic_recording
import numpy as np
import pytest
from robident_ros.errors import RecordingError
from robident_ros.processing import average_periods, find_period
from robident_ros.processing.derivatives import FourierSeries
from robident_ros.recording import Recording
from scipy.stats import chi2


@dataclass(frozen=True)
class Reference:
    """A periodic motion as the excitation stage gives it."""

    motion: FourierSeries
    joint_names: tuple[str, ...] = NAMES
    is_periodic: bool = True

    @property
    def period(self) -> float:
        return self.motion.period

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.motion.sample(t)


def with_noise(recording: Recording, factor: np.ndarray, seed: int) -> Recording:
    """Add efforts noise with covariance factor·factorᵀ."""
    noise = np.random.default_rng(seed).standard_normal(recording.q.shape) @ factor.T
    return replace(recording, tau=recording.tau + noise)


@pytest.mark.parametrize('lead', [0.0, 3.3])
@pytest.mark.parametrize('rate', [50, 125.0, 333])
def test_the_period_is_found(rate: float, lead: float) -> None:
    """With noise, and with an approach before; to a tenth of a sampling step."""
    recording = periodic_recording(4, rate, noise_q=1e-3, lead=lead)
    assert find_period(recording) == pytest.approx(5.0, abs=0.1 / rate)


def test_motion_that_does_not_repeat_has_no_period() -> None:
    t = np.arange(3000) / 100
    chirp = np.column_stack([np.sin(0.3 * t ** 1.5), np.cos(0.2 * t ** 1.5)])
    line = np.column_stack([t, 2 * t])
    for q in (chirp, line, np.zeros_like(line)):
        assert find_period(Recording(t, q, None, q, ['a', 'b'])) is None
    assert find_period(periodic_recording(1.5)) is None


def test_averaging_lowers_noise_by_the_root_of_the_periods() -> None:
    """
    Var(mean of P) = σ²/P: the sum of squares over M grid points is chi-square distributed.

    The interval holds the truth with probability 0.999; the seed is fixed.
    """
    sigma, motion = 0.2, fourier_motion()
    for periods in (4, 9, 25):
        averaged = average_periods(periodic_recording(periods, noise_tau=sigma), motion.period)
        assert len(averaged.used) == periods
        exact = average_periods(periodic_recording(periods), motion.period)
        error = (averaged.tau - exact.tau).ravel()
        low, high = chi2.ppf([0.0005, 0.9995], error.size)
        assert low < (error ** 2).sum() / (sigma ** 2 / periods) < high


def test_the_spread_between_periods_gives_the_noise_covariance() -> None:
    """Each entry of the estimate lies within 3.5 standard errors, as M·(P - 1) samples allow."""
    factor = np.array([[0.3, 0, 0], [0.1, 0.2, 0], [-0.05, 0.1, 0.4]])
    covariance = factor @ factor.T
    recording = with_noise(periodic_recording(10, noise_q=1e-3), factor, seed=5)
    averaged = average_periods(recording, 5.0)
    freedom = len(averaged.t) * (len(averaged.used) - 1)
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance ** 2)
                    / freedom)
    assert (np.abs(averaged.noise_tau - covariance) < 3.5 * error).all()
    np.testing.assert_allclose(np.sqrt(np.diag(averaged.noise_q)), 1e-3, rtol=0.05)


def test_interpolation_does_not_hide_noise() -> None:
    """Where grid and samples do not meet, the noise estimate is still that of one sample."""
    recording = periodic_recording(10, rate=97.3, noise_q=1e-3, noise_tau=0.2)
    averaged = average_periods(recording, 5.0)
    np.testing.assert_allclose(np.sqrt(np.diag(averaged.noise_tau)), 0.2, rtol=0.05)


def test_jitter_and_missing_samples_are_tolerated() -> None:
    """One sample in ten lost, stamps uneven by a third of a step: the average stays true."""
    rng = np.random.default_rng(0)
    full = periodic_recording(8, rate=200)
    t = np.sort(rng.choice(len(full), int(0.9 * len(full)), replace=False) / 200
                + rng.uniform(-1, 1, int(0.9 * len(full))) / 600)
    t = t[(t > 0)]
    q, v, a = fourier_motion().sample(t)
    recording = Recording(t, q, v, 2 * a, NAMES)
    averaged = average_periods(recording, 5.0)
    exact, _, _ = fourier_motion().sample(averaged.start + averaged.t)
    assert len(averaged.used) >= 7
    np.testing.assert_allclose(averaged.q, exact, atol=2e-5)  # cubics over 15 to 40 ms


def test_gaps_leave_the_other_periods() -> None:
    recording = periodic_recording(6)
    keep = (recording.t < 7) | (recording.t > 8)
    holed = Recording(recording.t[keep], recording.q[keep], None, recording.tau[keep], NAMES)
    averaged = average_periods(holed, 5.0, gap=0.1)
    exact, _, _ = fourier_motion().sample(averaged.start + averaged.t)
    np.testing.assert_allclose(averaged.q, exact, atol=1e-6)
    assert averaged.counts.min() == 5 and averaged.counts.max() == 6


def test_a_disturbed_period_is_named_and_left_out() -> None:
    recording = periodic_recording(8, noise_q=1e-4, noise_tau=0.1)
    tau = recording.tau.copy()
    tau[1600:1650, 1] += 5.0
    averaged = average_periods(replace(recording, tau=tau), 5.0)
    assert list(averaged.excluded) == [3]
    assert averaged.excluded[3].startswith('outlier: effort of elbow')
    assert averaged.used == (0, 1, 2, 4, 5, 6, 7)


def test_a_transient_is_named_and_left_out() -> None:
    recording = periodic_recording(8, noise_q=1e-4, noise_tau=0.1)
    fading = 3 * np.exp(-recording.t)[:, None]
    averaged = average_periods(replace(recording, tau=recording.tau + fading), 5.0)
    assert list(averaged.excluded) == [0]
    assert averaged.excluded[0].startswith('transient')


def test_drift_is_flagged_and_noise_is_not() -> None:
    recording = periodic_recording(8, noise_q=1e-4, noise_tau=0.1)
    assert average_periods(recording, 5.0).drift == ()
    warming = recording.tau * [1, 1 - 0.005 * 1, 1] * np.ones_like(recording.tau)
    warming[:, 2] *= 1 - 0.1 * recording.t / recording.t[-1]
    (message,) = average_periods(replace(recording, tau=warming), 5.0).drift
    assert message.startswith('effort of wrist changes')


def test_periods_begin_where_the_reference_does() -> None:
    """The recording starts in the middle of an approach; joints may be in another order."""
    recording = periodic_recording(4, lead=3.3, noise_q=1e-4)
    swapped = recording.select([NAMES[2], NAMES[0], NAMES[1]])
    averaged = average_periods(swapped, reference=Reference(fourier_motion()))
    assert (averaged.start - 3.3 + 1) % 5.0 == pytest.approx(1, abs=0.011)
    assert len(averaged.used) >= 2


def test_a_recording_of_another_motion_is_refused() -> None:
    recording = periodic_recording(4)
    other = Reference(fourier_motion(seed=7))
    with pytest.raises(RecordingError, match='does not follow the reference'):
        average_periods(recording, reference=other)
    with pytest.raises(RecordingError, match='select the same joints'):
        average_periods(recording.select(NAMES[:2]), reference=other)


def test_rests_before_and_behind_do_not_matter() -> None:
    """A robot that stands twice as long as it moves: the period of its motion is found."""
    motion = periodic_recording(4, noise_q=1e-5)
    rest = np.ones((2000, 1))
    q = np.vstack([rest * motion.q[0], motion.q, rest * motion.q[-1]])
    recording = Recording(np.arange(len(q)) / 100, q, None, q, NAMES)
    assert find_period(recording) == pytest.approx(5.0, abs=1e-3)
    averaged = average_periods(recording)
    assert len(averaged.used) >= 3 and 19.9 < averaged.start < 25


def test_a_single_sine_is_periodic() -> None:
    t = np.arange(2000) / 100
    q = np.sin(2 * np.pi * t / 6)[:, None]
    assert find_period(Recording(t, q, None, q, ['a'])) == pytest.approx(6.0, abs=1e-3)


def test_a_period_of_a_few_samples_is_refused() -> None:
    with pytest.raises(RecordingError, match='fewer than 10 samples'):
        average_periods(periodic_recording(4), period=0.05)
