"""Compose the memory file or the card (MEMORY.md) within its budget; also the parts of all composed files: facts, ordered sections,
names of scopes.

Knows memories, a profile and project names, but neither the file's previous content nor its byte format. Age is counted from the
newest evidence, not from today, so that a day without new evidence changes nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from math import exp2, log2
from types import MappingProxyType
from zoneinfo import ZoneInfo

from kept.core.document import Document, Fact, Section
from kept.core.markup import (
    LONGEST,
    end_line,
    fact_line,
    format_memory_line,
    header_lines,
    heading_line,
    ids_line,
    size_in_bytes,
    to_fact_text,
)
from kept.core.memory import TEAM, TOLD, USER_SCOPE, Memory, Status
from kept.core.project import PROJECT
from kept.core.text import normal_form, project_label
from kept.core.times import to_local_day
from kept.core.value import dataclass
from kept.profiles.profile import OutputPlace, Profile, category_title, format_kind

EVERYWHERE = "Everywhere"
NAME = 80
_OWNED = 2_000  # characters; a person's own words are truncated later than a machine's


def to_sections(
    memories: Sequence[Memory],
    profiles: Sequence[Profile],
    names: Mapping[str, str],
    zone: ZoneInfo,
    recency: Mapping[str, float],
    *,
    was: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Section, ...]:
    """Build the sections of some memories: the user's own first, then projects by ``recency``, with categories in profile order.
    ``was`` maps ids to the text that the memory may contradict.
    """
    kinds = [(profile.id, category.id) for profile in profiles for category in profile.categories]
    rank = {kind: number for number, kind in enumerate(kinds)}

    def sort_key(memory: Memory) -> tuple[bool, float, str, int, str, str]:
        kind = (memory.profile, memory.category)
        return (memory.scope != USER_SCOPE, -recency[memory.scope], memory.scope, rank.get(kind, len(rank)), *kind)

    def seen(memory: Memory) -> tuple[bool, float, str]:
        return (memory.first_seen is None, memory.first_seen.timestamp() if memory.first_seen else 0.0, memory.id)

    begun: dict[tuple[str, str], tuple[bool, float, str]] = {}  # keeps the memories about one person or thing together
    for memory in memories:
        about = (memory.scope, memory.subject.casefold() or memory.id)
        begun[about] = min(seen(memory), begun.get(about, seen(memory)))
    ordered = sorted(
        memories, key=lambda memory: (sort_key(memory), begun[memory.scope, memory.subject.casefold() or memory.id], seen(memory))
    )
    return tuple(
        Section(
            scope=scope,
            category=format_kind(profile, category),
            name=names[scope],
            title=category_heading(profile, category, profiles),
            facts=tuple(to_fact(memory, zone, was.get(memory.id, "")) for memory in group),
        )
        for (scope, profile, category), group in groupby(
            ordered, key=lambda memory: (memory.scope, memory.profile, memory.category)
        )
    )


def recency_of(memories: Sequence[Memory]) -> dict[str, float]:
    """When each scope was last mentioned, as a timestamp."""
    latest: dict[str, float] = {}
    for memory in memories:
        moment = memory.last_seen.timestamp() if memory.last_seen else 0.0
        latest[memory.scope] = max(latest.get(memory.scope, 0.0), moment)
    return latest


def contradicted_texts(memories: Iterable[Memory]) -> dict[str, str]:
    """The texts that memories may contradict, by memory id."""
    return {
        memory.superseded_by: memory.content
        for memory in memories
        if memory.status is Status.HELD and memory.superseded_by and memory.trigger != TEAM
    }


def to_fact(memory: Memory, zone: ZoneInfo, was: str = "") -> Fact:
    """A memory as an entry of a file; ``was`` is what it may contradict."""
    text = format_memory_line(memory.content, memory.about, _OWNED if memory.owned else LONGEST, was=was)
    return Fact(id=memory.id, text=text, day=to_local_day(memory.last_seen, zone))


def category_heading(profile: str, category: str, profiles: Sequence[Profile]) -> str:
    """The heading for a category."""
    return to_fact_text(category_title(profiles, profile, category), NAME) or category


def unique_scope_names(memories: Sequence[Memory], names: Mapping[str, str]) -> dict[str, str]:
    """A unique name for each scope; equal names get the end of the scope's key appended."""
    called = {USER_SCOPE: EVERYWHERE} | {
        scope: to_fact_text(names.get(scope, ""), NAME) or project_label(scope.removeprefix(PROJECT))
        for scope in sorted({memory.scope for memory in memories} - {USER_SCOPE})
    }
    alike: dict[str, int] = {}
    for name in called.values():
        alike[_comparable_name(name)] = alike.get(_comparable_name(name), 0) + 1
    return {
        scope: name if scope == USER_SCOPE or alike[_comparable_name(name)] == 1 else f"{name} ({scope.rpartition('-')[2]})"
        for scope, name in called.items()
    }


