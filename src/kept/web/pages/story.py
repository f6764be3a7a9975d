"""The page of a memory: its text, its evidence in the conversations, its history, and undo."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.core.memory import Actor, Memory, Status, find_ending_word, outcome_clause
from kept.core.text import diff_words
from kept.core.value import dataclass, replace
from kept.memories.browse import WORDS, Timeline, build_timeline, find_main_evidence, trace_memory
from kept.memories.history import undo
from kept.memories.person import find_memory
from kept.outputs.routing import SessionStart, explain_no_room, preview_start, routes_by_memory
from kept.recall.preview import session_directories
from kept.web.context import request_workspace
from kept.web.pages.context import last_work_directory
from kept.web.pages.memories import PAGE, build_conversations, row_values
from kept.web.render import render_page, render_part
from kept.workspace import Workspace

router = APIRouter()

WHO = {Actor.MACHINE: "kept", Actor.PERSON: "you", Actor.AGENT: "an agent"}
REVIEW = "review"  # the navigation marks this page as current if the memory is a proposal
_AROUND = 2
_FIRST = 5  # number of pieces of evidence shown at first


@router.get("/memories/{number}")
def story_page(request: Request, number: str) -> Response:
    """Show the page of a memory."""
    with request_workspace(request) as workspace:
        memory = find_memory(workspace, number)
        here = REVIEW if memory.status_at(workspace.clock()) is Status.HELD else PAGE.id
        return render_page(request, workspace, "story.html", here=here, **_story_values(workspace, memory))


@router.get("/memories/{number}/head")
def story_head(request: Request, number: str) -> Response:
    """Show the memory's text and actions."""
    with request_workspace(request) as workspace:
        return render_part(workspace, "story_head.html", **_story_values(workspace, find_memory(workspace, number)))


@router.get("/memories/{number}/rest")
# FBT002 is ignored because ``all`` is a flag in the query string.
def story_rest(request: Request, number: str, every: Annotated[bool, Query(alias="all")] = False) -> Response:  # noqa: FBT002
    """Show the parts of the page below the memory's text. ``all`` shows all evidence."""
    with request_workspace(request) as workspace:
        return render_part(
            workspace, "story_rest.html", **_story_values(workspace, find_memory(workspace, number), most=None if every else _FIRST)
        )


@router.get("/memories/{number}/routes")
def show_routes(request: Request, number: str) -> Response:
    """Show which files and sessions have the memory, and why. This composes every file."""
    with request_workspace(request) as workspace:
        memory = find_memory(workspace, number)
        routes = routes_by_memory(workspace, [memory]).get(memory.id, ())
        return render_part(workspace, "story_routes.html", routes=routes, start=find_next_starts(workspace, [memory])[0])


@router.get("/memories/{number}/evidence/{place}")
def evidence_part(request: Request, number: str, place: int, around: Annotated[int, Query(ge=0, le=200)] = 10) -> Response:
    """Show a piece of evidence with more of its conversation. ``place`` is its number (from 0), ``around`` the number of turns."""
    with request_workspace(request) as workspace:
        memory = find_memory(workspace, number)
        found = trace_memory(workspace, memory, context=around).evidence[place : place + 1]
        shown = build_conversations(found, memory.evidence, first=place)
        return render_part(workspace, "story_turns.html", memory=memory, evidence=shown, around=around)


