"""The blocks of archived events: read them through a cache, write them, and derive rows from them."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from kept.core.codec import to_canonical_json
from kept.core.errors import DamagedError
from kept.core.event import Author, Event, EventKind, is_prompt
from kept.core.text import index_words
from kept.core.times import to_milliseconds
from kept.store.columns import AUTHORS, KINDS, mark_of
from kept.store.database import Database
from kept.store.packing import Places, block_hash, pack, unpack, unpack_places, unpack_text
from kept.store.records import likeness_of

if TYPE_CHECKING:
    from kept.core.erasure import ErasureWords

T = TypeVar("T")
# Events per block. Reading one event unpacks its whole block, and several unpacked blocks are cached. The size bounds both costs.
BLOCK_EVENTS = 512
_NOWHERE = 0, Places([], [], [], [], [], [])
_RANGES = 16  # blocks whose ranges are known without a query
_INDEXED = frozenset({Author.HUMAN, Author.ASSISTANT})


class Blocks:
    """The blocks of a store, with a cache of unpacked ones. A block has the number of its first event."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unpacked = lru_cache(maxsize=8)(
            lambda number: self._load_block(lambda body: unpack(body, self._places(number)), number)
        )
        self._places = lru_cache(maxsize=64)(lambda number: self._load_block(unpack_places, number))
        self._last = _NOWHERE
        self._stops: dict[int, int] = {}
        self._version = 0

    def at(self, number: int) -> tuple[Event, ...]:
        """The events of a block. Raises DamagedError.

        Drops the cache if another process changed the store, because that process may have erased words.
        """
        self.drop_outdated()
        return self._unpacked(number)

    def places(self, number: int) -> Places:
        """The keys, links and authors of a block's events (:class:`Places`). Raises DamagedError."""
        self.drop_outdated()
        return self._places(number)

    def drop_outdated(self) -> None:
        """Drop the cached blocks if another process changed the store."""
        version = self._database.data_version()
        if version != self._version:
            self._clear_cache()
            self._version = version

    def _clear_cache(self) -> None:
        self._unpacked.cache_clear()
        self._places.cache_clear()
        self._last = _NOWHERE
        self._stops.clear()

    def block_of(self, event: int) -> int:
        """The number of the block that holds an event. Call :meth:`drop_outdated` before."""
        for block, stop in self._stops.items():
            if block <= event < stop:
                return block
        return int(self._database.fetch_one("block_of", event=event)["id"])

    def _note_range(self, block: int, length: int) -> None:
        """Note the range of a block's events, so that its next event needs no query."""
        if len(self._stops) >= _RANGES and block not in self._stops:
            del self._stops[next(iter(self._stops))]
        self._stops[block] = block + length

    def numbers(self) -> list[int]:
        """The numbers of all blocks, in order."""
        return [row["id"] for row in self._database.run("block_numbers")]

    def find(self, keys: Iterable[str]) -> dict[str, int]:
        """The numbers of the events with these keys, by key. Unknown keys are skipped. Raises DamagedError."""
        self.drop_outdated()
        wanted = set(keys)
        found = (
            (self.key(row["event"]), row["event"]) for row in find_marked(self._database, [mark_of("key", key) for key in wanted])
        )
        return {key: number for key, number in found if key in wanted}

    def places_of(self, events: Iterable[int]) -> Iterator[tuple[Places, int]]:
        """Yield for each event the :class:`Places` of its block, and the event's index in them. Raises DamagedError.

        Consecutive events of one block are looked up without checking for changes by other processes, so call :meth:`drop_outdated`
        before.
        """
        block, places = self._last
        for event in events:
            if not 0 <= event - block < len(places.keys):
                block = self.block_of(event)
                places = self.places(block)
                self._item(block, places.keys, event)
                self._note_range(block, len(places.keys))
                self._last = block, places
            yield places, event - block

    def slices(self, runs: Iterable[tuple[int, int]]) -> Iterator[tuple[Places, slice]]:
        """Yield the events of runs, each given as its first event and its length, as :class:`Places` of a block and a slice of
        them. Call :meth:`drop_outdated` before, as for :meth:`places_of`. Raises DamagedError.
        """
        for first, length in runs:
            event, stop = first, first + length
            while event < stop:
                places, place = next(self.places_of((event,)))
                part = slice(place, min(place + stop - event, len(places.keys)))
                yield places, part
                event += part.stop - part.start

    def key(self, event: int) -> str:
        """The key of an event. Call :meth:`drop_outdated` before, as for :meth:`places_of`. Raises DamagedError."""
        places, place = next(self.places_of((event,)))
        return places.keys[place]

    def may_hold(self, number: int, words: "ErasureWords") -> bool:
        """True if a block may contain the words. Raises DamagedError."""
        row = self._database.fetch_one("block", id=number)
        try:
            return words.may_be_in_packed(row["body"], unpack_text)
        except (TypeError, zlib.error) as error:
            raise self._damage_error(f"archive block {number} is damaged") from error

    def event(self, number: int) -> Event:
        """An event by its number. Raises DamagedError."""
        (event,) = self.events((number,))
        return event

    def events(self, numbers: Iterable[int]) -> Iterator[Event]:
        """The events with these numbers. Consecutive numbers of one block cost one lookup. Raises DamagedError."""
        block, stop, events = 0, 0, tuple[Event, ...]()
        for number in numbers:
            if not block <= number < stop:
                self.drop_outdated()
                block = self.block_of(number)
                events = self._unpacked(block)
                stop = block + len(events)
                self._item(block, events, number)
                self._note_range(block, len(events))
            yield events[number - block]

    def _item(self, block: int, items: Sequence[T], number: int) -> T:
        if not 0 <= number - block < len(items):
            raise self._damage_error(f"archive block {block} has no place {number - block}")
        return items[number - block]

    def add_block(self, number: int, events: Sequence[Event]) -> None:
        """Write a new block. Its number is that of its first event."""
        body, checksum = pack(events)
        self._stops.clear()  # a transaction that was rolled back may have added a longer block
        self._database.run("add_block", id=number, body=body, hash=checksum)
        self._database.verify_after_commit(("block", number), lambda: self._is_stored(number, checksum))

    def replace_block(self, number: int, events: Sequence[Event]) -> None:
        """Overwrite a block."""
        body, checksum = pack(events)
        self._database.run("put_block", body=body, hash=checksum, id=number)
        self._clear_cache()
        self._database.verify_after_commit(("block", number), lambda: self._is_stored(number, checksum))

    def _is_stored(self, number: int, checksum: str) -> bool:
        row = self._database.fetch_one("block", id=number)
        return row is not None and block_hash(row["body"]) == row["hash"] == checksum

    def _load_block(self, read: Callable[[bytes], T], number: int) -> T:
        row = self._database.fetch_one("block", id=number)
        if row is None:
            raise self._damage_error(f"archive block {number} is missing")
        if block_hash(row["body"]) != row["hash"]:
            raise self._damage_error(f"archive block {number} is damaged")
        try:
            return read(row["body"])
        except (ValueError, zlib.error) as error:
            raise self._damage_error(f"archive block {number} is damaged") from error

    def _damage_error(self, what: str) -> DamagedError:
        return DamagedError(what, where=str(self._database.path), hint="run `kept check`")


