"""Compute the list of memories: parse the query, select and group the matching memories, and count the choices of each field.

Filters and groups need only outlines. Only the memories that are shown are loaded from the store.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from kept.core.codec import load_table
from kept.core.event import Origin
from kept.core.memory import USER_SCOPE, Memory, Status
from kept.core.times import format_instant, format_optional_instant
from kept.core.value import dataclass, fields, replace
from kept.memories.browse import TRUST, MemoryFilter, compile_filter
from kept.memories.history import memories_at
from kept.profiles.profile import category_title, format_kind, parse_kind
from kept.store.values import Outline
from kept.workspace import Workspace

LABELS = load_table(Path(__file__).with_name("words.toml"))
"""The labels of the page, in tables."""
_SPANS = ((7, "The last 7 days", "7"), (30, "8 to 30 days ago", "8-30"), (90, "31 to 90 days ago", "31-90"))
_STATUSES, _ORIGINS = {status.value: status for status in Status}, {origin.value: origin for origin in Origin}
_SPARSE = 3  # with fewer memories per project on average, they are grouped by project only on request


@dataclass(frozen=True, kw_only=True, slots=True)
class ListQuery:
    """The query parameters of the list. Unknown values are ignored."""

    q: str = ""
    within: str = ""
    status: str = ""
    category: str = ""
    project: str = ""
    age: str = ""
    origin: str = ""
    since: str = ""
    until: str = ""
    at: str = ""
    group: str = ""
    sort: str = ""

    @property
    def narrowed(self) -> int:
        """The number of filters that are set. The search text, grouping and order are not filters."""
        return sum(bool(getattr(self, field.name)) for field in fields(self) if field.name not in ("q", "group", "sort"))

    @property
    def query(self) -> str:
        """The parameters as a query string. Empty parameters are omitted."""
        return urlencode({field.name: value for field in fields(self) if (value := getattr(self, field.name))})

    def query_with(self, **changes: str) -> str:
        """The query string with some parameters changed."""
        return replace(self, **changes).query

    def days(self, zone: ZoneInfo) -> tuple[datetime | None, datetime | None]:
        """The start of the day ``since`` and the end of the day ``until``. None for a parameter that is not a date."""
        first, last = _to_day(self.since), _to_day(self.until)
        return (
            datetime.combine(first, time(), zone) if first else None,
            datetime.combine(last + timedelta(days=1), time(), zone) if last else None,
        )

    def as_of(self, zone: ZoneInfo) -> datetime | None:
        """The end of the day ``at``, if the list of a past day is requested; else None."""
        day = _to_day(self.at)
        return datetime.combine(day + timedelta(days=1), time(), zone) if day else None

    def to_filter(self, now: datetime) -> MemoryFilter:
        """The conditions on a memory's status, kind, project, age and trust. An unknown status means active."""
        _, within, longer = LABELS["ages"].get(self.age, ("", 0, 0))
        return MemoryFilter(
            everything=self.status == "any",
            pinned=self.status == "pinned",
            statuses=(_STATUSES.get(self.status, Status.ACTIVE),),
            category=self.category,
            project=self.project,
            since=now - timedelta(days=within) if within else None,
            before=now - timedelta(days=longer) if longer else None,
            origin=_ORIGINS.get(self.origin),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryGroup:
    """A group of memories with its title. ``total`` counts all of its memories, ``memories`` are those that are shown."""

    title: str
    total: int
    memories: Sequence[Memory]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryListing:
    """The content of the list. ``total`` is the number of matching memories, ``of`` that of active ones.

    ``by`` is the grouping used.
    """

    total: int
    of: int
    groups: Sequence[MemoryGroup]
    by: str


def _to_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def list_memories(workspace: Workspace, outlines: Sequence[Outline], wish: ListQuery, shown: int) -> MemoryListing:
    """The first ``shown`` memories that match a query, in groups."""
    now, names = workspace.clock(), workspace.scope_names()
    past: dict[str, Memory] | None = None
    if moment := wish.as_of(workspace.zone):
        past = {memory.id: memory for memory in memories_at(workspace, moment)}
        outlines = [_outline_memory(memory, moment) for memory in past.values()]
    fit = list(filter(_make_predicate(workspace, wish, now), outlines))
    key, place = _make_grouping(workspace, wish, now)
    totals = Counter(map(key, fit))
    if not wish.group and len(totals) > _SPARSE and len(fit) < _SPARSE * len(totals):
        wish = replace(wish, group="none")
        key, place = _make_grouping(workspace, wish, now)
        totals = Counter(map(key, fit))
    fit.sort(key=attrgetter("last_seen"), reverse=wish.sort != "oldest")
    first = {each: number for number, each in enumerate(dict.fromkeys(map(key, fit)))}
    order = {each: (place(each), first[each]) for each in totals}
    fit.sort(key=lambda each: order[key(each)])
    memories = past or {memory.id: memory for memory in workspace.store.log.some([item.id for item in fit[:shown]])}
    groups = [
        MemoryGroup(
            title=_group_title(workspace, wish, names, each),
            total=totals[each],
            memories=[memories[item.id] for item in inside if item.id in memories],
        )
        for each, inside in groupby(fit[:shown], key)
    ]
    of = sum(outline.status == Status.ACTIVE.value for outline in outlines)
    return MemoryListing(total=len(fit), of=of, groups=groups, by=wish.group or "project")


def _outline_memory(memory: Memory, moment: datetime) -> Outline:
    return Outline(
        id=memory.id,
        profile=memory.profile,
        category=memory.category,
        scope=memory.scope,
        status=memory.status_at(moment).value,
        origin=memory.origin.value,
        last_seen=format_optional_instant(memory.last_seen) or "",
        pinned=memory.pinned,
        first_seen=format_optional_instant(memory.first_seen) or "",
    )


def _make_predicate(workspace: Workspace, wish: ListQuery, now: datetime) -> Callable[[Outline], bool]:
    fits = compile_filter(workspace, wish.to_filter(now), now)
    first, last = (format_instant(moment) if moment else "" for moment in wish.days(workspace.zone))
    return lambda each: (
        fits(each) and (not first or each.last_seen >= first) and (not last or (each.first_seen or each.last_seen) < last)
    )


def _make_grouping(
    workspace: Workspace, wish: ListQuery, now: datetime
) -> tuple[Callable[[Outline], str], Callable[[str], tuple[bool, int]]]:
    """Two functions: one returns the group of an outline, the other the position of a group.

    Groups at the same position are in the order of their first memories.
    """
    if wish.group == "category":
        kinds = [f"{profile.id}.{category.id}" for profile in workspace.profiles for category in profile.categories]
        order = {each: number for number, each in enumerate(kinds)}
        return lambda each: f"{each.profile}.{each.category}", lambda kind: (False, order.get(kind, len(order)))
    if wish.group == "age":
        ends = [format_instant(now - timedelta(days=days)) for days, _, _ in _SPANS]
        by_age = [*(label for _, _, label in _SPANS), "old"]
        back = -1 if wish.sort == "oldest" else 1
        return (
            lambda each: next((age for end, age in zip(ends, by_age, strict=False) if each.last_seen >= end), "old"),
            lambda age: (False, back * by_age.index(age)),
        )
    if wish.group == "none":
        return lambda _: "", lambda _: (False, 0)
    return lambda each: each.scope, lambda scope: (scope != USER_SCOPE, 0)


def _group_title(workspace: Workspace, wish: ListQuery, names: Mapping[str, str], which: str) -> str:
    if wish.group == "category":
        return category_title(workspace.profiles, *parse_kind(which))
    if wish.group == "age":
        return next((label for _, label, age in _SPANS if age == which), "Longer ago")
    return "Everywhere" if which == USER_SCOPE else names.get(which, which)


def field_choices(workspace: Workspace, outlines: Sequence[Outline]) -> dict[str, list[tuple[str, str]]]:
    """The choices for each field, as pairs of query value and label.

    Categories, projects and statuses without memories are omitted.
    """
    names = workspace.scope_names()
    active = [outline for outline in outlines if outline.status == Status.ACTIVE.value]
    kinds, scopes = Counter(map(attrgetter("profile", "category"), active)), Counter(map(attrgetter("scope"), active))
    used = set(map(attrgetter("profile", "category"), outlines))
    projects = {scope: scopes[scope] for scope in {outline.scope for outline in outlines} & names.keys()}
    found = {outline.status for outline in outlines}
    known = [(profile.id, category.id) for profile in workspace.profiles for category in profile.categories]
    return {
        "category": [
            (format_kind(*item), f"{category_title(workspace.profiles, *item)} ({kinds[item]:,})") for item in known if item in used
        ],
        "project": [
            (scope, f"{names[scope]} ({count:,})")
            for scope, count in sorted(projects.items(), key=lambda one: names[one[0]].lower())
        ],
        "status": [
            ("pinned", "pinned"),
            *((status.value, status.value) for status in Status if status.value in found and status is not Status.ACTIVE),
            ("any", "any status"),
        ],
        "age": [(each, label) for each, (label, _, _) in LABELS["ages"].items()],
        "origin": [(origin.value, label) for origin, label in TRUST.items()],
        "group": list(LABELS["groups"].items()),
        "sort": list(LABELS["sorts"].items()),
    }
