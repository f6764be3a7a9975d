"""Read SQLite databases of other programs from a private copy. The original is never locked or written.

No file is created beside the original. Only the conversations that changed are read, one at a time: the cursor's carry stores the
time of the latest change. Each format defines what one conversation is.
"""

import json
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from kept.core.errors import SourceError
from kept.core.event import Cursor, Slice
from kept.core.value import dataclass
from kept.sources.documents import SourceDocument, to_outcomes
from kept.sources.fields import Fields
from kept.sources.json_lines import Outcome, make_slice
from kept.sources.records import (
    LINE_LIMIT,
    SLICE_BYTES,
    SLICE_EVENTS,
    STRIDE,
    Record,
    Reject,
    SourceLine,
    open_regular,
    open_source,
    parse_line,
    unreadable_error,
)

MAGIC = b"SQLite format 3\0"
_COPY_LIMIT = 16 * 2**30
_TRIES = 3
BESIDE = ("-wal", "-journal")  # suffixes of files beside a database that contain changes not yet merged into it


def database_mark(path: Path) -> tuple[int, str]:
    """Return the size of a database in bytes, and a hash that changes with every write to it. Raises SourceError.

    A write may leave the size and the header of the main file unchanged, so its mtime is hashed too. The files beside it are hashed
    as a whole.
    """
    digest = blake2b(digest_size=16)
    with open_source(path) as file:
        info = os.fstat(file.fileno())
        digest.update(b"%d %d %b" % (info.st_size, info.st_mtime_ns, file.read(100)))
    for suffix in BESIDE:
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            with open_source(beside) as file:
                while chunk := file.read(STRIDE):
                    digest.update(chunk)
    return info.st_size, digest.hexdigest()


@contextmanager
def open_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a private copy of a database and of the files beside it. The copy is deleted on exit."""
    with tempfile.TemporaryDirectory(prefix="kept-") as folder:
        copy = Path(folder) / "copy.db"
        _copy_database(path, copy)
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA cell_size_check = ON")
                connection.execute("PRAGMA query_only = ON")
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * LINE_LIMIT)
                connection.text_factory = lambda data: data.decode("utf-8", "replace")
                yield connection
        except sqlite3.DatabaseError as error:
            raise SourceError(f"is not a readable database: {error}", where=str(path)) from error


def table_names(path: Path) -> frozenset[str]:
    """The names of a database's tables, to recognize its format; empty if it cannot be opened.

    The file itself is opened read-only without locks, even if another program is writing to it. A copy is opened only if
    the file shows no table but has a write-ahead log, which may contain the first tables.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            names = ordinary_tables(connection)
    except (sqlite3.Error, ValueError):  # a name in the schema might not be valid UTF-8
        names = frozenset()
    if names or not path.with_name(path.name + BESIDE[0]).exists():
        return names
    try:
        with open_copy(path) as connection:
            return ordinary_tables(connection)
    except (SourceError, ValueError):
        return frozenset()


def ordinary_tables(connection: sqlite3.Connection) -> frozenset[str]:
    """The names of the tables whose rows are safe to read.

    Views, virtual tables and tables with generated columns are left out, because reading them would run their author's code.
    """
    cursor = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    return frozenset(
        str(name) for name, sql in cursor if "VIRTUAL" not in str(sql)[:40].upper() and " AS (" not in str(sql).upper()
    )


def add_index(connection: sqlite3.Connection, table: str, column: str) -> None:
    """Add an index to the copy, so that finding rows by a column is fast whatever indexes the original has."""
    connection.execute("PRAGMA query_only = OFF")
    connection.execute(f"CREATE INDEX kept_{table}_{column} ON {table} ({column})")
    connection.execute("PRAGMA query_only = ON")


def _copy_database(path: Path, copy: Path) -> None:
    """Copy a database and the files beside it in one consistent state. Starts again if they change during the copy."""
    try:
        for _ in range(_TRIES):
            before = database_mark(path)
            if before[0] > _COPY_LIMIT or before[0] > 0.8 * shutil.disk_usage(copy.parent).free:
                raise SourceError("is too large to be copied", where=str(path), hint="free some disk space")
            for suffix in ("", *BESIDE):
                source, target = path.with_name(path.name + suffix), copy.with_name(copy.name + suffix)
                target.unlink(missing_ok=True)
                if not suffix or source.exists():
                    with open_regular(source) as file, target.open("xb") as out:
                        shutil.copyfileobj(file, out, STRIDE)
            if database_mark(path) == before:
                return
    except OSError as error:
        raise unreadable_error(path, error) from error
    raise SourceError(
        "keeps changing, because a program writes to it", where=str(path), hint="run kept again when that program is closed"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """A conversation to read.

    ``changed`` is the time of its last change in milliseconds since 1970, 0 if unknown. ``read`` returns the document, and a Reject
    for each part that could not be parsed.
    """

    changed: int
    read: Callable[[], tuple[SourceDocument, list[Reject]]]


def parse_value(data: Any, row: int) -> Fields | Reject:
    """The JSON object in a column of a row. Returns an empty object for an empty column, and a Reject for anything else."""
    raw = data if isinstance(data, bytes) else str(data or "").encode("utf-8", "replace")
    piece = next(parse_line(SourceLine(number=row, start=0, end=len(raw), data=raw)), None)
    return piece.value if isinstance(piece, Record) else piece or Fields()


def read_conversations(path: Path, cursor: Cursor, find: Callable[[Connection], Iterable[Conversation]]) -> Iterator[Slice]:
    """Yield the events of the conversations that changed since the cursor. Raises SourceError.

    ``find`` yields the conversations of a database, in the order of their last changes.
    """
    size, mark = database_mark(path)
    if (cursor.offset, cursor.prefix) == (size, mark):
        return
    since = int(json.loads(cursor.carry).get("since", 0))
    latest, gathered = since, 0
    noted = Counter[str]()
    outcomes: list[Outcome | Reject] = []
    with open_copy(path) as connection:
        for conversation in find(connection):
            if 0 < conversation.changed < since:
                noted["unchanged-conversation"] += 1
                continue
            document, rejects = conversation.read()
            outcomes += [*to_outcomes(document, str(path)), *rejects]
            gathered += sum(len(draft.text) for entry in document.entries for draft in entry.drafts)
            if (gathered >= SLICE_BYTES or len(outcomes) >= SLICE_EVENTS) and conversation.changed > latest:
                latest = conversation.changed
                yield make_slice(path, outcomes, Cursor(carry=json.dumps({"since": latest})), noted=noted)
                outcomes, gathered, noted = [], 0, Counter()
            latest = max(latest, conversation.changed)
    reached = Cursor(inode=path.stat().st_ino, offset=size, prefix=mark, carry=json.dumps({"since": latest}))
    yield make_slice(path, outcomes, reached, noted=noted)
