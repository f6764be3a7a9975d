"""Memories over the API: list, read, add, and everything a person may do to one."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field, StrictBool
from starlette.responses import Response

from kept.core.event import Origin
from kept.core.memory import Status
from kept.memories import decisions, person
from kept.memories.browse import Filter, chosen, exported
from kept.web.api.forms import Body, Changed, Id, IfMatch, MemoryOut, Name, Sentence, apply_change, revision_of
from kept.web.room import at_desk

router = APIRouter(tags=["memories"])


class MemoriesOut(BaseModel):
    """A stretch of the memories that a filter lets through."""

    total: int = Field(description="How many the filter lets through.")
    memories: list[MemoryOut]


class Added(Body):
    """A sentence to remember."""

    text: Sentence
    category: Name = Field(description="As `preference`, or `coding.preference` where several profiles are at work.")
    scope: Name = Field(default="", description="A scope as memories tell it; for the user everywhere where it is empty.")


class Edited(Body):
    """New words, another category, or both."""

    content: Sentence | None = None
    category: Name | None = None


class Pinned(Body):
    """Whether it is pinned."""

    on: StrictBool = True


class Reason(Body):
    """Why; kept in its history."""

    reason: Annotated[str, Field(max_length=500)] = ""


class Answered(Body):
    """What answers an open question, and what that is. Without words the question's own are taken."""

    category: Name
    text: Annotated[str, Field(max_length=2 * person.MOST)] = ""


class Nothing(Body):
    """An empty object."""


class Approved(Body):
    """In which words and which category it is kept; as it is where they are empty."""

    content: Annotated[str, Field(max_length=2 * person.MOST)] = ""
    category: Name = ""


@router.get("/memories", response_model=MemoriesOut)
def list_memories(
    request: Request,
    *,
    q: Annotated[str, Query(max_length=500, description="All of these words, or parts of words.")] = "",
    status: Annotated[Status | Literal["any"], Query()] = Status.ACTIVE,
    category: Annotated[str, Query(max_length=200)] = "",
    project: Annotated[str, Query(max_length=200, description="Part of a project's name.")] = "",
    origin: Annotated[Origin | None, Query()] = None,
    pinned: Annotated[bool, Query()] = False,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> dict[str, Any]:
    """The memories, by project and category, newest first."""
    with at_desk(request) as workspace:
        which = Filter(
            statuses=(Status(status),) if status != "any" else (),
            everything=status == "any",
            category=category,
            project=project,
            words=q,
            origin=origin,
            pinned=pinned,
        )
        now = workspace.clock()
        found = chosen(workspace, workspace.store.log.memories(), which, now)
        return {"total": len(found), "memories": [exported(workspace, each, now) for each in found[offset : offset + limit]]}


@router.post("/memories", status_code=201, response_model=Changed)
def add_memory(request: Request, answer: Response, body: Added) -> dict[str, Any]:
    """Remember a sentence, at once."""
    return apply_change(request, answer, lambda workspace: [person.add(workspace, body.text, body.category, scope=body.scope)])


@router.get("/memories/{number}", response_model=MemoryOut)
def one_memory(request: Request, answer: Response, number: Id) -> dict[str, Any]:
    """One memory; its revision is the ETag."""
    with at_desk(request) as workspace:
        found = exported(workspace, person.find(workspace, number))
        answer.headers["etag"] = f'"{found["revision"]}"'
        return found


@router.patch("/memories/{number}", response_model=Changed)
def edit_memory(request: Request, answer: Response, number: Id, body: Edited, if_match: IfMatch = None) -> dict[str, Any]:
    """Give it other words, or another category. What a person wrote, no machine changes."""
    seen = revision_of(if_match)
    return apply_change(
        request,
        answer,
        lambda workspace: [
            person.edit(
                workspace,
                number,
                body.content or person.find(workspace, number).content,
                category=body.category or None,
                if_match=seen,
            )
        ],
    )


@router.post("/memories/{number}/pin", response_model=Changed)
def pin_memory(request: Request, answer: Response, number: Id, body: Pinned, if_match: IfMatch = None) -> dict[str, Any]:
    """Always show it, and let no machine touch it; or take that back."""
    seen = revision_of(if_match)
    return apply_change(request, answer, lambda workspace: [person.pin(workspace, number, on=body.on, if_match=seen)])


@router.post("/memories/{number}/retire", response_model=Changed)
def retire_memory(request: Request, answer: Response, number: Id, body: Reason, if_match: IfMatch = None) -> dict[str, Any]:
    """It no longer holds. It stays in the log, and the same proposal does not bring it back."""
    seen = revision_of(if_match)
    return apply_change(request, answer, lambda workspace: [person.retire(workspace, number, body.reason, if_match=seen)])


@router.post("/memories/{number}/approve", response_model=Changed)
def approve_memory(request: Request, answer: Response, number: Id, body: Approved, if_match: IfMatch = None) -> dict[str, Any]:
    """Make a held, retired or rejected memory, or a wish that waits, active; in other words where some are given."""
    seen = revision_of(if_match)
    return apply_change(
        request,
        answer,
        lambda workspace: [
            decisions.approve(workspace, number, content=body.content, category=body.category, if_match=seen),
        ],
    )


@router.post("/memories/{number}/reject", response_model=Changed)
def reject_memory(request: Request, answer: Response, number: Id, body: Nothing, if_match: IfMatch = None) -> dict[str, Any]:
    """Turn down a held memory, or a wish that waits; the same proposal does not come back."""
    seen = revision_of(if_match)
    return apply_change(request, answer, lambda workspace: [decisions.reject(workspace, number, if_match=seen)])


@router.post("/memories/{number}/keep", response_model=Changed)
def keep_memory(request: Request, answer: Response, number: Id, body: Nothing, if_match: IfMatch = None) -> dict[str, Any]:
    """Confirm that it still holds: it is the person's own from now on."""
    seen = revision_of(if_match)
    return apply_change(request, answer, lambda workspace: [person.keep(workspace, number, if_match=seen)])


@router.post("/memories/{number}/resolve", response_model=Changed)
def resolve_memory(request: Request, answer: Response, number: Id, body: Answered, if_match: IfMatch = None) -> dict[str, Any]:
    """Answer an open question: it is closed, and the answer is remembered in its place."""
    seen = revision_of(if_match)
    return apply_change(
        request, answer, lambda workspace: person.resolve(workspace, number, body.category, body.text, if_match=seen)
    )
