"""``kept hook``: what a coding agent gets, and that nothing makes its session fail."""

import json
import os
import shlex
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import count
from socket import AF_UNIX, SOCK_STREAM, socket

import pytest

from cli_world import RULE, kept, memory_file, told, transcript
from hook_world import SESSION, harbor, hook, hook_process, injected, log_of, payload
from kept.cli.hook import EVENTS
from kept.core.fence import GUARD, NOTICE, TAG
from kept.install import background_run
from kept.local.clients import with_hooks
from kept.local.queue import state_folder, take_queued_transcripts
from kept.paths import find_paths
from kept.recall.embed_server.server import run_embed_server
from prepared import Prepared, do
from waiting import until

PREFERENCE = "Explain the options and ask before changing anything."
FACT = "The export of invoices is written by `InvoiceWriter` in src/export/invoices.py."


def remember(home):
    do("add", PREFERENCE, "--type", "preference")
    (home / "harbor" / "src" / "export").mkdir(parents=True)
    do("add", FACT, "--type", "project_fact", "--project", harbor())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Prepared(tmp_path_factory, remember)


@pytest.fixture
def remembering(made, monkeypatch):
    """A home with a preference of the user's and a fact of the project harbor, neither of them in a file the agent reads."""
    return made.again(monkeypatch)


def prompt(words, **fields):
    return payload("UserPromptSubmit", prompt=words, **fields)


@pytest.mark.parametrize("event", ["session-start", "subagent-start"])
def test_a_session_of_an_agent_that_reads_no_memory_file_starts_with_what_always_holds_and_its_own_project(remembering, event):
    start = payload("", source="startup", agent_id="a1")
    text = injected(event, start, "--client", "codex")
    assert text.startswith(f"<{TAG}>\n{NOTICE}\n")
    assert PREFERENCE in text
    assert FACT in text
    (remembering / "ferry").mkdir()
    assert FACT not in injected(event, start | {"cwd": str(remembering / "ferry"), "session_id": "another"}, "--client", "codex")


def test_what_a_subagent_starts_with_is_told_the_session_all_the_same(remembering):
    assert FACT in injected("subagent-start", payload("SubagentStart", agent_id="a1"), "--client", "codex")
    assert FACT in injected("session-start", payload("SessionStart", source="startup"), "--client", "codex")


def test_what_the_agent_reads_in_memory_md_is_not_put_before_it_again(remembering):
    assert PREFERENCE in memory_file(remembering).read_text(encoding="utf-8")
    assert PREFERENCE not in injected("session-start", payload("SessionStart", source="startup"))
    assert injected("user-prompt", prompt("Where does InvoiceWriter write the invoices?")) == ""


def test_a_prompt_brings_the_fact_that_is_near_to_it_once_a_session(remembering):
    words = "Where does InvoiceWriter write the invoices of the export?"
    assert FACT in injected("user-prompt", prompt(words), "--client", "codex")
    assert injected("user-prompt", prompt(words), "--client", "codex") == ""
    assert FACT in injected("user-prompt", prompt(words, session_id="another"), "--client", "codex")


def test_after_a_compaction_it_is_put_before_the_session_anew(remembering):
    start = payload("SessionStart", source="startup")
    assert PREFERENCE in injected("session-start", start, "--client", "codex")
    assert injected("session-start", start | {"source": "resume"}, "--client", "codex") == ""
    assert PREFERENCE in injected("session-start", start | {"source": "compact"}, "--client", "codex")


@pytest.mark.parametrize(
    "words",
    [
        "What is a good recipe for banana bread with walnuts?",
        "fix the tests please and commit",
        "ok",
        "Explain before asking: options for changing the colour of anything?",
        "Please write the release notes, and ask nothing.",
    ],
)
def test_a_prompt_that_is_about_nothing_stored_brings_nothing(remembering, words):
    injected("session-start", payload("SessionStart", source="startup"), "--client", "codex")
    assert injected("user-prompt", prompt(words), "--client", "codex") == ""


def test_facts_of_another_project_are_not_brought(remembering):
    words = "Where does InvoiceWriter write the invoices of the export?"
    assert FACT not in injected("user-prompt", prompt(words, cwd=f"{harbor()}-elsewhere"), "--client", "codex")


def test_a_directory_inside_a_project_belongs_to_it(remembering):
    words = "Where does InvoiceWriter write the invoices of the export?"
    assert FACT in injected("user-prompt", prompt(words, cwd=f"{harbor()}/src/export"), "--client", "codex")


