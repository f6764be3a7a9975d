"""OpenClaw's database of sessions (``agent/openclaw-agent.sqlite``): its rows as records, read and never written.

A cursor knows for each session the last row read and a hash of it. A session that has grown is gone through again from its
start, for the state that its new rows need; one whose last row is another is read anew. Pointers count rows: ``line`` is the
row's number in its session, from 1, and the range is [number - 1, number).

Knows tables and rows; what a record means is the format's business.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from kept.adapters.sources.claude_code_blocks import hash_of
from kept.adapters.sources.documents import settle
from kept.adapters.sources.folding import SLICE_BYTES, Outcome, Reader
from kept.adapters.sources.records import LINE_LIMIT, Fault, Line, Reject, open_regular, parse_line
from kept.model.errors import SourceError
from kept.model.event import Cursor, Slice

DATABASES = (".sqlite", ".sqlite3", ".db")
_MAGIC = b"SQLite format 3\0"
_BUSY_SECONDS = 1.0
_MARK = 16


class _Row(NamedTuple):
    """A row: its number, its length in bytes, its text where that is not too long."""

    seq: int
    length: int
    data: bytes | None


def claims_database(path: Path, head: bytes) -> bool:
    """Whether a file is an SQLite database with such a table, or has the name of one."""
    named = path.name == "openclaw-agent.sqlite"
    told = b"transcript_events" in head and b"event_json" in head
    return head.startswith(_MAGIC) and path.suffix in DATABASES and (named or told)


def read_database(path: Path, cursor: Cursor, reader_of: Callable[[Path, str, str], Reader[Any]]) -> Iterator[Slice]:
    """The records of all sessions after the cursor, session by session.

    Args:
        path: the database.
        cursor: where the last reading ended.
        reader_of: the reader of one session, given the path, the session's id and its key.

    Raises:
        SourceError: it cannot be opened or read, or is none of OpenClaw's.
    """
    try:
        with open_regular(path):
            pass
        with closing(_open(path)) as database:
            yield from _slices(path, database, cursor, reader_of)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or type(error).__name__}", where=str(path)) from error
    except sqlite3.Error as error:
        raise SourceError(f"cannot be read as a database: {error}", where=str(path)) from error


def _open(path: Path) -> sqlite3.Connection:
    # Beside a database that nobody has open nothing is created; one that is in use has to be read with its log.
    used = any(path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-journal"))
    mode = "mode=ro" if used else "mode=ro&immutable=1"
    database = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, timeout=_BUSY_SECONDS)
    database.text_factory = bytes
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def _slices(
    path: Path, database: sqlite3.Connection, cursor: Cursor, reader_of: Callable[[Path, str, str], Reader[Any]]
) -> Iterator[Slice]:
    if "transcript_events" not in _tables(database):
        raise SourceError("holds no table transcript_events", where=str(path))
    read: dict[str, list[Any]] = json.loads(cursor.carry).get("sessions", {})
    keys, count = _keys(database), cursor.line
    outcomes: list[Outcome | Reject] = []
    noted: dict[str, int] = {}
    size = 0

    def cut() -> Slice:
        carry = json.dumps({"sessions": read}, separators=(",", ":"))
        reached = Cursor(offset=count, prefix=hash_of(carry), line=count, carry=carry)
        return settle(path, outcomes, reached, noted=noted)

    for raw, last in _sessions(database):
        session = raw.decode("utf-8", "replace")
        known = read.get(session)
        same = known is not None and _mark(database, raw, known[0]) == known[1]
        if same and known is not None and known[0] >= last:
            continue
        if known is not None and not same:
            noted["rewritten-session"] = noted.get("rewritten-session", 0) + 1
        after = known[0] if same and known is not None else -1
        reader = reader_of(path, session, keys.get(session, ""))
        state = reader.start("{}", lambda _start, _end: {})
        for row in _rows(database, raw):
            found = list(_outcomes(reader, state, row))
            if row.seq <= after:
                continue
            outcomes += found
            read[session] = [row.seq, hash_of(session, (row.data or b"").decode("utf-8", "replace"))[:_MARK]]
            count, size = count + 1, size + row.length
            if size >= SLICE_BYTES:
                yield cut()
                outcomes, noted, size = [], {}, 0
    if outcomes or noted:
        yield cut()


def _tables(database: sqlite3.Connection) -> set[str]:
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    return {name.decode("utf-8", "replace") for (name,) in found}


def _sessions(database: sqlite3.Connection) -> list[tuple[bytes, int]]:
    found = database.execute(
        "SELECT session_id, max(seq) FROM transcript_events"
        " WHERE typeof(session_id) = 'text' AND typeof(seq) = 'integer' GROUP BY session_id ORDER BY session_id"
    )
    return [(session, last) for session, last in found]


_ROW = f"seq, length(CAST(event_json AS BLOB)), CASE WHEN length(CAST(event_json AS BLOB)) <= {LINE_LIMIT} THEN event_json END"


def _rows(database: sqlite3.Connection, session: bytes) -> Iterator[_Row]:
    query = f"SELECT {_ROW} FROM transcript_events WHERE session_id = CAST(? AS TEXT) AND typeof(seq) = 'integer' ORDER BY seq"  # noqa: S608 - no value from outside
    for seq, length, data in database.execute(query, (session,)):
        yield _Row(seq, length or 0, data if isinstance(data, bytes) else None)


def _mark(database: sqlite3.Connection, session: bytes, seq: int) -> str:
    """The hash of the row that was the last one read; empty where it is gone."""
    query = f"SELECT {_ROW} FROM transcript_events WHERE session_id = CAST(? AS TEXT) AND seq = ?"  # noqa: S608 - no value from outside
    for _, _, data in database.execute(query, (session, seq)):
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else ""
        return hash_of(session.decode("utf-8", "replace"), text)[:_MARK]
    return ""


def _keys(database: sqlite3.Connection) -> Mapping[str, str]:
    """Session id → session key, from whichever of the tables that tell it is there."""
    keys: dict[str, str] = {}
    for table, column in (("session_nodes", "current_session_id"), ("session_windows", "session_id")):
        try:
            found = database.execute(f"SELECT {column}, session_key FROM {table}").fetchall()  # noqa: S608 - names from above
        except sqlite3.OperationalError:
            continue
        keys |= {
            session.decode("utf-8", "replace"): key.decode("utf-8", "replace")
            for session, key in found
            if isinstance(session, bytes) and isinstance(key, bytes)
        }
    return keys


def _outcomes(reader: Reader[Any], state: Any, row: _Row) -> Iterator[Outcome | Reject]:
    line, start, end = row.seq + 1, row.seq, row.seq + 1
    if row.data is None:
        if row.length > LINE_LIMIT:
            yield Reject(fault=Fault.LINE_TOO_LONG, line=line, start=start, end=end)
        else:
            yield Outcome(dropped="no-event_json")
        return
    for piece in parse_line(Line(number=line, start=start, end=end, data=row.data)):
        match piece:
            case Reject():
                yield piece
            case None:
                yield Outcome(dropped="blank-row")
            case record:
                yield reader.step(state, record)
