"""A program as a model: how it is called, and that it can neither hang, flood nor act."""

import json
import os
import stat
import sys
from itertools import count
from pathlib import Path
from threading import Thread

import pytest

from asks import ask
from kept.core.fence import GUARD, OFF_THE_RECORD
from kept.llm.adapter import AdapterFailure, AdapterReply
from kept.llm.adapters.command import Command
from kept.llm.ask import Fault
from kept.llm.process import RunningPrograms
from waiting import until


@pytest.fixture
def program(tmp_path: Path):
    """Makes a program of a few lines of Python; returns the command line."""

    def make(body: str, name: str = "answerer") -> Path:
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


def answered(command, env=None, **more):
    return Command(str(command), env=os.environ | (env or {}), **{"timeout": 600.0} | more).ask(ask("What was said?"))


def test_the_question_goes_in_with_its_stable_part_first_and_the_reply_comes_out(program) -> None:
    said = answered(f"{program('sys.stdout.write(sys.stdin.read())')} --plain")
    assert isinstance(said, AdapterReply)
    assert "You take notes." in said.text
    assert said.text.index("You take notes.") < said.text.index("What was said?")
    assert said.usage.calls == 1
    assert said.usage.input_tokens == 11


def test_a_program_runs_in_an_empty_folder_with_little_of_the_environment_and_with_the_guard(program) -> None:
    body = "print(json.dumps([os.listdir('.'), dict(os.environ)]))"
    said = answered(f"{program(body)} x", {"MY_SECRET": "s", "WANTED": "w"}, more=("WANTED",))
    assert isinstance(said, AdapterReply)
    listing, env = json.loads(said.text)
    assert listing == []
    assert "MY_SECRET" not in env
    assert env["WANTED"] == "w"
    assert env[GUARD] == "1"


def test_a_program_that_hangs_is_killed_with_its_children(program, tmp_path: Path) -> None:
    mark = tmp_path / "child"
    body = f"child = os.fork()\nopen({str(mark)!r}, 'a').write(str(os.getpid()) + ' ')\ntime.sleep(600)"

    def noted() -> list[str]:
        return mark.read_text(encoding="utf-8").split() if mark.exists() else []

    command = Command(f"{program(body)} x", env=os.environ, timeout=1.0)
    looks = count()  # it begins at nought, though both may run by then; its second is over once they do
    command._programs = RunningPrograms(clock=lambda: float(next(looks) > 0 and len(noted()) == 2))
    said = command.ask(ask())
    assert isinstance(said, AdapterFailure)
    assert said.fault is Fault.TIMEOUT
    assert len(noted()) == 2
    for number in noted():
        until(lambda number=number: is_dead(number))


