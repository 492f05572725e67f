"""
Period-averaged means while the robot still moves.

Samples are sorted into bins over the period. A period counts when its positions repeat those of
the period before, so that approach and ramps stay out without anyone telling; the mean of the
efforts over the periods that count settles as their noise averages out.
"""

import numpy as np
from robident_ros.arrays import read_only

BINS = 50
REPEATED = 0.05  # of a joint's range: how far a repeated position may differ, and jitter moves it
STILL = 1e-3  # rad or m; a joint that moves less has no range to compare with


class PeriodMean:
    """Running means of positions and efforts over periods that repeat themselves."""

    def __init__(self, period_s: float, joints: int, bins: int = BINS) -> None:
        self.period_s, self.bins = period_s, bins
        self._sums = np.zeros((bins, 2 * joints))
        self._counts = np.zeros(bins, dtype=int)
        self._number: int | None = None  # of the period that is being filled
        self._start = 0.0
        self._last: np.ndarray | None = None
        self._total = np.zeros((bins, 2 * joints))
        self.periods = 0
        self.change = np.inf  # by the last period, relative to the rms effort

    def add(self, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> bool:
        """
        Take samples in; tells whether the means have changed.

        :param t: times (N,) in s, increasing; q and tau (N, n).
        """
        if self._number is None and len(t):
            self._number, self._start = 0, float(t[0])
        phase = (t - self._start) / self.period_s
        number = np.floor(phase).astype(int)
        changed = False
        for period in np.unique(number):
            if period > self._number:
                changed |= self._finish(period == self._number + 1)
                self._number = int(period)
            here = number == period
            bins = ((phase[here] - period) * self.bins).astype(int)
            np.add.at(self._sums, bins, np.hstack([q[here], tau[here]]))
            np.add.at(self._counts, bins, 1)
        return changed

    def means(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return times in the period (bins,), mean positions and mean efforts (bins, n)."""
        mean = self._total / max(self.periods, 1)
        n = mean.shape[1] // 2
        t = (np.arange(self.bins) + 0.5) * self.period_s / self.bins
        return read_only(t), read_only(mean[:, :n]), read_only(mean[:, n:])

    def _finish(self, followed: bool) -> bool:
        """Close a period; ``followed``: whether the next one comes without a gap."""
        whole = (self._counts > 0).all()
        values = self._sums / np.maximum(self._counts, 1)[:, None] if whole else None
        self._sums[:], self._counts[:] = 0, 0
        before, self._last = self._last, values if followed else None
        if values is None or before is None or not self._repeats(values, before):
            return False
        if self.periods == 0:
            self._total, self.periods = before.copy(), 1
        n = values.shape[1] // 2
        mean = self._total / self.periods
        self._total += values
        self.periods += 1
        rms = np.sqrt(np.mean(values[:, n:]**2))
        step = self._total[:, n:] / self.periods - mean[:, n:]
        self.change = float(np.sqrt(np.mean(step**2)) / rms) if rms > 0 else 0.0
        return True

    def _repeats(self, values: np.ndarray, before: np.ndarray) -> bool:
        n = values.shape[1] // 2
        spread = np.ptp(before[:, :n], axis=0)
        if spread.max() < STILL:
            return False
        apart = np.abs(values[:, :n] - before[:, :n]).max(axis=0)
        return bool(np.all(apart <= np.maximum(REPEATED * spread, STILL)))
