"""
Raw messages from the sqlite3 storage of rosbag2, also where the file is damaged.

A sound file is read by SQLite. From the first error on, or at once where the file is shorter
than its header says, messages are salvaged page by page.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
import sqlite3

import numpy as np
from robident_ros.recording.cdr import RawMessages
from robident_ros.recording.sqlite_salvage import is_cut_off, salvage_rows

BATCH = 2_000  # about a megabyte: stays in the processor's cache
# SQLite joins the messages of a batch itself, so that no object is made per message. As texts,
# its strings may hold any byte; only the length of each message must be known to part them.
QUERY = """
SELECT max(id), group_concat(data, ''), group_concat(length(data)), group_concat(timestamp)
FROM (SELECT id, data, timestamp FROM messages
      WHERE id > ? AND topic_id IN (SELECT id FROM topics WHERE name = ?)
      ORDER BY id LIMIT ?)"""


def read_topics(path: Path) -> dict[str, str]:
    """Return the message type of each topic."""
    with closing(_connect(path)) as database:
        topics = database.execute('SELECT name, type FROM topics').fetchall()
        return {(name or b'').decode(errors='replace'): (kind or b'').decode(errors='replace')
                for name, kind in topics}


def read_messages(path: Path, topic: str, notes: list[str]) -> Iterator[RawMessages]:
    """Yield the messages of a topic in batches; what is lost goes to the notes."""
    with closing(_connect(path)) as database:
        last, is_damaged = -1, is_cut_off(path)
        while last is not None and not is_damaged:
            try:
                last, raw = _read_batch(database, topic, last)
            except sqlite3.DatabaseError:
                is_damaged = True
            else:
                if raw is not None:
                    yield raw
        if is_damaged:
            notes.append(f'{path.name} is damaged or cut off: what stands on its lost pages is '
                         'lost, all whole messages were read')
            yield from _salvage(database, path, topic, last)


def _read_batch(database: sqlite3.Connection, topic: str,
                last: int) -> tuple[int | None, RawMessages | None]:
    """Read messages behind row ``last``; return the last row read (or None) and them."""
    last, data, lengths, received = database.execute(QUERY, (last, topic, BATCH)).fetchone()
    if last is None:
        return None, None
    return last, _to_raw(data, np.fromstring(lengths, np.int64, sep=','),
                         np.fromstring(received, np.int64, sep=','))


def _salvage(database: sqlite3.Connection, path: Path, topic: str,
             last: int) -> Iterator[RawMessages]:
    """Read messages behind row ``last`` from a damaged file."""
    found = database.execute('SELECT id FROM topics WHERE name = ?', (topic,)).fetchall()
    numbers = {number for number, in found}
    rows = [row for row in salvage_rows(path) if row[0] > last and row[1] in numbers]
    if rows:
        _, _, received, blobs = zip(*rows)
        yield _to_raw(b''.join(blobs), np.array([len(blob) for blob in blobs]),
                      np.array(received, np.int64))


def _to_raw(data: bytes, lengths: np.ndarray, received_ns: np.ndarray) -> RawMessages:
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return RawMessages(np.frombuffer(data, np.uint8), starts, lengths, received_ns)


def _connect(path: Path) -> sqlite3.Connection:
    # Without a write-ahead log the file is taken as it is: no lock, no journal to roll back,
    # and it may be on a disk that cannot be written to.
    mode = 'mode=ro' if Path(f'{path}-wal').exists() else 'mode=ro&immutable=1'
    database = sqlite3.connect(f'{path.absolute().as_uri()}?{mode}', uri=True)
    database.text_factory = bytes
    database.execute('PRAGMA writable_schema=ON')  # or it refuses a file that is cut off
    return database
