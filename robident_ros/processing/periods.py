"""
Periodic motion: average over periods, and learn the noise from their spread.

Averaging P periods lowers noise by √P and tells the covariance of what was averaged away
(Swevers et al., Generation of Periodic Trajectories for Optimal Robot Excitation). Periods that
differ from the others (transients at the start, disturbances) are left out by name; a slow
drift is flagged.
"""

from dataclasses import dataclass
import warnings

import numpy as np
from robident_ros.errors import RecordingError
from robident_ros.excitation.trajectory import Trajectory
from robident_ros.processing.grid import interpolate, interpolate_known
from robident_ros.processing.repetition import find_period, find_steady
from robident_ros.recording.recording import read_only, Recording

OUTLIER = 2.0  # a period whose rms deviation is so many times the usual one is left out
DRIFT = 2.0  # halves of the periods that differ so many times more than by noise: drift
FEWEST = 10  # samples that make a period
FOLLOWS = 0.9  # least correlation with a trajectory that a recording is said to follow


@dataclass(frozen=True, eq=False)
class Periods:
    """
    One averaged period, on an even grid.

    :param period: its length [s]
    :param start: time in the recording at which the first period begins [s]
    :param t: grid, from 0 [s]
    :param q: averaged positions (M, n)
    :param v: averaged measured velocities (M, n), None where not measured
    :param tau: averaged efforts (M, n), NaN where never known
    :param counts: periods averaged at each grid point of each effort (M, n)
    :param noise_q: covariance of the noise of one position sample (n, n)
    :param noise_tau: covariance of the noise of one effort sample (n, n)
    :param used: numbers of the periods averaged, from 0
    :param excluded: why others were not, by number
    :param drift: channels that change over the periods, in words
    """

    period: float
    start: float
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    tau: np.ndarray
    counts: np.ndarray
    noise_q: np.ndarray
    noise_tau: np.ndarray
    used: tuple[int, ...]
    excluded: dict[int, str]
    drift: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ('t', 'q', 'v', 'tau', 'counts', 'noise_q', 'noise_tau'):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else read_only(value))


def average_periods(recording: Recording, period: float | None = None,
                    reference: Trajectory | None = None, gap: float = np.inf) -> Periods | None:
    """
    Average a recording over its periods; None where there are not two of them.

    :param period: length of a period [s]; default: that of the reference, or found in the data
    :param reference: the designed motion; periods then begin where its do
    :param gap: a longer pause between samples is not bridged [s]
    """
    period = period or (reference.period if reference else find_period(recording))
    if not period:
        return None
    if period * recording.rate < FEWEST:
        raise RecordingError(f'{recording.source}: a period of {period:g} s has fewer than '
                             f'{FEWEST} samples at {recording.rate:.4g} Hz')
    start, count = find_steady(recording, period)
    if reference is not None and count >= 1:
        start, count = _align(recording, reference, start, count)
    if count < 2:
        return None
    points = int(round(period * recording.rate))
    grid = np.arange(points) * (period / points)
    times = (start + period * np.arange(count)[:, None] + grid).ravel()

    def cut(x: np.ndarray) -> np.ndarray:
        return interpolate_known(recording.t, x, times, gap).reshape(count, points, -1)

    q, tau = cut(recording.q), cut(recording.tau)
    gain = interpolate(recording.t, recording.q, times).noise_gain
    excluded = _find_outliers({'position': q, 'effort': tau}, recording.joint_names)
    used = [k for k in range(count) if k not in excluded]
    v = None if recording.v is None else _mean(cut(recording.v)[used])
    q, tau = q[used], tau[used]
    return Periods(period, start, grid, _fill(_mean(q)), v, _mean(tau),
                   np.isfinite(tau).sum(axis=0), _covariance(q) / gain,
                   _covariance(tau) / gain, tuple(used), excluded,
                   _find_drift({'position': q, 'effort': tau}, recording.joint_names))


