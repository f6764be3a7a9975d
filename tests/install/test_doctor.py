"""The doctor finds what is planted, names what mends it, and says nothing where nothing is wrong."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from cli_world import kept
from kept.install import client_checks
from kept.install.doctor import apply_repairs, run_checks
from kept.install.setup import install_hooks, plan_hooks
from kept.local.clients import AGENTS, CLIENTS, has_hooks
from kept.local.queue import enqueue_transcript
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import open_workspace, utc_now
from prepared import Prepared
from talking import RULE, say
from trusting import trust_hooks

JUDGE = client_checks._check_hook_reply
PLUGINS = Path(__file__).parents[2] / "plugins"
CODEX = next(each for each in CLIENTS if each.name == "codex")


def _set_up(home):
    (home / ".claude").mkdir()
    (home / ".codex").mkdir()
    say(home, "a", RULE)
    paths = find_paths(None, {"HOME": str(home)})
    with open_workspace(paths) as workspace:
        run_pipeline(workspace, [], RunOptions())
    install_hooks(paths, plan_hooks(paths))
    trust_hooks(paths.root / ".codex", paths.root / ".codex" / "hooks.json")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return Prepared(tmp_path_factory, _set_up)


@pytest.fixture
def place(prepared, monkeypatch):
    """A home in which everything is set up and well: two agents with hooks, a store, its files. Hooks are not called, but well."""
    home = prepared.again(monkeypatch)
    monkeypatch.setattr(client_checks, "_check_hook_reply", lambda *_, **__: ())
    monkeypatch.chdir(home)
    monkeypatch.delenv("TZ", raising=False)
    return find_paths(None, {"HOME": str(home)})


@pytest.fixture
def calling(place, monkeypatch):
    """Three hooks of Claude Code's are called as it calls them, and waited for as long as it waits, on a busy machine too."""

    def judge(home, client, event, command, **options):
        called = client.name == "claude" and event in ("SessionStart", "UserPromptSubmit", "Stop")
        return JUDGE(home, client, event, command, **options) if called else ()

    monkeypatch.setattr(client_checks, "_SECONDS", 600.0)
    monkeypatch.setattr(client_checks, "_check_hook_reply", judge)


def wrong(place, **variables):
    """What the doctor finds wrong, as one text, each with its fix."""
    found = [each for each in run_checks(place) if each.ok is False and each.name not in ("disk", "command")]
    assert all(each.fix for each in found)
    return "\n".join(f"{each.name}: {each.detail} → {each.fix}" for each in found)


def edited(path, change):
    body = json.loads(path.read_text(encoding="utf-8"))
    change(body)
    path.write_text(json.dumps(body), encoding="utf-8")


def claude(place):
    return place.root / ".claude" / "settings.json"


def command_of(place, event, make):
    """Change the command line of a hook of Claude Code's."""

    def change(body):
        entry = body["hooks"][event][0]["hooks"][0]
        entry["command"] = make(entry["command"])

    edited(claude(place), change)


def script(home, name, body):
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_where_all_is_well_nothing_is_wrong_and_nothing_is_left_behind(place, calling, monkeypatch):
    monkeypatch.setattr(client_checks, "_check_hook_reply", JUDGE)

    def tree():
        return {path: path.read_bytes() for path in place.root.rglob("*") if path.is_file() and path.suffix != ".sock"}

    before, found = tree(), run_checks(place)
    assert [each for each in found if each.ok is False and each.name not in ("disk", "command")] == []
    assert {each.name for each in found if each.ok} >= {"claude", "codex", "store", "folder", "writable"}
    assert tree() == before


def _another_home(place):
    command_of(place, "UserPromptSubmit", lambda line: line.replace(" hook ", f" --home {place.root / 'other'} hook "))


def _broken_kept(place):
    command_of(place, "Stop", lambda line: line.replace(line.split(" hook ")[0], str(script(place.root, "bad/kept", "exit 3"))))


def _chatty_kept(place):
    chatty = script(place.root, "chatty/kept", "echo hello")
    command_of(place, "Stop", lambda line: line.replace(line.split(" hook ")[0], str(chatty)))


def _settings(place, text):
    place.config.mkdir(parents=True, exist_ok=True)
    place.settings.write_text(text, encoding="utf-8")


def _garbled(place):
    (place.root / ".claude" / "projects" / "p" / "b.jsonl").write_bytes(b"nonsense\n" * 30)
    with open_workspace(place) as workspace:
        run_pipeline(workspace, [], RunOptions())


