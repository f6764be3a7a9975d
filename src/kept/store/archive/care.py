"""The archive in SQLite looked at as a whole: what is wrong with it, the events that hold certain words, its index made anew, its
rows written out.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kept.core.codec import load, to_canonical_json
from kept.core.errors import DamagedError
from kept.core.event import Author, Cursor, Event, RecordAccount
from kept.core.text import index_words
from kept.store.archive.blocks import Blocks, has_different_columns, index, is_indexed
from kept.store.archive.repeats import check_passage_hashes
from kept.store.check import check_quotes
from kept.store.database import Database, match_all_words
from kept.store.erasing import has_words
from kept.store.records import block_hash
from kept.store.values import EventRow, FileRow, Row, ThreadRow

if TYPE_CHECKING:
    from kept.core.erasure import ErasureWords

_SAMPLED = 500  # turns of which `check` looks up the index entry: the rest derives from the same code


def find_archive_damage(database: Database, blocks: Blocks) -> Iterator[str]:
    """Every block whose bytes are not what was written, every gap, and every sampled turn that is not found by its words."""
    for row in database.run("blocks"):
        if block_hash(row["body"]) != row["hash"]:
            yield f"archive block {row['id']}: its bytes do not match their hash"
    for row in database.run("events_adrift"):
        yield f"event {row['key']}: its archive block is missing"
    for row in database.run("archive_gaps"):
        yield f"{row['what']}: {row['most'] - row['found']} of {row['most']} are missing"
    for row in database.run("wrong_threads"):
        what = f"{row['events']} events noted, {row['found']} found" if row["events"] != row["found"] else "its events were changed"
        yield f"thread {row['id']}: {what}"
    yield from _check_event_rows(database)
    yield from _check_event_index(database, blocks)
    yield from check_passage_hashes(database, blocks)


def _check_event_rows(database: Database) -> Iterator[str]:
    """Every event whose row is not what its block says, and every place of a block that no row names."""
    for number, group in groupby(database.run("event_columns"), key=itemgetter("block")):
        found = database.fetch_one("block", id=number)
        try:
            told = json.loads(zlib.decompress(found["body"])) if found else None
        except (ValueError, zlib.error):
            told = None
        rows = list(group)
        if not isinstance(told, list):
            continue  # told above
        if [row["place"] for row in rows] != list(range(len(told))):
            yield f"archive block {number}: {len(told)} events in it, {len(rows)} known, or in other places"
            continue
        for row, each in zip(rows, told, strict=True):
            if has_different_columns(row, each) and not _is_twin_taken(database, row, each):
                yield f"event {row['key']}: its row is not what the archive says"


def _is_twin_taken(database: Database, row: Any, told: list[Any]) -> bool:
    """Whether an event is without the twin its block tells because another event has that one."""
    other = database.fetch_one("event_by_twin", twin=told[1])
    return other is not None and other["id"] != row["id"] and not has_different_columns(dict(row) | {"twin": told[1]}, told)


def _check_event_index(database: Database, blocks: Blocks) -> Iterator[str]:
    for row in database.run("sampled_events", most=_SAMPLED).fetchall():
        try:
            event = blocks.event(row)
        except DamagedError:
            continue  # told above
        words = index_words(event.text).split()
        if not is_indexed(event) or not words:
            continue
        longest = sorted(set(words), key=lambda word: (len(word), word))[-4:]
        found = "reply_found" if event.author is Author.ASSISTANT else "turn_found"
        if database.fetch_one(found, id=row["id"], query=match_all_words(longest)) is None:
            yield f"event {row['key']}: not in the full-text index under its words"


def find_archive_misquotes(database: Database, blocks: Blocks, cited: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
    """Every memory that cites an event for words it does not say."""
    known = set()
    for row in database.run(
        "places", keys=to_canonical_json(sorted(cited))
    ).fetchall():  # in the order of blocks: each is read once
        known.add(row["key"])
        try:
            event = blocks.event(row)
        except DamagedError:
            continue  # told by damage()
        yield from check_quotes(row["key"], event, cited[row["key"]])
    for key in sorted(cited.keys() - known):
        yield from check_quotes(key, None, cited[key])


def find_events_with_words(database: Database, blocks: Blocks, words: "ErasureWords") -> Iterator[tuple[Any, Event]]:
    """Every event in which words stand, with its row. Events are made only of a block whose text as a whole may hold the words."""
    for block, rows in groupby(database.run("places_all").fetchall(), key=itemgetter("block")):
        places = list(rows)
        named = any(row["key"] in words.events or row["key"] in words.quotes for row in places)
        if named or blocks.may_hold(block, words):
            yield from ((row, event) for row, event in zip(places, blocks.events(places), strict=True) if has_words(event, words))


def find_similar_events(database: Database, blocks: Blocks, words: "ErasureWords") -> Iterator[Event]:
    """Every prompt and reply that has, by the full-text index, as many of a sentence's words as a near copy of it must have."""
    found = {
        row["id"]: row
        for wanted, least in words.near_queries
        for row in database.run(
            "spoken_with", words=to_canonical_json([match_all_words([phrase]) for phrase in _phrases(wanted)]), least=least
        )
    }
    yield from blocks.events(sorted(found.values(), key=itemgetter("block", "place")))


def _phrases(words: Iterable[str]) -> Iterator[str]:
    """The words as the index has them, each a phrase of its parts."""
    return filter(None, map(index_words, words))


def reindex(database: Database, blocks: Blocks) -> None:
    """Recreate what turns are found by."""
    with database.transaction():
        database.run("clear_turn_index")
        database.run("clear_reply_index")
        database.run("clear_passage_hashes")
        database.run("queue_embedding_turns")
        for row in database.run("places_all").fetchall():
            index(database, [(row["id"], blocks.event(row))])


def archive_rows(database: Database, blocks: Blocks) -> Iterator[Row]:
    """Files, events in order, threads."""
    for row in database.run("all_files"):
        cursor = Cursor(inode=row["inode"], offset=row["offset"], prefix=row["prefix"], line=row["line"], carry=row["carry"])
        yield FileRow(
            source=row["source"], path=row["path"], cursor=cursor, account=load(RecordAccount, json.loads(row["account"]))
        )
    for row in database.run("all_events"):
        yield EventRow(event=blocks.event(row), twin=row["twin"] or "")
    for row in database.run("thread_rows").fetchall():
        members = database.run("thread_keys", thread=row["id"]).fetchall()
        yield ThreadRow(
            id=row["id"],
            source=row["source"],
            path=row["path"],
            session=row["session"],
            project=row["project"],
            extracted=row["extracted"],
            seen=row["seen"],
            events=tuple(member["key"] for member in members),
            abandoned=tuple(member["ordinal"] for member in members if member["abandoned"]),
            closed=row["closed"],
            heard=row["heard"],
        )
