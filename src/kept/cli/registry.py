"""The table of commands (name, location of the function, summary and examples), and the global options, which may be anywhere in a
call. Refuses calls by an agent that only a person may make.

Imports none of the functions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kept.core.errors import UsageError
from kept.core.value import dataclass
from kept.local.agents_shell import agent_variable

_EXAMPLES_FILE = Path(__file__).with_name("examples.txt")
_OPTIONS_FILE = Path(__file__).with_name("options.txt")


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``place`` is ``module:function``, relative to this package."""

    name: str
    place: str
    summary: str

    @property
    def examples(self) -> tuple[str, ...]:
        """Example calls of the command, from the lines ``name: call`` in ``examples.txt``."""
        rows = _EXAMPLES_FILE.read_text(encoding="utf-8").splitlines()
        return tuple(row.removeprefix(f"{self.name}: ") for row in rows if row.startswith(f"{self.name}: "))

    @property
    def options(self) -> dict[str, tuple[str, str]]:
        """How each parameter of the command's function is given, and what it means, by the parameter's name.

        From the lines ``parameter: --name VALUE 1..9  Meaning.`` of the command's part of ``options.txt``. What has no name in
        dashes is an argument. The bounds of a number, and the name of the value, may be absent.
        """
        part = f"\n{_OPTIONS_FILE.read_text(encoding='utf-8')}\n\n".partition(f"\n[{self.name}]\n")[2].partition("\n\n")[0]
        rows = (row.partition(": ") for row in part.splitlines())
        return {parameter: (declared, meaning) for parameter, _, row in rows for declared, _, meaning in [row.partition("  ")]}


GROUPS = {
    "Every day": (
        Command("run", "commands.run:run", "read what is new, remember what matters, write the memory file"),
        Command("status", "commands.status:status", "show what is stored, what is held for review, and warnings"),
        Command("review", "commands.review:review", "decide on proposals that are held for you, one key each"),
        Command("journal", "commands.journal:journal", "write journal entries from the sessions of a day and earlier memory"),
        Command("backfill", "commands.run:backfill", "read a large archive with several processes or a Dask cluster"),
        Command("sleep", "commands.run:sleep", "retire memories that their project no longer mentions"),
        Command("upgrade", "commands.run:upgrade", "extract again with the current rules, after a preview"),
    ),
    "Look": (
        Command("list", "commands.list:list_", "list memories, now or at a past date"),
        Command("show", "commands.show:show", "show one memory; with --turns also its conversation"),
        Command("why", "commands.show:why", "show where a memory comes from: whose words, when, and every change since"),
        Command("search", "commands.search:search", "find memories, summaries and archived turns"),
        Command("context", "commands.context:context", "show what a session would get now, and why"),
        Command("graph", "commands.graph:graph", "show the people, projects, files and tools that memories name"),
        Command("files", "commands.files:files", "list the files that kept writes; preview what the next run would change"),
        Command("day", "commands.journal:day", "show what was worked on, decided and left open on a day"),
    ),
    "Change": (
        Command("add", "commands.edit:add", "remember a sentence"),
        Command("suggest", "commands.edit:suggest", "pass on a sentence that the person typed (for agents)"),
        Command("edit", "commands.edit:edit", "change the words or the category of a memory"),
        Command("retire", "commands.edit:retire", "take a memory out of use; its history stays"),
        Command("merge", "commands.edit:merge", "merge several memories into one"),
        Command("resolve", "commands.edit:resolve", "answer an open question"),
        Command("pin", "commands.edit:pin", "always show a memory, and let no machine change it"),
        Command("forget", "commands.forget:forget", "erase a memory, a sentence, a session or a project for good, everywhere"),
    ),
    "Go back": (
        Command("log", "commands.history:log", "list what each run and change did, newest first"),
        Command("undo", "commands.history:undo", "take back the last run, or a pass or run of your choice"),
        Command("redo", "commands.history:redo", "bring back what was undone"),
        Command("diff", "commands.history:diff", "show what changed between two dates"),
    ),
    "Keep it safe": (
        Command("check", "commands.safety:check", "verify the store and name any damage"),
        Command("rebuild", "commands.safety:rebuild", "regenerate everything that is derived from the log"),
        Command("backup", "commands.safety:backup", "copy everything into one verified file"),
        Command("restore", "commands.safety:restore", "replace the store with a backup"),
        Command("migrate", "commands.safety:migrate", "move to a PostgreSQL server that several machines share, or back"),
        Command("export", "commands.safety:export", "export everything, as JSON lines, JSON, Markdown or an archive"),
        Command("import", "commands.safety:import_", "import an export, or the memories of another tool"),
        Command("audit", "commands.safety:audit", "find problems in a memory file or another tool's store"),
    ),
    "Set up": (
        Command("team", "commands.team:team", "list what a project's people share through the server; share, leave, accept"),
        Command("sync", "commands.team:sync", "exchange your memory between your machines through a folder"),
        Command("sources", "commands.sources:sources", "show which sources are read, which not and why; add or disable sources"),
        Command("prompt", "commands.prompt:prompt", "show or change the prompt with which a language model extracts memories"),
        Command("projects", "commands.projects:projects", "list projects and their directories; join two, or undo that"),
        Command("profiles", "commands.profiles:profiles", "list, show, copy and migrate profiles"),
        Command("llm", "commands.models:llm", "test language models with ten fixed questions; find the smallest good one"),
        Command("jobs", "commands.models:jobs", "let your own agent be the model: it answers questions in files"),
        Command("mcp", "serve:mcp", "serve memory as tools for any agent that speaks MCP"),
        Command("web", "serve:web", "see, edit, approve and undo in the browser"),
        Command("hook", "commands.context:hook", "called by a coding agent: reads its payload, prints context"),
        Command(
            "setup",
            "commands.setup:setup",
            "install hooks, sections in instruction files and the nightly job, showing each file first",
        ),
        Command("doctor", "commands.safety:doctor", "check the installation, and say how to fix each problem"),
        Command("uninstall", "commands.setup:uninstall", "remove every hook, file and section of kept"),
        Command("schedule", "commands.setup:schedule", "install, show and remove the nightly job"),
        Command("eval", "commands.evaluate:eval_", "score kept's own search and extraction on public sets"),
        Command("completion", "commands.completion:completion", "complete commands, options and settings in your shell"),
        Command("config", "commands.config:config", "show and change settings"),
    ),
}

COMMANDS = {command.name: command for group in GROUPS.values() for command in group}

GLOBAL_OPTIONS = (
    ("--home DIR", "put kept's state and all its output files below DIR (also KEPT_HOME)"),
    ("--profile NAME", "use this profile: it decides what is remembered, and how (see kept profiles)"),
    ("--tz ZONE", "use this time zone for days"),
    ("--quiet, -q", "print only requested output and errors"),
    ("--verbose, -v", "print more; on an error, print where it occurred"),
    ("--new-store", "start an empty store if the old one is gone, even though backups exist"),
    ("--version", "print the version"),
)


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