FAULTS = {
    "a hook that is gone": (
        lambda place: edited(claude(place), lambda body: body["hooks"].pop("UserPromptSubmit")),
        "UserPromptSubmit",
    ),
    "the hook after a failure that is gone": (
        lambda place: edited(claude(place), lambda body: body["hooks"].pop("PostToolUseFailure")),
        "PostToolUseFailure",
    ),
    "a hook of another event": (
        lambda place: command_of(place, "Stop", lambda line: line.replace("hook stop", "hook user-prompt")),
        "Stop",
    ),
    "a kept that is gone": (
        lambda place: command_of(place, "Stop", lambda _: "/nowhere/bin/kept hook stop 2>/dev/null || true"),
        "/nowhere/bin/kept, which does not exist",
    ),
    "a kept that fails": (_broken_kept, "ends with code 3"),
    "a kept that says something else": (_chatty_kept, "is not one that claude understands"),
    "a hook with another home": (_another_home, "another home"),
    "a home in the client's environment": (
        lambda place: edited(claude(place), lambda body: body.update(env={"KEPT_HOME": str(place.root / "other")})),
        "another home",
    ),
    "hooks turned off": (lambda place: edited(claude(place), lambda body: body.update(disableAllHooks=True)), "disableAllHooks"),
    "hooks turned off for the project": (
        lambda place: (place.root / ".claude" / "settings.local.json").write_text('{"disableAllHooks": true}'),
        "disableAllHooks",
    ),
    "hooks that Codex was not told to trust": (
        lambda place: (place.root / ".codex" / "config.toml").unlink(),
        "does not call those at SessionStart, UserPromptSubmit",
    ),
    "a hook that changed since Codex was told to trust it": (
        lambda place: edited(
            place.root / ".codex" / "hooks.json", lambda body: body["hooks"]["Stop"][0]["hooks"][0].update(timeout=99)
        ),
        "does not call those at Stop →",
    ),
    "a hook that is off in Codex": (
        lambda place: (place.root / ".codex" / "config.toml").write_text(
            (place.root / ".codex" / "config.toml").read_text().replace("\ntrusted_hash", "\nenabled = false\ntrusted_hash", 1)
        ),
        "does not call those at SessionStart →",
    ),
    "instructions that Codex reads in the place of kept's section": (
        lambda place: [
            _settings(place, 'sections = ["codex"]\n'),
            (place.root / ".codex" / "AGENTS.override.md").write_text("mine\n"),
        ],
        "AGENTS.override.md, and not",
    ),
    "other files that Gemini reads": (
        lambda place: [
            _settings(place, 'sections = ["gemini"]\n'),
            (place.root / ".gemini").mkdir(),
            (place.root / ".gemini" / "settings.json").write_text('{"context": {"fileName": ["AGENTS.md"]}}'),
        ],
        "GEMINI.md with kept's section",
    ),
    "hooks that Gemini has off": (
        lambda place: [
            (place.root / ".gemini").mkdir(),
            (place.root / ".gemini" / "settings.json").write_text('{"hooksConfig": {"enabled": false}}'),
        ],
        "hooks are off",
    ),
    "an extension that Gemini has off": (
        lambda place: [
            shutil.copytree(PLUGINS / "kept-gemini", place.root / ".gemini" / "extensions" / "kept"),
            (place.root / ".gemini" / "extensions" / "extension-enablement.json").write_text(
                '{"kept": {"overrides": ["!/home/me/*"]}}'
            ),
        ],
        "off for /home/me/*",
    ),
    "tools that Claude Code may not call": (
        lambda place: edited(claude(place), lambda body: body.setdefault("permissions", {}).update(deny=["mcp__kept"])),
        "agents may not call kept's tools",
    ),
    "rules that Claude Code leaves out": (
        lambda place: edited(claude(place), lambda body: body.update(claudeMdExcludes=["**/other/**", "**/.claude/rules/**"])),
        "memory.md is not read",
    ),
    "a server whose kept is gone": (
        lambda place: (place.root / ".claude.json").write_text(
            '{"mcpServers": {"kept": {"command": "/nowhere/kept", "args": ["mcp"]}}}'
        ),
        "`/nowhere/kept mcp`, cannot be used",
    ),
    "a server that says nothing of use": (
        lambda place: (place.root / ".codex" / "config.toml").write_text('[mcp_servers.kept]\ncommand = "true"\n'),
        "`true`, cannot be used",
    ),
    "a transcript that is garbled": (_garbled, "records of claude-code were not understood"),
    "a root that is not there": (
        lambda place: _settings(place, '[[root]]\npath = "/nowhere/vault"\n'),
        "/nowhere/vault, which every run should read",
    ),
    "settings that are no JSON": (lambda place: claude(place).write_text(claude(place).read_text() + ",}"), "not valid JSON"),
    "hooks that Codex has off": (
        lambda place: (place.root / ".codex" / "config.toml").write_text("[features]\nhooks = false\n"),
        "hooks are off",
    ),
    "a folder others may read": (lambda place: place.state.chmod(0o755), "has mode 0755"),
    "a store others may read": (lambda place: place.store.chmod(0o644), "read by others"),
    "a note others may write": (
        lambda place: (place.state / "hooks").mkdir(exist_ok=True) or (place.state / "hooks").chmod(0o777),
        "by others",
    ),
    "a memory file that is gone": (lambda place: (place.root / ".claude/rules/memory.md").unlink(), "memory.md is gone"),
    "a memory file that is a folder": (
        lambda place: [(place.root / ".claude/rules/memory.md").unlink(), (place.root / ".claude/rules/memory.md").mkdir()],
        "memory.md",
    ),
    "settings nobody can follow": (
        lambda place: [place.config.mkdir(parents=True, exist_ok=True), place.settings.write_text("= [")],
        "settings",
    ),
    "a profile that is none": (
        lambda place: [place.config.mkdir(parents=True, exist_ok=True), place.settings.write_text('profile = "nobody"')],
        "nobody",
    ),
    "a store that is gone": (
        lambda place: [place.backups.mkdir(), place.store.rename(place.backups / "kept-2026-01-01.0.db")],
        "store: the store is gone, but there are backups of it",
    ),
    "a store that is gone without a backup": (lambda place: place.store.unlink(), "store: the store is gone, but"),
    "a damaged store": (lambda place: place.store.write_bytes(b"not a database" * 900), "store"),
    "a store that is a link": (
        lambda place: [place.store.rename(place.root / "elsewhere.db"), place.store.symlink_to(place.root / "elsewhere.db")],
        "link",
    ),
    "a damaged backup": (
        lambda place: [place.backups.mkdir(exist_ok=True), (place.backups / "kept-20261122.db").write_bytes(b"x" * 9_000)],
        "is damaged",
    ),
    "hooks whose notes nobody reads": (
        lambda place: enqueue_transcript(
            str(place.state), "/x.jsonl", (utc_now() - timedelta(days=9)).strftime("%Y-%m-%dT%H:%M:%SZ")
        ),
        "no run has read it",
    ),
    "files of a time to come": (lambda place: os.utime(place.store, (2_500_000_000, 2_500_000_000)), "clock"),
    "a note of a kept that is gone": (
        lambda place: (place.state / "program").write_text("/nowhere/kept\n"),
        "/nowhere/kept, which cannot be run",
    ),
    "a note of an older kept": (
        lambda place: (place.state / "program").write_text(f"{script(place.root, 'old/kept', 'echo kept 0.0.1')}\n"),
        "kept 0.0.1",
    ),
}


