"""The request and response models that several areas of the API share: memories, and the results of changes."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from kept.core.memory import Memory
from kept.memories.browse import memory_revision, to_export
from kept.memories.wording import MEMORY_CHARS
from kept.web.context import locked_workspace, make_change
from kept.workspace import Workspace

Id = Annotated[str, Path(pattern="^[0-9a-zA-Z]{4,64}$", description="The id of a memory, or an unambiguous beginning of it.")]


def _parse_if_match(header: str) -> str:
    """The revision in an ``If-Match`` header. Empty if the header is missing or is ``*``, which accepts any revision."""
    revision = header.strip().removeprefix("W/").strip('"')
    return "" if revision == "*" else revision


IfMatch = Annotated[
    str,
    Header(max_length=80, description="The revision you saw (from ETag); if it has changed since, nothing is changed (412)."),
    AfterValidator(_parse_if_match),
]
Sentence = Annotated[str, StringConstraints(min_length=1, max_length=2 * MEMORY_CHARS)]
Name = Annotated[str, StringConstraints(max_length=200)]


class Body(BaseModel):
    """A request body. Undeclared fields are rejected."""

    model_config = ConfigDict(extra="forbid")


class EmptyBody(Body):
    """An empty object."""


class EvidenceOut(BaseModel):
    """A quote on which a memory is based, with its author and source."""

    quote: str
    source: str
    session: str
    event: str
    at: str | None
    origin: str
    author: str


class MemoryOut(BaseModel):
    """A memory, as `kept show --json` prints it, without confidence and requests.

    ``first_seen`` and ``last_seen`` are the times of its oldest and its newest evidence.
    """

    id: str
    content: str
    about: str = ""
    category: str
    scope: str
    status: str
    origin: str
    pinned: bool
    first_seen: str | None
    last_seen: str | None
    valid_until: str | None
    observations: int
    artifacts: list[str]
    evidence: list[EvidenceOut]
    supersedes: list[str]
    superseded_by: str | None
    resolved_by: str | None
    profile: str
    trigger: str
    reason: str
    forgotten: bool
    revision: str = Field(description="Changes when a visible part changes; send it as If-Match.")


class ChangeResponse(BaseModel):
    """The result of a change to memories."""

    memories: list[MemoryOut] = Field(description="The memories concerned, as they are now.")
    undo: str = Field(default="", description="The argument of POST /api/undo that takes the change back; empty if none does.")
    problems: list[str] = Field(default=[], description="Files that could not be written; the next run writes them.")


class Changer:
    """Makes the change of a request and returns its result as JSON.

    If it concerns a single memory, the ETag of the response is that memory's revision.
    """

    def __init__(self, request: Request, answer: Response) -> None:
        self._request, self._answer = request, answer

    def __call__(self, act: Callable[[Workspace], Sequence[Memory]]) -> dict[str, Any]:
        """Make the change ``act``. Raises what it raises."""
        with locked_workspace(self._request) as workspace:
            done = make_change(self._request, workspace, lambda: act(workspace))
            if len(done.result) == 1:
                self._answer.headers["etag"] = f'"{memory_revision(done.result[0])}"'
            memories = [to_export(workspace, memory) for memory in done.result]
            return {"memories": memories, "undo": done.undo, "problems": list(done.problems)}


Change = Annotated[Changer, Depends()]
