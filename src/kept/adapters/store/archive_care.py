"""The archive in SQLite looked at as a whole: what is wrong with it, its index made anew, its rows written out."""

import json
from collections.abc import Iterator, Mapping, Sequence

from kept.adapters.store.blocks import Blocks, is_indexed
from kept.adapters.store.checking import misquoted
from kept.adapters.store.database import Database, all_of
from kept.adapters.store.records import block_hash
from kept.adapters.store.values import EventRow, FileRow, Row, ThreadRow
from kept.model.codec import canonical, load
from kept.model.errors import DamagedError
from kept.model.event import Account, Cursor
from kept.model.text import index_words

_SAMPLED = 500  # turns of which `check` looks up the index entry: the rest derives from the same code


def damage(database: Database, blocks: Blocks) -> Iterator[str]:
    """Every block whose bytes are not what was written, every gap, and every sampled turn that is not found by its words."""
    for row in database.run("blocks"):
        if block_hash(row["body"]) != row["hash"]:
            yield f"archive block {row['id']}: its bytes do not match their hash"
    for row in database.run("events_adrift"):
        yield f"event {row['key']}: its archive block is missing"
    for row in database.run("archive_gaps"):
        yield f"{row['what']}: {row['most'] - row['found']} of {row['most']} are missing"
    for row in database.run("wrong_threads"):
        yield f"thread {row['id']}: {row['events']} events noted, {row['found']} found"
    yield from _lost_entries(database, blocks)


def _lost_entries(database: Database, blocks: Blocks) -> Iterator[str]:
    for row in database.run("sampled_events", most=_SAMPLED).fetchall():
        try:
            event = blocks.event(row)
        except DamagedError:
            continue  # told above
        words = index_words(event.text).split()
        if not is_indexed(event) or not words:
            continue
        longest = sorted(set(words), key=lambda word: (len(word), word))[-4:]
        if database.one("turn_found", id=row["id"], query=all_of(longest)) is None:
            yield f"event {row['key']}: not in the full-text index under its words"


def misquotes(database: Database, blocks: Blocks, cited: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
    """Every memory that cites an event for words it does not say."""
    known = set()
    for row in database.run("places", keys=canonical(sorted(cited))).fetchall():  # in the order of blocks: each is read once
        known.add(row["key"])
        try:
            event = blocks.event(row)
        except DamagedError:
            continue  # told by damage()
        yield from misquoted(row["key"], event, cited[row["key"]])
    for key in sorted(cited.keys() - known):
        yield from misquoted(key, None, cited[key])


def reindex(database: Database, blocks: Blocks) -> None:
    """Recreate what turns are found by."""
    with database.transaction():
        database.run("clear_turn_index")
        for row in database.run("places_all").fetchall():
            event = blocks.event(row)
            if is_indexed(event):
                database.run("index_turn", id=row["id"], words=index_words(event.text))


def rows(database: Database, blocks: Blocks) -> Iterator[Row]:
    """Files, events in order, threads."""
    for row in database.run("all_files"):
        cursor = Cursor(inode=row["inode"], offset=row["offset"], prefix=row["prefix"], line=row["line"], carry=row["carry"])
        yield FileRow(source=row["source"], path=row["path"], cursor=cursor, account=load(Account, json.loads(row["account"])))
    for row in database.run("all_events"):
        yield EventRow(event=blocks.event(row), twin=row["twin"] or "")
    for row in database.run("thread_rows").fetchall():
        members = database.run("thread_keys", thread=row["id"]).fetchall()
        yield ThreadRow(
            id=row["id"], source=row["source"], path=row["path"], session=row["session"], project=row["project"],
            extracted=row["extracted"], seen=row["seen"], events=tuple(each["key"] for each in members),
            abandoned=tuple(each["ordinal"] for each in members if each["abandoned"]), closed=row["closed"], heard=row["heard"],
        )  # fmt: skip
