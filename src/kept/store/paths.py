"""Files and folders beside a store: made for their owner alone, flushed, named. Knows nothing of what is in them."""

import os
from pathlib import Path


def make_folder(path: Path) -> None:
    """Make a folder, and every missing one above it, for its owner alone (0700). Raises OSError."""
    for missing in [item for item in (path, *path.parents) if not item.exists()][::-1]:
        missing.mkdir(mode=0o700, exist_ok=True)


def flush(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def delete_database(path: Path) -> None:
    """Delete a database file and its journal, where they are there. Raises OSError."""
    for item in (path, path.with_name(f"{path.name}-journal")):
        item.unlink(missing_ok=True)


def free_name(path: Path) -> Path:
    """The path, or the first like it with a number that is free."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}.{number}{path.suffix}")
    return free
