"""The API for the files that kept writes: read a file, preview an edit, save it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field, StrictBool
from starlette.responses import Response

from kept.pipeline import edit_file
from kept.pipeline.edit_file import EditableFile, SaveReport, WritePreview
from kept.web.api.models import Body, Id, IfMatch
from kept.web.context import locked_workspace, request_workspace, wait_for_files

router = APIRouter(tags=["files"], dependencies=[Depends(wait_for_files)])

MOST = 1_000_000  # maximum characters of a text
Which = Annotated[str, Query(min_length=1, max_length=1_000, description="The file, by its path below the home.")]


class TextBody(Body):
    """The new text of a file."""

    text: Annotated[str, Field(max_length=MOST)]


class EditBody(TextBody):
    """The new text of a file that is to be saved."""

    accept_loss: StrictBool = Field(default=False, description="Take it as an edit though it looks damaged.")


@router.get("/files/file")
def get_file(request: Request, answer: Response, name: Which) -> EditableFile:
    """Return a file with its current text. The ETag is its revision."""
    with request_workspace(request) as workspace:
        editable_file = edit_file.load_output_file(workspace, name)
        answer.headers["etag"] = f'"{editable_file.revision}"'
        return editable_file


@router.post("/files/preview")
def preview_file(request: Request, name: Which, body: TextBody) -> WritePreview:
    """Return the changes that saving a text would make to memories and files. Nothing is changed."""
    with locked_workspace(request) as workspace:
        return edit_file.preview_write(workspace, name, body.text)


@router.put("/files/file")
def save_file(request: Request, answer: Response, name: Which, body: EditBody, if_match: IfMatch) -> SaveReport:
    """Save an edited text. Memories change as if the file had been edited on disk."""
    with locked_workspace(request) as workspace:
        done = edit_file.save_file_text(workspace, name, body.text, if_match=if_match, accept_loss=body.accept_loss)
        answer.headers["etag"] = f'"{done.file.revision}"'
        return done


@router.delete("/files/entries/{number}")
def delete_entry(request: Request, answer: Response, number: Id, name: Which, if_match: IfMatch) -> SaveReport:
    """Delete a memory's lines from a file. The memory is retired, as if a person had deleted the lines."""
    with locked_workspace(request) as workspace:
        done = edit_file.delete_file_entry(workspace, name, number, if_match=if_match)
        answer.headers["etag"] = f'"{done.file.revision}"'
        return done
