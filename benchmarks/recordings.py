"""
Reading a bag of one million joint states of seven joints.

Baseline of the times: `rosbags` deserialising message by message and copying the numbers into
arrays. Baseline of the peak memory: the arrays of the recording itself. Each reading runs in a
process of its own, which reports its CPU time and its largest resident size.
"""

from functools import cache
import json
from pathlib import Path
import subprocess
import sys
import tempfile

from harness import benchmark, Figure

MESSAGES, JOINTS = 1_000_000, 7
ARRAYS_MB = MESSAGES * (1 + 3 * JOINTS) * 8 / 1e6

# What a child process runs. This process stays small: a child's largest resident size counts from
# that of its parent.
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
CHILD = """
import json, resource, sys, time
path, storage, shape = sys.argv[1], sys.argv[2], (int(sys.argv[3]), int(sys.argv[4]))
start = time.process_time()
{code}
seconds = time.process_time() - start
peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
print(json.dumps([seconds, peak_mb]))
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
    ours, baseline = (_run(code, storage)[0] for code in (READ, READ_WITH_ROSBAGS))
    return Figure(ours, 's', baseline, ours / baseline)


def _peak(storage: str) -> Figure:
    _, peak_mb = _run(READ, storage)
    return Figure(peak_mb, 'MB', ARRAYS_MB, peak_mb / ARRAYS_MB)


@cache
def _run(code: str, storage: str) -> tuple[float, float]:
    """Return the CPU time [s] and the peak memory [MB] of a child process with a bag."""
    bag = Path(_folder().name) / storage
    if code != WRITE and not bag.exists():
        _run(WRITE, storage)
    command = [sys.executable, '-c', CHILD.format(code=code), bag, storage, MESSAGES, JOINTS]
    run = subprocess.run([str(item) for item in command], check=True, capture_output=True,
                         text=True)
    return tuple(json.loads(run.stdout))


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix='robident_bench_')
