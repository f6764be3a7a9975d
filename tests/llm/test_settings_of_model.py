"""The model of the settings, at the workspace."""

from pathlib import Path

import pytest

from asks import ask
from kept.core.fence import GUARD
from kept.llm.ask import CompleteReply, UnreachableReply
from kept.llm.client import LlmClient
from kept.paths import find_paths
from kept.workspace import Workspace, open_workspace


def at(home: Path, settings: str, **env: str):
    path = home / ".config" / "kept" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[llm]\n{settings}\n", encoding="utf-8")
    return open_workspace(
        find_paths(None, {"HOME": str(home)}), env={"HOME": str(home), "PATH": "/usr/bin:/bin", "KEPT_EMBEDDINGS": "hashing"} | env
    )


def asking(workspace: Workspace) -> LlmClient:
    assert workspace.llm is not None
    return workspace.llm


def test_without_settings_nobody_is_asked(home: Path) -> None:
    with at(home, "") as workspace:
        assert workspace.llm is None


def test_a_process_that_answers_for_kept_asks_nothing_itself(home: Path) -> None:
    with at(home, 'adapter = "command"\ncommand = "claude"', **{GUARD: "1"}) as workspace:
        assert workspace.llm is None


def test_a_script_answers_and_its_reply_is_remembered_beside_the_store(home: Path) -> None:
    script = home / "script.jsonl"
    script.write_text('{"contains": "figs", "reply": {"facts": ["likes figs"]}}\n', encoding="utf-8")
    with at(home, f'adapter = "scripted"\nscript = "{script}"') as workspace:
        (reply,) = asking(workspace)([ask("I like figs.")])
        assert isinstance(reply, CompleteReply)
        assert workspace.paths.replies.is_file()
    script.write_text("", encoding="utf-8")
    with at(home, f'adapter = "scripted"\nscript = "{script}"') as workspace:
        (reply,) = asking(workspace)([ask("I like figs.")])
        assert isinstance(reply, CompleteReply)
        assert reply.cached


def test_any_program_can_answer(home: Path) -> None:
    with at(home, "adapter = \"command\"\ncommand = '''sh -c 'cat > /dev/null; echo {\\\"facts\\\": []}' '''") as workspace:
        (reply,) = asking(workspace)([ask()])
        assert isinstance(reply, CompleteReply), reply
        assert reply.body == {"facts": []}


def test_secrets_are_taken_out_of_a_question_by_the_rules_of_the_archive(home: Path) -> None:
    seen = home / "seen"
    with at(home, f"adapter = \"command\"\ncommand = '''sh -c 'cat > {seen}; echo {{\\\"facts\\\": []}}' '''") as workspace:
        asking(workspace)([ask("export GITHUB_TOKEN=ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")])
        assert asking(workspace).tally.secrets == 1
    assert "ghp_" not in seen.read_text(encoding="utf-8")


@pytest.mark.parametrize("settings", ['adapter = "command"', 'adapter = "scripted"', 'adapter = "scripted"\nscript = "/nowhere"'])
def test_a_model_that_is_not_fully_set_is_told_when_it_is_asked(home: Path, settings: str) -> None:
    with at(home, settings) as workspace:
        (reply,) = asking(workspace)([ask()])
    assert isinstance(reply, UnreachableReply)
    assert "llm.c" in reply.reason or "script" in reply.reason
