"""Settings: every one by the name it has in the file, with what it is for; sources, rules, the night's job, the file."""

import os
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from kept import profiles
from kept.core.errors import ConfigError
from kept.install import schedule
from kept.intake.discovery import survey
from kept.memories import configure
from kept.memories.configure import Setting
from kept.paths import Paths
from kept.pipeline.nightly import last_night
from kept.web.navigation import Page
from kept.web.render import page, page_without_desk, part
from kept.web.room import at_desk, home_of
from kept.workspace import Workspace

router = APIRouter()
PAGE = Page(id="settings", title="Settings", path="/settings", key="s", router=router)


@router.get("/settings")
def settings(request: Request) -> Response:
    """The page; where the file is broken, the file alone with what is wrong with it."""
    home = home_of(request)
    try:
        found = configure.listed(home)
        with at_desk(request) as workspace:
            return page(
                request,
                workspace,
                "settings.html",
                here=PAGE.id,
                groups=_groups(found),
                **_around(workspace),
                **_file(home),
                **_row_values(home),
            )
    except ConfigError as error:
        problem = {"error": error.what, "where": error.where, "hint": error.hint}
        return page_without_desk(request, "settings_broken.html", here=PAGE.id, problem=problem, **_file(home))


@router.get("/settings/row/{name}")
def row(request: Request, name: Annotated[str, Path(max_length=100)]) -> Response:
    """One setting as the page shows it."""
    home = home_of(request)
    with at_desk(request) as workspace:
        return part(workspace, "settings_row.html", each=configure.describe_setting(home, name), **_row_values(home))


@router.get("/settings/sources")
def sources(request: Request) -> Response:
    """What is on this machine, tool by tool; it takes a look at every file, so the page asks for it when it is there."""
    with at_desk(request) as workspace:
        return part(
            workspace, "settings_sources.html", tools=[each for each in survey(workspace).tools if each.known or not each.enabled]
        )


@router.get("/settings/night")
def night(request: Request) -> Response:
    """How the night's job stands."""
    with at_desk(request) as workspace:
        return part(workspace, "settings_night.html", **_night(workspace.paths))


def _groups(found: tuple[Setting, ...]) -> list[tuple[str, str, list[Setting]]]:
    """The settings by group: its id, its title, what is in it."""
    by_title: dict[str, list[Setting]] = {}
    for each in found:
        by_title.setdefault(each.group, []).append(each)
    return [(number, title, by_title[title]) for number, title in configure.groups() if title in by_title]


def _row_values(home: Paths) -> dict[str, Any]:
    """What a row needs besides its setting."""
    known = sorted(profiles.names(home.config / "profiles"))
    return {"known_profiles": known, "plain": _value_text}


def _around(workspace: Workspace) -> dict[str, Any]:
    """What stands beside the settings: whether a model is set, what is written where, and the night's job."""
    return {"model": workspace.llm is not None, "outputs": tuple(workspace.store.outputs()), **_night(workspace.paths)}


def _night(home: Paths) -> dict[str, Any]:
    return {"entries": schedule.installed_entries(home, os.environ), "last": last_night(home), "trial_home": home.root != home.user}


def _file(home: Paths) -> dict[str, Any]:
    text, revision = configure.text(home)
    return {"file": str(home.settings), "text": text, "file_revision": revision}


def _value_text(value: Any) -> str:
    """A value as words."""
    match value:
        case bool():
            return "on" if value else "off"
        case list():
            return ", ".join(map(_value_text, value))
        case dict():
            return ", ".join(f"{left}: {_value_text(right)}" for left, right in value.items() if right)
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)
