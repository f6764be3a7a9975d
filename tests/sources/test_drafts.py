"""What readers cut, they cut so that no secret is halved."""

import json
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.redact import redact
from kept.intake.clean import Limits, clean
from kept.sources.drafts import TARGET_LIMIT, TEXT_LIMIT, call_detail, format_change, shorten_text, truncate_text
from kept.sources.fields import Notes
from kept.sources.registry import identify_file
from reading import lines, read_bytes

TOKEN = "ghp_" + "".join(random.Random(9).choices("abcdefghijkmnpqrstuvwxyzABCDEFGH123456789", k=36))


@given(st.integers(0, 80))
def test_a_long_text_is_cut_at_white_space(shift):
    text = "x" * 20 + " word" * ((TARGET_LIMIT - 60 - shift) // 5) + " " + TOKEN + " more" * 2000
    assert TOKEN in truncate_text(text) or TOKEN[:8] not in truncate_text(text)
    assert len(truncate_text(text)) <= TARGET_LIMIT


def test_text_without_white_space_is_cut_and_something_stays():
    assert 0 < len(truncate_text("字" * 3 * TARGET_LIMIT)) < TARGET_LIMIT
    noted = Notes()
    assert len(shorten_text("字" * 3 * TEXT_LIMIT, noted)) > TEXT_LIMIT // 2
    assert noted == {"text-cut": 1}


def test_both_sides_of_an_edit_stay():
    before, _, after = format_change("old " * 9000, "new " * 9000).partition("\n→\n")
    assert before.startswith("old")
    assert after.startswith("new")


CALLS = {
    "claude-code": lambda command: {
        "type": "assistant",
        "uuid": "u",
        "sessionId": "s",
        "parentUuid": None,
        "timestamp": "2026-01-05T10:00:00.000Z",
        "message": {
            "role": "assistant",
            "id": "m",
            "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command}}],
        },
    },
    "codex": lambda command: {
        "timestamp": "2026-01-05T10:00:00.000Z",
        "type": "response_item",
        "payload": {
            "type": "function_call",
            "name": "shell",
            "call_id": "c",
            "arguments": json.dumps({"command": ["bash", "-lc", command]}),
        },
    },
    "pi": lambda command: {
        "type": "message",
        "id": "m",
        "parentId": None,
        "timestamp": "2026-01-05T10:00:00.000Z",
        "message": {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": command}}],
        },
    },
}
OPENING = {"codex": {"timestamp": "2026-01-05T10:00:00.000Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/p"}}}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("place", [1_990, 2_000, 7_985, 7_999])
def test_a_secret_at_any_place_of_a_command_leaves_no_piece_of_itself(tmp_path, name, place):
    command = ("echo " * 4000)[:place] + " " + TOKEN + " && make" * 400
    records = [OPENING[name]] if name in OPENING else []
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(*records, CALLS[name](command)))
    events = read_bytes(identify_file(path), path, path.read_bytes())
    assert events
    for event in events:
        done = clean(event, redact=partial(redact, key=b"k"), limits=Limits()).event
        stored = done.text + (done.tool.target if done.tool else "")
        assert not any(TOKEN[i : i + 8] in stored for i in range(len(TOKEN) - 7))
        assert len(done.tool.target) <= 2_000


@pytest.mark.parametrize("old", ["old_string", "oldString", "oldText", "old_str"])
def test_every_client_that_replaces_a_text_tells_what_it_replaced(old):
    assert call_detail({"path": "a.toml", old: "20", old.replace("old", "new"): "22"}) == format_change("20", "22")
