"""Read JSON Lines in bounded memory. A broken record affects no other. An incomplete last line is read once it is complete."""

import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kept.core.codec import map_strings
from kept.core.errors import SourceError
from kept.core.event import Pointer
from kept.core.pattern import compile_late
from kept.core.value import make_builder
from kept.sources.fields import Fields

HEAD_BYTES = 64 * 1024
# The longest line that is parsed. If a line has a code point above U+FFFF, Python uses four bytes for each of its characters, both
# in the text and in the parsed strings. So 16 MiB take at most about 220 MB. Real records are below 8 MB.
LINE_LIMIT = 16 * 2**20
SLICE_BYTES = 8 * 2**20
# An event takes one or two kilobytes of memory even if its text is short. Eight megabytes of short records would take fifty.
SLICE_EVENTS = 2_000
# Real records have about a dozen levels. The explicit limit gives the same result in every Python version.
DEPTH_LIMIT = 100
# A line of nothing but small values takes twenty times its length in memory.
VALUES_LIMIT = 2**20
STRIDE = 2**20


class RecordFault(StrEnum):
    """The fault of a piece of a line that is not a record. The value is the reason in the account."""

    NOT_JSON = "not-json"
    NOT_AN_OBJECT = "not-an-object"
    NOT_UTF8 = "not-utf-8"
    DUPLICATE_KEY = "duplicate-key"
    NUMBER_TOO_LONG = "number-too-long"
    NESTED_TOO_DEEP = "nested-too-deep"
    TOO_MANY_VALUES = "too-many-values"
    LINE_TOO_LONG = "line-too-long"


class SourceLine(NamedTuple):
    """A line of a file. Its line end is missing if ``ended`` is False. ``data`` is None if the line is too long."""

    number: int
    start: int
    end: int
    data: bytes | None
    ended: bool = True


class RecordPlace(NamedTuple):
    """The place of a record: its line number, counted from 1, and its byte range [start, end)."""

    line: int
    start: int
    end: int

    def pointer(self, path: str) -> Pointer:
        """A pointer to this place in a file."""
        made: Pointer = make_builder(Pointer)(path, *self)
        return made


class Record(NamedTuple):
    """A JSON object of a file, with its line number (from 1) and byte range [start, end).

    The range starts with the line, or after the previous object in the line. It ends with the object's last brace, or with the
    line.
    """

    value: Fields
    line: int
    start: int
    end: int

    @property
    def place(self) -> RecordPlace:
        """The place of the record."""
        return RecordPlace(self.line, self.start, self.end)


class Reject(NamedTuple):
    """A piece of a line that is not a record."""

    fault: RecordFault
    line: int
    start: int
    end: int


class ReadStop(NamedTuple):
    """A place to continue from. Everything before byte ``end`` was yielded, and ``lines`` lines ended before it.

    ``blank`` means that the last line was blank. ``pending`` is the number of bytes of an incomplete record after this place.
    """

    end: int
    lines: int
    blank: bool = False
    pending: int = 0


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Does not wait for the writer of a FIFO. Raises OSError, or SourceError for other files."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SourceError("is not a regular file", where=str(path))
    return os.fdopen(descriptor, "rb", buffering=STRIDE)


def unreadable_error(path: Path, error: OSError) -> SourceError:
    """The error for a file that the system cannot read."""
    return SourceError(f"cannot be read: {error.strerror or type(error).__name__}", where=str(path))