def test_a_home_without_a_store_and_without_anything_made_from_it_is_told_and_no_fault(place):
    for path in (place.store, place.written, place.vectors, place.output_path(".claude/rules/memory.md")):
        path.unlink(missing_ok=True)
    assert "store" not in wrong(place)
    (told,) = (each for each in run_checks(place) if each.name == "store")
    assert told.detail == "there is none"
    assert "kept restore FILE" in told.fix


CALLED = {
    "a kept that fails",
    "a kept that says something else",
    "a hook with another home",
    "a home in the client's environment",
}


# Faults that hide no others, in an order in which each can be planted.
AT_ONCE = (
    "a transcript that is garbled",
    "tools that Claude Code may not call",
    "rules that Claude Code leaves out",
    "a server whose kept is gone",
    "a hook that changed since Codex was told to trust it",
    "an extension that Gemini has off",
    "hooks whose notes nobody reads",
    "a note of a kept that is gone",
    "a damaged backup",
    "a note others may write",
    "a folder others may read",
)


def test_planted_faults_are_all_found_at_once(place):
    for name in AT_ONCE:
        FAULTS[name][0](place)
    found = wrong(place)
    assert [name for name in AT_ONCE if FAULTS[name][1] not in found] == []


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in AT_ONCE])
def test_a_planted_fault_is_found_and_named_with_what_mends_it(request, place, name):
    if name in CALLED:
        request.getfixturevalue("calling")
    plant, told = FAULTS[name]
    plant(place)
    assert told in wrong(place)


