"""From recordings to samples, judged by the parameters that come out."""

from dataclasses import replace

from motions import efforts_of, fourier_motion, NAMES, periodic_recording
import numpy as np
import pytest
from robident_ros.config import ProcessingOptions
from robident_ros.errors import ConfigError, RecordingError, RobidentWarning
from robident_ros.processing import process, Samples
from robident_ros.processing.bandwidth import find_bandwidth
from robident_ros.processing.process import look_at_bandwidth
from robident_ros.recording import Recording

TRUTH = (2, 3, 5)  # of motions.efforts_of


def wandering_recording(rate: float = 200, noise_q: float = 0.0, noise_tau: float = 0.0,
                        seconds: float = 20) -> Recording:
    """Return motion that never repeats: frequencies without a common measure."""
    rng = np.random.default_rng(2)
    t = np.arange(int(seconds * rate)) / rate
    omega = 2 * np.pi * np.array([0.31, 0.47, 0.73]) * np.sqrt([1, 2, 3])
    q, v, a = np.zeros((3, len(t), 3))
    for k, w in enumerate(omega):
        phase = np.outer(t, [w, 0.8 * w, 0.6 * w]) + k
        w = np.array([w, 0.8 * w, 0.6 * w])
        q, v, a = q + np.sin(phase), v + w * np.cos(phase), a - w ** 2 * np.sin(phase)
    tau = efforts_of(q, v, a) + noise_tau * rng.standard_normal(q.shape)
    return Recording(t, q + noise_q * rng.standard_normal(q.shape), None, tau, NAMES)


def identify(samples: Samples, joint: int) -> np.ndarray:
    """Return the least-squares parameters of one joint, as an estimator would."""
    q, v, a = samples.q[:, joint], samples.v[:, joint], samples.a[:, joint]
    used = samples.weights[:, joint] > 0
    W = samples.filter.apply(np.column_stack([a, v, np.cos(q)]))[used]
    y = samples.filter.apply(samples.tau[:, joint])[used]
    return np.linalg.lstsq(W, y, rcond=None)[0]


@pytest.mark.parametrize('recording', [periodic_recording(4, 200), wandering_recording()],
                         ids=['periodic', 'wandering'])
def test_exact_data_give_exact_parameters(recording: Recording) -> None:
    """Whatever is averaged and filtered, parameters come through (filters are never perfect)."""
    samples = process(recording)
    for joint in range(3):
        np.testing.assert_allclose(identify(samples, joint), TRUTH, rtol=2e-3)


@pytest.mark.parametrize('recording', [
    periodic_recording(8, 200, noise_q=1e-4, noise_tau=0.5),
    wandering_recording(noise_q=1e-4, noise_tau=0.5)], ids=['periodic', 'wandering'])
def test_noisy_data_give_parameters_within_their_uncertainty(recording: Recording) -> None:
    """And the noise that is told is the noise that was added, behind the filter."""
    samples = process(recording)
    count = len(samples.periods.used) if samples.periods else 1
    np.testing.assert_allclose(samples.noise_std,
                               0.5 * samples.filter.noise_gain / np.sqrt(count), rtol=0.15)
    for joint in range(3):
        np.testing.assert_allclose(identify(samples, joint), TRUTH, rtol=0.03)


def test_periodic_motion_is_recognised_and_can_be_left_alone() -> None:
    recording = periodic_recording(4)
    assert process(recording).periods.period == pytest.approx(5.0, abs=1e-3)
    assert process(recording, ProcessingOptions(average_periods=False)).periods is None
    assert process(wandering_recording()).periods is None
    with pytest.raises(RecordingError, match='does not repeat itself with the period given'):
        process(wandering_recording(), ProcessingOptions(period_s=3.0))


def test_gaps_are_not_bridged() -> None:
    """Rows of the filter never reach over a gap, and the parameters stay exact."""
    recording = wandering_recording()
    keep = (recording.t < 6) | (recording.t > 8)
    holed = Recording(recording.t[keep], recording.q[keep], None, recording.tau[keep], NAMES)
    samples = process(holed)
    windows = samples.t[samples.filter.rows[:, None]
                        + np.arange(-samples.filter.half, samples.filter.half + 1)]
    assert not ((windows[:, 0] < 7) & (windows[:, -1] > 7)).any()
    for joint in range(3):
        np.testing.assert_allclose(identify(samples, joint), TRUTH, rtol=2e-3)


