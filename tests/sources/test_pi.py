"""Sessions of pi and OpenClaw: both versions, the session index, the database."""

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, EventKind, Precision
from kept.sources.formats.pi import Pi
from reading import at_once, files, human, lines, read, read_bytes, read_in_pieces, said

PI = Pi()
HEAD = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-02-06T04:10:00.000Z", "cwd": "/work"}


def entry(native, parent, second, message=None, **more):
    stamp = f"2026-02-06T04:{10 + second // 60:02d}:{second % 60:02d}.000Z"
    given = {"type": "message", "id": native, "parentId": parent, "timestamp": stamp, **more}
    return given if message is None else {**given, "message": message}


def user(text, **more):
    return {"role": "user", "content": [{"type": "text", "text": text}], **more}


def assistant(*blocks, **more):
    return {"role": "assistant", "content": list(blocks), **more}


def text(words):
    return {"type": "text", "text": words}


def use(native, name, **arguments):
    return {"type": "toolCall", "id": native, "name": name, "arguments": arguments}


def result(native, words, *, failed=False, **more):
    return {"role": "toolResult", "toolCallId": native, "toolName": "bash", "content": [text(words)], "isError": failed, **more}


def a_session():
    return lines(
        HEAD,
        entry("a1", None, 1, type="model_change", modelId="m"),
        entry(
            "a2",
            "a1",
            2,
            user("Conversation info (untrusted metadata):\n```json\n{}\n```\n\n[Thu 2026-02-05 23:10 EST] ship it — 😀"),
        ),
        entry(
            "a3",
            "a2",
            3,
            assistant(
                {"type": "thinking", "thinking": "hm"}, text("[[reply_to_current]] Running."), use("c1", "bash", command="make")
            ),
        ),
        entry("a4", "a3", 4, result("c1", "no rule\n\nCommand exited with code 2", failed=True)),
        "null",
        "{ not json",
        entry("a5", "a4", 5, user("Read HEARTBEAT.md if it exists. Reply HEARTBEAT_OK.")),
        entry("a6", "a5", 6, assistant(text("HEARTBEAT_OK"))),
        entry("a7", "a6", 7, type="compaction", summary="all so far"),
        entry("a8", "a7", 8, type="custom_message", content="from an extension"),
        entry("a9", "a8", 9, {"role": "bashExecution", "command": "ls", "output": "a.py\n", "exitCode": 0}),
        entry("b1", "a9", 10, user("and tag it")),
    )


def test_who_said_what(tmp_path):
    events = read_bytes(PI, tmp_path / "s-1.jsonl", a_session())
    assert human(events) == ["ship it — 😀", "and tag it"]
    by_author = {author: [each.text for each in events if each.author is author] for author in Author}
    assert by_author[Author.ASSISTANT] == ["Running.", "make"]
    assert by_author[Author.COMPACTION] == ["all so far"]
    assert {each.label_reason for each in events if each.author is Author.INJECTED} == {
        "gateway-metadata",
        "heartbeat",
        "custom_message",
    }


def test_an_output_knows_its_call_and_how_the_command_ended(tmp_path):
    events = read_bytes(PI, tmp_path / "s-1.jsonl", a_session())
    outputs = [(each.tool.target, each.tool.ok, each.tool.exit_code) for each in events if each.kind is EventKind.TOOL_OUTPUT]
    assert outputs == [("make", False, 2), ("ls", True, 0)]


def test_links_lead_past_entries_without_events(tmp_path):
    events = read_bytes(PI, tmp_path / "s-1.jsonl", a_session())
    by_record = {each.record: each.parent for each in events}
    assert (by_record["a2"], by_record["a7"]) == ("", "a5")


def test_a_fork_has_its_parents_keys_for_what_it_copied(tmp_path):
    parent = read_bytes(PI, tmp_path / "s-1.jsonl", a_session())
    fork = lines({**HEAD, "id": "s-2", "parentSession": "/x/s-1.jsonl"}) + a_session().partition(b"\n")[2]
    assert [each.key for each in read_bytes(PI, tmp_path / "s-2.jsonl", fork)] == [each.key for each in parent]


def version_one(native, *messages):
    head = {"type": "session", "id": native, "timestamp": "2026-02-07T00:00:00.000Z", "cwd": "/w", "provider": "p"}
    stamps = (f"2026-02-06T04:10:{second:02d}.000Z" for second in range(60))
    return lines(head, *({"type": "message", "timestamp": next(stamps), "message": each} for each in messages))


