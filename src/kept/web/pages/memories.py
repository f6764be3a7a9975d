"""Memories: all of them, searched and filtered. The address says the filter, so it can be kept, and going back goes back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.core.errors import MissingError
from kept.core.event import Origin
from kept.core.memory import Memory, Status
from kept.intake.discovery import survey
from kept.memories.browse import TRUST, Filter, chosen
from kept.memories.person import MOST, find, revision
from kept.pipeline.erase.forget import places, request_of
from kept.profiles.profile import kind_of, title_of
from kept.recall.index import Kind
from kept.recall.ranking.question import telling_words
from kept.recall.search import EVERYWHERE, NO_FILTERS, Filters, Hit, search
from kept.recall.spelling import corrected, excerpt
from kept.web.listing import Wish, choices, list_memories
from kept.web.navigation import Page
from kept.web.render import is_part, page, part
from kept.web.room import at_desk
from kept.web.turns import turn_of
from kept.workspace import Workspace

router = APIRouter()
_PLACES = 4  # places of one holder that are shown before something is forgotten
PAGE = Page(id="memories", title="Memories", path="/", key="m", router=router)

_STRETCH = 60  # rows shown before "show more"

Ids = Annotated[list[str], Query(alias="id", min_length=1, max_length=1_000)]


LAYERS: Mapping[str, tuple[str, tuple[Kind, ...]]] = {  # label, what is looked in
    "memories": ("memories", (Kind.MEMORY,)),
    "days": ("days", (Kind.SUMMARY,)),
    "turns": ("conversations", (Kind.TURN,)),
}
_SEARCHED = (Status.ACTIVE, Status.HELD)
_MOST_FOUND, _EXCERPT, _ID = 300, 320, 4  # hits of a search; characters shown of one; characters that may be an id
_MOST_OF_ALL = 100_000  # hits that are looked through for what a filter wants


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One hit of a search: a memory, or a turn or a line of a day with the stretch of its text that has the words."""

    memory: Memory | None = None
    hit: Hit | None = None
    text: str = ""


@router.get("/")
def memories(
    request: Request,
    *,
    q: Annotated[str, Query(max_length=500)] = "",
    within: str = "",
    status: str = "",
    category: str = "",
    project: str = "",
    age: str = "",
    origin: str = "",
    group: str = "",
    sort: str = "",
    exact: bool = False,
    shown: Annotated[int, Query(ge=1, le=100_000)] = _STRETCH,
) -> Response:
    """The page; or, for htmx, the list alone."""
    wish = Wish(
        q=q.strip(),
        within=within,
        status=status,
        category=category,
        project=project,
        age=age,
        origin=origin,
        group=group,
        sort=sort,
    )
    with at_desk(request) as workspace:
        if wish.q:
            values = _found_values(workspace, wish, shown, exact=exact)
            if is_part(request):
                return part(workspace, "search_list.html", **values)
        outlines = workspace.store.log.outlines(workspace.clock())
        if not wish.q:
            listing = list_memories(workspace, outlines, wish, shown)
            values = {"wish": wish, "listing": listing, "shown": shown, "stretch": _STRETCH, **shown_with(workspace)}
            if is_part(request):
                return part(workspace, "memories_list.html", **values)
        values["choices"] = choices(workspace, outlines, [(each, label) for each, (label, _) in LAYERS.items()])
        return page(request, workspace, "memories.html", here=PAGE.id, stored=len(outlines), **values)


@router.get("/turn")
def turn(
    request: Request, event: Annotated[str, Query(max_length=1_000)], around: Annotated[int, Query(ge=0, le=200)] = 8
) -> Response:
    """One archived turn in its conversation."""
    with at_desk(request) as workspace:
        turns = [turn_of(each) for each in workspace.store.archive.around(event, around, around)]
        if not turns:
            raise MissingError("this turn is not in the archive", hint="search again")
        values: dict[str, Any] = {"turns": turns, "event": event, "around": around}
        if is_part(request):
            return part(workspace, "turn.html", **values)
        return page(request, workspace, "turn_page.html", here=PAGE.id, **values)


@router.get("/found")
def found(request: Request) -> Response:
    """How many transcripts there are, for a first visit; it may take a while to look."""
    with at_desk(request) as workspace:
        tools = [each for each in survey(workspace).tools if each.files]
        return part(workspace, "memories_found.html", tools=tools)


@router.get("/memories/new")
def new(request: Request) -> Response:
    """The form for something to remember."""
    with at_desk(request) as workspace:
        kinds = [
            (kind_of(each.id, one.id), title_of(workspace.profiles, each.id, one.id))
            for each in workspace.profiles
            for one in each.categories
        ]
        scopes = sorted(workspace.names().items(), key=lambda each: each[1])
        return part(workspace, "memory_new.html", kinds=kinds, scopes=scopes, most=MOST)


@router.get("/memories/merge")
def merge(request: Request, number: Ids) -> Response:
    """The form that makes several one."""
    with at_desk(request) as workspace:
        memories = [find(workspace, each) for each in number]
        body = json.dumps({"memories": [{"id": each.id, "revision": revision(each)} for each in memories]})
        return part(workspace, "memories_merge.html", memories=memories, body=body, most=MOST)


