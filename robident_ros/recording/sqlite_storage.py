"""
Raw messages from the sqlite3 storage of rosbag2, also where the file is damaged.

SQLite refuses a file that is shorter than its header says, unless the schema is declared
writable: then rows can be read up to the pages that are not there. Around a damaged page rows
are asked for one by one, by their number, until reading gets under way again.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
import sqlite3

import numpy as np
from robident_ros.recording.cdr import RawMessages

BATCH = 2_000  # about a megabyte: stays in the processor's cache
NEAR = 1_000  # rows behind a damaged one that are tried one by one, before taking longer steps
QUERY = ('SELECT id, timestamp, data FROM messages WHERE id > ? AND topic_id IN '
         '(SELECT id FROM topics WHERE name = ?) ORDER BY id LIMIT ?')


def read_topics(path: Path) -> dict[str, str]:
    """Return the message type of each topic."""
    with closing(_connect(path)) as database:
        return dict(database.execute('SELECT name, type FROM topics'))


def read_messages(path: Path, topic: str, notes: list[str]) -> Iterator[RawMessages]:
    """Yield the messages of a topic in batches; what is lost goes to the notes."""
    with closing(_connect(path)) as database:
        last, damages = -1, 0
        while True:
            try:
                rows = database.execute(QUERY, (last, topic, BATCH)).fetchall()
                if not rows:
                    break
                last = rows[-1][0]
            except sqlite3.DatabaseError:
                damages += 1
                rows, last = _read_one_by_one(database, topic, last)
            if rows:
                yield _to_raw(rows)
            if last is None:
                break
        if damages:
            notes.append(f'the file is damaged or cut off: messages on {damages} damaged '
                         'stretch(es) are lost, all that can still be reached were read')


def _read_one_by_one(database: sqlite3.Connection, topic: str,
                     last: int) -> tuple[list[tuple], int | None]:
    """Read up to a damaged row; return the rows and where to go on (None: nowhere)."""
    rows = []
    while row := _try_row(database, topic, last):
        rows.append(row)
        last = row[0]
    step = 1
    while last + step < 2 ** 62:
        if row := _try_row(database, topic, last + step):
            return [*rows, row], row[0]
        step = step + 1 if step < NEAR else 2 * step
    return rows, None


def _try_row(database: sqlite3.Connection, topic: str, last: int) -> tuple | None:
    try:
        return database.execute(QUERY, (last, topic, 1)).fetchone()
    except sqlite3.DatabaseError:
        return None


def _to_raw(rows: list[tuple]) -> RawMessages:
    _, received, blobs = zip(*rows)
    lengths = np.fromiter(map(len, blobs), np.int64, len(blobs))
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return RawMessages(np.frombuffer(b''.join(blobs), np.uint8), starts, lengths,
                       np.array(received, np.int64))


def _connect(path: Path) -> sqlite3.Connection:
    # Without a write-ahead log the file is taken as it is: no lock, no journal to roll back,
    # and it may be on a disk that cannot be written to.
    mode = 'mode=ro' if Path(f'{path}-wal').exists() else 'mode=ro&immutable=1'
    database = sqlite3.connect(f'{path.absolute().as_uri()}?{mode}', uri=True)
    database.execute('PRAGMA writable_schema=ON')
    return database
