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
    t = np.linspace(recording.t[0], recording.t[-1], min(len(recording), COARSE))
    z = _normalised(recording, t)
    if z.size == 0:
        return None
    apart = False  # the motion must have moved away from where it was, before it comes back
    for lag in range(2, len(t) // 2):
        error = _mismatch(z, lag)
        apart = apart or error.mean() > 0.5
        if apart and _longest_run(error < 0.2, z) >= lag:
            return _refine(recording, t[1] - t[0], lag)
    return None


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


def _refine(recording: Recording, step: float, lag: int) -> float | None:
    """Return the lag near the given one at which the motion repeats best, if well enough."""
    t = np.linspace(recording.t[0], recording.t[-1], 4 * COARSE)
    z = _normalised(recording, t)
    lower, upper = (lag - 1) * step, (lag + 8) * step
    best = lower
    for _ in range(4):
        lags = np.linspace(lower, upper, 33)
        errors = [_repeat_error(z, t, candidate) for candidate in lags]
        best, width = float(lags[np.argmin(errors)]), lags[1] - lags[0]
        lower, upper = best - width, best + width
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
    t = np.linspace(recording.t[0], recording.t[-1], points)
    z = _normalised(recording, t)
    if recording.duration < 2 * period or z.size == 0:
        return recording.t[0], 0
    error = _shifted_mismatch(z, t, period)
    good = error < max(REPEATS, 4 * np.quantile(error, 0.25))
    shortest = 0.5 * period / (t[1] - t[0])
    runs = [run for run in _runs(good) if run[1] - run[0] >= shortest]
    if not runs:
        return recording.t[0], 0
    start, stop = t[runs[0][0]], min(t[runs[-1][1] - 1] + period, t[-1])
    return float(start), int((stop - start) / period + 0.02)
