"""
Raw messages from the mcap storage of rosbag2, also where the file is damaged or has no index.

An mcap file is a sequence of records: one byte of kind, eight bytes of length, content. Messages
stand in chunks, compressed or not, or directly in the file. They are read in the order they
were written, so that neither an index nor a footer is needed; of a chunk that is cut off, the
messages in front of the cut are read too.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import error as StructError, Struct, unpack_from
from zlib import crc32

import numpy as np
from robident_ros.errors import RecordingError
from robident_ros.recording.cdr import RawMessages
from robident_ros.recording.compression import expand

MAGIC = b'\x89MCAP0\r\n'
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, STATISTICS = 2, 3, 4, 5, 6, 11
BATCH_BYTES = 1_000_000
RECORD = Struct('<BQ')  # kind, length
MESSAGE_HEAD = Struct('<HIQQ')  # channel, sequence number, log time, publish time
STATISTICS_HEAD = Struct('<QHIIIIQQI')  # totals and times, bytes of the counts that follow
COUNT = Struct('<HQ')  # channel, its messages
CHUNK_HEAD = Struct('<QQQI')  # first time, last time, size when decompressed, checksum or 0


def read_topics(path: Path) -> dict[str, str]:
    """Return the message type of each topic."""
    scan = _Scan(path, '', [])
    for _ in scan.messages():
        pass
    return {topic: scan.types.get(schema, '') for topic, schema in scan.channels}


def read_messages(path: Path, topic: str, notes: list[str]) -> Iterator[RawMessages]:
    """Yield the messages of a topic in batches; what is lost goes to the notes."""
    return _Scan(path, topic, notes).messages()


class _Scan:
    """One walk through the file; schemas and channels become known on the way."""

    def __init__(self, path: Path, topic: str, notes: list[str]) -> None:
        self.path, self.topic, self.notes = path, topic, notes
        self.types: dict[int, str] = {}
        self.channels: set[tuple[str, int]] = set()  # topic, number of its schema
        self.wanted: set[int] = set()  # numbers of the channels of the topic
        self.counts: dict[int, int] = {}  # messages of each channel, as the file says
        self.read = 0  # messages of the topic that were found

    def messages(self) -> Iterator[RawMessages]:
        with self.path.open('rb') as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise RecordingError(f'{self.path}: is not an mcap file, or its start is lost')
            size, kind, whole, loose = self.path.stat().st_size, 0, True, bytearray()
            while kind != FOOTER and whole and len(head := file.read(RECORD.size)) == RECORD.size:
                kind, length = RECORD.unpack(head)
                content = file.read(min(length, size - file.tell()))
                whole = len(content) == length
                if kind != CHUNK:  # messages need not stand in chunks
                    loose += head + content
                if kind == CHUNK or len(loose) > BATCH_BYTES:
                    yield from self._messages_in(bytes(loose))
                    loose.clear()
                if kind == CHUNK:
                    yield from self._chunk_messages(content, file.tell() - len(content), whole)
            yield from self._messages_in(bytes(loose))
            if kind != FOOTER or not whole:
                self.notes.append(f'the file ends at byte {file.tell()} without its closing mark:'
                                  ' what would follow is lost, all whole messages were read')
            self._compare_counts()

    def _compare_counts(self) -> None:
        """Say how many messages are missing, where the file knows how many there were."""
        expected = sum(self.counts.get(channel, 0) for channel in self.wanted)
        if self.read < expected:
            self.notes.append(f'{expected - self.read} of {expected} messages of {self.topic} are '
                              'lost')

    def _chunk_messages(self, record: bytes, offset: int, whole: bool) -> Iterator[RawMessages]:
        """Yield the messages of one chunk, or of what there is of it."""
        try:
            data = _decompress(record)
        except ValueError as error:
            self.notes.append(f'the chunk at byte {offset} is lost: {error}')
            return
        yield from self._messages_in(data, f'the chunk at byte {offset}' if whole else '')

    def _messages_in(self, data: bytes | memoryview, place: str = '') -> Iterator[RawMessages]:
        """
        Yield the messages of a sequence of records, if there are any.

        :param place: of records that should fill the data to the end, for the notes.
        """
        found, start = [], 0
        while start + RECORD.size <= len(data):
            kind, length = RECORD.unpack_from(data, start)
            start += RECORD.size
            self._read_record(kind, data, start, start + length, found)
            start += length
        if place and start != len(data):
            self.notes.append(f'a record in {place} is damaged: it runs over the end, what stood '
                              'behind it is lost')
        self.read += len(found)
        if found:
            starts, lengths, received = np.array(found, np.uint64).T.astype(np.int64)
            yield RawMessages(np.frombuffer(data, np.uint8), starts, lengths, received)

    def _read_record(self, kind: int, view: bytes | memoryview, start: int, stop: int,
                     found: list[tuple[int, int, int]]) -> None:
        """Take one record in; a message that is wanted is added to those found."""
        if stop > len(view):
            return
        if kind == MESSAGE:
            if stop - start >= MESSAGE_HEAD.size:
                channel, _, received, _ = MESSAGE_HEAD.unpack_from(view, start)
                if channel in self.wanted:
                    body = start + MESSAGE_HEAD.size
                    found.append((body, stop - body, received))
        elif kind == SCHEMA:
            (number,) = unpack_from('<H', view, start)
            self.types[number] = _text(view, start + 2)
        elif kind == CHANNEL:
            number, schema = unpack_from('<HH', view, start)
            topic = _text(view, start + 4)
            self.channels.add((topic, schema))
            if topic == self.topic:
                self.wanted.add(number)
        elif kind == STATISTICS and stop - start >= STATISTICS_HEAD.size:
            first = start + STATISTICS_HEAD.size
            last = stop - (stop - first) % COUNT.size
            self.counts = dict(COUNT.iter_unpack(view[first:last]))


def _text(view: bytes | memoryview, offset: int) -> str:
    (size,) = unpack_from('<I', view, offset)
    return bytes(view[offset + 4:offset + 4 + size]).decode(errors='replace')


def _decompress(record: bytes) -> bytes | memoryview:
    """Return the records inside a chunk; of one that is cut off, as many bytes as there are."""
    try:
        _, _, size, checksum = CHUNK_HEAD.unpack_from(record)
        compression = _text(record, CHUNK_HEAD.size)
        packed = memoryview(record)[CHUNK_HEAD.size + 4 + len(compression) + 8:]
    except StructError as error:
        raise ValueError('its head is cut off') from error
    data = expand(packed, compression)
    if checksum and len(data) == size and crc32(data) != checksum:
        raise ValueError('its checksum is wrong')
    return data
