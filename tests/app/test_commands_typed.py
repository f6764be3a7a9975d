"""What is typed to a client as a command, or to one that no terminal shows: which of it becomes a memory, from file to log."""

import json

import pytest

from kept.core.memory import Status
from kept.pipeline.run import RunOptions, run_pipeline
from talking import OTHER, say

LESSON = "staging resets at 03:00 UTC"


def active(workspace):
    run_pipeline(workspace, [], RunOptions())
    return [memory.content for memory in workspace.store.log.memories() if memory.status is Status.ACTIVE]


def test_words_behind_a_command_that_takes_none_are_no_memory(desk_at, home):
    say(home, "a", "/clear always use vim", "go on")
    with desk_at(home) as workspace:
        assert active(workspace) == []


def test_the_words_behind_the_memory_command_are_the_memory(desk_at, home):
    say(home, "a", f"/kept:remember {LESSON}")
    with desk_at(home) as workspace:
        assert active(workspace) == [LESSON]


@pytest.mark.parametrize(
    ("answer", "stays"), [("no wait, scratch that", False), ("never mind, I was wrong", False), ("thanks", True)]
)
def test_what_the_next_prompt_takes_back_waits(desk_at, home, answer, stays):
    say(home, "a", OTHER, answer)
    with desk_at(home) as workspace:
        assert active(workspace) == ([OTHER] if stays else [])
        assert OTHER in {memory.content for memory in workspace.store.log.memories()}


def test_a_file_of_rules_that_opens_with_a_heading_is_no_memory_command(desk_at, home):
    say(home, "a", f"# Memory Bank\n\n## Rules\n\n- {OTHER}\n", "go on")
    with desk_at(home) as workspace:
        assert active(workspace) == []


def test_what_is_typed_to_codex_exec_is_the_persons(desk_at, home):
    def row(kind, second, **payload):
        return {"timestamp": f"2026-01-05T10:00:{second:02}.000Z", "type": kind, "payload": payload}

    native = "019b8d00-0000-7000-8000-000000000001"
    rows = [
        row(
            "session_meta",
            0,
            id=native,
            timestamp="2026-01-05T10:00:00.000Z",
            cwd="/x/harbor",
            source="exec",
            originator="codex_exec",
        ),
        row("response_item", 1, type="message", role="user", content=[{"type": "input_text", "text": OTHER}]),
        row("event_msg", 1, type="user_message", message=OTHER, images=[]),
        row("response_item", 2, type="message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
    ]
    path = home / ".codex" / "sessions" / "2026" / "01" / "05" / f"rollout-2026-01-05T10-00-00-{native}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in rows), encoding="utf-8")
    with desk_at(home) as workspace:
        assert active(workspace) == [OTHER]
