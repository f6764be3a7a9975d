"""The pages for the files that kept writes: the list of files, the changes of the next write, and an editor."""

from itertools import groupby
from os.path import commonpath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from markupsafe import escape
from starlette.responses import Response

from kept.core.errors import BusyError, StoreError
from kept.core.memory import Memory
from kept.pipeline import edit_file
from kept.pipeline.edit_file import EditableFile, FileCondition, FileEntry
from kept.web.context import request_workspace, wait_for_files
from kept.web.listing import LABELS
from kept.web.render import NavigationPage, render_page, render_part
from kept.workspace import Workspace

router = APIRouter(dependencies=[Depends(wait_for_files)])
PAGE = NavigationPage(id="files", title="Files", path="/files", key="f", router=router)

FORMS: dict[str, str] = LABELS["forms"]
Which = Annotated[str, Query(max_length=1_000)]


@router.get("/files")
def files(request: Request) -> Response:
    """Show the files that kept writes, by form."""
    with request_workspace(request) as workspace:
        order = list(FORMS)
        editable_files = sorted(edit_file.list_output_files(workspace), key=lambda each: order.index(each.form))
        groups = [
            (FORMS[form], *_group_files(form, list(inside))) for form, inside in groupby(editable_files, key=lambda each: each.form)
        ]
        return render_page(
            request, workspace, "files.html", here=PAGE.id, groups=groups, there=FileCondition.THERE, home=str(workspace.paths.root)
        )


@router.get("/files/coming")
def upcoming_changes(request: Request) -> Response:
    """Show what the next write would change. The page requests this separately, because it composes every file."""
    with request_workspace(request) as workspace:
        try:
            write_preview = edit_file.preview_write(workspace)
        except (BusyError, StoreError) as error:  # a run is writing the files
            write_preview = edit_file.WritePreview(changes=(), files={}, problems=(str(error),))
        return render_part(workspace, "files_coming.html", coming=write_preview)


def _group_files(form: str, inside: list[EditableFile]) -> tuple[str, list[EditableFile]]:
    """The common folder of the files (empty for a single file), and the files sorted by name.

    Daily files are sorted latest first.
    """
    folder = commonpath([file.name for file in inside]) if len(inside) > 1 else ""
    return f"{folder}/" if folder else "", sorted(inside, key=lambda each: each.name, reverse=form == "daily")


@router.get("/files/edit")
def edit_file_page(request: Request, name: Which) -> Response:
    """Show the editor for a file."""
    with request_workspace(request) as workspace:
        file = edit_file.load_output_file(workspace, name)
        return render_page(
            request,
            workspace,
            "file.html",
            here=PAGE.id,
            form=FORMS[file.form],
            text=escape(file.text),
            **_file_values(workspace, file),
        )


@router.get("/files/entries")
def file_entries(request: Request, name: Which) -> Response:
    """Show the memories in a file, as the list beside its text."""
    with request_workspace(request) as workspace:
        return render_part(workspace, "file_entries.html", **_file_values(workspace, edit_file.load_output_file(workspace, name)))


def _file_values(workspace: Workspace, file: EditableFile) -> dict[str, Any]:
    known = ((entry, workspace.store.log.memory(entry.memory)) for entry in file.entries)
    told: list[tuple[FileEntry, Memory]] = [(entry, memory) for entry, memory in known if memory is not None and memory.content]
    return {"file": file, "told": told, "there": FileCondition.THERE}