def test_settings_nobody_can_follow_are_told_once_and_a_problem_that_hooks_log_once_for_each_agent(place, calling):
    _settings(place, "= [")
    assert len(wrong(place).splitlines()) == 1
    place.settings.unlink()
    FAULTS["a damaged store"][0](place)
    told = [line for line in wrong(place).splitlines() if line.startswith("claude: ")]
    assert len(told) == 1
    assert "SessionStart, UserPromptSubmit" in told[0]
    assert "the hook itself works" in told[0]


def test_a_server_of_kepts_that_answers_is_well(place, monkeypatch):
    monkeypatch.setattr(client_checks, "_SECONDS", 600.0)  # on a busy machine too
    answering = script(place.root, "bin/kept", 'grep -q initialize && echo \'{"result": {"serverInfo": {}}}\'')
    body = {"mcpServers": {"kept": {"command": str(answering), "args": ["mcp"]}}}
    (place.root / ".claude.json").write_text(json.dumps(body), encoding="utf-8")
    assert "server" not in wrong(place)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('[llm]\nadapter = "command"\ncommand = "/nowhere/model"\n', "there is no program"),
        ('[llm]\nadapter = "anthropic"\nmodel = "claude-haiku-5-5"\nkey_env = "NO_SUCH_KEY"\n', "no key in NO_SUCH_KEY"),
        ('[llm]\nadapter = "openai"\nmodel = "x"\nbase_url = "http://127.0.0.1:PORT/v1"\n', "nothing answers at"),
        ('[llm]\nadapter = "openai"\nmodel = "x"\nbase_url = "http://me:Pw1@127.0.0.1:PORT/v1"\n', "at http://me:***@127.0.0.1:"),
    ],
)
def test_a_model_that_cannot_be_reached_is_named(place, settings, told):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _settings(place, settings.replace("PORT", str(port)))
    assert told in wrong(place)


class _Broken(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


class _Answering(_Broken):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"message": {"role": "assistant", "content": '{"word": "yes"}'}, "done": True}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_a_model_on_this_machine_is_asked_whether_it_answers(place):
    for answers, well, told in ((_Broken, False, "does not answer"), (_Answering, True, "it answered")):
        with HTTPServer(("127.0.0.1", 0), answers) as server:
            Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}"
            _settings(place, f'[llm]\nadapter = "ollama"\nmodel = "x"\nbase_url = "{address}"\nattempts = 1\n')
            (found,) = [each for each in run_checks(place) if each.name == "language model"]
            server.shutdown()
        assert found.ok is well
        assert told in found.detail


@pytest.mark.parametrize("name", ["claude", "model"])
def test_a_program_is_not_asked_for_it_may_cost(place, name):
    asked = place.root / "asked"
    _settings(place, f'[llm]\nadapter = "command"\ncommand = "{script(place.root, name, f"touch {asked}")} -p"\n')
    (found,) = [each for each in run_checks(place) if each.name == "language model"]
    assert found.ok is None
    assert "kept config try" in found.detail
    assert not asked.exists()


def test_mending_a_hook_gives_no_leave_and_enters_none_for_another_agent(place):
    codex = place.root / ".codex" / "hooks.json"
    codex.unlink()
    edited(claude(place), lambda body: body.pop("permissions", None) or body["hooks"].pop("UserPromptSubmit"))
    apply_repairs(place, run_checks(place))
    assert "UserPromptSubmit" in claude(place).read_text()
    assert "permissions" not in json.loads(claude(place).read_text())
    assert not codex.exists()


def test_status_names_a_hook_whose_program_is_gone(place, capsys):
    command_of(place, "Stop", lambda command: f"/gone/kept {command.partition(' ')[2]}")
    _, out, _ = kept(capsys, "status")
    assert "claude cannot call kept: it calls /gone/kept, which does not exist → kept doctor --fix" in out
    assert "it calls /gone/kept, which does not exist → kept doctor --fix" in kept(capsys, "doctor")[1]


def test_a_script_whose_python_is_gone_is_a_dead_hook(place):
    program = place.root / "kept"
    program.write_text("#!/gone/bin/python\n")
    program.chmod(0o755)
    command_of(place, "Stop", lambda command: f"{program} {command.partition(' ')[2]}")
    assert f"it cannot run {program}" in wrong(place)


