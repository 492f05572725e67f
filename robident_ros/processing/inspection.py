"""What a recording is good for: rate, jitter, gaps, periods, noise; in plain values."""

from dataclasses import dataclass

import numpy as np
from robident_ros.config import ProcessingOptions
from robident_ros.processing.periods import average_periods, Periods
from robident_ros.processing.process import longest_pause, look_at_bandwidth, process
from robident_ros.processing.saturation import find_saturated
from robident_ros.recording.recording import Recording

GAP_STEPS = 3  # a pause of more than so many sampling steps is told as a gap


@dataclass(frozen=True)
class JointFacts:
    """What was measured of one joint; noise is the standard deviation of one sample."""

    name: str
    lowest: float
    highest: float
    fastest: float
    strongest_effort: float | None
    position_noise: float
    effort_noise: float | None
    efforts_unknown: int
    efforts_saturated: int


@dataclass(frozen=True)
class Facts:
    """What there is to know about a recording before anything is identified from it."""

    source: str
    samples: int
    duration_s: float
    rate_hz: float
    jitter_ms: float
    gaps: tuple[tuple[float, float], ...]  # start and length [s], longest first
    has_velocities: bool
    excitation_hz: float
    cutoff_hz: float
    period_s: float | None
    periods: int
    periods_left_out: tuple[str, ...]
    drift: tuple[str, ...]
    joints: tuple[JointFacts, ...]
    kept: int
    dropped: tuple[str, ...]


def inspect_recording(recording: Recording,
                      options: ProcessingOptions = ProcessingOptions()) -> Facts:
    """Look at a recording as ``process`` will."""
    steps = np.diff(recording.t)
    usual = 1 / recording.rate
    wide = np.flatnonzero(steps > GAP_STEPS * usual)
    longest = wide[np.argsort(steps[wide])[::-1]]
    regular = steps[steps <= GAP_STEPS * usual]
    bandwidth = look_at_bandwidth(recording)
    has_efforts = np.isfinite(recording.tau).any()
    samples = process(recording, options) if has_efforts else None
    if samples is not None:
        periods = samples.periods
    else:
        gap = longest_pause(recording, options, bandwidth.cutoff_hz)
        periods = average_periods(recording, options.period_s, gap=gap)
    noise_q = np.sqrt(bandwidth.noise_density * recording.rate / 2) if periods is None \
        else np.sqrt(np.diag(periods.noise_q))
    noise_tau = None
    if samples is not None:
        noise_tau = samples.noise_std / samples.filter.noise_gain if periods is None \
            else np.sqrt(np.diag(periods.noise_tau))
    return Facts(
        recording.source, len(recording), recording.duration, recording.rate,
        float(1e3 * regular.std()), tuple((float(recording.t[i]), float(steps[i]))
                                          for i in longest),
        recording.v is not None, bandwidth.excitation_hz,
        samples.cutoff_hz if samples else bandwidth.cutoff_hz,
        periods.period if periods else None, len(periods.used) if periods else 0,
        _left_out(periods), periods.drift if periods else (),
        _joint_facts(recording, options, noise_q, noise_tau),
        int(np.count_nonzero(samples.weights)) if samples else 0,
        tuple(str(item) for item in samples.dropped) if samples else ())


def _left_out(periods: Periods | None) -> tuple[str, ...]:
    excluded = periods.excluded if periods else {}
    return tuple(f'period {k}: {reason}' for k, reason in excluded.items())


def _joint_facts(recording: Recording, options: ProcessingOptions, noise_q: np.ndarray,
                 noise_tau: np.ndarray | None) -> tuple[JointFacts, ...]:
    speed = np.abs(np.gradient(recording.q, recording.t, axis=0)) if recording.v is None \
        else np.abs(recording.v)
    saturated = find_saturated(recording, options.effort_limits)
    facts = []
    for j, name in enumerate(recording.joint_names):
        q, tau = recording.q[:, j], recording.tau[:, j]
        known = np.isfinite(tau)
        facts.append(JointFacts(
            name, float(q.min()), float(q.max()), float(np.nanmax(speed[:, j])),
            float(np.abs(tau[known]).max()) if known.any() else None, float(noise_q[j]),
            float(noise_tau[j]) if noise_tau is not None and known.any() else None,
            int((~known).sum()), int(saturated[:, j].sum())))
    return tuple(facts)
