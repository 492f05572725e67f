"""
Does a motion repeat itself: its period, and the part of a recording where it is steady.

Positions are compared with themselves a lag later. The smallest lag, beyond those where the robot
has hardly moved, at which a stretch of at least that length comes back, is the period. Approach,
ramps and rests before and after do not matter.
"""

import numpy as np
from robident_ros.recording.recording import Recording

COARSE = 2000  # points on which a period is looked for
REPEATS = 0.02  # rms difference between periods, of rms motion, below which motion repeats


def find_period(recording: Recording) -> float | None:
    """Return the period of a motion that repeats itself at least twice, or None."""
    t = _moving_time(recording, min(len(recording), COARSE))
    z = _normalised(recording, t)
    if z.size == 0:
        return None
    apart = False  # the motion must have moved away from where it was, before it comes back
    for lag in range(2, int(0.53 * len(t))):  # two periods, but for a few samples
        error = _mismatch(z, lag)
        apart = apart or error.mean() > 0.5
        if apart and _longest_run(error < 0.2, z) >= 0.88 * lag:
            return _refine(recording, t, lag)
    return None


def _moving_time(recording: Recording, points: int) -> np.ndarray:
    """Return even times from when the robot starts to move to when it stops."""
    t = np.linspace(recording.t[0], recording.t[-1], points)
    z = _normalised(recording, t)
    step = max(points // 100, 1)
    change = np.abs(z[step:] - z[:-step]).max(axis=1, initial=0.0)
    moving = np.flatnonzero(change > 0.05 * change.max(initial=0.0))
    if not len(moving):
        return t
    return np.linspace(t[moving[0]], t[moving[-1] + step], points)


def _normalised(recording: Recording, t: np.ndarray) -> np.ndarray:
    """Return the positions of joints that move, with mean 0 and rms 1."""
    q = np.column_stack([np.interp(t, recording.t, x) for x in recording.q.T])
    std = q.std(axis=0)
    moving = std > max(1e-2 * std.max(), 1e-9)
    return (q[:, moving] - q[:, moving].mean(axis=0)) / std[moving]


def _mismatch(z: np.ndarray, lag: int) -> np.ndarray:
    """Return the rms difference over joints between the motion and itself a lag later."""
    return np.sqrt(((z[lag:] - z[:-lag]) ** 2).mean(axis=1))


def _longest_run(good: np.ndarray, z: np.ndarray) -> int:
    """Return the length of the longest stretch of good samples in which the robot moves."""
    longest = 0
    for start, stop in _runs(good):
        if stop - start > longest and z[start:stop].var(axis=0).mean() > 0.2:
            longest = stop - start
    return longest


def _runs(good: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist()))


def _refine(recording: Recording, coarse: np.ndarray, lag: int) -> float | None:
    """Return the lag from the given one on at which the motion repeats best, if well enough."""
    t = np.linspace(coarse[0], coarse[-1], 4 * COARSE)
    z, step = _normalised(recording, t), coarse[1] - coarse[0]
    best = lag * step
    while _repeat_error(z, t, best + step) < _repeat_error(z, t, best):
        best += step  # down to the next minimum
    for width in step / 8.0 ** np.arange(4):
        lags = best + width * np.linspace(-1, 1, 17)
        errors = [_repeat_error(z, t, candidate) for candidate in lags]
        best = float(lags[np.argmin(errors)])
    return best if min(errors) < REPEATS else None


def _repeat_error(z: np.ndarray, t: np.ndarray, lag: float) -> float:
    """Return the rms mismatch of the best-repeating half of what can be compared."""
    error = _shifted_mismatch(z, t, lag)
    return float(np.sqrt(np.mean(np.sort(error)[:len(error) // 2] ** 2)))


def _shifted_mismatch(z: np.ndarray, t: np.ndarray, lag: float) -> np.ndarray:
    inside = t + lag <= t[-1]
    later = np.column_stack([np.interp(t[inside] + lag, t, x) for x in z.T])
    return np.sqrt(((later - z[inside]) ** 2).mean(axis=1))


def find_steady(recording: Recording, period: float) -> tuple[float, int]:
    """Return when the repeating part of a motion of known period starts, and its periods."""
    points = int(min(max(COARSE, 200 * recording.duration / period), 20 * COARSE))
    t = _moving_time(recording, points)
    z = _normalised(recording, t)
    if t[-1] - t[0] < 1.9 * period or z.size == 0:
        return recording.t[0], 0
    error = _shifted_mismatch(z, t, period)
    good = error < np.clip(4 * np.quantile(error, 0.25), REPEATS, 0.1)
    shortest = 0.25 * period / (t[1] - t[0])  # by chance, motion repeats for less than that
    runs = [run for run in _runs(good) if run[1] - run[0] >= shortest]
    if not runs:
        return recording.t[0], 0
    start, stop = t[runs[0][0]], min(t[runs[-1][1] - 1] + period, t[-1])
    return float(start), int((stop - start) / period + 0.05)
