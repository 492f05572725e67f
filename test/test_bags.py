"""Bags: what is written comes back, what is damaged is read as far as it is good."""

from pathlib import Path
import warnings

from motions import assert_same, NAMES, random_recording
import numpy as np
import pytest
from robident_ros.errors import RecordingError, RobidentWarning
from robident_ros.recording import read_bag, read_recording, Recording, write_bag
from robident_ros.recording.cdr import encode
from robident_ros.recording.recording import to_nanoseconds
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores
from shipped import SHARED

KIND = 'sensor_msgs/msg/JointState'
STORAGES = {'sqlite3': ('.db3', StoragePlugin.SQLITE3), 'mcap': ('.mcap', StoragePlugin.MCAP)}
STORE = get_typestore(Stores.ROS2_HUMBLE)
both_storages = pytest.mark.parametrize('storage', STORAGES)


def rows_of(recording: Recording, stamps: np.ndarray | None = None) -> list[bytes]:
    """Return the messages of a recording."""
    stamps = to_nanoseconds(recording) if stamps is None else stamps
    fields = {'position': recording.q, 'velocity': recording.v, 'effort': recording.tau}
    return [row.tobytes() for row in encode(recording.joint_names, stamps, fields)]


def write_raw(path: Path, messages: list[bytes], received: np.ndarray | None = None,
              storage: str = 'mcap', compression: CompressionMode | None = None) -> Path:
    """Write serialised messages as they are."""
    received = 10 ** 6 * np.arange(len(messages)) if received is None else received
    with_writer = Writer(path, version=9, storage_plugin=STORAGES[storage][1])
    if compression is not None:
        with_writer.set_compression(compression, CompressionFormat.ZSTD)
    with with_writer as writer:
        other = writer.add_connection('/rosout', 'std_msgs/msg/String', typestore=STORE)
        topic = writer.add_connection('/joint_states', KIND, typestore=STORE)
        writer.write(other, int(received[0]) if len(received) else 0, b'\0\1\0\0' + bytes(8))
        for stamp, message in zip(received, messages):
            writer.write(topic, int(stamp), message)
    return path


