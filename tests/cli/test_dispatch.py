"""The command line: arguments in, exit codes and one clear line out."""

import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from cli_world import OTHER, RULE, command, kept, told, transcript
from kept import __version__
from kept.cli.hook import EVENTS
from kept.cli.registry import COMMANDS, EVERYDAY, split_global_options
from kept.core.text import one_line
from kept.local.error_log import error_line
from kept.memories import browse
from prepared import Prepared, do


def test_without_arguments_the_twelve_commands_of_every_day_are_listed(capsys, home):
    code, out, _ = kept(capsys)
    assert code == 0
    assert len(EVERYDAY) == 12
    assert [name for name in COMMANDS if f"\n  {name} " in out] == [name for name in COMMANDS if name in EVERYDAY]
    assert "kept help all" in out


def test_help_all_lists_every_command(capsys, home):
    code, out, _ = kept(capsys, "help", "all")
    assert code == 0
    assert all(f"  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_parameter_of_a_command_says_how_it_is_given_and_what_it_means(name):
    module, _, function = COMMANDS[name].place.partition(":")
    parameters = inspect.signature(getattr(importlib.import_module(f"kept.cli.{module}"), function)).parameters
    assert list(COMMANDS[name].options) == [parameter for parameter in parameters if parameter != "call"]
    assert all(declared and meaning for declared, meaning in COMMANDS[name].options.values())


def test_the_help_of_hook_names_every_event(capsys, home):
    out = " ".join(kept(capsys, "hook", "--help")[1].split()).replace("- ", "-")  # a line may end after a hyphen
    assert ", ".join(EVENTS) in out


_LOADED_BY_A_RUN = """
import re, sys
compiled, compile_now = set(), re._compile
def noted(source, flags):
    caller = sys._getframe(2)
    if caller.f_code.co_name == "<module>" and caller.f_globals["__name__"].startswith("kept."):
        compiled.add(f"{caller.f_code.co_filename}:{caller.f_lineno}")
    return compile_now(source, flags)
re._compile = noted
import kept.cli.commands.run
rare = {"email", "importlib.metadata", "logging.handlers", "plistlib", "kept.pipeline.nightly"}
print(*rare.intersection(sys.modules), *compiled)
"""


def test_a_run_loads_no_module_and_compiles_no_pattern_before_it_needs_them():
    done = subprocess.run([sys.executable, "-c", _LOADED_BY_A_RUN], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_help_loads_no_store_and_no_model(home):
    asked = "import sys; from kept.cli.dispatch import main\ntry: main(['status', '--help'])\nexcept SystemExit: pass\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{asked}print([each for each in sys.modules if each.startswith('kept.')], file=sys.stderr)"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert "Usage: kept status" in done.stdout
    assert not [each for each in ("kept.workspace", "kept.store", "kept.llm", "kept.sources") if each in done.stderr]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("sta",), "status"),
        (("list", "--pro"), "--project"),
        (("config", "set", "timez"), "timezone"),
        (("schedule", "inst"), "install"),
        (("--home", "x", "list", "--j"), "--json"),
    ],
)
def test_a_shell_completes_commands_options_settings_and_actions(capsys, home, words, offered):
    code, out, _ = kept(capsys, "--complete", *words)
    assert code == 0
    assert offered in [line.split("\t")[0] for line in out.splitlines()]


@pytest.mark.parametrize("name", ["undo", "redo"])
def test_no_placeholder_is_offered(capsys, home, name):
    assert kept(capsys, "--complete", name, "") == (0, "", "")


