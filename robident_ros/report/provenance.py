"""Where a result comes from: hashes of what went in, versions, time."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from robident_ros.config import Config
from robident_ros.estimation.estimate import Provenance, Source

PACKAGES = ('robident_ros', 'numpy', 'scipy', 'pin', 'clarabel', 'numba')


def provenance_of(paths: Sequence[str | Path], config: Config) -> Provenance:
    """Return the provenance of a result that was made from these files, now."""
    return Provenance(
        tuple(Source(str(path), hash_of(path)) for path in paths),
        {name: found for name in PACKAGES if (found := _version(name))},
        datetime.now(timezone.utc).isoformat(timespec='seconds'), asdict(config))


def hash_of(path: str | Path) -> str:
    """Return the SHA-256 of a file; of a folder, that of its files' names and contents."""
    path, digest = Path(path), hashlib.sha256()
    files = sorted(item for item in path.rglob('*') if item.is_file()) if path.is_dir() else [path]
    for file in files:
        if path.is_dir():
            digest.update(str(file.relative_to(path)).encode())
        with open(file, 'rb') as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ''