@contextmanager
def open_source(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading. Raises SourceError if the system cannot open or read it."""
    try:
        with open_regular(path) as file:
            yield file
    except OSError as error:
        raise unreadable_error(path, error) from error


def read_beginning(path: Path, size: int) -> bytes:
    """The first ``size`` bytes of a file; empty if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(size)
    except (OSError, SourceError):
        return b""


def read_records(file: BinaryIO, *, offset: int, lines: int) -> Iterator[Record | Reject | ReadStop]:
    """Yield the records and rejects after a byte offset, before which ``lines`` lines ended. Yields a stop after each line and at
    the end of the file.

    A complete object at the end of the file is yielded before its line ends, so a stop may be within a line. Reading on from any
    stop gives the same result as reading all at once. At most LINE_LIMIT bytes of the file are in memory.
    """
    within = offset > 0 and os.pread(file.fileno(), 1, offset - 1) != b"\n"
    file.seek(offset)
    while data := file.readline(LINE_LIMIT + 1):
        if (value := _decode_plain_line(data)) is not None:
            end, lines, within = offset + len(data), lines + 1, False
            yield Record(value, lines, offset, end - 1)
            yield ReadStop(end, lines)
            offset = end
            continue
        line = SourceLine(number=lines + 1, start=offset, end=offset + len(data), data=data, ended=data.endswith(b"\n"))
        blank = False
        for piece in parse_line(line):
            if piece is None:
                blank = not within
            else:
                yield piece
                offset = piece.end
        if line.ended:
            offset, lines, within = line.end, lines + 1, False
            yield ReadStop(end=offset, lines=lines, blank=blank)
        elif len(data) <= LINE_LIMIT:
            cut = data[offset - line.start :]
            yield ReadStop(end=offset, lines=lines, pending=len(cut) if cut.strip(_BLANKS.encode()) else 0)
            return  # a writer may have continued meanwhile, so the next reading begins at the stop
        elif offset > line.start:
            # The line is endless but has complete objects. The text after them may have the full length again.
            file.seek(offset)
            within = True
            yield ReadStop(end=offset, lines=lines)
        else:
            end, ended = _skip_line(file, line.end)
            if not ended:
                yield ReadStop(end=offset, lines=lines, pending=end - offset)
                return
            yield Reject(fault=RecordFault.LINE_TOO_LONG, line=line.number, start=offset, end=end)
            offset, lines, within = end, lines + 1, False
            yield ReadStop(end=offset, lines=lines)


def _decode_plain_line(data: bytes) -> Fields | None:
    """Parse a line that is one object and its line end, as nearly all are. Returns None for others, which are parsed in pieces."""
    if data[:1] != b"{" or data[-2:] != b"}\n" or len(data) > VALUES_LIMIT:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    value, after = _decode_value(text, 0)
    return value if isinstance(value, Fields) and after == len(text) - 1 else None


def _skip_line(file: BinaryIO, offset: int) -> tuple[int, bool]:
    """Skip to the end of a line. Returns the offset after it, and whether the line ends with a newline."""
    while data := file.readline(STRIDE):
        offset += len(data)
        if data.endswith(b"\n"):
            return offset, True
    return offset, False


def parse_line(line: SourceLine) -> Iterator[Record | Reject | None]:
    """Yield the JSON objects and rejects of a line, or None for a blank line. A fault whose end is unknown rejects the rest of the
    line.

    If the line has not ended, only the objects before its first fault are yielded, because a continuation cannot change them.
    """
    if line.data is None:
        yield Reject(fault=RecordFault.LINE_TOO_LONG, line=line.number, start=line.start, end=line.end)
        return
    done, again = 0, True
    while again:
        text, fault = _decode_text(line.data[done:])
        whole, before, counted = line.ended and fault is None, done, 0
        position = _skip_blanks(text, 0)
        if whole and position == len(text) and not done:
            yield None
        while position < len(text):
            found, after = _decode_value(text, position)
            if isinstance(found, RecordFault) and not whole:
                break
            position = _skip_blanks(text, after)
            start = done
            if fault is None and position == len(text):
                done = len(line.data if after == position else line.data.rstrip(_BLANKS.encode()))
            else:
                done += len(text[counted:after].encode())
            counted = after
            yield _to_record(found, line, start, done)
        again = fault is RecordFault.TOO_MANY_VALUES and done > before
    if fault is not None and line.ended:
        yield _to_record(fault, line, done, len(line.data))


def _to_record(found: Fields | RecordFault, line: SourceLine, start: int, end: int) -> Record | Reject:
    start, end = line.start + start, line.start + end
    if isinstance(found, RecordFault):
        return Reject(fault=found, line=line.number, start=start, end=end)
    return Record(value=found, line=line.number, start=start, end=end)


def _decode_text(data: bytes) -> tuple[str, RecordFault | None]:
    """Return the text before the first invalid byte or the first value above the limit, and the fault there (or None)."""
    fault = None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text, fault = data[: error.start].decode("utf-8"), RecordFault.NOT_UTF8
    if len(text) > VALUES_LIMIT and sum(text.count(mark) for mark in "[{,") > VALUES_LIMIT:
        first = next(islice(_VALUES.finditer(text), VALUES_LIMIT, None))
        text, fault = text[: first.start()], RecordFault.TOO_MANY_VALUES
    return text, fault


# A file may start with a byte order mark. After a crash, a file system may leave zero bytes before the next record.
_BLANKS = " \t\r\n\ufeff\0"
_VALUES = compile_late(r"[\[{,]")
_BLANK_RUN = compile_late(f"[{_BLANKS}]*")


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANK_RUN.match(text, position)
    return match.end() if match else position


def _decode_value(text: str, position: int) -> tuple[Fields | RecordFault, int]:
    """Return one JSON value and the position after it. A fault whose end is unknown extends to the end of the text."""
    try:
        value, after = _DECODER.raw_decode(text, position)
        own = text[position:after]
        # ``split`` with a limit takes a tenth of the instructions of ``count``.
        if len(own.split("[", DEPTH_LIMIT)) + len(own.split("{", DEPTH_LIMIT)) - 2 >= DEPTH_LIMIT and _is_too_deep(value):
            return RecordFault.NESTED_TOO_DEEP, after
    except RecursionError:
        return RecordFault.NESTED_TOO_DEEP, len(text)
    except _DuplicateKeyError:
        return RecordFault.DUPLICATE_KEY, len(text)
    except json.JSONDecodeError:
        return RecordFault.NOT_JSON, len(text)
    except ValueError:
        return RecordFault.NUMBER_TOO_LONG, len(text)
    if not isinstance(value, Fields):
        return RecordFault.NOT_AN_OBJECT, after
    surrogates = text.find("\\u", position, after) >= 0 and (
        text.find("\\ud", position, after) >= 0 or text.find("\\uD", position, after) >= 0
    )
    return replace_surrogates(value) if surrogates else value, after


class _DuplicateKeyError(ValueError):
    """An object has a duplicate key, so that readers would disagree about its value."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> Fields:
    found = Fields(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeyError
    return found


def _parse_finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def _drop_constant(_constant: str) -> None:
    """Read NaN and infinities as null, because JSON does not have them."""


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_parse_finite, parse_constant=_drop_constant)


def _is_too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(DEPTH_LIMIT):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def replace_surrogates(value: Any) -> Any:
    """Replace every unpaired surrogate by U+FFFD. DEPTH_LIMIT bounds the recursion."""
    return map_strings(value, lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


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
    """UTF-16 or UTF-32 if a file begins with that encoding; empty for all other content."""
    return next((name for opening, name in _WIDE if head.startswith(opening)), "")


def refuse_wide_text(path: Path, head: bytes) -> None:
    """Raise SourceError if a file begins with UTF-16 or UTF-32."""
    if name := wide_encoding(head):
        raise SourceError(f"is {name}, not UTF-8", where=str(path), hint="convert it to UTF-8; nothing of it was read")


def sample_records(head: bytes) -> Iterator[Fields]:
    """The complete records in the first bytes of a file, to recognize its format. Never raises. Each line is parsed when it is
    reached, because most formats need only the first record.
    """
    lines, parsed = _split_head(head)
    for number, data in enumerate(lines, 1):
        if number not in parsed:
            line = SourceLine(number=number, start=0, end=len(data), data=data)
            parsed[number] = [piece.value for piece in parse_line(line) if isinstance(piece, Record)]
        yield from parsed[number]


@lru_cache(maxsize=1)  # all formats ask in turn about the same first bytes
def _split_head(head: bytes) -> tuple[list[bytes], dict[int, list[Fields]]]:
    """The lines, and a dictionary for the records of those that were parsed, by line number."""
    if wide_encoding(head):
        head = head.replace(b"\0", b"").lstrip(b"\xff\xfe")
    return head.split(b"\n"), {}
