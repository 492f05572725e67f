"""
A rosbag2 folder written while messages arrive, readable whatever happens to the writer.

Messages go into small uncompressed chunks of an mcap file; each chunk reaches the operating
system at once, so that a killed process loses no more than what it had not yet flushed. Closing
adds the index and metadata.yaml, which playing needs and reading does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path
from struct import pack
from zlib import crc32

from robident_ros.errors import RecordingError
from robident_ros.files import write_text
from robident_ros.recording.mcap_storage import CHANNEL, CHUNK, CHUNK_HEAD, FOOTER, MAGIC
from robident_ros.recording.mcap_storage import MESSAGE, MESSAGE_HEAD, RECORD, SCHEMA
import yaml

HEADER, MESSAGE_INDEX, CHUNK_INDEX, STATISTICS, DATA_END = 1, 7, 8, 11, 15
CHUNK_BYTES = 1 << 20  # a chunk that has grown to this size is written without being asked


@dataclass
class _Chunk:
    """Messages that are not written yet; ``index`` has (log time, offset) by channel."""

    data: bytearray = field(default_factory=bytearray)
    index: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    first: int = 0
    last: int = 0


class BagWriter:
    """An open bag. What cannot be written is a RecordingError, and ends the bag as it is."""

    def __init__(self, folder: str | Path, topics: Mapping[str, str]) -> None:
        """
        Make the folder and its storage file.

        :param topics: message type by topic, e.g. sensor_msgs/msg/JointState.
        """
        self.folder = Path(folder)
        self._topics = dict(topics)
        self._channels = {topic: i for i, topic in enumerate(self._topics, start=1)}
        self.counts = dict.fromkeys(self._topics, 0)
        self._chunk, self._chunk_indices = _Chunk(), []
        self._span = (0, 0)
        self._position = 0
        self._definitions = self._define()
        self.path = self.folder / f'{self.folder.name}_0.mcap'
        try:
            self.folder.mkdir(parents=True)
            self._file = self.path.open('wb', buffering=0)
        except FileExistsError as error:
            raise RecordingError(f'{folder}: is there already; name a new folder for the '
                                 'bag') from error
        except OSError as error:
            raise RecordingError(f'{folder}: cannot be written: {error.strerror}') from error
        self._append(MAGIC + _record(HEADER, _text('ros2') + _text('robident_ros'))
                     + self._definitions)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._position

    def write(self, topic: str, data: bytes, log_ns: int, publish_ns: int | None = None) -> None:
        """Take in one serialised message; ``flush`` brings it to the file."""
        channel, chunk = self._channels[topic], self._chunk
        chunk.first = min(chunk.first, log_ns) if chunk.data else log_ns
        chunk.last = max(chunk.last, log_ns) if chunk.data else log_ns
        chunk.index.setdefault(channel, []).append((log_ns, len(chunk.data)))
        head = MESSAGE_HEAD.pack(channel, self.counts[topic] & 0xffffffff, log_ns,
                                 log_ns if publish_ns is None else publish_ns)
        chunk.data += RECORD.pack(MESSAGE, len(head) + len(data)) + head + data
        self.counts[topic] += 1
        if len(chunk.data) > CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Bring everything so far to the operating system, as one chunk."""
        chunk, self._chunk = self._chunk, _Chunk()
        if not chunk.data:
            return
        head = CHUNK_HEAD.pack(chunk.first, chunk.last, len(chunk.data), crc32(chunk.data))
        body = _record(CHUNK, head + _text('') + pack('<Q', len(chunk.data)) + chunk.data)
        start, offsets, index = self._position, {}, b''
        for channel, entries in chunk.index.items():
            offsets[channel] = start + len(body) + len(index)
            index += _record(MESSAGE_INDEX, pack('<H', channel) + _sized(
                b''.join(pack('<QQ', *entry) for entry in entries)))
        self._append(body + index)
        self._chunk_indices.append(_record(CHUNK_INDEX, pack(
            '<QQQQ', chunk.first, chunk.last, start, len(body)) + _counts(offsets) + pack(
            '<Q', len(index)) + _text('') + pack('<QQ', len(chunk.data), len(chunk.data))))
        begin, end = self._span
        self._span = (min(begin, chunk.first) if begin else chunk.first, max(end, chunk.last))

    def close(self) -> None:
        """Write what is left, the index and metadata.yaml."""
        if self._file.closed:
            return
        try:
            self.flush()
            self._append(_record(DATA_END, pack('<I', 0)))
            start = self._position
            summary = self._definitions + b''.join(self._chunk_indices) + self._statistics()
            self._append(summary + _record(FOOTER, pack('<QQI', start, 0, 0)) + MAGIC)
        finally:
            self._file.close()
        write_text(self.folder / 'metadata.yaml', self._metadata())

    def _append(self, data: bytes) -> None:
        """Write to the end, all or nothing."""
        view = memoryview(data)
        try:
            while view:
                view = view[self._file.write(view):]
        except OSError as error:
            os.ftruncate(self._file.fileno(), self._position)  # half a chunk helps nobody
            self._file.close()
            raise RecordingError(f'{self.path}: cannot be written: {error.strerror}; what was '
                                 f'recorded before can be read ({self._position} bytes)'
                                 ) from error
        self._position += len(data)

    def _define(self) -> bytes:
        """Return the schemas and channels."""
        definitions = b''
        for topic, number in self._channels.items():
            kind = self._topics[topic]
            definitions += _record(SCHEMA, pack('<H', number) + _text(kind) + _text('ros2msg')
                                   + _sized(_message_definition(kind)))
            definitions += _record(CHANNEL, pack('<HH', number, number) + _text(topic)
                                   + _text('cdr') + _sized(b''))
        return definitions

    def _statistics(self) -> bytes:
        counts = {self._channels[topic]: count for topic, count in self.counts.items()}
        return _record(STATISTICS, pack(
            '<QHIIIIQQ', sum(counts.values()), len(counts), len(counts), 0, 0,
            len(self._chunk_indices), *self._span) + _counts(counts))

    def _metadata(self) -> str:
        begin, end = self._span
        span = {'starting_time': {'nanoseconds_since_epoch': begin},
                'duration': {'nanoseconds': end - begin}, 'message_count':
                sum(self.counts.values())}
        topics = [{'topic_metadata': {'name': topic, 'type': self._topics[topic],
                                      'serialization_format': 'cdr', 'offered_qos_profiles': [],
                                      'type_description_hash': ''}, 'message_count': count}
                  for topic, count in self.counts.items()]
        return yaml.safe_dump({'rosbag2_bagfile_information': {
            'version': 9, 'storage_identifier': 'mcap', 'relative_file_paths': [self.path.name],
            **span, 'topics_with_message_count': topics, 'compression_format': '',
            'compression_mode': '', 'files': [{'path': self.path.name, **span}],
            'custom_data': None, 'ros_distro': ''}}, sort_keys=False)


def _message_definition(kind: str) -> bytes:
    try:
        from rosbags.typesys import get_typestore, Stores
    except ImportError as error:
        raise RecordingError('to write a bag, install rosbags: pip install rosbags') from error
    return get_typestore(Stores.ROS2_HUMBLE).generate_msgdef(kind, ros_version=2)[0].encode()


def _record(kind: int, content: bytes) -> bytes:
    return RECORD.pack(kind, len(content)) + content


def _sized(data: bytes) -> bytes:
    return pack('<I', len(data)) + data


def _text(text: str) -> bytes:
    return _sized(text.encode())


def _counts(values: Mapping[int, int]) -> bytes:
    return _sized(b''.join(pack('<HQ', key, value) for key, value in values.items()))
