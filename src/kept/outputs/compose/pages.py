"""Compose knowledge pages and day notes, and find where a memory appears.

There is a page for each project, for each person or thing with a dossier, and for each resource that several memories name. A page
contains everything active about its subject, earlier values, and links to related pages. A page that exceeds its budget continues
on another page, so nothing is left out. A day note is a log: a decision stays in the note of its day even if it changes later.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from zoneinfo import ZoneInfo

from kept.core.digest import digest
from kept.core.document import Document, Fact, Line, Section
from kept.core.markup import escape, fact_line, size_in_bytes, to_fact_text
from kept.core.memory import USER_SCOPE, Memory, Status, outcome_clause
from kept.core.pattern import compile_late
from kept.core.times import to_local_day
from kept.core.value import dataclass, replace
from kept.outputs.compose.sheet import NAME, compose_sheet, is_shown, rank_memories, recency_of, to_sections, unique_scope_names
from kept.profiles.profile import OutputPlace, Profile, Shape

ENTITIES, PROJECTS, RESOURCES = "entities", "projects", "resources"
OWNER = f"{ENTITIES}/you"
NAMED_BY = 3  # minimum number of memories that name a resource for it to get a page
MOST_RESOURCES = 40
_EARLIER = 30
_NAMED = compile_late(r"[\w.@/-]+")
_SLUG = compile_late(r"[^\w]+")
_FRAME = 6_000  # bytes of a page that are reserved for its title, earlier values and links


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """One page.

    ``path`` has no extension (``projects/harbor``). ``home`` contains the ids of the memories on it whose home page it is.
    """

    path: str
    title: str
    document: Document
    home: frozenset[str]


@dataclass(kw_only=True, slots=True)
class _PageDraft:
    """A page under construction: its memories, and the pages it links to."""

    title: str
    memories: list[Memory]
    links: set[str]
    home: bool = True


def compose_pages(
    memories: Sequence[Memory], profile: Profile, *, as_of: datetime, names: Mapping[str, str], zone: ZoneInfo
) -> tuple[Page, ...]:
    """Compose the pages of a profile's memories, sorted by path."""
    mine = [memory for memory in memories if memory.content and is_shown(memory, (profile,), OutputPlace.PAGE)]
    active = [memory for memory in mine if memory.status_at(as_of) is Status.ACTIVE]
    called = unique_scope_names(active, names)
    drafts: dict[str, _PageDraft] = {}
    for entry in active:
        path, title = home_page_of(entry, profile, called)
        drafts.setdefault(path, _PageDraft(title=title, memories=[], links=set())).memories.append(entry)
    for name, several in _named_resources(active).items():
        draft = _PageDraft(
            title=name, memories=several, links={home_page_of(memory, profile, called)[0] for memory in several}, home=False
        )
        drafts.setdefault(f"{RESOURCES}/{make_slug(name)}", draft)
    _link_pages(drafts)
    later = {memory.id: memory for memory in mine}
    pages = []
    for path, draft in sorted(drafts.items()):
        earlier = [
            item
            for item in mine
            if item.status is Status.SUPERSEDED and _final_successor(item, later) in {memory.id for memory in draft.memories}
        ]
        back = sorted(other for other, page_draft in drafts.items() if path in page_draft.links and other != path)
        pages += _build_pages(
            path, draft, back, _earlier_lines(earlier, later, zone) if draft.home else (), (profile, called, zone)
        )
    return tuple(pages)


def home_page_of(memory: Memory, profile: Profile, names: Mapping[str, str]) -> tuple[str, str]:
    """The path and title of a memory's home page: the page of its subject or of its project, or else the user's page."""
    category = profile.category(memory.category)
    if memory.subject and category is not None and category.shape is Shape.DOSSIER:
        return f"{ENTITIES}/{make_slug(memory.subject)}", memory.subject
    if memory.scope == USER_SCOPE:
        return OWNER, "You"
    name = names.get(memory.scope, memory.scope)
    return f"{PROJECTS}/{make_slug(name)}", name


def make_slug(name: str) -> str:
    """A name as one part of a path: lower-case letters and digits of any script, and hyphens. It is never empty."""
    found = _SLUG.sub("-", name.casefold().replace("_", "-")).strip("-")[:60]
    return found or digest(name, size=4)


