"""The page that previews the context of a session.

It shows each line that a message would bring, with its reason, and what is left out.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.core.fence import CORE, LAYERS, Context, ContextPiece, estimate_token_count, render_block, render_piece
from kept.core.memory import TOLD, USER_SCOPE, Memory
from kept.core.text import tokenize
from kept.journal import calendar
from kept.outputs.routing import SessionStart, preview_start
from kept.recall.context_budget import SHOWN
from kept.recall.preview import preview_context, session_directories
from kept.web.context import request_workspace
from kept.web.render import NavigationPage, is_htmx_request, render_page, render_part
from kept.workspace import Workspace

router = APIRouter()
PAGE = NavigationPage(id="context", title="What sessions see", path="/context", key="i", router=router)

_MESSAGE = 8_000  # maximum characters of a message, because it is part of the URL
_SHORT = 3  # words with at most this many letters are not marked, because they occur in most lines
AGENTS = {"claude": "Claude Code", "codex": "Codex", "none": "another"}
_TITLES = {layer.name: layer.title for layer in LAYERS}


@router.get("/context")
def context(
    request: Request,
    *,
    message: Annotated[str, Query(max_length=_MESSAGE)] = "",
    project: Annotated[str | None, Query(max_length=4_000)] = None,
    client: Annotated[Literal["claude", "codex", "none"], Query()] = "claude",
    budget: Annotated[str, Query(max_length=6)] = "",
) -> Response:
    """Show what a hook would add to this message in this project. Without a message, show what a session there gets at its start.

    If the request does not name a project, the one with the latest work is used. An empty ``project`` means none.
    """
    with request_workspace(request) as workspace:
        known = session_directories(workspace)
        paths = [each for each, _ in known]
        wanted = last_work_directory(workspace, paths) if project is None else project
        directory = wanted if wanted in paths else ""
        most = min(int(budget), 100_000) if budget.isdecimal() else 0
        start = preview_start(workspace, directory, client=client, budget=most)
        found = preview_context(workspace, message, directory=directory, client=client, budget=most) if message else start.context
        values: dict[str, Any] = {
            "message": message,
            "project": directory,
            "client": client,
            "agents": AGENTS,
            "budget": most or workspace.settings.context_tokens,
            "name": dict(known).get(directory, ""),
            "start": start,
            "grouped": _group_read(start, workspace.scope(directory) if directory else USER_SCOPE),
            "why": _why_read,
            "start_layers": _group_by_layer(start.context),
            "found": found,
            "layers": _group_by_layer(found),
            "words": [word for word in tokenize(message) if len(word) > _SHORT],
            "omitted": [item for item in _group_by_reason(found) if item[0] != SHOWN],
            "as_block": render_block,
            "about": any(piece.layer != CORE for piece in found.pieces),
            "stored": bool(workspace.store.log.memory_ids()),
            "is_memory": frozenset(workspace.store.log.memory_ids()).__contains__,
        }
        if is_htmx_request(request):
            return render_part(workspace, "context_shown.html", **values)
        return render_page(request, workspace, "context.html", here=PAGE.id, known=known, **values)


def _group_read(start: SessionStart, here: str) -> list[tuple[bool, list[tuple[str, int, list[Memory]]]]]:
    """Group the memories that are in the files that a session reads at its start.

    The result has up to two parts: the memories meant for the session (True), and those of other projects (False). In each part,
    the memories are grouped by scope: the scope ``here`` first, then the one with the most memories. A group has its scope, the
    number of its first memory, and its memories. The numbers begin at 1 and run through both parts.
    """
    made, number = [], 1
    for own, memories in ((True, start.read), (False, start.foreign)):
        groups = []
        for scope, count in sorted(Counter(each.scope for each in memories).items(), key=lambda item: (item[0] != here, -item[1])):
            groups.append((scope, number, [each for each in memories if each.scope == scope]))
            number += count
        if groups:
            made.append((own, groups))
    return made


def _why_read(memory: Memory) -> str:
    """The reason why a memory is preferred if a file has no room for all."""
    if memory.pinned or memory.settled:
        return "pinned" if memory.pinned else "you kept it"
    return "you told it" if memory.trigger in TOLD else "weighs enough"


def last_work_directory(workspace: Workspace, directories: Sequence[str]) -> str:
    """The directory of the project in which the latest session worked.

    Empty if there was no session, or its project is not listed.
    """
    day = calendar.latest_active_day(workspace)
    sessions = workspace.store.archive.session_activity(*workspace.day_bounds(day)) if day else ()
    scopes = {workspace.scope(directory): directory for directory in directories}
    worked = sorted((activity for activity in sessions if activity.project), key=lambda each: each.last_at)
    return scopes.get(workspace.scope(worked[-1].project), "") if worked else ""


def _group_by_layer(found: Context) -> list[tuple[str, list[tuple[ContextPiece, int]]]]:
    """The lines of a context by the title of their layer, each with its estimated number of tokens."""
    shown = groupby(found.pieces, key=lambda each: each.layer)
    return [
        (_TITLES[layer], [(item, estimate_token_count(f"{render_piece(item)}\n")) for item in inside]) for layer, inside in shown
    ]


def _group_by_reason(found: Context) -> list[tuple[str, list[ContextPiece]]]:
    """The omitted memories by reason. Those most similar to the message come first."""
    ordered = sorted(found.omitted, key=lambda each: (each[1], -each[0].near, -each[0].score, each[0].key))
    return [(reason, [each for each, _ in inside]) for reason, inside in groupby(ordered, key=lambda each: each[1])]
