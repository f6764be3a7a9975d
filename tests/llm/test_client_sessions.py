"""Sessions that today's clients write, read back: what was typed, called, failed and answered is found, no record is unknown.

Each client runs once against the server on this machine; it is skipped where it is not installed. `docs/formats.md` lists the
versions that passed.
"""

import json
import os
import subprocess

import pytest

from kept.core.event import EventKind
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import open_workspace
from living import claude_env, client, with_codex

pytestmark = pytest.mark.needs_cli

TYPED = "From now on always run the linter before you commit."
COMMAND = "ls /nowhere-at-all"
MODEL = {"id": "none", "name": "none", "input": ["text"], "contextWindow": 100_000, "maxTokens": 1_000}


def write(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body), encoding="utf-8")


def claude(server, home, project):
    server.act = {"name": "Bash", "input": {"command": COMMAND, "description": "List"}}
    return ("claude", "-p", TYPED, "--allowedTools", "Bash"), claude_env(server)


def codex(server, home, project):
    with_codex(home, server)
    server.act = {"name": "exec_command", "arguments": json.dumps({"cmd": COMMAND})}
    return ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", TYPED), {}


def gemini(server, home, project):
    security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
    settings = {"security": security, "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}}
    write(home / ".gemini" / "settings.json", settings)
    server.act = {"name": "run_shell_command", "input": {"command": COMMAND}}
    return ("gemini", "-y", "-p", TYPED), {"GOOGLE_GEMINI_BASE_URL": server.url, "GEMINI_API_KEY": "none"}


def pi(server, home, project):
    loop = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "none", "models": [MODEL]}
    write(home / ".pi" / "agent" / "models.json", {"providers": {"loop": loop}})
    server.act = {"name": "bash", "input": {"command": COMMAND}}
    return ("pi", "--provider", "loop", "--model", "none", "-p", TYPED), {}


def opencode(server, home, project):
    options = {"baseURL": f"{server.url}/v1", "apiKey": "none"}
    loop = {"npm": "@ai-sdk/anthropic", "name": "loop", "options": options, "models": {"none": {"name": "none"}}}
    settings = {"autoupdate": False, "share": "disabled", "small_model": "loop/none", "provider": {"loop": loop}}
    write(home / "opencode.json", settings)
    server.act = {"name": "bash", "input": {"command": COMMAND, "description": "List"}}
    env = {"OPENCODE_CONFIG": str(home / "opencode.json"), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return ("opencode", "run", "--model", "loop/none", TYPED), env


@pytest.mark.parametrize("prepare", [claude, codex, gemini, pi, opencode], ids=lambda each: each.__name__)
def test_all_of_a_session_that_a_client_of_today_writes_is_read_and_no_record_is_unknown(server, home, prepare):
    project = home / "harbor"
    project.mkdir()
    (name, *options), env = prepare(server, home, project)
    done = subprocess.run(
        [client(name), *options],
        cwd=project,
        env={**os.environ, "TERM": "xterm-256color", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with open_workspace(find_paths(None, os.environ)) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
        events = [
            each
            for thread in workspace.store.archive.threads()
            for each in workspace.store.archive.events(thread.id, 0, thread.events)
        ]
    texts = {kind: "\n".join(each.text for each in events if each.kind is kind) for kind in EventKind}
    assert texts[EventKind.PROMPT].count(TYPED) == 1
    assert COMMAND in texts[EventKind.TOOL_CALL]
    assert "No such file" in texts[EventKind.TOOL_OUTPUT]
    (result,) = (each.tool for each in events if each.kind is EventKind.TOOL_OUTPUT)
    assert result.ok is False or result.exit_code
    assert server.words in texts[EventKind.RESPONSE]
    assert report.reading.account.unknown == 0, report.reading.account
