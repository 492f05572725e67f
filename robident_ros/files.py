"""Files are written whole or not at all."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically: a reader sees the old content or the new, never a part."""
    path = Path(path)
    with NamedTemporaryFile('w', dir=path.parent, prefix=f'.{path.name}.', encoding='utf-8',
                            delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
