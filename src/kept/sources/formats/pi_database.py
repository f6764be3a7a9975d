"""Read the rows of OpenClaw's database of sessions (``agent/openclaw-agent.sqlite``) as records, which the format interprets.

For each session, the cursor stores the last row read and its hash. If a session has grown, its rows are processed from the start to
rebuild the state, but only the new ones are yielded. If the hash of the last row has changed, the session is read again. Pointers
count rows: ``line`` is the row's number in its session, from 1, and the range is [number - 1, number).
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kept.core.digest import hash_texts
from kept.core.errors import SourceError
from kept.core.event import Cursor, Slice
from kept.sources.databases import MAGIC, database_mark, open_copy, ordinary_tables, table_names
from kept.sources.fields import Fields, Notes
from kept.sources.json_lines import Outcome, RecordReader, make_slice
from kept.sources.records import LINE_LIMIT, SLICE_BYTES, SLICE_EVENTS, RecordFault, Reject, SourceLine, parse_line

DATABASES = (".sqlite", ".sqlite3", ".db")
DATABASE = "openclaw-agent.sqlite"
_TABLE = "transcript_events"
_MARK = 16
ReaderOf = Callable[[Path, str, str], RecordReader[Any]]
"""A function that returns the reader of one session, given the database's path, the session's id and the session's key."""


class _Row(NamedTuple):
    """A row of the database: its number, its length in bytes, and its text, or None if it is too long."""

    seq: int
    length: int
    text: str | None


def claims_database(path: Path, head: bytes) -> bool:
    """True if a file is an SQLite database that has the table of sessions, or the usual name."""
    return head.startswith(MAGIC) and path.suffix in DATABASES and (path.name == DATABASE or _TABLE in table_names(path))


def read_database(path: Path, cursor: Cursor, reader_of: ReaderOf) -> Iterator[Slice]:
    """Yield the records of all sessions after the cursor, session by session. Raises SourceError."""
    _, mark = database_mark(path)
    if cursor.prefix == mark:
        return
    try:
        with open_copy(path) as database:
            yield from _read_database_slices(path, database, cursor, mark, reader_of)
    except UnicodeDecodeError as error:  # an error message quotes a damaged schema
        raise SourceError("is not a readable database", where=str(path)) from error


def _read_database_slices(
    path: Path, database: sqlite3.Connection, cursor: Cursor, mark: str, reader_of: ReaderOf
) -> Iterator[Slice]:
    tables = ordinary_tables(database)
    if _TABLE not in tables:
        raise SourceError(f"has no table {_TABLE}", where=str(path))
    read: dict[str, list[Any]] = json.loads(cursor.carry).get("sessions", {})
    keys, count = _session_keys(database, tables), cursor.line
    outcomes: list[Outcome | Reject] = []
    noted = Notes()
    size = 0

    def cut(prefix: str) -> Slice:
        carry = json.dumps({"sessions": read}, separators=(",", ":"))
        return make_slice(path, outcomes, Cursor(offset=count, prefix=prefix, line=count, carry=carry), noted=noted)

    for session, last in database.execute(_SESSIONS).fetchall():
        known, hashed = read.get(session, (-1, ""))
        if known >= 0 and _row_digest(database, session, known) != hashed:
            noted["rewritten-session"] += 1
            known = -1
        if known >= last:
            continue
        reader = reader_of(path, session, keys.get(session, ""))
        state = reader.start("{}", lambda _start, _end: Fields())
        for seq, length, text in database.execute(_BY_SESSION, (session,)):
            row = _Row(seq, length or 0, text)
            found = list(_row_outcomes(reader, state, row))
            if row.seq <= known:
                continue
            outcomes += found
            read[session] = [row.seq, hash_texts(session, row.text or "")[:_MARK]]
            count, size = count + 1, size + row.length
            if size >= SLICE_BYTES or len(outcomes) >= SLICE_EVENTS:
                yield cut("")
                outcomes, noted, size = [], Notes(), 0
    if outcomes or noted:
        yield cut(mark)


_SESSIONS = (
    "SELECT session_id, max(seq) FROM transcript_events"
    " WHERE typeof(session_id) = 'text' AND typeof(seq) = 'integer' GROUP BY session_id ORDER BY session_id"
)
_LENGTH = "length(CAST(event_json AS BLOB))"
_SHORT = f"CASE WHEN {_LENGTH} <= {LINE_LIMIT} THEN CAST(event_json AS TEXT) END"
_SELECT = f"SELECT seq, {_LENGTH}, {_SHORT} FROM transcript_events"  # noqa: S608 - names of its own
_BY_SESSION = f"{_SELECT} WHERE session_id = ? AND typeof(seq) = 'integer' ORDER BY seq"
_BY_ROW = f"{_SELECT} WHERE session_id = ? AND seq = ?"


def _row_digest(database: sqlite3.Connection, session: str, seq: int) -> str:
    """The hash of a row; empty if it does not exist."""
    found = database.execute(_BY_ROW, (session, seq)).fetchone()
    return hash_texts(session, found[2] or "")[:_MARK] if found else ""


def _session_keys(database: sqlite3.Connection, tables: frozenset[str]) -> Mapping[str, str]:
    """The key of each session by the session's id. Reads those of the known tables that exist."""
    keys: dict[str, str] = {}
    for table, query in (
        ("session_nodes", "SELECT current_session_id, session_key FROM session_nodes"),
        ("session_windows", "SELECT session_id, session_key FROM session_windows"),
    ):
        if table in tables:
            keys |= {session: key for session, key in database.execute(query) if isinstance(session, str) and isinstance(key, str)}
    return keys


def _row_outcomes(reader: RecordReader[Any], state: Any, row: _Row) -> Iterator[Outcome | Reject]:
    line, start, end = row.seq + 1, row.seq, row.seq + 1
    if row.text is None:
        if row.length > LINE_LIMIT:
            yield Reject(fault=RecordFault.LINE_TOO_LONG, line=line, start=start, end=end)
        else:
            yield Outcome(dropped="no-event_json")
        return
    for piece in parse_line(SourceLine(number=line, start=start, end=end, data=row.text.encode("utf-8", "replace"))):
        match piece:
            case Reject():
                yield piece
            case None:
                yield Outcome(dropped="blank-row")
            case record:
                yield reader.step(state, record)
