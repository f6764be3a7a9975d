"""``kept config``: show, get and set settings."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any

import typer

from kept.cli.command_support import command_home, command_workspace
from kept.cli.commands.status import inactive_profile_lines
from kept.cli.console import Line, format_path, hanging_line, line, write_json, write_line, write_lines
from kept.core.codec import dump
from kept.core.errors import UsageError
from kept.memories import configure
from kept.memories.browse import load_status
from kept.memories.configure import Setting

AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
_ACTIONS = {"show": 0, "list": 0, "get": 1, "set": 2}


def config(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="show|list|get|set", help="What to do.")] = "show",
    name: Annotated[str, typer.Argument(metavar="NAME", help="The setting.")] = "",
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="Its new value; lists comma-separated; '' for the default.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> int:
    """Show, list, get and set settings. They are in one file that you can also edit by hand."""
    given = (name != "") + (value is not None)
    if action not in _ACTIONS or given != _ACTIONS[action]:
        raise UsageError("wrong arguments for `kept config`", hint="kept config [show] | list | get NAME | set NAME VALUE")
    home = command_home(context)
    if action == "list":
        settings = configure.describe_settings(home)
        write_json([dump(setting) for setting in settings]) if as_json else write_lines(_format_settings(settings))
        return 0
    if action == "show":
        values = configure.show_settings(home)
    else:
        values = {name: configure.load_setting(home, name) if value is None else configure.change_setting(home, name, value)}
    if as_json:
        write_json(values)
    elif action == "get":
        write_line(_format_value(values[name]))
    else:
        width = max(map(len, values))
        write_lines(
            hanging_line([(f"{setting:<{width}}  ", "cyan")], _format_value(current) or "–") for setting, current in values.items()
        )
        write_line((format_path(home.settings), "dim"))
        if name in {"profile", "profiles"} and value is not None and home.store.exists():
            with command_workspace(context) as workspace:
                write_lines(inactive_profile_lines(workspace, load_status(workspace)))
    return 0


def _format_settings(settings: Sequence[Setting]) -> Iterator[Line]:
    for group, inside in groupby(settings, key=lambda setting: setting.group):
        yield line((group, "bold"))
        for setting in inside:
            usual = "" if setting.value == setting.default else f"  (default: {_format_value(setting.default) or 'nothing'})"
            yield line((f"  {setting.name}", "cyan"), f" = {_format_value(setting.value) or '–'}", (usual, "dim"))
            choices = f" One of: {', '.join(setting.choices)}." if setting.choices else ""
            yield hanging_line([("    ", "")], f"{setting.title}. {setting.meaning} A {setting.kind}.{choices}")


def _format_value(value: Any) -> str:
    match value:
        case list():
            return ", ".join(map(_format_value, value))
        case dict():
            return ", ".join(f"{left} = {_format_value(right)}" for left, right in value.items())
        case _:
            return str(value)
