"""The API for runs: start one, follow it, stop it; and make a backup."""

from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, BeforeValidator, Field, StrictBool, StringConstraints

from kept.core.codec import json_fields
from kept.core.errors import UsageError
from kept.core.pattern import Pattern
from kept.memories.backups import back_up_now
from kept.pipeline.run import RunOptions
from kept.web.api.models import Body, EmptyBody
from kept.web.context import locked_workspace, request_home, web_context

router = APIRouter(tags=["runs"])
_DAY = Pattern(r"\d{4}-\d\d-\d\d")


def _validate_day_text(value: object) -> object:
    """A date such as 2026-01-31, an empty text or None. Raises ValueError for anything else: a number would be read as seconds."""
    if value is None or (isinstance(value, str) and (not value or _DAY.fullmatch(value))):
        return value
    raise ValueError("must be a day as 2026-01-31")


Day = Annotated[date | Literal[""] | None, BeforeValidator(_validate_day_text)]


class RunBody(Body):
    """The options of a run; by default it reads all new transcripts of every source that is on."""

    dry: StrictBool = Field(default=False, description="Show what would change; change nothing.")
    model: StrictBool = Field(default=True, description="Ask the language model of the settings, where one is set.")
    force: StrictBool = Field(default=False, description="Read and analyse everything again.")
    since: Day = Field(default=None, description="Only sessions with events on this day or later.")
    until: Day = Field(default=None, description="Only sessions with events on this day or earlier.")
    only: list[Annotated[str, StringConstraints(max_length=4_000)]] | None = Field(
        default=None, max_length=10_000, description="Of the transcripts to be read only these, by path or by source; null: all."
    )
    again: StrictBool = Field(default=False, description="Go on as the run that was begun last; the other fields do not count.")
    allow: StrictBool = Field(default=False, description="Let through what a guard stopped.")
    confirm: StrictBool = Field(default=False, description="With `allow`: the person has read what would be lost, and wants it.")


class RunStateOut(BaseModel):
    """The state of the run that this page has started, or of the last one."""

    number: int = Field(description="How many runs this page has begun.")
    running: bool
    stage: str
    done: int
    total: int = Field(description="0 where it is not known.")
    dry: bool
    told: list[str]
    problem: str
    stopped: bool
    report: dict[str, Any] = Field(description="As `kept run --json` prints it; empty until the run is over.")


class BackupOut(BaseModel):
    """A new backup."""

    name: str


@router.post("/backup", status_code=201, response_model=BackupOut)
def back_up(request: Request, body: EmptyBody) -> dict[str, Any]:
    """Make a verified copy of the store, in addition to the automatic ones."""
    with locked_workspace(request) as workspace:
        return {"name": back_up_now(workspace).name}


@router.post("/runs", status_code=202, response_model=RunStateOut)
def begin_run(request: Request, body: RunBody) -> dict[str, Any]:
    """Start a run and answer at once; only one can run. A change that a guard stopped is made only with `allow` and `confirm`."""
    if body.allow and not body.confirm:
        raise UsageError(
            "what a guard stopped needs the person's confirmation", hint="read what would be lost, then send `confirm`"
        )
    if body.since and body.until and body.since > body.until:
        raise UsageError(f"{body.since} is after {body.until}", hint="give the earlier day as since")
    web = web_context(request)
    if web.sample_shown.is_set():
        raise UsageError("this is the bundled sample, which is run already", hint="leave the sample first")
    options = RunOptions(
        dry=body.dry,
        force=body.force,
        model=body.model,
        since=body.since or None,
        until=body.until or None,
        allow=body.allow and body.confirm,
        only=None if body.only is None else frozenset(body.only),
    )
    return json_fields(web.background_run.start(request_home(request), web.open_shown, None if body.again else options))


@router.get("/runs/now", response_model=RunStateOut)
def get_current_run(request: Request) -> dict[str, Any]:
    """The state of the run that was started here."""
    return json_fields(web_context(request).background_run.now)


@router.delete("/runs/now", response_model=RunStateOut)
def stop_run(request: Request) -> dict[str, Any]:
    """Ask the run to end at its next step. It keeps what it has done, and the next run continues from there."""
    return json_fields(web_context(request).background_run.stop())
