"""The notes of days: what was first said on each, as it was said then.

A note is a log: what was decided on a day and has changed since still stands in that day's note.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

from kept.core.document import Document, Line, Section
from kept.core.memory import USER_SCOPE, Memory, Status
from kept.core.times import to_local_day
from kept.outputs.compose.lines import recency_of, to_sections, unique_scope_names
from kept.outputs.compose.sheet import is_shown
from kept.profiles.profile import OutputPlace, Profile

_TOLD = (Status.ACTIVE, Status.SUPERSEDED, Status.RESOLVED, Status.EXPIRED)


def compose_day_notes(
    memories: Sequence[Memory],
    profiles: Sequence[Profile],
    *,
    names: Mapping[str, str],
    zone: ZoneInfo,
    summaries: Mapping[date, Sequence[Line]],
) -> dict[date, Document]:
    """The note of each day on which something was first said, or of which there is a summary.

    ``summaries`` are lines told of a day before what was learnt on it.
    """
    found: dict[date, list[Memory]] = {}
    for memory in memories:
        day = to_local_day(memory.first_seen, zone)
        if day is not None and memory.content and memory.status in _TOLD and is_shown(memory, profiles, OutputPlace.DAILY):
            found.setdefault(day, []).append(memory)
    told = {day: tuple(lines) for day, lines in summaries.items() if lines}
    return {
        day: Document(sections=_day_sections(found.get(day, []), profiles, names, zone), told=told.get(day, ()), bare=True)
        for day in sorted({*found, *told})
    }


def _day_sections(
    memories: Sequence[Memory], profiles: Sequence[Profile], names: Mapping[str, str], zone: ZoneInfo
) -> tuple[Section, ...]:
    called = unique_scope_names(memories, names)
    sections = to_sections(memories, profiles, called, zone, recency_of(memories))
    return tuple(
        section if section.scope == USER_SCOPE else replace(section, title=f"{section.title} · {section.name}")
        for section in sections
    )
