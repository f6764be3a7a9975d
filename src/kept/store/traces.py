"""Decodes all text in a file, to prove that it contains certain words nowhere. Does not rely on kept's own formats.

A database is read twice: row by row, with every column of every table decompressed, and byte by byte, with its free pages.
"""

import gzip
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO

from kept.core.erasure import ErasureWords
from kept.core.errors import StoreError
from kept.core.pattern import compile_late
from kept.core.value import dataclass
from kept.store.packing import unpack_text

_SQLITE = b"SQLite format 3\x00"
_GZIP = b"\x1f\x8b"
_INDEXED = compile_late(r"[\x00-\x1f]0(\w+)")  # a term in the bytes of SQLite's full-text index, which has a 0 before it
# Pages of a database are mostly unused. Long runs of zeros are shortened to this gap, which exceeds the reach of any pattern.
_UNUSED, _GAP = compile_late(rb"\x00{256,}"), bytes(256)
_ROWS = 1_000  # rows of a table whose texts are searched together
_CHUNK, _OVERLAP = 4 * 2**20, 64 * 2**10  # bytes of a chunk, and bytes that it shares with the next one so that no match is split


def is_database(path: Path) -> bool:
    """True if a file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


@dataclass(frozen=True, kw_only=True, slots=True)
class FilePiece:
    """A piece of a file: its location, its raw bytes, and the ``texts`` in them.

    ``unpack`` decodes the bytes to one text that contains all of the texts.
    """

    where: str
    data: bytes
    texts: Callable[[], Iterable[str]]
    unpack: Callable[[bytes], str]

    def has_words(self, words: ErasureWords, names: Sequence[str] = ()) -> bool:
        """True if one of the texts contains the words outside ``names``. Bytes known not to contain them are not unpacked again."""
        return words.may_be_in_packed(self.data, self.unpack) and any(
            words.is_in_text(_without(text, names)) for text in self.texts()
        )


def traces(path: Path, words: ErasureWords, names: Sequence[str] = ()) -> Iterator[str]:
    """The locations in a file that contain the words outside ``names`` (of folders and files), without duplicates.

    If the file cannot be read, the error message counts as a location, because the file may contain the words.
    """
    try:
        found: set[str] = set()
        for piece in pieces_of(path):  # one piece at a time: a caller that needs one location does not wait for the rest
            if piece.where not in found and piece.has_words(words, names):
                found.add(piece.where)
                yield piece.where
    except StoreError as error:
        yield str(error)


def pieces_of(path: Path) -> Iterator[FilePiece]:
    """The pieces of a file. Raises StoreError if it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_SQLITE))
        if head == _SQLITE:
            yield from _cells(path)
        if head.startswith(_GZIP):
            with gzip.open(path, "rb") as unpacked:
                yield from (_piece("unpacked", chunk, _decode_text) for chunk in _chunks(unpacked))
        with path.open("rb") as raw:
            yield from (_piece("bytes", chunk, _decode_text) for chunk in _chunks(raw))
    except (OSError, EOFError, zlib.error, sqlite3.Error) as error:
        raise StoreError(f"the file cannot be read: {error}", where=str(path), hint="check it yourself") from error


def _cells(path: Path) -> Iterator[FilePiece]:
    """The pieces of a database. Each binary value is one piece. Texts of many rows together are one piece."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        tables = [
            row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        ]
        for table in tables:
            name, where = table.replace('"', '""'), f"table {table}"
            rows = database.execute(f'SELECT * FROM "{name}"')  # noqa: S608 - a table's own name, quoted
            while batch := rows.fetchmany(_ROWS):
                cells = [cell for row in batch for cell in row]
                yield from (_piece(where, cell, _unpack_value) for cell in cells if isinstance(cell, bytes))
                yield _join_texts(where, tuple(dict.fromkeys(cell for cell in cells if isinstance(cell, str))))


def _without(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = text.replace(name, " ")
    return text


def _join_texts(where: str, texts: tuple[str, ...]) -> FilePiece:
    data = "\n".join(texts).encode("utf-8", "replace")
    return FilePiece(where=where, data=data, texts=lambda: texts, unpack=_decode_text)


def _piece(where: str, data: bytes, unpack: Callable[[bytes], str]) -> FilePiece:
    return FilePiece(where=where, data=data, texts=lambda: (unpack(data),), unpack=unpack)


def _unpack_value(data: bytes) -> str:
    try:
        return unpack_text(data)
    except zlib.error:
        return _decode_text(data)


def _decode_text(data: bytes) -> str:
    text = _UNUSED.sub(_GAP, data).decode("utf-8", "ignore")
    return "\n".join((text, *_INDEXED.findall(text)))


def _chunks(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    before = b""
    while data := file.read(_CHUNK):
        yield before + data
        before = data[-_OVERLAP:]
