"""The real `claude` and `codex` against a server on this machine: they answer, leave nothing behind, run no hook and cannot act.

They are looked for in the folder ``KEPT_CLI``, else on the PATH; where they are not, these tests are skipped.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from asks import Time, ask, asker
from kept.llm.adapter import AdapterFailure, AdapterReply
from kept.llm.adapters.command import Command
from kept.llm.ask import CompleteReply, Fault, UnreachableReply
from loopback import Loopback

pytestmark = pytest.mark.needs_cli

PROVIDER = '{{name="loop",base_url="{url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}}'
WORDS = "A sentence of the conversation that must not lie about."


def program(name: str) -> str:
    found = shutil.which(name, path=os.environ.get("KEPT_CLI") or os.environ.get("PATH"))
    if found is None:
        pytest.skip(f"{name} is not here")
    return found


def command(name: str, server: Loopback, home: Path, **more: Any) -> Command:
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "k",
        "OPENAI_API_KEY": "k",
        "NO_PROXY": "127.0.0.1",
    }
    options = f" -c model_provider=loop -c 'model_providers.loop={PROVIDER.format(url=server.url)}'" if name == "codex" else ""
    model = "gpt-6-luna" if name == "codex" else "claude-haiku-5-5"
    return Command(f"{program(name)}{options}", model=model, env=env, **{"timeout": 90.0} | more)


@pytest.fixture
def lived_in(home: Path) -> Path:
    """A home with hooks, instructions and a server of tools, any of which would leave a mark if it ran."""
    mark = home / "mark"
    run = {"type": "command", "command": f"touch {mark}"}
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd")
    hooks = {"hooks": {event: [{"matcher": "", "hooks": [run]}] for event in events}}
    files = {
        ".claude/settings.json": json.dumps(hooks),
        ".claude/CLAUDE.md": "Always answer in rhyme.",
        ".claude/rules/memory.md": "The user likes pears.",
        ".codex/hooks.json": json.dumps(hooks),
        ".codex/AGENTS.md": "Always answer in rhyme.",
        ".codex/config.toml": f'[mcp_servers.mark]\ncommand = "touch"\nargs = ["{mark}"]\n',
    }
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return home


both = pytest.mark.parametrize("name", ["claude", "codex"])


@both
def test_it_answers_and_leaves_no_transcript_and_runs_no_hook(server: Loopback, lived_in: Path, name: str) -> None:
    said = command(name, server, lived_in).ask(ask(WORDS))
    assert isinstance(said, AdapterReply), said
    assert json.loads(said.text) == {"facts": ["likes figs"]}
    assert not (lived_in / "mark").exists()
    told = [path for path in lived_in.rglob("*") if path.is_file() and WORDS.encode() in path.read_bytes()]
    assert told == []
    assert not list(lived_in.rglob("*.jsonl"))
    (question,) = server.questions
    text = json.dumps(question)
    assert WORDS in text
    assert "You take notes." in text
    assert "pears" not in text
    if name == "claude":  # Codex reads its own home's AGENTS.md whatever it is told
        assert "rhyme" not in text


def test_claude_sends_little_beside_the_question(server: Loopback, lived_in: Path) -> None:
    command("claude", server, lived_in).ask(ask(WORDS))
    assert len(json.dumps(server.questions[0])) < 5_000
    assert {each["name"] for each in server.questions[0]["tools"]} <= {"StructuredOutput", "DeferredToolPlaceholder"}


ACTS = {
    "claude": [
        {"name": "Bash", "input": {"command": "touch {target}"}},
        {"name": "Write", "input": {"file_path": "{target}", "content": "x"}},
    ],
    "codex": [
        {"name": "exec_command", "arguments": '{"cmd": "touch {target}"}'},
        {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch\n*** Add File: {target}\n+x\n*** End Patch"},
        {
            "type": "custom_tool_call",
            "name": "exec",
            "input": 'text(await tools.apply_patch("*** Begin Patch\\n*** Add File: {target}\\n+x\\n*** End Patch"))',
        },
    ],
}


@pytest.mark.parametrize(("name", "number"), [(name, number) for name, acts in ACTS.items() for number in range(len(acts))])
def test_it_cannot_act_even_where_the_model_tries(server: Loopback, lived_in: Path, name: str, number: int) -> None:
    target = lived_in / "acted"
    server.act = _filled(ACTS[name][number], str(target))
    command(name, server, lived_in).ask(ask(WORDS))
    assert len(server.questions) > 1  # it was told what came of its try
    assert not target.exists()
    assert not (lived_in / "mark").exists()


def _filled(value: Any, target: str) -> Any:
    match value:
        case str():
            return value.replace("{target}", target)
        case dict():
            return {name: _filled(each, target) for name, each in value.items()}
    return value


@both
def test_a_server_that_refuses_is_told_within_the_time(server: Loopback, lived_in: Path, name: str) -> None:
    server.faults = [401] * 20
    replies = asker(command(name, server, lived_in), pace=Time().pace(attempts=1))([ask(WORDS)])
    assert isinstance(replies[0], UnreachableReply), replies


def test_a_dead_server_is_no_success(lived_in: Path) -> None:
    gone = Loopback()
    made = command("claude", gone, lived_in)
    gone.close()
    said = made.ask(ask(WORDS))
    assert isinstance(said, AdapterFailure)
    assert said.fault in (Fault.CONNECTION, Fault.FAILED)


def test_a_program_that_waits_for_a_dead_server_is_ended_in_time(server: Loopback, lived_in: Path) -> None:
    server.faults = ["slow"] * 50
    said = command("codex", server, lived_in, timeout=1.0).ask(ask(WORDS))
    assert isinstance(said, AdapterFailure)
    assert said.fault is Fault.TIMEOUT


@both
def test_two_runs_over_the_same_question_cost_one(server: Loopback, lived_in: Path, name: str, tmp_path: Path) -> None:
    made = command(name, server, lived_in)
    asking = asker(made)
    first, second = asking([ask(WORDS)])[0], asking([ask(WORDS)])[0]
    assert isinstance(first, CompleteReply)
    assert isinstance(second, CompleteReply)
    assert second.cached
    assert len(server.questions) == 1