def test_without_ids_a_branch_still_has_the_same_keys_and_repetitions_have_their_own(tmp_path):
    said_before = [user("go on"), assistant(text("ok"), use("c", "read", path="/a")), user("go on")]
    first = read_bytes(PI, tmp_path / "x_1.jsonl", version_one("one", *said_before))
    branch = read_bytes(PI, tmp_path / "x_2.jsonl", version_one("two", *said_before, user("other way")))
    assert len({each.key for each in first}) == 4
    assert [each.key for each in branch[:4]] == [each.key for each in first]


@pytest.mark.parametrize(
    "sent",
    [
        "A new session was started via /new or /reset. Greet the user.",
        "Pre-compaction memory flush. Store durable memories now.",
        "[cron:1 nightly] tidy up",
        "System: [2026-02-06 04:10] Exec finished",
    ],
)
def test_what_the_gateway_writes_is_not_the_users(tmp_path, sent):
    assert human(read_bytes(PI, tmp_path / "s.jsonl", lines(HEAD, entry("a", None, 1, user(sent))))) == []


def test_attached_files_and_message_ids_are_not_the_users_words(tmp_path):
    sent = '<file name="/a.md">\nalways push\n</file>\n\nread this\n[message_id: 77]'
    events = read_bytes(PI, tmp_path / "s.jsonl", lines(HEAD, entry("a", None, 1, user(sent))))
    assert human(events) == ["read this"]


def test_a_closing_tag_in_an_attached_file_does_not_end_it(tmp_path):
    sent = '<file name="/a.md">\na</file>\nalways trust it\n</file>\nread this'
    events = read_bytes(PI, tmp_path / "s.jsonl", lines(HEAD, entry("a", None, 1, user(sent))))
    assert human(events) == ["read this"]


def test_text_about_the_gateways_marks_stays_the_users(tmp_path):
    sent = "why does it print (untrusted metadata) and NO_REPLY?"
    assert human(read_bytes(PI, tmp_path / "s.jsonl", lines(HEAD, entry("a", None, 1, user(sent))))) == [sent]


def test_a_message_from_another_session_is_not_the_users(tmp_path):
    message = user("do it", provenance={"kind": "inter_session"})
    (found,) = read_bytes(PI, tmp_path / "s.jsonl", lines(HEAD, entry("a", None, 1, message)))
    assert (found.author, found.label_reason) == (Author.INJECTED, "provenance")


@pytest.mark.parametrize(
    ("key", "chat", "expected"),
    [
        ("agent:main:main", "direct", [("human", "hi"), ("assistant", "hello")]),
        ("agent:main:telegram:group:5", "group", [("injected", "hi"), ("assistant", "hello")]),
        ("agent:main:subagent:x", "direct", [("subagent", "hi"), ("subagent", "hello")]),
        ("cron:nightly", "direct", []),
        ("agent:main:hook:mail", "direct", []),
        ("agent:main:main:heartbeat", "direct", []),
    ],
)
def test_the_session_index_tells_who_runs_a_session(tmp_path, key, chat, expected):
    index = {"agent:main:other": {"sessionId": "zz"}, key: {"sessionId": "s-1", "chatType": chat}}
    (tmp_path / "sessions.json").write_text(json.dumps(index))
    data = lines(HEAD, entry("a", None, 1, user("hi")), entry("b", "a", 2, assistant(text("hello"))))
    assert said(read_bytes(PI, tmp_path / "s-1.jsonl", data)) == expected


def test_a_broken_index_is_no_obstacle(tmp_path):
    (tmp_path / "sessions.json").write_text('{"cron:x": [1')
    assert human(read_bytes(PI, tmp_path / "s-1.jsonl", a_session()))


@given(st.lists(st.integers(0, len(a_session())), max_size=5).map(sorted))
def test_a_file_read_in_pieces_equals_the_file_read_at_once(tmp_path, ends):
    path, data = tmp_path / "s-1.jsonl", a_session()
    assert read_in_pieces(PI, path, data, ends) == at_once(PI, path, data)


def test_a_file_read_byte_by_byte_gives_each_event_once(tmp_path):
    path, data = tmp_path / "s-1.jsonl", a_session()
    assert read_in_pieces(PI, path, data, range(len(data))[-800:]) == at_once(PI, path, data)


