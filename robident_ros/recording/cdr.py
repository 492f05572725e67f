"""
Bulk decoding of sensor_msgs/JointState messages from their CDR bytes.

A stream of joint states repeats the same bytes but for the stamp and the numbers. So the layout
of one message is parsed, all messages that have the same bytes everywhere else are found by one
comparison, and their numbers are cut out as columns; no object is made per message. Messages of
another layout (another joint order, say) form the next group. Where nearly every message
differs, they are parsed one by one.

The bytes: a four-byte header (the second byte tells the byte order), then, each aligned to its
size counted from there: stamp (int32 s, uint32 ns), frame_id (length, text), names (count, then
length and text each), positions, velocities, efforts (count, then doubles).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import error as StructError, pack_into, unpack_from
from typing import NamedTuple

import numpy as np

HEADER = 4  # bytes before the body, from where alignment counts
FIELDS = ('position', 'velocity', 'effort')
MANY_LAYOUTS = 8  # per batch; from there on, comparing with all others costs more than it saves


class RawMessages(NamedTuple):
    """Serialised messages in one buffer of bytes, each with the time it was received [ns]."""

    buffer: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    received_ns: np.ndarray


class JointStates(NamedTuple):
    """Decoded messages that name the same joints in the same order."""

    index: np.ndarray  # which messages of the batch these are
    names: tuple[str, ...]
    stamp_ns: np.ndarray
    fields: dict[str, np.ndarray]  # (messages, numbers), of FIELDS


@dataclass(frozen=True)
class Layout:
    """Where the numbers of a message stand: ``slots`` has (offset, count) by field."""

    order: str
    names: tuple[str, ...]
    slots: dict[str, tuple[int, int]]
    size: int


class CdrError(ValueError):
    """The bytes are not a joint state."""


def parse_layout(message: bytes) -> Layout:
    """Find names and numbers in one message."""
    try:
        return _parse_layout(message)
    except (StructError, UnicodeDecodeError, IndexError) as error:
        raise CdrError(str(error)) from error


def _parse_layout(message: bytes) -> Layout:
    if message[0] != 0 or message[1] not in (0, 1):
        raise CdrError('is not plain CDR')
    order = '<' if message[1] else '>'
    offset = HEADER + 8  # behind the stamp

    def count(limit: int) -> int:
        nonlocal offset
        offset = _align(offset, 4) + 4
        (value,) = unpack_from(order + 'I', message, offset - 4)
        if value > limit:
            raise CdrError('counts more than the message holds')
        return value

    def text() -> str:
        nonlocal offset
        size = count(len(message))
        offset += size
        return bytes(message[offset - size:offset]).rstrip(b'\0').decode()

    text()  # frame_id
    names = tuple(text() for _ in range(count(len(message) // 4)))
    slots = {}
    for field in FIELDS:
        numbers = count(len(message) // 8)
        if numbers:
            offset = _align(offset, 8)
        slots[field] = (offset, numbers)
        offset += 8 * numbers
    if offset > len(message):
        raise CdrError('ends early')
    return Layout(order, names, slots, offset)


def _align(offset: int, size: int) -> int:
    return offset + (HEADER - offset) % size


def decode(raw: RawMessages) -> Iterator[JointStates]:
    """Decode a batch, in groups of equal layout; messages that are damaged are left out."""
    for length in np.unique(raw.lengths):
        index = np.flatnonzero(raw.lengths == length)
        yield from _decode_rows(_gather(raw, index, int(length)), index)


def _gather(raw: RawMessages, index: np.ndarray, length: int) -> np.ndarray:
    """Return the bytes of messages of one length, a row each."""
    starts = raw.starts[index]
    if len(starts) > 1 and (np.diff(starts) == starts[1] - starts[0]).all():
        return np.lib.stride_tricks.as_strided(  # evenly spaced: no copy is needed
            raw.buffer[starts[0]:], (len(starts), length), (int(starts[1] - starts[0]), 1))
    return raw.buffer[starts[:, None] + np.arange(length)]


def _decode_rows(rows: np.ndarray, index: np.ndarray) -> Iterator[JointStates]:
    layouts = 0
    while len(rows):
        first = rows[0].tobytes()
        try:
            layout = parse_layout(first)
        except CdrError:
            rows, index = rows[1:], index[1:]
            continue
        layouts += 1
        if layouts > MANY_LAYOUTS:
            same = np.arange(len(rows)) == 0
        else:
            same = _have_layout(rows, rows[0], layout)
        whole = same.all()
        yield _cut(rows if whole else rows[same], index[same], layout)
        if whole:
            return
        # Slicing is free where one by one, gathering is not.
        rest = slice(1, None) if layouts > MANY_LAYOUTS else ~same
        rows, index = rows[rest], index[rest]


def _have_layout(rows: np.ndarray, first: np.ndarray, layout: Layout) -> np.ndarray:
    """Tell which rows equal the first in every byte that is neither stamp nor number."""
    same = np.ones(len(rows), dtype=bool)
    start = 0
    numbers = [(HEADER, 8), *((offset, 8 * count) for offset, count in layout.slots.values())]
    for offset, size in [*numbers, (layout.size, 0)]:
        same &= (rows[:, start:offset] == first[start:offset]).all(axis=1)
        start = offset + size
    return same


def _cut(rows: np.ndarray, index: np.ndarray, layout: Layout) -> JointStates:
    def numbers(offset: int, count: int, kind: str) -> np.ndarray:
        width = np.dtype(kind).itemsize
        block = np.ascontiguousarray(rows[:, offset:offset + width * count])
        return block.view(layout.order + kind).reshape(len(rows), count)

    seconds = numbers(HEADER, 1, 'i4')[:, 0].astype(np.int64)
    stamp_ns = seconds * 1_000_000_000 + numbers(HEADER + 4, 1, 'u4')[:, 0]
    fields = {name: numbers(*slot, 'f8') for name, slot in layout.slots.items()}
    return JointStates(index, layout.names, stamp_ns, fields)


def encode(names: tuple[str, ...], stamp_ns: np.ndarray,
           fields: dict[str, np.ndarray | None]) -> np.ndarray:
    """
    Serialise joint states as rows of bytes, one message each.

    :param fields: position, velocity and effort (N, n), or None for a field left empty
    """
    template = _empty_message(names, [fields[name] is not None for name in FIELDS])
    layout = parse_layout(template)
    rows = np.tile(np.frombuffer(template, np.uint8), (len(stamp_ns), 1))
    seconds, nanoseconds = np.divmod(stamp_ns, 1_000_000_000)
    stamps = np.column_stack([seconds.astype('<i4').view('<u4'), nanoseconds.astype('<u4')])
    rows[:, HEADER:HEADER + 8] = stamps.astype('<u4').view(np.uint8)
    for name, (offset, count) in layout.slots.items():
        if count:
            values = np.ascontiguousarray(fields[name], '<f8')
            rows[:, offset:offset + 8 * count] = values.view(np.uint8)
    return rows


def _empty_message(names: tuple[str, ...], present: list[bool]) -> bytes:
    """Return a little-endian message with all numbers zero."""
    message = bytearray(b'\0\1\0\0' + bytes(8))

    def count(value: int) -> None:
        message.extend(bytes(_align(len(message), 4) - len(message) + 4))
        pack_into('<I', message, len(message) - 4, value)

    def text(value: str) -> None:
        data = value.encode() + b'\0'
        count(len(data))
        message.extend(data)

    text('')  # frame_id
    count(len(names))
    for name in names:
        text(name)
    for is_present in present:
        count(len(names) if is_present else 0)
        if is_present:
            message.extend(bytes(_align(len(message), 8) - len(message) + 8 * len(names)))
    return bytes(message)
