"""The API for memories: list, read and add them, and every change that a person may make to one."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import AwareDatetime, BaseModel, Field, StrictBool
from starlette.responses import Response

from kept.core.event import Origin
from kept.core.memory import Memory, Status
from kept.memories import decisions, person
from kept.memories.browse import MemoryFilter, filter_memories, to_export
from kept.web.api.models import Body, ChangeResponse, EmptyBody, Id, IfMatch, MemoryOut, Name, Sentence, apply_change
from kept.web.context import request_workspace
from kept.workspace import Workspace

router = APIRouter(tags=["memories"])


class MemoriesOut(BaseModel):
    """A page of the memories that match a filter."""

    total: int = Field(description="How many the filter lets through.")
    memories: list[MemoryOut]


class AddBody(Body):
    """A sentence to remember."""

    text: Sentence
    category: Name = Field(description="As `preference`, or `coding.preference` where several profiles are in use.")
    scope: Name = Field(default="", description="A scope as memories tell it; for the user everywhere where it is empty.")


class EditBody(Body):
    """A new text, category or project, or several of them."""

    content: Sentence | None = None
    category: Name | None = None
    scope: Name | None = Field(default=None, description="The scope, as memories tell it; it is moved there.")


class PinBody(Body):
    """Whether it is pinned."""

    on: StrictBool = True


class ReasonBody(Body):
    """The reason, which is kept in the memory's history."""

    reason: Annotated[str, Field(max_length=500)] = ""


class SplitBody(Body):
    """The texts of the two memories into which one is split."""

    first: Sentence
    second: Sentence


class AnswerBody(Body):
    """The answer to an open question, and its category. Without a text, the question's text is used."""

    category: Name
    text: Annotated[str, Field(max_length=2 * person.MEMORY_CHARS)] = ""


class ApproveBody(Body):
    """The text and category of the approved memory; empty values leave them unchanged."""

    content: Annotated[str, Field(max_length=2 * person.MEMORY_CHARS)] = ""
    category: Name = ""


class RejectBody(Body):
    """Whether the memory was true until some time (by default that of its successor, else now) and no longer is."""

    past: StrictBool = False
    until: AwareDatetime | None = None


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
    with request_workspace(request) as workspace:
        which = MemoryFilter(
            statuses=(Status(status),) if status != "any" else (),
            everything=status == "any",
            category=category,
            project=project,
            words=q,
            origin=origin,
            pinned=pinned,
        )
        now = workspace.clock()
        found = filter_memories(workspace, workspace.store.log.memories(), which, now)
        return {"total": len(found), "memories": [to_export(workspace, memory, now) for memory in found[offset : offset + limit]]}


@router.post("/memories", status_code=201, response_model=ChangeResponse)
def add_memory(request: Request, answer: Response, body: AddBody) -> dict[str, Any]:
    """Add a memory, which is active at once."""
    return apply_change(
        request, answer, lambda workspace: [person.create_memory(workspace, body.text, body.category, scope=body.scope)]
    )


@router.get("/memories/{number}", response_model=MemoryOut)
def get_memory(request: Request, answer: Response, number: Id) -> dict[str, Any]:
    """One memory; its revision is the ETag."""
    with request_workspace(request) as workspace:
        found = to_export(workspace, person.find_memory(workspace, number))
        answer.headers["etag"] = f'"{found["revision"]}"'
        return found


@router.patch("/memories/{number}", response_model=ChangeResponse)
def edit_memory(request: Request, answer: Response, number: Id, body: EditBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Change its text, category or project. What a person wrote is not changed by a machine."""
    return apply_change(request, answer, lambda workspace: [_edit(workspace, number, body, if_match)])


def _edit(workspace: Workspace, number: str, body: EditBody, if_match: str) -> Memory:
    memory = person.find_memory(workspace, number)
    words, category = body.content or memory.content, body.category or memory.category
    with person.one_run(workspace, "edit"):
        if not body.scope or (words, category) != (memory.content, memory.category):
            memory, if_match = person.edit(workspace, number, words, category=category, if_match=if_match), ""
        return person.move(workspace, memory.id, body.scope, if_match=if_match) if body.scope else memory


@router.post("/memories/{number}/pin", response_model=ChangeResponse)
def pin_memory(request: Request, answer: Response, number: Id, body: PinBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Pin a memory, so that it is always shown and no machine changes it; or unpin it."""
    return apply_change(request, answer, lambda workspace: [person.pin(workspace, number, on=body.on, if_match=if_match)])


@router.post("/memories/{number}/retire", response_model=ChangeResponse)
def retire_memory(request: Request, answer: Response, number: Id, body: ReasonBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Retire a memory that no longer applies. It stays in the log, and the same proposal does not bring it back."""
    return apply_change(request, answer, lambda workspace: [person.retire(workspace, number, body.reason, if_match=if_match)])


@router.post("/memories/{number}/split", response_model=ChangeResponse)
def split_memory(request: Request, answer: Response, number: Id, body: SplitBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Split a memory into two; the first supersedes it."""
    return apply_change(
        request, answer, lambda workspace: person.split(workspace, number, body.first, body.second, if_match=if_match)
    )


@router.post("/memories/{number}/approve", response_model=ChangeResponse)
def approve_memory(request: Request, answer: Response, number: Id, body: ApproveBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Activate a held, retired or rejected memory, or a wish that was stated only once; with a new text if one is given."""
    return apply_change(
        request,
        answer,
        lambda workspace: [decisions.approve(workspace, number, content=body.content, category=body.category, if_match=if_match)],
    )


@router.post("/memories/{number}/reject", response_model=ChangeResponse)
def reject_memory(request: Request, answer: Response, number: Id, body: RejectBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Reject a held memory or a wish that was stated only once, or note that it used to be true. It is not proposed again."""
    return apply_change(
        request,
        answer,
        lambda workspace: [decisions.reject(workspace, number, past=body.past, until=body.until, if_match=if_match)],
    )


@router.post("/memories/{number}/keep", response_model=ChangeResponse)
def keep_memory(request: Request, answer: Response, number: Id, body: EmptyBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Confirm that it still applies: from now on it belongs to the person."""
    return apply_change(request, answer, lambda workspace: [person.keep(workspace, number, if_match=if_match)])


@router.post("/memories/{number}/resolve", response_model=ChangeResponse)
def resolve_memory(request: Request, answer: Response, number: Id, body: AnswerBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Answer an open question: it is closed, and the answer becomes a memory in its place."""
    return apply_change(
        request, answer, lambda workspace: person.resolve(workspace, number, body.category, body.text, if_match=if_match)
    )