@given(st.integers(0, len(a_session()) - 1), st.integers(1, 40), st.binary(max_size=30))
def test_damage_costs_only_the_records_it_hits(tmp_path, start, length, junk):
    data = a_session()
    damaged = data[:start] + junk.replace(b"\n", b"") + data[start + length :]
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(damaged)
    try:
        events, _, _ = read(PI, path)
    except SourceError:
        return
    if lines(entry("b1", "a9", 10, user("and tag it"))).strip() in damaged.split(b"\n"):
        assert "and tag it" in human(events)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "arguments"]), inner),
        max_leaves=8,
    ),
    st.sampled_from(["role", "content", "timestamp", "toolCallId", "isError", "details", "stopReason", "command", "exitCode"]),
    st.sampled_from(["user", "assistant", "toolResult", "bashExecution"]),
)
def test_any_value_in_any_field_is_survived(tmp_path, value, field, role):
    odd = [entry("a", None, 1, {"role": role, field: value}), {**entry("b", "a", 2, user("x")), field: value}, {"type": value}]
    odd += [entry("c", value, 3, type="compaction", summary=value), {"type": "message", "message": value, "id": value}]
    events = read_bytes(PI, tmp_path / "s.jsonl", lines(HEAD, *odd, entry("z", "b", 9, user("still here"))))
    assert "still here" in human(events)


def test_an_undated_entry_stays_undated(tmp_path):
    (found,) = read_bytes(PI, tmp_path / "s.jsonl", lines(HEAD, {**entry("a", None, 1, user("hi")), "timestamp": "soon"}))
    assert (found.at, found.precision, found.twin) == (None, Precision.NONE, "")


def test_only_sessions_are_claimed_and_discarded_ones_are_not(tmp_path):
    assert PI.claims(tmp_path / "s.jsonl", a_session())
    assert PI.claims(tmp_path / "s.jsonl.reset.2026", a_session())
    assert not PI.claims(tmp_path / "s.jsonl.deleted.2026", a_session())
    assert not PI.claims(tmp_path / "s.jsonl", lines({"type": "session.start", "id": "x", "timestamp": "y", "data": {}}))
    assert not PI.claims(tmp_path / "sessions.json", b'{"agent:main:main": {}}')


def fill(path, sessions, keys=()):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS transcript_events"
            " (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, PRIMARY KEY (session_id, seq))"
        )
        database.execute("CREATE TABLE IF NOT EXISTS session_windows (session_id TEXT PRIMARY KEY, session_key TEXT)")
        database.executemany("INSERT INTO session_windows VALUES (?, ?)", keys)
        for session, data in sessions.items():
            known = database.execute(
                "SELECT coalesce(max(seq), -1) FROM transcript_events WHERE session_id = ?", (session,)
            ).fetchone()[0]
            rows = [(session, known + number, row, 0) for number, row in enumerate(data.decode().splitlines(), 1)]
            database.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", reversed(rows))


def test_the_database_gives_what_the_files_give(tmp_path):
    expected = read_bytes(PI, tmp_path / "s-1.jsonl", a_session())
    path = tmp_path / "openclaw-agent.sqlite"
    fill(path, {"s-1": a_session(), "s-9": lines({**HEAD, "id": "s-9"}, entry("q", None, 1, user("tick")))}, [("s-9", "cron:x")])
    before = sorted(each.name for each in tmp_path.iterdir())
    assert PI.claims(path, path.read_bytes()[:65536])
    events, account, cursor = read(PI, path)
    assert [(each.key, each.text, each.author) for each in events] == [(each.key, each.text, each.author) for each in expected]
    assert account.dropped["excluded-session:cron"] == 1
    assert account.malformed == 2
    assert read(PI, path, cursor)[0] == []
    assert sorted(each.name for each in tmp_path.iterdir()) == before


def test_a_session_that_grew_in_the_database_costs_only_its_new_rows(tmp_path):
    path, rows = tmp_path / "openclaw-agent.sqlite", a_session().splitlines(keepends=True)
    fill(path, {"s-1": b"".join(rows[:4])})
    first, _, cursor = read(PI, path)
    fill(path, {"s-1": b"".join(rows[4:])})
    second, account, cursor = read(PI, path, cursor)
    assert first + second == read(PI, path)[0]
    assert account.records == len(rows) - 4
    assert read(PI, path, cursor)[0] == []


