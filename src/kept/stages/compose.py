"""What goes into the memory file, and in which order, under its budget.

Knows memories, a profile and the names of projects; not what the file held before, nor how its bytes are written. Age is counted
from the newest evidence and not from today, so that a day on which nothing was learnt changes nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from math import exp2, log2
from zoneinfo import ZoneInfo

from kept.model.document import Document, Fact, Section
from kept.model.markup import LONGEST, fact_line, header_lines, heading_line, ids_line, sentence, size_of
from kept.model.memory import USER_SCOPE, Memory, Status
from kept.model.profile import Profile, kind_of, title_of
from kept.model.project import PROJECT
from kept.model.text import normal_form
from kept.model.times import day_of

EVERYWHERE = "Everywhere"
HARD_CAP = 49_000  # bytes; below 50 KB with every line ended by CRLF
_OWNED = 2_000  # a person's own words are cut later than a machine's
_NAME = 80
_DAY_SECONDS = 86_400


def compose(
    memories: Sequence[Memory],
    profiles: Sequence[Profile],
    *,
    as_of: datetime,
    names: Mapping[str, str],
    zone: ZoneInfo,
    reserved: int = 0,
) -> Document:
    """The document of the active memories of some profiles: the user's own first, then projects, the most recently seen first.

    Args:
        memories: any memories; those of other profiles and those not active at ``as_of`` are left out.
        profiles: their categories in their order; each has its own budget, and all share the hard cap.
        as_of: the moment whose expiry counts.
        names: what to call each project, by scope; the key of the scope where it is missing.
        zone: the zone that turns instants into days.
        reserved: bytes of the user's own lines in the file, which leave the rest less room under the hard cap.

    What does not fit is left out of the file by relevance, never out of the store; pinned memories leave last.
    """
    shown = tuple(
        each
        for each in memories
        if each.profile in {one.id for one in profiles} and each.status_at(as_of) is Status.ACTIVE and sentence(each.content, _NAME)
    )
    called = _names(shown, names)
    kept = _within(_by_relevance(shown, profiles), profiles, called, zone, HARD_CAP - reserved)
    return Document(sections=_sections(kept, profiles, called, zone, _recency(shown)))


def relevance(memory: Memory, profile: Profile, newest: datetime | None) -> float:
    """How much a memory deserves its line: weight x confidence x recency x log2(1 + observations).

    ``newest`` is the latest evidence of any memory; an undated memory counts as one half-life old.
    """
    category = profile.category(memory.category)
    weight, half_life = (category.weight, category.half_life) if category else (1.0, 0)
    halves = 0.0
    if half_life and (memory.last_seen is None or newest is None):
        halves = 1.0
    elif half_life and memory.last_seen is not None and newest is not None:
        halves = (newest - memory.last_seen).total_seconds() / _DAY_SECONDS / half_life
    return round(weight * memory.confidence * exp2(-halves) * log2(1 + max(1, memory.observations)), 9)


def _by_relevance(memories: Sequence[Memory], profiles: Sequence[Profile]) -> list[Memory]:
    newest = max((each.last_seen for each in memories if each.last_seen is not None), default=None)
    known = {each.id: each for each in profiles}
    return sorted(memories, key=lambda each: (not each.pinned, -relevance(each, known[each.profile], newest), each.id))


def _within(
    ordered: Sequence[Memory], profiles: Sequence[Profile], names: Mapping[str, str], zone: ZoneInfo, cap: int
) -> list[Memory]:
    """The longest prefix of each profile's that fits: one memory more pushes out the last ones only, whatever its size."""
    header = size_of(header_lines(date.max))
    room = {each.id: min(each.outputs.memory_bytes, cap) - header for each in profiles}
    lines = {each.id: each.outputs.memory_lines for each in profiles}
    full: set[str] = set()
    used = header
    scopes: set[str] = set()
    sections: set[tuple[str, str, str]] = set()
    kept: list[Memory] = []
    for memory in ordered:
        fact, section = _fact(memory, zone), (memory.profile, memory.scope, memory.category)
        size = len(fact_line(fact.text, fact.day).encode()) + 1 + len(memory.id.encode()) + 1
        if memory.scope not in scopes:
            size += size_of(("", heading_line(2, names[memory.scope])))
        if section not in sections:
            title = _title(memory.profile, memory.category, profiles)
            size += size_of(("", heading_line(3, title), ids_line(memory.scope, kind_of(memory.profile, memory.category), ())))
        used, room[memory.profile], lines[memory.profile] = used + size, room[memory.profile] - size, lines[memory.profile] - 1
        over = memory.profile in full or room[memory.profile] < 0 or lines[memory.profile] < 0
        if used > cap:
            break
        if over and not memory.pinned:
            used -= size
            full.add(memory.profile)
            continue
        scopes.add(memory.scope)
        sections.add(section)
        kept.append(memory)
    return kept


def _sections(
    memories: Sequence[Memory], profiles: Sequence[Profile], names: Mapping[str, str], zone: ZoneInfo, recency: Mapping[str, float]
) -> tuple[Section, ...]:
    kinds = [(each.id, one.id) for each in profiles for one in each.categories]
    rank = {each: number for number, each in enumerate(kinds)}

    def place(memory: Memory) -> tuple[bool, float, str, int, str, str]:
        kind = (memory.profile, memory.category)
        return (memory.scope != USER_SCOPE, -recency[memory.scope], memory.scope, rank.get(kind, len(rank)), *kind)

    def seen(memory: Memory) -> tuple[bool, float, str]:
        return (memory.first_seen is None, memory.first_seen.timestamp() if memory.first_seen else 0.0, memory.id)

    ordered = sorted(memories, key=lambda each: (place(each), seen(each)))
    return tuple(
        Section(
            scope=scope,
            category=kind_of(profile, category),
            name=names[scope],
            title=_title(profile, category, profiles),
            facts=tuple(_fact(each, zone) for each in group),
        )
        for (scope, profile, category), group in groupby(ordered, key=lambda each: (each.scope, each.profile, each.category))
    )


def _recency(memories: Sequence[Memory]) -> dict[str, float]:
    latest: dict[str, float] = {}
    for each in memories:
        moment = each.last_seen.timestamp() if each.last_seen else 0.0
        latest[each.scope] = max(latest.get(each.scope, 0.0), moment)
    return latest


def _fact(memory: Memory, zone: ZoneInfo) -> Fact:
    text = sentence(memory.content, _OWNED if memory.owned or memory.subject else LONGEST)
    return Fact(id=memory.id, text=text, day=day_of(memory.last_seen, zone))


def _title(profile: str, category: str, profiles: Sequence[Profile]) -> str:
    return sentence(title_of(profiles, profile, category), _NAME) or category


def _names(memories: Sequence[Memory], names: Mapping[str, str]) -> dict[str, str]:
    """One name per scope; those that read the same get the end of their scope's key behind them."""
    called = {USER_SCOPE: EVERYWHERE} | {
        scope: sentence(names.get(scope, ""), _NAME) or scope.removeprefix(PROJECT)
        for scope in sorted({each.scope for each in memories} - {USER_SCOPE})
    }
    alike: dict[str, int] = {}
    for name in called.values():
        alike[_folded(name)] = alike.get(_folded(name), 0) + 1
    return {
        scope: name if scope == USER_SCOPE or alike[_folded(name)] == 1 else f"{name} ({scope.rpartition('-')[2]})"
        for scope, name in called.items()
    }


def _folded(name: str) -> str:
    return normal_form(name) or name
