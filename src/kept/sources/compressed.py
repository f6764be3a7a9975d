"""Read transcripts that are JSON Lines compressed with zstd. Needs the package ``zstandard``."""

import importlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from kept.core.errors import SourceError
from kept.core.event import Cursor, Slice
from kept.sources.json_lines import RecordReader, hash_prefix, read_file_slices
from kept.sources.records import STRIDE, open_source

MAGIC = b"\x28\xb5\x2f\xfd"
# Transcripts compress to about a tenth. A file is not a transcript if its content has more than this many bytes and is more than
# a hundred times as large as the file.
_FREE_BYTES = 64 * 2**20
_RATIO = 100
_MOST_BYTES = 2 * 2**30
_WINDOW_BYTES = 128 * 2**20
_DONE = "@"
S = TypeVar("S")


def read_compressed(path: Path, cursor: Cursor, reader: RecordReader[S]) -> Iterator[Slice]:
    """Yield the slices of a zstd file from a cursor on, like :func:`kept.sources.json_lines.read_slices`.

    Cursors and pointers count bytes of the uncompressed text. The last cursor also identifies the compressed file, so an unchanged
    file is not unpacked again.

    Raises SourceError if the file is unreadable, damaged or too large when unpacked, or if ``zstandard`` is missing.
    """
    with open_source(path) as packed:
        mark = _DONE + hash_prefix(packed, os.fstat(packed.fileno()).st_size)
        if cursor.prefix.endswith(mark):
            return
        with tempfile.TemporaryFile() as plain:
            _unpack(path, packed, plain)
            inner = replace(cursor, prefix=cursor.prefix.partition(_DONE)[0])
            yield from _mark_last_slice(read_file_slices(path, plain, inner, reader), mark)


def _mark_last_slice(slices: Iterator[Slice], mark: str) -> Iterator[Slice]:
    held: Slice | None = None
    for piece in slices:
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield replace(held, cursor=replace(held.cursor, prefix=held.cursor.prefix + mark))


def _unpack(path: Path, packed: BinaryIO, plain: BinaryIO) -> None:
    zstandard = _import_zstandard(path)
    most = min(max(_FREE_BYTES, _RATIO * os.fstat(packed.fileno()).st_size), _MOST_BYTES)
    try:
        with zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).stream_reader(packed, read_across_frames=True) as stream:
            while chunk := stream.read(STRIDE):
                most -= len(chunk)
                if most < 0:
                    raise SourceError(
                        "unpacks to more than a hundred times its size, so it is not a transcript",
                        where=str(path),
                        hint="nothing of it was read",
                    )
                plain.write(chunk)
    except zstandard.ZstdError as error:
        raise SourceError("is a damaged zstd file", where=str(path)) from error
    plain.flush()
    plain.seek(0)


def _import_zstandard(path: Path) -> Any:
    try:
        return importlib.import_module("zstandard")
    except ImportError as error:
        raise SourceError(
            "is compressed with zstd, which needs the package zstandard", where=str(path), hint="pip install zstandard"
        ) from error
