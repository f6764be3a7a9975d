"""The story of one memory: the sentence, its evidence in its conversation, what happened to it, and the way back."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.core.memory import Actor, Memory
from kept.memories.browse import trace
from kept.memories.differences import changed_words
from kept.memories.history import undo
from kept.memories.person import find
from kept.memories.timeline import Story, story
from kept.outputs.routing import routed
from kept.web.pages.memories import PAGE, form, shown_with
from kept.web.render import page, part
from kept.web.room import at_desk
from kept.web.turns import conversations
from kept.workspace import Workspace

router = APIRouter()

WHO = {Actor.MACHINE: "kept", Actor.PERSON: "you", Actor.AGENT: "an agent"}
WHAT = {
    "add": "Remembered",
    "revise": "Changed",
    "reaffirm": "Confirmed",
    "merge": "Merged",
    "supersede": "Gave way to another",
    "resolve": "Answered",
    "retire": "Retired",
    "promote": "Filed elsewhere",
    "move": "Moved",
    "approve": "Approved",
    "reject": "Turned down",
    "pin": "Pinned",
    "forget": "Forgotten",
}
_AROUND = 2
_FIRST = 5  # pieces of evidence that are shown at once


@router.get("/memories/{number}")
def whole(request: Request, number: str) -> Response:
    """The page."""
    with at_desk(request) as workspace:
        memory = find(workspace, number)
        return page(request, workspace, "story.html", here=PAGE.id, **_story_values(workspace, memory))


@router.get("/memories/{number}/head")
def head(request: Request, number: str) -> Response:
    """The sentence and what can be done to it."""
    with at_desk(request) as workspace:
        return part(workspace, "story_head.html", **_story_values(workspace, find(workspace, number)))


@router.get("/memories/{number}/rest")
# The address gives it as text.
def rest(request: Request, number: str, every: Annotated[bool, Query(alias="all")] = False) -> Response:  # noqa: FBT002
    """Everything below the sentence."""
    with at_desk(request) as workspace:
        return part(
            workspace, "story_rest.html", **_story_values(workspace, find(workspace, number), most=None if every else _FIRST)
        )


@router.get("/memories/{number}/routes")
def show_routes(request: Request, number: str) -> Response:
    """Where it is shown, and why; every file is composed for that."""
    with at_desk(request) as workspace:
        memory = find(workspace, number)
        return part(workspace, "story_routes.html", routes=routed(workspace, [memory]).get(memory.id, ()))


@router.get("/memories/{number}/head/{what}")
def change_form(request: Request, number: str, what: str) -> Response:
    """A form in the place of the sentence: ``edit`` or ``answer``."""
    with at_desk(request) as workspace:
        template = "memory_answer.html" if what == "answer" else "memory_edit.html"
        memory = find(workspace, number)
        return form(workspace, memory, template, row=f"/memories/{memory.id}/head")


@router.get("/memories/{number}/evidence/{place}")
def evidence(request: Request, number: str, place: int, around: Annotated[int, Query(ge=0, le=200)] = 10) -> Response:
    """One piece of evidence with more of its conversation."""
    with at_desk(request) as workspace:
        memory = find(workspace, number)
        found = trace(workspace, memory, context=around).evidence[place : place + 1]
        shown = conversations(found, memory.evidence, first=place)
        return part(workspace, "story_turns.html", memory=memory, evidence=shown, around=around)


@router.get("/undo/{what}")
def before_undo(request: Request, what: str) -> Response:
    """What taking back a pass or run would change, found by trying it and leaving everything as it is."""
    with at_desk(request) as workspace:
        with workspace.store.trial():
            found = undo(workspace, what)
        changes = [
            (before, after, changed_words(before.content, after.content) if before and after else ())
            for before, after in found.changed.values()
            if _visible_state(before) != _visible_state(after)
        ]
        unseen = len(found.changed) - len(changes)
        return part(workspace, "before_undo.html", changes=changes, unseen=unseen, later=found.later, passes=found.passes)


def _visible_state(memory: Memory | None) -> Any:
    return (memory.content, memory.category, memory.status, memory.pinned) if memory is not None else None


def _teller(found: Story) -> str:
    """Who told it directly, ``person`` or ``agent``; empty for what comes out of conversations."""
    first = next(iter(found.chapters), None)
    direct = first is not None and first.made.actor is not Actor.MACHINE and not found.trace.evidence
    return first.made.actor.value if first is not None and direct else ""


def _story_values(workspace: Workspace, memory: Memory, most: int | None = _FIRST) -> dict[str, Any]:
    found = story(workspace, memory, context=_AROUND)
    chapters = [(each, changed_words(each.before, each.after) if each.changed else ()) for each in found.chapters]
    return {
        "memory": memory,
        "story": found,
        "chapters": chapters[::-1],
        "who": WHO,
        "what": WHAT,
        "around": _AROUND,
        "evidence": conversations(found.trace.evidence[:most], memory.evidence),
        "rest": len(found.trace.evidence[most:]) if most else 0,
        "origin": _teller(found),
        **shown_with(workspace),
    }
