"""Living with the real Claude Code and Codex, offline: told once, known in the next session, and gone without a trace.

Skipped where they are not installed: on PATH, or in the folder that ``KEPT_CLI`` names.
"""

import json

import pytest

from kept.core.fence import TAG
from kept.install.background_run import is_run_active
from kept.local.queue import take_queued_transcripts
from living import (
    FACTS,
    KEPT,
    as_sent,
    at_claude,
    at_codex,
    at_codex_terminal,
    client,
    kept,
    left_over,
    remember_much,
    scheduler,
    tree,
    trust_in_codex,
    with_codex,
)
from waiting import until

pytestmark = pytest.mark.needs_cli

RULE = "Never use pip in this repo, always use uv sync instead."
MINE = "# My rules\n\nBe brief.\n"


@pytest.fixture
def harbor(home):
    """A project, and instructions of the user's own for both agents."""
    place = home / "harbor"
    place.mkdir()
    for file in (".claude/CLAUDE.md", ".codex/AGENTS.md"):
        (home / file).parent.mkdir()
        (home / file).write_text(MINE, encoding="utf-8")
    return place


def night():
    """The night's job, every step of it done."""
    steps = json.loads(kept("schedule", "run", "--json"))["steps"]
    assert [each["name"] for each in steps if not each["done"]] == []


def leave(home, before, *, mine):
    """Uninstall: what a person added is kept aside and named, everything else is as before."""
    said = kept("uninstall", "--purge", "--yes", code=1)
    aside = home / ".local" / "share" / "kept" / "aside"
    assert "Saved, because you wrote in it" in said
    (kept_aside,) = [each for each in aside.iterdir() if mine in each.read_text(encoding="utf-8")]
    kept_aside.unlink()
    kept("uninstall", "--purge", "--yes")
    assert tree(home) == before


def lines_of(text):
    """The lines of a file of kept's that a client passes on: those that are no comment."""
    return [each for each in text.splitlines() if each.strip() and not each.startswith("<!--")]


def test_what_claude_code_is_told_in_one_session_the_next_one_knows_and_leaving_restores_the_home(
    server, home, harbor, tmp_path_factory, monkeypatch
):
    calls = scheduler(tmp_path_factory.mktemp("bin") / "bin", monkeypatch)
    before = tree(home)
    kept("setup", "--yes", "--no-sections")
    assert "enable --now kept-nightly.timer" in calls.read_text(encoding="utf-8")
    assert RULE not in at_claude(server, harbor, "Hello there.")
    assert RULE in at_claude(server, harbor, RULE)
    state = home / ".local" / "share" / "kept"
    named = {line.partition("\t")[2] for line in (state / "hooks" / "queue").read_text(encoding="utf-8").splitlines()}
    assert named == {str(each) for each in (home / ".claude" / "projects").rglob("*.jsonl")}
    remember_much()
    night()
    assert take_queued_transcripts(str(state)) == []
    memory = home / ".claude" / "rules" / "memory.md"
    text = memory.read_text(encoding="utf-8")
    assert len(text) > 11_000
    fact, prompt = left_over(text)
    asked = at_claude(server, harbor, prompt)
    assert [each for each in lines_of(text) if as_sent(each) not in asked] == []  # the rules file arrives whole
    assert f"<{TAG}>" in asked
    assert as_sent(fact) in asked.partition(f"<{TAG}>")[2]
    assert as_sent(RULE) in asked.partition(f"<{TAG}>")[2]  # a rule of this project, at its session's start
    night()
    told = json.loads(kept("list", "--all", "--json"))
    assert sum(RULE in each["content"] for each in told) == 1  # what was injected is not learnt again
    assert len(told) == len(FACTS) + 1
    memory.write_text(memory.read_text(encoding="utf-8") + "\nA line of my own.\n", encoding="utf-8")
    leave(home, before, mine="A line of my own.")


