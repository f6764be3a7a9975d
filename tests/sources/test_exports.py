"""Data exports: the branch that was looked at, nothing hidden, nothing to be forgotten, and archives that are no trap."""

import io
import json
import struct
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, EventKind, Precision, RecordAccount
from kept.sources.formats.exports import CHATGPT, read_elements
from kept.sources.formats.exports import CLAUDE_AI as CLAUDE
from reading import human, read, said


def node(ident, parent, role="user", text="", *, created=1765670401.5, content=None, **fields):
    message = {
        "id": ident,
        "author": {"role": role},
        "create_time": created,
        "content": content or {"content_type": "text", "parts": [text]},
        "recipient": "all",
        "metadata": {},
        **fields,
    }
    return ident, {"id": ident, "parent": parent, "children": [], "message": message}


def conversation(*nodes, current=None, **fields):
    mapping = dict([("root", {"id": "root", "parent": None, "children": [], "message": None}), *nodes])
    for ident, each in mapping.items():
        if each["parent"] in mapping:
            mapping[each["parent"]]["children"].append(ident)
    return {
        "title": "T",
        "create_time": 1765670400.0,
        "mapping": mapping,
        "current_node": current,
        "conversation_id": "c-1",
        **fields,
    }


def write(tmp_path, value, name="conversations.json"):
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def pack(tmp_path, members, name="export.zip"):
    path = tmp_path / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, value in members:
            archive.writestr(member, value if isinstance(value, str | bytes) else json.dumps(value))
    return path


def test_what_was_said_is_the_branch_that_was_looked_at(tmp_path):
    chat = conversation(
        node("u1", "root", text="SQS or Redis?"),
        node("a1", "u1", "assistant", "SQS."),
        node("a2", "u1", "assistant", "Redis."),
        node("u2", "a2", text="Redis it is."),
        node("u3", "a1", text="never mind"),
        current="u2",
    )
    events, account, _ = read(CHATGPT, write(tmp_path, [chat]))
    assert said(events) == [("human", "SQS or Redis?"), ("assistant", "Redis."), ("human", "Redis it is.")]
    assert account.dropped == {"no-message": 1, "off-path": 2}
    assert {event.session for event in events} == {"c-1"}
    assert {event.precision for event in events} == {Precision.MESSAGE}


def test_hidden_context_thoughts_tools_and_the_system_are_not_speech(tmp_path):
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    chat = conversation(
        node("s", "root", "system", "be nice", created=None),
        node("x", "s", content={"content_type": "user_editable_context", "user_profile": "p", "user_instructions": "i"}),
        node("h", "x", text="hidden", **hidden),
        node("u", "h", text="go"),
        node("t", "u", "assistant", content={"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]}),
        node("r", "t", "assistant", content={"content_type": "reasoning_recap", "content": "Thought"}),
        node("c", "r", "assistant", content={"content_type": "code", "language": "python", "text": "print(1)"}, recipient="python"),
        node("o", "c", "tool", content={"content_type": "execution_output", "text": "1"}),
        node("a", "o", "assistant", "done"),
        current="a",
    )
    events, account, _ = read(CHATGPT, write(tmp_path, [chat]))
    assert [(event.author, event.kind, event.text) for event in events] == [
        (Author.HUMAN, EventKind.PROMPT, "go"),
        (Author.ASSISTANT, EventKind.TOOL_CALL, "print(1)"),
        (Author.ASSISTANT, EventKind.RESPONSE, "done"),
    ]
    assert account.dropped == {"no-message": 1, "role:system": 1, "hidden-context": 1, "hidden": 1, "thinking": 2, "role:tool": 1}


@pytest.mark.parametrize("flag", [True, 1, "true"])
def test_a_conversation_that_is_not_to_be_remembered_is_not(tmp_path, flag):
    chats = [conversation(node("u", "root", text="secret"), current="u", is_do_not_remember=flag)]
    events, account, _ = read(CHATGPT, write(tmp_path, chats))
    assert (events, account.dropped) == ([], {"do-not-remember": 2})


def test_a_temporary_chat_is_not_remembered(tmp_path):
    chats = [conversation(node("u", "root", text="between us"), current="u", is_temporary_chat=True)]
    assert read(CHATGPT, write(tmp_path, chats))[0] == []


@pytest.mark.parametrize(
    "fields",
    [{"metadata": {"is_automation": True}}, {"metadata": {"automation_id": "a1"}}, {"recipient": "canmore"}, {"weight": 0.0}],
)
def test_a_message_of_a_scheduled_task_to_a_tool_or_without_weight_is_not_typed(tmp_path, fields):
    chat = conversation(node("u", "root", text="Send the digest at nine.", **fields), node("v", "u", text="thanks"), current="v")
    events, _, _ = read(CHATGPT, write(tmp_path, [chat]))
    assert [(event.author, event.text) for event in events] == [
        (Author.INJECTED, "Send the digest at nine."),
        (Author.HUMAN, "thanks"),
    ]


def test_a_named_user_is_one_of_several_authors(tmp_path):
    chat = conversation(node("u", "root", text="We ship on Mondays.", author={"role": "user", "name": "ida"}), current="u")
    events, account, _ = read(CHATGPT, write(tmp_path, [chat]))
    assert [event.label_reason for event in events] == ["unconfirmed:export:user"]
    assert account.noted == {"unconfirmed-prompt:named": 1}


def test_pictures_are_counted_and_the_words_beside_them_kept(tmp_path):
    content = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "image_asset_pointer"}, "this one", {"text": "spoken"}],
    }
    events, account, _ = read(CHATGPT, write(tmp_path, [conversation(node("u", "root", content=content), current="u")]))
    assert human(events) == ["this one\nspoken"]
    assert account.noted == {"part:image_asset_pointer": 1}