@router.get("/memories/forget")
def forget(request: Request, number: Ids) -> Response:
    """Where the words stand that forgetting would erase, and what says nearly the same, before it does."""
    with at_desk(request) as workspace:
        asked = request_of(workspace, [find(workspace, each) for each in dict.fromkeys(number)])
        found = places(workspace, asked)
        exact = sorted((place for place in found if not place.near), key=lambda place: place.holder)
        held = [(holder, list(group)) for holder, group in groupby(exact, key=lambda place: place.holder)]
        near = [place for place in found if place.near]
        return part(workspace, "memories_forget.html", memories=asked.memories, held=held, near=near, shown=_PLACES)


@router.get("/memories/{number}/row")
def row(request: Request, number: str) -> Response:
    """One memory as the list shows it."""
    with at_desk(request) as workspace:
        return part(workspace, "memory_row.html", memory=find(workspace, number), **shown_with(workspace))


@router.get("/memories/{number}/edit")
def edit_form(request: Request, number: str) -> Response:
    """The form that changes it in its place."""
    with at_desk(request) as workspace:
        return form(workspace, find(workspace, number), "memory_edit.html")


@router.get("/memories/{number}/wrong")
def wrong_form(request: Request, number: str) -> Response:
    """The form that says what is wrong with it."""
    with at_desk(request) as workspace:
        return form(workspace, find(workspace, number), "memory_wrong.html")


@router.get("/memories/{number}/answer")
def answer(request: Request, number: str) -> Response:
    """The form that answers it in its place."""
    with at_desk(request) as workspace:
        return form(workspace, find(workspace, number), "memory_answer.html")


def form(workspace: Workspace, memory: Memory, template: str, row: str = "") -> Response:
    """A form about a memory, in the place of the row that ``row`` gives."""
    profile = workspace.profile_of(memory) or workspace.profile
    kinds = [(each.id, each.title) for each in profile.categories]
    where = row or f"/memories/{memory.id}/row"
    return part(workspace, template, memory=memory, revision=revision, kinds=kinds, row=where, most=MOST)


def shown_with(workspace: Workspace, words: Sequence[str] = ()) -> dict[str, Any]:
    """What a row needs besides its memory; ``words`` are marked in it."""
    now = workspace.clock()
    filed = {(each.id, one.id) for each in workspace.profiles if (one := each.category_for("open_question"))}
    return {
        "revision": revision,
        "status_of": lambda each: each.status_at(now).value,
        "trust": TRUST,
        "words": words,
        "asks": lambda each: (each.profile, each.category) in filed,
    }


def _found_values(workspace: Workspace, wish: Wish, shown: int, *, exact: bool) -> dict[str, Any]:
    """What a search finds, best first: memories, days and turns in one list; ``exact`` takes the words as they are typed."""
    asked = wish.q if exact else corrected(workspace, wish.q)
    which = _filter(workspace, wish)
    only_memories = bool(wish.category or wish.origin or wish.status)
    where = [Kind.MEMORY] if only_memories else LAYERS.get(wish.within, ("", EVERYWHERE))[1]
    filters = Filters(
        project=wish.project,
        category=wish.category.rpartition(".")[2],
        since=which.since,
        until=which.before,
        statuses=tuple(each.value for each in Status) if wish.status else NO_FILTERS.statuses,
    )
    chosen_after = bool(wish.origin or wish.status)  # what only a whole memory tells is asked of every hit
    most = _MOST_OF_ALL if chosen_after else min(shown, _MOST_FOUND)
    hits = search(workspace, asked, where=where, limit=most + 1, filters=filters)
    named = [] if len(wish.q) < _ID else workspace.store.log.ids_like(wish.q) if wish.q.isalnum() else []
    memories = {
        number: memory
        for number in (*named, *(each.id for each in hits if each.kind is Kind.MEMORY))
        if (memory := workspace.store.log.memory(number)) is not None
    }
    fits = {
        each.id
        for each in chosen(
            workspace, tuple(memories.values()), replace(which, statuses=_SEARCHED) if not wish.status else which, workspace.clock()
        )
    }
    by_id = [Found(memory=memories[each]) for each in named if each in fits]
    is_id = any(char.isdigit() for char in wish.q)  # else it is a word first, such as "face"
    found = by_id if is_id else []
    words = telling_words(asked)
    for hit in hits:
        if hit.kind is not Kind.MEMORY:
            found.append(Found(hit=hit, text=excerpt(hit.text, words, _EXCERPT)))
        elif hit.id in fits and hit.id not in named:
            found.append(Found(memory=memories[hit.id], hit=hit))
    found += [] if is_id else by_id
    return {
        "wish": wish,
        "layers": [(each, label) for each, (label, _) in LAYERS.items()],
        "asked": asked if asked != wish.q else "",
        "found": found[:shown],
        "more": len(found) > shown and (chosen_after or shown < _MOST_FOUND),
        "shown": shown,
        "stretch": _STRETCH,
        **shown_with(workspace, words),
    }


def _filter(workspace: Workspace, wish: Wish) -> Filter:
    since, before = wish.span(workspace.clock())
    known = {each.value: each for each in Status}
    return Filter(
        everything=wish.status == "any",
        pinned=wish.status == "pinned",
        statuses=(known.get(wish.status, Status.ACTIVE),),
        category=wish.category,
        project=wish.project,
        since=since,
        before=before,
        origin=next((each for each in Origin if each.value == wish.origin), None),
    )
