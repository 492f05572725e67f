"""
From joint state messages to a recording: the wanted joints, in one order, on one clock.

Publishers differ in what they send: joints in any order that may change, joints of other
devices, fields left empty. Messages are taken in batch by batch; what does not fit into a
recording is dropped with a note.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from robident_ros.errors import did_you_mean, RecordingError
from robident_ros.recording.cdr import decode, FIELDS, JointStates, RawMessages
from robident_ros.recording.clock import choose_stamps, increasing
from robident_ros.recording.recording import Recording, split_nanoseconds


class _Rows:
    """Rows appended to one array that grows in place, so that nothing is held twice."""

    def __init__(self, width: int, kind: type) -> None:
        self._rows, self._count = np.empty((0, width), kind), 0

    def append(self, rows: np.ndarray) -> None:
        count = self._count + len(rows)
        if count > len(self._rows):
            self._rows.resize((count * 5 // 4, rows.shape[1]), refcheck=False)
        self._rows[self._count:count] = rows
        self._count = count

    def take(self) -> np.ndarray:
        self._rows.resize((self._count, self._rows.shape[1]), refcheck=False)
        return self._rows


class Collector:
    """Batches of messages in, one recording out."""

    def __init__(self, joint_names: Sequence[str] | None) -> None:
        self.names = None if joint_names is None else tuple(joint_names)
        self.times = _Rows(2, np.int64)  # header stamp, receive time
        self.values: dict[str, _Rows] = {}
        self.seen: set[str] = set()
        self.chooses_itself = joint_names is None
        self.undecoded = self.misshapen = 0

    @property
    def is_empty(self) -> bool:
        """Whether no message with any joint came in."""
        return not self.seen

    def add(self, raw: RawMessages) -> None:
        """Take a batch of messages in."""
        blocks = list(decode(raw))
        self.undecoded += len(raw.starts) - sum(len(block.index) for block in blocks)
        if not blocks:
            return
        self.seen.update(name for block in blocks for name in block.names)
        if self.names is None:
            self.names = _commonest_names(blocks)
        if not self.values:
            self.values = {field: _Rows(len(self.names), float) for field in FIELDS}
        shape = (len(raw.starts), len(self.names))
        values = {field: np.full(shape, np.nan) for field in FIELDS}
        stamps, wanted = np.zeros(shape[0], np.int64), np.zeros(shape[0], dtype=bool)
        for block in blocks:
            stamps[block.index] = block.stamp_ns
            wanted[block.index] = bool(set(block.names) & set(self.names))
            self._fill(values, block)
        every = wanted.all()
        self.times.append(np.column_stack([stamps, raw.received_ns])[wanted])
        for field in FIELDS:
            values[field][np.isinf(values[field])] = np.nan
            self.values[field].append(values[field] if every else values[field][wanted])

    def _fill(self, values: dict[str, np.ndarray], block: JointStates) -> None:
        """Copy the columns of the wanted joints; a field left empty stays unknown."""
        for field in FIELDS:
            numbers = block.fields[field]
            if numbers.shape[1] != len(block.names):
                self.misshapen += len(block.index) if numbers.shape[1] else 0
            elif block.names == self.names:
                values[field][block.index] = numbers
            else:
                for column, name in enumerate(self.names):
                    if name in block.names:
                        values[field][block.index, column] = \
                            numbers[:, block.names.index(name)]

    def to_recording(self, source: Path, notes: list[str]) -> Recording:
        """Put everything together, on one clock; what was dropped goes to the notes."""
        self._check_joints(source)
        times, q = self.times.take(), self.values['position'].take()
        complete = np.isfinite(q).all(axis=1)
        self._note_losses(q, complete, notes)
        complete = np.flatnonzero(complete)
        if len(complete) < 2:
            raise RecordingError(f'{source}: fewer than two messages hold positions of all of '
                                 f'{", ".join(self.names)}; choose joints that are published '
                                 'together')
        received = times[complete, 1]
        stamps = choose_stamps(times[complete, 0], received, notes)
        stamps, rows = increasing(stamps, received, notes)
        rows = complete[rows]
        t, start_ns = split_nanoseconds(stamps)
        q = _closed(q, rows)
        v, tau = (_closed(self.values[field].take(), rows) for field in ('velocity', 'effort'))
        if np.isnan(tau).all():
            notes.append('no message has efforts: the motion can be looked at, but nothing '
                         'can be identified')
        return Recording(t, q, None if np.isnan(v).all() else v, tau, self.names,
                         str(source), start_ns)

    def _check_joints(self, source: Path) -> None:
        for name in self.names:
            if name not in self.seen:
                raise RecordingError(f'{source}: has no joint {name!r}, '
                                     f'{did_you_mean(name, sorted(self.seen))}')

    def _note_losses(self, q: np.ndarray, complete: np.ndarray, notes: list[str]) -> None:
        if self.undecoded:
            notes.append(f'{self.undecoded} messages are damaged and were dropped')
        if self.misshapen:
            notes.append(f'{self.misshapen} fields have another number of values than there '
                         'are joint names and were taken as empty')
        left_out = sorted(self.seen - set(self.names))
        if self.chooses_itself and left_out:
            notes.append(f'{", ".join(left_out)} left out, as most messages do not hold them; '
                         'name the joints to read others')
        for column, name in enumerate(self.names):
            lost = np.flatnonzero(np.isnan(q[:, column]))
            if len(lost):
                notes.append(f'joint {name!r} has no position in {len(lost)} of {len(q)} '
                             f'messages, first in message {lost[0]}: these were dropped; read '
                             'without this joint to keep them')


def _commonest_names(blocks: list[JointStates]) -> tuple[str, ...]:
    """Return the joints that stand together in most messages, as the first of these has them."""
    counts: Counter = Counter()
    for block in blocks:
        counts[frozenset(block.names)] += len(block.index)
    return max(sorted(blocks, key=lambda block: block.index[0]),
               key=lambda block: counts[frozenset(block.names)]).names


def _closed(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Pick rows and make the result read-only, so that it need not be copied again."""
    picked = values if len(rows) == len(values) else values[rows]
    picked.setflags(write=False)
    return picked