def read_noting(path: Path, *args, **kwargs) -> tuple[Recording, str]:
    """Read a bag; return the recording and all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        recording = read_bag(path, *args, **kwargs)
    assert all(issubclass(item.category, RobidentWarning) for item in caught)
    return recording, '\n'.join(str(item.message) for item in caught)


@both_storages
@pytest.mark.parametrize('start_ns', [0, 1_700_000_000_123_456_789])
def test_a_recording_comes_back_the_same(tmp_path: Path, storage: str, start_ns: int) -> None:
    """Times, unknown efforts and the clock survive the way through a bag, to the last bit."""
    recording = random_recording(start_ns=start_ns)
    write_bag(recording, tmp_path / 'bag', storage)
    back, notes = read_noting(tmp_path / 'bag')
    assert_same(recording, back)
    assert notes == ''


@both_storages
def test_rosbags_reads_what_is_written(tmp_path: Path, storage: str) -> None:
    """An independent reader finds the same numbers, one message after the other."""
    recording = random_recording(50)
    write_bag(recording, tmp_path / 'bag', storage)
    with Reader(tmp_path / 'bag') as reader:
        for i, (connection, _, data) in enumerate(reader.messages()):
            state = STORE.deserialize_cdr(data, connection.msgtype)
            assert tuple(state.name) == NAMES
            np.testing.assert_array_equal(state.effort, recording.tau[i])
    assert i + 1 == len(recording)


@both_storages
def test_a_lone_storage_file_is_a_bag(tmp_path: Path, storage: str) -> None:
    recording = random_recording()
    write_bag(recording, tmp_path / 'bag', storage)
    assert_same(recording, read_recording(tmp_path / 'bag' / f'bag{STORAGES[storage][0]}'))


@pytest.mark.parametrize('name, samples, rate', [('ur10_bag', 3441, 125), ('panda_bag', 727, 30)])
def test_published_bags_without_metadata_are_read(name: str, samples: int, rate: float) -> None:
    if not (SHARED / 'data' / name).is_dir():
        pytest.skip('the measured data (shared/data) are not on this machine')
    recording, notes = read_noting(SHARED / 'data' / name)
    assert len(recording) == samples and notes == ''
    assert recording.rate == pytest.approx(rate, rel=1e-3)
    assert np.isfinite(recording.tau).all() and recording.v is not None


@both_storages
def test_a_bag_cut_at_every_tenth_gives_all_whole_messages(tmp_path: Path, storage: str) -> None:
    """
    Whatever is whole in the bytes that are left is read, and nothing else.

    A message is whole where its bytes are found in the file, which is independent of how the
    storage finds them.
    """
    recording = random_recording(2000)
    write_bag(recording, tmp_path / 'bag', storage)
    suffix = STORAGES[storage][0]
    data = (tmp_path / 'bag' / f'bag{suffix}').read_bytes()
    messages = rows_of(recording)
    for tenth in range(1, 10):
        file = tmp_path / f'cut{tenth}{suffix}'
        file.write_bytes(data[:len(data) * tenth // 10])
        whole = np.array([message in file.read_bytes() for message in messages])
        back, notes = read_noting(file)
        np.testing.assert_array_equal(back.q, recording.q[whole])
        np.testing.assert_array_equal(back.tau, recording.tau[whole])
        assert 'lost' in notes


@pytest.mark.parametrize('algorithm', ['zstd', 'lz4', ''])
def test_a_cut_chunk_gives_its_first_messages(tmp_path: Path, algorithm: str) -> None:
    """Compressed chunks that end early are unpacked as far as they go."""
    pytest.importorskip('mcap')
    from mcap.writer import CompressionType, Writer as McapWriter
    recording = random_recording(3000)
    file = tmp_path / 'bag.mcap'
    with file.open('wb') as stream:
        writer = McapWriter(stream, compression={
            'zstd': CompressionType.ZSTD, 'lz4': CompressionType.LZ4,
            '': CompressionType.NONE}[algorithm])
        writer.start('ros2')
        schema = writer.register_schema(KIND, 'ros2msg', b'')
        channel = writer.register_channel('/joint_states', 'cdr', schema)
        for i, message in enumerate(rows_of(recording)):
            writer.add_message(channel, i, message, i)
        writer.finish()
    assert_same(recording, read_bag(file))
    file.write_bytes(file.read_bytes()[:int(0.4 * file.stat().st_size)])
    back, notes = read_noting(file)
    np.testing.assert_array_equal(back.q, recording.q[:len(back)])
    # zstd gives out whole blocks of 128 kB only
    assert len(back) > 0.2 * len(recording) and 'lost' in notes


def test_messages_outside_of_chunks_are_read(tmp_path: Path) -> None:
    pytest.importorskip('mcap')
    from mcap.writer import Writer as McapWriter
    recording = random_recording(100)
    with (tmp_path / 'bag.mcap').open('wb') as stream:
        writer = McapWriter(stream, use_chunking=False)
        writer.start('ros2')
        channel = writer.register_channel('/joint_states', 'cdr',
                                          writer.register_schema(KIND, 'ros2msg', b''))
        for i, message in enumerate(rows_of(recording)):
            writer.add_message(channel, i, message, i)
        writer.finish()
    assert_same(recording, read_bag(tmp_path / 'bag.mcap'))


def test_a_damaged_length_in_a_chunk_is_told(tmp_path: Path) -> None:
    """One wrong byte hides all messages behind it; how many are missing is said."""
    recording = random_recording(300)
    write_bag(recording, tmp_path / 'bag', 'mcap')
    file = tmp_path / 'bag' / 'bag.mcap'
    data = bytearray(file.read_bytes())
    body = data.index(rows_of(recording)[100])
    head = body - 22 - 9  # channel, number and times, behind kind and length
    assert data[head] == 5
    data[head + 4] = 0x40  # a record of a gigabyte
    file.write_bytes(data)
    back, notes = read_noting(file)
    assert len(back) == 100
    np.testing.assert_array_equal(back.q, recording.q[:100])
    assert 'runs over the end' in notes and '200 of 300 messages' in notes


def test_a_message_that_is_hidden_by_its_neighbour_is_missed(tmp_path: Path) -> None:
    """A length that swallows exactly the next message leaves all records in place."""
    recording = random_recording(300)
    write_bag(recording, tmp_path / 'bag', 'mcap')
    file = tmp_path / 'bag' / 'bag.mcap'
    data = bytearray(file.read_bytes())
    head = data.index(rows_of(recording)[100]) - 22 - 9
    length = int.from_bytes(data[head + 1:head + 9], 'little')
    data[head + 1:head + 9] = (2 * length + 9).to_bytes(8, 'little')
    file.write_bytes(data)
    assert '1 of 300 messages' in read_noting(file)[1]


@both_storages
@pytest.mark.parametrize('seed', range(5))
def test_overwritten_bytes_never_crash(tmp_path: Path, storage: str, seed: int) -> None:
    """A bag with a damaged stretch gives a recording or a clear error, never anything else."""
    rng = np.random.default_rng(seed)
    recording = random_recording(2000)
    write_bag(recording, tmp_path / 'bag', storage)
    file = tmp_path / 'bag' / f'bag{STORAGES[storage][0]}'
    data = bytearray(file.read_bytes())
    start = int(rng.integers(0, len(data) - 9000))
    data[start:start + 9000] = bytes(9000) if seed % 2 else rng.bytes(9000)
    file.write_bytes(data)
    try:
        back, _ = read_noting(file)
    except RecordingError:
        return
    assert len(back) > 1


@both_storages
@pytest.mark.parametrize('content', [b'', b'not a bag at all', bytes(5000)])
def test_what_is_not_a_bag_is_refused(tmp_path: Path, storage: str, content: bytes) -> None:
    file = tmp_path / f'x{STORAGES[storage][0]}'
    file.write_bytes(content)
    with pytest.raises(RecordingError, match=str(file)):
        read_bag(file)


@both_storages
def test_a_wrong_topic_lists_those_that_are_there(tmp_path: Path, storage: str) -> None:
    bag = write_raw(tmp_path / 'bag', rows_of(random_recording()), storage=storage)
    with pytest.raises(RecordingError) as error:
        read_bag(bag, topic='/joint_state')
    assert f'/joint_states ({KIND})' in str(error.value) and '/rosout' in str(error.value)


@both_storages
def test_a_topic_of_another_type_is_refused(tmp_path: Path, storage: str) -> None:
    bag = write_raw(tmp_path / 'bag', rows_of(random_recording()), storage=storage)
    with pytest.raises(RecordingError, match='std_msgs/msg/String'):
        read_bag(bag, topic='/rosout')


@both_storages
def test_messages_compressed_one_by_one_are_read(tmp_path: Path, storage: str) -> None:
    recording = random_recording()
    bag = write_raw(tmp_path / 'bag', rows_of(recording), storage=storage,
                    compression=CompressionMode.MESSAGE)
    assert_same(recording, read_bag(bag))


@both_storages
def test_an_empty_topic_is_refused(tmp_path: Path, storage: str) -> None:
    bag = write_raw(tmp_path / 'bag', [], storage=storage)
    with pytest.raises(RecordingError, match='no message'):
        read_bag(bag)


def test_folders_without_a_bag_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match='no .db3 or .mcap'):
        read_bag(tmp_path)
    with pytest.raises(RecordingError, match='no such'):
        read_bag(tmp_path / 'missing')
    (tmp_path / 'x_0.db3.zstd').write_bytes(b'')
    with pytest.raises(RecordingError, match='unzstd'):
        read_bag(tmp_path)
    for name in ('a.db3', 'a.mcap'):
        (tmp_path / name).write_bytes(b'')
    with pytest.raises(RecordingError, match='both'):
        read_bag(tmp_path)


def test_split_bags_are_read_in_order_and_missing_parts_are_told(tmp_path: Path) -> None:
    """Parts count as bag_2 before bag_10, with and without metadata."""
    recording = random_recording(110)
    for part in range(11):
        rows = slice(10 * part, 10 * part + 10)
        write_bag(Recording(recording.t[rows], recording.q[rows], recording.v[rows],
                            recording.tau[rows], NAMES), tmp_path / f'p_{part}')
        (tmp_path / 'bag').mkdir(exist_ok=True)
        (tmp_path / f'p_{part}' / f'p_{part}.mcap').rename(tmp_path / 'bag' / f'p_{part}.mcap')
    assert_same(recording, read_bag(tmp_path / 'bag'))
    names = ', '.join(f'p_{part}.mcap' for part in range(12))
    metadata = tmp_path / 'bag' / 'metadata.yaml'
    metadata.write_text(f'rosbag2_bagfile_information: {{relative_file_paths: [{names}]}}')
    back, notes = read_noting(tmp_path / 'bag')
    assert_same(recording, back)
    assert 'p_11.mcap' in notes
    metadata.write_text('{damaged')
    back, notes = read_noting(tmp_path / 'bag')
    assert_same(recording, back)
    assert 'metadata.yaml is damaged' in notes


def test_dropped_messages_leave_a_gap_only(tmp_path: Path) -> None:
    recording = random_recording()
    kept = np.r_[0:100, 150:300]
    bag = write_raw(tmp_path / 'bag', [rows_of(recording)[i] for i in kept])
    back, notes = read_noting(bag)
    np.testing.assert_array_equal(back.t, recording.t[kept])
    assert notes == ''


def test_duplicated_stamps_are_dropped(tmp_path: Path) -> None:
    recording = random_recording()
    messages = rows_of(recording)
    bag = write_raw(tmp_path / 'bag', messages[:50] + [messages[49]] * 3 + messages[50:])
    back, notes = read_noting(bag)
    assert_same(recording, back)
    assert '3 messages repeat the stamp' in notes


@pytest.mark.parametrize('wrong', [0.2e9, 2e18])
def test_a_stamp_astray_is_dropped(tmp_path: Path, wrong: float) -> None:
    """One damaged or late stamp does not move the others."""
    stamps = 10 ** 9 + np.arange(300) * 10 ** 6
    stamps[150] = wrong
    recording = random_recording()
    back, notes = read_noting(write_raw(tmp_path / 'bag', rows_of(recording, stamps)))
    np.testing.assert_array_equal(to_nanoseconds(back), np.delete(stamps, 150))
    assert '1 messages have a stamp out of order and were dropped, first message 150' in notes


@pytest.mark.parametrize('receive_clock_too', [False, True])
def test_a_clock_that_jumps_back_keeps_all_messages(tmp_path: Path,
                                                    receive_clock_too: bool) -> None:
    """Distances on either side of the jump stay exact; the step across is about the usual one."""
    stamps = 10 ** 12 + np.arange(300) * 10 ** 6
    stamps[200:] -= 5 * 10 ** 9
    received = stamps if receive_clock_too else 10 ** 12 + np.arange(300) * 10 ** 6
    recording = random_recording()
    bag = write_raw(tmp_path / 'bag', rows_of(recording, stamps), received)
    back, notes = read_noting(bag)
    np.testing.assert_allclose(np.diff(back.t), 1e-3, atol=1e-9)
    np.testing.assert_array_equal(back.q, recording.q)
    assert 'jumps back by 5.001 s at message 200' in notes or 'jumps back by 4.999' in notes


def test_messages_without_stamps_use_the_time_they_were_received(tmp_path: Path) -> None:
    recording = random_recording()
    bag = write_raw(tmp_path / 'bag', rows_of(recording, np.zeros(300, int)),
                    10 ** 9 + np.arange(300) * 2 * 10 ** 6)
    back, notes = read_noting(bag)
    assert back.rate == pytest.approx(500)
    assert 'no time in their header' in notes


@pytest.mark.parametrize('every', [1, 7])
def test_joint_order_may_change_between_messages(tmp_path: Path, every: int) -> None:
    rng = np.random.default_rng(3)
    recording = random_recording()
    messages = rows_of(recording)
    for i in range(0, len(messages), every):
        order = rng.permutation(3)
        messages[i] = rows_of(recording.select([NAMES[k] for k in order]))[i]
    back, notes = read_noting(write_raw(tmp_path / 'bag', messages), NAMES)
    assert_same(recording, back)
    assert notes == ''


def test_extra_joints_are_ignored_and_missing_ones_named(tmp_path: Path) -> None:
    recording = random_recording()
    write_bag(recording, tmp_path / 'bag')
    back = read_bag(tmp_path / 'bag', ['wrist', 'shoulder'])
    np.testing.assert_array_equal(back.q, recording.q[:, [2, 0]])
    with pytest.raises(RecordingError, match="no joint 'wirst', did you mean 'wrist'"):
        read_bag(tmp_path / 'bag', ['wirst'])


def test_unknown_efforts_are_marked(tmp_path: Path) -> None:
    """Efforts that are NaN or infinite become unknown; the sample stays."""
    recording = random_recording()
    tau = recording.tau.copy()
    tau[:100, 1], tau[5, 0] = np.nan, 1.0
    fields = {'position': recording.q, 'velocity': None, 'effort': tau}
    fields['effort'][5, 0] = np.inf
    messages = [row.tobytes() for row in encode(NAMES, to_nanoseconds(recording), fields)]
    back, _ = read_noting(write_raw(tmp_path / 'bag', messages))
    assert len(back) == len(recording) and back.v is None
    assert np.isnan(back.tau[:100, 1]).all() and np.isnan(back.tau[5, 0])


def test_a_joint_silent_half_way_is_named(tmp_path: Path) -> None:
    """With it, the first half is read; without it, everything is."""
    recording = random_recording()
    silent = recording.select(NAMES[:2])
    bag = write_raw(tmp_path / 'bag', rows_of(recording)[:150] + rows_of(silent)[150:])
    back, notes = read_noting(bag)
    np.testing.assert_array_equal(back.q, recording.q[:150])
    assert "joint 'wrist' has no position in 150 of 300 messages, first in message 150" in notes
    back, notes = read_noting(bag, NAMES[:2])
    assert len(back) == 300 and notes == ''


def test_messages_of_another_publisher_are_passed_over(tmp_path: Path) -> None:
    recording = random_recording()
    gripper = Recording(recording.t, recording.q[:, :1], None, recording.tau[:, :1], ['finger'])
    mixed = [m for pair in zip(rows_of(recording), rows_of(gripper)) for m in pair]
    back, notes = read_noting(write_raw(tmp_path / 'bag', mixed))
    assert_same(recording, back)
    assert 'finger left out' in notes
    back, notes = read_noting(tmp_path / 'bag', NAMES)
    assert_same(recording, back)
    assert notes == ''
    with pytest.raises(RecordingError, match='published together'):
        read_bag(tmp_path / 'bag', ['shoulder', 'finger'])


def test_fields_of_a_wrong_length_count_as_empty(tmp_path: Path) -> None:
    from test_cdr import message
    messages = [message(['a', 'b'], [i, 2], [1, 2], [1], stamp=(i + 1, 0)) for i in range(5)]
    back, notes = read_noting(write_raw(tmp_path / 'bag', messages))
    assert np.isnan(back.tau).all()
    assert 'another number of values' in notes and 'no message has efforts' in notes


def test_writing_refuses_what_would_be_lost(tmp_path: Path) -> None:
    recording = random_recording()
    with pytest.raises(RecordingError, match='expected mcap or sqlite3'):
        write_bag(recording, tmp_path / 'bag', 'rosbag1')
    (tmp_path / 'bag').mkdir()
    with pytest.raises(RecordingError, match='already'):
        write_bag(recording, tmp_path / 'bag')
    early = Recording(recording.t - 1, recording.q, None, recording.tau, NAMES)
    with pytest.raises(RecordingError, match='stamps of ROS'):
        write_bag(early, tmp_path / 'early')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['bag']
