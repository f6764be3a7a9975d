"""Long passages that occur in several sessions. Their hashes are stored with archived prompts, and added to events when read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from kept.core.codec import to_canonical_json
from kept.core.errors import DamagedError
from kept.core.event import Event, is_prompt
from kept.core.times import from_milliseconds
from kept.store.archive.blocks import Blocks
from kept.store.columns import mark_of
from kept.store.database import Database


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
    from kept.core.spans.repeats import is_copy  # noqa: PLC0415 - as above

    at, other = (None if time is None else from_milliseconds(time) for time in (row["at"], row["other_at"]))
    return not is_copy(at, other)
