"""The API for memories: list, read and add them, and change one or several of them."""

from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import AwareDatetime, BaseModel, Field, StrictBool, StringConstraints
from starlette.responses import Response

from kept.core.codec import json_fields
from kept.core.errors import UsageError
from kept.core.event import Origin
from kept.core.memory import USER_SCOPE, Memory, Status
from kept.memories import decisions, person
from kept.memories.browse import MemoryFilter, filter_memories, to_export
from kept.memories.wording import MEMORY_CHARS
from kept.pipeline.erase.forget import ErasureReport, close_left, find_erasure_places, forget, make_erasure_request
from kept.web.api.models import Body, Change, ChangeResponse, EmptyBody, Id, IfMatch, MemoryOut, Name, Sentence
from kept.web.context import locked_workspace, request_workspace, web_context
from kept.workspace import Workspace

router = APIRouter(tags=["memories"])


class MemoriesOut(BaseModel):
    """A part of the list of memories that match a filter."""

    total: int = Field(description="The number of memories that match the filter.")
    memories: list[MemoryOut]


class AddBody(Body):
    """A memory to add."""

    text: Sentence
    category: Name = Field(description="For example `preference`, or `coding.preference` if several profiles are in use.")
    scope: Name = Field(default="", description="A scope, as in the memories' `scope`; empty: the user's scope.")


class EditBody(Body):
    """A new text, category or project. Fields that are null stay unchanged."""

    content: Sentence | None = None
    category: Name | None = None
    scope: Name | None = Field(default=None, description="Move it to this scope, as in the memories' `scope`.")


class PinBody(Body):
    """True to pin the memory, false to unpin it."""

    on: StrictBool = True


class ReasonBody(Body):
    """The reason for retiring the memory, shown in its history."""

    reason: Annotated[str, Field(max_length=500)] = ""


class SplitBody(Body):
    """The texts of the two memories that replace this one."""

    first: Sentence
    second: Sentence


class AnswerBody(Body):
    """The answer to an open question, and the answer's category. An empty text means the text of the question."""

    category: Name
    text: Annotated[str, Field(max_length=2 * MEMORY_CHARS)] = ""


class ApproveBody(Body):
    """A new text and category for the memory. Empty values leave them unchanged."""

    content: Annotated[str, Field(max_length=2 * MEMORY_CHARS)] = ""
    category: Name = ""


class RejectBody(Body):
    """`past` means that the memory used to be true. `until` is the time when that ended.

    By default, that is the time when the memory that contradicts it was first said. If there is none, it is now.
    """

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
    """Return the memories that match a filter, by project and category, newest first."""
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
def add_memory(change: Change, body: AddBody) -> dict[str, Any]:
    """Add a memory. It is active at once."""
    return change(lambda workspace: [person.create_memory(workspace, body.text, body.category, scope=body.scope)])


@router.get("/memories/{number}", response_model=MemoryOut)
def get_memory(request: Request, answer: Response, number: Id) -> dict[str, Any]:
    """Return a memory. The ETag is its revision."""
    with request_workspace(request) as workspace:
        found = to_export(workspace, person.find_memory(workspace, number))
        answer.headers["etag"] = f'"{found["revision"]}"'
        return found


