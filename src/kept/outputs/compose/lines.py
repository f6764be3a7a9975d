"""What every composed file is made of: facts, sections in their order, names of scopes. Knows no budget and no file."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from zoneinfo import ZoneInfo

from kept.core.document import Fact, Section
from kept.core.markup import LONGEST, format_memory_line, to_fact_text
from kept.core.memory import USER_SCOPE, Memory, Status
from kept.core.project import PROJECT
from kept.core.text import normal_form, project_label
from kept.core.times import to_local_day
from kept.profiles.profile import Profile, category_title, format_kind

EVERYWHERE = "Everywhere"
NAME = 80
_OWNED = 2_000  # a person's own words are cut later than a machine's


def to_sections(
    memories: Sequence[Memory],
    profiles: Sequence[Profile],
    names: Mapping[str, str],
    zone: ZoneInfo,
    recency: Mapping[str, float],
    *,
    was: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Section, ...]:
    """The sections of some memories: the user's own first, then projects by ``recency``; in each the categories as profiles list
    them. ``was`` is what a memory may contradict, by its id.
    """
    kinds = [(profile.id, category.id) for profile in profiles for category in profile.categories]
    rank = {each: number for number, each in enumerate(kinds)}

    def sort_key(memory: Memory) -> tuple[bool, float, str, int, str, str]:
        kind = (memory.profile, memory.category)
        return (memory.scope != USER_SCOPE, -recency[memory.scope], memory.scope, rank.get(kind, len(rank)), *kind)

    def seen(memory: Memory) -> tuple[bool, float, str]:
        return (memory.first_seen is None, memory.first_seen.timestamp() if memory.first_seen else 0.0, memory.id)

    begun: dict[tuple[str, str], tuple[bool, float, str]] = {}  # what is known of one person or thing stands together
    for each in memories:
        about = (each.scope, each.subject.casefold() or each.id)
        begun[about] = min(seen(each), begun.get(about, seen(each)))
    ordered = sorted(memories, key=lambda each: (sort_key(each), begun[each.scope, each.subject.casefold() or each.id], seen(each)))
    return tuple(
        Section(
            scope=scope,
            category=format_kind(profile, category),
            name=names[scope],
            title=category_heading(profile, category, profiles),
            facts=tuple(to_fact(memory, zone, was.get(memory.id, "")) for memory in group),
        )
        for (scope, profile, category), group in groupby(ordered, key=lambda each: (each.scope, each.profile, each.category))
    )


def recency_of(memories: Sequence[Memory]) -> dict[str, float]:
    """When each scope was last spoken of, as seconds."""
    latest: dict[str, float] = {}
    for memory in memories:
        moment = memory.last_seen.timestamp() if memory.last_seen else 0.0
        latest[memory.scope] = max(latest.get(memory.scope, 0.0), moment)
    return latest


def contradicted_texts(memories: Iterable[Memory]) -> dict[str, str]:
    """What memories may contradict, as it was said before, by their ids."""
    return {memory.superseded_by: memory.content for memory in memories if memory.status is Status.HELD and memory.superseded_by}


def to_fact(memory: Memory, zone: ZoneInfo, was: str = "") -> Fact:
    """A memory as a file shows it; ``was`` is what it may contradict."""
    text = format_memory_line(memory.content, memory.about, _OWNED if memory.owned else LONGEST, was=was)
    return Fact(id=memory.id, text=text, day=to_local_day(memory.last_seen, zone))


def category_heading(profile: str, category: str, profiles: Sequence[Profile]) -> str:
    """What a category is called on a heading."""
    return to_fact_text(category_title(profiles, profile, category), NAME) or category


def unique_scope_names(memories: Sequence[Memory], names: Mapping[str, str]) -> dict[str, str]:
    """One name per scope; those that read the same get the end of their scope's key behind them."""
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
