"""Write the reference pages of this documentation from the code: ``python docs/generate.py``. A test compares both."""

import asyncio
import contextlib
import inspect
import io
import json
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import kept
from kept.cli import main
from kept.cli.parsers import create_parser
from kept.cli.registry import GLOBAL_OPTIONS, GROUPS, STATES, Command
from kept.core import errors
from kept.mcp import create_server
from kept.memories.configure import describe_settings, setting_groups
from kept.paths import Paths
from kept.profiles.profile import Category, Outputs, Profile

FOLDER = Path(__file__).parent / "reference"
MADE = "<!-- Made by docs/generate.py from the code; change the code. -->"

Lines = Iterator[str]


def commands() -> Lines:
    """Every command with its options and examples."""
    yield from (
        "# Commands",
        "",
        "`kept help all` lists all commands. `kept COMMAND --help` prints the options and examples of one.",
        "",
    )
    yield from ("Every command has these options:", "", *_table(("option", "meaning"), GLOBAL_OPTIONS))
    yield from ("The states of a memory or a proposal, as used by commands, on the page and in JSON:", "")
    yield from _table(("word", "meaning"), STATES)
    for title, group in GROUPS.items():
        yield from (f"## {title}", "")
        for command in group:
            yield from _command(command)


def _command(command: Command) -> Lines:
    made = create_parser(command)
    yield from (f"### kept {command.name}", "", _sentences(made.help) or command.summary, "")
    yield from _parameters(made)
    for name, action in sorted(getattr(made, "commands", {}).items()):
        yield from (f"#### kept {command.name} {name}", "", _sentences(action.help), "")
        yield from _parameters(action)
    yield from ("```sh", *command.examples, "```", "")


def _parameters(made: Any) -> Lines:
    rows = []
    for parameter in made.params:
        hidden = getattr(parameter, "hidden", False) or parameter.name == "help"
        if parameter.param_type_name == "argument":
            name = (parameter.metavar or str(parameter.name).upper()) + ("…" if parameter.nargs == -1 else "")
            rows.append((name, getattr(parameter, "help", "") or ""))
        elif not hidden:
            names = ", ".join((*parameter.opts, *parameter.secondary_opts))
            value = "" if parameter.is_flag else " " + (parameter.metavar or "VALUE")
            rows.append((names + value, ("Required. " if parameter.required else "") + (parameter.help or "")))
    yield from _table(("argument or option", "meaning"), rows)


def settings() -> Lines:
    """Every setting with its kind, default and meaning."""
    yield from ("# Settings", "")
    yield from (
        "`kept config list` shows all settings with their values. `kept config set NAME VALUE` changes one. They are stored in",
        '`~/.config/kept/config.toml`. The page and agents cannot change settings marked "Terminal only".',
        "",
    )
    with tempfile.TemporaryDirectory() as folder:
        every = describe_settings(Paths(root=Path(folder), user=Path(folder)))
    for _, title in setting_groups():
        rows = [
            (
                each.name,
                _value(each.default),
                f"**{each.title}.** {each.meaning}" + _choices(each.choices) + (" Terminal only." if each.terminal_only else ""),
            )
            for each in every
            if each.group == title
        ]
        yield from (f"## {title}", "", *_table(("setting", "default", "meaning"), rows))


def _choices(choices: Sequence[str]) -> str:
    return f" One of {', '.join(choices)}." if choices else ""


def _value(value: object) -> str:
    match value:
        case "" | [] | () | {}:
            return "empty"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return ", ".join(map(str, value))
    return str(value)


def profiles() -> Lines:
    """Every key of a profile."""
    yield from ("# Profiles", "")
    yield from (
        "A profile decides what kept remembers, when, and which files it writes. It is a TOML file. `kept profiles list` shows",
        "the five that come with kept. `kept profiles new NAME --like coding` copies one. `kept profiles show NAME` names",
        "mistakes in one.",
        "",
    )
    for kind, title in ((Profile, "The profile"), (Outputs, "`[outputs]`"), (Category, "`[[categories]]`")):
        keys = ", ".join(f"`{each.name}`" for each in fields(kind))
        first, *rest = re.split(r"(?<=\.) (?=`)", _sentences(inspect.getdoc(kind)))
        yield from (f"## {title}", "", first, "", *(f"- {sentence}" for sentence in rest), "", f"Keys: {keys}.", "")


def mcp() -> Lines:
    """The tools and resources of the MCP server."""
    server = create_server(_no_workspace)
    yield from (
        "# MCP",
        "",
        "`kept mcp` serves these over stdio; `kept mcp --http` over HTTP on this machine. [How to connect](../agents.md).",
        "",
    )
    yield from ("The instructions that an agent gets:", "", *(f"> {line}" for line in (server.instructions or "").splitlines()), "")
    for tool in sorted(asyncio.run(server.list_tools()), key=lambda each: each.name):
        schema = tool.input_schema
        needed = schema.get("required", [])
        rows = [
            (name + ("" if name in needed else " (optional)"), each.get("description", ""))
            for name, each in schema.get("properties", {}).items()
        ]
        yield from (f"## {tool.name}", "", _sentences(tool.description), "", *_table(("argument", "meaning"), rows))
    rows = [(str(each.uri), each.description or "") for each in asyncio.run(server.list_resources())]
    rows += [(each.uri_template, each.description or "") for each in asyncio.run(server.list_resource_templates())]
    yield from ("## Resources", "", *_table(("address", "meaning"), rows))


def _no_workspace() -> Any:
    raise NotImplementedError


