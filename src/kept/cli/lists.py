"""Format lists of memories, by project and category, each with an id that every command accepts. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from zoneinfo import ZoneInfo

from kept.cli.show import Line, format_id, hanging_line, line
from kept.core.memory import USER_SCOPE, Memory, Status
from kept.core.project import PROJECT
from kept.core.text import mixed_scripts
from kept.core.times import format_day
from kept.memories.waiting import PendingProposal
from kept.profiles.profile import Profile, category_title

EVERYWHERE, FORGOTTEN = "everywhere", "(forgotten)"


def grouped_lines(
    memories: Iterable[Memory],
    profiles: Sequence[Profile],
    names: Mapping[str, str],
    zone: ZoneInfo,
    moment: datetime | None = None,
) -> Iterator[Line]:
    """Memories as a list: under their project, then their category; each with its id and the day it was last seen.

    With ``moment``, each that is not active then says what it is.
    """
    kinds = [(profile.id, category.id) for profile in profiles for category in profile.categories]
    order = {kind: number for number, kind in enumerate(kinds)}

    def sort_key(memory: Memory) -> tuple[bool, str, int, str, str]:
        kind = (memory.profile, memory.category)
        return (memory.scope != USER_SCOPE, memory.scope, order.get(kind, len(order)), *kind)

    placed = sorted(memories, key=sort_key)
    for scope, inside in groupby(placed, key=lambda each: each.scope):
        yield line((scope_name(scope, names), "bold"))
        for (profile, category), chosen in groupby(inside, key=lambda each: (each.profile, each.category)):
            yield line((f"  {category_title(profiles, profile, category)}", "cyan"))
            for each in chosen:
                status = each.status_at(moment) if moment else Status.ACTIVE
                yield memory_line(each, zone, "" if status is Status.ACTIVE else status.value)


def memory_line(memory: Memory, zone: ZoneInfo, mark: str = "") -> Line:
    """One memory in a list."""
    mixed = f"mixes {' and '.join(found)} letters" if (found := mixed_scripts(memory.content)) else ""
    marks = ", ".join(filter(None, (mark, "pinned" if memory.pinned else "", mixed, format_day(memory.last_seen, zone))))
    return hanging_line(
        [("    ", ""), (format_id(memory.id), "yellow"), ("  ", "")], memory.content or FORGOTTEN, (f"  ({marks})", "dim")
    )


def scope_name(scope: str, names: Mapping[str, str]) -> str:
    """What a scope is called."""
    return EVERYWHERE if scope == USER_SCOPE else names.get(scope, scope.removeprefix(PROJECT))


def format_rank(item: PendingProposal) -> str:
    """The place of a proposal among what waits in its project."""
    return f"{item.rank} of {item.of} that wait in this project"
