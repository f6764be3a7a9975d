"""Read the rows of a saved screen in bounded memory, without terminal colours, titles and modes.

A recording (``script``, ``tmux pipe-pane``), in which a program redrew parts of the screen, is not supported.
"""

import codecs
import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from kept.core.errors import SourceError
from kept.core.pattern import compile_late
from kept.sources.documents import Row, Snapshot
from kept.sources.records import STRIDE, refuse_wide_text, wide_encoding

# Sequences with which a program redraws rows above the cursor: the final screen is then not what the bytes contain.
_REDRAWS = compile_late(rb"\x1b\[[0-9;]{0,20}[AFHLMSTdf]")
ROW_BYTES = 2**18  # a longer line is split into several rows
_CONTROL = compile_late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ESCAPE = compile_late(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


def snapshot_of(file: BinaryIO, path: Path) -> Snapshot:
    """Identify the state of the file. Raises SourceError if it is not UTF-8 text, or is a recording."""
    info = os.fstat(file.fileno())
    file.seek(0)
    refuse_wide_text(path, file.read(4))
    file.seek(0)
    digest, decoder, position = blake2b(digest_size=16), codecs.getincrementaldecoder("utf-8")(), 0
    while data := file.read(STRIDE):
        digest.update(data)
        if b"\0" in data:
            raise SourceError("is not text: it contains zero bytes", where=str(path))
        try:
            decoder.decode(data)
        except UnicodeDecodeError as error:
            hint = "convert it to UTF-8; nothing of it was read"
            raise SourceError(f"is not UTF-8, near byte {position + error.start}", where=str(path), hint=hint) from error
        position += len(data)
        if _REDRAWS.search(data):
            hint = "copy the text from the screen into a file"
            raise SourceError("is the recording of a program that redraws its screen", where=str(path), hint=hint)
    return Snapshot(info.st_ino, position, digest.hexdigest())


def screen_rows(file: BinaryIO) -> Iterator[Row]:
    """Yield the rows of a file."""
    return (row for data, position in _split_bytes(file) for row in _parse_rows(data, position))


def _split_bytes(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield the lines of a file, very long ones in pieces, each with its position."""
    file.seek(0)
    position = 0
    while data := file.readline(ROW_BYTES):
        if len(data) == ROW_BYTES and not data.endswith(b"\n"):
            data = data[: _complete_length(data)]
            file.seek(position + len(data))
        yield data, position
        position += len(data)


def head_rows(head: bytes) -> list[Row]:
    """The rows of a file's first bytes, to recognize its format; empty if they are not text or have no glyph of a client. Text in
    another encoding is refused only when it is read.
    """
    encoding = wide_encoding(head[:4])
    if encoding:
        head = head[: len(head) // 4 * 4].decode(encoding.lower(), "replace").encode("utf-8", "replace")
    elif b"\0" in head:
        return []
    if not any(glyph in head for glyph in _GLYPHS):
        return []
    return [row for number, line in enumerate(head.splitlines(keepends=True)) for row in _parse_rows(line, number)]


_GLYPHS = tuple(glyph.encode() for glyph in "⏺⎿❯●›▌└")


def _complete_length(data: bytes) -> int:
    """The length of the data without the incomplete character at its end."""
    end = len(data)
    while end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if data[end - 1] >= 0xC0 else len(data)


def _parse_rows(data: bytes, position: int) -> Iterator[Row]:
    """Yield the rows of one line: one, or more if it contains single carriage returns."""
    text = data.decode("utf-8", "replace").rstrip("\r\n")
    if position == 0:
        text = text.removeprefix("\ufeff")
    end = position + len(data)
    if not _CONTROL.search(text):
        yield Row(text.expandtabs(), position, end)
        return
    parts = _ESCAPE.sub("", text).split("\r")
    yield from (Row(part.expandtabs(), position, end) for part in parts)
