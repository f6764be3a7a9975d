"""Cursor's database and its agent's lines: a live database is read without touching it, and only what changed."""

import json
import sqlite3

import pytest

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, EventKind, Precision
from kept.sources.formats.cursor import CursorAgent, CursorEditor
from reading import at_once, human, lines, read, read_bytes, read_in_pieces, said

EDITOR, AGENT = CursorEditor(), CursorAgent()


def database(path, chats, *, journal="DELETE"):
    """A state.vscdb; ``chats`` maps an id to (composer fields, bubbles). The connection stays open for its -wal."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
    for ident, (fields, bubbles) in chats.items():
        headers = [{"bubbleId": bubble["bubbleId"], "type": bubble["type"]} for bubble in bubbles]
        composer = {"composerId": ident, "createdAt": 1767607200000, "fullConversationHeadersOnly": headers, **fields}
        put(connection, f"composerData:{ident}", composer)
        for bubble in bubbles:
            put(connection, f"bubbleId:{ident}:{bubble['bubbleId']}", bubble)
    connection.commit()
    return connection


def put(connection, key, value):
    connection.execute(
        "INSERT INTO cursorDiskKV VALUES (?, ?)", (key, value if isinstance(value, bytes) else json.dumps(value).encode())
    )


def bubble(ident, kind, text="", **fields):
    return {"bubbleId": ident, "type": kind, "text": text, **fields}


TOOL = {
    "name": "run_terminal_cmd",
    "toolCallId": "t1",
    "rawArgs": '{"command": "make"}',
    "status": "completed",
    "result": '{"output": "boom", "exitCode": 2}',
}
CHATS = {
    "c1": (
        {"lastUpdatedAt": 1000},
        [bubble("b1", 1, "make it"), bubble("b2", 2, toolFormerData=TOOL), bubble("b3", 2, "It fails.")],
    ),
    "c2": ({"lastUpdatedAt": 2000}, [bubble("b4", 1, "hello", createdAt="2026-01-06T10:00:00Z")]),
    "c3": ({"lastUpdatedAt": 3000}, []),
}


def test_a_conversation_is_read_in_the_order_of_its_headers(tmp_path):
    path = tmp_path / "state.vscdb"
    database(path, CHATS).close()
    events, account, _ = read(EDITOR, path)
    assert [(event.author, event.kind, event.text) for event in events] == [
        (Author.HUMAN, EventKind.PROMPT, "make it"),
        (Author.ASSISTANT, EventKind.TOOL_CALL, "make"),
        (Author.TOOL, EventKind.TOOL_OUTPUT, "boom"),
        (Author.ASSISTANT, EventKind.RESPONSE, "It fails."),
        (Author.HUMAN, EventKind.PROMPT, "hello"),
    ]
    assert (events[2].tool.exit_code, events[2].tool.ok) == (2, False)
    assert [event.precision for event in (events[0], events[-1])] == [Precision.SESSION, Precision.MESSAGE]
    assert account.dropped == {"empty-conversation": 1}


def test_what_is_not_yet_merged_is_read_and_the_original_is_left_as_it_was(tmp_path):
    path = tmp_path / "state.vscdb"
    connection = database(path, CHATS, journal="WAL")
    before = {each.name: (each.stat().st_size, each.stat().st_mtime_ns) for each in tmp_path.iterdir()}
    assert "state.vscdb-wal" in before
    assert human(read(EDITOR, path)[0]) == ["make it", "hello"]
    assert {each.name: (each.stat().st_size, each.stat().st_mtime_ns) for each in tmp_path.iterdir()} == before
    connection.close()


def test_only_conversations_that_changed_are_read_again(tmp_path):
    path = tmp_path / "state.vscdb"
    connection = database(path, CHATS, journal="WAL")
    before, _, cursor = read(EDITOR, path)
    assert list(EDITOR.read(path, cursor)) == []
    database(path, {"c2": ({"lastUpdatedAt": 4000}, [*CHATS["c2"][1], bubble("b5", 2, "hi")])}, journal="WAL")
    after, account, _ = read(EDITOR, path, cursor)
    assert [event.text for event in after if event.key not in {old.key for old in before}] == ["hi"]
    assert account.noted == {"unchanged-conversation": 1}
    connection.close()


def test_an_answer_that_is_still_being_written_waits(tmp_path):
    path = tmp_path / "state.vscdb"
    bubbles = [bubble("b1", 1, "go"), bubble("b2", 2, "I am wri")]
    database(path, {"c": ({"status": "generating", "lastUpdatedAt": 1}, bubbles)}).close()
    assert said(read(EDITOR, path)[0]) == [("human", "go")]


def test_older_conversations_hold_their_bubbles_themselves(tmp_path):
    path = tmp_path / "state.vscdb"
    fields = {"conversation": [bubble("b1", 1, "old"), bubble("b2", 2, "way")]}
    database(path, {"c": (fields, [])}).close()
    assert said(read(EDITOR, path)[0]) == [("human", "old"), ("assistant", "way")]


def test_broken_and_missing_values_cost_themselves_alone(tmp_path):
    path = tmp_path / "state.vscdb"
    connection = database(path, {"c": ({}, [bubble("b1", 1, "a"), bubble("b2", 2, "b"), bubble("b3", 2, "c")])})
    put(connection, "bubbleId:c:b2", b"{")
    connection.execute("DELETE FROM cursorDiskKV WHERE key = 'bubbleId:c:b3'")
    put(connection, "composerData:broken", b"\xff")
    put(connection, "composerData:null", b"null")
    connection.commit()
    connection.close()
    events, account, _ = read(EDITOR, path)
    assert said(events) == [("human", "a")]
    assert account.dropped == {"not-json": 1, "no-text": 1, "not-utf-8": 1, "not-an-object": 1}


def test_a_value_above_the_limit_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr("kept.sources.databases.LINE_LIMIT", 5000)
    path = tmp_path / "state.vscdb"
    database(path, {"c": ({}, [bubble("b1", 1, "x" * 20_000), bubble("b2", 1, "short")])}).close()
    events, account, _ = read(EDITOR, path)
    assert human(events) == ["short"]
    assert account.dropped == {"line-too-long": 1}


def test_a_database_that_would_run_its_makers_code_is_refused(tmp_path):
    path = tmp_path / "state.vscdb"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE VIEW cursorDiskKV AS WITH RECURSIVE r(key, value) AS (SELECT 'composerData:x', 1 UNION ALL SELECT key, value "
        "FROM r) SELECT * FROM r"
    )
    connection.close()
    with pytest.raises(SourceError, match="has no table"):
        read(EDITOR, path)


def test_what_is_no_database_is_refused(tmp_path):
    path = tmp_path / "state.vscdb"
    path.write_bytes(b"SQLite format 3\0" + b"cursorDiskKV" * 1000)
    assert EDITOR.claims(path, path.read_bytes())
    for each in (path, tmp_path, tmp_path / "missing"):
        with pytest.raises(SourceError):
            read(EDITOR, each)


def test_the_copy_is_private_and_removed(tmp_path, monkeypatch):
    seen = []
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    real = sqlite3.connect
    monkeypatch.setattr("sqlite3.connect", lambda path: seen.append(path.parent.stat().st_mode & 0o777) or real(path))
    path = tmp_path / "state.vscdb"
    database(path, CHATS).close()
    read(EDITOR, path)
    assert seen[-1] == 0o700
    assert list(folder.iterdir()) == []


def test_the_reader_claims_its_own_database_only(tmp_path):
    path = tmp_path / "x.db"
    database(path, CHATS).close()
    assert EDITOR.claims(path, path.read_bytes()[:65536])
    other = tmp_path / "y.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE ItemTable (key TEXT, value BLOB)")
    connection.close()
    assert not EDITOR.claims(other, other.read_bytes())
    assert not EDITOR.claims(other, b"text about cursorDiskKV")


def turn(role, text, **fields):
    return {"role": role, "message": {"content": [{"type": "text", "text": text}]}, **fields}


LOG = lines(
    turn("user", "<user_query>\nlist the files — é\n</user_query>"),
    turn("assistant", "Listing."),
    {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}]}},
    "rubbish",
    turn("user", "yes"),
    turn("user", "yes"),
    turn("system", "x"),
    turn("assistant", "Dated.", timestamp="2026-01-05T10:00:00Z"),
)


def test_an_agents_lines_tell_who_speaks(tmp_path):
    path = tmp_path / "s1.jsonl"
    events = read_bytes(AGENT, path, LOG)
    assert said(events) == [
        ("human", "list the files — é"),
        ("assistant", "Listing."),
        ("assistant", "ls"),
        ("human", "yes"),
        ("human", "yes"),
        ("assistant", "Dated."),
    ]
    assert len({event.key for event in events}) == len(events)
    assert [bool(event.twin) for event in events] == [False] * 5 + [True]
    assert AGENT.claims(path, LOG)
    assert not AGENT.claims(path, lines({"type": "user", "role": "user", "message": {}}))


def test_what_stands_above_an_editors_request_is_not_typed(tmp_path):
    wrapped = "Rule of the day: never squash.\n<user_query>\nfix the lexer\n</user_query>"
    about = "What does <user_query>x</user_query> mean in these logs?"
    events = read_bytes(AGENT, tmp_path / "s1.jsonl", lines(turn("user", wrapped), turn("user", about)))
    assert human(events) == ["fix the lexer", about]


def test_an_agents_file_read_byte_by_byte_equals_the_file_read_at_once(tmp_path):
    path = tmp_path / "s1.jsonl"
    assert read_in_pieces(AGENT, path, LOG, range(len(LOG))) == at_once(AGENT, path, LOG)


@pytest.mark.shared
def test_the_shared_agent_session(shared):
    events, _, _ = read(AGENT, shared / "samples" / "cursor" / "claude-mem-cursor-session.jsonl", Cursor())
    assert human(events) == ["please list the files in src/", "thanks, also tell me what you found"]