def _align(recording: Recording, reference: Trajectory, start: float,
           count: int) -> tuple[float, int]:
    """Move the start to where the reference starts; refuse a recording of another motion."""
    period = reference.period
    points = int(round(period * recording.rate))
    grid = np.arange(points) * (period / points)
    measured = np.column_stack([np.interp(start + grid, recording.t, x) for x in recording.q.T])
    if set(reference.joint_names) != set(recording.joint_names):
        raise RecordingError(f'{recording.source}: the reference trajectory moves '
                             f'{", ".join(reference.joint_names)}, the recording has '
                             f'{", ".join(recording.joint_names)}; select the same joints')
    order = [reference.joint_names.index(name) for name in recording.joint_names]
    designed = np.asarray(reference.sample(grid)[0])[:, order]
    x, y = (z - z.mean(axis=0) for z in (measured, designed))
    product = np.fft.irfft(np.fft.rfft(x, axis=0).conj() * np.fft.rfft(y, axis=0), points, axis=0)
    match = product.sum(axis=1) / max(np.linalg.norm(x) * np.linalg.norm(y), 1e-300)
    if match.max() < FOLLOWS:
        raise RecordingError(f'{recording.source}: does not follow the reference trajectory '
                             f'(correlation {match.max():.2f}); is it the right one?')
    phase = int(np.argmax(match))  # of the reference, at the start found
    wait = (points - phase) % points * (period / points)
    return start + wait, count if wait < 0.02 * period else count - 1


def _mean(x: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RuntimeWarning)  # all NaN: the mean is unknown too
        return np.nanmean(x, axis=0)


def _fill(q: np.ndarray) -> np.ndarray:
    """Bridge grid points that no period has: positions must be known everywhere."""
    grid = np.arange(len(q))
    return np.column_stack([np.interp(grid, grid[np.isfinite(x)], x[np.isfinite(x)],
                                      period=len(q)) for x in q.T])


def _covariance(x: np.ndarray) -> np.ndarray:
    """Return the covariance (n, n) of one sample, from P ≥ 2 repetitions (P, M, n)."""
    known = np.isfinite(x)
    spread = np.where(known, x - _mean(x), 0.0).reshape(-1, x.shape[2])
    # Each grid point that P periods know has P - 1 degrees of freedom.
    freedom = np.maximum(known.sum(axis=0) - 1, 0).sum(axis=0)
    pairs = np.sqrt(np.outer(freedom, freedom))
    return spread.T @ spread / np.maximum(pairs, 1)


def _find_outliers(channels: dict[str, np.ndarray], names: tuple[str, ...]) -> dict[int, str]:
    """Return the periods that deviate from the middle one far more than the others do."""
    excluded: dict[int, str] = {}
    transient = True
    count = len(next(iter(channels.values())))
    ratios = {name: _deviations(x) for name, x in channels.items()} if count > 2 else {}
    for k in range(count if ratios else 0):
        quantity = max(ratios, key=lambda name: ratios[name][k].max())
        joint = int(ratios[quantity][k].argmax())
        worst = ratios[quantity][k, joint]
        transient = transient and worst > OUTLIER
        if worst > OUTLIER:
            kind = 'transient' if transient else 'outlier'
            excluded[k] = (f'{kind}: {quantity} of {names[joint]} deviates {worst:.1f} times as '
                           'much as usual')
    return excluded if len(excluded) <= count - 2 else {}


def _deviations(x: np.ndarray) -> np.ndarray:
    """Return the rms deviation of each period and joint from the median, over the usual one."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RuntimeWarning)
        rms = np.sqrt(np.nanmean((x - np.nanmedian(x, axis=0)) ** 2, axis=1))
        usual = np.nanmedian(rms, axis=0)
        scale = np.nanmax(np.abs(x), axis=(0, 1))
    return np.nan_to_num(rms / np.maximum(usual, 1e-6 * scale + 1e-300))


def _find_drift(channels: dict[str, np.ndarray], names: tuple[str, ...]) -> tuple[str, ...]:
    """Name channels whose first and second half of periods differ by more than noise."""
    found = []
    for quantity, x in channels.items():
        count = len(x)
        if count < 4:
            continue
        # Differences of successive periods know the noise, whatever drifts slowly.
        noise = np.sqrt(_nanmean(np.diff(x, axis=0) ** 2) / 2)
        change = _mean(x[count // 2:]) - _mean(x[:count // 2])
        change = np.sqrt(_nanmean(change[None] ** 2))
        expected = noise * np.sqrt(1 / (count // 2) + 1 / (count - count // 2))
        worth_telling = 1e-3 * np.sqrt(_nanmean((x - _nanmean(x)) ** 2))
        for j in np.flatnonzero(change > np.maximum(DRIFT * expected, worth_telling)):
            found.append(f'{quantity} of {names[j]} changes by {change[j]:.3g} between the first '
                         f'and the second half of the periods, noise explains {expected[j]:.2g}')
    return tuple(found)


def _nanmean(x: np.ndarray) -> np.ndarray:
    """Return the mean over periods and grid, by joint."""
    return _mean(x.reshape(-1, x.shape[2]))
