"""Output files appear whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from robident_ros.errors import RobidentError


@contextmanager
def write_atomically(path: str | Path, mode: str = 'w') -> Iterator[IO]:
    """Open a temporary file beside ``path`` that takes its name when all is written."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        encoding, newline = (None, None) if 'b' in mode else ('utf-8', '')
        file = NamedTemporaryFile(mode, dir=path.parent, prefix=f'.{path.name}.', delete=False,
                                  encoding=encoding, newline=newline)
    except OSError as error:
        raise RobidentError(f'{path}: cannot be written: {error.strerror}') from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(file.name, 0o666 & ~_umask())
        os.replace(file.name, path)
    except OSError as error:
        Path(file.name).unlink(missing_ok=True)
        raise RobidentError(f'{path}: cannot be written: {error.strerror}') from error
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    umask = os.umask(0)
    os.umask(umask)
    return umask


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically: a reader sees the old content or the new, never a part."""
    with write_atomically(path) as file:
        file.write(text)
