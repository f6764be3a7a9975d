"""``kept sources`` and ``kept show --turns``: what is read, what is not and why, and the turns themselves."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from cli_world import OTHER, RULE, kept, told, transcript


@pytest.fixture
def session(home):
    return transcript(home / ".claude" / "projects" / "p" / "session-1.jsonl", RULE)


def test_a_reader_who_never_saw_it_is_told_what_is_read_what_is_not_and_why(capsys, home, session):
    out = kept(capsys, "sources")[1]
    assert "claude-code  1 file" in out
    assert "1 not read yet → kept run" in out
    assert "nothing found for: codex" in out
    assert "read only from paths you give: chatgpt" in out
    assert "vault (conversations in Markdown)" in out
    assert "<!-- kept: ignore -->" in out
    kept(capsys, "run", "--quiet")
    out = kept(capsys, "sources")[1]
    assert "archived: 1 session, 2 events, 2026-01-05 – 2026-01-05" in out
    assert "harbor  /home/u/harbor" in out
    assert "Are two of them the same project? → kept projects" in out


def test_a_reader_is_told_where_it_was_looked_and_which_files_were_read_because_they_were_named(capsys, home, session):
    named = transcript(home / "elsewhere" / "session-2.jsonl", OTHER)
    kept(capsys, "run", str(named), "--quiet")
    out = kept(capsys, "sources")[1]
    assert "and 1 file in other folders that you named; archived: 1 session" in out
    assert "searched folders: kept sources --verbose" in out
    assert f"codex  {home}/.codex/sessions" in kept(capsys, "sources", "--verbose")[1].replace("~", str(home))
    assert told(capsys, "sources")["sources"][0]["elsewhere"] == 1


def test_records_of_kinds_that_kept_does_not_know_are_counted_and_named(capsys, home, session):
    kept(capsys, "run", "--quiet")
    assert "all records understood" in kept(capsys, "sources")[1]
    with session.open("a", encoding="utf-8") as file:
        file.write('{"type": "dream", "sessionId": "session-1"}\n')
    kept(capsys, "run", "--quiet")
    out = " ".join(kept(capsys, "sources")[1].split())
    assert "66.7 % of the records understood, 1 not (unknown-type:dream); is this claude-code newer than kept? → kept doctor" in out
    (tool,) = told(capsys, "sources")["sources"]
    assert (tool["records"], tool["unknown"]) == (3, 1)


def test_what_is_not_archived_is_not_said_to_be(capsys, home, session):
    out = kept(capsys, "sources")[1]
    assert "nothing will be lost within a week" in out
    long_ago = session.stat().st_mtime - 29 * 86_400
    os.utime(session, (long_ago, long_ago))
    out = kept(capsys, "sources")[1]
    assert "1 file not archived will soon be deleted" in out
    assert "nothing will be lost" not in out


def test_a_source_is_switched_off_and_on(capsys, home, session):
    assert told(capsys, "sources", "disable", "claude-code") == {"sources_off": ["claude-code"]}
    assert "switched off by you → kept sources enable claude-code" in kept(capsys, "sources")[1]
    assert told(capsys, "run")["events"] == 0
    assert told(capsys, "sources", "enable", "claude-code") == {"sources_off": []}
    assert told(capsys, "run")["events"] == 2


def test_what_is_excluded_counts_at_once_and_comes_back_at_once(capsys, home, session):
    unreadable = session.with_name("link.jsonl")
    unreadable.symlink_to(session)
    kept(capsys, "run", "--quiet")
    assert "1 file could not be read" in kept(capsys, "status")[1]
    out = kept(capsys, "sources", "exclude", unreadable)[1]
    assert "Of these, 1 unreadable file is no longer listed" in out
    assert f"kept sources include '{unreadable}' takes this back" in out
    assert "could not be read" not in kept(capsys, "status")[1] + kept(capsys, "sources")[1]
    assert f"{unreadable}: excluded by you" in kept(capsys, "sources")[1]
    assert "no file fits" not in kept(capsys, "sources")[1]
    kept(capsys, "sources", "include", unreadable)
    assert "1 file could not be read" in kept(capsys, "status")[1]


def test_a_pattern_counts_the_files_that_could_not_be_read_wherever_they_lie(capsys, home, tmp_path):
    odd = tmp_path / "elsewhere/notes.traj"
    odd.parent.mkdir()
    odd.write_text("x\n")
    kept(capsys, "run", odd.parent, "--quiet")
    assert "Of these, 1 unreadable file is no longer listed" in kept(capsys, "sources", "exclude", "*.traj")[1]
    assert "*.traj: excluded by you, 1 file" in kept(capsys, "sources")[1]


def test_patterns_are_excluded_and_included_whatever_characters_they_hold(capsys, home, session):
    pattern = f"{home}/.claude/projects/a, b"
    assert told(capsys, "sources", "exclude", pattern) == {"exclude": [pattern]}
    assert told(capsys, "sources", "exclude", "~/other") == {"exclude": [pattern, f"{home}/other"]}
    assert told(capsys, "sources", "include", pattern) == {"exclude": [f"{home}/other"]}
    assert told(capsys, "sources", "exclude", "~/one", "~/two") == {"exclude": [f"{home}/other", f"{home}/one", f"{home}/two"]}


@pytest.mark.parametrize(
    "arguments", [("disable", "nobody"), ("disable",), ("include", "never"), ("frobnicate",), ("enable", "claude-code")]
)
def test_what_cannot_be_switched_is_a_usage_error(capsys, home, arguments):
    code, out, err = kept(capsys, "sources", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_the_json_form_tells_every_tool_and_file(capsys, home, session):
    kept(capsys, "run", "--quiet")
    body = told(capsys, "sources")
    (tool,) = body["sources"]
    assert (tool["name"], tool["files"], tool["new"], tool["sessions"], tool["deleted_after_days"]) == ("claude-code", 1, 0, 1, 30)
    assert body["files"][0]["records"] == 2
    assert body["projects"] == {"harbor": ["/home/u/harbor"]}
    assert {each["name"] for each in body["not_found"]} >= {"codex", "chatgpt", "vault"}


def test_the_conversation_around_a_memory_is_shown_though_the_transcript_is_gone(capsys, home, session):
    kept(capsys, "run", "--quiet")
    session.unlink()
    (number,) = (each["id"] for each in told(capsys, "list"))
    out = kept(capsys, "show", number, "--turns")[1]
    assert "you: " + RULE in out
    assert "the assistant: Done." in out
    (turns,) = told(capsys, "show", number, "--turns")["turns"]
    assert [each["text"] for each in turns["turns"]] == [RULE, "Done."]


@pytest.mark.parametrize("command", ["show", "sources"])
def test_the_archived_turns_of_a_session_are_shown(capsys, home, session, command):
    transcript(session.with_name("other-2.jsonl"), OTHER)
    kept(capsys, "run", "--quiet")
    out = kept(capsys, command, "--session", "session")[1]
    assert RULE in out
    assert OTHER not in out
    ((only),) = told(capsys, command, "--session", "session-1")
    assert [each["text"] for each in only["turns"]] == [RULE, "Done."]
    assert kept(capsys, command, "--session", "nobody")[0] == 2


def test_a_memory_or_a_session_is_asked_for_not_both(capsys, home, session):
    assert kept(capsys, "show")[0] == 2
    assert kept(capsys, "show", "abcd", "--session", "x")[0] == 2


@pytest.fixture
def mixed(home, session):
    """A home with several tools' transcripts, and one of everything that is not read."""
    place = session.parent
    transcript(place / "unwanted.jsonl", f"{OTHER}\n\n<!-- kept: ignore -->")
    transcript(place.parent / "client" / "work.jsonl", OTHER)
    wide = transcript(place / "wide.jsonl", OTHER)
    wide.write_bytes(wide.read_text().encode("utf-16"))
    (place / "picture.xyz").write_text("no transcript")
    (place / "nothing.jsonl").touch()
    rollout = home / ".codex/sessions/2026/01/05/rollout-2026-01-05T10-00-00-019a0000-0000-7000-8000-000000000000.jsonl"
    rollout.parent.mkdir(parents=True)
    meta = {"timestamp": "2026-01-05T10:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/home/u/harbor"}}
    rollout.write_text(json.dumps(meta) + "\n")
    return place


