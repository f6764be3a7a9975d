"""The blocks in which a store keeps cleaned turns: read once and kept at hand, written as a whole. And what an event's row says of
it.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kept.core.codec import to_canonical_json
from kept.core.errors import DamagedError
from kept.core.event import FORGOTTEN_MARK, Author, Event, EventKind
from kept.core.text import index_words
from kept.core.times import format_instant
from kept.store.database import Database
from kept.store.records import block_hash, likeness_of, pack, unpack, unpack_text
from kept.store.threads import hash_native_id

if TYPE_CHECKING:
    from kept.core.erasure import ErasureWords

# A block is unpacked whole for one of its events, and several are kept at hand: so many events a block bound both.
BLOCK_EVENTS = 512
_INDEXED = frozenset({Author.HUMAN, Author.ASSISTANT})


class Blocks:
    """The blocks of one store, a few of them unpacked in memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unpacked = lru_cache(maxsize=8)(self._load_block)
        self._seen = 0

    def at(self, number: int) -> tuple[Event, ...]:
        """The events of a block; read again once another process changed the store, for it may have forgotten words of them.

        Raises DamagedError.
        """
        seen = self._database.data_version()
        if seen != self._seen:
            self._unpacked.cache_clear()
            self._seen = seen
        return self._unpacked(number)

    def may_hold(self, number: int, words: "ErasureWords") -> bool:
        """True if words may stand in a block. Raises DamagedError."""
        row = self._database.fetch_one("block", id=number)
        try:
            return words.may_be_in_packed(row["body"], unpack_text)
        except (TypeError, zlib.error) as error:
            raise self._damage_error(f"archive block {number} is damaged") from error

    def event(self, row: Any) -> Event:
        """The event that lies where a row with ``block`` and ``place`` says. Raises DamagedError."""
        (event,) = self.events((row,))
        return event

    def events(self, rows: Iterable[Any]) -> Iterator[Event]:
        """The events that lie where such rows say; each run of rows of one block looks it up once. Raises DamagedError."""
        number, events = -1, tuple[Event, ...]()
        for row in rows:
            place = row["place"]
            if row["block"] != number:
                number, events = row["block"], self.at(row["block"])
            if not 0 <= place < len(events):
                raise self._damage_error(f"archive block {number} has no place {place}")
            yield events[int(place)]

    def add_block(self, events: Sequence[Event]) -> int:
        """Write a new block and return its number."""
        body, checksum = pack(events)
        (number,) = self._database.fetch_one("add_block", body=body, hash=checksum)
        self._database.verify_after_commit(("block", number), lambda: self._is_stored(number, checksum))
        return int(number)

    def replace_block(self, number: int, events: Sequence[Event]) -> None:
        """Write a block anew."""
        body, checksum = pack(events)
        self._database.run("put_block", body=body, hash=checksum, id=number)
        self._unpacked.cache_clear()
        self._database.verify_after_commit(("block", number), lambda: self._is_stored(number, checksum))

    def _is_stored(self, number: int, checksum: str) -> bool:
        row = self._database.fetch_one("block", id=number)
        return row is not None and block_hash(row["body"]) == row["hash"] == checksum

    def _load_block(self, number: int) -> tuple[Event, ...]:
        row = self._database.fetch_one("block", id=number)
        if row is None:
            raise self._damage_error(f"archive block {number} is missing")
        if block_hash(row["body"]) != row["hash"]:
            raise self._damage_error(f"archive block {number} is damaged")
        try:
            return unpack(row["body"])
        except (ValueError, zlib.error) as error:
            raise self._damage_error(f"archive block {number} is damaged") from error

    def _damage_error(self, what: str) -> DamagedError:
        return DamagedError(what, where=str(self._database.path), hint="run `kept check`")


def columns(event: Event) -> dict[str, Any]:
    """What the row of an event says of it."""
    return {
        "twin": event.twin or None,
        "at": format_instant(event.at) if event.at else None,
        "kind": event.kind.value,
        "author": event.author.value,
        "record": hash_native_id(event.record),
        "parent": hash_native_id(event.parent),
        "turn": hash_native_id(event.turn),
    }