@pytest.mark.parametrize(("shell", "checks"), [("bash", "bash"), ("zsh", "zsh"), ("fish", "fish"), ("powershell", "")])
def test_each_shell_gets_a_script_that_it_can_read(capsys, home, shell, checks):
    code, out, _ = kept(capsys, "completion", shell)
    assert code == 0
    assert "kept --complete" in out
    if checks and shutil.which(checks):
        assert subprocess.run([checks, "-n"], input=out, text=True, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(capsys, home, name):
    code, out, err = kept(capsys, name, "--help")
    assert (code, err) == (0, "")
    assert f"    kept {name}" in out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_shows_arguments_without_python_types_and_with_balanced_brackets(capsys, home, name):
    usage, _, rest = kept(capsys, name, "--help")[1].partition("\n\n")
    assert usage.count("[") == usage.count("]")
    assert "[[" not in usage
    assert not re.search(r"<(str|int|path|list)\b", rest)


def test_help_and_version_touch_nothing(capsys, home):
    for call in (("--version",), ("--help",), ("run", "--help"), ("help", "list")):
        assert kept(capsys, *call)[0] == 0
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("words", [("--version",), ("version",), ("run", "--version"), ("--version", "list")], ids=" ".join)
def test_the_version_is_told_with_every_command(capsys, home, words):
    assert kept(capsys, *words) == (0, f"kept {__version__}\n", "")


@pytest.mark.parametrize("place", ["before", "after", "joined"])
def test_global_options_stand_before_or_after_the_command(capsys, home, tmp_path, place):
    other = tmp_path / "other"
    call = {"before": ("--home", other, "status"), "after": ("status", "--home", other), "joined": ("status", f"--home={other}")}
    assert told(capsys, *call[place])["home"] == str(other)


def test_nothing_after_a_double_dash_is_a_global_option():
    call, rest = split_global_options(["add", "--type", "goal", "--", "--home", "x"])
    assert call.home is None
    assert rest == ["add", "--type", "goal", "--", "--home", "x"]


@pytest.mark.parametrize("arguments", [("--home",), ("--home", ""), ("--home=",), ("--tz",)])
def test_a_global_option_without_a_value_never_falls_back_to_the_default(capsys, home, arguments):
    code, out, err = kept(capsys, "run", *arguments)
    assert (code, out) == (2, "")
    assert "needs a value" in err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("lst",), "did you mean `kept list`?"),
        (("--nope",), "see `kept --help`"),
        (("list", "--nope"), "see `kept list --help`"),
        (("add", "words", "--type", "nope"), "categories: preference"),
        (("show", "nope"), "kept list"),
        (("diff", "2026-01-01", "soon"), "YYYY-MM-DD"),
        (("list", "--category", "nope"), "one of: "),
        (("list", "--recorded"), "--at"),
        (("search", "x", "--in", "nope"), "memories, summaries, turns"),
        (("export", "--format", "nope"), "jsonl, json, md"),
        (("config", "get"), "get NAME"),
        (("config", "get", "timezon"), "did you mean timezone"),
        (("config", "get", "nope"), "see `kept config list`"),
        (("status", "--tz", "Mars/Olympus"), "Europe/Berlin"),
        (("status", "--profile", "nope"), "profiles: "),
        (("run", "/nowhere/at/all"), "no such file"),
        (("list", "--category", "-h"), "one of: "),
        (("search", "x", "--in", "-h"), "memories, summaries, turns"),
        (("forget",), "give ids, --words"),
        (("forget", "--source", "nobody", "--yes"), "name a source of `kept sources`"),
    ],
)
def test_a_wrong_call_is_one_line_on_stderr_and_exit_2(capsys, home, arguments, says):
    code, out, err = kept(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("kept: ")
    assert says in err
    assert err.count("\n") == 1


@pytest.fixture(scope="module")
def prepared_two(tmp_path_factory):
    def make(home):
        transcript(home / ".claude/projects/p/one-session.jsonl", RULE)
        transcript(home / ".claude/projects/p/two-session.jsonl", OTHER)
        do("run")

    return Prepared(tmp_path_factory, make)


@pytest.mark.parametrize(
    "words",
    [
        *(("show",), ("why",), ("edit", "{}", "In other words.", "--json"), ("retire",), ("pin",), ("merge", "{}", "{other}")),
        *(("resolve", "{}", "--as", "decision"), ("forget", "{}", "--yes"), ("show", "--session", "{session}")),
        *(
            ("sources", "--session", "{session}"),
            ("forget", "--session", "{session}", "--yes"),
            ("log", "r{run}"),
            ("undo", "r{run}"),
        ),
    ],
    ids=" ".join,
)
def test_the_first_characters_of_an_id_are_enough_where_only_one_has_them(capsys, home, prepared_two, words):
    ids = [memory["id"] for memory in told(capsys, "list")]
    apart = next(at for at, chars in enumerate(zip(*ids, strict=True), 1) if len(set(chars)) > 1)
    first, second = (number[:apart] for number in ids)
    known = {"other": second, "session": "o", "run": told(capsys, "log")[0]["run"]}
    code, _, err = kept(capsys, *(word.format(first, **known) for word in (words if words[1:] else (*words, "{}"))))
    assert (code, err) == (0, "")


@pytest.mark.parametrize("words", [("--approve",), ("--reject",), ("--past",), ("--admit",)], ids=" ".join)
def test_the_first_characters_of_a_proposal_are_enough(capsys, home, words):
    transcript(home / ".claude/projects/p/a.jsonl", "Note the work so far in memory.")
    kept(capsys, "run")
    number = told(capsys, "suggest", RULE, "--type", "constraint")["id"]
    chosen = told(capsys, "list", "--refused")[0]["id"] if words == ("--admit",) else number
    assert kept(capsys, "review", *words, chosen[:2])[0] == 0
    assert kept(capsys, "why", chosen[:2])[0] == 0


def test_an_id_that_several_have_lists_them(capsys, home):
    ids = [told(capsys, "add", f"Never delete the file `part{number}.py`.", "--type", "constraint")["id"] for number in range(17)]
    beginning = next(number[0] for number in ids if sum(other[0] == number[0] for other in ids) > 1)
    for words in (("show",), ("edit", "{}", "In other words."), ("retire",), ("pin",), ("forget", "{}", "--yes")):
        code, out, err = kept(capsys, *(word.format(beginning) for word in (words if words[1:] else (*words, "{}"))))
        listed = out if words == ("show",) else err
        assert (code, sum(number in listed for number in ids) > 1) == (2, True), words


@pytest.mark.parametrize("when", ["2026-01-05", "today", "yesterday", "monday", "3 days ago", "last month"])
def test_a_date_is_told_in_words(capsys, home, when):
    assert kept(capsys, "list", "--at", when)[::2] == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        *(("list", "--at"), ("diff", "2026-01-01"), ("search", "dates", "--since"), ("search", "dates", "--until"), ("day",)),
        *(("run", "--since"), ("run", "--until"), ("forget", "--yes", "--since"), ("forget", "--yes", "--until")),
        *(("journal", "write", "--dry-run", "--date"), ("add", RULE, "--type", "constraint", "--until")),
    ],
    ids=" ".join,
)
def test_every_command_takes_a_date_in_words(capsys, home, words):
    code, _, err = kept(capsys, *words, "last week")
    assert "YYYY-MM-DD" not in err
    assert (code, err) == (0, "") or words[0] in ("forget", "journal", "add")  # for these, last week is over or has nothing


