"""
A recording: what the joints of a robot did and felt, over time.

Times are kept on whole nanoseconds, as ROS stamps are, so that a recording goes through a
bag or a CSV file and comes back the same to the last bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from robident_ros.errors import did_you_mean, RecordingError

EXACT_NS = 2 ** 53  # whole nanoseconds that a float of seconds can tell apart: 104 days

STRETCH = 50  # samples over which bursts even out
BURSTS = 3.0  # mean step over median step from which samples are said to come in bursts


@dataclass(frozen=True, eq=False)
class Recording:
    """
    Measured motion and efforts of named joints; validated, and read-only once made.

    :param t: time of each of the N samples [s], strictly increasing
    :param q: positions (N, n) [rad or m], all finite
    :param v: velocities (N, n) [rad/s or m/s], NaN where unknown; None where never measured
    :param tau: efforts or motor currents (N, n) [N·m, N or A], NaN where unknown
    :param joint_names: the n joints, in column order
    :param source: where the data came from, for messages and reports
    :param start_ns: what the clock of the recording showed at t = 0 [ns]
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    tau: np.ndarray
    joint_names: tuple[str, ...]
    source: str = 'data in memory'
    start_ns: int = 0

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.joint_names)
        t = np.asarray(self.t, dtype=float)
        if np.isfinite(t).all():
            t = np.rint(t * 1e9) / 1e9
        values = {'t': read_only(t), 'q': read_only(self.q), 'tau': read_only(self.tau),
                  'v': None if self.v is None else read_only(self.v), 'joint_names': names}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check_shapes()
        self._check_values()

    def _check_shapes(self) -> None:
        names = self.joint_names
        if not names or len(set(names)) != len(names) or not all(names):
            self._refuse(f'joint names must be there and differ from each other, found {names}')
        if self.t.ndim != 1 or len(self.t) < 2:
            self._refuse(f'time must be a vector of two samples or more, found {self.t.shape}')
        expected = (len(self.t), len(names))
        for name in ('q', 'v', 'tau'):
            value = getattr(self, name)
            if value is not None and value.shape != expected:
                self._refuse(f'{name} must have {expected[0]} rows (samples) and {expected[1]} '
                             f'columns (joints), found shape {value.shape}')

    def _check_values(self) -> None:
        if not np.isfinite(self.t).all():
            self._refuse(f'time of row {np.argmin(np.isfinite(self.t))} is not a number')
        steps = np.diff(self.t)
        if not (steps > 0).all():
            row = int(np.argmax(steps <= 0)) + 1
            self._refuse(f'time does not increase at row {row} ({self.t[row - 1]:.9g} s, then '
                         f'{self.t[row]:.9g} s); sort the samples and drop duplicates')
        if not np.isfinite(self.q).all():
            row, column = np.argwhere(~np.isfinite(self.q))[0]
            self._refuse(f'position of {self.joint_names[column]!r} at row {row} is not finite; '
                         'leave such samples out')
        for name in ('v', 'tau'):
            value = getattr(self, name)
            if value is not None and np.isinf(value).any():
                row, column = np.argwhere(np.isinf(value))[0]
                self._refuse(f'{name} of {self.joint_names[column]!r} at row {row} is infinite; '
                             'mark what is unknown as NaN')

    def _refuse(self, what: str) -> None:
        raise RecordingError(f'{self.source}: {what}')

    def __len__(self) -> int:
        return len(self.t)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.t[-1] - self.t[0])

    @property
    def rate(self) -> float:
        """
        Return the samples per second [Hz], by the median step: lost samples do not lower it.

        Where samples come in bursts, it is the median over stretches of samples that counts.
        """
        step, usual = self._steps()
        return 1 / (usual if usual > BURSTS * step else step)

    @property
    def is_bursty(self) -> bool:
        """Whether samples come in groups with next to no time between them."""
        step, usual = self._steps()
        return usual > BURSTS * step

    def _steps(self) -> tuple[float, float]:
        """Return the median step, and the median of mean steps over stretches of samples [s]."""
        reach = min(STRETCH, len(self.t) - 1)
        return (float(np.median(np.diff(self.t))),
                float(np.median(self.t[reach:] - self.t[:-reach]) / reach))

    def select(self, joint_names: Sequence[str]) -> 'Recording':
        """Return the named joints only, in the order they are named."""
        for name in joint_names:
            if name not in self.joint_names:
                self._refuse(f'has no joint {name!r}, {did_you_mean(name, self.joint_names)}')
        columns = [self.joint_names.index(name) for name in joint_names]
        return replace(self, q=self.q[:, columns], tau=self.tau[:, columns],
                       v=None if self.v is None else self.v[:, columns],
                       joint_names=tuple(joint_names))

    def between(self, start: float, stop: float) -> 'Recording':
        """Return the samples with start <= t < stop [s]; times stay as they are."""
        rows = slice(*np.searchsorted(self.t, [start, stop]))
        if rows.stop - rows.start < 2:
            self._refuse(f'has fewer than two samples from {start:g} s to {stop:g} s; '
                         f'it lasts from {self.t[0]:g} s to {self.t[-1]:g} s')
        return replace(self, t=self.t[rows], q=self.q[rows], tau=self.tau[rows],
                       v=None if self.v is None else self.v[rows])

    def rename(self, names: dict[str, str]) -> 'Recording':
        """Return the same data with joints renamed; joints that are not named keep theirs."""
        for name in names:
            if name not in self.joint_names:
                self._refuse(f'has no joint {name!r}, {did_you_mean(name, self.joint_names)}')
        return replace(self, joint_names=tuple(names.get(n, n) for n in self.joint_names))


def split_nanoseconds(stamps_ns: np.ndarray) -> tuple[np.ndarray, int]:
    """
    Return times [s] and the start [ns] they count from.

    Stamps since 1970 do not fit into a float to the nanosecond: they are counted from the
    first one. Smaller ones, as a simulator gives, stay as they are.
    """
    start_ns = int(stamps_ns[0]) if np.abs(stamps_ns).max() >= EXACT_NS else 0
    return (stamps_ns - start_ns) / 1e9, start_ns


def to_nanoseconds(recording: Recording) -> np.ndarray:
    """Return the stamps of all samples [ns]: the inverse of ``split_nanoseconds``."""
    return np.rint(recording.t * 1e9).astype(np.int64) + recording.start_ns


def read_only(x: ArrayLike) -> np.ndarray:
    """Return floats that cannot be written to: a copy, unless ``x`` is closed already."""
    if isinstance(x, np.ndarray) and x.dtype == float and x.flags.owndata \
            and not x.flags.writeable:
        return x
    copy = np.array(x, dtype=float)
    copy.setflags(write=False)
    return copy
