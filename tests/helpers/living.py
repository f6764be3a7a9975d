"""Use the real Claude Code or Codex like a person, offline, in the test's own home; and list the files in it that belong to the
person.
"""

import fcntl
import json
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from itertools import cycle, product
from pathlib import Path

import pytest

from kept.changes import apply_person_change
from kept.memories.person import create_memory
from kept.paths import find_paths
from kept.workspace import open_workspace
from trusting import PLUGIN, trust_hooks

KEPT = Path(sys.executable).with_name("kept")
ROOT = Path(__file__).parents[2]
# The clients' own files: state, caches, logs and transcripts.
THEIRS = (
    ".claude.json",
    ".claude/backups",
    ".claude/cache",
    ".claude/debug",
    ".claude/history.jsonl",
    ".claude/plugins",
    ".claude/projects",
    ".claude/session-env",
    ".claude/sessions",
    ".claude/shell-snapshots",
    ".claude/statsig",
    ".claude/telemetry",
    ".claude/todos",
    ".claude/daemon",
    ".claude/jobs",
    ".claude/tasks",
    ".claude/file-history",
    ".claude/paste-cache",
    ".claude/plans",
    ".codex/sessions",
    ".codex/session_index.jsonl",
    ".codex/tui-thread-reference-capabilities",
    ".codex/log",
    ".codex/skills",
    ".codex/shell_snapshots",
    ".codex/installation_id",
    ".codex/history.jsonl",
    ".codex/plugins",
    ".codex/thread-writer-locks",
    ".codex/.tmp",
    ".codex/tmp",
    ".codex/memories",
    ".codex/models_cache.json",
    ".cache",
    ".npm",
    ".config/mimeapps.list",
    ".local/share/applications",
    ".codex/.sandbox_migration",
)


NAMES = ["".join(each).capitalize() for each in product(("bor", "kel", "mun", "tas", "vir", "zul"), repeat=3)]
FACTS = [f"The {name} exporter writes its invoices with `{name}Writer` in src/{name.lower()}/writer.py." for name in NAMES]


def client(name):
    """The path of the real program; skips the test if it is not installed."""
    found = shutil.which(name, path=os.environ.get("KEPT_CLI")) or shutil.which(name)
    if found is None or not KEPT.exists():
        pytest.skip(f"{name} or the installed kept is not here")
    return found


