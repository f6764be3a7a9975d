"""The API for undo and redo of passes and runs."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StringConstraints

from kept.memories.browse import to_export
from kept.memories.history import UndoResult, describe_given_back, list_differences, redo, undo
from kept.web.api.models import Body, MemoryOut
from kept.web.context import change_before_write, locked_workspace

router = APIRouter(tags=["history"])


class UndoBody(Body):
    """What to undo: a pass (``12``), a run (``r3``), or several separated by commas; empty for the last run."""

    what: Annotated[str, StringConstraints(max_length=2_000, pattern=r"^(r?[0-9]{1,18}(,r?[0-9]{1,18})*)?$")] = ""


class UndoOut(BaseModel):
    """The result of an undo or redo."""

    passes: list[int] = Field(description="The passes switched.")
    memories: list[MemoryOut] = Field(
        description="The memories that changed, as they are now; those that are gone are not among them."
    )
    later: int = Field(description="How many later operations on the same memories still count.")
    said: str = Field(description="What the memories are now, in words.")
    problems: list[str] = Field(description="What could not be written to files; the next run does it.")


@router.post("/undo", response_model=UndoOut)
def undo_changes(request: Request, body: UndoBody) -> dict[str, Any]:
    """Undo a pass or run. The undo is a pass itself: nothing is removed from the log."""
    return _undo_response(request, body, undoing=True)


@router.post("/redo", response_model=UndoOut)
def redo_changes(request: Request, body: UndoBody) -> dict[str, Any]:
    """Redo what was undone; the last undo if nothing is named."""
    return _undo_response(request, body, undoing=False)


def _undo_response(request: Request, body: UndoBody, *, undoing: bool) -> dict[str, Any]:
    wanted = body.what.split(",")
    with locked_workspace(request) as workspace:

        def undo_or_redo() -> list[UndoResult]:
            with workspace.store.transaction():
                return (
                    [undo(workspace, item) for item in reversed(wanted)] if undoing else [redo(workspace, item) for item in wanted]
                )

        undo_results, problems = change_before_write(request, workspace, undo_or_redo)
        now = [
            workspace.store.log.memory(number)
            for number in dict.fromkeys(item for result in undo_results for item in result.changed)
        ]
        changed = {number: states for result in undo_results for number, states in result.changed.items()}
        return {
            "said": describe_given_back(list_differences(changed)) or "no memory changed",
            "passes": [pass_ for result in undo_results for pass_ in result.passes],
            "memories": [to_export(workspace, memory) for memory in now if memory is not None],
            "later": sum(len(result.later) for result in undo_results),
            "problems": list(problems),
        }
