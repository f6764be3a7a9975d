"""``kept config``: show, get and set settings, and try the language model."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from kept.cli.command_support import command_home, command_workspace, confirm, is_interactive
from kept.cli.commands.status import inactive_profile_lines
from kept.cli.console import Line, format_path, hanging_line, line, write_json, write_line, write_lines
from kept.cli.model_use import format_cost
from kept.cli.registry import GlobalOptions
from kept.core.codec import dump, json_fields
from kept.core.errors import UsageError
from kept.memories import configure
from kept.memories.browse import load_status
from kept.memories.configure import Setting

_ACTIONS = {"show": 0, "list": 0, "try": 0, "get": 1, "set": 2}


def config(
    call: GlobalOptions, action: str = "show", name: str = "", value: str | None = None, *, yes: bool = False, as_json: bool = False
) -> int:
    """Show, list, get and set settings. They are in one file that you can also edit by hand.

    `try` asks the configured language model one short question, which contains none of your memories; it may cost
    something.
    """
    given = (name != "") + (value is not None)
    if action not in _ACTIONS or given != _ACTIONS[action]:
        raise UsageError("wrong arguments for `kept config`", hint="kept config [show] | list | get NAME | set NAME VALUE | try")
    if action == "try":
        return _try_model(call, yes=yes, as_json=as_json)
    home = command_home(call)
    if action == "list":
        settings = configure.describe_settings(home)
        write_json([dump(setting) for setting in settings]) if as_json else write_lines(_format_settings(settings))
        return 0
    if action == "show":
        values = configure.show_settings(home)
    else:
        if value is not None:
            configure.change_setting(home, name, value)
        values = {name: configure.show_setting(home, name)}
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
            with command_workspace(call) as workspace:
                write_lines(inactive_profile_lines(workspace, load_status(workspace)))
    return 0


def _try_model(call: GlobalOptions, *, yes: bool, as_json: bool) -> int:
    """Show the question for the language model and where it would go. Send it if the person confirms."""
    from kept.pipeline.trial import plan_probe, run_probe  # noqa: PLC0415 - imports everything that extracts

    with command_workspace(call) as workspace:
        if not yes:
            if not is_interactive():
                raise UsageError("a trial sends a question to the language model, so it needs your consent", hint="add --yes")
            plan = plan_probe(workspace)
            write_lines([line(("To:    ", "cyan"), plan.where), line(("Model: ", "cyan"), plan.model)])
            write_lines(line("  ", item) for item in plan.words.splitlines())
            if not confirm((f"About {plan.tokens} tokens, {format_cost(plan.cost)}. Send it?", "bold")):
                raise UsageError("nothing was sent")
        result = run_probe(workspace)
    if as_json:
        write_json(json_fields(result, well="ok", told="answer", seconds="seconds", tokens="tokens", cost="cost"))
    else:
        text = f"It answered “{result.answer}”" if result.ok else f"It did not answer: {result.answer}"
        write_line(
            (text, "green" if result.ok else "red"),
            (f" ({result.seconds:.1f} s, {result.tokens} tokens, {format_cost(result.cost)})", "dim"),
        )
    return 0 if result.ok else 1


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
