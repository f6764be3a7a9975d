"""Finding transcripts and telling their format without touching what is no file of ours."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kept.local.files.walking import find_files
from kept.sources import records
from kept.sources.records import parse_line
from kept.sources.registry import SOURCES, SkippedFile, SkipReason, identify_file, tool_folder_format

LINE = b'{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hi"}}\n'


def names(root):
    return [str(path.relative_to(root.resolve())) for path in find_files(root)]


def test_claude_codes_transcripts_live_in_its_configured_folder(home):
    (source,) = (source for source in SOURCES if source.name == "claude-code")
    assert source.places(home, {}) == (home / ".claude" / "projects",)
    assert source.places(home, {"CLAUDE_CONFIG_DIR": "/elsewhere"}) == (Path("/elsewhere/projects"),)


def test_files_come_sorted_and_from_every_depth(tmp_path):
    for name in ("b/z.jsonl", "b/a/x.jsonl", "a.jsonl", "c.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(LINE)
    assert names(tmp_path) == ["a.jsonl", "c.jsonl", "b/z.jsonl", "b/a/x.jsonl"]


def test_a_root_that_is_a_file_is_that_file_and_a_missing_root_is_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE)
    assert list(find_files(path)) == [path.resolve()]
    assert list(find_files(tmp_path / "missing")) == []


def test_links_are_named_but_neither_loops_nor_the_outside_are_entered(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.jsonl").write_bytes(LINE)
    root = tmp_path / "root"
    root.mkdir()
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(outside)
    (root / "file.jsonl").symlink_to(outside / "secret.jsonl")
    assert names(root) == ["file.jsonl", "loop", "out"]
    assert {identify_file(path) for path in find_files(root)} == {
        SkippedFile(path=path, reason=SkipReason.LINK) for path in find_files(root)
    }


def test_a_root_that_is_a_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.jsonl").write_bytes(LINE)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [path.name for path in find_files(tmp_path / "link")] == ["a.jsonl"]


def test_what_is_no_readable_transcript_is_skipped_with_its_reason(tmp_path):
    os.mkfifo(tmp_path / "fifo.jsonl")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "notes.md").write_text("# hello\n")
    with (tmp_path / "sparse.jsonl").open("wb") as file:
        file.truncate(10 * 2**30)
    reasons = {path.name: found.reason for path in find_files(tmp_path) if isinstance(found := identify_file(path), SkippedFile)}
    assert reasons == {
        "fifo.jsonl": SkipReason.NOT_A_FILE,
        "empty.jsonl": SkipReason.EMPTY,
        "notes.md": SkipReason.UNKNOWN_FORMAT,
        "sparse.jsonl": SkipReason.SPARSE,
    }


def test_a_folder_a_device_and_a_missing_file_have_reasons(tmp_path):
    assert identify_file(tmp_path) == SkippedFile(path=tmp_path, reason=SkipReason.NOT_A_FILE)
    assert identify_file(tmp_path / "missing") == SkippedFile(path=tmp_path / "missing", reason=SkipReason.UNREADABLE)
    zero = Path("/dev/zero")
    assert identify_file(zero) == SkippedFile(path=zero, reason=SkipReason.NOT_A_FILE)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_unreadable(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE)
    path.chmod(0)
    assert identify_file(path) == SkippedFile(path=path, reason=SkipReason.UNREADABLE)


def test_a_name_that_is_not_utf_8_is_skipped_by_that_reason(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.jsonl")).write_bytes(LINE)
    (found,) = find_files(tmp_path)
    assert identify_file(found) == SkippedFile(path=found, reason=SkipReason.NAME_NOT_UTF8)


@pytest.mark.parametrize(
    "head",
    [
        LINE,
        b"\n\nrubbish\n" + LINE,
        b'{"type":"summary","summary":"x","leafUuid":"l"}\n',
        b'{"type":"a-type-of-tomorrow","x":1}\n' + LINE,
        b'{"parentUuid":null,"sessionId":"s","type":"user","message":{"content":[{"type":"image","data":"' + b"A" * 70_000,
        b'{"type":"user","message":{"role":"assistant","role":"user","content":"x"}}\n',
        LINE.decode().encode("utf-16"),
    ],
)
def test_a_claude_code_file_is_recognised(tmp_path, head):
    (tmp_path / "a.jsonl").write_bytes(head)
    assert identify_file(tmp_path / "a.jsonl").name == "claude-code"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}\n', "codex"),
        (
            (
                b'{"type":"session","version":3,"id":"x","cwd":"/p","timestamp":"2026-01-01T00:00:00Z"}\n{"type":"message","message'
                b'":{"role":"user","content":"x"}}\n'
            ),
            "pi",
        ),
        (
            (
                b'{"type":"session","id":"x","cwd":"/p","timestamp":"2026-01-01T00:00:00Z"}\n{"type":"message","message":{"role":"u'
                b'ser","content":"x"}}\n'
            ),
            "pi",
        ),
        (b'{"role":"user","message":{"content":[{"type":"text","text":"x"}]}}\n', "cursor-agent"),
        (b'{"sessionId":"s","projectHash":"h"}\n{"id":"1","type":"user","content":"x"}\n', "gemini-cli"),
        (b'{"type":"session.start","data":{},"id":"1","parentId":null}\n', "copilot-cli"),
        (b"[]\n", None),
        (b"# A note\n", None),
    ],
)
def test_each_tool_is_recognised_by_its_first_records_and_a_note_is_nobodys(tmp_path, head, name):
    (tmp_path / "a.jsonl").write_bytes(head)
    found = identify_file(tmp_path / "a.jsonl")
    assert (None if isinstance(found, SkippedFile) else found.name) == name


ATTACHMENT = b'{"type":"attachment","attachment":{"type":"file","content":"' + b"x" * 70_000 + b'"},"uuid":"a","sessionId":"s"}\n'


@pytest.mark.parametrize(
    "opening",
    [
        ATTACHMENT,
        b"\n" * 60,
        b"{}\n" * 60,
        b"{}\n" * 22_000,
        b"\n" * 70_000,
        b'{"type":"user","message":null}\n',
        b'{"type":"user","message":null}\n' + ATTACHMENT * 20,
    ],
    ids=["a large attachment", "blank lines", "empty records", "64 KB of them", "64 KB of blank lines", "no message", "both"],
)
def test_an_odd_beginning_costs_a_file_nothing(tmp_path, opening):
    path = tmp_path / "a.jsonl"
    path.write_bytes(opening + LINE)
    assert identify_file(path).name == "claude-code"


def test_the_beginning_of_a_file_is_parsed_once_however_many_formats_look_at_it(tmp_path, monkeypatch):
    parsed = []
    monkeypatch.setattr(records, "parse_line", lambda line: parsed.append(line.data) or parse_line(line))
    (tmp_path / "a.jsonl").write_bytes(b'{"of":"nobody"}\nwords\n')
    assert isinstance(identify_file(tmp_path / "a.jsonl"), SkippedFile)
    assert parsed == [b'{"of":"nobody"}', b"words", b""]


@pytest.mark.parametrize(
    ("folder", "name", "owner"),
    [
        (".claude/projects/p", "a.jsonl", "claude-code"),
        (".codex/sessions/2026/01/01", "rollout-1.jsonl", "codex"),
        (".gemini/tmp/p/chats", "session-1.json", "gemini-cli"),
        (".pi/agent/sessions/p", "a.jsonl", "pi"),
        (".copilot/session-state/x", "events.jsonl", "copilot-cli"),
        (".cursor/projects/p/agent-transcripts", "a.jsonl", "cursor-agent"),
        (".specstory/history", "a.md", "specstory"),
    ],
)
def test_the_folder_of_a_tool_decides_the_format_whatever_the_first_bytes(tmp_path, folder, name, owner):
    path = tmp_path / folder / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x00\xffrubbish\n" * 9_000)
    assert tool_folder_format(path) == owner
    assert identify_file(path, owner=owner).name == owner
    assert isinstance(identify_file(path.with_suffix(".txt"), owner=owner), SkippedFile)


def database(path, *tables):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for number in range(60):  # a schema that fills more than the first 64 KB
            connection.execute(f"CREATE TABLE filler_{number} ({', '.join(f'column_{each} TEXT' for each in range(150))})")
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (id TEXT, session_id TEXT, message_id TEXT, data TEXT)")
        connection.commit()


def test_a_database_is_recognised_by_its_tables_wherever_their_names_stand(tmp_path):
    path = tmp_path / "copy.db"
    database(path, "session", "message", "part")
    before = sorted(tmp_path.iterdir())
    assert identify_file(path).name == "opencode"
    assert sorted(tmp_path.iterdir()) == before


def test_a_database_that_is_being_written_is_recognised_and_left_alone(tmp_path):
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE cursorDiskKV (key TEXT, value BLOB)")
        writer.commit()
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO cursorDiskKV VALUES ('a', 'b')")
        assert identify_file(path).name == "cursor"
        writer.commit()
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT count(*) FROM cursorDiskKV").fetchone() == (1,)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b"Some thoughts.\n", "plain text without speakers' names"),
        ("a.md", b"# A page\n", "Markdown without speakers' names"),
        ("a.jsonl", b'{"temperature": 3}\n', "JSON Lines whose records no reader knows"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "an image (PNG)"),
        ("a", b"\x00\x01\x02", "binary data"),
        ("a.log", "Gr\u00fc\u00dfe\n".encode("latin-1"), "text that is not UTF-8"),
        ("a.json", b"[]", "JSON that is no conversation"),
        ("a", b'[{"a": 1}]', "JSON that is no conversation"),
        ("a.toml", b"[project]\n", "plain text"),
    ],
)
def test_what_no_format_claims_is_described(tmp_path, name, data, kind):
    (tmp_path / name).write_bytes(data)
    assert kind in identify_file(tmp_path / name).sentence


def test_folders_that_programs_fill_are_named_and_not_searched(tmp_path):
    (tmp_path / "node_modules" / "x").mkdir(parents=True)
    (tmp_path / "node_modules" / "x" / "a.jsonl").write_bytes(LINE)
    assert names(tmp_path) == ["node_modules"]
    assert identify_file(tmp_path / "node_modules").reason is SkipReason.MACHINERY
