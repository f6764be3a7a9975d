"""Stores in older formats, as older versions wrote them."""

import json
import sqlite3
import zlib
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

from kept.core.event import Event
from kept.core.times import format_instant
from kept.store.columns import decompress
from kept.store.database import checksum
from kept.store.packing import block_hash, unpack, unpack_text
from kept.store.records import likeness_of

SCHEMAS = Path(__file__).parents[1] / "store" / "schemas"
_ARCHIVE = {"blocks", "events", "likenesses"}
_PACKED = 5  # since this format, blocks are packed as today
_UNSUMMED = 2  # since the next format, rows have checksums
_RUNS = 7  # since this format, a row of a thread is a run of events
_CARRY = 9  # since this format, the state of a reader is compressed
_SHORT = 8  # since this format, ids in blocks are bytes, and a passage has a hash of its session


def write_older_store(new: Path, old: Path, version: int) -> None:
    """Write the content of a store in today's format to a new file in the format of an older version."""
    with closing(sqlite3.connect(old)) as store, store:
        store.executescript((SCHEMAS / f"{version}.sql").read_text())
        store.execute(f"ATTACH '{new}' AS new")
        listed = "SELECT name FROM {}.sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' AND name NOT LIKE 'sqlite%'"
        tables, there = ({row[0] for row in store.execute(listed.format(place))} for place in ("main", "new"))
        packed = version >= _PACKED
        other = {"migrations"} | (set() if packed else _ARCHIVE) | ({"passage_hashes"} if version < _SHORT else set())
        for name in sorted(tables & there - other):
            columns = ", ".join(row[1] for row in store.execute(f"PRAGMA table_info({name})"))
            store.execute(f"INSERT OR REPLACE INTO {name} ({columns}) SELECT {columns} FROM new.{name}")
        store.create_function("checksum", -1, checksum)
        if version < _CARRY:
            _write_carries(store, summed=version > _UNSUMMED)
        if version < _RUNS:
            _write_members(store, summed=version > _UNSUMMED)
        if packed and version < _SHORT:
            _lengthen_ids(store)
            run = "r.event <= p.event AND r.event + r.events > p.event"
            told = f"new.passage_hashes AS p JOIN new.thread_events AS r ON {run} JOIN new.threads AS t ON t.id = r.thread"
            store.execute(
                f"INSERT OR IGNORE INTO passage_hashes (hash, event, session) SELECT p.hash, p.event, t.session FROM {told}"
            )
        blocks = [] if packed else store.execute("SELECT id, body FROM new.blocks ORDER BY id").fetchall()
        for number, (first, body) in enumerate(blocks, 1):
            _write_block(store, number, first, unpack(body), likenesses="likenesses" in tables)
        if "likenesses" in tables and "tallies" in tables:
            store.execute("UPDATE likenesses SET checksum = checksum(mark, event, path)")
            counted = "SELECT 'likenesses', count(*), coalesce(sum(checksum), 0) FROM likenesses"
            store.execute(f"INSERT OR REPLACE INTO tallies {counted}")
        store.execute(f"PRAGMA user_version = {version}")


def _write_carries(store: sqlite3.Connection, *, summed: bool) -> None:
    for number, carry in store.execute("SELECT id, carry FROM files").fetchall():
        store.execute("UPDATE files SET carry = ? WHERE id = ?", (unpack_text(carry), number))
    if summed:
        store.execute("UPDATE files SET checksum = checksum(id, source, path, inode, offset, prefix, line, carry, account)")
        store.execute("UPDATE tallies SET total = (SELECT coalesce(sum(checksum), 0) FROM files) WHERE name = 'files'")


def _write_members(store: sqlite3.Connection, *, summed: bool) -> None:
    """Write a row for each event of a thread, and the sums of these rows that a thread has since format 3."""
    store.execute("DELETE FROM thread_events")
    store.execute(
        "INSERT INTO thread_events (thread, ordinal, event, abandoned)"
        " SELECT r.thread, r.ordinal + e.id - r.event, e.id, r.abandoned"
        " FROM new.thread_events AS r JOIN new.events AS e ON e.id >= r.event AND e.id < r.event + r.events"
    )
    if summed:
        rows = "SELECT sum(checksum(ordinal, event, abandoned)) FROM thread_events WHERE thread = threads.id"
        store.execute(f"UPDATE threads SET members = ({rows})")
        columns = "id, file, session, project, events, extracted, seen, first_at, last_at, members"
        store.execute(f"UPDATE threads SET checksum = checksum({columns})")


def _lengthen_ids(store: sqlite3.Connection) -> None:
    for number, body in store.execute("SELECT id, body FROM blocks").fetchall():
        longer = b"".join(map(zlib.compress, decompress(body)))
        store.execute("UPDATE blocks SET body = ?, hash = ? WHERE id = ?", (longer, block_hash(longer), number))


def _write_block(store: sqlite3.Connection, number: int, first: int, events: tuple[Event, ...], *, likenesses: bool) -> None:
    packed = zlib.compress(json.dumps([_row(event) for event in events]).encode())
    block = (number, packed, blake2b(packed, digest_size=16).hexdigest())
    store.execute("INSERT INTO blocks (id, body, hash) VALUES (?, ?, ?)", block)
    for place, event in enumerate(events):
        at = format_instant(event.at) if event.at else None
        links = map(hash, (event.record, event.parent, event.turn))
        values = (first + place, event.key, event.twin or None, number, place, at, event.kind.value, event.author.value, *links)
        store.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        if likenesses and (mark := likeness_of(event)):
            row = (mark, first + place, event.pointer.path)
            store.execute("INSERT OR IGNORE INTO likenesses (mark, event, path) VALUES (?, ?, ?)", row)


def _row(event: Event) -> list[object]:
    tool, pointer = event.tool, event.pointer
    return [
        *(event.key, event.twin, event.session, event.record, event.parent, event.turn, event.kind.value, event.author.value),
        *(event.label_reason, event.text, format_instant(event.at) if event.at else None, event.precision.value),
        *(event.project, event.branch),
        [tool.name, tool.call, tool.target, tool.detail, tool.ok, tool.exit_code] if tool else None,
        [pointer.path, pointer.line, pointer.start, pointer.end],
    ]
