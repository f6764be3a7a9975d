"""The real Claude Code and Codex, offline: what the hooks give reaches the model, and is never learnt from the transcript they
leave.

Skipped where they are not installed: on PATH, or in the folder that ``KEPT_CLI`` names (``npm install`` them anywhere).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from failed_session import FAILURE, failed_before
from kept.core.fence import NOTICE, TAG
from kept.local.clients import with_hooks
from trusting import trust_hooks

pytestmark = pytest.mark.needs_cli

FACT = "The export of invoices is written by `InvoiceWriter`."
PREFERENCE = "Explain the options and ask before changing anything."
PROMPT = "Where does InvoiceWriter write the invoices of the export?"
EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
KEPT = Path(sys.executable).with_name("kept")


def client(name):
    found = shutil.which(name, path=os.environ.get("KEPT_CLI")) or shutil.which(name)
    if found is None or not KEPT.exists():
        pytest.skip(f"{name} or the installed kept is not here")
    return found


def kept(*arguments):
    return subprocess.run([KEPT, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def harbor(home):
    """A project with a fact, and a preference; the memory file is not there, so that only hooks can tell."""
    place = home / "harbor"
    place.mkdir()
    kept("add", FACT, "--type", "project_fact", "--project", str(place))
    kept("add", PREFERENCE, "--type", "preference")
    (home / ".claude" / "rules" / "memory.md").unlink()
    return place


def hooks(*options):
    """The hooks of a client's settings, pointing at the installed kept."""
    command = {event: " ".join([str(KEPT), "hook", name, *options]) for event, name in EVENTS.items()}
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": each, "timeout": 30}]}] for event, each in command.items()}}


def run(server, harbor, *command, **env):
    done = subprocess.run(
        command,
        cwd=harbor,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    return [json.dumps(body, ensure_ascii=False) for body in server.questions]


def learnt_nothing(home):
    """A run over the transcript that the session left learns nothing of what was injected."""
    before = kept("list", "--all", "--json")
    report = json.loads(kept("run", "--json"))
    assert report["sessions"] == 1
    assert report["accepted"] == 0
    assert kept("list", "--all", "--json") == before
    assert json.loads(kept("search", "Remembered by kept", "--in", "turns", "--json"))["hits"] == []
    assert not (home / ".local" / "share" / "kept" / "hooks" / "log").exists()


def test_what_the_hooks_give_claude_code_is_in_its_request(server, home, harbor):
    claude = client("claude")
    (home / ".claude" / "settings.json").write_text(json.dumps(hooks("--client", "none")), encoding="utf-8")
    asked = run(
        server,
        harbor,
        claude,
        "-p",
        PROMPT,
        ANTHROPIC_BASE_URL=server.url,
        ANTHROPIC_API_KEY="none",
        CLAUDE_CODE_MAX_RETRIES="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        CLAUDE_CONFIG_DIR=str(home / ".claude"),
    )
    text = "\n".join(asked)
    assert f"<{TAG}>\\n{NOTICE}" in text
    assert FACT in text
    assert PREFERENCE in text
    learnt_nothing(home)


def test_what_the_hooks_give_codex_is_in_its_request(server, home, harbor):
    codex = client("codex")
    place = home / ".codex"
    place.mkdir()
    (place / "hooks.json").write_text(json.dumps(hooks()), encoding="utf-8")
    (place / "config.toml").write_text(
        f'model_provider = "x"\nmodel = "none"\n[features]\nhooks = true\n'
        f'[model_providers.x]\nname = "x"\nbase_url = "{server.url}/v1"\nwire_api = "responses"\n',
        encoding="utf-8",
    )
    trust_hooks(place, place / "hooks.json")
    asked = run(server, harbor, codex, "exec", "--skip-git-repo-check", PROMPT, CODEX_HOME=str(place))
    text = "\n".join(asked)
    assert f"<{TAG}>\\n{NOTICE}" in text
    assert FACT in text
    assert PREFERENCE in text
    learnt_nothing(home)


def test_claude_code_reads_memory_md_itself_so_that_its_hooks_do_not_repeat_it(server, home, harbor):
    claude = client("claude")
    kept("run")
    assert FACT in (home / ".claude" / "rules" / "memory.md").read_text(encoding="utf-8")
    (home / ".claude" / "settings.json").write_text(json.dumps(hooks()), encoding="utf-8")
    asked = run(
        server,
        harbor,
        claude,
        "-p",
        PROMPT,
        ANTHROPIC_BASE_URL=server.url,
        ANTHROPIC_API_KEY="none",
        CLAUDE_CODE_MAX_RETRIES="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )
    assert FACT in asked[-1]
    assert TAG not in asked[-1]


def test_claude_code_is_told_the_fix_of_last_time_after_its_own_command_failed(server, home, harbor):
    claude = client("claude")
    session = home / ".claude" / "projects" / "-harbor" / "first.jsonl"
    failed_before(session, str(harbor))
    kept("run")
    (home / ".claude" / "settings.json").write_text(with_hooks("", str(KEPT), "f"), encoding="utf-8")
    server.act = {"name": "Bash", "input": {"command": f"echo '{FAILURE}' >&2; exit 1"}}
    asked = run(
        server,
        harbor,
        claude,
        "-p",
        "Start the preview.",
        "--allowedTools",
        "Bash",
        ANTHROPIC_BASE_URL=server.url,
        ANTHROPIC_API_KEY="none",
        CLAUDE_CODE_MAX_RETRIES="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        CLAUDE_CONFIG_DIR=str(home / ".claude"),
    )
    assert "This failed before; what helped then:" not in asked[0]
    assert "This failed before; what helped then:" in asked[-1]
    assert "--port 0" in asked[-1].split("This failed before")[1]
