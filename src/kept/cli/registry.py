"""The table of commands: name, location of the function, summary and examples. It imports none of the functions."""

from dataclasses import dataclass
from pathlib import Path

_EXAMPLES = Path(__file__).with_name("examples.txt")


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``place`` is ``module:function``, relative to this package."""

    name: str
    place: str
    summary: str

    @property
    def examples(self) -> tuple[str, ...]:
        """Example calls of the command, from the lines ``name: call`` in ``examples.txt``."""
        rows = _EXAMPLES.read_text(encoding="utf-8").splitlines()
        return tuple(row.removeprefix(f"{self.name}: ") for row in rows if row.startswith(f"{self.name}: "))


GROUPS = {
    "Every day": (
        Command("run", "commands.run:run", "read what is new, remember what matters, write the memory file"),
        Command("status", "commands.status:status", "show what is stored, what is held for review, and warnings"),
        Command("review", "commands.review:review", "decide on proposals that are held for you, one key each"),
        Command("journal", "commands.journal:journal", "write journal entries from the sessions of a day and earlier memory"),
        Command("backfill", "commands.run:backfill", "read a large archive with several processes or a Dask cluster"),
        Command("sleep", "commands.run:sleep", "run only the nightly consolidation"),
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
        Command("suggest", "commands.edit:suggest", "propose a memory; the person decides"),
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
        Command("restore", "commands.safety:restore", "replace the store by a backup"),
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
        Command("uninstall", "commands.setup:uninstall", "remove every hook, file and section of kept's"),
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
