"""
From a recording to samples: positions, velocities, accelerations and efforts to identify with.

Periodic motion is averaged over its periods and differentiated through a Fourier series; other
motion is put on an even grid, low-passed and differentiated between gaps. Either way the
efforts stay unfiltered, and the parallel filter that both sides of τ = W·χ go through travels
with the samples (see ``parallel_filter``). What is not to be used has weight zero, with an
account of why.
"""

from dataclasses import dataclass, replace
import warnings

import numpy as np
from robident_ros.config import ProcessingOptions
from robident_ros.errors import ConfigError, RecordingError, RobidentWarning
from robident_ros.excitation.trajectory import Trajectory
from robident_ros.processing.bandwidth import Bandwidth, find_bandwidth
from robident_ros.processing.derivatives import count_harmonics, differentiate, fit_fourier
from robident_ros.processing.grid import even_grid, interpolate, interpolate_known, segments
from robident_ros.processing.parallel_filter import lowpass_kernel, ParallelFilter
from robident_ros.processing.periods import average_periods, Periods
from robident_ros.processing.saturation import find_saturated
from robident_ros.processing.spikes import find_spikes
from robident_ros.recording.recording import read_only, Recording

POSITION_CUTOFF = 2.0  # times the cutoff: flat over all that the parallel filter lets through
SLOW = 0.01  # of the highest speed of a joint: there it counts as standing
FILTER_LENGTH = 1.0  # half-length of the filters, in periods of the cutoff frequency


@dataclass(frozen=True)
class Dropped:
    """How many samples of which joint (None: all) are not used, and why."""

    count: int
    total: int
    reason: str
    joint: str | None = None

    def __str__(self) -> str:
        return f'{self.joint or "all joints"}: {self.count} of {self.total}: {self.reason}'


@dataclass(frozen=True, eq=False)
class Samples:
    """
    What the estimation takes in: N rows on an even grid, m of which are kept by the filter.

    :param t: time of each row [s]
    :param q: positions (N, n) [rad or m], v velocities, a accelerations
    :param tau: efforts (N, n), unfiltered, NaN where unknown
    :param joint_names: the n joints, in column order
    :param rate_hz: rows per second
    :param filter: what both sides of τ = W·χ go through; ``filter.apply`` makes m rows of N
    :param weights: (m, n), zero where a row of a joint is not to be used, else the root of the
        share of periods that know it
    :param noise_std: standard deviation of the noise of a filtered effort row (n,)
    :param cutoff_hz: cutoff of the filter
    :param dropped: what is not used, and why
    :param periods: the averaged periods, None where the motion was not averaged
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    joint_names: tuple[str, ...]
    rate_hz: float
    filter: ParallelFilter  # noqa: A003
    weights: np.ndarray
    noise_std: np.ndarray
    cutoff_hz: float
    dropped: tuple[Dropped, ...] = ()
    periods: Periods | None = None

    def __post_init__(self) -> None:
        for name in ('t', 'q', 'v', 'a', 'tau', 'weights', 'noise_std'):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Rows, filter and noise, before anything is weighed."""

    rows: tuple[np.ndarray, ...]  # t, q, v, a, tau
    rate_hz: float
    parallel: ParallelFilter
    share: np.ndarray | float  # root of the share of periods that know each kept row
    noise_std: np.ndarray
    noise_v: np.ndarray
    dropped: tuple[Dropped, ...]


def process(recording: Recording, options: ProcessingOptions = ProcessingOptions(),
            reference: Trajectory | None = None, robust: bool = False) -> Samples:
    """
    Turn a recording into samples.

    :param reference: the trajectory that was played, if it is known
    :param robust: whether spikes of the efforts are left out before anything spreads them
    """
    _check_options(options)
    whole, recording = recording, _cut(recording, options)
    saturated = find_saturated(recording, options.effort_limits)
    recording = replace(recording, tau=np.where(saturated, np.nan, recording.tau))
    spikes = find_spikes(recording.tau) if robust else np.zeros(saturated.shape, dtype=bool)
    recording = replace(recording, tau=np.where(spikes, np.nan, recording.tau))
    if np.isnan(recording.tau).all():
        raise RecordingError(f'{recording.source}: has no efforts, so nothing can be identified '
                             'from it')
    if recording.is_bursty:
        warnings.warn(f'{recording.source}: samples come in bursts; taken as {recording.rate:.4g} '
                      'per second. Stamp them when they are measured, not when they arrive',
                      RobidentWarning, stacklevel=2)
    bandwidth = look_at_bandwidth(recording)
    cutoff = options.cutoff_hz or bandwidth.cutoff_hz
    gap = longest_pause(recording, options, cutoff)
    periods = _average(recording, options, reference, gap)
    if periods is None:
        ready = _prepare_any(recording, options, bandwidth, cutoff, gap)
    else:
        ready = _prepare_periodic(recording, periods, options, cutoff)
    weights, doubtful = _weigh(ready, options, recording.joint_names)
    dropped = [Dropped(len(whole) - len(recording), len(whole), 'outside start_s to stop_s'),
               *(Dropped(int(count), len(recording), 'effort saturated', name)
                 for count, name in zip(saturated.sum(axis=0), recording.joint_names)),
               *(Dropped(int(count), len(recording), 'spike of the effort', name)
                 for count, name in zip(spikes.sum(axis=0), recording.joint_names)),
               *ready.dropped, *doubtful]
    t, q, v, a, tau = ready.rows
    return Samples(t, q, v, a, tau, recording.joint_names, ready.rate_hz, ready.parallel,
                   weights, ready.noise_std, cutoff,
                   tuple(item for item in dropped if item.count), periods)


