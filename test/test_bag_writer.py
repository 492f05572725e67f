"""Bags written message by message: whole for every reader, and readable when cut off anywhere."""

from pathlib import Path
import resource

import numpy as np
import pytest
from robident_ros.errors import RecordingError
from robident_ros.recording import read_recording
from robident_ros.recording.bag_writer import BagWriter
from robident_ros.recording.cdr import encode

TOPICS = {'/joint_states': 'sensor_msgs/msg/JointState',
          '/arm/joint_trajectory': 'trajectory_msgs/msg/JointTrajectory'}
NAMES = ('shoulder', 'elbow')


def messages(count: int) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
    """Return stamps, positions and the serialised joint states."""
    stamps = 1_700_000_000_000_000_000 + 1_000_000 * np.arange(count)
    q = np.random.default_rng(0).normal(size=(count, 2))
    encoded = encode(NAMES, stamps, {'position': q, 'velocity': 2 * q, 'effort': 3 * q})
    return stamps, q, [message.tobytes() for message in encoded]


def fill(writer: BagWriter, count: int, per_chunk: int = 20) -> np.ndarray:
    stamps, q, encoded = messages(count)
    for i, (stamp, message) in enumerate(zip(stamps.tolist(), encoded), start=1):
        writer.write('/joint_states', message, stamp)
        if i % per_chunk == 0:
            writer.flush()
    return q


def test_a_closed_bag_is_read_back_to_the_last_bit(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / 'bag', TOPICS)
    q = fill(writer, 105)
    writer.close()
    recording = read_recording(tmp_path / 'bag', NAMES)
    np.testing.assert_array_equal(recording.q, q)
    np.testing.assert_array_equal(recording.tau, 3 * q)


def test_rosbags_reads_what_is_written(tmp_path: Path) -> None:
    """An independent reader finds topics, types, times and contents through the index."""
    from rosbags.highlevel import AnyReader
    writer = BagWriter(tmp_path / 'bag', TOPICS)
    q = fill(writer, 50)
    writer.close()
    with AnyReader([tmp_path / 'bag']) as reader:
        assert {c.topic: c.msgtype for c in reader.connections} == TOPICS
        assert reader.message_count == 50
        found = [reader.deserialize(data, c.msgtype).position
                 for c, _, data in reader.messages()]
    np.testing.assert_array_equal(found, q)


def test_the_reference_library_accepts_the_file(tmp_path: Path) -> None:
    """The reader of the mcap project, with checksums, seeks by the index and agrees."""
    mcap = pytest.importorskip('mcap.reader', reason='the mcap library is not installed')
    writer = BagWriter(tmp_path / 'bag', TOPICS)
    fill(writer, 50)
    writer.close()
    with writer.path.open('rb') as file:
        reader = mcap.SeekingReader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary.statistics.message_count == 50
        assert len(summary.chunk_indexes) == 3
        times = [message.log_time for _, _, message in reader.iter_messages('/joint_states')]
    assert times == messages(50)[0].tolist()


@pytest.mark.filterwarnings('ignore::robident_ros.errors.RobidentWarning')
def test_a_bag_that_was_never_closed_holds_all_that_was_flushed(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / 'bag', TOPICS)
    q = fill(writer, 105)  # five are not flushed
    recording = read_recording(tmp_path / 'bag', NAMES)
    np.testing.assert_array_equal(recording.q, q[:100])


@pytest.mark.filterwarnings('ignore::robident_ros.errors.RobidentWarning')
def test_a_full_disk_ends_the_bag_with_whole_messages(tmp_path: Path) -> None:
    """A chunk that does not fit is taken back; what came before is there."""
    writer = BagWriter(tmp_path / 'bag', TOPICS)
    q = fill(writer, 40)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (writer.size + 1000, before[1]))
    try:
        with pytest.raises(RecordingError, match='cannot be written.*can be read'):
            fill(writer, 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    np.testing.assert_array_equal(read_recording(tmp_path / 'bag', NAMES).q, q)
    writer.close()  # nothing more happens


def test_a_bag_is_never_written_over(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match='is there already'):
        BagWriter(tmp_path, TOPICS)
