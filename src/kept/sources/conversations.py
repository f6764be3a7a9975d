"""Databases that hold many conversations, read one conversation after the other, only those that changed.

Knows the cursor and the slices; what a conversation is, the format says. The cursor's carry keeps the latest change it has seen
(milliseconds), so a conversation that did not change since is not read again.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from kept.core.event import Cursor, Slice
from kept.sources.databases import database_mark, open_copy
from kept.sources.documents import SourceDocument, make_slice, to_outcomes
from kept.sources.json_lines import Outcome
from kept.sources.records import SLICE_BYTES, SLICE_EVENTS, Record, Reject, SourceLine, parse_line


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """A conversation that may be read: when it last changed (milliseconds since 1970, 0 unknown), and how to read it.

    ``read`` gives it and what of it could not be parsed.
    """

    changed: int
    read: Callable[[], tuple[SourceDocument, list[Reject]]]


def parse_value(data: Any, row: int) -> Mapping[str, Any] | Reject:
    """The object in a column of a row, an empty one where there is none; or why what stands there is none."""
    raw = data if isinstance(data, bytes) else str(data or "").encode("utf-8", "replace")
    piece = next(parse_line(SourceLine(number=row, start=0, end=len(raw), data=raw)), None)
    return piece.value if isinstance(piece, Record) else piece or {}


def read_conversations(path: Path, cursor: Cursor, find: Callable[[Connection], Iterable[Conversation]]) -> Iterator[Slice]:
    """The events of the conversations that changed since the cursor was taken. Raises SourceError.

    ``find`` gives the conversations of a database, those changed first first.
    """
    size, mark = database_mark(path)
    if (cursor.offset, cursor.prefix) == (size, mark):
        return
    since = int(json.loads(cursor.carry).get("since", 0))
    latest, gathered = since, 0
    noted: dict[str, int] = {}
    outcomes: list[Outcome | Reject] = []
    with open_copy(path) as connection:
        for conversation in find(connection):
            if 0 < conversation.changed < since:
                noted["unchanged-conversation"] = noted.get("unchanged-conversation", 0) + 1
                continue
            document, rejects = conversation.read()
            outcomes += [*to_outcomes(document, str(path)), *rejects]
            gathered += sum(len(event_draft.text) for entry in document.entries for event_draft in entry.said)
            if (gathered >= SLICE_BYTES or len(outcomes) >= SLICE_EVENTS) and conversation.changed > latest:
                latest = conversation.changed
                yield make_slice(path, outcomes, Cursor(carry=json.dumps({"since": latest})), noted=noted)
                outcomes, gathered, noted = [], 0, {}
            latest = max(latest, conversation.changed)
    reached = Cursor(inode=path.stat().st_ino, offset=size, prefix=mark, carry=json.dumps({"since": latest}))
    yield make_slice(path, outcomes, reached, noted=noted)