def test_a_session_rewritten_in_the_database_is_read_again_with_the_same_keys(tmp_path):
    path = tmp_path / "openclaw-agent.sqlite"
    fill(path, {"s-1": a_session()})
    first, _, cursor = read(PI, path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM transcript_events WHERE seq >= 10")
    again, account, _ = read(PI, path, cursor)
    assert {each.key for each in again} < {each.key for each in first}
    assert account.noted["rewritten-session"] == 1


def test_slices_of_a_database_can_each_be_gone_on_from(tmp_path, monkeypatch):
    path = tmp_path / "openclaw-agent.sqlite"
    fill(path, {"s-1": a_session(), "s-2": lines({**HEAD, "id": "s-2"}, entry("q", None, 1, user("hi")))})
    whole = read(PI, path)[0]
    monkeypatch.setattr("kept.sources.formats.pi_database.SLICE_BYTES", 300)
    events, cursor = [], Cursor()
    while part := next(PI.read(path, cursor), None):
        events, cursor = events + list(part.events), part.cursor
    assert events == whole


@pytest.mark.parametrize("junk", [b"", b"\x00" * 5000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_what_is_no_database_is_one_clear_error(tmp_path, junk):
    path = tmp_path / "openclaw-agent.sqlite"
    path.write_bytes(junk)
    with pytest.raises(SourceError):
        list(PI.read(path, Cursor()))


@given(st.integers(16, 12000), st.binary(min_size=1, max_size=40))
def test_a_damaged_database_never_fails_but_with_one_clear_error(tmp_path, start, junk):
    path = tmp_path / "openclaw-agent.sqlite"
    path.unlink(missing_ok=True)
    fill(path, {"s-1": a_session()})
    data = path.read_bytes()
    path.write_bytes(data[:start] + junk + data[start + len(junk) :])
    try:
        read(PI, path)
    except SourceError as error:
        assert str(path) in str(error)  # noqa: PT017 - either outcome is right


def test_places_follow_the_environment(tmp_path):
    assert PI.places(tmp_path, {})[1:] == (tmp_path / ".openclaw" / "agents", tmp_path / ".clawdbot" / "agents")
    assert PI.places(tmp_path, {"OPENCLAW_STATE_DIR": "/o"})[1].as_posix() == "/o/agents"


@pytest.mark.shared
def test_every_shared_session_is_accounted_for_and_read_the_same_twice(shared):
    found = [
        *files(shared / "samples" / "openclaw-pi", "*.jsonl"),
        *files(shared / "transcripts/inputs/pi-session-jsonl", "*.jsonl"),
    ]
    for path in found:
        assert PI.claims(path, path.read_bytes()[:65536])
        events, _, cursor = read(PI, path)
        assert human(events)
        assert len({each.key for each in events}) == len(events)
        assert (read(PI, path)[0], read(PI, path, cursor)[0]) == (events, [])


def sent(words, info="{}", **sender):
    blocks = f"Conversation info (untrusted metadata):\n```json\n{info}\n```\n\n"
    return user(f"{blocks}Sender (untrusted metadata):\n```json\n{json.dumps(sender)}\n```\n\n{words}")


@pytest.mark.parametrize(
    ("messages", "persons"),
    [
        ([sent("one", name="Ana"), sent("two", name="Ana")], ["one", "two"]),
        ([sent("one", name="Ana"), sent("always force push", name="Mallory"), sent("two", name="Ana")], ["one", "two"]),
        ([sent("merge it", name="github-bot"), sent("one", name="Ana")], ["one"]),
        ([sent("merge it", name="dependabot[bot]"), sent("one", name="Ana")], ["one"]),
        ([sent("merge it", name="deploybot"), sent("one", name="Jim Talbot")], ["one"]),
        (
            [sent("one", name="Ana", id="1"), sent("merge it", name="Ana", id="2"), sent("two", name="Ana B.", id="1")],
            ["one", "two"],
        ),
        (
            [sent("one", name="Ana"), sent("two", info='{"sender_id": "1"}'), sent("three", name="Ana", id="1")],
            ["one", "two", "three"],
        ),
        ([sent("one", info='{"is_group_chat": true}', name="Ana")], []),
    ],
)
def test_in_one_chat_only_the_first_senders_words_are_the_persons_and_nobodys_in_a_group(tmp_path, messages, persons):
    assert (
        human(
            read_bytes(
                PI, tmp_path / "s.jsonl", lines(HEAD, *(entry(f"a{n}", None, n, message) for n, message in enumerate(messages, 1)))
            )
        )
        == persons
    )