def test_what_a_repair_did_not_mend_is_not_called_mended(place, capsys, monkeypatch):
    command_of(place, "Stop", lambda command: f"/gone/kept {command.partition(' ')[2]}")
    monkeypatch.setattr("kept.install.doctor.install_hooks", lambda *_: ())
    code, out, _ = kept(capsys, "doctor", "--fix")
    assert (code, "tried   wrote the hooks to no file" in out, "mended" in out) == (1, True, False)
    assert "settings.json  would change:" in out
    assert re.search(r"^  -.*/gone/kept ", out, re.MULTILINE)


def test_a_run_that_was_stopped_is_named_with_its_process(place):
    lock = f"f = open({str(place.lock)!r}, 'a'); fcntl.flock(f, fcntl.LOCK_EX)"
    hold = f"import fcntl, time; {lock}; print('held', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            assert "stands still" not in wrong(place)
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            assert f"kill -9 {process.pid}" in wrong(place)
        finally:
            process.kill()


def test_a_variable_that_leads_the_client_to_other_settings_is_named(place):
    other = place.root / "elsewhere"
    other.mkdir()
    assert "whose settings do not call kept" in wrong(replace(place, variables=(("CLAUDE_CONFIG_DIR", str(other)),)))
    gone = replace(place, variables=(("CLAUDE_CONFIG_DIR", "/nowhere/claude"),))
    assert "CLAUDE_CONFIG_DIR names /nowhere/claude" in wrong(gone)


def test_another_kept_first_on_the_path_is_named_with_its_version(place, monkeypatch):
    old = script(place.root, "first/kept", "echo kept 0.0.1")
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    found = {each.name: each for each in run_checks(place)}
    assert found["command"].ok is False
    assert "kept 0.0.1" in found["command"].detail
    assert found["command"].fix.startswith("export PATH=")


def test_an_entry_of_the_night_that_starts_nothing_is_named(place):
    unit = place.root / ".config" / "systemd" / "user" / "kept-nightly.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/nowhere/bin/kept schedule run\n", encoding="utf-8")
    assert "starts /nowhere/bin/kept" in wrong(place)


def test_what_a_program_can_mend_is_mended(place, request):
    for name in ("a kept that is gone", "a hook that is gone", "a store others may read", "a memory file that is gone"):
        FAULTS[name][0](place)
    assert apply_repairs(place, run_checks(place))
    request.getfixturevalue("calling")
    assert wrong(place) == ""
    assert has_hooks(claude(place).read_text())


def test_a_failure_that_only_the_doctor_saw_is_told_to_the_next_session(place, calling):
    (place.state / "failures.json").write_text(json.dumps([["night check", "2026-11-20T00:00:00Z", "damage"]]), encoding="utf-8")
    run_checks(place)
    assert not list((place.state / "hooks").glob("failure.*"))


def test_a_file_that_a_run_takes_while_the_doctor_looks_is_no_fault(place, monkeypatch):
    gone, listed = place.state / "gone", type(place.state).rglob
    monkeypatch.setattr(type(place.state), "rglob", lambda path, pattern: [*listed(path, pattern), gone])
    assert wrong(place) == ""


def version_of(place, monkeypatch, said):
    """What the doctor finds of the version of a client that says so of itself."""
    folder = place.root / "programs"
    folder.mkdir()
    program = folder / "codex"
    program.write_text(f"#!/bin/sh\necho 'WARNING: odd'; echo '{said}'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return [each for each in run_checks(place) if each.name == "codex version"]


def test_a_client_that_is_newer_than_what_was_tried_is_named_and_is_no_fault(place, monkeypatch):
    (found,) = version_of(place, monkeypatch, "codex-cli 0.1000.1")
    assert found.ok is None
    assert "0.1000.1 is newer than" in found.detail
    assert "kept sources" in found.fix


@pytest.mark.parametrize("said", [CODEX.tried, "0.9.12", "no number"])
def test_a_client_that_is_not_newer_is_passed_over(place, monkeypatch, said):
    assert version_of(place, monkeypatch, f"codex-cli {said}") == []


def test_the_page_of_formats_lists_the_versions_that_the_doctor_knows():
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| [^|]*`(\w+)` \| ([\d.]+) \|", page, re.MULTILINE))
    assert {each.name: each.tried for each in AGENTS}.items() <= listed.items()
