"""Codex's rollouts: who said what, when, and what of it is a copy."""

import importlib.util
import json
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, EventKind, Precision
from kept.sources.formats.codex import Codex
from reading import abandoned_texts, at_once, files, human, lines, read, read_bytes, read_in_pieces, said

CODEX = Codex()


def row(kind, payload, second=0, *, day="2026-06-26"):
    return {"timestamp": f"{day}T02:{second // 60:02d}:{second % 60:02d}.500Z", "type": kind, "payload": payload}


def meta(native="s1", second=0, **more):
    stamp = f"2026-06-26T02:{second // 60:02d}:{second % 60:02d}.500Z"
    given = {"id": native, "timestamp": stamp, "cwd": "/repo", "source": "cli", "git": {"branch": "main"}, **more}
    return row("session_meta", given, second)


def item(role, text, second=1, *texts):
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": each} for each in (text, *texts)]
    return row("response_item", {"type": "message", "role": role, "content": content}, second)


def event(kind, second=1, **payload):
    return row("event_msg", {"type": kind, **payload}, second)


def prompt(text, second=1):
    return item("user", text, second), event("user_message", second, message=text, images=[])


def call(name, arguments, native, second=2):
    return row(
        "response_item", {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": native}, second
    )


def output(native, text, second=3):
    return row("response_item", {"type": "function_call_output", "call_id": native, "output": text}, second)


@pytest.mark.parametrize(
    ("more", "author"),
    [
        ({"source": "exec", "originator": "codex_exec", "cwd": "/home/ada/shop"}, Author.HUMAN),
        ({"source": "exec", "originator": "codex_exec", "cwd": "/tmp/job-7"}, Author.INJECTED),
        ({"source": "exec", "originator": "codex_sdk_ts", "cwd": "/home/ada/shop"}, Author.INJECTED),
        ({"source": "cli", "originator": "codex_cli_rs", "cwd": "/tmp/job-7"}, Author.HUMAN),
    ],
)
def test_prompts_of_codex_exec_are_the_persons_but_for_a_programs_folder_or_library_and_those_are_counted(tmp_path, more, author):
    (path := tmp_path / "a.jsonl").write_bytes(lines(meta(**more), *prompt("always use uv")))
    events, account, _ = read(CODEX, path)
    assert {each.author for each in events if each.text == "always use uv"} == {author}
    assert account.noted.get("program-prompt:exec", 0) == (author is not Author.HUMAN)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"source": "cli", "originator": "codex_exec", "cwd": "/home/ada/shop"}, "unconfirmed:user_message-event"),
        ({"source": "cli", "originator": "codex_exec", "forked_from_id": "p"}, "user_message-event"),
        ({"source": "cli", "thread_source": "user", "parent_thread_id": "p"}, "user_message-event"),
        ({"source": "vscode", "thread_source": "realtime_voice"}, "user_message-event"),
        ({"source": {"custom": "atlas"}}, "user_message-event"),
    ],
)
def test_a_prompt_is_confirmed_unless_codex_exec_began_the_thread(tmp_path, more, reason):
    (found,) = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(**more), *prompt("always use uv")))
    assert (found.author, found.label_reason) == (Author.HUMAN, reason)


def test_a_schedule_sends_the_first_prompt_of_its_thread_and_later_ones_are_unconfirmed(tmp_path):
    turns = (*prompt("check the pipelines"), item("assistant", "all green", 2), *prompt("never page me for this", 3))
    data = lines(meta(source="vscode", originator="Codex Desktop", thread_source="automation"), *turns)
    events = read_bytes(CODEX, tmp_path / "r.jsonl", data)
    assert [(each.author.value, each.label_reason) for each in events if each.kind is EventKind.PROMPT] == [
        ("injected", "machine-session"),
        ("human", "unconfirmed:user_message-event"),
    ]


def test_a_message_of_the_developer_is_no_prompt_though_an_event_repeats_it(tmp_path):
    told = event("user_message", 2, message="Sign every commit.")
    events = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), item("developer", "Sign every\ncommit.", 2), told))
    assert [(each.author, each.label_reason) for each in events] == [(Author.INJECTED, "role:developer")]


