"""Aider's chat history: what was typed, what the client printed, and what the assistant answered."""

from zoneinfo import ZoneInfo

import pytest

from kept.core.event import Precision
from kept.core.times import format_instant
from kept.sources.formats.aider import Aider
from reading import human, read, read_bytes, said

READER = Aider(zone=ZoneInfo("Europe/Berlin"))
# Aider ends each of its own lines with two spaces.
HISTORY = """
# aider chat started at 2026-01-05 11:00:00

> aider --model x·
> Model: x·

#### use uv·
#### and never pip·

Sure.

#### Option one

> not the client's line

> Tokens: 1 sent·

#### /run ls·

> a.py·

# aider chat started at 2026-01-06 11:00:00

#### yes·

Done.
""".replace("·", "  ")


def test_only_typed_lines_are_the_persons(tmp_path):
    events, account, _ = (path := tmp_path / ".aider.chat.history.md").write_text(HISTORY) and read(READER, path)
    assert said(events) == [
        ("tool", "aider --model x\nModel: x"),
        ("human", "use uv\nand never pip"),
        ("assistant", "Sure.\n\n#### Option one\n\n> not the client's line"),
        ("tool", "Tokens: 1 sent"),
        ("human", "/run ls"),
        ("tool", "a.py"),
        ("human", "yes"),
        ("assistant", "Done."),
    ]
    assert account.dropped == {"session-start": 2}
    assert [event.label_reason for event in events if event.author == "human"] == [
        "typed",
        "unconfirmed:slash-command",
        "unconfirmed:typed",
    ]
    (tmp_path / ".aider.input.history").write_text(
        "\n# 2026-01-05 11:00:00\n+use uv\n+and never pip\n\n# 2026\n+/run ls\n\n# 2026\n+yes\n"
    )
    events, _, _ = read(READER, path)
    assert [event.label_reason for event in events if event.author == "human"] == ["typed", "slash-command", "typed"]


def test_sessions_are_told_apart_and_dated_by_their_start(tmp_path):
    events = read_bytes(READER, tmp_path / ".aider.chat.history.md", HISTORY.encode())
    assert len({event.session for event in events}) == 2
    assert sorted({format_instant(event.at) for event in events}) == ["2026-01-05T10:00:00.000Z", "2026-01-06T10:00:00.000Z"]
    assert {(event.precision, event.twin) for event in events} == {(Precision.SESSION, "")}


def test_a_history_that_grew_keeps_its_keys(tmp_path):
    path = tmp_path / ".aider.chat.history.md"
    before = read_bytes(READER, path, HISTORY.encode())
    after = read_bytes(READER, path, (HISTORY + "\n#### yes  \n\nDone.\n").encode())
    assert [event.key for event in after][: len(before)] == [event.key for event in before]
    assert len({event.key for event in after}) == len(after) == len(before) + 2


def test_histories_are_claimed_by_name_and_lines(tmp_path):
    assert READER.claims(tmp_path / ".aider.chat.history.md", HISTORY.encode())
    assert READER.claims(tmp_path / "old.md", HISTORY.encode())
    assert not READER.claims(tmp_path / "chat.md", b"#### You:\nhi\n#### ChatGPT:\nho\n")
    assert not READER.claims(tmp_path / ".aider.chat.history.md", b"# nothing typed\n")


@pytest.mark.shared
def test_the_shared_excerpt(shared):
    (path,) = (shared / "transcripts" / "inputs" / "aider-md").rglob("*.md")
    assert READER.claims(path, path.read_bytes())
    events, _, _ = read(READER, path)
    assert len(human(events)) == 4
    assert human(events)[1] == "/run ls -lah /nginx/conf.d/qbittorrent.conf"