def python() -> Lines:
    """The classes of the Python interface."""
    yield from ("# Python", "", "`import kept`. [How to use it](../api.md). Every error is a `kept.core.errors.KeptError`.", "")
    for name in kept.__all__:
        found = getattr(kept, name)
        if not inspect.isclass(found):
            continue
        yield from (f"## kept.{name}", "", _sentences(inspect.getdoc(found)), "")
        if found is kept.AsyncMemory:  # its methods are those of kept.Memory
            continue
        for method, function in _methods(found):
            signature = str(inspect.signature(function)).replace("kept.api.", "")
            yield from (
                f"### {name}.{method}",
                "",
                "```python",
                f"{method}{signature}",
                "```",
                "",
                _sentences(inspect.getdoc(function)),
                "",
            )


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in inspect.getmembers(kind, predicate=lambda each: inspect.isfunction(each) or inspect.ismethod(each)):
        if not name.startswith("_"):
            yield name, value


def exit_codes() -> Lines:
    """The exit codes and the errors behind them."""
    yield from ("# Exit codes", "", "Every error is one line: what happened, where, and what to do next. No data is lost.", "")
    rows = [
        ("0", "done"),
        (
            "1",
            (
                "partly done: some input was not read, or some work is left for the next run; "
                "or `kept doctor` or `kept audit` found something"
            ),
        ),
        ("2", "nothing was done, or `kept check` found damage"),
        ("130", "stopped by Ctrl-C"),
    ]
    yield from _table(("code", "meaning"), rows)
    kinds = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.KeptError)]
    faults = [(each.__name__, str(each.exit_code), _sentences(inspect.getdoc(each)).partition(" Args:")[0]) for each in kinds]
    yield from ("In Python these are exceptions of `kept.core.errors`:", "", *_table(("error", "code", "meaning"), faults))


# What is called on the bundled sample, in this order; MEMORY, WORDS and DAY
# stand for the first memory's id, words and day.
JSON_CALLS = (
    "run --no-llm SAMPLE",
    "list",
    "why MEMORY",
    "search parquet",
    "context WORDS",
    "status",
    "review --all",
    "files",
    "graph",
    "day DAY",
    'add "Always use --frozen-lockfile in CI." --type constraint',
    "pin MEMORY",
    "log",
    "undo",
    "check",
    "sources",
    "projects",
    "profiles",
    "config list",
    "llm",
    "jobs",
    "journal",
    "forget MEMORY --yes",
)
_MEMORY = {"id", "content", "observations"}
_FLAT = 3  # names on the way to a value that is listed by itself


def json_forms() -> Lines:
    """What commands print with ``--json``, by what they print on the sample."""
    yield from (
        "# JSON forms",
        "",
        "This page lists the values that commands print with `--json`. It was made from the bundled sample, without embeddings.",
        "`[]` means each item of a list. A name may end with data, such as a category; yours may differ. If a value is null in",
        "the sample, it may be of any kind. Other commands that change memories print the same as `kept add` or `kept undo`.",
        "",
    )
    known = {"SAMPLE": str(Path(kept.__file__).parent / "sample" / "projects")}
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"HOME": folder, "TZ": "UTC", "PATH": "/bin"}, clear=True):
        _print_json(["config", "set", "recall.embeddings", "off"])
        for call in JSON_CALLS:
            printed = _print_json([known.get(word, word) for word in shlex.split(call)])
            if call == "list":
                known |= {"MEMORY": printed[0]["id"], "WORDS": printed[0]["content"], "DAY": printed[0]["first_seen"][:10]}
            rows: dict[str, str] = {}
            for name, kind in _flatten(printed, whole=call == "list"):
                rows[name] = rows.get(name, kind) if kind == "null" else kind
            yield from (
                f"## kept {call.split()[0]}",
                "",
                f"`kept {call} --json`",
                "",
                *_table(("value", "kind"), [*rows.items()]),
            )


def _print_json(words: list[str]) -> Any:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*words, "--json"])
    return json.loads(out.getvalue())


def _flatten(value: Any, name: str = "", *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """The names in a JSON value with the kind of what each holds, in order. A memory is told whole once."""
    deep = name.count(".") + name.count("[]") >= _FLAT
    if isinstance(value, list) and value and not deep:
        for item in value:
            yield from _flatten(item, f"{name}[]", whole=whole)
    elif isinstance(value, dict) and not whole and value.keys() >= _MEMORY:
        yield name or "the whole", "a memory, as of `kept list`"
    elif isinstance(value, dict) and value and not deep and not any(" " in key for key in value):  # those are words, no names
        for key, item in value.items():
            yield from _flatten(item, f"{name}.{key}".lstrip("."))
    else:
        yield name or "the whole", _KINDS[type(value)]


_KINDS = {bool: "true or false", int: "number", float: "number", str: "text", type(None): "null", list: "list", dict: "object"}


PAGES: dict[str, Callable[[], Lines]] = {
    "commands": commands,
    "settings": settings,
    "profiles": profiles,
    "mcp": mcp,
    "python": python,
    "exit-codes": exit_codes,
    "json": json_forms,
}


def page(name: str) -> str:
    """The text of a reference page."""
    return "\n".join((MADE, "", *PAGES[name]())).rstrip() + "\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Lines:
    if rows:
        yield from (_row(heads), _row(["---"] * len(heads)))
        yield from (_row([f"`{first}`", *rest]) for first, *rest in rows)
        yield ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def _sentences(text: str | None) -> str:
    marked = re.sub(r":\w+:`[~.]*([\w.]+)`", r"`\1`", (text or "").replace("``", "`"))
    return " ".join(marked.split())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        (FOLDER / f"{name}.md").write_text(page(name), encoding="utf-8")