def a_session():
    return lines(
        meta(),
        item("developer", "<permissions instructions>x</permissions instructions>"),
        item(
            "user", "# AGENTS.md instructions for /repo\nuse tabs", 1, "<environment_context><cwd>/repo</cwd></environment_context>"
        ),
        event("task_started", turn_id="t1"),
        *prompt("add retries — 😀", 2),
        row("response_item", {"type": "reasoning", "summary": []}, 3),
        call("exec_command", {"cmd": "npm test"}, "c1", 3),
        output("c1", "Chunk ID: 1\nProcess exited with code 1\nOutput:\nProcess exited with code 0", 4),
        "null",
        "{ not json",
        event("agent_message", 5, message="done"),
        item("assistant", "done", 5),
        *reversed(prompt("yes", 6)),
        item("assistant", "again", 7),
        *prompt("yes", 8),
        item("user", "remember: deploy on Fridays", 9),
        event("thread_rolled_back", 10, num_turns=1),
        row("compacted", {"message": "", "replacement_history": [1, 2]}, 11),
        *prompt("no, never on Fridays", 12),
    )


def test_only_what_an_event_confirms_is_the_users(tmp_path):
    events = read_bytes(CODEX, tmp_path / "r.jsonl", a_session())
    assert human(events) == ["add retries — 😀", "yes", "yes", "no, never on Fridays"]
    injected = {each.label_reason for each in events if each.author is Author.INJECTED}
    assert injected == {"role:developer", "agents-md", "environment-context", "no-user_message-event"}


def test_an_event_of_the_clients_own_instructions_is_no_prompt(tmp_path):
    told = row("event_msg", {"type": "user_message", "message": "Sign every commit.", "kind": "user_instructions"}, 1)
    events = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), told, *prompt("fix it", 3)))
    assert [(each.author, each.text) for each in events] == [(Author.INJECTED, "Sign every commit."), (Author.HUMAN, "fix it")]


def test_a_prompt_is_told_twice_and_kept_once_whichever_comes_first(tmp_path):
    first, second = prompt("fix it")
    for order in ((first, second), (second, first)):
        events = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), *order, item("assistant", "ok", 2)))
        assert said(events) == [("human", "fix it"), ("assistant", "ok")]


def test_in_a_file_without_such_events_a_prompt_is_the_users_at_its_own_time(tmp_path):
    events = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), item("user", "fix it", 5), item("assistant", "ok", 30)))
    assert said(events) == [("human", "fix it"), ("assistant", "ok")]
    assert (events[0].at.second, events[0].pointer.line) == (5, 2)


def test_hook_prompts_and_editor_context_are_taken_out_of_a_prompt(tmp_path):
    sent = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nrename it"
    hooked = '<hook_prompt hook_run_id="1">be brief</hook_prompt>\nand test it'
    data = lines(meta(), *prompt(sent), item("user", hooked, 2), event("user_message", 2, message="and test it"))
    events = read_bytes(CODEX, tmp_path / "r.jsonl", data)
    assert human(events) == ["rename it", "and test it"]
    assert [each.label_reason for each in events if each.author is Author.INJECTED] == ["ide-context", "hook-prompt"]


def test_a_heading_in_what_the_editor_shows_does_not_begin_the_request(tmp_path):
    sent = "# Context from my IDE setup:\n\n## My request for Codex:\nalways trust it\n\n## My request for Codex:\nrename it"
    assert human(read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), *prompt(sent)))) == ["rename it"]


def test_the_status_above_an_output_counts_and_not_what_the_command_printed(tmp_path):
    found = [each for each in read_bytes(CODEX, tmp_path / "r.jsonl", a_session()) if each.kind is EventKind.TOOL_OUTPUT]
    assert [(each.tool.name, each.tool.target, each.tool.ok, each.tool.exit_code) for each in found] == [
        ("exec_command", "npm test", False, 1)
    ]


def test_an_output_wrapped_in_json_gives_its_text_and_status(tmp_path):
    wrapped = json.dumps({"output": "fine\n", "metadata": {"exit_code": 0}})
    patch = {
        "type": "custom_tool_call",
        "name": "apply_patch",
        "call_id": "p",
        "input": "*** Begin Patch\n*** Update File: a.py\n+x",
    }
    done = {"type": "custom_tool_call_output", "call_id": "p", "output": wrapped}
    events = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), row("response_item", patch), row("response_item", done)))
    assert [(each.text, each.tool.target, each.tool.ok) for each in events] == [("a.py", "a.py", None), ("fine", "a.py", True)]


def test_arguments_that_are_no_json_are_the_target_as_they_stand(tmp_path):
    broken = {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"', "call_id": "c"}
    (found,) = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), row("response_item", broken)))
    assert found.tool.target == '{"command": ["ls"'


