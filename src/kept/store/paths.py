"""Functions for the files and folders of a store: create them for the owner only, flush, delete and name them."""

import os
from pathlib import Path


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, accessible to the owner only (mode 0700). Raises OSError."""
    for missing in [item for item in (path, *path.parents) if not item.exists()][::-1]:
        missing.mkdir(mode=0o700, exist_ok=True)


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk (fsync). Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def delete_database(path: Path) -> None:
    """Delete a database file and its journal, if they exist. Raises OSError."""
    for item in (path, path.with_name(f"{path.name}-journal")):
        item.unlink(missing_ok=True)


def free_name(path: Path) -> Path:
    """The path if it is free, else the first free one with a number before the suffix."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}.{number}{path.suffix}")
    return free