def _check_options(options: ProcessingOptions) -> None:
    """Refuse what cannot be meant; leaving an option out is how to have it chosen."""
    for name in ('cutoff_hz', 'period_s'):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise ConfigError(f'processing: {name}: is {value:g}, expected more than 0; leave it '
                              'out to have it found from the data')


def _cut(recording: Recording, options: ProcessingOptions) -> Recording:
    if options.start_s is None and options.stop_s is None:
        return recording
    return recording.between(-np.inf if options.start_s is None else options.start_s,
                             np.inf if options.stop_s is None else options.stop_s)


def look_at_bandwidth(recording: Recording) -> Bandwidth:
    """Return the bandwidth of the motion, over its longest stretch without a long pause."""
    rate, pause = recording.rate, max(0.1 * recording.duration, 3 / recording.rate)
    part = max(segments(recording.t, pause), key=lambda stretch: stretch.stop - stretch.start)
    t = recording.t[part]
    return find_bandwidth(interpolate(t, recording.q[part], even_grid(t, rate)).values, rate)


def longest_pause(recording: Recording, options: ProcessingOptions, cutoff: float) -> float:
    """Return how far apart samples may be to be interpolated between [s]."""
    if options.gap_s is not None:
        return max(options.gap_s, 1.5 / recording.rate)
    # Between bursts there is a pause, which as such is no gap.
    burst = 1.5 * np.quantile(np.diff(recording.t), 0.99) if recording.is_bursty else 0.0
    return max(3 / recording.rate, 0.25 / cutoff, burst)


def _average(recording: Recording, options: ProcessingOptions, reference: Trajectory | None,
             gap: float) -> Periods | None:
    if not options.average_periods or (reference and not reference.is_periodic):
        return None
    periods = average_periods(recording, options.period_s, reference, gap)
    if periods is None and (options.period_s or reference):
        raise RecordingError(f'{recording.source}: the motion does not repeat itself with the '
                             'period given; give the right one, or average_periods: false')
    for message in periods.drift if periods else ():
        warnings.warn(f'{recording.source}: {message}', RobidentWarning, stacklevel=3)
    return periods


