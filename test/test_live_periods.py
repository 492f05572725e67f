"""Means over periods, while these come in piece by piece."""

import numpy as np
from robident_ros.processing.live_periods import PeriodMean

PERIOD, RATE = 2.0, 100.0


def motion(t: np.ndarray) -> np.ndarray:
    w = 2 * np.pi / PERIOD
    return np.column_stack([np.sin(w * t), 0.5 * np.cos(2 * w * t)])


def feed(mean: PeriodMean, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> list[int]:
    """Give pieces of odd length; return the number of periods after each change."""
    changes = []
    for piece in np.array_split(np.arange(len(t)), 37):
        if mean.add(t[piece], q[piece], tau[piece]):
            changes.append(mean.periods)
    return changes


def test_the_mean_settles_with_the_root_of_the_periods() -> None:
    """Noise of the mean falls as 1/√periods; the bounds allow for one random draw."""
    t = np.arange(0, 20 * PERIOD + 0.5, 1 / RATE)
    noise = np.random.default_rng(0).normal(size=(len(t), 2))
    mean = PeriodMean(PERIOD, 2)
    assert feed(mean, t, motion(t), 3 * motion(t) + noise) == list(range(2, 21))
    times, q, tau = mean.means()
    per_bin = PERIOD * RATE / mean.bins
    expected = 1 / np.sqrt(20 * per_bin)
    smooth = np.array([[3 * motion(k + np.linspace(-0.5, 0.5, 4) / RATE).mean(axis=0)]
                       for k in times]).reshape(-1, 2)
    spread = np.std(tau - smooth)
    assert 0.6 * expected < spread < 1.6 * expected
    assert mean.change < 0.05


def test_approach_and_pauses_do_not_count() -> None:
    t = np.arange(0, 8 * PERIOD, 1 / RATE)
    q = motion(t) * np.minimum(t / (3 * PERIOD), 1)[:, None]  # grows over three periods
    mean = PeriodMean(PERIOD, 2)
    feed(mean, t, q, q)
    assert mean.periods == 4  # of five steady ones, the last is not complete
    still = PeriodMean(PERIOD, 2)
    feed(still, t, np.zeros((len(t), 2)), np.ones((len(t), 2)))
    assert still.periods == 0


def test_a_gap_of_a_period_breaks_the_row() -> None:
    t = np.arange(0, 6.2 * PERIOD, 1 / RATE)
    t = t[(t < 2 * PERIOD) | (t >= 3 * PERIOD)]
    mean = PeriodMean(PERIOD, 2)
    feed(mean, t, motion(t), motion(t))
    assert mean.periods == 4
