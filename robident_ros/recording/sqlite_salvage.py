"""
Messages from the pages of a damaged sqlite3 file, read without SQLite.

SQLite finds rows through a tree of pages and stops where a page of the tree is missing; worse,
it takes what is missing of a page cut in half for zeros. Here every page is looked at by itself:
whole rows stand on leaf pages, and those of the table ``messages`` are known by their shape
(id, topic, time, bytes). The format is described at sqlite.org/fileformat2.html.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import error as StructError, unpack_from

HEADER = 100  # bytes of file header on the first page
TABLE_LEAF = 0x0d
INTEGERS = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 0, 9: 0}  # bytes by serial type


def is_cut_off(path: Path) -> bool:
    """Tell whether the file is shorter than its header says."""
    with path.open('rb') as file:
        header = file.read(HEADER)
    if len(header) < HEADER:
        return True
    written, pages, valid_for = (unpack_from('>I', header, at)[0] for at in (24, 28, 92))
    # Page count and change counters belong together only where the last writer kept them.
    return written == valid_for and path.stat().st_size < pages * page_size(header)


def page_size(header: bytes) -> int:
    """Return the size of a page in bytes."""
    (size,) = unpack_from('>H', header, 16)
    return 65536 if size == 1 else size


def salvage_rows(path: Path) -> list[tuple[int, int, int, bytes]]:
    """Return (id, topic, time, bytes) of all whole messages, by id."""
    data = path.read_bytes()
    size = page_size(data[:HEADER]) if len(data) >= HEADER else 0
    if size < 512 or size & (size - 1):
        return []
    usable = size - data[20]
    rows = {}
    for start in range(0, len(data), size):
        for row in _leaf_rows(data, start, size, usable):
            rows[row[0]] = row
    return [rows[number] for number in sorted(rows)]


def _leaf_rows(data: bytes, start: int, size: int,
               usable: int) -> Iterator[tuple[int, int, int, bytes]]:
    head = start + (HEADER if start == 0 else 0)
    if len(data) < head + 8 or data[head] != TABLE_LEAF:
        return
    (count,) = unpack_from('>H', data, head + 3)
    for number in range(min(count, (size - 8) // 2)):
        try:
            (cell,) = unpack_from('>H', data, head + 8 + 2 * number)
            row = _parse_row(data, start + cell, min(start + size, len(data)), size, usable)
        except (IndexError, ValueError, StructError):
            continue  # this row is damaged, others may not be
        if row is not None:
            yield row


def _parse_row(data: bytes, offset: int, stop: int, size: int,
               usable: int) -> tuple[int, int, int, bytes] | None:
    """Read one row; None where it is not a message."""
    length, offset = _varint(data, offset)
    number, offset = _varint(data, offset)
    payload = _payload(data, offset, stop, length, size, usable)
    header, at = _varint(payload, 0)
    kinds = []
    while at < header:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if len(kinds) != 4 or not set(kinds[:3]) <= INTEGERS.keys() or kinds[3] < 12 or kinds[3] % 2:
        return None
    values = []
    for kind in kinds[:3]:
        width = INTEGERS[kind]
        values.append(int(kind == 9) + int.from_bytes(payload[at:at + width], 'big', signed=True))
        at += width
    message = payload[at:at + (kinds[3] - 12) // 2]
    return number, values[1], values[2], message


def _payload(data: bytes, offset: int, stop: int, length: int, size: int, usable: int) -> bytes:
    """Return the content of a row; long ones go on on overflow pages."""
    if length > len(data):
        raise ValueError('longer than the file')
    local = length
    if length > usable - 35:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        local = local if local <= usable - 35 else least
    if offset + local > stop:
        raise ValueError('leaves its page')
    payload = bytearray(data[offset:offset + local])
    after = offset + local
    while len(payload) < length:
        (page,) = unpack_from('>I', data, after)
        after = (page - 1) * size
        if page == 0 or after + size > len(data):
            raise ValueError('its overflow page is lost')
        payload += data[after + 4:after + min(usable, 4 + length - len(payload))]
    return bytes(payload)


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return a variable-length integer and the offset behind it."""
    value = 0
    for count in range(8):
        byte = data[offset + count]
        value = value << 7 | byte & 0x7f
        if byte < 0x80:
            return value, offset + count + 1
    return value << 8 | data[offset + 8], offset + 9
