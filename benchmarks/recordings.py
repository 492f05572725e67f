"""
Reading a bag of one million joint states of seven joints.

Baseline of the times: `rosbags` deserialising message by message and copying the numbers into
arrays. Baseline of the peak memory: the arrays of the recording itself.
"""

from functools import cache
from pathlib import Path
import tempfile

from harness import benchmark, Figure, in_child

MESSAGES, JOINTS = 1_000_000, 7
ARRAYS_MB = MESSAGES * (1 + 3 * JOINTS) * 8 / 2 ** 20

# What runs in a process of its own each, with the bag's path, storage and shape given.
WRITE = """
import numpy as np
from robident_ros.recording.bags import write_bag
from robident_ros.recording.recording import Recording
q, v, tau = np.random.default_rng(0).standard_normal((3, *shape))
names = [f'joint_{i + 1}' for i in range(shape[1])]
write_bag(Recording(np.arange(shape[0]) * 1e-3, q, v, tau, names), path, storage)
"""
READ = """
from robident_ros.recording.bags import read_bag
recording = read_bag(path)
assert recording.q.shape == shape
"""
READ_WITH_ROSBAGS = """
from pathlib import Path
import numpy as np
from rosbags.rosbag2 import Reader
from rosbags.typesys import get_typestore, Stores
store = get_typestore(Stores.ROS2_HUMBLE)
t, q, v, tau = np.empty(shape[0]), np.empty(shape), np.empty(shape), np.empty(shape)
with Reader(Path(path)) as reader:
    for i, (connection, _, raw) in enumerate(reader.messages()):
        message = store.deserialize_cdr(raw, connection.msgtype)
        stamp = message.header.stamp
        t[i] = stamp.sec + 1e-9 * stamp.nanosec
        q[i], v[i], tau[i] = message.position, message.velocity, message.effort
assert i + 1 == shape[0]
"""
MEASURED = """
import time
path, storage, shape = {arguments}
start = time.process_time()
{code}
print(json.dumps({{'seconds': time.process_time() - start, 'peak_mb': peak_mb()}}))
"""


@benchmark('bag_read_sqlite3')
def bag_read_sqlite3() -> Figure:
    """CPU time of reading a sqlite3 bag."""
    return _compare('sqlite3')


@benchmark('bag_read_mcap')
def bag_read_mcap() -> Figure:
    """CPU time of reading an mcap bag."""
    return _compare('mcap')


@benchmark('bag_read_sqlite3_peak_mb')
def bag_read_sqlite3_peak_mb() -> Figure:
    """Peak memory of reading a sqlite3 bag, against the arrays read."""
    return _peak('sqlite3')


@benchmark('bag_read_mcap_peak_mb')
def bag_read_mcap_peak_mb() -> Figure:
    """Peak memory of reading an mcap bag, against the arrays read."""
    return _peak('mcap')


def _compare(storage: str) -> Figure:
    ours, theirs = (_run(code, storage)['seconds'] for code in (READ, READ_WITH_ROSBAGS))
    return Figure(ours, 's', theirs, 'rosbags, message by message', target=1 / 5)


def _peak(storage: str) -> Figure:
    return Figure(_run(READ, storage)['peak_mb'], 'MB', ARRAYS_MB, 'arrays read', target=3)


@cache
def _run(code: str, storage: str) -> dict:
    """Return the CPU time [s] and the peak memory [MB] of a process that handles a bag."""
    bag = Path(_folder().name) / storage
    if code != WRITE and not bag.exists():
        _run(WRITE, storage)
    arguments = (str(bag), storage, (MESSAGES, JOINTS))
    return in_child(MEASURED.format(arguments=arguments, code=code))


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix='robident_bench_')