def test_lost_samples_and_jitter_below_the_cutoff_are_bridged() -> None:
    rng = np.random.default_rng(4)
    recording = wandering_recording()
    keep = np.sort(rng.choice(len(recording), int(0.9 * len(recording)), replace=False))
    holed = Recording(recording.t[keep], recording.q[keep], None, recording.tau[keep], NAMES)
    samples = process(holed)
    assert len(samples.t) > 0.99 * len(recording)
    for joint in range(3):
        np.testing.assert_allclose(identify(samples, joint), TRUTH, rtol=2e-3)


def test_unknown_efforts_are_dropped_for_their_joint_only() -> None:
    recording = wandering_recording()
    tau = recording.tau.copy()
    tau[1000:1400, 1] = np.nan
    samples = process(replace(recording, tau=tau))
    unknown = [item for item in samples.dropped if 'unknown' in item.reason]
    assert [item.joint for item in unknown] == ['elbow']
    np.testing.assert_allclose(identify(samples, 1), TRUTH, rtol=2e-3)
    assert 'elbow: ' in str(unknown[0])


@pytest.mark.parametrize('is_told', [False, True])
def test_saturated_efforts_are_dropped(is_told: bool) -> None:
    """Clipping is seen in the values themselves, or told by a limit."""
    recording = wandering_recording()
    tau = recording.tau.copy()
    limit = np.quantile(np.abs(tau[:, 2]), 0.95)
    tau[:, 2] = np.clip(tau[:, 2], -limit, limit)
    samples = process(replace(recording, tau=tau),
                      ProcessingOptions(effort_limits={'wrist': limit} if is_told else {}))
    (saturated,) = [item for item in samples.dropped if item.reason == 'effort saturated']
    assert saturated.joint == 'wrist'
    assert saturated.count == (np.abs(recording.tau[:, 2]) >= limit).sum()
    np.testing.assert_allclose(identify(samples, 2), TRUTH, rtol=3e-3)


def test_rounded_efforts_are_not_taken_for_saturated() -> None:
    recording = wandering_recording()
    samples = process(replace(recording, tau=np.round(recording.tau)))
    assert not [item for item in samples.dropped if item.reason == 'effort saturated']


def test_slow_samples_are_dropped_with_an_account() -> None:
    recording = wandering_recording()
    samples = process(recording, ProcessingOptions(min_speed=0.3))
    slow = np.abs(samples.v[samples.filter.rows]) < 0.3
    np.testing.assert_array_equal(samples.weights == 0, slow)
    counts = {item.joint: item.count for item in samples.dropped if 'slower' in item.reason}
    assert counts == dict(zip(NAMES, slow.sum(axis=0)))
    assert (process(recording, ProcessingOptions(min_speed=0)).weights == 1).all()


def test_a_joint_at_rest_is_dropped_where_friction_is_in_doubt() -> None:
    recording = wandering_recording(noise_q=1e-5)
    q = recording.q.copy()
    q[:, 0] = 0.3 + 1e-5 * np.random.default_rng(0).standard_normal(len(q))
    samples = process(replace(recording, q=q))
    assert (samples.weights[:, 0] == 0).mean() > 0.9 and samples.weights[:, 1].mean() > 0.9


def test_options_override_what_is_found() -> None:
    recording = wandering_recording()
    samples = process(recording, ProcessingOptions(cutoff_hz=7.0, decimation=3, start_s=2.0,
                                                   stop_s=12.0))
    assert samples.cutoff_hz == 7.0
    assert (np.diff(samples.filter.rows) == 3).all()
    assert samples.t[0] >= 2.0 and samples.t[-1] < 12.0
    assert any('start_s' in item.reason for item in samples.dropped)
    periodic = process(periodic_recording(4), ProcessingOptions(harmonics=2))
    fitted = np.abs(np.fft.rfft(periodic.q[:, 0]))
    assert fitted[3:].max() < 1e-9 * fitted.max()


