"""``kept config``: settings."""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any

import typer

from kept.app import configuring
from kept.app.configuring import Setting
from kept.app.desk import find_home
from kept.model.codec import dump
from kept.model.errors import UsageError
from kept.ui.cli import show
from kept.ui.cli.front import asked
from kept.ui.cli.show import Line, entry, line

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
) -> None:
    """Settings: show all, list what each is for, get one, set one. They stand in one file that you can also edit by hand."""
    given = (name != "") + (value is not None)
    if action not in _ACTIONS or given != _ACTIONS[action]:
        raise UsageError("that is no call of config", hint="kept config [show] | list | get NAME | set NAME VALUE")
    home = find_home(asked(context).home, os.environ)
    if action == "list":
        found = configuring.listed(home)
        show.write_json([dump(each) for each in found]) if as_json else show.write(_listed(found))
        return
    if action == "show":
        values = configuring.shown(home)
    else:
        values = {name: configuring.setting(home, name) if value is None else configuring.change(home, name, value)}
    if as_json:
        show.write_json(values)
    elif action == "get":
        show.write([line(_plain(values[name]))])
    else:
        width = max(map(len, values))
        show.write(entry([(f"{each:<{width}}  ", "cyan")], _plain(found) or "–") for each, found in values.items())
        show.write([line((show.place(home.settings), "dim"))])


def _listed(found: Sequence[Setting]) -> Iterator[Line]:
    for group, inside in groupby(found, key=lambda each: each.group):
        yield line((group, "bold"))
        for each in inside:
            usual = "" if each.value == each.default else f"  (usually {_plain(each.default) or 'nothing'})"
            yield line((f"  {each.name}", "cyan"), f" = {_plain(each.value) or '–'}", (usual, "dim"))
            choices = f" One of: {', '.join(each.choices)}." if each.choices else ""
            yield entry([("    ", "")], f"{each.meaning} A {each.kind}.{choices}")


def _plain(value: Any) -> str:
    match value:
        case list():
            return ", ".join(map(_plain, value))
        case dict():
            return ", ".join(f"{left} = {_plain(right)}" for left, right in value.items())
        case _:
            return str(value)
