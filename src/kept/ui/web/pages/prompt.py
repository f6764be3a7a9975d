"""The extraction prompt of each profile: the person's own text in its place, the difference, and categories of one's own."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import escape
from starlette.responses import Response

from kept.app import prompting
from kept.app.desk import Desk
from kept.stages.elicit import weigh
from kept.ui.web.navigation import Page
from kept.ui.web.render import page
from kept.ui.web.room import at_desk

router = APIRouter()


def _mark(desk: Desk) -> str:
    """That a text of the person's own is in force, for everybody to see."""
    return "override" if any(desk.prompt(each).overridden for each in desk.profiles) else ""


PAGE = Page(id="prompt", title="Prompt", path="/prompt", key="p", router=router, mark=_mark)


@router.get("/prompt")
def prompt(request: Request, profile: Annotated[str, Query(max_length=80)] = "") -> Response:
    """The prompt of a profile at work, the default one's where none is named."""
    with at_desk(request) as desk:
        known = {each.id for each in desk.profiles}
        drafts = [prompting.look(desk.home, each.id) for each in desk.profiles]
        draft = next((each for each in drafts if each.profile.id == profile and profile in known), drafts[0])
        found = draft.prompt
        made = next(each for each in desk.profiles if each.id == draft.profile.id)
        values: dict[str, Any] = {
            "drafts": drafts, "draft": draft, "text": escape(draft.text), "diff": prompting.difference(draft),
            "system": found.system if found else "", "tokens": weigh(found.system) if found else 0,
            "declared": found.declared if found else (), "made": made, "asked": desk.asking is not None,
        }  # fmt: skip
        return page(request, desk, "prompt.html", here=PAGE.id, **values)
