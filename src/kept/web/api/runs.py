"""The API for runs: start, follow and stop a run, undo and redo, make a backup, show the bundled sample."""

from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, BeforeValidator, Field, StrictBool, StringConstraints

from kept.core.errors import MissingError, UsageError
from kept.core.pattern import Pattern
from kept.memories.backups import back_up_now
from kept.memories.browse import to_export
from kept.memories.differences import describe_given_back, list_differences
from kept.memories.history import UndoResult, redo, undo
from kept.pipeline.run import RunOptions, run_pipeline, sample_files
from kept.web.api.models import Body, EmptyBody, MemoryOut
from kept.web.background import RunState
from kept.web.context import change_before_write, locked_workspace, request_home, web_context

router = APIRouter(tags=["runs"])
_DAY = Pattern(r"\d{4}-\d\d-\d\d")


def _validate_day_text(value: object) -> object:
    """Accept a date such as 2026-01-31, an empty text or None. Raises ValueError for anything else.

    Without this check, pydantic would accept a number as seconds since 1970.
    """
    if value is None or (isinstance(value, str) and (not value or _DAY.fullmatch(value))):
        return value
    raise ValueError("must be a day as 2026-01-31")


Day = Annotated[date | Literal[""] | None, BeforeValidator(_validate_day_text)]


class RunBody(Body):
    """The options of a run. By default, it reads all new transcripts of all enabled sources."""

    dry: StrictBool = Field(default=False, description="Show what would change; change nothing.")
    model: StrictBool = Field(default=True, description="Ask the language model of the settings, if there is one.")
    force: StrictBool = Field(default=False, description="Read and analyse everything again.")
    since: Day = Field(default=None, description="Only sessions with events on this day or later.")
    until: Day = Field(default=None, description="Only sessions with events on this day or earlier.")
    only: list[Annotated[str, StringConstraints(max_length=4_000)]] | None = Field(
        default=None, max_length=10_000, description="Read only these transcripts, by path or by source; null: all."
    )
    again: StrictBool = Field(default=False, description="Continue the last run; the other fields are ignored.")
    allow: StrictBool = Field(default=False, description="Apply changes that a guard stopped.")
    confirm: StrictBool = Field(default=False, description="With `allow`: the person has read the list of losses and accepts them.")


_UNSHOWN = {"since", "new", "held"}  # fields of the state of a run that only the page itself uses


class BackupOut(BaseModel):
    """The file name of a new backup."""

    name: str


@router.post("/backup", status_code=201, response_model=BackupOut)
def back_up(request: Request, body: EmptyBody) -> dict[str, Any]:
    """Make a verified copy of the store, in addition to the automatic backups."""
    with locked_workspace(request) as workspace:
        return {"name": back_up_now(workspace).name}


@router.post("/runs", status_code=202, response_model_exclude=_UNSHOWN)
def begin_run(request: Request, body: RunBody) -> RunState:
    """Start a run. The response does not wait for its end. Only one run can be active at a time.

    A change that a guard stopped is applied only with `allow` and `confirm`.
    """
    if body.allow and not body.confirm:
        raise UsageError(
            "changes that a guard stopped need the person's confirmation", hint="read the list of losses, then send `confirm`"
        )
    if body.since and body.until and body.since > body.until:
        raise UsageError(f"{body.since} is after {body.until}", hint="give the earlier day as `since`")
    web = web_context(request)
    if web.sample_shown.is_set():
        raise UsageError("this is the bundled sample, on which kept has already run", hint="leave the sample first")
    options = RunOptions(
        dry=body.dry,
        force=body.force,
        model=body.model,
        since=body.since or None,
        until=body.until or None,
        allow=body.allow and body.confirm,
        only=None if body.only is None else frozenset(body.only),
    )
    return web.background_run.start(request_home(request), web.open_shown, None if body.again else options)


@router.get("/runs/now", response_model_exclude=_UNSHOWN)
def get_current_run(request: Request) -> RunState:
    """Return the state of the current run, or of the last run that this page started."""
    return web_context(request).background_run.now


@router.delete("/runs/now", response_model_exclude=_UNSHOWN)
def stop_run(request: Request) -> RunState:
    """Ask the run to stop at its next step. Its results up to then are kept, and the next run continues from there."""
    return web_context(request).background_run.stop()


class UndoBody(Body):
    """The passes (``12``) or runs (``r3``) to undo or redo, separated by commas. Empty means the last run, or the last undo."""

    what: Annotated[str, StringConstraints(max_length=2_000, pattern=r"^(r?[0-9]{1,18}(,r?[0-9]{1,18})*)?$")] = ""


class UndoOut(BaseModel):
    """The result of an undo or redo."""

    passes: list[int] = Field(description="The passes switched.")
    memories: list[MemoryOut] = Field(description="The changed memories, as they are now, without those that are gone.")
    later: int = Field(description="How many later operations on the same memories still count.")
    said: str = Field(description="The present state of the memories, in words.")
    problems: list[str] = Field(description="Files that could not be written; the next run writes them.")


@router.post("/undo", response_model=UndoOut)
def undo_changes(request: Request, body: UndoBody) -> dict[str, Any]:
    """Undo passes or runs. An undo is a new pass, so nothing is removed from the log."""
    return _undo_response(request, body, undoing=True)


@router.post("/redo", response_model=UndoOut)
def redo_changes(request: Request, body: UndoBody) -> dict[str, Any]:
    """Redo undone passes or runs. By default, redo everything that the last undo undid."""
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


class SampleBody(Body):
    """True to show the sample, false to show the person's own memories."""

    on: StrictBool


class SampleOut(BaseModel):
    """True if the sample is shown, and the number of its memories."""

    on: bool
    memories: int = Field(description="The number of memories in the sample; 0 if it is not shown.")


@router.post("/sample", response_model=SampleOut)
def show_sample(request: Request, body: SampleBody) -> dict[str, Any]:
    """Show the bundled sample instead of the person's memories, or stop showing it. The sample has a home of its own."""
    web = web_context(request)
    if not body.on:
        web.sample_shown.clear()
        return {"on": False, "memories": 0}
    if web.open_sample is None:
        raise MissingError("there is no sample here", hint="run `kept run PATH` on your own transcripts")
    with web.change_lock, web.open_sample() as workspace:
        if not workspace.store.log.memory_ids():
            run_pipeline(workspace, sample_files(), RunOptions(model=False), sample=True)
        count = len(workspace.store.log.memory_ids())
    web.sample_shown.set()
    return {"on": True, "memories": count}