def test_what_codex_is_told_in_one_session_the_next_one_knows_and_leaving_restores_the_home(server, home, harbor):
    with_codex(home, server)
    trust_in_codex(harbor)
    before = tree(home)
    kept("setup", "--yes", "--no-schedule")
    at_codex_terminal(server, harbor, RULE)
    state = home / ".local" / "share" / "kept"
    assert "/.codex/sessions/" in (state / "hooks" / "queue").read_text(encoding="utf-8")
    remember_much()
    night()
    own = home / ".codex" / "AGENTS.md"
    text = own.read_text(encoding="utf-8")
    assert text.startswith(MINE)
    fact, prompt = left_over(text)
    asked = at_codex(server, harbor, prompt)
    assert [each for each in text.splitlines() if as_sent(each) not in asked] == []
    assert as_sent(fact) in asked.partition(f"<{TAG}>")[2]
    assert as_sent(RULE) in asked.partition(f"<{TAG}>")[2].partition(f"</{TAG}>")[0]
    night()
    assert len(json.loads(kept("list", "--all", "--json"))) == len(FACTS) + 1
    own.write_text(own.read_text(encoding="utf-8").replace("<!-- kept:end", "- A line of my own.\n<!-- kept:end"), encoding="utf-8")
    leave(home, before, mine="A line of my own.")


def test_with_extraction_at_the_sessions_end_the_next_session_knows_without_a_night_or_a_model(server, home, harbor):
    kept("setup", "--yes", "--no-schedule", "--no-sections")
    kept("config", "set", "at_session_end", "run")
    kept("config", "set", "llm.adapter", "command")
    kept("config", "set", "llm.command", client("claude"))
    asked_before = len(server.questions)
    at_claude(server, harbor, RULE)
    until(lambda: RULE in kept("list"))
    until(lambda: not is_run_active(str(home)))
    models = [each for each in server.questions[asked_before:] if "You" in json.dumps(each.get("system", ""))]
    assert not any("memories" in json.dumps(each.get("output_config", "")) for each in models)
    assert json.loads(kept("status", "--json"))["llm"]["ever"]["calls"] == 0  # model-free
    assert as_sent(RULE) in at_claude(server, harbor, "Hello there.")
    assert json.loads(kept("status", "--json"))["failures"] == []


def test_where_the_vault_remembers_nothing_at_all_runs_when_a_session_ends(server, home, harbor):
    kept("setup", "--yes", "--no-schedule", "--no-sections")
    kept("config", "set", "at_session_end", "run")
    kept("config", "set", "profile", "vault")
    at_claude(server, harbor, RULE)
    state = home / ".local" / "share" / "kept"
    assert not (state / "hooks" / "run.log").exists()  # no process was started
    assert not is_run_active(str(home))
    assert len((state / "hooks" / "queue").read_text(encoding="utf-8").splitlines()) >= 1  # the night has it
    assert json.loads(kept("list", "--all", "--json")) == []


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_no_hook_of_kepts_fires_in_its_own_questions_and_none_of_their_transcripts_is_read(server, home, harbor, monkeypatch, name):
    with_codex(home, server)
    kept("setup", "--yes", "--no-schedule", "--no-sections")
    at_codex_terminal(server, harbor, RULE)
    kept("config", "set", "llm.adapter", "command")
    provider = f'model_providers.loop={{name="loop",base_url="{server.url}/v1",wire_api="responses"}}'
    options = "" if name == "claude" else f" -c model_provider=loop -c '{provider}'"
    kept("config", "set", "llm.command", f"{client(name)}{options}")
    kept("config", "set", "llm.model", "claude-haiku-5-5" if name == "claude" else "gpt-6-luna")
    kept("config", "set", "llm.env", "ANTHROPIC_BASE_URL,ANTHROPIC_API_KEY,NO_PROXY")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    state, before = home / ".local" / "share" / "kept", len(server.questions)
    transcripts = set(home.rglob("*.jsonl"))
    assert json.loads(kept("run", "--json"))["llm_extraction"]["chunks"] == 1
    assert len(server.questions) > before
    assert take_queued_transcripts(str(state)) == []
    assert not (state / "hooks" / "log").exists()
    assert set(home.rglob("*.jsonl")) == transcripts
    assert json.loads(kept("run", "--json", "--no-llm"))["sessions"] == 0


def test_a_kept_that_is_gone_never_disturbs_a_session(server, home, harbor, monkeypatch):
    with_codex(home, server)
    kept("setup", "--yes", "--no-schedule")
    for place in (home / ".claude" / "settings.json", home / ".codex" / "hooks.json"):
        text = place.read_text(encoding="utf-8")
        assert str(KEPT) in text
        place.write_text(text.replace(str(KEPT), "/nowhere/bin/kept"), encoding="utf-8")
    at_claude(server, harbor, RULE)
    assert RULE in at_codex(server, harbor, RULE)
    assert take_queued_transcripts(str(home / ".local" / "share" / "kept")) == []
    assert "/nowhere/bin/kept, which is not there" in kept("doctor", code=1)
