"""Read a growing JSON Lines file in slices, from a cursor on, plain or compressed with zstd. The format interprets the records."""

import importlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

from kept.core.errors import SourceError
from kept.core.event import PROBLEMS_KEPT, Cursor, Event, RecordAccount, RecordProblem, Slice
from kept.core.value import dataclass
from kept.sources.fields import Fields
from kept.sources.records import (
    LINE_LIMIT,
    SLICE_BYTES,
    SLICE_EVENTS,
    STRIDE,
    ReadStop,
    Record,
    Reject,
    SourceLine,
    open_source,
    parse_line,
    read_records,
    refuse_wide_text,
)

_MARK_BYTES = 4096
REWRITTEN = "rewritten-file"


class Outcome(NamedTuple):
    """The result of one record: its events, or the reason why it has none, and counts for the account."""

    events: tuple[Event, ...] = ()
    dropped: str = ""
    noted: Mapping[str, int] = MappingProxyType({})


S = TypeVar("S")
Fetch = Callable[[int, int], Fields]
"""A function that returns the record at a byte range [start, end) of the file, or an empty mapping if the record is gone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordReader(Generic[S]):
    """The functions by which a format reads records.

    ``start`` creates the reader's state from a cursor's carry. ``step`` returns the outcome of one record and may change the state.
    ``save`` creates the carry from the state. The carry is stored, so it must be bounded, and contain only ids, folders, branches
    and places, but no words of the transcript. A record can be fetched again by its place.
    """

    start: Callable[[str, Fetch], S]
    step: Callable[[S, Record], Outcome]
    save: Callable[[S], str]


def read_slices(path: Path, cursor: Cursor, reader: RecordReader[S]) -> Iterator[Slice]:
    """Yield the slices of a JSON Lines file after a cursor. Raises SourceError if the file as a whole cannot be read."""
    with open_source(path) as file:
        yield from read_file_slices(path, file, cursor, reader)


def read_file_slices(path: Path, file: BinaryIO, cursor: Cursor, reader: RecordReader[S]) -> Iterator[Slice]:
    """Yield the slices of an open ``file``, which must be at its start. ``path`` names the file in problems and errors."""
    info = os.fstat(file.fileno())
    rewritten = not _is_continued(file, info.st_size, cursor)
    place = Cursor() if rewritten else cursor
    if place.offset == info.st_size and not rewritten:
        return
    if place.offset == 0:
        refuse_wide_text(path, file.read(4))
    state = reader.start(place.carry, partial(_fetch_record, file))
    outcomes: list[Outcome | Reject] = []
    noted, events = Counter({REWRITTEN: 1} if rewritten else {}), 0

    def cut(stop: ReadStop) -> Slice:
        reached = Cursor(
            inode=info.st_ino, offset=stop.end, prefix=hash_prefix(file, stop.end), line=stop.lines, carry=reader.save(state)
        )
        return make_slice(path, outcomes, reached, noted=noted, pending=stop.pending)

    first, stop = place.offset, ReadStop(end=place.offset, lines=place.line)
    for piece in read_records(file, offset=place.offset, lines=place.line):
        if isinstance(piece, Record):
            outcome = reader.step(state, piece)
            outcomes.append(outcome)
            events += len(outcome.events)
        elif isinstance(piece, ReadStop):
            stop = piece
            if stop.blank:
                noted["blank-line"] += 1
            if stop.end - first >= SLICE_BYTES or events >= SLICE_EVENTS:
                yield cut(stop)
                outcomes, noted, events, first = [], Counter(), 0, stop.end
        else:
            outcomes.append(piece)
    if stop.end > first or stop.pending or (rewritten and first == 0):
        reached = stop.end > place.offset or rewritten
        yield cut(stop) if reached else make_slice(path, outcomes, place, noted=noted, pending=stop.pending)


def read_stateless(path: Path, cursor: Cursor, step: Callable[[Record], Outcome]) -> Iterator[Slice]:
    """Like :func:`read_slices`, for a format whose records do not depend on earlier ones."""
    return read_slices(path, cursor, RecordReader(start=lambda *_: None, step=lambda _, record: step(record), save=lambda _: "{}"))


def make_slice(
    path: Path, outcomes: Iterable[Outcome | Reject], cursor: Cursor, *, noted: Mapping[str, int], pending: int = 0
) -> Slice:
    """Build a slice from outcomes, with its account."""
    events: list[Event] = []
    records = kept = malformed = 0
    dropped, counted = Counter[str](), Counter[str](noted)
    problems: list[RecordProblem] = []
    for outcome in outcomes:
        records += 1
        if isinstance(outcome, Reject):
            malformed += 1
            dropped[outcome.fault.value] += 1
            if len(problems) < PROBLEMS_KEPT:
                place = RecordProblem(
                    path=str(path), line=outcome.line, reason=outcome.fault.value, start=outcome.start, end=outcome.end
                )
                problems.append(place)
            continue
        if outcome.events:
            kept += 1
            events.extend(outcome.events)
        else:
            dropped[outcome.dropped] += 1
        if outcome.noted:
            counted.update(outcome.noted)
    account = RecordAccount(
        records=records,
        kept=kept,
        events=len(events),
        dropped=dict(dropped),
        noted=dict(counted),
        problems=tuple(problems),
        malformed=malformed,
        pending=pending,
    )
    return Slice(events=tuple(events), account=account, cursor=cursor)


def hash_prefix(file: BinaryIO, offset: int) -> str:
    """Hash the first ``offset`` bytes of a file by their number and their first and last 4 KB. Empty if ``offset`` is 0.

    This suffices because transcripts only grow at their end. A file that replaces a transcript (another session, a compaction, a
    restored copy, a truncated file that grew again) differs in the ids or times of its first records, in those before the offset,
    or in its length. An edit in the middle that keeps the length goes unnoticed. It has no effect anyway: its records keep their
    ids, and an archived event never changes.
    """
    if offset == 0:
        return ""
    head = os.pread(file.fileno(), min(offset, _MARK_BYTES), 0)
    tail = os.pread(file.fileno(), min(offset, _MARK_BYTES), max(0, offset - _MARK_BYTES))
    return blake2b(b"%d\n%d\n%b%b" % (offset, len(head), head, tail), digest_size=16).hexdigest()


def _is_continued(file: BinaryIO, size: int, cursor: Cursor) -> bool:
    """True if the bytes before the cursor are those that were read before. The inode may differ: a copy has the same bytes."""
    return cursor.offset <= size and cursor.prefix == hash_prefix(file, cursor.offset)


def _fetch_record(file: BinaryIO, start: int, end: int) -> Fields:
    if not 0 <= start < end <= start + LINE_LIMIT:
        return Fields()
    data = os.pread(file.fileno(), end - start, start)
    pieces = parse_line(SourceLine(number=0, start=start, end=end, data=data))
    return next((piece.value for piece in pieces if isinstance(piece, Record)), Fields())


MAGIC = b"\x28\xb5\x2f\xfd"
# Transcripts compress to about a tenth. A file is not a transcript if its content has more than this many bytes and is more than
# a hundred times as large as the file.
_FREE_BYTES = 64 * 2**20
_RATIO = 100
_MOST_BYTES = 2 * 2**30
_WINDOW_BYTES = 128 * 2**20
_DONE = "@"


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