def _prepare_periodic(recording: Recording, periods: Periods, options: ProcessingOptions,
                      cutoff: float) -> _Prepared:
    points, used = len(periods.t), len(periods.used)
    noise_q = np.sqrt(np.diag(periods.noise_q) / used)
    most = min(int(POSITION_CUTOFF * cutoff * periods.period), (points - 1) // 2)
    harmonics = options.harmonics or max(min(count_harmonics(periods.q, noise_q), most), 1)
    if 2 * harmonics + 1 > points:
        raise RecordingError(f'{recording.source}: {points} samples per period cannot carry '
                             f'{harmonics} harmonics; lower processing: harmonics')
    q, v, a = fit_fourier(periods.t, periods.q, periods.period, harmonics).sample(periods.t)
    kernel, step = _design_filter(cutoff, points / periods.period, options)
    if len(kernel) > points:
        kernel, step = np.ones(1), 1  # a period this short holds nothing below the cutoff
    filter_ = ParallelFilter(kernel, np.arange(0, points, step), points, is_periodic=True)
    omega = 2 * np.pi / periods.period * np.arange(1, harmonics + 1)
    dropped = tuple(Dropped(points, len(recording), f'period {k} is left out, {reason}')
                    for k, reason in periods.excluded.items())
    outside = len(recording) - (used + len(periods.excluded)) * points
    return _Prepared((periods.t, q, v, a, periods.tau), points / periods.period, filter_,
                     _row_weights(filter_, periods.counts / used),
                     np.sqrt(np.diag(periods.noise_tau) / used) * filter_.noise_gain,
                     noise_q * np.sqrt(2 * (omega ** 2).sum() / points),
                     (*dropped, Dropped(max(outside, 0), len(recording),
                                        'before or behind the whole periods')))


def _row_weights(filter_: ParallelFilter, share: np.ndarray) -> np.ndarray:
    """
    Return factors of rows that only a share of the periods knows.

    The variance of their noise is 1/share times as large, so its root is the factor. The
    filter's side lobes would carry a step of the share beyond 0 and 1.
    """
    return np.sqrt(np.clip(filter_.apply(share), 0.0, 1.0))


def _prepare_any(recording: Recording, options: ProcessingOptions, bandwidth: Bandwidth,
                 cutoff: float, gap: float) -> _Prepared:
    rate = recording.rate
    kernel, step = _design_filter(cutoff, rate, options)
    half, parts, rows, start, short = len(kernel) // 2, [], [], 0, 0
    for part in segments(recording.t, gap):
        t = recording.t[part]
        grid = even_grid(t, rate)
        if len(grid) < len(kernel) + 3:
            short += part.stop - part.start
            continue
        motion = differentiate(interpolate(t, recording.q[part], grid).values, rate,
                               POSITION_CUTOFF * cutoff, FILTER_LENGTH / cutoff)
        parts.append((grid, *motion, interpolate_known(t, recording.tau[part], grid, gap)))
        rows.append(np.arange(start + half, start + len(grid) - half, step))
        start += len(grid)
    if not parts:
        raise RecordingError(f'{recording.source}: no stretch between gaps is as long as the '
                             f'filter, {len(kernel) / rate:.3g} s; record longer, or raise '
                             'processing: cutoff_hz or gap_s')
    arrays = tuple(np.concatenate(column) for column in zip(*parts))
    filter_ = ParallelFilter(kernel, np.concatenate(rows), start)
    dropped = (Dropped(short, len(recording), 'between gaps closer than the filter is long'),
               Dropped(len(parts) * 2 * half, start, 'at ends and gaps, where the filter '
                       'does not reach'))
    return _Prepared(arrays, rate, filter_, 1.0, _residual_noise(arrays[4], filter_),
                     bandwidth.velocity_noise(POSITION_CUTOFF * cutoff), dropped)


def _design_filter(cutoff: float, rate: float,
                   options: ProcessingOptions) -> tuple[np.ndarray, int]:
    """Return the kernel of the parallel filter, and of how many rows one is kept."""
    if 2 * cutoff >= rate:
        return np.ones(1), options.decimation or 1  # nothing to take away below Nyquist
    kernel = lowpass_kernel(cutoff, rate, FILTER_LENGTH / cutoff)
    return kernel, options.decimation or max(int(0.4 * rate / cutoff), 1)


def _residual_noise(tau: np.ndarray, filter_: ParallelFilter) -> np.ndarray:
    """Return the noise of filtered rows, from what the filter takes away, taken as white."""
    residual = tau[filter_.rows] - filter_.apply(tau)
    removed = 1 - 2 * filter_.kernel[filter_.half] + (filter_.kernel ** 2).sum()
    known = np.isfinite(residual)
    variance = np.where(known, residual ** 2, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.sqrt(variance / max(removed, 1e-12)) * filter_.noise_gain


def _weigh(ready: _Prepared, options: ProcessingOptions,
           names: tuple[str, ...]) -> tuple[np.ndarray, list[Dropped]]:
    """Return the weights of the kept rows, zero where efforts or friction are in doubt."""
    _, _, v, _, tau = ready.rows
    unknown = ~np.isfinite(ready.parallel.apply(tau))
    slowest = np.maximum(3 * ready.noise_v, SLOW * np.abs(v).max(axis=0)) + 1e-9
    if options.min_speed is not None:
        slowest = np.full(len(names), options.min_speed)
    slow = (np.abs(v[ready.parallel.rows]) < slowest) & ~unknown
    dropped, total = [], len(unknown)
    for j, name in enumerate(names):
        dropped.append(Dropped(int(unknown[:, j].sum()), total, 'effort unknown or saturated '
                               'within reach of the filter', name))
        dropped.append(Dropped(int(slow[:, j].sum()), total, f'slower than {slowest[j]:.3g}, so '
                               'that the direction of friction is in doubt', name))
    weights = np.where(unknown | slow, 0.0, ready.share)
    for name in np.array(names)[~weights.any(axis=0)]:
        warnings.warn(f'no sample of {name} is left to identify from; see what was dropped, with '
                      '"robident inspect"', RobidentWarning, stacklevel=3)
    return weights, dropped