@router.patch("/memories/{number}", response_model=ChangeResponse)
def edit_memory(change: Change, number: Id, body: EditBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Change a memory's text, category or project. Runs do not change a memory that a person wrote."""
    return change(lambda workspace: [_edit(workspace, number, body, if_match)])


def _edit(workspace: Workspace, number: str, body: EditBody, if_match: str) -> Memory:
    memory = person.find_memory(workspace, number)
    words, category = body.content or memory.content, body.category or memory.category
    with person.one_run(workspace, "edit"):
        if not body.scope or (words, category) != (memory.content, memory.category):
            memory, if_match = person.edit(workspace, number, words, category=category, if_match=if_match), ""
        project = "everywhere" if body.scope == USER_SCOPE else body.scope  # "user" may be part of a project's name
        return person.move(workspace, memory.id, project, if_match=if_match) if project else memory


@router.post("/memories/{number}/pin", response_model=ChangeResponse)
def pin_memory(change: Change, number: Id, body: PinBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Pin or unpin a memory. A pinned memory is always shown, and kept never changes it."""
    return change(lambda workspace: [person.pin(workspace, number, on=body.on, if_match=if_match)])


@router.post("/memories/{number}/retire", response_model=ChangeResponse)
def retire_memory(change: Change, number: Id, body: ReasonBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Retire a memory that no longer applies. It stays in the log, and the same candidate does not bring it back."""
    return change(lambda workspace: [person.retire(workspace, number, body.reason, if_match=if_match)])


@router.post("/memories/{number}/split", response_model=ChangeResponse)
def split_memory(change: Change, number: Id, body: SplitBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Split a memory into two. The first of them supersedes it."""
    return change(lambda workspace: person.split(workspace, number, body.first, body.second, if_match=if_match))


@router.post("/memories/{number}/approve", response_model=ChangeResponse)
def approve_memory(change: Change, number: Id, body: ApproveBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Activate a held, retired or rejected memory, or a wish that was said only once. A text in the request replaces its text."""
    return change(
        lambda workspace: [decisions.approve(workspace, number, content=body.content, category=body.category, if_match=if_match)]
    )


@router.post("/memories/{number}/reject", response_model=ChangeResponse)
def reject_memory(change: Change, number: Id, body: RejectBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Reject a held memory, or a wish that was said only once, so that it is not proposed again.

    `past` records that it used to be true.
    """
    return change(lambda workspace: [decisions.reject(workspace, number, past=body.past, until=body.until, if_match=if_match)])


@router.post("/memories/{number}/keep", response_model=ChangeResponse)
def keep_memory(change: Change, number: Id, body: EmptyBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Confirm that a memory still applies. From then on, the person owns it."""
    return change(lambda workspace: [person.keep(workspace, number, if_match=if_match)])


@router.post("/memories/{number}/resolve", response_model=ChangeResponse)
def resolve_memory(change: Change, number: Id, body: AnswerBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Answer an open question. The question is resolved, and the answer becomes a memory."""
    return change(lambda workspace: person.resolve(workspace, number, body.category, body.text, if_match=if_match))


Number = Annotated[str, StringConstraints(pattern="^[0-9a-zA-Z]{4,64}$")]
_MOST = 1_000


class BulkAction(StrEnum):
    """The changes that can be made to several memories in one request."""

    PIN = "pin"
    UNPIN = "unpin"
    RETIRE = "retire"
    KEEP = "keep"
    APPROVE = "approve"
    REJECT = "reject"


_ACTS: Mapping[BulkAction, Callable[..., Memory]] = {
    BulkAction.PIN: person.pin,
    BulkAction.UNPIN: partial(person.pin, on=False),
    BulkAction.RETIRE: person.retire,
    BulkAction.KEEP: person.keep,
    BulkAction.APPROVE: decisions.approve,
    BulkAction.REJECT: decisions.reject,
}


class SeenMemory(Body):
    """A memory, and the revision that the client last saw. An empty revision matches any."""

    id: Number
    revision: Annotated[str, StringConstraints(max_length=80)] = ""


class BulkBody(Body):
    """A change, and the memories to which it is made."""

    act: BulkAction
    memories: Annotated[list[SeenMemory], Field(min_length=1, max_length=_MOST)]


class MergeBody(Body):
    """The memories to merge. They are merged into the first of them."""

    memories: Annotated[list[SeenMemory], Field(min_length=2, max_length=50)]
    content: Annotated[
        str, Field(max_length=2 * MEMORY_CHARS, description="The words of the merged memory; empty: those of the first.")
    ] = ""
    category: Name = ""


class BulkResponse(ChangeResponse):
    """The result of changing several memories. ``undo`` reverts all changes."""

    undo_each: list[str] = Field(description="The argument of undo for each of ``memories``; empty if nothing changed.")


class ForgetBody(Body):
    """The memories to erase. They are erased only if ``sure`` is true, because erasing cannot be undone."""

    memories: Annotated[list[Number], Field(min_length=1, max_length=_MOST)]
    sure: StrictBool
    also: list[Number] = Field(
        default_factory=list, max_length=_MOST, description="Near copies, by their ids, to be erased as well."
    )


class NearCopy(BaseModel):
    """A memory that says nearly the same in other words. It is erased only if ``also`` names it."""

    id: str
    where: str
    text: str


class ErasureOut(BaseModel):
    """The memories and places that were erased. If ``sure`` was false, those that would be erased."""

    forgotten: list[str]
    places: dict[str, int] = Field(description="The number of places, by kind.")
    near: list[NearCopy] = Field(description="Near copies that were not chosen.")
    remains: list[str] = Field(description="Files of kept's that still contain the words; empty unless something failed.")
    out_of_reach: list[str] = Field(description="Places that contain it, or may contain it, and that kept must not change.")
    problems: list[str]


@router.post("/several", response_model=BulkResponse)
def change_several(change: Change, body: BulkBody) -> dict[str, Any]:
    """Make the same change to several memories. If one of them cannot be changed in this way, none is changed."""
    undo_each: list[str] = []

    def change_all(workspace: Workspace) -> list[Memory]:
        with person.one_run(workspace, body.act) as run:
            memories = [_ACTS[body.act](workspace, seen.id, if_match=seen.revision) for seen in body.memories]
        last = [workspace.store.log.operations_on(memory.id)[-1][0] for memory in memories]
        undo_each.extend(str(pass_.id) if run.started and pass_.run == run() else "" for pass_ in last)
        return memories

    return change(change_all) | {"undo_each": undo_each}


@router.post("/merge", response_model=ChangeResponse)
def merge_memories(change: Change, body: MergeBody) -> dict[str, Any]:
    """Merge several memories into the first of them, which gets all their evidence."""
    numbers, seen = [seen_memory.id for seen_memory in body.memories], [seen_memory.revision for seen_memory in body.memories]
    return change(lambda workspace: [person.merge(workspace, numbers, body.content, category=body.category or None, if_match=seen)])


class ErasingOut(BaseModel):
    """The current step of a running request to forget memories; empty if none is running."""

    doing: str


@router.get("/forget", response_model=ErasingOut)
def tell_erasing(request: Request) -> dict[str, str]:
    """Return the current step of a running request to forget memories. Such a request may take minutes."""
    return {"doing": next(iter(web_context(request).erasure_progress), "")}


@router.post("/forget", response_model=ErasureOut)
def forget_memories(request: Request, body: ForgetBody) -> dict[str, Any]:
    """Erase memories permanently, and their words in all places where kept stores them, including backups. This cannot be undone.

    If some places could not be erased, repeating the request tries them again. If ``sure`` is false, nothing is erased and the
    response lists what would be erased.
    """
    web, numbers = web_context(request), tuple(dict.fromkeys(body.memories))
    with web.change_lock, request_workspace(request) as workspace:
        again = web.unerased.get(numbers)
        asked = again or make_erasure_request(workspace, [person.find_memory(workspace, number) for number in numbers])
        if body.sure:
            if not any(memory.content for memory in asked.memories):
                raise UsageError("it was forgotten, so kept no longer knows its words", hint="kept forget --words SENTENCE")

            def tell(stage: str, done: int, total: int) -> None:
                web.erasure_progress[:] = [f"{stage} ({done} of {total})" if total else stage]

            try:
                gone = forget(workspace, asked, also=() if again else body.also, progress=tell)
            finally:
                web.erasure_progress.clear()
            web.unerased.pop(numbers, None)
            if gone.asked and (gone.problems or gone.remains):
                web.unerased[numbers] = gone.asked
            return _erasure_body(gone)
        erasure_matches = find_erasure_places(workspace, asked)
        counts = Counter(place.holder for place in erasure_matches if not place.near)
        memories = tuple(memory.id for memory in asked.memories)
        return _erasure_body(
            ErasureReport(memories=memories, places=counts, near=tuple(place for place in erasure_matches if place.near))
        )


@router.delete("/forget/{run}", response_model=ErasingOut)
def close_what_is_left(request: Request, run: Annotated[int, Path(ge=1, le=10**15)], body: EmptyBody) -> dict[str, str]:
    """Stop showing the places that a forget could not erase, because the person has dealt with them.

    The history still lists them.
    """
    with locked_workspace(request) as workspace:
        close_left(workspace, run)
    return tell_erasing(request)


def _erasure_body(gone: ErasureReport) -> dict[str, Any]:
    body = json_fields(gone, "remains", "out_of_reach", forgotten="memories")
    body["near"] = [json_fields(place, "id", "where", "text") for place in gone.near]
    body["places"] = {name: count for name, count in gone.places.items() if count}
    return body | {"problems": [*gone.problems, *(f"the words are still in {place}" for place in gone.remains)]}


@router.post("/refused/{number}/admit", status_code=201, response_model=ChangeResponse)
def accept_proposal(change: Change, number: Id, body: EmptyBody) -> dict[str, Any]:
    """Accept a refused proposal as an active memory."""
    return change(lambda workspace: [person.accept_refused(workspace, number)])
