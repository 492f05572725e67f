"""Uneven samples on an even grid: cubic interpolation between gaps, and what it does to noise."""

from typing import NamedTuple

import numpy as np


class Resampled(NamedTuple):
    """Values on a grid; ``noise_gain`` is the mean factor on the variance of white noise."""

    values: np.ndarray
    noise_gain: float


def interpolate(t: np.ndarray, x: np.ndarray, grid: np.ndarray, gap: float = np.inf) -> Resampled:
    """
    Interpolate columns by the cubic through the four nearest samples.

    :param gap: grid points inside a longer pause between samples become NaN [s]
    """
    right = np.clip(np.searchsorted(t, grid, side='right'), 1, len(t) - 1)
    first = np.clip(right - 2, 0, max(len(t) - 4, 0))
    index = first[:, None] + np.arange(min(4, len(t)))
    weights = _lagrange(t[index], grid)
    # Samples close together let a cubic swing wide: there, a straight line is safer.
    wild = (weights ** 2).sum(axis=1) > 4
    share = (grid - t[right - 1]) / (t[right] - t[right - 1])
    line = np.where(index == (right - 1)[:, None], 1 - share[:, None],
                    np.where(index == right[:, None], share[:, None], 0.0))
    weights = np.where(wild[:, None], line, weights)
    values = np.zeros((len(grid), x.shape[1]))
    for k in range(index.shape[1]):
        w = weights[:, k, None]
        values += np.where(w == 0, 0, w * x[index[:, k]])  # an unknown neighbour may not matter
    inside = (t[right] - t[right - 1] > gap) & (grid > t[right - 1]) & (grid < t[right])
    values[inside | (grid < t[0] - 1e-9) | (grid > t[-1] + 1e-9)] = np.nan
    return Resampled(values, float((weights ** 2).sum(axis=1).mean()))


def interpolate_known(t: np.ndarray, x: np.ndarray, grid: np.ndarray,
                      gap: float = np.inf) -> np.ndarray:
    """Interpolate each column between its known values; a longer pause of them is a gap."""
    known = np.isfinite(x)
    if known.all():
        return interpolate(t, x, grid, gap).values
    out = np.full((len(grid), x.shape[1]), np.nan)
    for j in np.flatnonzero(known.sum(axis=0) >= 2):
        rows = known[:, j]
        out[:, j] = interpolate(t[rows], x[rows, j:j + 1], grid, gap).values[:, 0]
    return out


def _lagrange(nodes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the weights of each node (rows: one set of nodes per point)."""
    weights = np.ones(nodes.shape)
    for k in range(nodes.shape[1]):
        for other in range(nodes.shape[1]):
            if other != k:
                weights[:, k] *= (at - nodes[:, other]) / (nodes[:, k] - nodes[:, other])
    return weights


def even_grid(t: np.ndarray, rate_hz: float) -> np.ndarray:
    """Return times from the first to the last sample, ``rate_hz`` per second."""
    count = int((t[-1] - t[0]) * rate_hz + 1e-3) + 1  # stamps on whole ns are never quite even
    return np.minimum(t[0] + np.arange(count) / rate_hz, t[-1])


def segments(t: np.ndarray, gap: float) -> list[slice]:
    """Return the stretches of samples between gaps."""
    cuts = np.flatnonzero(np.diff(t) > gap) + 1
    return [slice(a, b) for a, b in zip([0, *cuts], [*cuts, len(t)])]
