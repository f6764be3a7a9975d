"""The archive: cleaned turns, the threads they form, and how far each file was read. Append-only but for forget."""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from kept.adapters.store.database import Database
from kept.adapters.store.records import block_hash, pack, unpack
from kept.model.codec import canonical, digest, dump, load
from kept.model.errors import DamagedError
from kept.model.event import Account, Author, Cursor, Event, Kind
from kept.model.text import index_words
from kept.model.threads import Node
from kept.model.times import from_text, to_text

_INDEXED = frozenset({Author.HUMAN, Author.ASSISTANT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    """The events of one session as one file tells them; ``extracted`` is the ordinal from which its episodes are still open."""

    id: int
    session: str
    source: str
    path: str
    project: str
    events: int
    extracted: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sitting:
    """A session's part in a span of time: where it stands, whose project, how many events and prompts, from when to when."""

    source: str
    path: str
    session: str
    project: str
    events: int
    prompts: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class FileState:
    """One known file: how far it was read (bytes, records) and the account of all its records."""

    source: str
    path: str
    offset: int
    line: int
    account: Account


class Archive:
    """Cleaned turns in compressed blocks, each event once, however many files tell it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._block = lru_cache(maxsize=8)(self._read_block)

    def cursor(self, source: str, path: str) -> Cursor | None:
        """How far a file was read; None where it never was."""
        row = self._database.one("file", source=source, path=path)
        if row is None:
            return None
        return Cursor(inode=row["inode"], offset=row["offset"], prefix=row["prefix"], line=row["line"], carry=row["carry"])

    def files(self) -> tuple[FileState, ...]:
        """Every file ever read."""
        return tuple(
            FileState(
                source=row["source"], path=row["path"], offset=row["offset"], line=row["line"],
                account=load(Account, json.loads(row["account"])),
            )
            for row in self._database.run("files")
        )  # fmt: skip

    def add(self, source: str, path: str, events: Sequence[Event], account: Account, cursor: Cursor, *, anew: bool) -> int:
        """Archive a slice of a file and move its cursor, in one transaction. Returns how many of the events were new.

        ``account`` is that of the slice; ``anew`` says that it is the first of the file or of a file read again from its start.
        """
        with self._database.transaction():
            row = self._database.one("file", source=source, path=path)
            before = Account() if anew or row is None else load(Account, json.loads(row["account"]))
            (file,) = self._database.one(
                "put_file", source=source, path=path, inode=cursor.inode, offset=cursor.offset, prefix=cursor.prefix,
                line=cursor.line, carry=cursor.carry, account=canonical(dump(before + account)),
            )  # fmt: skip
            return self._store(file, events)

    def _store(self, file: int, events: Sequence[Event]) -> int:
        known = [self._known(each) for each in events]
        new: dict[str, Event] = {}
        for each, found in zip(events, known, strict=True):
            if found is None:
                new.setdefault(each.twin or each.key, each)
        fresh = list({each.key: each for each in new.values()}.values())
        if fresh:
            body, checksum = pack(fresh)
            (block,) = self._database.one("add_block", body=body, hash=checksum)
            for place, each in enumerate(fresh):
                self._add_event(each, block, place)
        self._join_threads(file, [(each, found or self._known(each)) for each, found in zip(events, known, strict=True)])
        return len(fresh)

    def _known(self, event: Event) -> int | None:
        row = self._database.one("event_by_key", key=event.key)
        if row is None and event.twin:
            row = self._database.one("event_by_twin", twin=event.twin)
        return row["id"] if row else None

    def _add_event(self, event: Event, block: int, place: int) -> None:
        (number,) = self._database.one(
            "add_event", key=event.key, twin=event.twin or None, block=block, place=place,
            at=to_text(event.at) if event.at else None, kind=event.kind.value, author=event.author.value,
            record=short_hash(event.record), parent=short_hash(event.parent), turn=short_hash(event.turn),
        )  # fmt: skip
        if event.author in _INDEXED and event.text and event.kind in (Kind.PROMPT, Kind.RESPONSE):
            self._database.run("index_turn", id=number, words=index_words(event.text))

    def _join_threads(self, file: int, events: Iterable[tuple[Event, int | None]]) -> None:
        grown: dict[str, list[Any]] = {}
        for event, number in events:
            if event.session not in grown:
                row = self._database.one("thread", file=file, session=event.session)
                if row is None:
                    (thread,) = self._database.one("add_thread", file=file, session=event.session, project=event.project)
                    grown[event.session] = [thread, 0, None, None]
                else:
                    grown[event.session] = list(row)
                    if event.project and not row["project"]:
                        self._database.run("name_project", thread=row["id"], project=event.project)
            state = grown[event.session]
            if self._database.one("in_thread", event=number, thread=state[0]):
                continue
            self._database.run("add_to_thread", thread=state[0], ordinal=state[1], event=number)
            state[1] += 1
            if event.at is not None:
                at = to_text(event.at)
                state[2], state[3] = min(state[2] or at, at), max(state[3] or at, at)
        for thread, count, first, last, *_ in grown.values():
            self._database.run("grow_thread", id=thread, events=count, first_at=first, last_at=last)

    def threads(self, *, pending: bool = False) -> tuple[Thread, ...]:
        """All threads in the order of their first event, or only those that grew since they were last extracted."""
        rows = self._database.run("pending_threads" if pending else "all_threads")
        return tuple(Thread(**dict(row) | {"first_at": _at(row["first_at"]), "last_at": _at(row["last_at"])}) for row in rows)

    def nodes(self, thread: int) -> tuple[tuple[Node, bool], ...]:
        """The tree of a thread in its order, keyed by ordinal, each point with whether it is marked as abandoned."""
        return tuple(
            (
                Node(
                    key=str(row["ordinal"]),
                    record=str(row["record"] or ""),
                    parent=str(row["parent"] or ""),
                    order=row["ordinal"],
                    human=row["kind"] == Kind.PROMPT and row["author"] == Author.HUMAN,
                    output=row["kind"] == Kind.TOOL_OUTPUT,
                    turn=str(row["turn"] or ""),
                ),
                bool(row["abandoned"]),
            )
            for row in self._database.run("thread_nodes", thread=thread)
        )

    def mark_abandoned(self, thread: int, changes: Iterable[tuple[int, bool]]) -> None:
        """Set or clear the mark of events (by ordinal) that a later rewind of the conversation replaced."""
        for ordinal, value in changes:
            self._database.run("mark_abandoned", thread=thread, ordinal=ordinal, abandoned=int(value))

    def events(self, thread: int, start: int, stop: int) -> tuple[Event, ...]:
        """The events of a thread with ordinals in [start, stop); abandoned ones are labelled so. Raises DamagedError."""
        found = []
        for row in self._database.run("thread_slice", thread=thread, start=start, stop=stop).fetchall():
            event = self._block(row["block"])[row["place"]]
            found.append(
                replace(event, author=Author.ABANDONED, label_reason="a later rewind replaced it") if row["abandoned"] else event
            )
        return tuple(found)

    def event(self, key: str) -> Event | None:
        """The event of that key, or None."""
        row = self._database.one("event_place", key=key)
        return self._block(row["block"])[row["place"]] if row else None

    def around(self, key: str, before: int, after: int) -> tuple[Event, ...]:
        """An event in its conversation, with so many events before and after it; empty where it is unknown."""
        row = self._database.one("event_around", key=key)
        return self.events(row["thread"], row["ordinal"] - before, row["ordinal"] + after + 1) if row else ()

    def progressed(self, thread: int, *, extracted: int, seen: int) -> None:
        """Note that ``seen`` events of a thread were looked at and its episodes are closed before ordinal ``extracted``."""
        self._database.run("extracted", thread=thread, extracted=extracted, seen=seen)

    def sittings(self, start: datetime, stop: datetime) -> tuple[Sitting, ...]:
        """Which sessions have events in [start, stop), by the events' own times."""
        return tuple(
            Sitting(**dict(row) | {"first_at": from_text(row["first_at"]), "last_at": from_text(row["last_at"])})
            for row in self._database.run("events_between", start=to_text(start), stop=to_text(stop))
        )

    def minutes(self) -> Iterator[datetime]:
        """Every minute in which something happened, in order; fine enough for zones whose days begin at a quarter of an hour."""
        for row in self._database.run("event_minutes"):
            yield from_text(f"{row['minute']}:00.000Z")

    def projects(self) -> tuple[str, ...]:
        """The raw working directories of all threads."""
        return tuple(row["project"] for row in self._database.run("projects"))

    def undated(self) -> int:
        """How many events have no time."""
        count: int = self._database.one("undated_events")["events"]
        return count

    def search(self, query: str, limit: int) -> tuple[tuple[Event, float], ...]:
        """Turns that match a prepared full-text query, best first, with their score (higher is better)."""
        return tuple(
            (self._block(row["block"])[row["place"]], -row["rank"])
            for row in self._database.run("search_turns", query=query, limit=limit).fetchall()
        )

    def erase(self, key: str, quotes: Sequence[str], mark: str) -> bool:
        """Replace quotes inside one archived event by a mark, in the block and the index. False where nothing matched."""
        row = self._database.one("event_place", key=key)
        if row is None:
            return False
        events = list(self._block(row["block"]))
        event = events[row["place"]]
        text, tool = event.text, event.tool
        for quote in quotes:
            text = text.replace(quote, mark)
            if tool is not None:
                tool = replace(tool, target=tool.target.replace(quote, mark), detail=tool.detail.replace(quote, mark))
        if text == event.text and tool == event.tool:
            return False
        events[row["place"]] = replace(event, text=text, tool=tool, twin="")
        body, checksum = pack(events)
        self._database.raw(
            "UPDATE blocks SET body = :body, hash = :hash WHERE id = :id", {"body": body, "hash": checksum, "id": row["block"]}
        )
        if event.author in _INDEXED and event.text and event.kind in (Kind.PROMPT, Kind.RESPONSE):
            self._database.run("unindex_turn", id=row["id"], words=index_words(event.text))
            self._database.run("index_turn", id=row["id"], words=index_words(text))
        self._block.cache_clear()
        return True

    def damage(self) -> Iterator[str]:
        """Every block whose bytes are not what was written, and every event that is not where its row says."""
        for row in self._database.raw("SELECT id, body, hash FROM blocks ORDER BY id"):
            if block_hash(row["body"]) != row["hash"]:
                yield f"archive block {row['id']}: its bytes do not match their hash"
        for row in self._database.raw(
            "SELECT e.key FROM events AS e LEFT JOIN blocks AS b ON b.id = e.block WHERE b.id IS NULL ORDER BY e.id"
        ):
            yield f"event {row['key']}: its archive block is missing"
        for row in self._database.raw(
            "SELECT t.id, t.events, (SELECT count(*) FROM thread_events AS te WHERE te.thread = t.id) AS found FROM threads AS t"
        ):
            if row["events"] != row["found"]:
                yield f"thread {row['id']}: {row['events']} events noted, {row['found']} found"

    def _read_block(self, number: int) -> tuple[Event, ...]:
        row = self._database.one("block", id=number)
        if row is None:
            raise DamagedError(f"archive block {number} is missing", where=str(self._database.path), hint="run `kept check`")
        try:
            return unpack(row["body"])
        except (ValueError, zlib.error) as error:
            raise DamagedError(
                f"archive block {number} is damaged", where=str(self._database.path), hint="run `kept check`"
            ) from error


def _at(text: str | None) -> datetime | None:
    return from_text(text) if text else None


def short_hash(text: str) -> int:
    """A signed 64-bit hash of a native id; 0 for the empty one."""
    return int.from_bytes(bytes.fromhex(digest(text, size=8)), "big", signed=True) if text else 0