def kept(*words, code=0):
    """Run kept, which must exit with ``code``; returns what it prints."""
    done = subprocess.run([KEPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def claude_env(server):
    """The environment with which Claude Code connects only to the server on this machine."""
    return {
        **os.environ,
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_AUTH_TOKEN": "none",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "TERM": "xterm-256color",
    }


def at_claude(server, project, words):
    """Start Claude Code in a terminal, type, wait for the answer and quit. Returns the questions to the server as text."""
    settings = Path(os.environ["HOME"]) / ".claude.json"
    body = (
        json.loads(settings.read_text(encoding="utf-8")) if settings.exists() else {}
    )  # `claude plugin` writes settings with which Claude Code asks for trust first
    if str(project) not in body.get("projects", {}):
        trust = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        body |= {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "9.9.9",
            "theme": "dark",
            "projects": {str(project): trust},
        }
        settings.write_text(json.dumps(body), encoding="utf-8")
    return _at_terminal(server, project, (client("claude"), words), claude_env(server), b"/exit")


def at_codex_terminal(server, project, words):
    """Start Codex in a terminal, type, wait for the answer and quit. Returns the questions to the server as text."""
    trust_in_codex(project)
    settings = Path(os.environ["HOME"]) / ".codex" / "config.toml"
    before = settings.read_bytes()
    command = (client("codex"), "--dangerously-bypass-hook-trust", words)  # without this, Codex leaves its own server running
    try:
        return _at_terminal(server, project, command, {**os.environ, "TERM": "xterm-256color"}, b"/quit")
    finally:
        settings.write_bytes(before)  # Codex records there what it has shown


def trust_in_codex(project):
    """Mark a project as trusted, so that Codex does not ask about it."""
    settings = Path(os.environ["HOME"]) / ".codex" / "config.toml"
    trust = f'[projects."{project}"]\ntrust_level = "trusted"\n'
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text if trust in text else f"{text}\n{trust}", encoding="utf-8")


def trust_kept_in_codex(folder):
    """Mark kept's hooks as trusted, both those of its setup and those of its plugin."""
    if (hooks := folder / "hooks.json").exists():
        trust_hooks(folder, hooks)
    for hooks in (folder / "plugins" / "cache").glob("kept/kept/*/hooks/codex.json"):
        trust_hooks(folder, hooks, PLUGIN)


def _at_terminal(server, project, command, env, leave):
    before = len(server.questions)
    number, terminal = pty.fork()
    if number == 0:  # pragma: no cover - the other process
        os.chdir(project)
        os.execve(command[0], command, env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    _leave_when_answered(terminal, lambda: len(server.questions) > before, leave)
    assert os.waitpid(number, 0)[1] == 0
    os.close(terminal)
    assert len(server.questions) > before
    return _text(server.questions[before:])


# The queries that a program sends to its terminal before it draws, and the answers of a plain terminal.
ASKED_OF_TERMINAL = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?1;2c", b"\x1b[?u": b"\x1b[?0u"}


def _leave_when_answered(terminal, asked, leave):
    """Read the screen until it shows the answer, then type the command that ends the program until it ends."""
    screen, keys, due = b"", cycle((leave, b"\r")), 0.0
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            piece = os.read(terminal, 65_536) if ready else b" "
        except OSError:
            return
        if not piece:
            return
        screen += piece
        for question, answer in ASKED_OF_TERMINAL.items():
            if question in piece:
                os.write(terminal, answer)
        if asked() and b"likes" in screen and time.monotonic() > due:
            if due:
                with suppress(OSError):  # the program may just have ended
                    os.write(terminal, next(keys))
            due = time.monotonic() + 1.0


def at_codex(server, project, words):
    """Run one turn of Codex with trusted hooks. Returns the questions to the server as text."""
    before = len(server.questions)
    settings = Path(os.environ["HOME"]) / ".codex" / "config.toml"
    own = settings.read_bytes()
    trust_kept_in_codex(settings.parent)
    command = [client("codex"), "exec", "--skip-git-repo-check", words]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    settings.write_bytes(own)
    assert done.returncode == 0, done.stderr
    return _text(server.questions[before:])


def with_codex(home, server):
    """Write Codex's settings, which name the server on this machine."""
    place = home / ".codex"
    place.mkdir(exist_ok=True)
    (place / "config.toml").write_text(
        f'model_provider = "x"\nmodel = "none"\n[features]\nhooks = true\n'
        f'[model_providers.x]\nname = "x"\nbase_url = "{server.url}/v1"\nwire_api = "responses"\n',
        encoding="utf-8",
    )


def _text(questions):
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in questions)


def as_sent(text):
    """A text as it is encoded in a request."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def tree(home):
    """The bytes of every file below a home, without the clients' own files."""
    found = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        theirs = any(name == each or name.startswith((f"{each}/", f"{each}.")) for each in THEIRS)
        if path.is_file() and not theirs and ".sqlite" not in name:
            found[name] = path.read_bytes()
    return found


def scheduler(folder, monkeypatch):
    """Install a fake systemctl that always succeeds, so that no test changes the real one. Returns the file with its calls."""
    folder.mkdir()
    noted = folder / "calls"
    program = folder / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {noted}\necho ok\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return noted


def remember_much():
    """Add more facts of the user's scope than fit into the memory file."""
    with open_workspace(find_paths(None, os.environ)) as workspace:
        apply_person_change(workspace, lambda: [create_memory(workspace, each, "project_fact", scope="user") for each in FACTS])


def left_over(text):
    """A fact that did not fit into the memory file, and a prompt about it."""
    fact = next(each for each in FACTS if each not in text)
    name = fact.split()[1]
    return fact, f"Does the {name} exporter use {name}Writer in src/{name.lower()}/writer.py?"