@pytest.mark.parametrize("current", [None, "gone", 7])
def test_without_a_current_node_the_youngest_leaf_is_it(tmp_path, current):
    chat = conversation(
        node("u", "root", text="q", created=10.0**9),
        node("a", "u", "assistant", "old", created=10.0**9 + 1),
        node("b", "u", "assistant", "new", created=10.0**9 + 2),
        current=current,
    )
    assert said(read(CHATGPT, write(tmp_path, [chat]))[0]) == [("human", "q"), ("assistant", "new")]


def test_a_tree_that_is_a_ring_ends(tmp_path):
    chat = conversation(node("a", "b", text="x"), node("b", "a", text="y"), current="a")
    assert len(read(CHATGPT, write(tmp_path, [chat]))[0]) == 2


def test_an_undated_message_has_its_conversations_time_or_none(tmp_path):
    chats = [
        conversation(node("u1", "root", text="a", created=None), current="u1"),
        conversation(node("u2", "root", text="b", created=None), current="u2", create_time=None, conversation_id="c-2"),
    ]
    events, _, _ = read(CHATGPT, write(tmp_path, chats))
    assert [(event.at is not None, event.precision, event.twin) for event in events] == [
        (True, Precision.SESSION, ""),
        (False, Precision.NONE, ""),
    ]


def message(ident, parent, sender="human", text="", created="2026-05-01T10:00:00Z", **fields):
    return {
        "uuid": ident,
        "parent_message_uuid": parent,
        "sender": sender,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "created_at": created,
        "attachments": [],
        **fields,
    }


ROOT = "00000000-0000-4000-8000-000000000000"


def claude(*messages, **fields):
    return {"uuid": "c-1", "name": "", "created_at": "2026-05-01T09:00:00Z", "chat_messages": list(messages), **fields}


def test_claude_ais_active_branch_ends_in_the_youngest_message(tmp_path):
    chat = claude(
        message("h1", ROOT, text="one"),
        message("b1", "h1", "assistant", "answer", "2026-05-01T10:00:04Z"),
        message("h2", "h1", text="edited", created="2026-05-01T10:05:00Z"),
        message("b2", "h2", "assistant", "réponse", "2026-05-01T10:05:05Z"),
    )
    events, account, _ = read(CLAUDE, write(tmp_path, [chat, claude(uuid="c-2")]))
    assert said(events) == [("human", "one"), ("human", "edited"), ("assistant", "réponse")]
    assert account.dropped == {"off-path": 1, "empty-conversation": 1}


