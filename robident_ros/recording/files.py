"""One way to read a recording, whatever kind of file it is in."""

from collections.abc import Sequence
from pathlib import Path

from robident_ros.config import RecordingOptions
from robident_ros.errors import RecordingError
from robident_ros.recording.bags import read_bag, STORAGES
from robident_ros.recording.csv import read_csv, read_mapped
from robident_ros.recording.recording import Recording


def read_recording(path: str | Path, joint_names: Sequence[str] | None = None,
                   topic: str | None = None,
                   options: RecordingOptions = RecordingOptions()) -> Recording:
    """
    Read a recording from a rosbag2 folder, a lone .db3 or .mcap file, or text files.

    :param joint_names: joints to read, in this order; default: all
    :param topic: topic of the joint states in a bag; default: the one of the options
    :param options: names, and the layout of foreign text files
    """
    path = Path(path)
    if not path.exists():
        raise RecordingError(f'{path}: there is no such file or folder')
    own = {name: recorded for recorded, name in options.rename.items()}
    recorded = None if joint_names is None else [own.get(name, name) for name in joint_names]
    if options.position is not None and path.suffix not in STORAGES:
        recording = read_mapped(path, options)
    elif path.is_dir() or path.suffix in STORAGES:
        recording = read_bag(path, recorded, topic or options.topic)
    else:
        recording = read_csv(path)
    if recorded is not None and tuple(recorded) != recording.joint_names:
        recording = recording.select(recorded)
    present = {old: new for old, new in options.rename.items() if old in recording.joint_names}
    return recording.rename(present) if present else recording