def test_codex_is_recognised_by_its_payload(remembering):
    body = prompt("hello", transcript_path=None, turn_id="t1", model="gpt-5.4")
    assert PREFERENCE in injected("user-prompt", body)


@pytest.mark.parametrize(
    "words",
    [
        'AND OR NOT NEAR( "invoices" * ^ : - {InvoiceWriter} "',
        "InvoiceWriter\x00 invoices \x1b[31mexport\x07",
        "InvoiceWriter invoices " * 50_000,
        "a" * 1_000_000,
        "\ud800 \udfff lone surrogates",
        "'; DROP TABLE memories; --",
        "日本語のエラー " * 2_000,
        "Error: " * 100_000,
        "",
    ],
)
def test_hostile_prompts_are_answered_within_the_form_or_with_nothing(remembering, words):
    code, out, err = hook("user-prompt", prompt(words), "--client", "codex")
    assert (code, err) == (0, "")
    assert log_of(remembering) == []
    if out:
        assert len(json.loads(out)["hookSpecificOutput"]["additionalContext"]) < 10_000


GARBAGE = (
    b"",
    b"not json",
    b"[1, 2]",
    b'{"prompt": \xff\xfe}',
    b"[" * 100_000,
    b'{"session_id": 5, "cwd": [], "transcript_path": {}}',
)


@pytest.mark.parametrize(
    ("raw", "event", "call"),
    [(b"", "stop", hook_process), (b'{"prompt": \xff\xfe}', "user-prompt", hook_process)]
    + [(raw, event, hook) for raw in GARBAGE for event in EVENTS],
)
def test_garbage_on_stdin_ends_well_and_silently(remembering, raw, event, call):
    code, out, err = call(event, raw, "--client", "claude")
    assert (code, err) == (0, "")
    if not raw.startswith(b'{"session_id'):
        assert out == ""
        assert f"{event}: the payload is not " in log_of(remembering)[-1]


def test_a_payload_without_the_prompt_is_told_in_the_log(remembering):
    assert hook("user-prompt", payload("UserPromptSubmit", user_prompt="hello")) == (0, "", "")
    assert "the payload has no prompt; it has cwd" in log_of(remembering)[-1]


def test_a_payload_too_large_is_not_read(remembering):
    assert hook("user-prompt", b'{"prompt": "' + b"x" * 8_100_000 + b'"}') == (0, "", "")
    assert "more than 8,000,000 bytes" in log_of(remembering)[-1]


def test_in_a_process_that_kept_started_a_hook_does_nothing(remembering):
    before = {path: path.stat().st_mtime_ns for path in remembering.rglob("*")}
    for event in EVENTS:
        assert hook(event, prompt("InvoiceWriter invoices"), "--client", "codex", env={GUARD: "1"}) == (0, "", "")
    assert {path: path.stat().st_mtime_ns for path in remembering.rglob("*")} == before


def test_where_kept_was_never_run_a_hook_leaves_no_trace(home):
    for event in EVENTS:
        assert hook(event, prompt("hello", source="startup")) == (0, "", "")
    assert list(home.iterdir()) == []


def test_a_damaged_store_costs_the_session_nothing(remembering):
    store = remembering / ".local" / "share" / "kept" / "kept.db"
    store.write_bytes(b"no database" * 1000)
    assert hook("user-prompt", prompt("InvoiceWriter invoices")) == (0, "", "")
    assert "nothing was recalled" in log_of(remembering)[-1]