def test_claude_ais_blocks_attachments_and_bare_texts(tmp_path):
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "name": "artifacts", "id": "t1", "input": {"command": "create"}},
        {
            "type": "tool_result",
            "name": "artifacts",
            "tool_use_id": "t1",
            "content": [{"type": "text", "text": "OK"}],
            "is_error": False,
        },
        {"type": "text", "text": "Done."},
    ]
    chat = claude(
        message("h", ROOT, text="look", content=[], attachments=[{"file_name": "n.txt", "extracted_content": "always push"}]),
        message("b", "h", "assistant", "", "2026-05-01T10:00:04Z", content=blocks),
    )
    events, account, _ = read(CLAUDE, write(tmp_path, [chat]))
    assert [(event.author, event.kind, event.text) for event in events] == [
        (Author.HUMAN, EventKind.PROMPT, "look"),
        (Author.INJECTED, EventKind.PROMPT, "always push"),
        (Author.ASSISTANT, EventKind.TOOL_CALL, "create"),
        (Author.TOOL, EventKind.TOOL_OUTPUT, "OK"),
        (Author.ASSISTANT, EventKind.RESPONSE, "Done."),
    ]
    assert events[3].tool.ok is True
    assert account.noted == {"block:thinking": 1}


def test_old_exports_without_parents_are_read_in_order(tmp_path):
    chat = claude(message("h", None, text="a"), message("b", None, "assistant", "b"))
    assert said(read(CLAUDE, write(tmp_path, [chat]))[0]) == [("human", "a"), ("assistant", "b")]


CHATS = [conversation(node(f"u{n}", "root", text=f"text {n}"), current=f"u{n}", conversation_id=f"c-{n}") for n in range(9)]


def test_a_zip_its_json_and_a_zip_in_parts_give_the_same_events(tmp_path):
    events, _, _ = read(CHATGPT, write(tmp_path, CHATS))
    whole = pack(tmp_path, [("chat.html", "<html>"), ("conversations.json", CHATS)], "a.zip")
    parts = pack(tmp_path, [("x/conversations-001.json", CHATS[4:]), ("x/conversations-000.json", CHATS[:4])], "b.zip")
    for path in (whole, parts):
        found, account, cursor = read(CHATGPT, path)
        assert [event.key for event in found] == [event.key for event in events]
        assert list(CHATGPT.read(path, cursor)) == []
        assert account.noted.get("other-member", 0) == (path == whole)


def test_each_reader_claims_its_own_export_only(tmp_path):
    ours, theirs = write(tmp_path, CHATS, "a.json"), write(tmp_path, [claude(message("h", ROOT, text="a"))], "b.json")
    for path in (ours, pack(tmp_path, [("conversations.json", CHATS)])):
        assert CHATGPT.claims(path, path.read_bytes())
        assert not CLAUDE.claims(path, path.read_bytes())
    assert CLAUDE.claims(theirs, theirs.read_bytes())
    assert not CHATGPT.claims(theirs, theirs.read_bytes())
    for other in (write(tmp_path, "{}", "c.json"), write(tmp_path, "plain", "d.json"), pack(tmp_path, [("a.txt", "x")], "c.zip")):
        assert not CHATGPT.claims(other, other.read_bytes())


def test_an_export_can_be_left_after_any_slice_and_gone_on_with(tmp_path, monkeypatch):
    path = pack(tmp_path, [("conversations.json", CHATS)])
    whole, total, end = read(CHATGPT, path)
    monkeypatch.setattr("kept.sources.formats.exports.SLICE_BYTES", 500)
    events, account, cursor, slices = [], RecordAccount(), Cursor(), 0
    while part := next(iter(CHATGPT.read(path, cursor)), None):
        events += part.events
        account += part.account
        cursor, slices = part.cursor, slices + 1
    assert slices > 3
    assert (events, account, cursor) == (whole, total, end)


def test_a_newer_export_is_read_again_and_old_messages_keep_their_keys(tmp_path):
    path = write(tmp_path, CHATS)
    before, _, cursor = read(CHATGPT, path)
    write(tmp_path, [conversation(node("new", "root", text="new"), current="new", conversation_id="c-new"), *CHATS])
    after, account, _ = read(CHATGPT, path, cursor)
    assert account.noted == {"rewritten-file": 1}
    assert [event.text for event in after if event.key not in {old.key for old in before}] == ["new"]