def is_user_prompt(places: Places, place: int) -> bool:
    """True if an event is a prompt of the user. A prompt that a rewind replaced counts too."""
    return places.kinds[place] is EventKind.PROMPT and places.authors[place] in (Author.HUMAN, Author.ABANDONED)


def find_user_prompts(places: Places, part: slice) -> list[int]:
    """The indices in a slice of the events that are prompts of the user, as :func:`is_user_prompt` says."""
    prompt, kinds = EventKind.PROMPT, places.kinds
    return [place for place in range(part.start, part.stop) if kinds[place] is prompt and is_user_prompt(places, place)]


def row_of(number: int, event: Event) -> dict[str, Any]:
    """The columns of an event's row."""
    return {"id": number, "at": to_milliseconds(event.at) if event.at else None, "voice": KINDS[event.kind] + AUTHORS[event.author]}


def marks_of(event: Event) -> list[int]:
    """The marks (:func:`mark_of`) by which the archive finds an event and its copies."""
    named = (("key", event.key), ("twin", event.twin), ("likeness", likeness_of(event)))
    return [mark_of(kind, value) for kind, value in named if value]


def find_marked(database: Database, marks: Sequence[int]) -> list[Any]:
    """The rows (mark, event) with one of these marks, ordered by event number."""
    return database.run("events_with_marks", marks=to_canonical_json(marks)).fetchall() if marks else []