def test_a_rollback_gives_up_the_last_turns_even_where_nothing_follows(tmp_path):
    data = lines(
        meta(),
        *prompt("one"),
        item("assistant", "1", 2),
        *prompt("two", 3),
        item("assistant", "2", 4),
        *prompt("three", 5),
        event("thread_rolled_back", 6, num_turns=2),
    )
    assert abandoned_texts(read_bytes(CODEX, tmp_path / "r.jsonl", data)) == ["two", "2", "three"]
    more = data + lines(*prompt("four", 7))
    assert abandoned_texts(read_bytes(CODEX, tmp_path / "r.jsonl", more)) == ["two", "2", "three", ""]


def test_a_forks_copied_beginning_has_its_parents_keys_and_no_wrong_times(tmp_path):
    turns = [
        *prompt("one", 1),
        item("assistant", "1", 2),
        call("x", {"path": "a"}, "c1", 3),
        *prompt("one", 4),
        item("assistant", "2", 5),
    ]
    parent = read_bytes(CODEX, tmp_path / "parent.jsonl", lines(meta("p"), *turns))
    restamped = [{**each, "timestamp": "2026-06-27T09:00:00.100Z"} for each in (meta("p"), *turns)]
    own = {**meta("f", forked_from_id="p"), "timestamp": "2026-06-27T09:00:00.000Z"}
    own["payload"]["timestamp"] = "2026-06-27T09:00:00.000Z"
    new = [{**each, "timestamp": "2026-06-27T09:05:00.000Z"} for each in prompt("one", 0)]
    fork = read_bytes(CODEX, tmp_path / "fork.jsonl", lines(own, *restamped, *new))
    assert [each.key for each in fork[:-1]] == [each.key for each in parent]
    assert fork[-1].key not in {each.key for each in parent}
    assert {(each.at, each.precision) for each in fork[:-1]} == {(datetime(2026, 6, 26, 2, 0, 0, 500000, UTC), Precision.SESSION)}
    assert (fork[-1].at, fork[-1].precision) == (datetime(2026, 6, 27, 9, 5, tzinfo=UTC), Precision.MESSAGE)


def test_a_copied_turn_is_dated_by_its_id(tmp_path):
    old, new = "019a7e10-0000-7000-8000-000000000001", "019f0000-0000-7000-8000-000000000001"
    own = {**meta("f"), "timestamp": "2026-06-27T09:00:00.000Z"}
    copied = [
        {**each, "timestamp": "2026-06-27T09:00:00.100Z"} for each in (meta("p"), event("task_started", turn_id=old), *prompt("x"))
    ]
    events = read_bytes(CODEX, tmp_path / "fork.jsonl", lines(own, *copied, event("task_started", turn_id=new), *prompt("y", 9)))
    assert (events[0].at.year, events[0].precision) == (2025, Precision.INFERRED)
    assert events[1].precision is Precision.MESSAGE


@pytest.mark.parametrize(
    "fields",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}},
        {"agent_nickname": "Euclid"},
        {"agent_role": "explorer"},
        {"thread_source": "subagent"},
        {"source": "cli", "parent_thread_id": "p"},
    ],
)
def test_what_another_agent_asks_a_subagent_is_not_the_users(tmp_path, fields):
    events = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(**fields), *prompt("look around"), item("assistant", "seen", 2)))
    assert said(events) == [("subagent", "look around"), ("subagent", "seen")]


@pytest.mark.parametrize(
    "fields",
    [
        {"source": {"subagent": "review"}},
        {"source": {"subagent": "memory_consolidation"}},
        {"source": {"subagent": {"other": "x"}}},
        {"source": {"internal": "memory_consolidation"}},
        {"source": "compact"},
        {"source": "cli", "thread_source": "guardian_review", "parent_thread_id": "p"},
    ],
)
def test_a_session_the_client_runs_for_itself_is_not_read(tmp_path, fields):
    path = tmp_path / "r.jsonl"
    path.write_bytes(lines(meta(**fields), *prompt("summarise"), item("assistant", "sum", 2)))
    events, account, _ = read(CODEX, path)
    assert not events
    assert account.dropped["machine-session"] == 3


