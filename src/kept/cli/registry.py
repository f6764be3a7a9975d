"""The table of commands, and the global options, which may be anywhere in a call. Refuses calls by an agent that only a person may
make.

The table is ``commands.txt``: for each group of commands, each one's name, then the location of its function and a summary, a line
for each parameter of the function, and examples; then the options of every command, and the states of a memory. Imports none of
the functions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kept.core.errors import UsageError
from kept.core.value import dataclass
from kept.local.agents_shell import agent_variable


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``place`` is ``module:function``, relative to this package. ``rows`` are its other lines of the table."""

    name: str
    place: str
    summary: str
    rows: tuple[str, ...]

    @property
    def examples(self) -> tuple[str, ...]:
        """Example calls of the command: the lines ``$ call``."""
        return tuple(row[2:] for row in self.rows if row.startswith("$ "))

    @property
    def options(self) -> dict[str, tuple[str, str]]:
        """How each parameter of the command's function is given, and what it means, by the parameter's name.

        These are the lines ``parameter: --name VALUE 1..9  Meaning.`` What has no name in dashes is an argument. The bounds of a
        number, and the name of the value, may be absent.
        """
        rows = (row.partition(": ") for row in self.rows if not row.startswith("$ "))
        return {parameter: (declared, meaning) for parameter, _, row in rows for declared, _, meaning in [row.partition("  ")]}


def _load_tables() -> tuple[dict[str, list[Command]], dict[str, list[tuple[str, str]]]]:
    """The commands by the title of their group, and the other tables of the help as pairs of a name and its meaning."""
    groups: dict[str, list[Command]] = {}
    tables: dict[str, list[tuple[str, str]]] = {}
    for block in Path(__file__).with_name("commands.txt").read_text(encoding="utf-8").split("\n\n"):
        first, *rows = block.splitlines()
        if first.startswith("# ") and rows:
            tables[first[2:]] = [(name, meaning) for name, _, meaning in (row.partition("  ") for row in rows)]
        elif first.startswith("# "):
            group = groups.setdefault(first[2:], [])
        else:
            place, _, summary = rows[0].partition("  ")
            group.append(Command(first.strip("[]"), place, summary, tuple(rows[1:])))
    return groups, tables


GROUPS, TABLES = _load_tables()
GLOBAL_OPTIONS, STATES = TABLES.values()
COMMANDS = {command.name: command for group in GROUPS.values() for command in group}


EVERYDAY = ("run", "status", "review", "list", "search", "why", "add", "edit", "undo", "log", "day", "web")

TOGETHER = (
    ("show", "why"),
    ("log", "diff", "undo", "redo"),
    ("check", "rebuild", "doctor"),
    ("backup", "restore", "migrate", "export", "import", "audit"),
    ("setup", "schedule", "uninstall", "doctor"),
    ("edit", "retire", "merge", "pin", "forget"),
)
"""Groups of related commands. The help of each command names the others of its groups."""


_VALUES = {"--home": "home", "--profile": "profile", "--tz": "zone"}
_EXAMPLES = {"--home": "/tmp/trial", "--profile": "coding", "--tz": "Europe/Berlin"}  # noqa: S108 - an example, never opened
_SWITCHES = {
    "--quiet": "quiet",
    "-q": "quiet",
    "--verbose": "verbose",
    "-v": "verbose",
    "--new-store": "new_store",
    "--version": "version",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class GlobalOptions:
    """The global options of a call; None or False if not given."""

    home: str | None = None
    profile: str | None = None
    zone: str | None = None
    quiet: bool = False
    verbose: bool = False
    new_store: bool = False
    version: bool = False


def split_global_options(arguments: Sequence[str]) -> tuple[GlobalOptions, list[str]]:
    """Separate the global options from the other arguments. Arguments after ``--`` stay as they are. Raises UsageError."""
    chosen: dict[str, str | bool] = {}
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *waiting]
            break
        if word in _SWITCHES:
            chosen[_SWITCHES[word]] = True
        elif name in _VALUES:
            if not equals and waiting:
                value = waiting.pop(0)
            # An empty value is probably an unset shell variable. Falling back to the person's own home would do harm.
            if not value:
                raise UsageError(f"{name} needs a value", hint=f"write {name} {_EXAMPLES[name]}")
            chosen[_VALUES[name]] = value
        else:
            rest.append(word)
    return GlobalOptions(**chosen), rest  # type: ignore[arg-type]  # the tables above pair each option with a field of its type


# Commands by which a person decides. For some, every call is a decision; for others, only a call with one of these words.
_DECIDE_ALWAYS = frozenset(
    ("edit", "merge", "resolve", "retire", "forget", "pin", "undo", "redo", "import", "restore", "migrate", "web")
)
_DECIDE_BY_WORD: Mapping[str, frozenset[str]] = {
    "review": frozenset({"--approve", "--admit", "--reject", "--past"}),
    "run": frozenset({"--accept-loss"}),
    "config": frozenset({"set"}),
    "profiles": frozenset({"new", "migrate"}),
    "prompt": frozenset({"edit", "reset"}),
    "sources": frozenset({"add", "remove", "enable", "disable", "exclude", "include", "--author"}),
    "sleep": frozenset({"--accept-loss"}),
    "uninstall": frozenset({"--purge"}),
    "projects": frozenset({"join", "undo"}),
    "team": frozenset({"share", "leave"}),
    "sync": frozenset({"--key", "--show-key"}),
}


def refuse_agents(name: str, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
    """Raise UsageError if an agent's shell makes a call that only a person may make."""
    words = {argument.partition("=")[0] for argument in arguments}
    decides = name in _DECIDE_ALWAYS or not words.isdisjoint(_DECIDE_BY_WORD.get(name, ()))
    sign = agent_variable(variables) if decides and list(arguments) not in (["--help"], ["-h"]) else ""
    if sign:
        raise UsageError(
            f"an agent runs this ({sign} is set), but only the person may run `kept {name}`",
            hint="nothing was changed; run it in your own terminal",
        )