def is_indexed(event: Event) -> bool:
    """True if an event is in a full-text index: a prompt or response of the person or the assistant."""
    return event.author in _INDEXED and bool(event.text) and event.kind in (EventKind.PROMPT, EventKind.RESPONSE)


def index(database: Database, events: Sequence[tuple[int, Event]]) -> list[int]:
    """Store all data derived from events, which come with their numbers. Returns the numbers of events with long passages.

    The derived data is rows, marks, full-text entries (prompts and replies have separate indexes), and the hashes of long passages.
    """
    from kept.core.spans import event_passages  # noqa: PLC0415 - not needed for reading

    database.execute_many("put_event", (row_of(number, event) for number, event in events))
    database.execute_many("add_mark", _mark_rows(events))
    passages: list[dict[str, Any]] = [
        {"hash": passage.hash, "event": number, "session": mark_of("session", event.session)}
        for number, event in events
        for passage in event_passages(event)
    ]
    database.execute_many("add_passage_hash", passages)
    turns = [(number, event) for number, event in events if is_indexed(event)]
    for name, assistant in (("index_turn", False), ("index_reply", True)):
        some = ((number, event.text) for number, event in turns if (event.author is Author.ASSISTANT) is assistant)
        database.execute_many(name, ({"id": number, "words": index_words(text)} for number, text in some))
    return list(dict.fromkeys(passage["event"] for passage in passages))


def _mark_rows(events: Iterable[tuple[int, Event]]) -> list[dict[str, int]]:
    """The rows with the marks of events, sorted, because a table takes sorted rows fastest."""
    return [
        {"mark": mark, "event": number} for mark, number in sorted((mark, n) for n, event in events for mark in marks_of(event))
    ]


def unindex(database: Database, number: int, event: Event) -> None:
    """Remove the data that :func:`index` stored for an event, except its row. ``event`` must be as it was then."""
    database.execute_many("drop_mark", _mark_rows([(number, event)]))
    database.run("drop_passage_hashes", event=number)
    if is_indexed(event):
        name = "unindex_reply" if event.author is Author.ASSISTANT else "unindex_turn"
        database.run(name, id=number, words=index_words(event.text))


def find_known(database: Database, blocks: Blocks, events: Sequence[Event]) -> list[tuple[int, Event] | None]:
    """For each event its archived copy with its number, or None if there is none. Raises DamagedError.

    A copy has the same key. If no event has the key, a copy has the same twin, or else the same likeness in another file.
    """
    numbers = dict.fromkeys(row["event"] for row in find_marked(database, list({m for event in events for m in marks_of(event)})))
    known: dict[tuple[str, str], tuple[int, Event]] = {}
    for number, there in zip(numbers, blocks.events(numbers), strict=True):
        for name in (("key", there.key), ("twin", there.twin), ("likeness", likeness_of(there))):
            known.setdefault(name, (number, there))

    def find(event: Event) -> tuple[int, Event] | None:
        alike = known.get(("likeness", likeness_of(event) or "none"))
        return (
            known.get(("key", event.key))
            or (known.get(("twin", event.twin)) if event.twin else None)
            or (alike if alike and alike[1].pointer.path != event.pointer.path else None)
        )

    return list(map(find, events)) if known else [None] * len(events)


def add_events(database: Database, blocks: Blocks, events: Sequence[Event]) -> tuple[int, list[int]]:
    """Add a block of events, index them, and queue prompts that a person typed for embedding.

    Returns the number of the first event, and the numbers of the events with long passages.
    """
    first = int(database.fetch_one("next_event")["id"])
    blocks.add_block(first, events)
    numbered = list(enumerate(events, first))
    typed = (number for number, event in numbered if is_prompt(event))
    database.execute_many("queue_embedding", ({"kind": "turn", "item": number} for number in typed))
    return first, index(database, numbered)
