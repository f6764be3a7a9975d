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
from kept.model.profile import Profile
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
    profile: Profile,
    *,
    as_of: datetime,
    names: Mapping[str, str],
    zone: ZoneInfo,
    reserved: int = 0,
) -> Document:
    """The document of a profile's active memories: the user's own first, then projects, the most recently seen first.

    Args:
        memories: any memories; those of other profiles and those not active at ``as_of`` are left out.
        profile: its categories in their order, its budget.
        as_of: the moment whose expiry counts.
        names: what to call each project, by scope; the key of the scope where it is missing.
        zone: the zone that turns instants into days.
        reserved: bytes of the user's own lines in the file, which leave the rest less room under the hard cap.

    What does not fit is left out of the file by relevance, never out of the store; pinned memories leave last.
    """
    shown = tuple(
        each
        for each in memories
        if each.profile == profile.id and each.status_at(as_of) is Status.ACTIVE and sentence(each.content, _NAME)
    )
    called = _names(shown, names)
    kept = _within(_by_relevance(shown, profile), profile, called, zone, HARD_CAP - reserved)
    return Document(sections=_sections(kept, profile, called, zone, _recency(shown)))


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


def _by_relevance(memories: Sequence[Memory], profile: Profile) -> list[Memory]:
    newest = max((each.last_seen for each in memories if each.last_seen is not None), default=None)
    return sorted(memories, key=lambda each: (not each.pinned, -relevance(each, profile, newest), each.id))


def _within(ordered: Sequence[Memory], profile: Profile, names: Mapping[str, str], zone: ZoneInfo, cap: int) -> list[Memory]:
    """The longest prefix that fits: one memory more pushes out the last ones only, whatever its size."""
    room = min(profile.outputs.memory_bytes, cap)
    used = size_of(header_lines(date.max))
    scopes: set[str] = set()
    sections: set[tuple[str, str]] = set()
    kept: list[Memory] = []
    for memory in ordered:
        fact = _fact(memory, zone)
        used += len(fact_line(fact.text, fact.day).encode()) + 1 + len(memory.id.encode()) + 1
        if memory.scope not in scopes:
            used += size_of(("", heading_line(2, names[memory.scope])))
        if (memory.scope, memory.category) not in sections:
            used += size_of(("", heading_line(3, _title(memory.category, profile)), ids_line(memory.scope, memory.category, ())))
        over = len(kept) >= profile.outputs.memory_lines or used > room
        if (over and not memory.pinned) or used > cap:
            break
        scopes.add(memory.scope)
        sections.add((memory.scope, memory.category))
        kept.append(memory)
    return kept


def _sections(
    memories: Sequence[Memory], profile: Profile, names: Mapping[str, str], zone: ZoneInfo, recency: Mapping[str, float]
) -> tuple[Section, ...]:
    rank = {each.id: number for number, each in enumerate(profile.categories)}

    def place(memory: Memory) -> tuple[bool, float, str, int, str]:
        return (
            memory.scope != USER_SCOPE,
            -recency[memory.scope],
            memory.scope,
            rank.get(memory.category, len(rank)),
            memory.category,
        )

    def seen(memory: Memory) -> tuple[bool, float, str]:
        return (memory.first_seen is None, memory.first_seen.timestamp() if memory.first_seen else 0.0, memory.id)

    ordered = sorted(memories, key=lambda each: (place(each), seen(each)))
    return tuple(
        Section(
            scope=scope,
            category=category,
            name=names[scope],
            title=_title(category, profile),
            facts=tuple(_fact(each, zone) for each in group),
        )
        for (scope, category), group in groupby(ordered, key=lambda each: (each.scope, each.category))
    )


def _recency(memories: Sequence[Memory]) -> dict[str, float]:
    latest: dict[str, float] = {}
    for each in memories:
        moment = each.last_seen.timestamp() if each.last_seen else 0.0
        latest[each.scope] = max(latest.get(each.scope, 0.0), moment)
    return latest


def _fact(memory: Memory, zone: ZoneInfo) -> Fact:
    text = sentence(memory.content, _OWNED if memory.owned else LONGEST)
    return Fact(id=memory.id, text=text, day=day_of(memory.last_seen, zone))


def _title(category: str, profile: Profile) -> str:
    known = profile.category(category)
    return sentence(known.title if known else category.replace("_", " ").capitalize(), _NAME) or category


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
