"""
The parallel filter: the same low-pass on both sides of τ = W·χ, then decimation.

A linear filter F may be applied to both sides, F·τ = (F·W)·χ, without touching χ: it removes
torque ripple and noise above the motion, and what it leaves can be sampled more slowly
(Gautier's practice). That holds only where both sides go through exactly the same filter. So
the filter is an object that travels with the samples::

    y = samples.filter.apply(samples.tau)        # (m, n): rows kept, filtered
    W_j = samples.filter.apply(W[:, j])          # (m, p): regressor rows of joint j, all samples

``apply`` takes all N rows in time and returns the m rows that are kept, ``filter.rows``. It is a
symmetric finite impulse response (a windowed sinc): zero-phase, and each output depends on
2·half + 1 neighbouring inputs only. Hence

- an output is defined exactly where its window lies inside one stretch without gaps, and NaN
  efforts spoil only the outputs whose window holds them;
- only the outputs that are kept are computed;
- long data can be filtered in pieces that overlap by ``half`` rows: ``piece`` says which input
  rows a range of outputs needs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from robident_ros.recording.recording import read_only


@dataclass(frozen=True, eq=False)
class ParallelFilter:
    """
    A symmetric filter and the rows at which it is evaluated.

    :param kernel: weights of 2·half + 1 neighbouring rows, summing to one
    :param rows: input rows at which there are outputs, increasing
    :param length: number of input rows
    :param is_periodic: whether the last input row is followed by the first
    """

    kernel: np.ndarray
    rows: np.ndarray
    length: int
    is_periodic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, 'kernel', read_only(self.kernel))
        rows = np.array(self.rows, dtype=np.intp)
        rows.setflags(write=False)
        object.__setattr__(self, 'rows', rows)

    @property
    def half(self) -> int:
        """Rows on either side of an output that enter it."""
        return len(self.kernel) // 2

    @property
    def noise_gain(self) -> float:
        """Factor on the standard deviation of white noise."""
        return float(np.sqrt((self.kernel ** 2).sum()))

    def apply(self, columns: np.ndarray) -> np.ndarray:
        """Filter all N rows (first axis) and return those that are kept."""
        columns = np.asarray(columns, dtype=float)
        if len(columns) != self.length:
            raise ValueError(f'expected {self.length} rows, found {len(columns)}')
        if self.half == 0:
            return columns[self.rows]
        if self.is_periodic:
            turns = np.arange(-self.half, self.length + self.half) % self.length
            return self._evaluate(columns[turns], self.rows + self.half)
        return self._evaluate(columns, self.rows)

    def piece(self, start: int, stop: int) -> tuple[slice, 'ParallelFilter']:
        """
        Return what is needed for outputs start to stop of a filter that is not periodic.

        :return: the input rows needed, and the filter that makes the outputs from them
        """
        rows = self.rows[start:stop]
        needed = slice(int(rows[0]) - self.half, int(rows[-1]) + self.half + 1)
        return needed, ParallelFilter(self.kernel, rows - needed.start,
                                      needed.stop - needed.start)

    def _evaluate(self, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
        flat = np.ascontiguousarray(columns.reshape(len(columns), -1))
        out = np.empty((len(rows), flat.shape[1]))
        for k, row in enumerate(rows):
            out[k] = self.kernel @ flat[row - self.half:row + self.half + 1]
        return out.reshape(len(rows), *columns.shape[1:])


def lowpass_kernel(cutoff_hz: float, rate_hz: float, length_s: float,
                   window: Callable[[int], np.ndarray] = np.hanning) -> np.ndarray:
    """
    Return a windowed sinc that halves the amplitude at the cutoff.

    :param length_s: time from the middle to either end; longer is steeper
    :param window: the Hann window is steep, the Blackman window flat below the cutoff
    """
    half = max(int(round(length_s * rate_hz)), 1)
    steps = np.arange(-half, half + 1)
    kernel = np.sinc(2 * cutoff_hz / rate_hz * steps) * window(2 * half + 3)[1:-1]
    return kernel / kernel.sum()
