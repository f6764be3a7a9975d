"""Memories: all of them, searched and filtered. The address says the filter, so it can be kept, and going back goes back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.core.event import Origin
from kept.core.memory import Memory, Status
from kept.intake.discovery import survey
from kept.memories.browse import TRUST, Filter, chosen
from kept.memories.person import MOST, find, revision
from kept.pipeline.erase.forget import places, request_of
from kept.profiles.profile import kind_of, title_of
from kept.web.navigation import Page
from kept.web.render import is_part, page, part
from kept.web.room import at_desk
from kept.workspace import Workspace

router = APIRouter()
_PLACES = 4  # places of one holder that are shown before something is forgotten
PAGE = Page(id="memories", title="Memories", path="/", key="m", router=router)

_STRETCH = 100  # memories shown before "show more"

AGES: Mapping[str, tuple[str, int, int]] = {  # label, seen within so many days, not within so many
    "7": ("the last 7 days", 7, 0),
    "30": ("the last 30 days", 30, 0),
    "90": ("the last 90 days", 90, 0),
    "old": ("longer than 90 days ago", 0, 90),
}
Ids = Annotated[list[str], Query(alias="id", min_length=1, max_length=1_000)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What the address asks for; a word it does not know is no wish."""

    q: str = ""
    status: str = ""
    category: str = ""
    project: str = ""
    age: str = ""
    origin: str = ""

    @property
    def narrowed(self) -> int:
        """How many fields besides the search say something."""
        return sum(bool(getattr(self, each.name)) for each in fields(self)) - bool(self.q)

    @property
    def query(self) -> str:
        """The wish as an address has it; empty where nothing is wished."""
        return urlencode({each.name: value for each in fields(self) if (value := getattr(self, each.name))})


@router.get("/")
def memories(
    request: Request,
    *,
    q: Annotated[str, Query(max_length=500)] = "",
    status: str = "",
    category: str = "",
    project: str = "",
    age: str = "",
    origin: str = "",
    shown: Annotated[int, Query(ge=1, le=100_000)] = _STRETCH,
) -> Response:
    """The page; or, for htmx, the list alone."""
    wish = Wish(q=q.strip(), status=status, category=category, project=project, age=age, origin=origin)
    with at_desk(request) as workspace:
        every = workspace.store.log.memories()
        found = chosen(workspace, every, _filter(workspace, wish), workspace.clock())
        values: dict[str, Any] = {
            "wish": wish,
            "total": len(found),
            "shown": shown,
            "stretch": _STRETCH,
            "groups": _groups(found[:shown]),
            **shown_with(workspace, wish.q.casefold().split()),
        }
        if is_part(request):
            return part(workspace, "memories_list.html", **values)
        return page(
            request,
            workspace,
            "memories.html",
            here=PAGE.id,
            stored=len(every),
            choices=_choices(workspace, every),
            **values,
        )


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


def _filter(workspace: Workspace, wish: Wish) -> Filter:
    now = workspace.clock()
    _, within, longer = AGES.get(wish.age, ("", 0, 0))
    known = {each.value: each for each in Status}
    return Filter(
        words=wish.q,
        everything=wish.status == "any",
        pinned=wish.status == "pinned",
        statuses=(known.get(wish.status, Status.ACTIVE),),
        category=wish.category,
        project=wish.project,
        since=now - timedelta(days=within) if within else None,
        before=now - timedelta(days=longer) if longer else None,
        origin=next((each for each in Origin if each.value == wish.origin), None),
    )


def _groups(found: tuple[Memory, ...]) -> list[tuple[str, list[tuple[Memory, list[Memory]]]]]:
    """Memories by scope, then by category; the first of each category stands for its title."""
    made = []
    for scope, inside in groupby(found, key=lambda each: each.scope):
        kinds = [list(each) for _, each in groupby(inside, key=lambda each: (each.profile, each.category))]
        made.append((scope, [(each[0], each) for each in kinds]))
    return made


def _choices(workspace: Workspace, every: tuple[Memory, ...]) -> dict[str, list[tuple[str, str]]]:
    """What can be chosen in each field, as it is in the address and as a person reads it; only what would find something."""
    names = workspace.names()
    used = {(each.profile, each.category) for each in every}
    kinds = [(each.id, one.id) for each in workspace.profiles for one in each.categories if (each.id, one.id) in used]
    projects = sorted({names[each.scope] for each in every if each.scope in names})
    statuses = {each.status for each in every} | {each.status_at(workspace.clock()) for each in every}
    return {
        "category": [(f"{profile}.{category}", title_of(workspace.profiles, profile, category)) for profile, category in kinds],
        "project": [(each, each) for each in projects],
        "status": [
            ("pinned", "pinned"),
            *((each.value, each.value) for each in Status if each in statuses and each is not Status.ACTIVE),
            ("any", "any status"),
        ],
        "age": [(each, label) for each, (label, _, _) in AGES.items()],
        "origin": [(each.value, label) for each, label in TRUST.items()],
    }