def has_different_columns(row: Any, told: list[Any]) -> bool:
    """Whether the columns of an event are not those of the event as its block tells it (in the form of :func:`pack`).

    Where words were forgotten, the block of an older program may tell no twin any more.
    """
    key, twin, _, record, parent, turn, kind, author, _, text, at, *_, tool, _ = told
    columns = (row["key"], row["at"], row["kind"], row["author"], row["record"], row["parent"], row["turn"])
    if columns != (key, at, kind, author, hash_native_id(record), hash_native_id(parent), hash_native_id(turn)):
        return True
    return (row["twin"] or "") != twin and (bool(twin) or FORGOTTEN_MARK not in f"{text}{tool}")


def is_indexed(event: Event) -> bool:
    """Whether a turn is found by its words."""
    return event.author in _INDEXED and bool(event.text) and event.kind in (EventKind.PROMPT, EventKind.RESPONSE)


def index(database: Database, events: Sequence[tuple[int, Event]]) -> list[int]:
    """Let turns (row numbers) be found by their words: what a person said by one index, what an assistant said by another; and note
    the long passages of what a person said. Returns those that have some.
    """
    from kept.core.spans import event_passages  # noqa: PLC0415 - who only reads needs none of it

    passages: list[dict[str, Any]] = [
        {"hash": passage.hash, "event": number, "session": event.session, "at": format_instant(event.at) if event.at else None}
        for number, event in events
        for passage in event_passages(event)
    ]
    database.execute_many("add_passage_hash", passages)
    turns = [(number, event) for number, event in events if is_indexed(event)]
    for name, assistant in (("index_turn", False), ("index_reply", True)):
        some = ((number, event.text) for number, event in turns if (event.author is Author.ASSISTANT) is assistant)
        database.execute_many(name, ({"id": number, "words": index_words(text)} for number, text in some))
    return list(dict.fromkeys(passage["event"] for passage in passages))


def unindex(database: Database, number: int, event: Event) -> None:
    """Let a turn be found no more; ``event`` is as it was indexed."""
    database.run("drop_passage_hashes", event=number)
    if is_indexed(event):
        name = "unindex_reply" if event.author is Author.ASSISTANT else "unindex_turn"
        database.run(name, id=number, words=index_words(event.text))


def find_rows(database: Database, events: Sequence[Event]) -> list[Any]:
    """The row of each event: of its key, else of its twin, else of the same words as another file tells them; else None."""
    rows = find_rows_by(database, "key", [event.key for event in events])
    twins = find_rows_by(database, "twin", [event.twin for event in events if event.twin and event.key not in rows])
    marks = {event.key: mark for event in events if event.key not in rows and (mark := likeness_of(event))}
    alike = find_rows_by(database, "mark", list(marks.values()))
    return [
        rows.get(event.key)
        or twins.get(event.twin)
        or ((row := alike.get(marks.get(event.key, ""))) and (row if row["path"] != event.pointer.path else None))
        for event in events
    ]


def find_rows_by(database: Database, name: str, values: Sequence[str]) -> dict[str, Any]:
    """The rows of events by their keys, twins or marks of likeness, as far as there are such."""
    found = database.run(f"events_by_{name}", values=to_canonical_json(values)) if values else ()
    return {row[name]: row for row in found}


def add_events(database: Database, events: Sequence[Event], block: int) -> tuple[int, list[int]]:
    """Add the rows of a block's events, numbered on from the first; and which of them say long passages."""
    many, first = database.execute_many, database.fetch_one("next_event")["id"]
    numbered = list(enumerate(events, first))
    rows = (columns(event) | {"id": number, "key": event.key, "place": number - first} for number, event in numbered)
    many("add_event", (row | {"block": block} for row in rows))
    typed = (number for number, event in numbered if event.kind is EventKind.PROMPT and event.author is Author.HUMAN)
    many("queue_embedding", ({"kind": "turn", "item": number} for number in typed))
    marks = ((number, event.pointer.path, likeness_of(event)) for number, event in numbered)
    many("add_likeness", ({"mark": mark, "event": number, "path": path} for number, path, mark in marks if mark))
    return first, index(database, numbered)
