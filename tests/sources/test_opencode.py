"""OpenCode's database: parts in the order of their messages, sub-agents' sessions apart, only what changed."""

import json
import sqlite3

import pytest

from kept.core.errors import SourceError
from kept.core.event import Author, EventKind
from kept.sources.formats.opencode import OpenCode
from reading import human, read, said

READER = OpenCode()


def database(path, sessions):
    """``sessions``: id → (parent, time of change, messages); a message: (id, data, parts)."""
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_updated INT);
        CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, data TEXT);
        CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
    """)
    for session, (parent, updated, messages) in sessions.items():
        connection.execute("INSERT OR REPLACE INTO session VALUES (?, ?, '/home/u/p', ?)", (session, parent, updated))
        for number, (message, data, parts) in enumerate(messages):
            row = (message, session, 1773044814000 + number, json.dumps(data))
            connection.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?)", row)
            for index, part in enumerate(parts):
                text = part if isinstance(part, str) else json.dumps(part)
                connection.execute(
                    "INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?)", (f"{message}-p{index}", message, session, text)
                )
    connection.commit()
    connection.close()


USER, DONE = {"role": "user"}, {"role": "assistant", "finish": "stop"}


def text(words, **fields):
    return {"type": "text", "text": words, **fields}


def tool(status="completed", **state):
    return {"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": status, "input": {"command": "ls x"}, **state}}


SESSIONS = {
    "s1": (
        None,
        1000,
        [
            ("m1", USER, [text("hello"), text("<file>", synthetic=True)]),
            (
                "m2",
                DONE,
                [{"type": "step-start"}, tool("error", error="No such file"), {"type": "reasoning", "text": "hm"}, text("world")],
            ),
            ("m3", DONE, []),
        ],
    ),
    "s2": ("s1", 2000, [("m4", USER, [text("search")]), ("m5", DONE, [text("found")])]),
}


def test_parts_are_read_in_the_order_of_their_messages(tmp_path):
    path = tmp_path / "opencode.db"
    database(path, SESSIONS)
    events, account, _ = read(READER, path)
    assert [(event.author, event.kind, event.text) for event in events] == [
        (Author.HUMAN, EventKind.PROMPT, "hello"),
        (Author.INJECTED, EventKind.PROMPT, "<file>"),
        (Author.ASSISTANT, EventKind.TOOL_CALL, "ls x"),
        (Author.TOOL, EventKind.TOOL_OUTPUT, "No such file"),
        (Author.ASSISTANT, EventKind.RESPONSE, "world"),
        (Author.SUBAGENT, EventKind.PROMPT, "search"),
        (Author.SUBAGENT, EventKind.RESPONSE, "found"),
    ]
    assert events[3].tool.ok is False
    assert account.dropped == {"part:step-start": 1, "part:reasoning": 1, "no-parts": 1}
    assert {event.project for event in events} == {"/home/u/p"}


def test_only_sessions_that_changed_are_read_again(tmp_path):
    path = tmp_path / "opencode.db"
    database(path, SESSIONS)
    before, _, cursor = read(READER, path)
    assert list(READER.read(path, cursor)) == []
    database(path, {"s3": (None, 3000, [("m6", USER, [text("more")])])})
    after, account, _ = read(READER, path, cursor)
    assert [event.text for event in after if event.key not in {old.key for old in before}] == ["more"]
    assert account.noted == {"unchanged-conversation": 1}


def test_a_tool_that_ran_without_success_says_so(tmp_path):
    path = tmp_path / "opencode.db"
    database(path, {"s": (None, 1, [("m", DONE, [tool(output="boom", metadata={"exit": 2})])])})
    output = read(READER, path)[0][1]
    assert (output.text, output.tool.exit_code, output.tool.ok) == ("boom", 2, False)


def test_an_answer_that_is_still_being_written_waits(tmp_path):
    path = tmp_path / "opencode.db"
    database(path, {"s": (None, 1, [("m1", USER, [text("go")]), ("m2", {"role": "assistant"}, [text("I am wri")])])})
    assert said(read(READER, path)[0]) == [("human", "go")]


def test_broken_data_costs_itself_alone(tmp_path):
    path = tmp_path / "opencode.db"
    database(path, {"s": (None, 1, [("m1", USER, ["{", text("ok"), "[]", text("  ")])])})
    events, account, _ = read(READER, path)
    assert human(events) == ["ok"]
    assert account.dropped == {"not-json": 1, "not-an-object": 1, "no-text": 1}
    assert account.malformed == 2


def test_the_reader_claims_its_own_database_only(tmp_path):
    path, other = tmp_path / "opencode.db", tmp_path / "other.db"
    database(path, SESSIONS)
    assert READER.claims(path, path.read_bytes()[:65536])
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE session (id TEXT)")
    connection.close()
    assert not READER.claims(other, other.read_bytes())
    with pytest.raises(SourceError, match="no tables"):
        read(READER, other)


def test_the_place_is_configured_or_the_data_folder(home):
    assert READER.places(home, {}) == (home / ".local" / "share" / "opencode" / "opencode.db",)
    assert READER.places(home, {"XDG_DATA_HOME": "/data"})[0].as_posix() == "/data/opencode/opencode.db"
    assert READER.places(home, {"OPENCODE_DB": "/x.db"})[0].as_posix() == "/x.db"


@pytest.mark.shared
def test_the_shared_database(shared):
    path = shared / "samples" / "opencode" / "synthetic-opencode.db"
    assert READER.claims(path, path.read_bytes())
    assert said(read(READER, path)[0]) == [
        ("human", "hello"),
        ("assistant", "ls x"),
        ("tool", "No such file"),
        ("assistant", "world"),
    ]


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_that_another_process_writes_gives_what_is_committed_and_the_rest_later(tmp_path, mode, lock):
    path = tmp_path / "opencode.db"
    database(path, {"s1": (None, 1773044814000, [("m1", USER, [text("use pnpm")])])})
    writer = sqlite3.connect(path, isolation_level=None)
    try:
        writer.execute(f"PRAGMA journal_mode={mode}")
        writer.execute(f"BEGIN {lock}")
        writer.execute("INSERT INTO message VALUES ('m2', 's1', 1773044814009, ?)", (json.dumps(USER),))
        writer.execute("INSERT INTO part VALUES ('m2-p0', 'm2', 's1', ?)", (json.dumps(text("and never npm")),))
        writer.execute("UPDATE session SET time_updated = 1773044815000")
        before, _, cursor = read(READER, path)
        assert human(before) == ["use pnpm"]
        writer.execute("COMMIT")
        after, _, _ = read(READER, path, cursor)
    finally:
        writer.close()
    assert human(after) == ["and never npm"] or human(after) == ["use pnpm", "and never npm"]


@pytest.mark.parametrize(
    ("folder", "rules", "author"),
    [
        ("/home/ada/shop", [{"permission": "question", "action": "deny", "pattern": "*"}], Author.HUMAN),
        ("/tmp/job-7", [{"permission": "question", "action": "deny", "pattern": "*"}], Author.INJECTED),
        ("/tmp/job-7", [{"permission": "bash", "action": "deny", "pattern": "*"}], Author.HUMAN),
        ("/tmp/job-7", None, Author.HUMAN),
        ("/tmp/job-7", "no rules", Author.HUMAN),
    ],
)
def test_prompts_of_opencode_run_are_the_persons_but_for_a_programs_folder_and_those_are_counted(tmp_path, folder, rules, author):
    path = tmp_path / "opencode.db"
    database(path, {"s": (None, 1, [("m", USER, [text("always use uv")])])})
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE session ADD COLUMN permission TEXT")
        connection.execute("UPDATE session SET directory = ?, permission = ?", (folder, json.dumps(rules)))
    events, account, _ = read(READER, path)
    assert [(each.author, each.text) for each in events] == [(author, "always use uv")]
    assert account.noted.get("program-prompt:run", 0) == (author is not Author.HUMAN)
