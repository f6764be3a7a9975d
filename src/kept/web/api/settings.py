"""The API for settings: read and change them, add and delete rules, edit the file as text, switch sources on and off.

Settings that name programs, servers or paths, or that say whom to trust, are shown but cannot be changed here, because the page's
key must give access to the memories only, not to the machine. A model can be chosen only among those that kept itself found on this
machine.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field, StrictBool, StrictFloat, StrictInt
from starlette.responses import Response

from kept.core.errors import ConfigError, MissingError
from kept.llm.available import find_models
from kept.memories import configure
from kept.memories.configure import Setting
from kept.pipeline.trial import try_models
from kept.sources.registry import SOURCES
from kept.web.api.models import Body, EmptyBody, IfMatch
from kept.web.context import request_home, request_workspace, web_context

router = APIRouter(tags=["settings"])

Named = Annotated[str, Path(pattern=r"^[a-z_]{1,40}(\.[a-z_]{1,40})?$", description="A setting, as `kept config` names it.")]
Number = Annotated[int, Path(ge=0, le=10_000, description="Its place, from 0.")]
Line = Annotated[str, Field(max_length=2_000)]


class SettingsOut(BaseModel):
    """All settings by group, and the path of the settings file."""

    path: str
    settings: list[Setting]


class ValueBody(Body):
    """The new value of a setting. Null or an empty text restores the default. A list can be sent as text with one item per line."""

    value: StrictBool | StrictInt | StrictFloat | Annotated[str, Field(max_length=20_000)] | list[Line] | None


class ItemBody(Body):
    """A rule (`use`). Empty fields are omitted. A list can be sent as text with one item per line."""

    profile: Line = ""
    sources: list[Line] | Line = ""
    projects: list[Line] | Line = ""


class FileOut(BaseModel):
    """The text of the settings file."""

    path: str
    text: str
    revision: str


class FileBody(Body):
    """The new text of the settings file."""

    text: Annotated[str, Field(max_length=1_000_000)]


class SwitchBody(Body):
    """True to switch the source on, false to switch it off."""

    on: StrictBool


class ModelBody(Body):
    """The title of a model that was found on this machine. Empty means no model."""

    title: Line


class ModelOut(BaseModel):
    """The model that runs use, and the result of its trial if the request made one."""

    adapter: str
    model: str
    trial: str = ""


@router.get("/settings", response_model=SettingsOut)
def list_settings(request: Request) -> dict[str, Any]:
    """Return all settings with their meaning, kind, default and value."""
    home = request_home(request)
    return {"path": str(home.settings), "settings": configure.describe_settings(home)}


@router.get("/settings/{name}")
def get_setting(request: Request, answer: Response, name: Named) -> Setting:
    """Return a setting. The ETag is its revision."""
    return _setting_response(request, answer, name)


@router.put("/settings/{name}")
def set_setting(request: Request, answer: Response, name: Named, body: ValueBody, if_match: IfMatch = "") -> Setting:
    """Change a setting. Comments and order of the file are preserved. A setting that is `terminal_only` cannot be changed (403)."""
    with web_context(request).change_lock:
        configure.change_setting(
            request_home(request),
            name,
            _setting_text(body.value, as_list=_require_setting(name) == "list"),
            if_match=if_match,
            remote=True,
        )
    return _setting_response(request, answer, name)


@router.post("/settings/{name}/items", status_code=201)
def add_item(request: Request, answer: Response, name: Named, body: ItemBody, if_match: IfMatch = "") -> Setting:
    """Add a rule after the existing ones. External sources (`feed`) are `terminal_only` and cannot be added (403)."""
    _require_setting(name)
    item = {"profile": body.profile, "sources": _split_lines(body.sources), "projects": _split_lines(body.projects)}
    with web_context(request).change_lock:
        configure.save_table_item(request_home(request), name, item, if_match=if_match, remote=True)
    return _setting_response(request, answer, name)


@router.delete("/settings/{name}/items/{number}")
def delete_item(request: Request, answer: Response, name: Named, number: Number, if_match: IfMatch = "") -> Setting:
    """Delete a rule. External sources (`feed`) are `terminal_only` and cannot be deleted (403)."""
    _require_setting(name)
    with web_context(request).change_lock:
        configure.remove_table_item(request_home(request), name, number, if_match=if_match, remote=True)
    return _setting_response(request, answer, name)


@router.get("/settings-file", response_model=FileOut)
def get_settings_file(request: Request, answer: Response) -> dict[str, Any]:
    """Return the text of the settings file, even if it is invalid. The ETag is its revision."""
    home = request_home(request)
    text, revision = configure.load_settings_text(home)
    answer.headers["etag"] = f'"{revision}"'
    return {"path": str(home.settings), "text": text, "revision": revision}


@router.put("/settings-file", response_model=FileOut)
def write_settings_file(request: Request, answer: Response, body: FileBody, if_match: IfMatch = "") -> dict[str, Any]:
    """Replace the settings file if the new text is valid.

    A text that changes a setting that is `terminal_only` is refused (403).
    """
    with web_context(request).change_lock:
        configure.rewrite_settings(request_home(request), body.text, if_match=if_match, remote=True)
    return get_settings_file(request, answer)


@router.put("/sources/{name}")
def switch_source(request: Request, answer: Response, name: Named, body: SwitchBody) -> Setting:
    """Switch a source on or off. What was already read from it stays."""
    if name not in {source.name for source in SOURCES}:
        raise MissingError(f"there is no source {name!r}", hint="see `kept sources`")
    home = request_home(request)
    with web_context(request).change_lock:
        if body.on == (name in configure.load_setting(home, "sources_off")):
            configure.include_item(home, "sources_off", name, included=not body.on, remote=True)
    return _setting_response(request, answer, "sources_off")


@router.put("/model", response_model=ModelOut)
def choose_model(request: Request, body: ModelBody) -> dict[str, Any]:
    """Choose one of the models that were found on this machine, or none. Any other model can be set only in a terminal."""
    with request_workspace(request) as workspace:
        chosen = {item.title: item.settings for item in find_models(workspace.env)} | {"": {"llm.adapter": "none"}}
    if body.title not in chosen:
        raise MissingError(f"{body.title!r} is not available", hint="kept llm lists the available models")
    home = request_home(request)
    with web_context(request).change_lock:
        for name in ("llm.adapter", "llm.command", "llm.base_url", "llm.model"):
            configure.change_setting(home, name, chosen[body.title].get(name, ""))
    with request_workspace(request) as workspace:
        return {"adapter": workspace.settings.llm.adapter, "model": workspace.settings.llm.model}


@router.post("/model/trial", response_model=ModelOut)
def try_model(request: Request, body: EmptyBody) -> dict[str, Any]:
    """Ask the chosen model the ten questions of kept's trial. They contain nothing of the person's."""
    with request_workspace(request) as workspace:
        llm = workspace.settings.llm
        (score,) = try_models(workspace, (llm.model,))
        return {"adapter": llm.adapter, "model": llm.model, "trial": f"{score.verdict}: {score.text}"}


def _require_setting(name: str) -> str:
    """Return the kind of a setting. Raises MissingError if there is no such setting."""
    try:
        return configure.setting_kind(name)
    except ConfigError as error:
        raise MissingError(f"there is no setting {name!r}", hint="see `kept config list`") from error


def _setting_response(request: Request, answer: Response, name: str) -> Setting:
    _require_setting(name)
    setting = configure.describe_setting(request_home(request), name)
    answer.headers["etag"] = f'"{setting.revision}"'
    return setting


def _setting_text(value: Any, *, as_list: bool) -> str | list[str]:
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
    return [line.strip() for line in lines if line.strip()]
