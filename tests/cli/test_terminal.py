"""What a person sees and presses on a terminal."""

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import sys
import termios
import traceback

import pytest

from cli_world import OTHER, RULE, kept, memory_file, told, transcript
from kept.cli import command_support, main
from kept.cli.console import hanging_line, json_text, to_safe_line

LONG = (
    "Never write to `deploy.log` from a background job in this repo, always send the message to the `notify` queue and "
    "let the worker write it."
)
CTRL_C = "\x03"


def typed(home, arguments, *dialogue, columns=80, path="/usr/bin:/bin"):
    """Everything a terminal shows of a call, in which each ``(seen, keys)`` types the keys once the text was seen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "HOME": str(home), "KEPT_HOME": str(home), "TERM": "xterm-256color", "PATH": path}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    if not (process := os.fork()):  # a new Python would load all modules again
        answer(theirs, environment, [str(each) for each in arguments])
    os.close(theirs)
    shown, start, waiting = b"", 0, list(dialogue)
    while True:
        try:
            shown += os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if waiting and waiting[0][0].encode() in shown[start:]:
            start, keys = len(shown), waiting.pop(0)[1]
            os.kill(process, signal.SIGINT) if keys == CTRL_C else os.write(ours, keys.encode())
    os.close(ours)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert not waiting, shown.decode()
    return code, shown.decode()


def answer(terminal, environment, arguments):
    """Be the process of a command on a terminal, and end."""
    code = 70
    try:
        os.login_tty(terminal)
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", 1), open(2, "w", 1)  # noqa: SIM115
        main(arguments)
    except SystemExit as ended:
        code = ended.code
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - whatever it is, this copy of the tests ends here
        traceback.print_exc()
    finally:
        os._exit(code)


def plain(shown):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


@pytest.fixture
def held(capsys, home):
    """The ids of two memories that wait."""
    return [told(capsys, "suggest", words, "--type", "constraint")["id"] for words in (RULE, OTHER)]


def test_review_takes_one_keystroke_for_each(capsys, home, held):
    code, shown = typed(home, ["review"], ("stop", "y"), ("stop", "n"), ("stop", "q"))
    assert code == 0
    assert "1 kept, 1 rejected" in plain(shown)
    assert [told(capsys, "show", each)["status"] for each in held].count("active") == 1
    assert [told(capsys, "show", each)["status"] for each in held].count("rejected") == 1
    assert memory_file(home).exists()


def test_review_takes_the_last_decision_back_and_asks_again(capsys, home, held):
    code, shown = typed(
        home,
        ["review"],
        *(("stop", key) for key in "unup"),
        ("Enter takes", "q\r"),
        ("stop", "p"),
        ("Enter takes", "\r"),
        ("stop", "q"),
        columns=120,
    )
    assert code == 0
    assert "Nothing was decided yet" in plain(shown)
    assert f"    {held[0]}  {RULE}  (rejected, " in plain(shown)
    assert f"Taken back: {RULE}\r\n\r\n1 of 2" in plain(shown)
    assert f"{held[0]} {RULE} (was so until 2" in " ".join(plain(shown).split())
    assert "0 kept, 0 rejected, 1 true then, not now; 1 memory not decided → kept undo takes the last back" in plain(shown)
    assert sorted(told(capsys, "show", each)["status"] for each in held) == ["held", "retired"]


def test_review_takes_the_very_last_decision_back_before_it_ends(capsys, home, held):
    code, shown = typed(home, ["review"], *(("stop", key) for key in "ynuy\r"), columns=120)
    assert code == 0
    assert f"Taken back: {OTHER}\r\n\r\n2 of 2" in plain(shown)
    assert "2 kept, 0 rejected" in plain(shown)
    assert [told(capsys, "show", each)["status"] for each in held] == ["active", "active"]


def test_review_asks_until_when_it_was_so_and_what_is_typed_replaces_the_day_of_what_took_its_place(capsys, home):
    folder = home / ".claude/projects/-home-u-harbor"
    transcript(folder / "a.jsonl", "I would prefer that the lamp readings go to Postgres tables.", day="2026-01-05")
    transcript(folder / "b.jsonl", "Remember that the lamp readings go to SQLite, no longer to Postgres.", day="2026-01-12")
    kept(capsys, "run")
    (old,) = told(capsys, "list", "--held")
    code, shown = typed(
        home, ["review", "--all"], ("stop", "p"), ("› ", "2026-02\x7f\x7f\x1b[D01-11\r"), ("stop", "\r"), columns=120
    )
    assert code == 0
    assert "newer, 2026-01-12: " in plain(shown)
    assert "was so until 2026-01-11" in " ".join(plain(shown).split())
    then, now = (kept(capsys, "list", "--at", day)[1] for day in ("2026-01-10", "2026-01-14"))
    assert old["content"] in then
    assert old["content"] not in now
    day, month = (kept(capsys, "day", which)[1] for which in ("2026-01-05", "2026-01"))
    assert "Decided: 1 memory" in day or "Learnt: 1 memory" in day
    assert "produced no memory" not in day
    assert "Mon 2026-01-05  1 session, 1 " in month


@pytest.mark.parametrize("key", ["\x1b", "\x1b\r", "\x04", "q\r"], ids=["escape", "escape and enter", "end of input", "q"])
def test_leaving_the_question_until_when_it_was_so_decides_nothing(capsys, home, held, key):
    code, shown = typed(home, ["review"], ("stop", "p"), ("› ", key), ("stop", "q"), columns=160)
    assert code == 0
    assert "0 kept, 0 rejected; 2 memories not decided" in plain(shown)
    assert len(told(capsys, "review")) == 2


def test_review_opens_the_conversation_and_asks_again(capsys, home, held):
    code, shown = typed(home, ["review"], ("stop", "o"), ("stop", "y"), ("stop", "q"))
    assert code == 0
    assert "1 kept, 0 rejected" in plain(shown)


def test_other_keys_show_the_keys_and_stopping_keeps_what_was_answered(capsys, home, held):
    code, shown = typed(home, ["review"], ("stop", "x?s"), ("stop", "q"))
    assert code == 0
    assert plain(shown).count("y keep  n reject") == 4
    assert "skipped" in plain(shown)
    assert "0 kept, 0 rejected; 2 memories not decided" in plain(shown)
    assert len(told(capsys, "review")) == 2


def test_review_lets_the_words_be_changed_in_place(capsys, home, held):
    typed(home, ["review"], ("stop", "e"), ("› ", " Always.\r"), ("stop", "q"))
    (memory,) = told(capsys, "list")
    assert memory["content"].endswith(" Always.")
    assert memory["content"].removesuffix(" Always.") in (RULE, OTHER)


def test_a_suggestion_on_a_terminal_is_answered_at_once(capsys, home):
    code, _ = typed(home, ["suggest", RULE, "--type", "constraint"], ("y/n", "y"))
    assert code == 0
    assert [each["content"] for each in told(capsys, "list")] == [RULE]
    typed(home, ["suggest", OTHER, "--type", "constraint"], ("y/n", "n"))
    assert len(told(capsys, "list")) == 1
    assert told(capsys, "review") == []


def test_forgetting_asks_and_says_that_it_cannot_be_undone(capsys, home):
    number = told(capsys, "add", RULE, "--type", "constraint")["id"]
    code, shown = typed(home, ["forget", number], ("cannot be undone", "n"))
    assert code == 2
    assert "nothing was forgotten" in shown
    assert told(capsys, "show", number)["content"] == RULE
    code, _ = typed(home, ["forget", number], ("cannot be undone", "y"))
    assert code == 0
    assert told(capsys, "show", number)["content"] == ""


def test_an_interrupted_question_exits_130(home, held):
    code, shown = typed(home, ["review"], ("stop", CTRL_C))
    assert code == 130
    assert "nothing is lost" in shown


def test_a_terminal_gets_colour_and_words_that_hang_beside_their_id(capsys, home):
    told(capsys, "add", LONG, "--type", "constraint")
    _, shown = typed(home, ["list"], columns=60)
    assert "\x1b[" in shown
    lines = [each.rstrip() for each in plain(shown).splitlines()]
    first = next(number for number, each in enumerate(lines) if "deploy.log" in each)
    assert all(len(each) <= 60 for each in lines)
    assert re.match(r" {16}\w", lines[first + 1])


def test_who_leaves_the_pager_early_sees_what_it_showed_and_no_failure(capsys, home, monkeypatch):
    told(capsys, "add", LONG, "--type", "constraint")
    monkeypatch.setenv("PAGER", "head -n 1")
    code, shown = typed(home, ["list"])
    assert (code, plain(shown).strip()) == (0, "everywhere")
    monkeypatch.setenv("PAGER", "no-such-pager")
    assert "deploy.log" in plain(typed(home, ["list"])[1])


def test_a_run_on_a_terminal_shows_progress_and_no_escape_of_a_transcript(home):
    transcript(home / "t/a.jsonl", "Never print \x1b[31mred\x1b[0m [bold]text[/bold] in `log.py`, always use `warn()`.")
    code, shown = typed(home, ["run", home / "t"], ("y/n", "n"))
    assert code == 0
    assert "reading" in shown
    assert "[bold]text[/bold]" in plain(shown)
    assert "\x1b[31mred" not in shown
    _, shown = typed(home, ["run", home / "t", "--quiet", "--force"])
    assert shown == ""


def test_a_named_folder_is_offered_to_be_followed(capsys, home):
    transcript(home / "t/a.jsonl", RULE)
    _, shown = typed(home, ["run", home / "t"], ("y/n", "y"))
    assert "is read by every run from now on." in plain(shown)
    assert [root["path"] for root in told(capsys, "sources", "list")["roots"]] == [str(home / "t")]
    assert "y/n" not in typed(home, ["run", home / "t"])[1]


@pytest.mark.parametrize("char", ["\x1b", "\r", "\x07", "\x9b", "\u202e", "\u200b", "\x00", "\u2066", "\udc80"])
def test_no_character_that_moves_or_hides_gets_to_the_screen(char):
    assert char not in to_safe_line(f"a{char}b")
    assert char not in json_text({"words": f"a{char}b"})
    assert json.loads(json_text({"words": f"a{char}b"}))["words"] == f"a{char}b"


def test_a_line_is_one_line_whatever_its_words(capsys):
    front_line = hanging_line([("id  ", "")], "two\nlines\u2028three")
    assert to_safe_line("".join(words for words, _ in (*front_line.head, *front_line.body))) == "id  two lines three"


def test_a_key_that_was_not_offered_is_asked_again(monkeypatch):
    pressed = iter("?\r Y")
    monkeypatch.setattr(command_support, "read_key", lambda: next(pressed))
    assert command_support.read_choice("yn") == "y"


@pytest.mark.parametrize("nothing", ["", "\x04"])
def test_nobody_at_the_terminal_means_the_last_choice(monkeypatch, nothing):
    monkeypatch.setattr(command_support, "read_key", lambda: nothing)
    assert command_support.read_choice("yn") == "n"


def test_help_is_plain(capsys, home):
    assert "\x1b" not in kept(capsys, "run", "--help")[1]


@pytest.fixture
def with_claude(tmp_path):
    """A path on which a program named claude stands that notes that it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(f"#!/bin/sh\ncat > /dev/null; touch {folder}/called\n")
    (folder / "claude").chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