def _comparable_name(name: str) -> str:
    return normal_form(name) or name


HARD_CAP = 49_000  # bytes; still below 50 KB if every line ends with CRLF
_DAY_SECONDS = 86_400
_LINES = 10_000  # no limit: more lines than fit into any byte budget


def compose_sheet(
    memories: Sequence[Memory],
    profiles: Sequence[Profile],
    *,
    as_of: datetime,
    names: Mapping[str, str],
    zone: ZoneInfo,
    reserved: int = 0,
    place: OutputPlace = OutputPlace.MEMORY,
) -> Document:
    """Compose the document of the active memories of some profiles: the user's own first, then projects, the most recent first.

    Args:
        memories: any memories; those of other profiles and those not active at ``as_of`` are left out.
        profiles: each has its own budget; all share the hard cap. Their categories are listed in order.
        as_of: the moment at which status and expiry are evaluated.
        names: project names by scope; default: the key of the scope.
        zone: the time zone for days.
        reserved: bytes of the user's own lines in the file, which count against the hard cap.
        place: the memory file or the card; categories not shown there are left out.

    If the budget is exceeded, the least relevant memories are left out of the file (never of the store), pinned ones last.
    """
    shown = tuple(
        memory
        for memory in memories
        if memory.status_at(as_of) is Status.ACTIVE and is_shown(memory, profiles, place) and to_fact_text(memory.content, NAME)
    )
    # A category needs its profile's name only if another profile has one with the same name in this file.
    profiles = [item for item in profiles if item.id in {memory.profile for memory in shown}] or profiles
    called = unique_scope_names(shown, names)
    cap = (HARD_CAP if place is OutputPlace.MEMORY else max(profile.outputs.card_chars for profile in profiles)) - reserved
    was = contradicted_texts(memories)
    budget = _SheetBudget(profiles=profiles, place=place, names=called, zone=zone, cap=cap, was=was)
    kept = _fitting_prefix(rank_memories(shown, profiles), budget)
    return Document(sections=to_sections(kept, profiles, called, zone, recency_of(shown), was=was))


def relevance_score(memory: Memory, profile: Profile, newest: datetime | None) -> float:
    """The relevance of a memory: weight × confidence × recency × log2(1 + observations).

    ``newest`` is the time of the latest evidence of any memory. An undated memory counts as one half-life old. A memory that a
    person decided on is certain and does not age.
    """
    category = profile.category(memory.category)
    weight, half_life = (category.weight, category.half_life) if category else (1.0, 0)
    halves = 0.0
    if memory.settled:
        return round(weight * log2(1 + max(1, memory.observations)), 9)
    if half_life and (memory.last_seen is None or newest is None):
        halves = 1.0
    elif half_life and memory.last_seen is not None and newest is not None:
        halves = (newest - memory.last_seen).total_seconds() / _DAY_SECONDS / half_life
    return round(weight * memory.confidence * exp2(-halves) * log2(1 + max(1, memory.observations)), 9)


def is_shown(memory: Memory, profiles: Sequence[Profile], place: OutputPlace) -> bool:
    """True if an output shows a memory: it belongs to one of its profiles, and its category is shown there."""
    profile = next((item for item in profiles if item.id == memory.profile), None)
    category = profile.category(memory.category) if profile else None
    return profile is not None and (category is None or place in category.shown_in)


