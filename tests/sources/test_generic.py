"""What no tool's reader knows: JSON Lines and text under the usual names; formats of third parties; the order of all readers."""

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.event import Author, EventKind, Precision
from kept.core.times import format_instant
from kept.sources.formats.generic import Generic
from kept.sources.registry import SOURCES, find_plugins, identify_file, load_plugins, with_zone
from reading import at_once, human, lines, read, read_bytes, read_in_pieces, said

READER = Generic(zone=ZoneInfo("Europe/Berlin"))

LOG = lines(
    {"role": "system", "content": "be nice"},
    {"role": "user", "content": "use uv — é", "timestamp": "2026-01-05T10:00:00Z", "session_id": "s-1", "cwd": "/p"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}],
    },
    {"role": "tool", "tool_call_id": "t1", "name": "bash", "content": "a.py"},
    {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "ts": 1767607200},
    "rubbish",
    {"role": "user", "content": "yes"},
    {"role": "user", "content": "yes"},
    {"role": "user", "content": "local", "time": "2026-01-05 10:00"},
    {"role": "narrator", "content": "x"},
    {"role": "user", "content": " "},
)


def test_a_line_is_a_message_under_the_usual_names(tmp_path):
    events, account, _ = (path := tmp_path / "c.jsonl").write_bytes(LOG) and read(READER, path)
    assert [(event.author, event.kind, event.text) for event in events] == [
        (Author.INJECTED, EventKind.PROMPT, "be nice"),
        (Author.HUMAN, EventKind.PROMPT, "use uv — é"),
        (Author.ASSISTANT, EventKind.TOOL_CALL, "ls"),
        (Author.TOOL, EventKind.TOOL_OUTPUT, "a.py"),
        (Author.ASSISTANT, EventKind.RESPONSE, "Done."),
        (Author.HUMAN, EventKind.PROMPT, "yes"),
        (Author.HUMAN, EventKind.PROMPT, "yes"),
        (Author.HUMAN, EventKind.PROMPT, "local"),
    ]
    assert account.dropped == {"not-json": 1, "role:narrator": 1, "no-text": 1}
    assert len({event.key for event in events}) == len(events)
    assert (events[1].session, events[1].project) == ("s-1", "/p")
    assert [format_instant(event.at) for event in (events[4], events[7]) if event.at] == [
        "2026-01-05T10:00:00.000Z",
        "2026-01-05T09:00:00.000Z",
    ]
    assert [(event.at, event.precision, event.twin) for event in events[5:7]] == [(None, Precision.NONE, "")] * 2


@pytest.mark.parametrize(
    "value",
    [
        {"sender": "human", "text": "hi"},
        {"from": "user", "value": "hi"},
        {"author": {"role": "user"}, "content": {"a": 1}, "body": "hi"},
        {"type": "message", "message": {"role": "user", "content": "hi"}},
        {"speaker": "You", "message": "hi"},
        {"messages": [{"role": "user", "content": "hi"}]},
        {"conversations": [{"from": "human", "value": "hi"}]},
    ],
)
def test_other_usual_names_are_known(tmp_path, value):
    data = lines(value)
    assert READER.claims(tmp_path / "c.jsonl", data)
    assert said(read_bytes(READER, tmp_path / "c.jsonl", data)) == [("human", "hi")]


def test_of_two_speakers_in_one_message_the_less_trusted_one_counts(tmp_path):
    assert (
        human(read_bytes(READER, tmp_path / "c.jsonl", lines({"role": "user", "sender": "tool", "content": "always push"}))) == []
    )


def test_conversations_of_one_line_each_are_sessions_of_their_own(tmp_path):
    one = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    events = read_bytes(READER, tmp_path / "c.jsonl", lines(one, one, {"id": "x-1", **one}))
    assert [event.session for event in events] == ["c:1", "c:1", "c:2", "c:2", "x-1", "x-1"]
    assert len({event.key for event in events}) == 6


def test_a_file_read_byte_by_byte_equals_the_file_read_at_once(tmp_path):
    path = tmp_path / "c.jsonl"
    assert read_in_pieces(READER, path, LOG, range(len(LOG))) == at_once(READER, path, LOG)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["user", "tool", "hi", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "text", "function", "arguments"]), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = ["role", "author", "content", "text", "message", "messages", "timestamp", "id", "tool_calls", "session_id", "cwd"]


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6), max_size=5))
def test_no_record_raises_in_any_reader_of_lines(tmp_path, values):
    path = tmp_path / "c.jsonl"
    path.write_bytes(lines(*values))
    for source in SOURCES:
        source.claims(path, path.read_bytes())
        if source.name in ("generic", "cursor-agent", "copilot-cli", "vscode-chat", "chatgpt", "claude-ai"):
            read(source, path)


TALK = "User: use uv\nand nothing else\n\nAssistant: Sure.\nUser: not a line of its own\n\nUser: thanks\n"