def test_every_file_of_a_mixed_home_is_accounted_for_with_its_reason(capsys, home, mixed):
    kept(capsys, "sources", "exclude", mixed.parent / "client")
    assert kept(capsys, "run", "--quiet")[0] == 1
    out = kept(capsys, "sources")[1]
    assert "claude-code  2 files" in out
    assert "codex  1 file" in out
    assert f"cannot be read: {mixed}/wide.jsonl (is UTF-16, not UTF-8)" in out
    assert "not read yet" not in out
    assert f"1 file in the folders above, no transcript (unknown format): {mixed}/picture.xyz" in out
    assert f"1 file in the folders above, no transcript (empty): {mixed}/nothing.jsonl" in out
    assert "excluded by you, 1 file" in out
    assert "session unwanted: off the record, as you wrote in it" in out
    body = told(capsys, "sources")
    assert body["excluded"] == {str(mixed.parent / "client"): 1}
    assert body["other_files"] == {"empty": 1, "unknown format": 1}
    assert {each["reason"] for each in body["other_files_named"]} == {"empty", "unknown format"}
    assert [each["session"] for each in body["opted_out"]] == ["unwanted"]


def test_the_state_of_things_warns_of_transcripts_that_their_tool_deletes_soon(capsys, home, session):
    assert "deleted by" not in kept(capsys, "status")[1]
    then = session.stat().st_mtime - 26 * 86_400
    os.utime(session, (then, then))
    out = kept(capsys, "status")[1]
    assert "1 transcript not archived will be deleted by claude-code itself, from " in out
    (due,) = told(capsys, "status")["deleted_soon"]
    assert (due["source"], due["files"]) == ("claude-code", 1)
    kept(capsys, "run", "--quiet")
    assert "deleted by" not in kept(capsys, "status")[1]
    assert told(capsys, "status")["deleted_soon"] == []


