"""Claude Code files that grow, shrink, move and hold anything: reading on from a cursor."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_lines import READER, assistant, line, read, result, use, user
from kept.core.event import Cursor, RecordAccount


def a_session() -> bytes:
    records = (
        user("go — 😀"),
        "",
        assistant([{"type": "thinking", "thinking": "hm"}], "a1", parentUuid="u1"),
        assistant([use(command="ls"), use("Read", "t2", file_path="/a")], "a2", parentUuid="a1"),
        "null",
        {"type": "queue-operation", "operation": "enqueue", "content": "use uv", "sessionId": "s1"},
        user([result("a.py")], "u2", parentUuid="a2"),
        json.dumps(user([result("x", "t2")], "u3", parentUuid="a2")) + json.dumps({"type": "summary", "summary": "s"}),
        "rubbish",
        {"type": "queue-operation", "operation": "remove"},
        user("<system-reminder>x</system-reminder>\nyes", "u4", parentUuid="u3"),
        user("last", "u5", cwd=None, sessionId=None),
    )
    return b"".join(line(record) for record in records)


def in_pieces(path, data, ends):
    events, account, cursor = [], RecordAccount(), Cursor()
    for end in [*ends, len(data)]:
        path.write_bytes(data[:end])
        more, part, cursor = read(path, cursor)
        events += more
        account += part
    return events, account, cursor


SESSIONS = [a_session(), a_session()[:-1], a_session().replace(b"}\n{", b"} {"), a_session()[:-1] + b"  \0"]


@pytest.mark.parametrize("data", SESSIONS, ids=["lines", "without a final newline", "several objects a line", "a blank end"])
@settings(max_examples=settings.default.max_examples // 5)
@given(st.lists(st.integers(0, len(a_session())), max_size=5).map(sorted))
def test_a_file_read_in_pieces_equals_the_file_read_at_once(tmp_path, data, ends):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(data)
    assert in_pieces(path, data, ends) == read(path)


@pytest.mark.parametrize(
    ("data", "start"),
    [(SESSIONS[0], 0), (SESSIONS[1], -300), (SESSIONS[2], -600), (SESSIONS[3], -300)],
    ids=["lines", "the end without a newline", "several objects a line", "a blank end"],
)
def test_a_file_read_byte_by_byte_equals_the_file_read_at_once(tmp_path, data, start):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(data)
    at_once = read(path)
    assert in_pieces(path, data, range(len(data))[start:]) == at_once


def test_a_whole_last_record_is_read_without_its_newline_and_only_once(tmp_path):
    path = tmp_path / "s1.jsonl"
    data = line(user("a")) + line(user("b", "u2"))
    path.write_bytes(data[:-1])
    events, account, cursor = read(path)
    assert ([event.text for event in events], account.pending) == (["a", "b"], 0)
    assert list(READER.read(path, cursor)) == []
    path.write_bytes(data)
    assert read(path, cursor)[:2] == ([], RecordAccount())
    path.write_bytes(data + line(user("c", "u3")))
    (event,), account, _ = read(path, cursor)
    assert (event.text, event.pointer.line, account.noted) == ("c", 3, {})


@pytest.mark.parametrize(("limit", "most"), [("SLICE_BYTES", 300), ("SLICE_EVENTS", 1)])
def test_slices_are_bounded_and_each_can_be_gone_on_from(tmp_path, monkeypatch, limit, most):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(a_session())
    whole = read(path)
    monkeypatch.setattr(f"kept.sources.json_lines.{limit}", most)
    slices = list(READER.read(path, Cursor()))
    assert len(slices) > 3
    assert read(path)[:2] == whole[:2]
    for index, piece in enumerate(slices):
        events, _, _ = read(path, piece.cursor)
        assert events == [event for later in slices[index + 1 :] for event in later.events]


def test_nothing_new_yields_nothing(tmp_path):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(a_session())
    _, _, cursor = read(path)
    assert list(READER.read(path, cursor)) == []


def test_an_unfinished_last_line_is_pending_and_read_once_when_finished(tmp_path):
    path = tmp_path / "s1.jsonl"
    whole = line(user("a")) + line(user("b", "u2"))
    path.write_bytes(whole[:-20])
    events, account, cursor = read(path)
    assert [event.text for event in events] == ["a"]
    assert (account.pending, account.malformed) == (len(line(user("b", "u2"))) - 20, 0)
    (piece,) = READER.read(path, cursor)
    assert (piece.cursor, piece.events, piece.account.pending) == (cursor, (), account.pending)
    path.write_bytes(whole)
    events, account, _ = read(path, cursor)
    assert ([event.text for event in events], account.pending) == (["b"], 0)


@pytest.mark.parametrize("change", ["shrunk", "replaced", "same length"])
def test_a_file_that_was_rewritten_is_read_again_from_its_start(tmp_path, change):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(line(user("a")) + line(user("b", "u2")))
    _, _, cursor = read(path)
    new = {"shrunk": [user("a")], "replaced": [user("c", f"n{i}") for i in range(9)], "same length": [user("x"), user("b", "u2")]}[
        change
    ]
    path.write_bytes(b"".join(line(record) for record in new))
    events, account, _ = read(path, cursor)
    assert len(events) == len(new)
    assert account.noted == {"rewritten-file": 1}


def test_a_moved_copy_of_a_file_is_gone_on_from(tmp_path):
    path, copy = tmp_path / "s1.jsonl", tmp_path / "copy" / "s1.jsonl"
    path.write_bytes(a_session())
    _, _, cursor = read(path)
    copy.parent.mkdir()
    copy.write_bytes(a_session() + line(user("more", "u9")))
    events, _, _ = read(copy, cursor)
    assert [event.text for event in events] == ["more"]


def test_the_carry_holds_none_of_the_transcripts_text(tmp_path):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(
        line(assistant([use(command="curl -H 'Authorization: hunter2'")]))
        + line({"type": "queue-operation", "operation": "enqueue", "content": "my password is hunter2", "sessionId": "s1"})
    )
    _, _, cursor = read(path)
    assert "hunter2" not in cursor.carry
    path.write_bytes(path.read_bytes() + line(user([result("ok")])) + line({"type": "queue-operation", "operation": "remove"}))
    output, steering = read(path, cursor)[0]
    assert output.tool is not None
    assert output.tool.target == "curl -H 'Authorization: hunter2'"
    assert steering.text == "my password is hunter2"


def test_the_carry_stays_bounded(tmp_path):
    path = tmp_path / "s1.jsonl"
    records = [assistant([use(call=f"call-{i}", command="x" * 3000)], f"a{i}") for i in range(500)]
    records += [{"type": "progress", "uuid": f"{i:036}", "parentUuid": f"{i - 1:036}"} for i in range(9000)]
    records += [{"type": "queue-operation", "operation": "enqueue", "content": "y" * 3000} for _ in range(500)]
    path.write_bytes(b"".join(line(record) for record in records))
    _, _, cursor = read(path)
    assert len(cursor.carry) < 500_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "id", "name", "input"]), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = [
    "uuid",
    "parentUuid",
    "sessionId",
    "timestamp",
    "cwd",
    "message",
    "toolUseResult",
    "attachment",
    "origin",
    "content",
    "operation",
]
RECORDS = st.builds(
    lambda kind, fields, content: {
        **fields,
        "type": kind,
        **({"message": {"content": content}} if "message" not in fields else {}),
    },
    st.sampled_from(["user", "assistant", "system", "attachment", "queue-operation", "summary"]) | JSON,
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5),
    JSON,
)


@given(st.lists(RECORDS, max_size=6))
def test_no_record_makes_the_reader_fail_and_every_one_is_accounted_for(tmp_path, records):
    path = tmp_path / "s1.jsonl"
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    path.write_bytes(data)
    events, account, cursor = read(path)
    assert account.records == len(records)
    assert account.events == len(events)
    assert cursor is None or cursor.offset == len(data)