def test_refusals() -> None:
    recording = wandering_recording()
    silent = replace(recording, tau=np.full(recording.tau.shape, np.nan))
    with pytest.raises(RecordingError, match='no efforts'):
        process(silent)
    with pytest.raises(RecordingError, match='as long as the filter'):
        process(recording, ProcessingOptions(cutoff_hz=0.05))
    with pytest.raises(RecordingError, match='cannot carry'):
        process(periodic_recording(4), ProcessingOptions(harmonics=400))
    with pytest.raises(ConfigError, match="effort_limits: unknown joint 'wirst'"):
        process(recording, ProcessingOptions(effort_limits={'wirst': 1}))


def test_drift_is_a_warning() -> None:
    recording = periodic_recording(8, noise_q=1e-4, noise_tau=0.1)
    tau = recording.tau * (1 - 0.2 * recording.t / recording.t[-1])[:, None]
    with pytest.warns(RobidentWarning, match='changes by'):
        process(replace(recording, tau=tau))


@pytest.mark.parametrize('rate', [100, 1000])
def test_the_cutoff_follows_the_motion_not_the_sampling(rate: float) -> None:
    """Ten times the frequency that holds the velocities, whatever the rate."""
    slow = look_at_bandwidth(wandering_recording(rate))
    assert 1.0 < slow.excitation_hz < 1.5 and slow.cutoff_hz == 10 * slow.excitation_hz
    recording = wandering_recording(rate)
    fast = look_at_bandwidth(replace(recording, t=recording.t / 2))
    assert fast.excitation_hz == pytest.approx(2 * slow.excitation_hz, rel=0.05)


def test_noise_lowers_the_cutoff_but_not_below_the_motion() -> None:
    quiet = look_at_bandwidth(wandering_recording(noise_q=1e-5))
    noisy = look_at_bandwidth(wandering_recording(noise_q=1e-2))
    assert noisy.excitation_hz == pytest.approx(quiet.excitation_hz, rel=0.1)
    assert 3 * noisy.excitation_hz <= noisy.cutoff_hz < quiet.cutoff_hz


def test_velocity_noise_is_that_of_filtered_differences() -> None:
    """White position noise, a flat spectrum: theory against what differentiation makes of it."""
    recording = wandering_recording(rate=500, noise_q=1e-3)
    bandwidth = find_bandwidth(recording.q, recording.rate)
    density = 1e-3 ** 2 / (recording.rate / 2)
    np.testing.assert_allclose(bandwidth.noise_density, density, rtol=0.1)
    expected = np.sqrt(density * (2 * np.pi) ** 2 * 8.0 ** 3 / 3)
    np.testing.assert_allclose(bandwidth.velocity_noise(8.0), expected, rtol=0.05)


def test_the_whole_way_in_three_lines(tmp_path) -> None:
    from robident_ros.recording import read_recording, write_bag
    write_bag(periodic_recording(4), tmp_path / 'bag')
    samples = process(read_recording(tmp_path / 'bag'))
    exact = fourier_motion().sample(samples.periods.start + samples.t)[1]
    np.testing.assert_allclose(samples.v, exact, atol=1e-5)  # the period is found to 1e-6


@pytest.mark.parametrize('samples', [2, 3, 5, 8, 20])
def test_very_short_recordings_are_refused_or_processed(samples: int) -> None:
    t = np.arange(samples) / 100
    q = np.column_stack([np.sin(t), np.cos(t)])
    recording = Recording(t, q, None, q, ['a', 'b'])
    try:
        assert np.isfinite(process(recording).a).all()
    except RecordingError as error:
        assert 'record longer' in str(error)


def test_a_robot_at_rest_gives_no_rows_and_says_so() -> None:
    t = np.arange(500) / 100
    rest = np.zeros((500, 2))
    with pytest.warns(RobidentWarning, match='no sample of a is left'):
        samples = process(Recording(t, rest, None, rest, ['a', 'b']))
    assert not samples.weights.any()


def test_scattered_unknown_efforts_are_bridged() -> None:
    """One effort in twenty lost, as packets are: nearly all rows are still there."""
    recording = wandering_recording()
    lost = np.random.default_rng(0).random(recording.tau.shape) < 0.05
    samples = process(replace(recording, tau=np.where(lost, np.nan, recording.tau)))
    assert (samples.weights > 0).mean() > 0.95
    np.testing.assert_allclose(identify(samples, 1), TRUTH, rtol=2e-3)