def is_dead(number: str) -> bool:
    """Whether a process is gone, or waits only for somebody to hear that it ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_program_that_reads_nothing_of_a_large_question_does_not_block(program) -> None:
    command = Command(f"{program('print(1)')} x", env=os.environ, timeout=600.0)
    said = command.ask(ask("word " * 1_000_000))
    assert isinstance(said, AdapterReply)
    assert said.text == "1\n"


def test_what_a_failing_program_prints_is_no_reply(program) -> None:
    said = answered(f"""{program("print('{}'); print('it broke', file=sys.stderr); sys.exit(3)")} x""")
    assert isinstance(said, AdapterFailure)
    assert said.reason.endswith("ended with code 3: it broke")


def test_a_flood_is_cut_off(program) -> None:
    said = answered(f"{program('while True: sys.stdout.write(chr(120) * 65536)')} x")
    assert isinstance(said, AdapterFailure)
    assert "wrote more than" in said.reason
    said = answered(f"{program('sys.stderr.write(chr(120) * 9_000_000); print(2)')} x")
    assert isinstance(said, AdapterReply)


def test_bytes_that_are_no_text_and_colours_do_no_harm(program) -> None:
    said = answered(f"""{program("sys.stdout.buffer.write(bytes([27]) + b'[31mred' + bytes([27]) + b'[0m' + bytes([255]))")} x""")
    assert isinstance(said, AdapterReply)
    assert said.text == "red\ufffd"


def test_a_program_that_is_not_there_is_told_by_its_name() -> None:
    said = answered("/nowhere/claude")
    assert isinstance(said, AdapterFailure)
    assert (said.fault, said.reason) == (Fault.SETUP, "there is no program '/nowhere/claude'")


def test_claude_has_no_tools_no_transcript_and_no_settings(program) -> None:
    body = (
        "print(json.dumps({'is_error': False, 'structured_output': {'facts': [json.dumps(sys.argv)]}, 'total_cost_usd': 0.25,"
        " 'usage': {'input_tokens': 5, 'cache_read_input_tokens': 3, 'output_tokens': 2}}))"
    )
    said = answered(program(body, "claude"), model="some-model")
    assert isinstance(said, AdapterReply)
    argv = json.loads(json.loads(said.text)["facts"][0])
    for flag in ("--safe-mode", "-p", "--no-session-persistence", "--strict-mcp-config", "--json-schema", "--system-prompt-file"):
        assert flag in argv
    assert argv[argv.index("--tools") + 1] == ""
    assert argv[argv.index("--model") + 1] == "some-model"
    assert (said.usage.input_tokens, said.usage.cached_tokens, said.usage.cost) == (8, 3, 0.25)


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        ("Invalid API key · Please run /login", Fault.SETUP),
        ("API Error: Rate limit reached", Fault.RATE_LIMIT),
        ("API Error: Overloaded", Fault.OVERLOADED),
        ("API Error: Unable to connect to API", Fault.CONNECTION),
        ("something else", Fault.FAILED),
    ],
)
def test_an_error_of_claude_is_one_whatever_its_subtype_says(program, result: str, fault: Fault) -> None:
    body = f"print(json.dumps({{'subtype': 'success', 'is_error': True, 'result': {result!r}}})); sys.exit(1)"
    said = answered(program(body, "claude"))
    assert isinstance(said, AdapterFailure)
    assert said.fault is fault
    assert said.reason == f"claude says: {result}"


def test_claude_that_prints_something_else_is_no_reply(program) -> None:
    said = answered(program("print('Welcome!')", "claude"))
    assert isinstance(said, AdapterFailure)


def test_codex_answers_through_a_file(program) -> None:
    body = "out = sys.argv[sys.argv.index('-o') + 1]\nprint('chatter')\nopen(out, 'w').write(json.dumps({'facts': sys.argv[1:7]}))"
    said = answered(program(body, "codex"))
    assert isinstance(said, AdapterReply)
    assert "--ephemeral" in said.text
    assert "read-only" in said.text
    assert "chatter" not in said.text


def test_closing_ends_what_is_running(program, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    command = Command(f"{program(f'open({str(mark)!r}, chr(119)).close(); time.sleep(600)')} x", env=os.environ, timeout=3600.0)
    found: list[object] = []
    thread = Thread(target=lambda: found.append(command.ask(ask())))
    thread.start()
    until(mark.exists)
    command.close()
    thread.join()
    assert isinstance(found[0], AdapterFailure)


@pytest.mark.parametrize("words", ["-p", "--print --effort low", "--effort low"])
def test_a_known_program_with_options_is_still_called_so_that_it_can_only_answer(program, words: str) -> None:
    body = "print(json.dumps({'is_error': False, 'structured_output': {'facts': sys.argv[1:]}}))"
    said = answered(f"{program(body, 'claude')} {words}")
    assert isinstance(said, AdapterReply)
    argv = json.loads(said.text)["facts"]
    assert argv.count("-p") == 1
    assert "--safe-mode" in argv
    assert ("--effort" in argv) == ("--effort" in words)


def test_gemini_is_asked_off_the_record_without_extensions_and_its_response_is_the_reply(program) -> None:
    body = "asked = sys.stdin.read()\nprint(json.dumps({'response': json.dumps([sys.argv[1:], asked.splitlines()[0]])}))"
    said = answered(program(body, "gemini"), model="flash")
    assert isinstance(said, AdapterReply)
    arguments, first = json.loads(said.text)
    assert arguments[arguments.index("--extensions") + 1] == "none"
    assert arguments[-2:] == ["--model", "flash"]
    assert first == OFF_THE_RECORD


def test_an_error_that_gemini_tells_is_no_reply(program) -> None:
    said = answered(program("print(json.dumps({'error': {'message': 'no quota'}}))", "gemini"))
    assert isinstance(said, AdapterFailure)
    assert "no quota" in said.reason
