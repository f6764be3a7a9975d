"""Why a memory is where it is: the note of its day, its page, the card or the memory file (A6). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from kept.core.memory import Memory, Status
from kept.core.times import to_local_day
from kept.outputs.compose.lines import unique_scope_names
from kept.outputs.compose.pages import home_page_of
from kept.outputs.compose.sheet import compose_sheet, is_shown, rank_memories
from kept.profiles.profile import OutputPlace, Profile


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputRoute:
    """One output and a memory: where in it the memory stands (empty: it does not), and why."""

    place: OutputPlace
    where: str
    why: str


def find_routes(
    memory: Memory, memories: Sequence[Memory], profile: Profile, *, as_of: datetime, names: Mapping[str, str], zone: ZoneInfo
) -> tuple[OutputRoute, ...]:
    """Where one of ``memories`` goes, output by output of its profile, each with the reason."""
    outputs, status = profile.outputs, memory.status_at(as_of)
    category = profile.category(memory.category)
    found = []
    for place, path in (
        (OutputPlace.DAILY, outputs.daily_folder),
        (OutputPlace.PAGE, outputs.pages_folder),
        (OutputPlace.CARD, outputs.card_file),
        (OutputPlace.MEMORY, outputs.memory_file),
        (OutputPlace.VIEW, outputs.view_file),
    ):
        if not path:
            continue
        if category is not None and place not in category.shown_in:
            found.append(OutputRoute(place=place, where="", why=f"{category.title} are not shown there"))
        elif place is OutputPlace.DAILY:
            found.append(_daily_route(memory, path, zone))
        elif status is not Status.ACTIVE:
            found.append(OutputRoute(place=place, where="", why=f"it is {status.value}"))
        elif place is OutputPlace.PAGE:
            page, title = home_page_of(memory, profile, unique_scope_names(memories, names))
            why = (
                f"it is about {title}"
                if memory.subject
                else f"it was said in {title}"
                if memory.scope != "user"
                else "it holds everywhere"
            )
            found.append(OutputRoute(place=place, where=f"{path}/{page}.md", why=why))
        elif place is OutputPlace.VIEW:
            found.append(OutputRoute(place=place, where=path, why="what is active is there"))
        else:
            found.append(_sheet_route(memory, memories, profile, place, path, as_of=as_of, names=names, zone=zone))
    return tuple(found)


def _daily_route(memory: Memory, folder: str, zone: ZoneInfo) -> OutputRoute:
    day = to_local_day(memory.first_seen, zone)
    if day is None:
        return OutputRoute(place=OutputPlace.DAILY, where="", why="nobody knows on which day it was said")
    if memory.status in (Status.HELD, Status.REJECTED, Status.RETIRED):
        return OutputRoute(place=OutputPlace.DAILY, where="", why=f"it is {memory.status.value}")
    return OutputRoute(place=OutputPlace.DAILY, where=f"{folder}/{day.isoformat()}.md", why="it was first said on that day")


def _sheet_route(
    memory: Memory,
    memories: Sequence[Memory],
    profile: Profile,
    place: OutputPlace,
    path: str,
    *,
    as_of: datetime,
    names: Mapping[str, str],
    zone: ZoneInfo,
) -> OutputRoute:
    shown = [memory for memory in memories if memory.status_at(as_of) is Status.ACTIVE and is_shown(memory, (profile,), place)]
    document = compose_sheet(shown, (profile,), as_of=as_of, names=names, zone=zone, place=place)
    order = rank_memories(shown, (profile,))
    rank = f"it ranks {[memory.id for memory in order].index(memory.id) + 1} of {len(order)}"
    if memory.id in {fact.id for section in document.sections for fact in section.facts}:
        return OutputRoute(place=place, where=path, why="it is pinned" if memory.pinned else rank)
    category = profile.category(memory.category)
    better = [item for item in order if (item.category, item.scope) == (memory.category, memory.scope)]
    if category is not None and category.budget and [memory.id for memory in better].index(memory.id) >= category.budget:
        return OutputRoute(place=place, where="", why=f"there are {category.budget} better among its {category.title.lower()}")
    return OutputRoute(place=place, where="", why=f"there is no room: {rank}")
