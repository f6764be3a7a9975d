"""With the plugin alone: the first session begins to read, the end of a session is read, a missed night is made up for."""

import io
import json
import os
import time
from types import SimpleNamespace

import pytest

from hook_world import hook_process, payload
from kept.cli import hook as hooks
from kept.install import background_run
from kept.install.background_run import FIRST, is_run_active
from kept.local.files import hold_lock
from kept.paths import find_paths
from kept.workspace import open_workspace
from talking import RULE, say

DAYS = 86_400


@pytest.fixture
def started(monkeypatch):
    """What is started in the background, instead of starting it."""
    words = []
    monkeypatch.setattr(
        background_run, "_start_command", lambda root, given, **__: not is_run_active(root) and not words.append(given)
    )
    return words


@pytest.fixture
def hook(home, monkeypatch, capsys):
    """Calls a hook in this process and returns what it says."""

    def call(event, body, *options):
        hooks._load_settings.cache_clear()
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(body).encode())))
        assert hooks.answer_event([event, *options]) == 0
        return capsys.readouterr().out

    return call


@pytest.fixture
def state(home):
    """The folder of a kept that has run once."""
    paths = find_paths(str(home), {})
    with open_workspace(paths):
        pass
    return paths.state


def contents(home):
    with open_workspace(find_paths(str(home), {})) as workspace:
        return [each.content for each in workspace.store.log.memories()]


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_the_first_session_with_the_plugin_begins_a_run_and_says_so_in_one_line(home, hook, started, client):
    out = hook("session-start", payload("SessionStart"), "--plugin", "--client", client)
    context = json.loads(out)["hookSpecificOutput"]["additionalContext"]
    assert [line for line in context.splitlines() if FIRST in line] == [FIRST]
    assert started == [["run", "--quiet", "--no-llm"]]
    assert find_paths(str(home), {}).state.stat().st_mode & 0o777 == 0o700


def test_without_the_plugin_nothing_begins_by_itself(home, hook, started):
    assert hook("session-start", payload("SessionStart")) == ""
    assert started == []


def test_a_missed_night_begins_with_the_next_session_and_one_that_was_not_missed_does_not(home, state, hook, started):
    start = ("session-start", payload("SessionStart"), "--plugin")
    hook(*start)
    assert started == []
    night = state / "night.json"
    night.write_text("{}", encoding="utf-8")
    hook(*start)
    assert started == []
    os.utime(night, (time.time() - 3 * DAYS, time.time() - 3 * DAYS))
    hook(*start)
    assert started == [["schedule", "run"]]


def test_a_night_that_never_was_is_missed_a_day_after_the_first_session_whatever_is_touched(home, state, hook, started):
    start = ("session-start", payload("SessionStart"), "--plugin")
    hook(*start)
    since = state / "plugin.since"
    os.utime(since, (time.time() - 2 * DAYS, time.time() - 2 * DAYS))
    hook("user-prompt", payload("UserPromptSubmit", prompt="Hello."), "--plugin")
    hook(*start)
    assert started == [["schedule", "run"]]
    assert since.stat().st_mode & 0o777 == 0o600


def test_what_ended_while_another_run_was_under_way_is_read_when_the_next_session_begins(home, state, hook, started):
    path = say(home, "a", RULE)
    end, start = ("session-end", payload("SessionEnd", transcript_path=str(path))), ("session-start", payload("SessionStart"))
    with hold_lock(find_paths(str(home), {}).lock):
        hook(*end, "--plugin")
        hook(*start, "--plugin")
    assert started == []
    hook(*start, "--plugin")
    hook(*start, "--plugin")
    assert started == [["run", "--quiet", "--occasion", "session-end", "--", str(path)]]


def test_the_first_run_takes_the_time_it_needs(home, monkeypatch):
    limits = []
    monkeypatch.setattr(background_run.subprocess, "Popen", lambda *_, preexec_fn, **__: limits.append(preexec_fn))
    monkeypatch.setattr(background_run.os, "nice", lambda _: 0)
    monkeypatch.setattr(background_run.resource, "setrlimit", lambda *given: limits.append(given))
    assert background_run.start_missed_run(str(home)) == FIRST
    limits.pop()()
    assert limits == []


def test_the_end_of_a_session_is_read_unless_the_settings_say_that_it_waits(home, state, hook, started):
    say(home, "a", RULE)
    path = home / ".claude" / "projects" / "p" / "a.jsonl"
    end = payload("SessionEnd", transcript_path=str(path))
    hook("session-end", end)
    assert started == []
    hook("session-end", end, "--plugin")
    assert started == [["run", "--quiet", "--occasion", "session-end", "--", str(path)]]
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('at_session_end = "queue"\n', encoding="utf-8")
    hook("session-end", end, "--plugin")
    assert len(started) == 1


def test_what_one_session_said_is_known_after_the_first_run_that_the_next_one_began(home):
    say(home, "a", RULE)
    hook_process("session-start", payload("SessionStart"), "--plugin")
    assert any(RULE in each for each in contents(home))
