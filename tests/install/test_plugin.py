"""The plugin of coding agents: its launcher finds kept and never disturbs a session, its texts name what there is."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from kept import __version__
from kept.cli.registry import COMMANDS
from kept.local.clients import CLIENTS, EVENTS, PLUGIN_SUGGEST, hook_groups

ROOT = Path(__file__).parents[2]
PLUGIN, GEMINI = ROOT / "plugins" / "kept", ROOT / "plugins" / "kept-gemini"
LAUNCHER = PLUGIN / "bin" / "kept"
SKILLS = sorted(PLUGIN.glob("skills/*/SKILL.md"))


def launched(home, *words, given=b"{}", path="/usr/bin:/bin"):
    """The exit code, stdout and stderr of the launcher with a poor PATH, as a hook has."""
    env = {"HOME": str(home), "PATH": path, "KEPT_HOME": str(home), "KEPT_EMBEDDINGS": "hashing"}
    done = subprocess.run(["sh", LAUNCHER, *words], input=given, capture_output=True, check=False, env=env)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def program(path, body='echo "$0 $*"'):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_where_no_kept_is_installed_hooks_say_nothing_and_a_command_says_what_is_wrong(home):
    for event, _ in EVENTS.values():
        assert launched(home, "hook", event, "--plugin", given=b"x" * 1_000_000) == (0, "", "")
    code, out, err = launched(home, "status")
    assert (code, out) == (127, "")
    assert "not installed" in err


@pytest.mark.parametrize("body", ["exit 2", "echo half; exit 1", "echo Traceback >&2; exit 1", "kill -9 $$", "#!/nowhere/python"])
def test_what_a_broken_kept_says_never_reaches_a_session(home, body):
    program(home / ".local" / "bin" / "kept", body)
    assert launched(home, "hook", "user-prompt", "--plugin") == (0, "", "")


def test_kept_is_found_as_it_noted_itself_then_on_the_path_then_where_installers_put_it(home, tmp_path):
    usual = program(home / ".local" / "bin" / "kept")
    assert launched(home, "status")[1] == f"{usual} status\n"
    there = program(tmp_path / "a b" / "kept")
    assert launched(home, "status", path=f"{LAUNCHER.parent}:/usr/bin:/bin:{there.parent}")[1] == f"{there} status\n"
    noted = program(tmp_path / "venv" / "kept")
    note = home / ".local" / "share" / "kept" / "program"
    note.parent.mkdir(parents=True)
    note.write_text(f"{noted}\n")
    assert launched(home, "status", path=f"{there.parent}:/usr/bin:/bin")[1] == f"{noted} status\n"
    noted.unlink()
    assert launched(home, "status")[1] == f"{usual} status\n"


def test_a_hook_gets_its_payload_and_its_answer_arrives_whole(home):
    program(home / ".local" / "bin" / "kept", 'printf "%s" "$*"; cat')
    assert launched(home, "hook", "stop", "--plugin", given=b'{"a": "\\u00e4"}')[1] == 'hook stop --plugin{"a": "\\u00e4"}\n'


def test_the_launcher_never_calls_itself(home):
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "bin" / "kept").symlink_to(LAUNCHER)
    assert launched(home, "hook", "stop", path=f"{LAUNCHER.parent}:/usr/bin:/bin")[0] == 0
    assert launched(home, "status", path=f"{LAUNCHER.parent}:/usr/bin:/bin")[0] == 127


@pytest.mark.parametrize(("client", "file"), [(CLIENTS[0], "hooks.json"), (CLIENTS[1], "codex.json")])
def test_the_plugin_is_called_for_every_event_that_setup_asks_for_with_the_same_patience(client, file):
    hooks = json.loads((PLUGIN / "hooks" / file).read_text())["hooks"]
    del hooks["PreToolUse"]  # asks for a permission, which setup writes into the settings
    asked = hook_groups(client)
    for group in asked.values():
        (entry,) = group["hooks"]
        entry["command"] = f'sh "${{CLAUDE_PLUGIN_ROOT}}/bin/kept" {entry["command"]} --plugin || true'
    assert hooks == {event: [group] for event, group in asked.items()}


def test_geminis_extension_is_called_for_the_events_it_has():
    gemini = json.loads((GEMINI / "hooks" / "hooks.json").read_text())["hooks"]
    for event, name in (
        ("SessionStart", "session-start"),
        ("BeforeAgent", "user-prompt"),
        ("AfterAgent", "stop"),
        ("AfterTool", "tool-failure"),
    ):
        (entry,) = gemini[event][0]["hooks"]
        assert entry["command"] == f'sh "${{extensionPath}}/bin/kept" hook {name} --plugin --client gemini || true'
        assert entry["timeout"] == 10_000  # milliseconds here


def test_the_plugin_lets_exactly_one_tool_be_called_without_asking():
    (group,) = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]["PreToolUse"]
    assert [group] == json.loads((PLUGIN / "hooks" / "codex.json").read_text())["hooks"]["PreToolUse"]
    assert group["matcher"] == PLUGIN_SUGGEST
    assert [entry["command"] for entry in group["hooks"]] == [
        'sh "${CLAUDE_PLUGIN_ROOT}/bin/kept" hook allow-suggest --plugin || true'
    ]


def test_every_manifest_tells_the_version_of_kept():
    places = (
        PLUGIN / ".claude-plugin" / "plugin.json",
        PLUGIN / ".codex-plugin" / "plugin.json",
        GEMINI / "gemini-extension.json",
        ROOT / "server.json",
    )
    assert {each.name: json.loads(each.read_text())["version"] for each in places} == {each.name: __version__ for each in places}


def test_what_both_directories_have_is_the_same():
    for name in ("bin/kept", "skills/memory/SKILL.md", "skills/kept-jobs/SKILL.md"):
        assert (GEMINI / name).read_bytes() == (PLUGIN / name).read_bytes()


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.parent.name)
def test_a_skill_is_short_and_names_only_commands_and_categories_that_exist(skill):
    _, front, body = skill.read_text(encoding="utf-8").split("---\n", 2)
    head = yaml.safe_load(front)
    assert head["name"] == skill.parent.name
    assert 40 <= len(head["description"]) <= 400
    assert len(body.split()) < 400
    assert set(re.findall(r"`!?kept ([a-z]+)", body)) <= set(COMMANDS)
    profile = tomllib.loads((ROOT / "src" / "kept" / "profiles" / "coding.toml").read_text(encoding="utf-8"))
    listed = re.search(r"ategory:? (`\w+`[^.;]*)", body)
    if listed:
        assert set(re.findall(r"`(\w+)`", listed.group(1))) == {each["id"] for each in profile["categories"]}


def test_the_commands_a_person_types_are_never_run_by_the_agents_own_decision():
    for skill in SKILLS:
        head = yaml.safe_load(skill.read_text(encoding="utf-8").split("---\n", 2)[1])
        assert head.get("disable-model-invocation", False) is (head["name"] not in ("memory", "kept-jobs"))
        assert not re.search(r"Bash\((?!kept )", head.get("allowed-tools", ""))


def test_the_readme_says_enough_and_the_icon_is_one():
    assert len((PLUGIN / "README.md").read_text(encoding="utf-8").split()) >= 40
    icon = (PLUGIN / "assets" / "icon.png").read_bytes()
    assert icon[:8] == b"\x89PNG\r\n\x1a\n"
    assert icon[16:24] == (512).to_bytes(4, "big") * 2
    assert len(icon) < 10_000


def test_the_launcher_stands_in_the_plugin_as_a_program():
    assert os.access(LAUNCHER, os.X_OK)