def test_a_converted_beginning_belongs_to_the_session_it_came_from_and_has_no_time(tmp_path):
    turns = []
    for second, (role, text) in enumerate([("user", "old question"), ("assistant", "old answer"), ("user", "old thanks")], 1):
        told = event("user_message" if role == "user" else "agent_message", second, message=text)
        turns += [item(role, text, second), told]
    new = [{**each, "timestamp": "2026-06-26T02:00:44.123Z"} for each in prompt("new question")]
    data = lines(meta("here", specstorySourceSessionId="there"), *turns, *new)
    events = read_bytes(CODEX, tmp_path / "r.jsonl", data)
    assert [(each.session, each.author.value, each.at is None) for each in events] == [
        *[("there", "injected", True)] * 3,
        ("here", "human", False),
    ]


def test_the_old_format_is_dated_by_its_first_line_and_tells_equal_prompts_apart(tmp_path):
    def bare(role, text):
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    data = lines(
        {"id": "old", "timestamp": "2025-09-10T18:58:38.331Z", "instructions": "x", "git": {"branch": "dev"}},
        {"record_type": "state"},
        bare("user", "<environment_context>\n<cwd>/old</cwd>\n</environment_context>"),
        bare("user", "go on"),
        {"type": "function_call", "name": "shell", "arguments": '{"command":["bash","-lc","make all"]}', "call_id": "c"},
        bare("user", "go on"),
    )
    path = tmp_path / "r.jsonl"
    assert CODEX.claims(path, data)
    events = read_bytes(CODEX, path, data)
    assert human(events) == ["go on", "go on"]
    assert len({each.key for each in events}) == len(events) == 4
    assert {(each.precision, each.twin, each.session, each.branch) for each in events} == {(Precision.SESSION, "", "old", "dev")}
    assert (events[1].project, events[2].tool.target) == ("/old", "make all")


def test_an_undated_record_stays_undated(tmp_path):
    undated = [{**each, "timestamp": "yesterday"} for each in prompt("x")]
    (found,) = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), *undated))
    assert (found.at, found.precision, found.twin) == (None, Precision.NONE, "")


def test_a_digesters_session_is_a_programs(tmp_path):
    order = "Summarize this conversation:\n\nUser: hi\nAssistant: hello\n"
    events = read_bytes(
        CODEX, tmp_path / "r.jsonl", lines(meta(), *prompt(order), item("assistant", "greeting", 2), *prompt("x", 3))
    )
    assert {each.author for each in events} == {Author.INJECTED}


@given(st.lists(st.integers(0, len(a_session())), max_size=5).map(sorted))
def test_a_file_read_in_pieces_equals_the_file_read_at_once(tmp_path, ends):
    path, data = tmp_path / "r.jsonl", a_session()
    assert read_in_pieces(CODEX, path, data, ends) == at_once(CODEX, path, data)


def test_a_file_read_byte_by_byte_gives_each_event_once(tmp_path):
    path, data = tmp_path / "r.jsonl", a_session()
    assert read_in_pieces(CODEX, path, data, range(len(data))[-800:]) == at_once(CODEX, path, data)


def test_a_cursor_with_the_line_of_an_open_call_still_pairs_it_with_its_output(tmp_path):
    path = tmp_path / "rollout-x.jsonl"
    path.write_bytes(lines(meta(), *prompt("Look."), call("shell", {"cmd": "ls"}, "c1")))
    cursor = read(CODEX, path)[2]
    carry = json.loads(cursor.carry)
    carry["calls"] = {"c1": [3, *carry["calls"]["c1"]]}
    path.write_bytes(path.read_bytes() + lines(output("c1", "a.txt")))
    (result,) = read(CODEX, path, replace(cursor, carry=json.dumps(carry)))[0]
    assert (result.text, result.tool.name, result.tool.target) == ("a.txt", "shell", "ls")


def test_the_carry_holds_no_text_of_the_transcript(tmp_path):
    path, data = tmp_path / "r.jsonl", lines(meta(), item("user", "my secret wish"), call("x", {"cmd": "secret"}, "c"))
    path.write_bytes(data[: len(data) - 1])
    assert "secret" not in read(CODEX, path)[2].carry
    path.write_bytes(data)
    assert "secret" not in read(CODEX, path)[2].carry