def _named_resources(active: Sequence[Memory]) -> dict[str, list[Memory]]:
    """The artifacts (files, addresses, commands) that several memories name → these memories, the most often named first."""
    count = Counter(name for memory in active for name in dict.fromkeys(memory.artifacts) if len(name) > 3)
    often = sorted((name for name, times in count.items() if times >= NAMED_BY), key=lambda name: (-count[name], name))
    return {name: [memory for memory in active if name in memory.artifacts] for name in often[:MOST_RESOURCES]}


def _link_pages(drafts: Mapping[str, _PageDraft]) -> None:
    """Link each page to the pages of the people, things and resources that its memories mention."""
    for path, draft in drafts.items():
        text = " ".join(memory.content for memory in draft.memories).casefold()
        words = set(_NAMED.findall(text))
        for other, page_draft in drafts.items():
            if other in (path, OWNER) or other.startswith(f"{PROJECTS}/"):
                continue
            name = page_draft.title.casefold()
            if name in words or (" " in name and name in text):
                draft.links.add(other)


def _final_successor(memory: Memory, known: Mapping[str, Memory]) -> str:
    """The id of the last memory in the chain of those that superseded a memory. Its own id if none did."""
    seen = {memory.id}
    while memory.superseded_by in known and memory.superseded_by not in seen:
        seen.add(memory.superseded_by)
        memory = known[memory.superseded_by]
    return memory.id


def _earlier_lines(memories: Sequence[Memory], known: Mapping[str, Memory], zone: ZoneInfo) -> tuple[str, ...]:
    """One line per change of a value, the latest first, at most 30: the old value, its last day, and the new value."""
    lines = []
    for memory in sorted(memories, key=lambda memory: (memory.ended_at is None, memory.ended_at, memory.id), reverse=True)[
        :_EARLIER
    ]:
        day, now = to_local_day(memory.ended_at, zone), known.get(memory.superseded_by)
        until = f"until {day.isoformat()}: " if day else "before: "
        since = f" Since then: {to_fact_text(now.content, 120)}" if now else ""
        lines.append(f"- {escape(to_fact_text(f'{until}{memory.content}{since}'))}")
    return tuple(lines)


def _build_pages(
    path: str, draft: _PageDraft, back: Sequence[str], earlier: Sequence[str], how: tuple[Profile, Mapping[str, str], ZoneInfo]
) -> list[Page]:
    profile, names, zone = how
    sections = to_sections(draft.memories, (profile,), names, zone, recency_of(draft.memories))
    parts = _split_sections(sections, profile.outputs.page_bytes)
    links = [
        *(f"- [[{link}]]" for link in sorted(draft.links)),
        *(f"- [[{item}]] (names this page)" for item in back if item not in draft.links),
    ]
    home = frozenset(memory.id for memory in draft.memories) if draft.home else frozenset[str]()
    pages = []
    for number, part in enumerate(parts, 1):
        footer: list[str] = []
        if number == 1:
            footer += ["", "## Earlier", *earlier] if earlier else []
            footer += ["", "## Links", *links] if links else []
        if number < len(parts):
            footer += ["", f"Goes on in [[{path}-{number + 1}]]."]
        more = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        header = (
            f"# {to_fact_text(draft.title, NAME)}{more}",
            "A page of memories; kept rewrites it when they change. Edit freely.",
        )
        document = Document(sections=part, header=header, footer=tuple(footer))
        name = path if number == 1 else f"{path}-{number}"
        ids = frozenset(fact.id for section in part for fact in section.facts) & home
        pages.append(Page(path=name, title=to_fact_text(draft.title, NAME), document=document, home=ids))
    return pages


def _split_sections(sections: Sequence[Section], most: int) -> list[tuple[Section, ...]]:
    """Split the sections, in order, into parts for pages of about ``most`` bytes. A section may continue in the next part."""
    parts: list[list[Section]] = [[]]
    used = 0
    for section in sections:
        facts: list[Fact] = []
        for fact in section.facts:
            size = size_in_bytes((fact_line(fact.text, fact.day), fact.id))
            if used + size > most - _FRAME and (facts or parts[-1]):
                parts[-1] += [replace(section, facts=tuple(facts))] if facts else []
                parts.append([])
                facts, used = [], 0
            facts.append(fact)
            used += size
        if facts:
            parts[-1].append(replace(section, facts=tuple(facts)))
            used += size_in_bytes((section.title, section.name, section.category)) + 40
    return [tuple(sections) for sections in parts if sections] or [()]


