"""Which efforts are saturated: at a limit that is given, or clipped as their values show."""

from collections.abc import Mapping

import numpy as np
from robident_ros.errors import ConfigError, did_you_mean
from robident_ros.recording.recording import Recording

FEWEST = 10  # samples at one extreme value that can be told from chance
CROWDED = 5  # times as many samples at the extreme value as at the next one


def find_saturated(recording: Recording, limits: Mapping[str, float]) -> np.ndarray:
    """
    Mark saturated efforts (N, n).

    A joint without a limit is clipped where its extreme value recurs exactly, far more often than
    the value next to it. (The top of a coarsely rounded sine recurs too, but hardly more than
    the step below.)

    :param limits: efforts at or above which a joint is saturated, by name
    """
    for name in limits:
        if name not in recording.joint_names:
            raise ConfigError(f'processing: effort_limits: unknown joint {name!r}, '
                              f'{did_you_mean(name, recording.joint_names)}')
    saturated = np.zeros(recording.tau.shape, dtype=bool)
    for j, name in enumerate(recording.joint_names):
        tau = recording.tau[:, j]
        if name in limits:
            saturated[:, j] = np.abs(tau) >= limits[name]
        else:
            saturated[:, j] = _is_clipped(tau, recording.q[:, j]) | \
                _is_clipped(-tau, recording.q[:, j])
    return saturated


def _is_clipped(tau: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Mark samples at the highest value, if it is a limit."""
    levels, counts = np.unique(tau[np.isfinite(tau)], return_counts=True)
    if len(levels) < 2 or counts[-1] < max(FEWEST, CROWDED * counts[-2]):
        return np.zeros(len(tau), dtype=bool)
    top = tau == levels[-1]
    # A robot at rest may hold one value for long; one that moves does not, unless clipped.
    return top if np.ptp(q[top]) > 1e-2 * np.ptp(q) else np.zeros(len(tau), dtype=bool)