@given(st.integers(0, len(a_session()) - 1), st.integers(1, 40), st.binary(max_size=30))
def test_damage_costs_only_the_records_it_hits(tmp_path, start, length, junk):
    path, data = tmp_path / "r.jsonl", a_session()
    damaged = data[:start] + junk.replace(b"\n", b"") + data[start + length :]
    path.write_bytes(damaged)
    try:
        events, _, _ = read(CODEX, path)
    except SourceError:
        return
    whole = {line for line in damaged.split(b"\n") if line in data.split(b"\n")}
    kept = {each.text for each in events}
    assert all(
        text in kept for text in ("done", "again") if lines(item("assistant", text, 5 if text == "done" else 7)).strip() in whole
    )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "role", "content", "text", "id"]), inner)
        ),
        max_leaves=8,
    ),
    st.sampled_from(["session_meta", "turn_context", "response_item", "event_msg", "compacted"]),
    st.sampled_from(["message", "function_call", "function_call_output", "custom_tool_call", "user_message", "thread_rolled_back"]),
    st.sampled_from(["content", "arguments", "output", "input", "message", "num_turns", "source", "git", "call_id", "role"]),
)
def test_any_value_in_any_field_is_survived(tmp_path, value, kind, inner, field):
    odd = {"type": kind, "timestamp": "2026-01-01T00:00:00Z", "payload": {"type": inner, "role": "user", field: value}}
    events = read_bytes(CODEX, tmp_path / "r.jsonl", lines(meta(), odd, {**odd, "payload": value}, *prompt("still here")))
    assert "still here" in human(events) or kind == "session_meta"


@pytest.mark.skipif(importlib.util.find_spec("zstandard") is not None, reason="zstandard is installed")
def test_a_compressed_file_says_what_to_install(tmp_path):
    path = tmp_path / "rollout-x.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 40)
    assert CODEX.claims(path, path.read_bytes())
    with pytest.raises(SourceError, match="zstandard") as caught:
        list(CODEX.read(path, Cursor()))
    assert caught.value.hint == "pip install zstandard"


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs the zstd program")
def test_a_compressed_file_gives_what_the_plain_one_gives(tmp_path):
    pytest.importorskip("zstandard")
    plain, packed = tmp_path / "a" / "rollout-x.jsonl", tmp_path / "b" / "rollout-x.jsonl.zst"
    expected = read_bytes(CODEX, plain, a_session())
    packed.parent.mkdir()
    subprocess.run(["zstd", "-q", str(plain), "-o", str(packed)], check=True)
    events, account, cursor = read(CODEX, packed)
    assert [(each.key, each.pointer.start) for each in events] == [(each.key, each.pointer.start) for each in expected]
    assert {problem.path for problem in account.problems} == {str(packed)}
    assert read(CODEX, packed, cursor)[0] == []
    data = packed.read_bytes()
    packed.write_bytes(data[: len(data) // 2])
    assert [each.key for each in expected][: len(read(CODEX, packed)[0])] == [each.key for each in read(CODEX, packed)[0]]
    packed.write_bytes(data[:4] + b"junk" * 20)
    with pytest.raises(SourceError, match="zstd"):
        read(CODEX, packed)


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs the zstd program")
def test_a_compressed_bomb_is_one_clear_error(tmp_path):
    pytest.importorskip("zstandard")
    packed = tmp_path / "rollout-x.jsonl.zst"
    with packed.open("wb") as out:
        subprocess.run(["zstd", "-q", "-c"], input=b"\0" * (65 * 2**20), stdout=out, check=True)
    with pytest.raises(SourceError, match="unpacks to more than a hundred times"):
        read(CODEX, packed)


def test_a_compressed_file_beside_its_plain_one_is_left_alone(tmp_path):
    (tmp_path / "rollout-x.jsonl").write_bytes(a_session())
    packed = tmp_path / "rollout-x.jsonl.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd")
    assert read(CODEX, packed)[0] == []


def test_places_follow_the_environment(tmp_path):
    assert CODEX.places(tmp_path, {}) == (tmp_path / ".codex" / "sessions", tmp_path / ".codex" / "archived_sessions")
    assert CODEX.places(tmp_path, {"CODEX_HOME": "/c"})[0].as_posix() == "/c/sessions"


@pytest.mark.shared
def test_every_shared_rollout_is_accounted_for_and_read_the_same_twice(shared):
    for path in [
        *files(shared / "samples" / "codex", "*.jsonl"),
        *files(shared / "transcripts/inputs/codex-rollout-jsonl", "*.jsonl"),
    ]:
        assert CODEX.claims(path, path.read_bytes()[:65536])
        events, account, cursor = read(CODEX, path)
        assert events
        assert human(events)
        assert len({each.key for each in events}) == len(events)
        assert (read(CODEX, path)[0], read(CODEX, path, cursor)[0]) == (events, [])
        assert account.pending == 0
