"""Going back over the API: take a pass, a run or several runs back, and bring them in again."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StringConstraints

from kept.memories.browse import exported
from kept.memories.history import Undone, redo, undo
from kept.web.api.forms import Body, MemoryOut
from kept.web.room import answered_first, at_desk, room_of

router = APIRouter(tags=["history"])


class Which(Body):
    """What to take back: a pass (``12``), a run (``r3``), several with commas between; the last run where it is empty."""

    what: Annotated[str, StringConstraints(max_length=2_000, pattern=r"^(r?[0-9]{1,18}(,r?[0-9]{1,18})*)?$")] = ""


class Switched(BaseModel):
    """What that came to."""

    passes: list[int] = Field(description="The passes switched.")
    memories: list[MemoryOut] = Field(
        description="The memories that changed, as they are now; those that are gone are not among them."
    )
    later: int = Field(description="How many later operations on the same memories still count.")
    problems: list[str] = Field(description="What could not be written to files; the next run does it.")


@router.post("/undo", response_model=Switched)
def take_back(request: Request, body: Which) -> dict[str, Any]:
    """Take back a pass or run. Undoing is a pass itself: nothing is taken out of the log."""
    return _switched(request, body, undoing=True)


@router.post("/redo", response_model=Switched)
def bring_back(request: Request, body: Which) -> dict[str, Any]:
    """Bring back what was undone; the last of it where nothing is named."""
    return _switched(request, body, undoing=False)


def _switched(request: Request, body: Which, *, undoing: bool) -> dict[str, Any]:
    wanted = body.what.split(",")
    with room_of(request).writing, at_desk(request) as workspace:

        def undo_or_redo() -> list[Undone]:
            with workspace.store.transaction():
                return (
                    [undo(workspace, each) for each in reversed(wanted)] if undoing else [redo(workspace, each) for each in wanted]
                )

        found, problems = answered_first(request, workspace, undo_or_redo)
        now = [workspace.store.log.memory(number) for number in dict.fromkeys(one for each in found for one in each.changed)]
        return {
            "passes": [one for each in found for one in each.passes],
            "memories": [exported(workspace, each) for each in now if each is not None],
            "later": sum(len(each.later) for each in found),
            "problems": list(problems),
        }