def test_an_unexpected_error_names_kepts_own_line_and_not_that_of_a_library_below_a_folder_named_kept(tmp_path):
    library = tmp_path / "kept" / "library.py"
    words = {}
    exec(compile("class Words(str):\n    def split(self):\n        raise ArithmeticError\n", str(library), "exec"), words)
    with pytest.raises(ArithmeticError) as raised:
        one_line(words["Words"]("some words"))
    assert error_line(raised.value).startswith("something unexpected went wrong: ArithmeticError (text.py:")


def test_an_unexpected_error_shows_its_place_and_none_of_its_words(capsys, home, monkeypatch):
    def broken(workspace):
        raise ValueError("words of a transcript")

    monkeypatch.setattr(browse, "list_profiles", broken, raising=False)
    monkeypatch.setattr("kept.cli.commands.status.load_status", broken)
    code, out, err = kept(capsys, "status")
    assert (code, out) == (2, "")
    assert err.startswith("kept: something unexpected went wrong: ValueError (")
    assert err.count("\n") == 1
    assert "words of a transcript" not in err
    log = home / ".local" / "share" / "kept" / "errors.log"
    assert f"the trace is in {log}" in err
    assert "kept status: something unexpected went wrong: ValueError" in log.read_text()
    assert "words of a transcript" not in log.read_text()
    assert "Traceback" in kept(capsys, "status", "--verbose")[2]


def test_an_error_of_the_system_is_one_line_with_its_trace_in_the_log(capsys, home, monkeypatch):
    def broken(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kept.cli.commands.status.load_status", broken)
    code, out, err = kept(capsys, "status")
    log = home / ".local" / "share" / "kept" / "errors.log"
    next_step = "free some space and run again"
    assert (code, out, err) == (2, "", f"kept: the system said: No space left on device → {next_step}; the trace is in {log}\n")
    assert "kept status: " in log.read_text()
    assert "in broken" in log.read_text()


def test_an_interruption_says_that_nothing_is_lost_and_exits_130(capsys, home, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kept.cli.commands.run.run_pipeline", stopped)
    code, _, err = kept(capsys, "run")
    assert code == 130
    assert err == "kept: stopped; nothing is lost, the next run continues\n"


def test_a_reader_that_has_seen_enough_ends_the_output_silently(capsys, home):
    transcript(home / "t" / "a.jsonl", *[f"{RULE} Rule number {number} is about `file{number}.py`." for number in range(3)])
    environment = {**os.environ, "HOME": str(home)}
    assert kept(capsys, "run", home / "t", "-q")[0] == 0
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command("export"), env=environment, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_of_another_alphabet_gets_escapes_instead_of_an_error(capsys, home):
    environment = {**os.environ, "HOME": str(home), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert kept(capsys, "add", "Größe 漢字 `a.py`", "--type", "convention")[0] == 0
    done = subprocess.run(command("list", "--json"), env=environment, check=True, capture_output=True)
    assert json.loads(done.stdout.decode("ascii"))[0]["content"] == "Größe 漢字 `a.py`"


def test_the_home_is_never_a_file(capsys, tmp_path, home):
    (tmp_path / "file").write_text("x")
    code, _, err = kept(capsys, "status", "--home", tmp_path / "file")
    assert code == 2
    assert "not a directory" in err


@pytest.mark.parametrize(
    "command",
    [("forget", "--yes", "--words"), ("forget", "--yes", "--project"), ("why",), ("edit",), ("review", "--approve"), ("show",)],
)
def test_an_argument_that_is_not_utf_8_is_refused_in_one_line_and_leaves_no_trace(capsys, home, command):
    bad = b"tabs \xff".decode("utf-8", "surrogateescape")
    code, out, err = kept(capsys, *command, bad)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("kept: an argument is not valid UTF-8; nothing was changed → ")
    assert not [*home.rglob("errors.log")]
