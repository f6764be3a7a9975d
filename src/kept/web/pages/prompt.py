"""The extraction prompt of each profile: the person's own text in its place, the difference, and categories of one's own."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import escape
from starlette.responses import Response

from kept.core.errors import ConfigError
from kept.extraction import prompt_override
from kept.extraction.questions import weigh
from kept.local import settings
from kept.paths import Paths
from kept.profiles.prompts import overlaid
from kept.web.navigation import Page
from kept.web.render import page, page_without_desk
from kept.web.room import at_desk, home_of
from kept.workspace import Workspace

router = APIRouter()


def _override_mark(workspace: Workspace) -> str:
    """That a text of the person's own is in force, for everybody to see."""
    return "override" if any(workspace.prompt(each).overridden for each in workspace.profiles) else ""


PAGE = Page(id="prompt", title="Extraction prompt", path="/prompt", key="p", router=router, mark=_override_mark)


@router.get("/prompt")
def prompt_page(request: Request, profile: Annotated[str, Query(max_length=80)] = "") -> Response:
    """The prompt of a profile at work, the default one's where none is named. One that cannot be followed is shown all the same."""
    home = home_of(request)
    try:
        with at_desk(request) as workspace:
            values = _prompt_values(home, [each.id for each in workspace.profiles], profile)
            return page(request, workspace, "prompt.html", here=PAGE.id, **values)
    except ConfigError:
        values = _prompt_values(home, prompt_override.at_work(home), profile)
        if not any(each.problem for each in values["drafts"]):
            raise  # it is something else that is wrong
        return page_without_desk(request, "prompt.html", here=PAGE.id, **values)


def _prompt_values(home: Paths, known: Sequence[str], profile: str) -> dict[str, Any]:
    drafts = [prompt_override.look(home, each) for each in known]
    draft = next(
        (each for each in drafts if each.profile.id == profile), next((each for each in drafts if each.problem), drafts[0])
    )
    found = draft.prompt
    declared = found.declared if found else ()
    return {
        "drafts": drafts,
        "draft": draft,
        "text": escape(draft.text),
        "diff": prompt_override.difference(draft),
        "system": found.system if found else "",
        "tokens": weigh(found.system) if found else 0,
        "declared": declared,
        "made": overlaid(draft.profile, declared),
        "asked": settings.load_settings(home.settings).llm.adapter != "none",
    }
