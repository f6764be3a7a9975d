"""Copilot on the command line and in VS Code: logs that grow, patches in any order, answers that are whole."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, EventKind, Precision
from kept.sources.formats.copilot import CopilotChat, CopilotCli
from reading import at_once, human, lines, read, read_bytes, read_in_pieces, said

CLI, CHAT = CopilotCli(), CopilotChat()


def event(kind, ident, parent=None, **data):
    return {"type": kind, "id": ident, "parentId": parent, "timestamp": f"2026-07-01T08:00:{int(ident[1:]):02d}.000Z", "data": data}


LOG = lines(
    event("session.start", "e0", sessionId="s-1", context={"cwd": "/home/u/p", "branch": "main"}),
    event("user.message", "e1", "e0", content="bump the linter — é"),
    event(
        "assistant.message",
        "e2",
        "e1",
        content="",
        messageId="m1",
        toolRequests=[
            {"toolCallId": "t1", "name": "bash", "arguments": {"command": "npm i"}},
            {"toolCallId": "t2", "name": "view", "arguments": '{"path": "/a"}'},
        ],
    ),
    event("tool.execution_complete", "e3", "e2", toolCallId="t1", success=True, result={"content": "added"}),
    "rubbish",
    event("tool.execution_complete", "e4", "e3", toolCallId="t2", success=False, error={"message": "gone"}),
    event("user.message", "e5", "e4", content="You are a skill", source="skill-x"),
    event("assistant.message", "e6", "e5", content="from below", parentToolCallId="t9"),
    event("assistant.message", "e7", "e6", content="Bumped."),
)


def test_a_log_gives_prompts_answers_calls_and_their_outputs(tmp_path):
    events = read_bytes(CLI, tmp_path / "s-1" / "events.jsonl", LOG)
    assert [(each.author, each.kind, each.text) for each in events] == [
        (Author.HUMAN, EventKind.PROMPT, "bump the linter — é"),
        (Author.ASSISTANT, EventKind.TOOL_CALL, "npm i"),
        (Author.ASSISTANT, EventKind.TOOL_CALL, "/a"),
        (Author.TOOL, EventKind.TOOL_OUTPUT, "added"),
        (Author.TOOL, EventKind.TOOL_OUTPUT, "gone"),
        (Author.INJECTED, EventKind.PROMPT, "You are a skill"),
        (Author.SUBAGENT, EventKind.RESPONSE, "from below"),
        (Author.ASSISTANT, EventKind.RESPONSE, "Bumped."),
    ]
    assert [(each.tool.name, each.tool.target, each.tool.ok) for each in events[3:5]] == [
        ("bash", "npm i", True),
        ("view", "/a", False),
    ]
    assert {(each.session, each.project, each.branch) for each in events} == {("s-1", "/home/u/p", "main")}


def test_the_prompt_of_a_sub_agent_is_not_the_persons(tmp_path):
    log = lines(
        event("session.start", "e0", sessionId="s-1"),
        event("user.message", "e1", "e0", content="look around"),
        event("user.message", "e2", "e1", content="Always use tabs.", parentToolCallId="t9"),
        {**event("user.message", "e3", "e2", content="Never rebase."), "agentId": "explore-1"},
        {**event("assistant.message", "e4", "e3", content="Noted."), "agentId": "explore-1"},
    )
    events = read_bytes(CLI, tmp_path / "s-1" / "events.jsonl", log)
    assert [(each.author, each.text) for each in events] == [
        (Author.HUMAN, "look around"),
        (Author.SUBAGENT, "Always use tabs."),
        (Author.SUBAGENT, "Never rebase."),
        (Author.SUBAGENT, "Noted."),
    ]


@pytest.mark.parametrize("mark", ["isSystemInitiated", "isHidden", "subAgentInvocationId"])
def test_a_request_that_the_client_or_an_agent_sent_is_not_typed(tmp_path, mark):
    data = patches(push({**request("r1", "the terminal command ended"), mark: "x"}), push(request("r2", "go on")))
    events = read_bytes(CHAT, tmp_path / "chatSessions" / "a.jsonl", data)
    assert [(each.author, each.text) for each in events] == [
        (Author.INJECTED, "the terminal command ended"),
        (Author.HUMAN, "go on"),
    ]


def test_what_autopilot_sends_to_go_on_is_not_the_persons(tmp_path):
    log = lines(
        event("user.message", "e0", content="We always use tabs.", parentAgentTaskId="t1"),  # on ordinary prompts too
        event("user.message", "e1", "e0", content="We always use spaces.", isAutopilotContinuation=True),
    )
    events = read_bytes(CLI, tmp_path / "events.jsonl", log)
    assert said(events) == [("human", "We always use tabs."), ("injected", "We always use spaces.")]


def test_a_log_read_byte_by_byte_equals_the_log_read_at_once(tmp_path):
    path = tmp_path / "s-1" / "events.jsonl"
    path.parent.mkdir()
    assert read_in_pieces(CLI, path, LOG, range(len(LOG))) == at_once(CLI, path, LOG)


def test_the_carry_holds_no_text_of_the_log(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(LOG.splitlines(keepends=True)[:3]))
    assert "npm" not in read(CLI, path)[2].carry


def test_the_working_directory_may_stand_beside_the_log(tmp_path):
    folder = tmp_path / "s-9"
    folder.mkdir()
    (folder / "workspace.yaml").write_text("id: s-9\ncwd: /home/u/q\n")
    (only,) = read_bytes(CLI, folder / "events.jsonl", lines(event("user.message", "e1", content="hi")))
    assert (only.session, only.project) == ("s-9", "/home/u/q")


def test_each_reader_claims_its_own(tmp_path):
    assert CLI.claims(tmp_path / "events.jsonl", LOG)
    assert not CLI.claims(tmp_path / "events.jsonl", lines({"type": "session", "id": "x"}))
    assert CHAT.claims(tmp_path / "a.jsonl", lines({"kind": 0, "v": {"sessionId": "s"}}))
    assert not CHAT.claims(tmp_path / "a.jsonl", LOG)


def request(ident, text, response=(), **fields):
    return {"requestId": ident, "timestamp": 1782900001000, "message": {"text": text}, "response": list(response), **fields}


def patches(*each):
    return lines({"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": []}}, *each)


def push(*requests):
    return {"kind": 2, "k": ["requests"], "v": list(requests)}


def test_patches_add_up_to_requests_and_their_answers(tmp_path):
    invocation = {
        "kind": "toolInvocationSerialized",
        "toolId": "run_in_terminal",
        "toolCallId": "t1",
        "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "make"}, "terminalCommandState": {"exitCode": 2}},
    }
    data = patches(
        push(request("r1", "build it")),
        {"kind": 1, "k": ["requests", 0, "response"], "v": [{"value": "Buil"}]},
        {
            "kind": 1,
            "k": ["requests", 0, "response"],
            "v": [{"value": "Building "}, {"value": "now."}, invocation, {"kind": "thinking"}],
        },
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"kind": "markdownContent", "content": {"value": "It failed."}}]},
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 1}},
    )
    events = read_bytes(CHAT, tmp_path / "s.jsonl", data)
    assert [(each.author, each.kind, each.text) for each in events] == [
        (Author.HUMAN, EventKind.PROMPT, "build it"),
        (Author.ASSISTANT, EventKind.RESPONSE, "Building now."),
        (Author.ASSISTANT, EventKind.TOOL_CALL, "make"),
        (Author.ASSISTANT, EventKind.RESPONSE, "It failed."),
    ]
    assert (events[2].tool.exit_code, events[2].tool.ok) == (2, False)
    assert [each.precision for each in events] == [Precision.MESSAGE, *[Precision.INFERRED] * 3]


def test_an_answer_is_read_when_it_is_whole(tmp_path):
    path = tmp_path / "s.jsonl"
    grown = [push(request("r1", "explain")), {"kind": 1, "k": ["requests", 0, "response"], "v": [{"value": "It ma"}]}]
    path.write_bytes(patches(*grown))
    before, account, cursor = read(CHAT, path)
    assert said(before) == [("human", "explain")]
    assert account.noted == {"unfinished-answer": 1}
    grown += [
        {"kind": 1, "k": ["requests", 0, "response"], "v": [{"value": "It matches."}]},
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 1}},
    ]
    path.write_bytes(patches(*grown))
    after, _, cursor = read(CHAT, path, cursor)
    assert said(after) == [("human", "explain"), ("assistant", "It matches.")]
    assert after[0].key == before[0].key
    assert list(CHAT.read(path, cursor)) == []


def test_an_answer_that_was_given_up_is_read_once_another_request_follows(tmp_path):
    data = patches(push(request("r1", "a", [{"value": "half"}])), push(request("r2", "b")))
    assert said(read_bytes(CHAT, tmp_path / "s.jsonl", data)) == [("human", "a"), ("assistant", "half"), ("human", "b")]


def test_appending_from_an_index_replaces_what_stood_there_and_deleting_removes(tmp_path):
    data = patches(
        push(request("r1", "a"), request("r2", "b")),
        {"kind": 2, "k": ["requests"], "i": 1, "v": [request("r3", "c")]},
        {"kind": 1, "k": ["extra"], "v": 1},
        {"kind": 3, "k": ["extra"]},
    )
    assert human(read_bytes(CHAT, tmp_path / "s.jsonl", data)) == ["a", "c"]


def test_a_session_in_one_object_is_read_unless_a_log_replaces_it(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(
        json.dumps({"version": 3, "requests": [request("r1", "hi", [{"value": "ho"}], result={})], "sessionId": "s"}, indent=1)
    )
    assert CHAT.claims(path, path.read_bytes())
    assert said(read(CHAT, path)[0]) == [("human", "hi"), ("assistant", "ho")]
    path.with_suffix(".jsonl").write_bytes(patches())
    assert not CHAT.claims(path, path.read_bytes())


def test_the_project_is_the_workspaces_folder(tmp_path):
    (tmp_path / "workspace.json").write_text('{"folder": "file:///home/u/my%20project"}')
    path = tmp_path / "chatSessions" / "s.jsonl"
    assert read_bytes(CHAT, path, patches(push(request("r1", "hi"))))[0].project == "/home/u/my project"


def test_broken_lines_cost_themselves_and_an_unfinished_one_is_pending(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(patches("rubbish", push(request("r1", "hi"))) + b'{"kind": 1, "k": ["req')
    events, account, _ = read(CHAT, path)
    assert human(events) == ["hi"]
    assert (account.dropped, account.pending) == ({"not-json": 1}, 22)


def test_a_file_above_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("kept.sources.formats.copilot._SESSION_LIMIT", 10)
    path = tmp_path / "s.jsonl"
    path.write_bytes(patches())
    with pytest.raises(SourceError, match="larger"):
        list(CHAT.read(path, Cursor()))


KEYS = st.lists(st.sampled_from(["requests", "response", "message", "text", 0, 1, -1, 10**9, None, True]), max_size=5)
VALUES = st.sampled_from([None, 1, "x", [], {}, [{"value": "y"}], {"requests": [1, {"message": 5}]}, request("r", "t")])
PATCH = st.fixed_dictionaries(
    {"kind": st.sampled_from([0, 1, 2, 3, 4, None, "x"])}, optional={"k": KEYS, "v": VALUES, "i": st.integers(-5, 5)}
)


@given(st.lists(PATCH, max_size=12))
def test_no_patch_raises(tmp_path, log):
    path = tmp_path / "s.jsonl"
    path.write_bytes(patches(*log))
    read(CHAT, path)


@pytest.mark.shared
def test_the_shared_sessions(shared):
    folder = shared / "samples" / "copilot"
    assert human(read(CLI, folder / "synthetic-cli" / "session-state" / "1a2b" / "events.jsonl")[0]) == ["bump the linter"]
    events = read(CHAT, folder / "synthetic-vscode" / "chatSessions" / "9c.jsonl")[0]
    assert said(events) == [("human", "explain this regex"), ("assistant", "It matches ISO dates.")]