@router.get("/undo/{what}")
def undo_preview(request: Request, what: str) -> Response:
    """Show what undoing a pass or run would change. The undo is made in a transaction that is then rolled back."""
    with request_workspace(request) as workspace:
        with workspace.store.trial_transaction():
            undo_result = undo(workspace, what)
        changes = [
            (before, after, diff_words(before.content, after.content) if before and after else ())
            for before, after in undo_result.changed.values()
            if _visible_state(before) != _visible_state(after)
        ]
        unseen = len(undo_result.changed) - len(changes)
        return render_part(
            workspace, "before_undo.html", changes=changes, unseen=unseen, later=undo_result.later, passes=undo_result.passes
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class NextStart:
    """``told`` says whether the next session in a project (directory and name) gets a memory at its start.

    ``why`` is the reason.
    """

    directory: str
    project: str
    told: bool
    why: str


def find_next_starts(workspace: Workspace, memories: Sequence[Memory]) -> list[NextStart]:
    """For each memory, find out whether the next Claude Code session in its project gets it.

    A memory of the user's scope is looked up for the project with the latest work.
    """
    known = session_directories(workspace)
    places = {workspace.scope(directory): (directory, name) for directory, name in known}
    last = last_work_directory(workspace, [item for item, _ in known])
    usual = next((item for item in known if item[0] == last), ("", ""))
    starts: dict[str, SessionStart] = {}
    made = []
    memories = [_find_continuation(workspace, memory) for memory in memories]
    for memory in memories:
        directory, project = places.get(memory.scope, usual)
        status, told = memory.status_at(workspace.clock()), False
        if not memory.content:
            why = "it is forgotten"
        elif status is not Status.ACTIVE:
            why = "it is held for your decision" if status is Status.HELD else outcome_clause(memory.outcome_at(workspace.clock()))
        elif workspace.profile_of(memory) is None:
            why = "its profile is not active"
        else:
            start = starts[directory] = starts.get(directory) or preview_start(workspace, directory)
            told, why = start.find_way(memory.id)
            why = why if told or start.hooked else ""
        made.append(NextStart(directory=directory, project=project, told=told, why=why))
    unsaid = [memory for memory, start in zip(memories, made, strict=True) if not start.why]
    reasons = explain_no_room(workspace, unsaid) if unsaid else {}
    return [
        start if start.why else replace(start, why=reasons.get(memory.id) or starts[start.directory].find_way(memory.id)[1])
        for memory, start in zip(memories, made, strict=True)
    ]


def _find_continuation(workspace: Workspace, memory: Memory) -> Memory:
    """The memory that replaced a moved memory in its new project. A memory that was not moved is returned unchanged."""
    later = workspace.store.log.memory(memory.superseded_by) if memory.outcome == "moved" else None
    return later or memory


def _visible_state(memory: Memory | None) -> Any:
    return (memory.content, memory.category, memory.status, memory.pinned) if memory is not None else None


def _direct_source(found: Timeline) -> str:
    """Who added the memory directly: ``person`` or ``agent``. Empty if it comes from conversations."""
    first = next(iter(found.chapters), None)
    direct = first is not None and first.made.actor is not Actor.MACHINE and not found.trace.evidence
    return first.made.actor.value if first is not None and direct else ""


def _corrected_at(found: Timeline) -> datetime | None:
    """The time at which the person last corrected the words of the memory.

    None if the present words are not a correction by the person.
    """
    worded = [entry for entry in found.chapters if not entry.off and entry.changed and entry.before]
    return worded[-1].made.recorded_at if worded and worded[-1].made.actor is Actor.PERSON else None


def _story_values(workspace: Workspace, memory: Memory, most: int | None = _FIRST) -> dict[str, Any]:
    timeline = build_timeline(workspace, memory, context=_AROUND)
    source = find_main_evidence(memory)
    chapters = [(entry, diff_words(entry.before, entry.after) if entry.changed else ()) for entry in timeline.chapters]
    return {
        "memory": memory,
        "story": timeline,
        "chapters": chapters[::-1],
        "who": WHO,
        "what": WORDS["chapters"],
        "find_ending_word": find_ending_word,
        "around": _AROUND,
        "evidence": build_conversations(timeline.trace.evidence[:most], memory.evidence),
        "rest": len(timeline.trace.evidence[most:]) if most else 0,
        "origin": _direct_source(timeline),
        "origin_of": source.origin if source else memory.origin,
        "seen_last": max((item.at for item in memory.evidence if item.at is not None), default=None),
        "corrected": _corrected_at(timeline),
        **row_values(workspace),
    }