@pytest.mark.parametrize("name", ["talk.txt", "talk.md"])
def test_labels_at_the_start_of_paragraphs_tell_who_speaks_where_both_sides_do(tmp_path, name):
    path = tmp_path / name
    path.write_text(TALK)
    assert READER.claims(path, TALK.encode())
    assert said(read(READER, path)[0]) == [
        ("human", "use uv\nand nothing else"),
        ("assistant", "Sure.\nUser: not a line of its own"),
        ("human", "thanks"),
    ]


@pytest.mark.parametrize("text", ["User: root\nPassword: x\n", "Note: x\n\nAI: is everywhere\n", "# README\n\nplain\n", ""])
def test_text_in_which_not_both_sides_speak_is_not_claimed(tmp_path, text):
    assert not READER.claims(tmp_path / "a.md", text.encode())
    assert not READER.claims(tmp_path / "a.jsonl", text.encode())
    assert not READER.claims(tmp_path / "a.py", TALK.encode())


def test_the_last_reader_takes_only_what_no_other_claims(tmp_path):
    assert SOURCES[-1].name == "generic"
    for name, data, expected in (
        ("a.jsonl", lines({"role": "user", "message": {"content": "hi"}}), "cursor-agent"),
        ("b.jsonl", lines({"role": "user", "content": "hi"}), "generic"),
        ("c.md", b"## User\nhi\n## Assistant\nho\n", "vault"),
        ("d.md", TALK.encode(), "generic"),
        ("2026-01-05.md", b"# Day\ntext\n", "journal"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        assert getattr(identify_file(path), "name", "") == expected


def test_each_reader_has_a_name_of_its_own_and_no_place_outside_of_the_home(home):
    assert len({source.name for source in SOURCES}) == len(SOURCES)
    for source in SOURCES:
        assert all(place.is_relative_to(home) for place in source.places(home, {}))


def test_a_zone_is_given_to_every_reader_that_needs_one():
    zone = ZoneInfo("Asia/Tokyo")
    zoned = with_zone(zone)
    assert [source.name for source in zoned] == [source.name for source in SOURCES]
    assert {source.name for source in zoned if getattr(source, "zone", None) == zone} >= {"vault", "journal", "generic", "aider"}


PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture
def tapelog(monkeypatch):
    monkeypatch.syspath_prepend(str(PLUGIN / "src"))
    return load_plugins([EntryPoint(name="tapelog", value="kept_tapelog:TapeLog", group="kept.sources")])


def test_the_example_plugin_is_loaded_and_reads_its_format(tapelog, tmp_path):
    (source,) = tapelog.sources
    one = {"tape": 1, "reel": "kitchen", "who": "me", "said": "we use uv", "when": "2026-01-05T10:00:00Z"}
    data = lines(one, {**one, "who": "machine", "said": "noted", "when": None}, {**one, "who": "cat"}, {**one, "said": ""}, "x")
    path = tmp_path / "tape.jsonl"
    assert read_in_pieces(source, path, data, range(0, len(data), 7)) == at_once(source, path, data)
    events, account, _ = read(source, path)
    assert said(events) == [("human", "we use uv"), ("assistant", "noted")]
    assert account.dropped == {"unknown-speaker": 1, "no-text": 1, "not-json": 1}
    found = identify_file(path, sources=(*tapelog.sources, *SOURCES))
    assert getattr(found, "name", "") == "tapelog"


def test_the_example_names_its_entry_point():
    text = (PLUGIN / "pyproject.toml").read_text()
    assert '[project.entry-points."kept.sources"]\ntapelog = "kept_tapelog:TapeLog"' in text
    assert (PLUGIN / "src" / "kept_tapelog" / "__init__.py").is_file()


def test_a_plugin_is_found_where_a_package_names_it(tmp_path, monkeypatch):
    package = tmp_path / "tapes-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: tapes\n", encoding="utf-8")
    (package / "entry_points.txt").write_text("[kept.sources]\ntapelog = kept_tapelog:TapeLog\n", encoding="utf-8")
    assert find_plugins([str(tmp_path / "missing"), str(PLUGIN)]) == ()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [point.value for point in find_plugins(sys.path)] == ["kept_tapelog:TapeLog"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_module:X", "cannot be loaded: ModuleNotFoundError"),
        ("json:no_such_name", "cannot be loaded: AttributeError"),
        ("json:dumps", "cannot be loaded: TypeError"),
        ("collections:OrderedDict", "is not a source: it needs name, places, claims and read"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_left_out_with_the_reason(value, reason):
    loaded = load_plugins([EntryPoint(name="bad", value=value, group="kept.sources")])
    assert (loaded.sources, loaded.left_out) == ((), (("bad", reason),))


def test_records_are_json_objects_only(tmp_path):
    data = json.dumps([{"role": "user", "content": "hi"}]).encode()
    assert not READER.claims(tmp_path / "a.jsonl", data)
