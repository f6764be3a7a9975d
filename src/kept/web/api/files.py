"""The API for the files that kept writes: read a file, preview an edit, save it."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field, StrictBool
from starlette.responses import Response

from kept.core.codec import json_fields
from kept.memories.history import last_undoable_run
from kept.pipeline import edit_file
from kept.pipeline.edit_file import SaveReport
from kept.web.api.models import Body, Id, IfMatch
from kept.web.context import locked_workspace, request_workspace, wait_for_files
from kept.workspace import Workspace

router = APIRouter(tags=["files"], dependencies=[Depends(wait_for_files)])

MOST = 1_000_000  # maximum characters of a text
Which = Annotated[str, Query(min_length=1, max_length=1_000, description="The file, by its path below the home.")]


class EntryOut(BaseModel):
    """A memory in a file, with the numbers of its first and last line, counted from 0."""

    memory: str
    first: int
    last: int


class FileOut(BaseModel):
    """A file with its current text."""

    name: str = Field(description="Its path below the home.")
    path: str
    form: Literal["memory", "section", "rules", "card", "daily", "page", "view"]
    heading: str = Field(description="The heading of kept's section; empty if the whole file is kept's.")
    profiles: list[str]
    text: str = Field(description="The whole file, or kept's section of it.")
    revision: str = Field(description="A hash of the bytes of `text`; empty if there are none. Send it as If-Match.")
    condition: Literal["there", "not written yet", "cannot be shown"]
    entries: list[EntryOut]
    problem: str


class ChangeOut(BaseModel):
    """The change that a write would make to a memory."""

    kind: str = Field(description="add, revise, or the status the memory gets.")
    memory: str
    before: str
    after: str


class PreviewOut(BaseModel):
    """The changes that a write would make."""

    changes: list[ChangeOut]
    files: dict[str, list[str]] = Field(description="Lines of a unified diff, by the name of each file that would change.")
    problems: list[str]


class TextBody(Body):
    """The new text of a file."""

    text: Annotated[str, Field(max_length=MOST)]


class EditBody(TextBody):
    """The new text of a file that is to be saved."""

    accept_loss: StrictBool = Field(default=False, description="Take it as an edit though it looks damaged.")


class SavedOut(BaseModel):
    """The result of saving a file."""

    file: FileOut
    operations: dict[str, int] = Field(description="How many operations of each kind the edit was.")
    undo: str = Field(description="The argument of POST /api/undo that takes the change back; empty if none does.")
    problems: list[str]


@router.get("/files/file", response_model=FileOut)
def get_file(request: Request, answer: Response, name: Which) -> dict[str, Any]:
    """Return a file with its current text. The ETag is its revision."""
    with request_workspace(request) as workspace:
        editable_file = edit_file.load_output_file(workspace, name)
        answer.headers["etag"] = f'"{editable_file.revision}"'
        return file_body(editable_file)


@router.post("/files/preview", response_model=PreviewOut)
def preview_file(request: Request, name: Which, body: TextBody) -> dict[str, Any]:
    """Return the changes that saving a text would make to memories and files. Nothing is changed."""
    with locked_workspace(request) as workspace:
        write_preview = edit_file.preview_write(workspace, name, body.text)
        return json_fields(write_preview, "changes", "files", "problems")


@router.put("/files/file", response_model=SavedOut)
def save_file(request: Request, answer: Response, name: Which, body: EditBody, if_match: IfMatch) -> dict[str, Any]:
    """Save an edited text. Memories change as if the file had been edited on disk."""
    return _save_response(
        request,
        answer,
        lambda workspace: edit_file.save_file_text(workspace, name, body.text, if_match=if_match, accept_loss=body.accept_loss),
    )


@router.delete("/files/entries/{number}", response_model=SavedOut)
def delete_entry(request: Request, answer: Response, number: Id, name: Which, if_match: IfMatch) -> dict[str, Any]:
    """Delete a memory's lines from a file. The memory is retired, as if a person had deleted the lines."""
    return _save_response(
        request, answer, lambda workspace: edit_file.delete_file_entry(workspace, name, number, if_match=if_match)
    )


def _save_response(request: Request, answer: Response, act: Callable[[Workspace], SaveReport]) -> dict[str, Any]:
    with locked_workspace(request) as workspace:
        before = last_undoable_run(workspace)
        done = act(workspace)
        now = last_undoable_run(workspace)
        answer.headers["etag"] = f'"{done.file.revision}"'
        return {
            "file": file_body(done.file),
            "operations": done.operations,
            "undo": now if now != before else "",
            "problems": done.problems,
        }


def file_body(file: edit_file.EditableFile) -> dict[str, Any]:
    """The JSON form of a file."""
    return json_fields(file, "name", "path", "form", "heading", "profiles", "text", "revision", "condition", "problem", "entries")