def test_every_file_of_a_folder_with_a_bit_of_everything_is_read_or_named_with_its_reason(capsys, home, tmp_path):
    place = tmp_path / "everything"
    transcript(place / "session.jsonl", RULE)
    files = {
        "picture.png": b"\x89PNG\r\n\x1a\n",
        "empty.md": b"",
        "shopping.md": b"# Shopping\n\nmilk\n",
        "data.csv": b"a,b\n1,2\n",
        "wide.jsonl": '{"a": 1}\n'.encode("utf-16"),
        "package.json": b'{"name": "x"}',
        "run.py": b"print(1)\n",
        "zero.md": b"a\0b",
        "2026-02-03.md": b"# Day\n\nDid things.\n",
    }
    for name, data in files.items():
        (place / name).write_bytes(data)
    (place / "link.txt").symlink_to("/etc/hostname")
    os.mkfifo(place / "pipe")
    (place / "node_modules").mkdir()
    database = sqlite3.connect(place / "app.db", isolation_level=None)
    database.execute("CREATE TABLE t(a)")
    database.execute("BEGIN EXCLUSIVE")
    code, out, _ = kept(capsys, "run", place, "--no-llm", "--json")
    database.close()
    report = json.loads(out)
    assert code == 1
    assert report["sources"] == {"claude-code": 1, "journal": 1}
    reasons = {Path(skipped["path"]).name: skipped["reason"] for skipped in (*report["skipped"], *report["left"])}
    assert set(reasons) - {"app.db-journal"} == {path.name for path in place.iterdir()} - {
        "session.jsonl",
        "2026-02-03.md",
        "app.db-journal",
    }
    assert all(reasons.values())


def test_of_many_projects_the_first_are_named(capsys, home):
    for number in range(15):
        transcript(home / ".claude" / "projects" / f"p{number}" / f"s{number}.jsonl", RULE, cwd=f"/home/u/project-{number:02}")
    kept(capsys, "run")
    out = kept(capsys, "sources")[1]
    assert "… and 3 more → kept sources --verbose" in out
    assert out.count("/home/u/project-") == 12
    assert kept(capsys, "sources", "--verbose")[1].count("project-14") >= 1


def test_a_secret_in_the_name_of_an_unread_file_is_not_stored(capsys, home, session):
    secret = "ghp_" + "Zk3Qm8Rt5Wx2Yb7Nc4Vd9Lf6Hj1Gs0PaEuTi"
    session.with_name(f"{secret}.jsonl").write_bytes("héllo".encode("utf-16"))
    kept(capsys, "run")
    stored = (home / ".local" / "share" / "kept" / "unread.json").read_text(encoding="utf-8")
    assert "UTF-16" in stored
    assert secret not in stored


def test_no_command_prints_the_secret_in_the_name_of_a_file(capsys, home, session):
    token = "ghp_" + "Zk3Qm8Rt5Wx2Yb7Nc4Vd9Lf6Hj1Gs0PaEuTi"
    session.with_name(f"{token}.jsonl").write_bytes("héllo".encode("utf-16"))
    session.with_name(f"{token}.txt").write_text("notes")
    for words in (
        ("run", "--no-llm"),
        ("run", "--no-llm", "--json"),
        ("run", "--no-llm", "--verbose"),
        ("sources",),
        ("sources", "--json"),
    ):
        out = kept(capsys, *words)[1]
        assert token not in out
        assert "[redacted:github-token:" in out


def test_a_file_with_a_secret_in_its_name_stays_unread_in_a_run_that_looks_elsewhere(capsys, home, session):
    token = "ghp_" + "Zk3Qm8Rt5Wx2Yb7Nc4Vd9Lf6Hj1Gs0PaEuTi"
    odd = session.with_name(f"{token}.jsonl")
    odd.write_bytes("héllo".encode("utf-16"))
    kept(capsys, "run")
    listed = home / ".local" / "share" / "kept" / "unread.json"
    before = listed.read_text(encoding="utf-8")
    (home / "notes").mkdir()
    kept(capsys, "run", home / "notes")
    assert listed.read_text(encoding="utf-8") == before
    odd.unlink()
    kept(capsys, "run")
    assert "UTF-16" not in listed.read_text(encoding="utf-8")


def test_the_notes_of_claude_code_itself_are_called_so_with_the_command_that_imports_them(capsys, home, session):
    (notes := session.parent / "memory").mkdir()
    (notes / "MEMORY.md").write_text("- The staging database is on db-stage-2.\n")
    out = kept(capsys, "sources")[1]
    assert "no transcript (Claude Code's own notes: to import them, kept import --from claude)" in out
    assert "unknown format" not in out
    assert kept(capsys, "run", "--no-llm", str(session.parent))[0] == 0
