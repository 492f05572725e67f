"""
Recordings in rosbag2 files, read and written without ROS.

A bag is a folder with metadata.yaml and one or more storage files; a lone .db3 or .mcap file is
a bag as well. Damaged bags are read as far as they are good, with a RobidentWarning on what was
lost. What is read are sensor_msgs/JointState messages, in whatever joint order they come.
"""

from collections.abc import Sequence
import os
from pathlib import Path
import re
import sqlite3
import tempfile
import warnings

import numpy as np
from robident_ros.errors import RecordingError, RobidentWarning
from robident_ros.recording import mcap_storage, sqlite_storage
from robident_ros.recording.cdr import encode
from robident_ros.recording.compression import expand_messages
from robident_ros.recording.joint_states import Collector
from robident_ros.recording.recording import Recording, to_nanoseconds
import yaml

STORAGES = {'.db3': sqlite_storage, '.mcap': mcap_storage}
JOINT_STATE = 'sensor_msgs/msg/JointState'
BATCH = 50_000


def read_bag(path: str | Path, joint_names: Sequence[str] | None = None,
             topic: str = '/joint_states') -> Recording:
    """
    Read joint states from a bag.

    :param path: the folder of the bag, or one of its .db3 or .mcap files
    :param joint_names: joints to read, in this order; others are ignored. Default: the joints
        that stand together in most messages
    :param topic: the topic they were published on
    """
    path, notes = Path(path), []
    files = find_files(path, notes)
    collector = Collector(joint_names)
    try:
        for file in files:
            for raw in STORAGES[file.suffix].read_messages(file, topic, notes):
                collector.add(expand_messages(raw))
        if collector.is_empty:
            raise _nothing_found(path, files, topic, collector.undecoded)
    except (sqlite3.Error, OSError) as error:
        raise RecordingError(f'{path}: cannot be read: {error}') from error
    recording = collector.to_recording(path, notes)
    for note in notes:
        warnings.warn(f'{path}: {note}', RobidentWarning, stacklevel=2)
    return recording


def find_files(path: Path, notes: list[str]) -> list[Path]:
    """Return the storage files of a bag in the order they were written."""
    if path.is_file():
        if path.suffix not in STORAGES:
            raise RecordingError(f'{path}: is not a bag, expected a folder, .db3 or .mcap file')
        return [path]
    if not path.is_dir():
        raise RecordingError(f'{path}: there is no such bag')
    inside = sorted(path.iterdir(), key=_natural)
    listed = [path / name for name in _listed_files(path / 'metadata.yaml', notes)]
    for file in listed:
        if not file.exists():
            notes.append(f'{file.name} is named in metadata.yaml but is not there: its messages '
                         'are lost')
    files = [f for f in listed if f.exists() and f.suffix in STORAGES] \
        or [f for f in inside if f.suffix in STORAGES]
    if not files:
        packed = [f.name for f in inside if f.suffix == '.zstd']
        advice = f'; unpack it first: unzstd {packed[0]}' if packed else ', so it is not a bag'
        raise RecordingError(f'{path}: has no .db3 or .mcap file in it{advice}')
    if len({f.suffix for f in files}) > 1:
        raise RecordingError(f'{path}: has both .db3 and .mcap files; name the one to read')
    return files


def _listed_files(metadata: Path, notes: list[str]) -> list[str]:
    if not metadata.exists():
        return []
    try:
        content = yaml.safe_load(metadata.read_text(encoding='utf-8'))
        return [str(name) for name in
                content['rosbag2_bagfile_information']['relative_file_paths']]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        notes.append('metadata.yaml is damaged: the files in the folder are read in the order '
                     'of their names')
        return []


def _natural(path: Path) -> list:
    """Sort key by which bag_2 comes before bag_10."""
    return [int(part) if part.isdigit() else part for part in re.split(r'(\d+)', path.name)]


def _nothing_found(path: Path, files: list[Path], topic: str,
                   undecoded: int) -> RecordingError:
    """Say why there are no messages: wrong topic, wrong type, or nothing in it."""
    topics: dict[str, str] = {}
    for file in files:
        topics.update(STORAGES[file.suffix].read_topics(file))
    if not topics:
        return RecordingError(f'{path}: is empty, no topic was recorded in it')
    if topic not in topics:
        listing = ', '.join(f'{name} ({kind})' for name, kind in sorted(topics.items()))
        return RecordingError(f'{path}: has no topic {topic!r}, it has: {listing}; name one of '
                              f'type {JOINT_STATE}')
    if topics[topic] != JOINT_STATE:
        return RecordingError(f'{path}: {topic!r} is of type {topics[topic]}, expected '
                              f'{JOINT_STATE}')
    if undecoded:
        return RecordingError(f'{path}: none of the {undecoded} messages on {topic!r} can be '
                              'decoded, the file is damaged')
    return RecordingError(f'{path}: has no message on {topic!r}')


def write_bag(recording: Recording, path: str | Path, storage: str = 'mcap',
              topic: str = '/joint_states') -> None:
    """
    Write a recording as a new rosbag2 folder that ``ros2 bag play`` can play.

    :param storage: ``mcap`` or ``sqlite3``
    """
    path, stamps = Path(path), to_nanoseconds(recording)
    if storage not in ('mcap', 'sqlite3'):
        raise RecordingError(f'unknown storage {storage!r}, expected mcap or sqlite3')
    if path.exists():
        raise RecordingError(f'{path}: is there already; name a new folder for the bag')
    if stamps[0] < 0 or stamps[-1] >= 2 ** 31 * 10 ** 9:
        raise RecordingError(f'{recording.source}: times from {stamps[0] / 1e9:g} s to '
                             f'{stamps[-1] / 1e9:g} s do not fit into stamps of ROS; shift them')
    path.parent.mkdir(parents=True, exist_ok=True)
    # rosbags names the file inside after its folder, so the folder is made with its own name.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f'.{path.name}-') as folder:
        _write_messages(recording, stamps, Path(folder) / path.name, storage, topic)
        os.replace(Path(folder) / path.name, path)


def _write_messages(recording: Recording, stamps: np.ndarray, path: Path, storage: str,
                    topic: str) -> None:
    try:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import get_typestore, Stores
    except ImportError as error:
        raise RecordingError('to write a bag, install rosbags: pip install rosbags') from error
    plugin = StoragePlugin.MCAP if storage == 'mcap' else StoragePlugin.SQLITE3
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection(topic, JOINT_STATE,
                                           typestore=get_typestore(Stores.ROS2_HUMBLE))
        for start in range(0, len(stamps), BATCH):
            rows = slice(start, start + BATCH)
            messages = encode(recording.joint_names, stamps[rows], {
                'position': recording.q[rows], 'effort': recording.tau[rows],
                'velocity': None if recording.v is None else recording.v[rows]})
            for stamp, message in zip(stamps[rows].tolist(), messages):
                writer.write(connection, stamp, message.tobytes())