def rank_memories(memories: Sequence[Memory], profiles: Sequence[Profile]) -> list[Memory]:
    """Sort memories by how long an output over its budget keeps them.

    Pinned memories come first, then those that a person stated or decided on, then inferred ones. Each of these groups is sorted by
    relevance, then by age with the newest first.
    """
    newest = max((memory.last_seen for memory in memories if memory.last_seen is not None), default=None)
    known = {profile.id: profile for profile in profiles}

    def place(memory: Memory) -> tuple[bool, bool, float, float, str]:
        age, inferred = -memory.last_seen.timestamp() if memory.last_seen else 0.0, not (memory.settled or memory.trigger in TOLD)
        return not memory.pinned, inferred, -relevance_score(memory, known[memory.profile], newest), age, memory.id

    return sorted(memories, key=place)


def select_leading(memories: Sequence[Memory], profile: Profile) -> list[Memory]:
    """The most relevant memories of each scope and category, up to its budget, and all memories that a person owns or pinned."""
    kept: list[Memory] = []
    count: Counter[tuple[str, str]] = Counter()
    for memory in rank_memories(memories, (profile,)):
        category = profile.category(memory.category)
        section = (memory.scope, memory.category)
        if memory.settled or category is None or not category.budget or count[section] < category.budget:
            count[section] += 1
            kept.append(memory)
    return kept


@dataclass(frozen=True, kw_only=True, slots=True)
class _SheetBudget:
    """The budget of a file. ``cap`` is the size of the whole file in bytes."""

    profiles: Sequence[Profile]
    place: OutputPlace
    names: Mapping[str, str]
    zone: ZoneInfo
    cap: int
    was: Mapping[str, str]

    def profile_limits(self) -> dict[str, tuple[int, int]]:
        """The limit in bytes and lines for each profile."""
        card = self.place is OutputPlace.CARD
        return {
            profile.id: (
                min(self.cap, profile.outputs.card_chars if card else profile.outputs.memory_bytes),
                _LINES if card else profile.outputs.memory_lines,
            )
            for profile in self.profiles
        }

    def category_budget(self, memory: Memory) -> int:
        """The number of memories shown of a memory's category and scope."""
        found = (item.category(memory.category) for item in self.profiles if item.id == memory.profile)
        category = next(found, None)
        return (category.budget if category else 0) or _LINES


def _fitting_prefix(ordered: Sequence[Memory], budget: _SheetBudget) -> list[Memory]:
    """The longest prefix of each profile's ranking that fits. An additional memory can therefore only push out the last ones."""
    used = size_in_bytes((*header_lines(date.max), end_line(len(ordered))))
    left = {name: [most - used, lines] for name, (most, lines) in budget.profile_limits().items()}
    full: set[str] = set()
    scopes: set[str] = set()
    sections: dict[tuple[str, str, str], int] = {}
    kept: list[Memory] = []
    for memory in ordered:
        section = (memory.profile, memory.scope, memory.category)
        if (memory.profile in full or sections.get(section, 0) >= budget.category_budget(memory)) and not memory.pinned:
            continue
        size = _bytes_taken(memory, budget, new_scope=memory.scope not in scopes, new_section=section not in sections)
        mine = left[memory.profile]
        mine[0], mine[1] = mine[0] - size, mine[1] - 1
        if used + size > budget.cap:
            break
        if min(mine) < 0 and not memory.pinned:
            full.add(memory.profile)
            continue
        used += size
        scopes.add(memory.scope)
        sections[section] = sections.get(section, 0) + 1
        kept.append(memory)
    return kept


def _bytes_taken(memory: Memory, budget: _SheetBudget, *, new_scope: bool, new_section: bool) -> int:
    """The bytes of a memory with its id in the comment, including headings that it adds."""
    fact = to_fact(memory, budget.zone, budget.was.get(memory.id, ""))
    size = len(fact_line(fact.text, fact.day).encode()) + 1 + len(memory.id.encode()) + 1
    if new_scope:
        size += size_in_bytes(("", heading_line(2, budget.names[memory.scope])))
    if new_section:
        title = category_heading(memory.profile, memory.category, budget.profiles)
        size += size_in_bytes(
            ("", heading_line(3, title), ids_line(memory.scope, format_kind(memory.profile, memory.category), ()))
        )
    return size
