"""The API for the bundled sample: show it, and leave it."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StrictBool

from kept.core.errors import MissingError
from kept.pipeline.run import RunOptions, run_pipeline, sample_files
from kept.web.api.models import Body
from kept.web.context import web_context

router = APIRouter(tags=["sample"])


class SampleBody(Body):
    """Whether to show the sample instead of the person's own memories."""

    on: StrictBool


class SampleOut(BaseModel):
    """Whether the sample is shown, and the number of its memories."""

    on: bool
    memories: int = Field(description="How many memories the sample has; 0 where it is not shown.")


@router.post("/sample", response_model=SampleOut)
def show_sample(request: Request, body: SampleBody) -> dict[str, Any]:
    """Show the bundled sample, which has its own home, instead of the person's memories; or leave it."""
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
