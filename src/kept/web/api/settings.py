"""Settings over the API: read, set, add to, take out of; the file as text; sources on and off; the night's job.

What names programs, servers or paths, or says whom to trust, is shown and never changed here: the page's key opens the memory,
not the machine.
"""

import os
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field, StrictBool, StrictFloat, StrictInt
from starlette.responses import Response

from kept.core.codec import dump
from kept.core.errors import ConfigError, MissingError
from kept.install import schedule as scheduling
from kept.memories import configure
from kept.memories.configure import Setting
from kept.sources.registry import SOURCES
from kept.web.api.forms import Body, IfMatch, revision_of
from kept.web.room import home_of, room_of

router = APIRouter(tags=["settings"])

Named = Annotated[str, Path(pattern=r"^[a-z_]{1,40}(\.[a-z_]{1,40})?$", description="A setting, as `kept config` names it.")]
Number = Annotated[int, Path(ge=0, le=10_000, description="Its place, from 0.")]
Line = Annotated[str, Field(max_length=2_000)]


class SettingOut(BaseModel):
    """A setting, as `kept config list --json` tells it."""

    name: str
    group: str
    meaning: str
    kind: str
    default: Any
    value: Any
    choices: list[str]
    given: bool = Field(description="Whether the file says it.")
    terminal_only: bool = Field(
        description="It names a program, a server or a path, or says whom to trust: shown here, changed on the terminal only (403)."
    )
    revision: str = Field(description="Changes with the value; give it back as If-Match.")


class SettingsOut(BaseModel):
    """Every setting, in groups, and where the file is."""

    path: str
    settings: list[SettingOut]


class Value(Body):
    """A value of the setting's kind; null or an empty text is the default again. Lists may come as text, an item a line."""

    value: StrictBool | StrictInt | StrictFloat | Annotated[str, Field(max_length=20_000)] | list[Line] | None


class Item(Body):
    """A rule (`use`): what is empty is left out. Lists may come as text, an item a line."""

    profile: Line = ""
    sources: list[Line] | Line = ""
    projects: list[Line] | Line = ""


class FileOut(BaseModel):
    """The settings file as it is."""

    path: str
    text: str
    revision: str


class FileIn(Body):
    """The settings file as it shall be."""

    text: Annotated[str, Field(max_length=1_000_000)]


class Switch(Body):
    """On or off."""

    on: StrictBool


class StandingOut(BaseModel):
    """An entry with the system's scheduler."""

    kind: str
    places: list[str]
    enabled: bool
    detail: str = ""


class ScheduleOut(BaseModel):
    """The entries of the night's job."""

    entries: list[StandingOut]


@router.get("/settings", response_model=SettingsOut)
def list_settings(request: Request) -> dict[str, Any]:
    """Every setting with its meaning, kind, default and value."""
    home = home_of(request)
    return {"path": str(home.settings), "settings": [_setting_body(each) for each in configure.listed(home)]}


@router.get("/settings/{name}", response_model=SettingOut)
def one_setting(request: Request, answer: Response, name: Named) -> dict[str, Any]:
    """One setting; its revision is the ETag."""
    return _setting_response(request, answer, name)


@router.put("/settings/{name}", response_model=SettingOut)
def set_setting(request: Request, answer: Response, name: Named, body: Value, if_match: IfMatch = None) -> dict[str, Any]:
    """Set it. The file's comments and order are kept. What is `terminal_only` is refused (403)."""
    home, seen = home_of(request), revision_of(if_match)
    with room_of(request).writing:
        configure.change_setting(
            home, name, _setting_text(body.value, as_list=_require_setting(name) == "list"), if_match=seen, remote=True
        )
    return _setting_response(request, answer, name)


@router.post("/settings/{name}/items", status_code=201, response_model=SettingOut)
def add_item(request: Request, answer: Response, name: Named, body: Item, if_match: IfMatch = None) -> dict[str, Any]:
    """Add a rule after those that stand there. External sources (`feed`) are `terminal_only` (403)."""
    _require_setting(name)
    item = {"profile": body.profile, "sources": _split_lines(body.sources), "projects": _split_lines(body.projects)}
    with room_of(request).writing:
        configure.append(home_of(request), name, item, if_match=revision_of(if_match), remote=True)
    return _setting_response(request, answer, name)


@router.delete("/settings/{name}/items/{number}", response_model=SettingOut)
def drop_item(request: Request, answer: Response, name: Named, number: Number, if_match: IfMatch = None) -> dict[str, Any]:
    """Take a rule out. External sources (`feed`) are `terminal_only` (403)."""
    _require_setting(name)
    with room_of(request).writing:
        configure.drop(home_of(request), name, number, if_match=revision_of(if_match), remote=True)
    return _setting_response(request, answer, name)


@router.get("/settings-file", response_model=FileOut)
def settings_file(request: Request, answer: Response) -> dict[str, Any]:
    """The file as text; its revision is the ETag. Also where it is broken."""
    home = home_of(request)
    text, revision = configure.text(home)
    answer.headers["etag"] = f'"{revision}"'
    return {"path": str(home.settings), "text": text, "revision": revision}


@router.put("/settings-file", response_model=FileOut)
def write_settings_file(request: Request, answer: Response, body: FileIn, if_match: IfMatch = None) -> dict[str, Any]:
    """Write the file anew, where what it says is settings. What is `terminal_only` must be in it as it is (403)."""
    with room_of(request).writing:
        configure.rewrite(home_of(request), body.text, if_match=revision_of(if_match), remote=True)
    return settings_file(request, answer)


@router.put("/sources/{name}", response_model=SettingOut)
def switch_source(request: Request, answer: Response, name: Named, body: Switch) -> dict[str, Any]:
    """Read a source, or read it no more; what was read of it stays."""
    if name not in {each.name for each in SOURCES}:
        raise MissingError(f"there is no source {name!r}", hint="see `kept sources`")
    home = home_of(request)
    with room_of(request).writing:
        if body.on == (name in configure.setting(home, "sources_off")):
            configure.include(home, "sources_off", name, there=not body.on, remote=True)
    return _setting_response(request, answer, "sources_off")


@router.get("/schedule", response_model=ScheduleOut)
def schedule(request: Request) -> dict[str, Any]:
    """The entries of the night's job with the system's schedulers. They name a program: only the terminal changes them."""
    return {"entries": [dump(each) for each in scheduling.installed_entries(home_of(request), os.environ)]}


def _require_setting(name: str) -> str:
    """The kind of a setting. Raises MissingError."""
    try:
        return configure.kind(name)
    except ConfigError as error:
        raise MissingError(f"there is no setting {name!r}", hint="see `kept config list`") from error


def _setting_response(request: Request, answer: Response, name: str) -> dict[str, Any]:
    _require_setting(name)
    found = configure.describe_setting(home_of(request), name)
    answer.headers["etag"] = f'"{found.revision}"'
    return _setting_body(found)


def _setting_body(found: Setting) -> dict[str, Any]:
    return {each: getattr(found, each) for each in SettingOut.model_fields} | {"choices": list(found.choices)}


def _setting_text(value: Any, *, as_list: bool) -> str | list[str]:
    """A value as the settings take it: words, or a list of words."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list():
            return value
        case str():
            return _split_lines(value) if as_list else value
        case _:
            return str(value)


def _split_lines(value: str | list[str]) -> list[str]:
    lines = value.splitlines() if isinstance(value, str) else value
    return [each.strip() for each in lines if each.strip()]
