"""Operations on the whole archive in SQLite: check for damage, find events with certain words, rebuild the index, export rows.

Also finds long passages that occur in several sessions. Their hashes are stored with archived prompts, and added to events that are
read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kept.core.codec import to_canonical_json
from kept.core.errors import DamagedError
from kept.core.event import Author, Cursor, Event, is_prompt
from kept.core.text import index_words, phrase_words
from kept.core.times import from_milliseconds, to_milliseconds
from kept.store.archive.blocks import BLOCK_EVENTS, Blocks, index, is_indexed, marks_of, row_of
from kept.store.check import check_quotes
from kept.store.columns import mark_of
from kept.store.database import Database, match_all_words
from kept.store.erasing import has_words
from kept.store.packing import block_hash
from kept.store.rows import read_row
from kept.store.threads import unpack_runs
from kept.store.values import EventRow, FileRow, Mention, Row, Thread, ThreadRow


def add_repeats(database: Database, numbers: Sequence[int], events: Sequence[Event]) -> tuple[Event, ...]:
    """The events with these numbers. To each, the hashes of its passages that occur in other sessions too are added."""
    wanted = list(compress(numbers, map(is_prompt, events)))
    if not wanted:
        return tuple(events)
    repeated: dict[int, set[int]] = {}
    for row in database.run("passages_elsewhere", events=to_canonical_json(wanted)):
        hashes = repeated.setdefault(row["event"], set())
        if row["hash"] not in hashes and _is_repeat_elsewhere(row):
            hashes.add(row["hash"])
    if not repeated:
        return tuple(events)
    return tuple(
        replace(event, repeated=tuple(sorted(repeated[number]))) if repeated.get(number) else event
        for number, event in zip(numbers, events, strict=True)
    )


def find_events_repeated_by(database: Database, events: Sequence[int]) -> list[int]:
    """The numbers of events in other sessions that share a long passage with one of these events."""
    if not events:
        return []
    rows = database.run("passages_elsewhere", events=to_canonical_json(list(events)))
    return sorted({row["other"] for row in rows if _is_repeat_elsewhere(row)})


def list_repeated_events(database: Database) -> list[int]:
    """The numbers of all events that share a long passage with an event of another session."""
    return sorted({row["event"] for row in database.run("all_passages_elsewhere") if _is_repeat_elsewhere(row)})


def check_passage_hashes(database: Database, blocks: Blocks) -> Iterator[str]:
    """A message for each event whose stored passage hashes contradict the archive, and one for surplus hashes."""
    from kept.core.spans import event_passages  # noqa: PLC0415 - listing memories checks no passages

    noted = {tuple(row) for row in database.run("all_passage_hashes")}
    for row in database.run("user_prompts").fetchall():
        try:
            event = blocks.event(row["id"])
        except DamagedError:
            continue  # the damaged block is reported elsewhere
        made = {(passage.hash, row["id"], mark_of("session", event.session)) for passage in event_passages(event)}
        if not made <= noted:
            yield f"event {event.key}: its long passages are not noted"
        noted -= made
    if noted:
        yield f"{len(noted)} recorded long passages are in no event"


def _is_repeat_elsewhere(row: Any) -> bool:
    """True if the passage also occurs at another moment. In a copy of the session it would occur at the same moment."""
    from kept.core.spans import is_copy  # noqa: PLC0415 - as above

    at, other = (None if time is None else from_milliseconds(time) for time in (row["at"], row["other_at"]))
    return not is_copy(at, other)


if TYPE_CHECKING:
    from kept.core.erasure import ErasureWords

# The statements that delete everything derived from the archive.
CLEAR_DERIVED = ("clear_turn_index", "clear_reply_index", "clear_passage_hashes", "clear_marks", "clear_events")
_SAMPLED = 500  # `kept check` looks up the index entries of this many turns


def find_archive_damage(database: Database, blocks: Blocks) -> Iterator[str]:
    """A message for each damaged block, each gap, each wrong row, and each sampled turn that the index does not find."""
    for row in database.run("blocks"):
        if block_hash(row["body"]) != row["hash"]:
            yield f"archive block {row['id']}: its bytes do not match their hash"
    for row in database.run("archive_gaps"):
        yield f"{row['what']}: {row['most'] - row['found']} of {row['most']} are missing"
    for row in database.run("wrong_threads"):
        what = f"{row['events']} events noted, {row['found']} found" if row["events"] != row["found"] else "its events were changed"
        yield f"thread {row['id']}: {what}"
    yield from _check_events(database, blocks)
    yield from _check_event_index(database, blocks)
    yield from check_passage_hashes(database, blocks)


def _check_events(database: Database, blocks: Blocks) -> Iterator[str]:
    """A message for each gap between blocks, each event whose row or marks contradict its block, and for surplus rows and marks."""
    expected, whole, marks = 1, True, 0
    for block in blocks.numbers():
        if block != expected:
            yield f"events {expected} to {block - 1}: their archive block is missing"
        rows = database.run("event_rows", first=expected, stop=block + BLOCK_EVENTS).fetchall()
        try:
            events = list(enumerate(blocks.at(block), block))
        except DamagedError:
            expected, whole = rows[-1]["id"] + 1 if rows else block + 1, False  # the damaged block was reported already
            continue
        expected = block + len(events)
        stored = {row["id"]: dict(row) for row in rows}
        expected_marks = [[mark, number] for number, event in events for mark in set(marks_of(event))]
        unmarked = {row["event"] for row in database.run("marks_missing", marks=to_canonical_json(expected_marks))}
        marks += len(expected_marks)
        for number, event in events:
            if stored.get(number) != row_of(number, event) or number in unmarked:
                yield f"event {event.key}: its row differs from the archive"
    last = database.fetch_one("next_event")["id"]
    if whole and last > expected:
        yield f"events {expected} to {last - 1}: their archive block is missing"
    if whole and (more := database.fetch_one("count_marks")["count"] - marks) > 0:
        yield f"{more} marks belong to events that do not exist"


def _check_event_index(database: Database, blocks: Blocks) -> Iterator[str]:
    for row in database.run("sampled_events", most=_SAMPLED).fetchall():
        try:
            event = blocks.event(row["id"])
        except DamagedError:
            continue  # _check_events reports it
        words = index_words(event.text).split()
        if not is_indexed(event) or not words:
            continue
        longest = sorted(set(words), key=lambda word: (len(word), word))[-4:]
        found = "find_reply" if event.author is Author.ASSISTANT else "find_turn"
        if database.fetch_one(found, id=row["id"], query=match_all_words(longest)) is None:
            yield f"event {event.key}: not in the full-text index under its words"


def find_archive_misquotes(blocks: Blocks, cited: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
    """A message for each memory that quotes words of an event which the event does not contain."""
    numbers = blocks.find(cited)
    for key, number in sorted(numbers.items(), key=itemgetter(1)):  # in the order of blocks, so that each block is read once
        try:
            event = blocks.event(number)
        except DamagedError:
            continue  # find_archive_damage reports it
        yield from check_quotes(key, event, cited[key])
    for key in sorted(cited.keys() - numbers.keys()):
        yield from check_quotes(key, None, cited[key])


def find_events_with_words(blocks: Blocks, words: "ErasureWords") -> Iterator[tuple[int, Event]]:
    """Every event that contains the words, with its number. Only blocks that may contain them are decoded."""
    named = {*words.events, *words.quotes}
    for block in blocks.numbers():
        if blocks.may_hold(block, words) or not named.isdisjoint(blocks.places(block).keys):
            yield from ((number, event) for number, event in enumerate(blocks.at(block), block) if has_words(event, words))


def find_similar_events(database: Database, blocks: Blocks, words: "ErasureWords") -> Iterator[Event]:
    """The prompts and replies that share enough words with a sentence to be a near copy of it. The full-text index finds them."""
    found = {
        row["id"]
        for wanted, least in words.near_queries
        for row in database.run(
            "turns_with_words", words=to_canonical_json([match_all_words([phrase]) for phrase in _phrases(wanted)]), least=least
        )
    }
    yield from blocks.events(sorted(found))


def _phrases(words: Iterable[str]) -> Iterator[str]:
    """The words in the form of the index, each as a phrase of its parts."""
    return filter(None, map(index_words, words))


def thread_from_row(row: Any) -> Thread:
    """The thread of a row of the database."""
    return read_row(Thread, row)


def find_mentions(database: Database, name: str, since: datetime) -> tuple[Mention, ...]:
    """For each working directory and file, the last time after ``since`` at which the person or the assistant mentioned a name."""
    if not index_words(name):
        return ()
    rows = database.run("mentions", query=match_all_words([phrase_words(name)]), since=to_milliseconds(since))
    return tuple(Mention(project=row["project"], path=row["path"], at=from_milliseconds(row["at"])) for row in rows)


def reindex(database: Database, blocks: Blocks) -> None:
    """Rebuild everything that is derived from the archive."""
    with database.transaction():
        for name in CLEAR_DERIVED:
            database.run(name)
        for block in blocks.numbers():
            with suppress(DamagedError):  # `kept check` reports the damage
                index(database, list(enumerate(blocks.at(block), block)))
        database.run("queue_embedding_turns")


def archive_rows(database: Database, blocks: Blocks) -> Iterator[Row]:
    """The archive as export rows: files, events in order, threads."""
    for row in database.run("files"):
        yield read_row(FileRow, row, cursor=read_row(Cursor, row))
    for block in blocks.numbers():
        yield from (EventRow(event=event, twin=event.twin) for event in blocks.at(block))
    for row in database.run("thread_rows").fetchall():
        members = list(unpack_runs(database.run("thread_events", thread=row["id"]).fetchall()))
        yield read_row(
            ThreadRow,
            row,
            events=tuple(blocks.key(event) for event, _ in members),
            abandoned=tuple(ordinal for ordinal, (_, abandoned) in enumerate(members) if abandoned),
        )
