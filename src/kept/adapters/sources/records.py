"""JSON Lines read in bounded memory.

Knows lines, bytes and JSON; knows no transcript format. A broken record costs itself alone; an unfinished last line costs
nothing and is read when it is finished.
"""

import json
import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from kept.model.errors import SourceError

HEAD_BYTES = 64 * 1024
# Longest line that is parsed. One code point above U+FFFF makes Python hold four bytes for every character of the line, twice
# (the text and the parsed strings), so 16 MiB stays under 200 MB in the worst case. Real records stay below 8 MB.
LINE_LIMIT = 16 * 2**20
SLICE_BYTES = 8 * 2**20
# Real records nest about a dozen levels. A limit of our own gives the same verdict on every Python version.
DEPTH_LIMIT = 100
# A line of nothing but small values takes twenty times its length in memory.
VALUES_LIMIT = 2**20
STRIDE = 2**20


class Fault(StrEnum):
    """Why a piece of a line is no record. The word is the reason in the account."""

    NOT_JSON = "not-json"
    NOT_AN_OBJECT = "not-an-object"
    NOT_UTF8 = "not-utf-8"
    DUPLICATE_KEY = "duplicate-key"
    NUMBER_TOO_LONG = "number-too-long"
    NESTED_TOO_DEEP = "nested-too-deep"
    TOO_MANY_VALUES = "too-many-values"
    LINE_TOO_LONG = "line-too-long"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One physical line. ``data`` is None where it is longer than the limit; ``ended`` is False for an unfinished last line."""

    number: int
    start: int
    end: int
    data: bytes | None
    ended: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One JSON object of a file, with its 1-based line and its byte range [start, end)."""

    value: dict[str, Any]
    line: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Reject:
    """A piece of a line that is no record."""

    fault: Fault
    line: int
    start: int
    end: int


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading, never waiting for a FIFO's writer. Raises OSError, or SourceError for anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SourceError("is not a regular file", where=str(path))
    return os.fdopen(descriptor, "rb", buffering=STRIDE)


def read_lines(file: BinaryIO, *, offset: int, number: int) -> Iterator[Line]:
    """The lines after a byte offset, the first of them numbered ``number + 1``; holds at most LINE_LIMIT bytes of any of them."""
    file.seek(offset)
    while data := file.readline(LINE_LIMIT + 1):
        number += 1
        length, ended, fits = len(data), data.endswith(b"\n"), True
        while not ended and length > LINE_LIMIT:
            fits = False
            data = file.readline(STRIDE)
            if not data:
                break
            length, ended = length + len(data), data.endswith(b"\n")
        yield Line(number=number, start=offset, end=offset + length, data=data if fits else None, ended=ended)
        offset += length


def parse_line(line: Line) -> Iterator[Record | Reject | None]:
    """The JSON objects of a line; None for a blank one. What follows the first fault of a line is set aside as one piece."""
    if line.data is None:
        yield Reject(fault=Fault.LINE_TOO_LONG, line=line.number, start=line.start, end=line.end)
        return
    try:
        text = line.data.decode("utf-8")
    except UnicodeDecodeError:
        yield Reject(fault=Fault.NOT_UTF8, line=line.number, start=line.start, end=line.end)
        return
    if len(text) > VALUES_LIMIT and sum(text.count(mark) for mark in "[{,") > VALUES_LIMIT:
        yield Reject(fault=Fault.TOO_MANY_VALUES, line=line.number, start=line.start, end=line.end)
        return
    surrogates = "\\ud" in text or "\\uD" in text
    position, start = _skip(text, 0), line.start
    if position == len(text):
        yield None
        return
    counted = 0
    while position < len(text):
        found, after = _decode(text, position)
        position = _skip(text, after)
        # Only a line of several objects pays for finding the byte where the next one starts.
        end = line.end if position == len(text) else start + len(text[counted:position].encode())
        if isinstance(found, Fault):
            yield Reject(fault=found, line=line.number, start=start, end=end)
        else:
            yield Record(value=_without_surrogates(found) if surrogates else found, line=line.number, start=start, end=end)
        start, counted = end, position


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BETWEEN:
        position += 1
    return position


# A byte order mark may open the file; zero bytes are what a crashed file system leaves before the next record.
_BETWEEN = " \t\r\n\ufeff\0"


def _decode(text: str, position: int) -> tuple[dict[str, Any] | Fault, int]:
    """One JSON value and the position after it; a fault that hides its own end reaches to the end of the text."""
    try:
        value, after = _DECODER.raw_decode(text, position)
        crowded = text.count("[", position, after) + text.count("{", position, after) > DEPTH_LIMIT
        if crowded and _depth_exceeds(value, DEPTH_LIMIT):
            return Fault.NESTED_TOO_DEEP, after
    except RecursionError:
        return Fault.NESTED_TOO_DEEP, len(text)
    except _DuplicateKeyError:
        return Fault.DUPLICATE_KEY, len(text)
    except json.JSONDecodeError:
        return Fault.NOT_JSON, len(text)
    except ValueError:
        return Fault.NUMBER_TOO_LONG, len(text)
    if not isinstance(value, dict):
        return Fault.NOT_AN_OBJECT, after
    return value, after


class _DuplicateKeyError(ValueError):
    """An object names a key twice: readers would disagree on what it says."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeyError
    return found


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def _nothing(_constant: str) -> None:
    """NaN and the infinities are no JSON: the field is there, without a value."""


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_nothing)


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _without_surrogates(value: Any) -> Any:
    """The value with every unpaired surrogate as U+FFFD; depth is bounded by DEPTH_LIMIT."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_without_surrogates(item) for item in value]
        case dict():
            return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        case _:
            return value


_WIDE = (
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"{\0\0\0", "UTF-32"),
    (b"\0\0\0{", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"{\0", "UTF-16"),
    (b"\0{", "UTF-16"),
)


def wide_encoding(head: bytes) -> str:
    """The name of a two- or four-byte encoding a file opens in; empty for UTF-8 and everything else."""
    return next((name for opening, name in _WIDE if head.startswith(opening)), "")


def refuse_wide_text(path: Path, head: bytes) -> None:
    """Raises SourceError where a file opens in UTF-16 or UTF-32."""
    if name := wide_encoding(head):
        raise SourceError(f"is {name}, not UTF-8", where=str(path), hint="convert it to UTF-8; nothing of it was read")


def sample(head: bytes) -> Iterator[dict[str, Any]]:
    """The records that stand complete in the first bytes of a file, for recognising its format. Never raises."""
    name = wide_encoding(head)
    if name:
        head = head.replace(b"\0", b"").lstrip(b"\xff\xfe")
    start = 0
    for number, data in enumerate(head.split(b"\n")[:50], 1):
        line = Line(number=number, start=start, end=start + len(data), data=data)
        start += len(data) + 1
        for piece in parse_line(line):
            if isinstance(piece, Record):
                yield piece.value