SAID = ("We measured the harbor tides wrongly because of the drifting gauge.", "The harbor tides of March need the other gauge.")


def test_a_first_run_offers_the_model_that_is_here_once_and_a_no_sends_nothing_and_is_remembered(home, with_claude):
    transcript(home / "t/a.jsonl", *SAID)
    command_line = ["run", "--follow", str(home / "t")]
    code, shown = typed(home, command_line, ("nothing is sent without your yes", "n"), path=with_claude, columns=200)
    assert code == 0
    assert "Claude Code" in plain(shown)
    assert "USD" in plain(shown)
    code, shown = typed(home, [*command_line, "--force"], path=with_claude, columns=200)
    assert code == 0
    assert "Claude Code" not in plain(shown)
    assert not pathlib.Path(with_claude.split(":")[0], "called").exists()


def test_a_yes_sets_the_model_and_asks_it_at_once(capsys, home, with_claude):
    transcript(home / "t/a.jsonl", *SAID)
    _, shown = typed(
        home, ["run", "--follow", str(home / "t")], ("nothing is sent without your yes", "1"), path=with_claude, columns=200
    )
    assert "from now on" in plain(shown)
    assert kept(capsys, "config", "get", "llm.command")[1].strip() == "claude"
    assert pathlib.Path(with_claude.split(":")[0], "called").exists()


def test_without_a_terminal_no_model_is_offered_and_status_says_what_is_not_tried(capsys, home):
    transcript(home / "t/a.jsonl", *SAID)
    _, out, _ = kept(capsys, "run", str(home / "t"))
    assert "nothing is sent" not in out
    assert "can be searched → kept search WORDS" in out
    assert "with one, that takes 12 questions with about" in out  # ten are those of the trial, one is a recheck
    _, out, _ = kept(capsys, "status")
    assert "is not extracted" in out
