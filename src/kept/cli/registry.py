"""The table of commands: name, location of the function, summary and examples. It imports none of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``place`` is ``module:function``, relative to this package."""

    name: str
    place: str
    summary: str
    examples: tuple[str, ...]


GROUPS = {
    "Every day": (
        Command(
            "run",
            "commands.run:run",
            "read what is new, remember what matters, write the memory file",
            ("kept run", "kept run ~/backup/transcripts --dry-run", "kept run --since 2026-01-01 --json"),
        ),
        Command(
            "status",
            "commands.status:status",
            "show what is stored, what is held for review, and warnings",
            ("kept status", "kept status --json"),
        ),
        Command(
            "review",
            "commands.review:review",
            "decide on proposals that are held for you, one key each",
            (
                "kept review",
                "kept review --list --json",
                "kept review --stale",
                "kept review --approve 3fa2b1c0de --reject 77aa01b2c3",
                "kept review --admit 90b1c2d3e4f5",
            ),
        ),
        Command(
            "journal",
            "commands.journal:journal",
            "write journal entries from the sessions of a day and earlier memory",
            (
                "kept journal write",
                "kept journal write --date 2026-02-13 --template weekly",
                "kept journal backfill --from 2026-01-05 --to 2026-01-22",
                "kept journal stats",
            ),
        ),
        Command(
            "backfill",
            "commands.run:backfill",
            "read a large archive with several processes or a Dask cluster",
            ("kept backfill --from /archive/transcripts", "kept backfill --from /archive --scheduler tcp://host:8786"),
        ),
        Command("sleep", "commands.run:sleep", "run only the nightly consolidation", ("kept sleep", "kept sleep --json")),
        Command(
            "upgrade",
            "commands.run:upgrade",
            "extract again with the current rules, after a preview",
            ("kept upgrade", "kept upgrade --yes", "kept upgrade --json"),
        ),
    ),
    "Look": (
        Command(
            "list",
            "commands.list:list_",
            "list memories, now or at a past date",
            (
                "kept list",
                "kept list --project website --category decision",
                "kept list --by model",
                "kept list --at 2026-01-31 --json",
            ),
        ),
        Command(
            "show",
            "commands.show:show",
            "show one memory; with --turns also its conversation",
            ("kept show 3fa2b1c0de", "kept show 3fa2b1c0de --history", "kept show 3fa2 --turns", "kept show --session 7f3a"),
        ),
        Command(
            "why",
            "commands.show:why",
            "show where a memory comes from: whose words, when, and every change since",
            ("kept why 3fa2b1c0de", "kept why staging port", "kept why 3fa2 --context 5"),
        ),
        Command(
            "search",
            "commands.search:search",
            "find memories, summaries and archived turns",
            (
                "kept search release token",
                'kept search "what did we decide last Tuesday"',
                "kept search parseConfig --in turns --json",
            ),
        ),
        Command(
            "context",
            "commands.context:context",
            "show what a session would get now, and why",
            ("kept context", 'kept context "the deploy script fails again" --project .', "kept context --json --budget 800"),
        ),
        Command(
            "graph",
            "commands.graph:graph",
            "show the people, projects, files and tools that memories name",
            ("kept graph", "kept graph --project harbor", "kept graph --dot | dot -Tsvg > graph.svg"),
        ),
        Command(
            "files",
            "commands.files:files",
            "list the files that kept writes; preview what the next run would change",
            ("kept files", "kept files show .claude/rules/memory.md", "kept files preview"),
        ),
        Command(
            "day",
            "commands.journal:day",
            "show what was worked on, decided and left open on a day",
            ("kept day", "kept day 2026-02-13", "kept day yesterday --detailed", "kept day --week", "kept day 2026-02-13 --month"),
        ),
    ),
    "Change": (
        Command(
            "add",
            "commands.edit:add",
            "remember a sentence",
            (
                'kept add "Releases go out on Tuesdays only." --type constraint',
                'kept add "Freeze until the audit." --type decision --project . --until 2026-06-30',
            ),
        ),
        Command(
            "suggest",
            "commands.edit:suggest",
            "propose a memory; the person decides",
            ('kept suggest "The CI image pins Node 20." --type project_fact --project .',),
        ),
        Command(
            "edit",
            "commands.edit:edit",
            "change the words or the category of a memory",
            ('kept edit 3fa2b1c0de "Releases go out on Tuesdays and Thursdays."', "kept edit 3fa2b1c0de --type convention"),
        ),
        Command(
            "retire",
            "commands.edit:retire",
            "take a memory out of use; its history stays",
            ('kept retire 3fa2b1c0de --reason "we moved to Bazel"',),
        ),
        Command(
            "merge",
            "commands.edit:merge",
            "merge several memories into one",
            ('kept merge 3fa2b1c0de 77aa01b2c3 --text "Releases go out on Tuesdays, never on a holiday."',),
        ),
        Command(
            "resolve",
            "commands.edit:resolve",
            "answer an open question",
            ('kept resolve 3fa2b1c0de --as decision "The sync action uses a GitHub App\'s token."',),
        ),
        Command(
            "pin",
            "commands.edit:pin",
            "always show a memory, and let no machine change it",
            ("kept pin 3fa2b1c0de", "kept pin 3fa2b1c0de --off"),
        ),
        Command(
            "forget",
            "commands.forget:forget",
            "erase a memory, a sentence, a session or a project for good, everywhere",
            (
                "kept forget 3fa2b1c0de",
                'kept forget --words "The vault code is under the mat."',
                "kept forget --session 0b1c2d3e --yes",
            ),
        ),
    ),
    "Go back": (
        Command(
            "log",
            "commands.history:log",
            "list what each run and change did, newest first",
            ("kept log", "kept log --limit 5 --json", "kept log --cost"),
        ),
        Command(
            "undo",
            "commands.history:undo",
            "take back the last run, or a pass or run of your choice",
            ("kept undo", "kept undo 12        # pass 12", "kept undo r3        # all passes of run 3", "kept undo --model haiku"),
        ),
        Command("redo", "commands.history:redo", "bring back what was undone", ("kept redo", "kept redo r3")),
        Command(
            "diff",
            "commands.history:diff",
            "show what changed between two dates",
            ("kept diff 2026-01-01 2026-02-01", "kept diff yesterday today --recorded"),
        ),
    ),
    "Keep it safe": (
        Command("check", "commands.safety:check", "verify the store and name any damage", ("kept check",)),
        Command("rebuild", "commands.safety:rebuild", "regenerate everything that is derived from the log", ("kept rebuild",)),
        Command(
            "backup", "commands.safety:backup", "copy everything into one verified file", ("kept backup ~/kept-2026-02-01.db",)
        ),
        Command("restore", "commands.safety:restore", "replace the store by a backup", ("kept restore ~/kept-2026-02-01.db",)),
        Command(
            "migrate",
            "commands.safety:migrate",
            "move to a PostgreSQL server that several machines share, or back",
            (
                "kept migrate --to postgresql://anna@db.example/kept",
                "kept migrate --to sqlite",
                "kept migrate --prepare postgresql://admin@db.example/kept",
            ),
        ),
        Command(
            "export",
            "commands.safety:export",
            "export everything, as JSON lines, JSON, Markdown or an archive",
            (
                "kept export > memories.jsonl",
                "kept export --format md --output memories.md",
                "kept export --format archive --output kept.jsonl.gz",
            ),
        ),
        Command(
            "import",
            "commands.safety:import_",
            "import an export, or the memories of another tool",
            (
                "kept import memories.jsonl",
                "kept import kept.jsonl.gz --home ~/another-home",
                "kept import mem0.json",
                "kept import --from claude",
            ),
        ),
        Command(
            "audit",
            "commands.safety:audit",
            "find problems in a memory file or another tool's store",
            ("kept audit ~/.claude/CLAUDE.md", "kept audit mem0.json --json"),
        ),
    ),
    "Set up": (
        Command(
            "team",
            "commands.team:team",
            "list what a project's people share through the server; share, leave, accept",
            ("kept team", "kept team share website --with harbor", "kept team accept 3fa2b1c0de"),
        ),
        Command(
            "sync",
            "commands.team:sync",
            "exchange your memory between your machines through a folder",
            ("kept config set sync.folder ~/Sync/kept", "kept sync --show-key", "kept sync --key KEY"),
        ),
        Command(
            "sources",
            "commands.sources:sources",
            "show what is read, what is not and why; add or disable sources",
            (
                "kept sources",
                "kept sources --verbose",
                "kept sources disable cursor",
                "kept sources exclude '~/work/secret'",
                "kept sources --session 7f3a",
            ),
        ),
        Command(
            "prompt",
            "commands.prompt:prompt",
            "show or change the prompt with which a language model extracts memories",
            (
                "kept prompt",
                "kept prompt show --whole",
                "kept prompt edit",
                "kept prompt diff",
                "kept prompt reset",
            ),
        ),
        Command(
            "projects",
            "commands.projects:projects",
            "list projects and their directories; join two, or undo that",
            ("kept projects", "kept projects join ~/old/harbor ~/code/harbor", "kept projects undo"),
        ),
        Command(
            "profiles",
            "commands.profiles:profiles",
            "list, show, copy and migrate profiles",
            (
                "kept profiles",
                "kept profiles show vault",
                "kept profiles new mine --like coding",
                "kept profiles migrate coding vault",
            ),
        ),
        Command(
            "llm",
            "commands.models:llm",
            "test language models with ten fixed questions; find the smallest good one",
            ("kept llm trial", "kept llm trial --model haiku --model sonnet", "kept llm trial --json"),
        ),
        Command(
            "jobs",
            "commands.models:jobs",
            "let your own agent be the model: it answers questions in files",
            ("kept jobs prepare", "kept jobs list", "kept jobs show 3f2a9c1b0d", "kept jobs commit"),
        ),
        Command(
            "mcp",
            "serve:mcp",
            "serve memory as tools for any agent that speaks MCP",
            ("claude mcp add --scope user kept -- kept mcp", "kept mcp --http --port 8321"),
        ),
        Command("web", "serve:web", "see, edit, approve and undo in the browser", ("kept web", "kept web --port 8765 --no-open")),
        Command(
            "hook",
            "commands.context:hook",
            "called by a coding agent: reads its payload, prints context",
            ("kept hook user-prompt < payload.json",),
        ),
        Command(
            "setup",
            "commands.setup:setup",
            "install hooks, sections in instruction files and the nightly job, showing each file first",
            ("kept setup", "kept setup --show", "kept setup --yes --at 02:30"),
        ),
        Command("doctor", "commands.safety:doctor", "check the installation, and say how to fix each problem", ("kept doctor",)),
        Command(
            "uninstall",
            "commands.setup:uninstall",
            "remove every hook, file and section of kept's",
            ("kept uninstall", "kept uninstall --purge"),
        ),
        Command(
            "schedule",
            "commands.setup:schedule",
            "install, show and remove the nightly job",
            (
                "kept schedule install --at 02:30",
                "kept schedule install --at 02:30 --tz Europe/Berlin",
                "kept schedule status",
                "kept schedule uninstall",
            ),
        ),
        Command(
            "eval",
            "commands.evaluate:eval_",
            "score kept's own search and extraction on public sets",
            (
                "kept eval retrieval --corpus corpus.jsonl --queries queries.jsonl --out run.jsonl",
                "kept eval extraction --corpus corpus.jsonl --gold facts.jsonl",
                "kept eval extraction --gold annotations --corpus transcripts --json",
            ),
        ),
        Command(
            "completion",
            "commands.completion:completion",
            "complete commands, options and settings in your shell",
            ('eval "$(kept completion bash)"', "kept completion fish > ~/.config/fish/completions/kept.fish"),
        ),
        Command(
            "config",
            "commands.config:config",
            "show and change settings",
            (
                "kept config",
                "kept config get timezone",
                "kept config set timezone Europe/Berlin",
                "kept config set llm.adapter command",
                "kept config set llm.command claude",
                "kept config try",
                'kept config set exclude "*/secret-project/*"',
            ),
        ),
    ),
}

COMMANDS = {command.name: command for group in GROUPS.values() for command in group}

GLOBAL_OPTIONS = (
    ("--home DIR", "kept's own state and every file it writes are below DIR (also KEPT_HOME)"),
    ("--profile NAME", "the profile to use: what is remembered, and how (see kept profiles)"),
    ("--tz ZONE", "the time zone that decides which day something belongs to"),
    ("--quiet, -q", "print only requested output and errors"),
    ("--verbose, -v", "print more; on an error, print where it occurred"),
    ("--new-store", "start an empty store if the old one is gone, even though backups exist"),
    ("--version", "print the version, and do nothing else"),
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
"""Groups of related commands: the help of each names the others of its groups."""