def test_a_file_cut_off_gives_its_whole_conversations_and_says_what_is_pending(tmp_path):
    text = json.dumps(CHATS)
    events, account, _ = read(CHATGPT, write(tmp_path, text[: text.index('"c-3"')]))
    assert human(events) == ["text 0", "text 1", "text 2"]
    assert account.pending > 0


def test_a_broken_conversation_costs_itself_alone(tmp_path):
    text = json.dumps(CHATS[:2])[:-1] + ', {"mapping": {"a": 1, "a": 2}}, null, 5, {"mapping": []}, ' + json.dumps(CHATS[2]) + "]"
    events, account, _ = read(CHATGPT, write(tmp_path, text))
    assert human(events) == ["text 0", "text 1", "text 2"]
    assert account.dropped["duplicate-key"] == 1
    assert account.malformed == 3
    assert account.dropped["empty-conversation"] == 1


def test_members_that_lead_outside_are_not_read(tmp_path):
    path = pack(tmp_path, [("../conversations.json", CHATS), ("/conversations.json", CHATS), ("a/conversations.json", CHATS[:1])])
    events, account, _ = read(CHATGPT, path)
    assert human(events) == ["text 0"]
    assert account.noted == {"unsafe-member": 2}
    with pytest.raises(SourceError, match="without conversations"):
        read(CHATGPT, pack(tmp_path, [("..\\conversations.json", CHATS)], "b.zip"))


def test_a_bomb_is_refused(tmp_path):
    path = pack(tmp_path, [("conversations.json", b"[" + b" " * 50_000_000 + b"]")])
    assert path.stat().st_size < 100_000
    with pytest.raises(SourceError, match="would unpack"):
        read(CHATGPT, path)


def test_a_list_of_members_that_fills_the_memory_is_refused(tmp_path):
    path = pack(tmp_path, [("conversations.json", CHATS)])
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.rindex(b"PK\x05\x06") + 12, 2**30)
    path.write_bytes(data)
    with pytest.raises(SourceError, match="too many members"):
        read(CHATGPT, path)


@given(st.data())
def test_a_damaged_zip_is_a_source_error_or_read(tmp_path, data):
    path = pack(tmp_path, [("conversations.json", CHATS)])
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(5, len(raw)))])
    with suppress(SourceError):
        read(CHATGPT, path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_wide_encoding_is_refused(tmp_path, encoding):
    path = tmp_path / "conversations.json"
    path.write_bytes(json.dumps(CHATS).encode(encoding))
    with pytest.raises(SourceError, match="not UTF-8"):
        read(CHATGPT, path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet=st.sampled_from(list('a"\\[]{},: é\n'))),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(alphabet=st.sampled_from(list('"\\]}a')), max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=3) | st.lists(JSON, max_size=2), max_size=6),
    st.integers(1, 40),
    st.booleans(),
)
def test_elements_are_those_that_json_sees_wherever_the_chunks_end(values, stride, pretty):
    data = json.dumps(values, indent=2 if pretty else None).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kept.sources.formats.exports.STRIDE", stride)
        found = list(read_elements(io.BytesIO(data)))
    assert [json.loads(each.data) for each in found] == values
    assert [json.loads(data[each.start : each.end]) for each in found] == values


def test_an_element_above_the_limit_is_passed_over_in_bounded_memory():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kept.sources.formats.exports.LINE_LIMIT", 50)
        patch.setattr("kept.sources.formats.exports.STRIDE", 16)
        found = list(read_elements(io.BytesIO(b'[{"a": 1}, {"b": "' + b"x" * 500 + b'"}, {"c": 2}]')))
    assert [each.data for each in found] == [b'{"a": 1}', None, b'{"c": 2}']


@pytest.mark.shared
def test_the_shared_exports(shared):
    events, _, _ = read(CHATGPT, shared / "samples" / "chatgpt" / "synthetic" / "conversations.json")
    assert human(events) == ["Pick a queue: SQS or Redis?", "Agreed, Redis it is."]
    events, _, _ = read(CLAUDE, shared / "samples" / "claude-ai" / "synthetic" / "conversations.json")
    assert human(events) == ["Summarise this", "(edited branch) Summarise in French"]