def test_a_hook_answers_while_another_process_writes(remembering):

    writer = sqlite3.connect(remembering / ".local" / "share" / "kept" / "kept.db", isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    try:
        assert hook_process("user-prompt", prompt("InvoiceWriter invoices export"), "--client", "codex") == (0, "", "")
    finally:
        writer.close()
    assert "nothing was recalled" in log_of(remembering)[-1]


def test_the_end_of_a_session_leaves_its_transcript_to_the_next_run(remembering, capsys):
    path = transcript(remembering / ".claude" / "projects" / "elsewhere" / "s9.jsonl", RULE)
    body = payload("SessionEnd", reason="prompt_input_exit", transcript_path=str(path))
    assert hook("session-end", body) == (0, "", "")
    assert RULE not in memory_file(remembering).read_text(encoding="utf-8")
    assert kept(capsys, "run")[0] == 0
    assert RULE.rstrip(".") in memory_file(remembering).read_text(encoding="utf-8")
    assert not (remembering / ".local" / "share" / "kept" / "hooks" / "queue").exists()


def test_before_a_compaction_the_transcript_goes_into_the_archive(remembering, capsys):
    path = transcript(remembering / ".claude" / "projects" / "elsewhere" / "s9.jsonl", RULE)
    assert hook("pre-compact", payload("PreCompact", trigger="auto", transcript_path=str(path))) == (0, "", "")
    assert log_of(remembering) == []
    code, out, _ = kept(capsys, "show", "--session", "s9")
    assert code == 0
    assert "ISO 8601" in out


def test_a_secret_in_a_path_is_not_written_into_the_log_of_hooks(remembering):
    secret = "ghp_" + "Zk3Qm8Rt5Wx2Yb7Nc4Vd9Lf6Hj1Gs0PaEuTi"
    path = remembering / ".claude" / "projects" / "elsewhere" / f"{secret}.jsonl"
    assert hook("pre-compact", payload("PreCompact", trigger="auto", transcript_path=str(path))) == (0, "", "")
    (line,) = log_of(remembering)
    assert secret not in line
    assert "contains a secret" in line


def test_before_a_compaction_the_note_of_the_day_is_written(remembering, capsys):
    assert kept(capsys, "config", "set", "profile", "workspace")[0] == 0
    path = transcript(
        remembering / ".claude" / "projects" / "elsewhere" / "s9.jsonl", "Make the export of invoices skip empty rows."
    )
    deleted = "".join(each for each in memory_file(remembering).read_text().splitlines(keepends=True) if PREFERENCE not in each)
    memory_file(remembering).write_text(deleted)
    assert hook("pre-compact", payload("PreCompact", trigger="auto", transcript_path=str(path))) == (0, "", "")
    assert log_of(remembering) == []
    assert memory_file(remembering).read_text() == deleted
    assert kept(capsys, "config", "set", "profile", "coding")[0] == 0
    assert PREFERENCE in [each["content"] for each in told(capsys, "list")]
    (note,) = (
        each for each in remembering.rglob("*.md") if each.parent.name == "memory" and "export of invoices" in each.read_text()
    )
    assert "- Make the export of invoices skip empty rows" in note.read_text()


def test_where_the_person_wants_it_meaning_brings_what_words_alone_would_not(remembering, capsys):
    words = "invoices written export"
    assert kept(capsys, "config", "set", "recall.embeddings", "hashing")[0] == 0
    assert kept(capsys, "config", "set", "context_meaning", "true")[0] == 0
    assert kept(capsys, "run")[0] == 0
    text = injected("user-prompt", prompt(words, session_id="meant"), "--client", "codex", call=hook_process)
    assert FACT in text
    assert log_of(remembering) == []


@pytest.fixture
def meaning(remembering, capsys):
    """The same home, with vectors; a warm process may answer, the hook itself loads no model."""
    assert kept(capsys, "config", "set", "recall.embeddings", "hashing")[0] == 0
    assert kept(capsys, "add", LUNCH, "--type", "project_fact", "--project", harbor())[0] == 0
    assert kept(capsys, "run")[0] == 0
    return remembering


LUNCH = "Lunch orders close before noon."
NEAR = "lunchtime orderlies closets"  # no word of it is in the memory; the hashing model takes beginnings of words


def test_a_warm_process_tells_what_is_near_by_meaning(meaning):
    def brought(session):
        return LUNCH in injected("user-prompt", prompt(NEAR, session_id=session), "--client", "codex")

    assert not brought("cold")
    home = find_paths(str(meaning), os.environ)
    with run_embed_server(home, os.environ):
        until((home.state / "warm.sock").exists)
        sessions = (f"warm {number}" for number in count())
        until(lambda: brought(next(sessions)))
    assert not brought("cold again")
    assert log_of(meaning) == []


@pytest.mark.parametrize("reply", [None, b"\x00" * 50_000, b'{"../../etc/passwd": 1.0, "x": 0.9}\n'], ids=["slow", "noise", "lies"])
def test_a_socket_that_misbehaves_neither_stops_a_hook_nor_puts_words_into_it(meaning, reply):
    words = "Where does InvoiceWriter write the invoices of the export?"
    over = threading.Event()
    with socket(AF_UNIX, SOCK_STREAM) as door:
        door.bind(str(meaning / ".local" / "share" / "kept" / "warm.sock"))
        door.listen(1)

        def run():
            connection, _ = door.accept()
            with connection, suppress(OSError):
                if reply is None:
                    over.wait()
                else:
                    connection.sendall(reply)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        text = injected("user-prompt", prompt(words), "--client", "codex")
        over.set()
        thread.join()
    assert FACT in text
    assert text.count("\n- ") == 2  # the preference and the fact
    assert log_of(meaning) == []


def test_a_socket_that_nobody_listens_to_changes_nothing(meaning):
    words = "Where does InvoiceWriter write the invoices of the export?"
    with socket(AF_UNIX, SOCK_STREAM) as door:
        door.bind(str(meaning / ".local" / "share" / "kept" / "warm.sock"))
    assert FACT in injected("user-prompt", prompt(words), "--client", "codex")
    assert log_of(meaning) == []


def test_the_context_command_looks_by_meaning_and_follows_the_settings(meaning, capsys):
    def shown():
        return [each["text"] for each in told(capsys, "context", NEAR, "--project", harbor(), "--client", "codex")["lines"]]

    assert LUNCH in shown()
    assert kept(capsys, "config", "set", "recall.floor", "0.99")[0] == 0
    assert LUNCH not in shown()


def test_the_context_command_says_what_a_hook_finds_only_where_it_compares_meanings(meaning, capsys):
    def noted(words):
        return (
            "Found by meaning: 1; hooks find these only"
            in kept(capsys, "context", words, "--project", harbor(), "--client", "codex")[1]
        )

    assert LUNCH not in injected("user-prompt", prompt(NEAR, session_id="cold"), "--client", "codex")
    assert noted(NEAR)
    assert not noted("Where does InvoiceWriter write the invoices of the export?")
    assert kept(capsys, "config", "set", "context_meaning", "true")[0] == 0
    assert LUNCH in injected("user-prompt", prompt(NEAR, session_id="meant"), "--client", "codex")
    assert not noted(NEAR)


def test_the_context_command_asks_for_the_directory_where_it_is_called(meaning, capsys, monkeypatch):
    monkeypatch.chdir(harbor())
    assert LUNCH in [each["text"] for each in told(capsys, "context", NEAR, "--client", "codex")["lines"]]


def test_the_context_command_tells_what_was_considered_with_its_score_and_what_kept_it_out(meaning, capsys):
    words = "Did the dealer of walnut crates, lorries and ladders have lunch?"
    code, out, _ = kept(capsys, "context", words, "--project", harbor(), "--client", "codex", "--why")
    assert code == 0
    assert LUNCH in out
    assert "not relevant enough; near" in " ".join(out.split())
    assert "words 0.00" in " ".join(out.split())


def test_at_the_end_of_a_session_a_run_is_started_where_the_settings_say_so(remembering, capsys, monkeypatch):
    started = []
    monkeypatch.setattr(background_run, "_start_command", lambda _, words, **__: started.append(words) or True)
    path = transcript(remembering / ".claude" / "projects" / "elsewhere" / "s9.jsonl", RULE)
    assert kept(capsys, "config", "set", "at_session_end", "run")[0] == 0
    assert hook("session-end", payload("SessionEnd", reason="clear", transcript_path=str(path))) == (0, "", "")
    do(*started[0])
    assert RULE.rstrip(".") in memory_file(remembering).read_text(encoding="utf-8")


def test_the_folder_of_hooks_is_the_users_alone(remembering):
    injected("session-start", payload("SessionStart", source="startup"), "--client", "codex")
    place = remembering / ".local" / "share" / "kept" / "hooks"
    assert place.stat().st_mode & 0o077 == 0
    assert all(each.stat().st_mode & 0o077 == 0 for each in place.iterdir())


def test_a_session_id_that_is_a_path_stays_inside_the_folder(remembering):
    body = payload("SessionStart", source="startup", session_id="../../../../evil")
    injected("session-start", body, "--client", "codex")
    inside = (remembering / ".local" / "share" / "kept" / "hooks").iterdir()
    assert any(each.name.endswith("evil.told") for each in inside)
    assert not list(remembering.glob("**/evil"))


def test_what_kept_injected_is_never_extracted_again(remembering, capsys):
    text = injected("session-start", payload("SessionStart", source="startup"), "--client", "codex")
    rule = "From now on we always deploy on Tuesdays."
    echo = text.replace(PREFERENCE, rule)
    assert rule in echo
    said = (
        f"{echo}\nWhat does the build do?",
        "<system-reminder>\n" + echo + "\n</system-reminder>\nGo on.",
        f"Look: {json.dumps(echo)}",
    )
    transcript(remembering / ".claude" / "projects" / "-home-u-harbor" / "s8.jsonl", *said, cwd=harbor())
    assert kept(capsys, "run")[0] == 0
    code, out, _ = kept(capsys, "list", "--all", "--json")
    assert code == 0
    assert [each["content"] for each in json.loads(out) if "Tuesdays" in each["content"]] == []
    code, out, _ = kept(capsys, "search", "Tuesdays", "--in", "turns", "--json")
    assert json.loads(out)["hits"] == []


def test_hook_help_names_the_events(capsys, home):
    code, out, _ = kept(capsys, "hook", "--help")
    assert code == 0
    assert all(event in "".join(out.split()) for event in EVENTS)  # a line may break after a hyphen


def test_every_recorded_payload_is_answered_in_the_clients_form(shared, remembering):
    names = {
        "SessionStart": "session-start",
        "UserPromptSubmit": "user-prompt",
        "Stop": "stop",
        "PreCompact": "pre-compact",
        "SessionEnd": "session-end",
    }
    for path in sorted((shared / "samples" / "hooks").glob("c*.json")):
        body = json.loads(path.read_text(encoding="utf-8"))
        code, out, err = hook(names[body["hook_event_name"]], body)
        assert (code, err) == (0, "")
        if out:
            assert json.loads(out)["hookSpecificOutput"]["hookEventName"] == body["hook_event_name"]
    assert SESSION


FAILED = [["night check", "2026-11-20T02:30:00.000Z", "2 rows are damaged"], ["session end", "2026-11-20T09:00:00.000Z", "x"]]


def test_what_failed_while_nobody_watched_is_told_to_one_session_once(remembering):
    state = remembering / ".local" / "share" / "kept"
    (state / "failures.json").write_text(json.dumps(FAILED), encoding="utf-8")
    text = injected("session-start", payload("SessionStart", source="startup"))
    assert "kept could not do all of its own work (night check, session end)" in text
    assert "damaged" not in text  # no word of what failed: it may come from a transcript
    assert len(text) < 800
    assert "could not do" not in injected("session-start", payload("SessionStart", source="startup", session_id="another"))
    (state / "failures.json").write_text(json.dumps([["night check", "2026-11-25T02:30:00.000Z", "again"]]), encoding="utf-8")
    assert "(night check)" in injected("session-start", payload("SessionStart", source="startup", session_id="third"))


def test_a_failure_is_told_even_where_neither_store_nor_settings_can_be_read(remembering):
    state = remembering / ".local" / "share" / "kept"
    (state / "failures.json").write_text(json.dumps(FAILED), encoding="utf-8")
    (remembering / ".config" / "kept").mkdir(parents=True)
    (remembering / ".config" / "kept" / "config.toml").write_text("= [", encoding="utf-8")
    (state / "kept.db").write_bytes(b"no database" * 500)
    assert "night check" in injected("session-start", payload("SessionStart", source="startup"))


def test_two_sessions_that_start_at_once_are_told_of_a_failure_once(remembering):
    state = remembering / ".local" / "share" / "kept"
    (state / "failures.json").write_text(json.dumps(FAILED[:1]), encoding="utf-8")
    told = []
    body = payload("SessionStart", source="startup")
    starts = [threading.Thread(target=lambda: told.append(injected("session-start", body, call=hook_process))) for _ in range(4)]
    for each in starts:
        each.start()
    for each in starts:
        each.join()
    assert sum("night check" in each for each in told) == 1


def test_the_plugins_hook_is_silent_where_the_settings_call_kept_already(remembering, tmp_path):
    start = payload("SessionStart", source="startup")
    for client, folder, file in (("claude", ".claude", "settings.json"), ("codex", ".codex", "hooks.json")):
        settings = remembering / folder / file
        settings.parent.mkdir(exist_ok=True)
        program = tmp_path / "my tools" / "kept"
        program.parent.mkdir(exist_ok=True)
        settings.write_text(with_hooks("", f"'{program}'", "f"), encoding="utf-8")
        memory_file(remembering).unlink(missing_ok=True)
        words = ("session-start", start | {"session_id": client}, "--client", client, "--plugin")
        expected = injected(*words)  # the settings name a kept that is not there: the plugin's answers
        assert (PREFERENCE in expected) is (client == "codex")
        program.write_text("")
        assert injected(*words) == ""
        assert injected(*words[:-1]) == expected
        settings.write_text('{"hooks": {"SessionStart": [{"hooks": [{"command": "kept-alive hook of-mine"}]}]}}', encoding="utf-8")
        assert injected(*words) == expected
        program.unlink()


def test_gemini_is_answered_with_the_name_it_gives_the_event(remembering):
    body = payload("BeforeAgent", prompt="Where does InvoiceWriter write the invoices of the export?")
    code, out, _ = hook("user-prompt", body, "--client", "gemini", "--plugin")
    assert code == 0
    assert json.loads(out)["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    assert FACT in out


def test_a_prompt_hook_imports_at_most_fifteen_modules_that_hold_code(remembering):
    body = json.dumps(prompt("Where are invoices exported?", cwd=harbor()))
    program = (
        "import sys; from kept.cli.hook import answer_event; answer_event(['user-prompt'])\n"
        "files = [module.__file__ for name, module in sys.modules.items() if name.partition('.')[0] == 'kept']\n"
        "print(*(file for file in files if not file.endswith('__init__.py')), sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=body, capture_output=True, text=True, check=True)
    modules = done.stderr.split()
    assert any(file.endswith("recall/context.py") for file in modules)
    assert len(modules) <= 15, modules


SLOW = {"re", "typing", "json", "datetime", "dataclasses", "enum", "contextlib", "pathlib", "sqlite3", "unicodedata", "zlib"}


@pytest.mark.parametrize("called", ["user-prompt --plugin", "session-start", "subagent-start --plugin", "stop", "allow-suggest"])
def test_a_hook_imports_nothing_that_takes_as_long_as_the_interpreter_takes_to_start(remembering, called):
    body = json.dumps(prompt("Where are invoices exported? Never guess.", cwd=harbor(), source="startup"))
    program = (
        "import os, sys; from kept.cli import main\n"
        "os._exit = lambda code: sys.exit(print(*sys.modules, file=sys.stderr))\n"
        f"main({['hook', *called.split()]})"
    )
    done = subprocess.run([sys.executable, "-c", program], input=body, capture_output=True, text=True, check=True)
    modules = set(done.stderr.split())
    assert "kept.cli.hook" in modules
    assert modules & SLOW == set()


@pytest.mark.parametrize("words", [("--home", "HOME"), ("--home=HOME",)])
def test_a_hook_that_is_called_for_another_home_works_there(home, tmp_path_factory, words):
    other = tmp_path_factory.mktemp("other")
    find_paths(str(other), {}).state.mkdir(parents=True)
    called = [sys.executable, "-m", "kept", *(word.replace("HOME", str(other)) for word in words), "hook", "stop"]
    payload = json.dumps({"session_id": "s", "transcript_path": "/a/b.jsonl"}).encode()
    subprocess.run(called, input=payload, check=True)
    assert take_queued_transcripts(state_folder(str(other))) == ["/a/b.jsonl"]
    assert take_queued_transcripts(state_folder(str(home))) == []


def test_a_home_that_may_not_be_read_is_left_alone_and_the_session_goes_on(home, monkeypatch):
    def refuse(place):
        raise PermissionError(13, "Permission denied", place)

    monkeypatch.setattr("kept.local.queue.os.path.realpath", refuse)
    code, out, err = hook("stop", payload("Stop"))
    assert (code, out) == (0, "")
    assert "nothing was done" in err


@pytest.mark.parametrize("output", [">&-", "> /dev/full"])
def test_a_hook_whose_answer_nobody_takes_exits_with_0(remembering, output):
    body = json.dumps(prompt("Where are invoices exported?", cwd=harbor(), source="startup"))
    called = f"{shlex.quote(sys.executable)} -m kept hook session-start {output}"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(["sh", "-c", called], input=body, env=buffered, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_whose_output_is_closed_exits_as_usual(home):
    called = f"{shlex.quote(sys.executable)} -m kept list >&- 2>&-"
    assert subprocess.run(["sh", "-c", called], env={**os.environ, "HOME": str(home)}, check=False).returncode == 0
