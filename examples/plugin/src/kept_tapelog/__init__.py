"""A reader of tape logs, which have one JSON object in each line. The README of this package describes the format."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from kept.core.event import Author, Cursor, Event, EventKind, Pointer, Precision, Slice
from kept.core.times import format_instant, parse_instant
from kept.sources.json_lines import Fetch, Outcome, RecordReader, read_slices
from kept.sources.records import Record, sample_records

SPEAKERS = {"me": (EventKind.PROMPT, Author.HUMAN), "machine": (EventKind.RESPONSE, Author.ASSISTANT)}


@dataclass(frozen=True, kw_only=True, slots=True)
class TapeLog:
    """The reader of tape logs."""

    name: str = "tapelog"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """``$TAPES``, else ``~/tapes``."""
        return (Path(env["TAPES"]) if env.get("TAPES") else home / "tapes",)

    def claims(self, path: Path, head: bytes) -> bool:
        """True if the first record is a tape log's."""
        return path.suffix == ".jsonl" and next(sample_records(head), {}).get("tape") == 1

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """The events after the cursor. Raises SourceError."""
        return read_slices(path, cursor, RecordReader(start=start, step=partial(step, path=path), save=save))


def start(_carry: str, _fetch: Fetch) -> None:
    """The state at the start of a file. There is none, because each line is independent."""


def save(_state: None) -> str:
    """The state as JSON, for the next time the file is read."""
    return "{}"


def step(_state: None, record: Record, *, path: Path) -> Outcome:
    """Read one line. The outcome has an event, or the reason why there is none."""
    value = record.value
    said = value.get("said")
    if not isinstance(said, str) or not said.strip():
        return Outcome(dropped="no-text")
    who = value.get("who")
    if not isinstance(who, str) or who not in SPEAKERS:
        return Outcome(dropped="unknown-speaker")
    return Outcome(events=(event(value, record, path, *SPEAKERS[who]),))


def event(value: Mapping[str, Any], record: Record, path: Path, kind: EventKind, author: Author) -> Event:
    """The event of a line."""
    at = parse_instant(value.get("when"))
    stamp, text, reel = format_instant(at) if at else "", value["said"].strip(), str(value.get("reel") or path.stem)
    # Lines without a time are distinguished by their place and their words.
    parts = (reel, kind, stamp or str(record.start), text)
    return Event(
        key=blake2b("\0".join(parts).encode(), digest_size=16).hexdigest(),
        twin=blake2b(f"{kind}\0{stamp}\0{text}".encode(), digest_size=16).hexdigest() if at else "",
        session=reel,
        record="",
        parent="",
        turn="",
        kind=kind,
        author=author,
        label_reason=f"who:{value['who']}",
        text=text,
        at=at,
        precision=Precision.MESSAGE if at else Precision.NONE,
        project="",
        branch="",
        tool=None,
        pointer=Pointer(path=str(path), line=record.line, start=record.start, end=record.end),
    )
