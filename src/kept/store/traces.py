"""Everything a file holds as text, decoded: for a proof that certain words are nowhere in it. Knows no format of kept's own.

A database is read row by row, every column of every table, compressed values unpacked; and then byte by byte, free pages included.
"""

import gzip
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

from kept.core.errors import StoreError

_SQLITE = b"SQLite format 3\x00"
_GZIP = b"\x1f\x8b"
_CHUNK, _OVERLAP = 4 * 2**20, 64 * 2**10  # bytes read at once, and read again with the next so that nothing is cut in two


def is_database(path: Path) -> bool:
    """True if a file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def texts_in(path: Path) -> Iterator[tuple[str, str]]:
    """Every text in a file, in pieces, each with the place in the file. Raises StoreError where it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_SQLITE))
        if head == _SQLITE:
            yield from _cells(path)
        if head.startswith(_GZIP):
            with gzip.open(path, "rb") as unpacked:
                yield from (("unpacked", text) for text in _chunks(unpacked))
        with path.open("rb") as raw:
            yield from (("bytes", text) for text in _chunks(raw))
    except (OSError, EOFError, zlib.error, sqlite3.Error) as error:
        raise StoreError(f"the file cannot be read: {error}", where=str(path), hint="look at it yourself") from error


def _cells(path: Path) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        tables = [
            row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        ]
        for table in tables:
            name = table.replace('"', '""')
            for row in database.execute(f'SELECT * FROM "{name}"'):  # noqa: S608 - a table's own name, quoted
                yield from ((f"table {table}", text) for cell in row if (text := _text(cell)))


def _text(cell: object) -> str:
    if isinstance(cell, bytes):
        try:
            cell = zlib.decompress(cell)
        except zlib.error:
            return cell.decode("utf-8", "ignore")
        return cell.decode("utf-8", "replace")
    return cell if isinstance(cell, str) else ""


def _chunks(file: IO[bytes] | gzip.GzipFile) -> Iterator[str]:
    before = b""
    while data := file.read(_CHUNK):
        yield (before + data).decode("utf-8", "ignore")
        before = data[-_OVERLAP:]
