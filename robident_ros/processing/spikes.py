"""
Spikes in efforts: values that a few neighbours on either side contradict.

Behind a filter or an average a spike is a bump that no weight takes away again, so it must go
before. Each value is compared with the running median (Hampel's identifier), which follows
steps, as friction makes them, and ignores what is shorter than half its window.
"""

import numpy as np

WINDOW = 7  # samples: up to three in a row can be a spike
DEVIATIONS = 10.0  # robust standard deviations from the running median
STEPS = 3.0  # of the resolution: a rounded effort jumps
SHARE = 0.5  # of the effort's own standard deviation: less does no harm
NORMAL_MAD = 0.6745


def find_spikes(tau: np.ndarray) -> np.ndarray:
    """Mark spikes in efforts (N, n); what is unknown is none."""
    from scipy.ndimage import median_filter
    spikes = np.zeros(tau.shape, dtype=bool)
    for j, effort in enumerate(tau.T):
        rows = np.flatnonzero(np.isfinite(effort))
        if len(rows) <= WINDOW:
            continue
        known = effort[rows]
        deviation = np.abs(known - median_filter(known, WINDOW, mode='mirror'))
        usual = np.median(deviation) / NORMAL_MAD
        # the spread of the effort itself, which spikes do not move
        spread = np.median(np.abs(known - np.median(known))) / NORMAL_MAD
        resolution = np.median(np.diff(np.unique(known))) if np.ptp(known) > 0 else 0.0
        bound = max(DEVIATIONS * usual, SHARE * spread, STEPS * resolution)
        spikes[rows, j] = (deviation > bound) & (bound > 0)
    return spikes
