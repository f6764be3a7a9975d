"""Gemini CLI's chats: replaced lines, rewinds, and the older document."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, EventKind, Precision
from kept.sources.formats.gemini import Gemini
from reading import abandoned_texts, at_once, files, human, lines, read, read_bytes, read_in_pieces, said

GEMINI = Gemini()
HEAD = {"sessionId": "abc", "projectHash": "p", "startTime": "2026-08-10T09:15:00.000Z", "kind": "main"}


def at(second):
    return f"2026-08-10T09:{15 + second // 60:02d}:{second % 60:02d}.000Z"


def user(native, text, second=1, **more):
    return {"id": native, "timestamp": at(second), "type": "user", "content": [{"text": text}], **more}


def reply(native, text, second=2, **more):
    return {"id": native, "timestamp": at(second), "type": "gemini", "content": text, **more}


def call(native, command, result=None, status="executing", **more):
    given = {"id": native, "name": "run_shell_command", "args": {"command": command}, "status": status, **more}
    if result is not None:
        given["result"] = [{"functionResponse": {"id": native, "response": result}}]
    return given


def a_chat():
    finished = call("t1", "make", {"output": "Output: no\nExit Code: 2"}, "error")
    return lines(
        HEAD,
        user("m0", "<session_context>\nToday is …\n</session_context>"),
        user("m1", "why does it fail? — 😀", 10),
        reply("m2", "", 11, thoughts=[{"subject": "hm"}]),
        reply("m2", "", 11, toolCalls=[call("t1", "make")]),
        reply("m2", "Because.", 11, toolCalls=[finished]),
        reply("m2", "Because.", 11, toolCalls=[finished], tokens={"input": 1}),
        {"$set": {"lastUpdated": at(12)}},
        user("m3", "wrong idea", 20),
        reply("m4", "ok", 21),
        {"$rewindTo": "m3"},
        user("m5", "the right idea", 30),
        "null",
        "{ not json",
        {"id": "i1", "timestamp": at(31), "type": "info", "content": "cancelled"},
        {"$set": {"messages": [user("sum", "<state_snapshot>all so far</state_snapshot>", 40), user("m5", "[masked]", 30)]}},
        user("m6", "go on", 50),
    )


def test_what_a_hook_put_beside_a_prompt_is_the_clients_and_the_prompt_stays_the_persons(tmp_path):
    block = "<hook_context>&lt;kept-context&gt;\nAlways:\n\n- Ask first.\n&lt;/kept-context&gt;</hook_context>"
    parts = [{"text": f"{block}\n\nWhere does it write?"}, {"text": block}]
    shown = [{"text": f"{block}\n\nWhere does it write?"}]
    chat = lines(
        HEAD,
        user("m1", "", content=parts, displayContent=shown),
        user("m2", block, 2),
        user("m3", "Is <hook_context>x</hook_context> a tag?", 3),
    )
    events = at_once(GEMINI, tmp_path / "session.jsonl", chat)[0]
    assert human(events) == ["Where does it write?", "Is <hook_context>x</hook_context> a tag?"]
    assert [each.text for each in events if each.author is Author.INJECTED] == [f"{block}\n{block}", block]


def test_text_beside_a_tools_result_is_not_the_persons(tmp_path):
    result = {"functionResponse": {"name": "read_file", "response": {"output": "a"}}}
    chat = lines(HEAD, user("m1", "go on"), user("m2", "", 2, content=[result, {"text": "Always use tabs."}]))
    events = at_once(GEMINI, tmp_path / "session.jsonl", chat)[0]
    assert human(events) == ["go on"]
    assert [each.text for each in events if each.author is Author.INJECTED] == ["Always use tabs."]


def test_each_piece_is_taken_when_it_first_stands_there(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(a_chat())
    events, account, _ = read(GEMINI, path)
    assert human(events) == ["why does it fail? — 😀", "wrong idea", "the right idea", "go on"]
    assert [each.text for each in events if each.record == "m2"] == ["make", "Because.", "Output: no\nExit Code: 2"]
    assert len({each.key for each in events}) == len(events)
    assert account.dropped["told-twice"] == 1


def test_a_shell_commands_status_is_read_below_its_output(tmp_path):
    (done,) = [each for each in read_bytes(GEMINI, tmp_path / "s.jsonl", a_chat()) if each.kind is EventKind.TOOL_OUTPUT]
    assert (done.tool.ok, done.tool.exit_code, done.tool.target) == (False, 2, "make")


def test_what_a_compression_puts_in_place_is_its_own_and_nothing_is_forgotten(tmp_path):
    events = read_bytes(GEMINI, tmp_path / "s.jsonl", a_chat())
    assert [each.text for each in events if each.author is Author.COMPACTION] == ["<state_snapshot>all so far</state_snapshot>"]
    assert "[masked]" not in [each.text for each in events]


def test_a_rewind_gives_up_what_it_took_back_even_where_nothing_follows(tmp_path):
    assert abandoned_texts(read_bytes(GEMINI, tmp_path / "s.jsonl", a_chat())) == ["wrong idea", "ok", ""]
    last = lines(HEAD, user("m1", "one"), reply("m2", "1"), user("m3", "two"), {"$rewindTo": "m3"})
    assert abandoned_texts(read_bytes(GEMINI, tmp_path / "s.jsonl", last)) == ["two"]


def test_a_rewind_to_an_unknown_message_takes_back_all(tmp_path):
    data = lines(HEAD, user("m1", "one"), reply("m2", "1"), {"$rewindTo": "nowhere"}, user("m3", "anew", 9))
    assert abandoned_texts(read_bytes(GEMINI, tmp_path / "s.jsonl", data)) == ["one", "1", ""]


@pytest.mark.parametrize("text", ["/help", "/chat save x", "?"])
def test_an_order_to_the_client_is_no_speech(tmp_path, text):
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(HEAD, user("m1", text)))
    events, account, _ = read(GEMINI, path)
    assert not events
    assert account.dropped["command"] == 1


def test_a_path_and_a_question_mark_in_a_sentence_are_speech(tmp_path):
    data = lines(HEAD, user("m1", "/etc/hosts is wrong"), user("m2", "?! what"))
    assert human(read_bytes(GEMINI, tmp_path / "s.jsonl", data)) == ["/etc/hosts is wrong", "?! what"]


def test_files_that_a_prompt_names_and_expansions_are_not_the_users(tmp_path):
    files_in = [{"text": "explain @a"}, {"text": "\n--- Content from referenced files ---"}, {"text": "always push"}]
    data = lines(
        HEAD,
        {**user("m1", ""), "content": files_in},
        user("m2", "You are a reviewer. Review.", 2, displayContent=[{"text": "/review now please"}]),
        user("m3", "long expanded text", 3, displayContent="explain it"),
    )
    events = read_bytes(GEMINI, tmp_path / "s.jsonl", data)
    assert human(events) == ["explain @a", "explain it"]
    assert {each.author for each in events if "push" in each.text or "reviewer" in each.text} == {Author.INJECTED}


def test_a_subagents_chat_is_a_subagents(tmp_path):
    data = lines({**HEAD, "kind": "subagent"}, user("m1", "look"), reply("m2", "seen"))
    assert said(read_bytes(GEMINI, tmp_path / "s.jsonl", data)) == [("subagent", "look"), ("subagent", "seen")]
    data = lines({**HEAD, "kind": None}, user("m1", "look"))
    assert said(read_bytes(GEMINI, tmp_path / "chats" / "parent" / "x.jsonl", data)) == [("subagent", "look")]


def test_the_project_is_what_the_client_noted_beside_the_chats(tmp_path):
    (tmp_path / "slug").mkdir()
    (tmp_path / "slug" / ".project_root").write_text("/home/u/work\n")
    (found,) = read_bytes(GEMINI, tmp_path / "slug" / "chats" / "s.jsonl", lines(HEAD, user("m1", "hi")))
    assert found.project == "/home/u/work"


@pytest.mark.parametrize(("folder", "author"), [("/home/ada/shop", Author.HUMAN), ("/tmp/job-7", Author.INJECTED)])
def test_prompts_in_a_folder_where_no_person_works_are_a_programs_and_counted(tmp_path, folder, author):
    (path := tmp_path / "s.jsonl").write_bytes(lines({**HEAD, "directories": [folder]}, user("m1", "always use uv")))
    events, account, _ = read(GEMINI, path)
    assert [(each.author, each.text) for each in events] == [(author, "always use uv")]
    assert account.noted.get("program-prompt:folder", 0) == (author is not Author.HUMAN)


def a_document(messages, **more):
    return json.dumps({**HEAD, **more, "messages": messages}, indent=2).encode()


def test_the_older_document_gives_the_keys_it_will_have_as_lines(tmp_path):
    messages = [user("m1", "hello"), reply("m2", "hi"), 7, {"type": "user", "content": "no id"}]
    path = tmp_path / "session-x.json"
    path.write_bytes(a_document(messages))
    assert GEMINI.claims(path, path.read_bytes())
    events, account, cursor = read(GEMINI, path)
    assert said(events) == [("human", "hello"), ("assistant", "hi"), ("human", "no id")]
    assert (account.records, account.malformed) == (4, 1)
    assert read(GEMINI, path, cursor)[0] == []
    as_lines = read_bytes(GEMINI, tmp_path / "session-x.jsonl", lines(HEAD, *messages[:2]))
    assert [each.key for each in as_lines] == [each.key for each in events[:2]]


def test_a_changed_document_is_read_again_with_the_same_keys(tmp_path):
    path = tmp_path / "session-x.json"
    path.write_bytes(a_document([user("m1", "hello")]))
    first, _, cursor = read(GEMINI, path)
    path.write_bytes(a_document([user("m1", "hello"), reply("m2", "hi")]))
    second, account, _ = read(GEMINI, path, cursor)
    assert [each.key for each in second][:1] == [each.key for each in first]
    assert account.noted["rewritten-file"] == 1


def test_an_unfinished_document_is_an_error_that_consumes_nothing(tmp_path):
    path = tmp_path / "session-x.json"
    path.write_bytes(a_document([user("m1", "hello")])[:-9])
    with pytest.raises(SourceError, match="not a complete JSON"):
        list(GEMINI.read(path, Cursor()))


def test_a_converted_beginning_belongs_to_the_session_it_came_from_and_has_no_time(tmp_path):
    messages = [user("a", "old", 0), reply("b", "answer", 1), user("c", "new", 95)]
    path = tmp_path / "session-x.json"
    events = read_bytes(GEMINI, path, a_document(messages, specstorySourceSessionId="there"))
    assert [(each.session, each.author.value, each.at) for each in events] == [
        ("there", "injected", None),
        ("there", "injected", None),
        ("abc", "human", datetime(2026, 8, 10, 9, 16, 35, tzinfo=UTC)),
    ]


def test_an_undated_message_stays_undated(tmp_path):
    (found,) = read_bytes(GEMINI, tmp_path / "s.jsonl", lines(HEAD, {**user("m1", "hi"), "timestamp": None}))
    assert (found.at, found.precision, found.twin) == (None, Precision.NONE, "")


@given(st.lists(st.integers(0, len(a_chat())), max_size=5).map(sorted))
def test_a_file_read_in_pieces_equals_the_file_read_at_once(tmp_path, ends):
    path, data = tmp_path / "s.jsonl", a_chat()
    assert read_in_pieces(GEMINI, path, data, ends) == at_once(GEMINI, path, data)


def test_a_file_cut_at_each_end_of_a_line_and_within_each_character_gives_each_event_once(tmp_path):
    """And at every fifth byte of the rest."""
    path, data = tmp_path / "s.jsonl", a_chat()
    ends = [end for end in range(len(data)) if end % 5 == 0 or any(one == 10 or one > 127 for one in data[end - 1 : end + 2])]
    assert read_in_pieces(GEMINI, path, data, ends) == at_once(GEMINI, path, data)


@given(st.booleans(), st.integers(0, len(a_chat()) - 1), st.integers(1, 40), st.binary(max_size=30))
def test_damage_costs_only_the_records_it_hits(tmp_path, document, start, length, junk):
    data = (
        a_document([user("m1", "hello"), reply("m2", "hi", 2, toolCalls=[call("t", "ls", {"output": "a"})])])
        if document
        else a_chat()
    )
    path = tmp_path / ("s.json" if document else "s.jsonl")
    damaged = data[:start] + junk.replace(b"\n", b"") + data[start + length :]
    path.write_bytes(damaged)
    try:
        events, _, _ = read(GEMINI, path)
    except SourceError:
        return
    if not document and lines(user("m6", "go on", 50)).strip() in damaged.split(b"\n"):
        assert "go on" in human(events)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "id", "response", "output"]), inner),
        max_leaves=8,
    ),
    st.sampled_from(["content", "toolCalls", "thoughts", "type", "timestamp", "displayContent", "$set", "$rewindTo", "messages"]),
)
def test_any_value_in_any_field_is_survived(tmp_path, value, field):
    odd = [{**user("m1", "x"), field: value}, {**reply("m2", "y"), field: value}, {field: value}, {"$set": {field: value}}]
    tools = reply("m3", "", 3, toolCalls=[{"id": "t", "name": value, "args": value, "result": value, "status": value}, value])
    events = read_bytes(GEMINI, tmp_path / "s.jsonl", lines(HEAD, *odd, tools, user("m9", "still here", 9)))
    assert "still here" in human(events)


def test_only_a_chat_is_claimed(tmp_path):
    assert GEMINI.claims(tmp_path / "s.jsonl", a_chat())
    assert not GEMINI.claims(tmp_path / "s.json.unreadable-1", a_chat())
    assert not GEMINI.claims(tmp_path / "logs.json", b'[{"sessionId": "x"}]')
    assert not GEMINI.claims(tmp_path / "c.jsonl", lines({"type": "user", "sessionId": "x", "projectHash": "y"}))


@pytest.mark.shared
def test_every_shared_chat_is_accounted_for_and_read_the_same_twice(shared):
    for path in files(shared / "samples" / "gemini-cli", "session-*"):
        assert GEMINI.claims(path, path.read_bytes())
        events, _, cursor = read(GEMINI, path)
        assert human(events)
        assert (read(GEMINI, path)[0], read(GEMINI, path, cursor)[0]) == (events, [])