_TOLD = (Status.ACTIVE, Status.SUPERSEDED, Status.RESOLVED, Status.EXPIRED)


def compose_day_notes(
    memories: Sequence[Memory],
    profiles: Sequence[Profile],
    *,
    names: Mapping[str, str],
    zone: ZoneInfo,
    summaries: Mapping[date, Sequence[Line]],
) -> dict[date, Document]:
    """Compose the note of each day on which something was first said or that has a summary.

    ``summaries`` maps a day to the lines that come before its new memories.
    """
    found: dict[date, list[Memory]] = {}
    for memory in memories:
        day = to_local_day(memory.first_seen, zone)
        if day is not None and memory.content and memory.status in _TOLD and is_shown(memory, profiles, OutputPlace.DAILY):
            found.setdefault(day, []).append(memory)
    summary_lines = {day: tuple(lines) for day, lines in summaries.items() if lines}
    return {
        day: Document(
            sections=_day_sections(found.get(day, []), profiles, names, zone), lead_lines=summary_lines.get(day, ()), bare=True
        )
        for day in sorted({*found, *summary_lines})
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


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputRoute:
    """Where one output shows a memory, and why. ``where`` is empty if the output does not show it."""

    place: OutputPlace
    where: str
    why: str


def find_routes(
    memory: Memory, memories: Sequence[Memory], profile: Profile, *, as_of: datetime, names: Mapping[str, str], zone: ZoneInfo
) -> tuple[OutputRoute, ...]:
    """One route per output of the memory's profile: whether the memory is shown there, and why."""
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
            found.append(OutputRoute(place=place, where="", why=outcome_clause(memory.outcome_at(as_of))))
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
            found.append(OutputRoute(place=place, where=path, why="all active memories are there"))
        else:
            routes = find_sheet_routes([memory], memories, profile, place, path, as_of=as_of, names=names, zone=zone)
            found.append(routes[memory.id])
    return tuple(found)


def _daily_route(memory: Memory, folder: str, zone: ZoneInfo) -> OutputRoute:
    day = to_local_day(memory.first_seen, zone)
    if day is None:
        return OutputRoute(place=OutputPlace.DAILY, where="", why="nobody knows on which day it was said")
    if memory.status in (Status.HELD, Status.REJECTED, Status.RETIRED):
        return OutputRoute(place=OutputPlace.DAILY, where="", why=outcome_clause(memory.outcome))
    return OutputRoute(place=OutputPlace.DAILY, where=f"{folder}/{day.isoformat()}.md", why="it was first said on that day")


def find_sheet_routes(
    asked: Sequence[Memory],
    memories: Sequence[Memory],
    profile: Profile,
    place: OutputPlace,
    path: str,
    *,
    as_of: datetime,
    names: Mapping[str, str],
    zone: ZoneInfo,
) -> dict[str, OutputRoute]:
    """Id → whether the memory file or the card shows the memory, and why. The file is composed once for all of ``asked``."""
    shown = [memory for memory in memories if memory.status_at(as_of) is Status.ACTIVE and is_shown(memory, (profile,), place)]
    document = compose_sheet(shown, (profile,), as_of=as_of, names=names, zone=zone, place=place)
    order = rank_memories(shown, (profile,))
    ranks = {memory.id: number for number, memory in enumerate(order, 1)}
    stand = {fact.id for section in document.sections for fact in section.facts}
    found = {}
    for memory in asked:
        rank = f"it ranks {ranks[memory.id]} of {len(order)}"
        category, where, why = profile.category(memory.category), "", f"there is no room: {rank}, and only {len(stand)} fit"
        better = [item.id for item in order if (item.category, item.scope) == (memory.category, memory.scope)]
        if memory.id in stand:
            room = "all memories fit" if len(stand) == len(order) else f"{rank}, and {len(stand)} fit"
            where, why = path, "it is pinned" if memory.pinned else room
        elif category is not None and category.budget and better.index(memory.id) >= category.budget:
            why = f"there are {category.budget} better among its {category.title.lower()}"
        found[memory.id] = OutputRoute(place=place, where=where, why=why)
    return found
