"""The extraction prompt of each profile: the person's own text in its place, the difference, and categories of one's own."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import escape
from starlette.responses import Response

from kept.core.errors import ConfigError
from kept.extraction import prompt_override
from kept.extraction.questions import estimate_tokens_high
from kept.local import settings
from kept.paths import Paths
from kept.profiles.prompts import with_declared_categories
from kept.web.render import render_bare_page, render_page
from kept.web.room import request_home, request_workspace
from kept.workspace import Workspace

router = APIRouter()


def override_mark(workspace: Workspace) -> str:
    """That a text of the person's own is in force, for everybody to see."""
    return "override" if any(workspace.extraction_prompt(profile).overridden for profile in workspace.profiles) else ""


_HERE = "settings"  # the page that the navigation marks


@router.get("/prompt")
def prompt_page(request: Request, profile: Annotated[str, Query(max_length=80)] = "") -> Response:
    """The prompt of a profile at work, the default one's where none is named. One that cannot be followed is shown all the same."""
    home = request_home(request)
    try:
        with request_workspace(request) as workspace:
            values = _prompt_values(home, [profile.id for profile in workspace.profiles], profile)
            return render_page(request, workspace, "prompt.html", here=_HERE, **values)
    except ConfigError:
        values = _prompt_values(home, prompt_override.active_profile_ids(home), profile)
        if not any(item.problem for item in values["drafts"]):
            raise  # it is something else that is wrong
        return render_bare_page(request, "prompt.html", here=_HERE, **values)


def _prompt_values(home: Paths, known: Sequence[str], profile: str) -> dict[str, Any]:
    drafts = [prompt_override.load_prompt_state(home, item) for item in known]
    draft = next(
        (prompt_draft for prompt_draft in drafts if prompt_draft.profile.id == profile),
        next((prompt_draft for prompt_draft in drafts if prompt_draft.problem), drafts[0]),
    )
    prompt = draft.prompt
    declared = prompt.declared if prompt else ()
    return {
        "drafts": drafts,
        "draft": draft,
        "text": escape(draft.text),
        "diff": prompt_override.difference(draft),
        "system": prompt.system if prompt else "",
        "tokens": estimate_tokens_high(prompt.system) if prompt else 0,
        "declared": declared,
        "made": with_declared_categories(draft.profile, declared),
        "asked": settings.load_settings(home.settings).llm.adapter != "none",
    }
