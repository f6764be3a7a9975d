"""The export file of a store, which any store can load. It is gzipped JSON lines, one row per line, with the row's kind under
``"is"``.

Of the random keys, only that of the fingerprints is exported. Without it the fingerprints are useless, and an import could bring
forgotten statements back. With the file, anybody can test guesses against the fingerprints, so it must be as private as a backup.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kept.core.codec import dump_member, load, to_canonical_json
from kept.core.errors import StoreError, UsageError
from kept.store.database import create_file
from kept.store.values import Row, StoreRow

_MAGIC = b"\x1f\x8b"
_LONGEST = 64 * 2**20  # maximum bytes of a row


def is_portable(path: Path) -> bool:
    """True if a file begins like an export. Raises UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(2) == _MAGIC
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror}", where=str(path)) from error


def write_rows(rows: Iterable[Row], path: Path) -> int:
    """Write rows durably to a new file (mode 0600). Returns their number. Raises StoreError; no file is left behind then."""
    count = 0
    with (
        create_file(path),
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as file,
    ):
        for row in rows:
            file.write(f"{to_canonical_json(dump_member(row))}\n".encode())
            count += 1
    return count


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of an export file, one at a time. Raises StoreError if it is truncated, damaged or of a newer format."""
    number = 0
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(_LONGEST):
                number += 1
                yield _parse_row(line, first=number == 1)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"row {number} cannot be read: {error}", where=str(path), hint="nothing was changed") from error


def _parse_row(line: bytes, *, first: bool) -> Row:
    row: Row = load(Row, json.loads(line, parse_constant=_reject_constant))
    if first != isinstance(row, StoreRow):
        raise ValueError("only the first row may be the header")
    return row


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
