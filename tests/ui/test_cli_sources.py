"""``kept sources`` and ``kept show --turns``: what is read, what is not and why, and the turns themselves."""

import pytest
from cli_world import OTHER, RULE, kept, told, transcript


@pytest.fixture
def session(home):
    return transcript(home / ".claude" / "projects" / "p" / "session-1.jsonl", RULE)


def test_a_reader_who_never_saw_it_is_told_what_is_read_what_is_not_and_why(capsys, home, session):
    out = kept(capsys, "sources")[1]
    assert "claude-code  1 file" in out
    assert "1 not read yet → kept run" in out
    assert "nothing found of: codex" in out
    assert "only where you name them: chatgpt" in out
    assert "<!-- kept: ignore -->" in out
    kept(capsys, "run", "--quiet")
    out = kept(capsys, "sources")[1]
    assert "archived: 1 session, 2 events, 2026-01-05 – 2026-01-05" in out
    assert "harbor  /home/u/harbor" in out
    assert "[projects]" in out


def test_a_source_is_switched_off_and_on(capsys, home, session):
    assert told(capsys, "sources", "disable", "claude-code") == {"sources_off": ["claude-code"]}
    assert "switched off by you → kept sources enable claude-code" in kept(capsys, "sources")[1]
    assert told(capsys, "run")["events"] == 0
    assert told(capsys, "sources", "enable", "claude-code") == {"sources_off": []}
    assert told(capsys, "run")["events"] == 2


def test_patterns_are_excluded_and_included_whatever_characters_they_hold(capsys, home, session):
    pattern = f"{home}/.claude/projects/a, b"
    assert told(capsys, "sources", "exclude", pattern) == {"exclude": [pattern]}
    assert told(capsys, "sources", "exclude", "~/other") == {"exclude": [pattern, f"{home}/other"]}
    assert told(capsys, "sources", "include", pattern) == {"exclude": [f"{home}/other"]}


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
