"""The plugin in the real Claude Code, Codex and Gemini CLI, offline: accepted, installed, called, and never twice.

Skipped where they are not installed: on PATH, or in the folder that ``KEPT_CLI`` names.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from kept.core.fence import TAG
from kept.install.background_run import is_run_active
from living import (
    KEPT,
    ROOT,
    as_sent,
    at_claude,
    at_codex,
    at_codex_terminal,
    claude_env,
    client,
    kept,
    left_over,
    remember_much,
    with_codex,
)
from talking import RULE
from waiting import until

pytestmark = pytest.mark.needs_cli

PROMPT = "What does this project do?"


@pytest.fixture
def harbor(home):
    """A project of which more is remembered than the memory file has room for: what is left over arrives by a hook or not at
    all.
    """
    place = home / "harbor"
    place.mkdir()
    remember_much()
    kept("run")  # notes where kept is
    return place


@pytest.fixture
def fact(home, harbor):
    """A fact that is left over, and a prompt about it."""
    return left_over((home / ".claude" / "rules" / "memory.md").read_text(encoding="utf-8"))


def say(*words, cwd=None, env=None):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def in_claude():
    """The plugin installed in Claude Code."""
    claude = client("claude")
    say(claude, "plugin", "marketplace", "add", str(ROOT))
    say(claude, "plugin", "install", "kept@kept")
    return claude


def in_codex():
    """The plugin installed in Codex."""
    codex = client("codex")
    say(codex, "plugin", "marketplace", "add", str(ROOT))
    say(codex, "plugin", "add", "kept@kept")


def asked_by_claude(server, claude, harbor, prompt, *options):
    """What the server is asked in a session that prints; a folder of its own, for its memory file is not to be read."""
    before = len(server.questions)
    say(claude, "-p", prompt, *options, cwd=harbor, env=claude_env(server))
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in server.questions[before:])


def poor(monkeypatch):
    """A PATH as an agent started from a desktop has it."""
    folders = [each for each in os.environ["PATH"].split(os.pathsep) if not (Path(each) / "kept").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))


def test_the_plugin_is_valid_and_nothing_about_it_is_worth_a_warning(home):
    claude = client("claude")
    for words in (("--strict", str(ROOT)), ("--strict", "--profile", "directory", str(ROOT / "plugins" / "kept"))):
        said = say(claude, "plugin", "validate", *words)
        assert "Validation passed" in said
        assert "⚠" not in said
        assert "✘" not in said


def test_claude_code_with_the_plugin_gets_what_is_near_to_a_prompt_once(server, home, harbor, fact, monkeypatch):
    poor(monkeypatch)
    claude = in_claude()
    asked = asked_by_claude(server, claude, harbor, fact[1])
    assert asked.partition(f"<{TAG}>")[2].count(as_sent(fact[0])) == 1
    queue = (home / ".local" / "share" / "kept" / "hooks" / "queue").read_text(encoding="utf-8")
    assert "/.claude/projects/" in queue
    kept("setup", "--yes", "--no-schedule")
    assert "hook user-prompt" not in (home / ".claude" / "settings.json").read_text(encoding="utf-8")


def test_claude_code_with_the_plugin_and_the_hooks_of_setup_is_told_once(server, home, harbor, fact):
    kept("setup", "--yes", "--no-schedule")
    asked = asked_by_claude(server, in_claude(), harbor, fact[1])
    assert asked.count(f"<{TAG}>") == 1
    assert "the plugin's hooks stay silent" in kept("doctor", "--json", code=0)


def test_the_commands_of_the_plugin_run_and_the_servers_tools_are_there(server, home, harbor, monkeypatch):
    poor(monkeypatch)
    claude = in_claude()
    asked = asked_by_claude(server, claude, harbor, "/kept")
    assert "216 memories · profile coding" in asked
    assert as_sent("Tell the user in a few lines what that says") in asked
    asked = asked_by_claude(server, claude, harbor, "/remember we deploy on Tuesdays")
    assert "The user wants this remembered: we deploy on Tuesdays" in asked
    for command in ("recall", "forget"):
        assert "InvoiceWriter" in asked_by_claude(server, claude, harbor, f"/{command} InvoiceWriter")


def test_a_session_with_the_plugin_but_without_kept_goes_on_as_if_it_were_not_there(server, home, monkeypatch):
    poor(monkeypatch)
    place = home / "harbor"
    place.mkdir()
    with_codex(home, server)
    in_codex()
    assert PROMPT in asked_by_claude(server, in_claude(), place, PROMPT)
    asked = at_codex(server, place, PROMPT)
    assert PROMPT in asked
    assert TAG not in asked


def test_codex_with_the_plugin_gets_what_is_near_to_a_prompt_once_and_finds_its_skills(server, home, harbor, fact, monkeypatch):
    poor(monkeypatch)
    with_codex(home, server)
    in_codex()
    asked = at_codex(server, harbor, fact[1])
    assert asked.partition(f"<{TAG}>")[2].count(as_sent(fact[0])) == 1
    assert "/.codex/sessions/" in (home / ".local" / "share" / "kept" / "hooks" / "queue").read_text(encoding="utf-8")
    assert "kept:memory: What earlier sessions with this user worked out" in asked
    kept("setup", "--yes", "--no-schedule", "--no-sections")
    assert not (home / ".codex" / "hooks.json").exists()


@pytest.fixture
def installed(monkeypatch):
    """A kept that the shell finds, and that never ran."""
    monkeypatch.setenv("PATH", os.pathsep.join((str(KEPT.parent), os.environ["PATH"])))


def learnt(home):
    """Wait until the rule is remembered and nothing is under way."""
    until((home / ".local" / "share" / "kept" / "kept.db").exists)
    until(lambda: not is_run_active(str(home)) and RULE in kept("list"))


def test_with_the_plugin_alone_claude_code_learns_in_one_session_what_the_next_one_knows(server, home, installed):
    place = home / "harbor"
    place.mkdir()
    in_claude()
    at_claude(server, place, RULE)
    learnt(home)
    assert as_sent(RULE) in at_claude(server, place, PROMPT).partition(f"<{TAG}>")[2]


def test_with_the_plugin_alone_codex_learns_in_one_session_what_the_next_one_knows(server, home, installed):
    place = home / "harbor"
    place.mkdir()
    with_codex(home, server)
    in_codex()
    at_codex_terminal(server, place, RULE)
    learnt(home)
    assert as_sent(RULE) in at_codex_terminal(server, place, PROMPT).partition(f"<{TAG}>")[2]


def test_leaving_takes_the_plugin_out_of_both_without_a_trace_in_their_settings(server, home, harbor):
    with_codex(home, server)
    before = (home / ".codex" / "config.toml").read_text(encoding="utf-8")
    in_codex()
    claude, codex = in_claude(), client("codex")
    said = kept("uninstall")
    assert "claude plugin uninstall kept@kept" in said
    assert "codex plugin remove kept@kept" in said
    say(claude, "plugin", "uninstall", "kept@kept")
    say(claude, "plugin", "marketplace", "remove", "kept")
    say(codex, "plugin", "remove", "kept@kept")
    say(codex, "plugin", "marketplace", "remove", "kept")
    assert "kept" not in (home / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert (home / ".codex" / "config.toml").read_text(encoding="utf-8").strip() == before.strip()


def test_gemini_accepts_the_extension(home):
    said = say(client("gemini"), "extensions", "validate", str(ROOT / "plugins" / "kept-gemini"), cwd=home)
    assert "successfully validated" in said
