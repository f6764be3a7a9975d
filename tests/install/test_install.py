"""Living on a machine, and leaving it as it was."""

import json
import os
import plistlib
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from cli_world import kept
from kept.core.errors import ConfigError, StoreError
from kept.core.fence import START
from kept.install.doctor import run_checks
from kept.install.schedule import CommandResult, install_job, job_files
from kept.install.setup import (
    delete_own_folders,
    hook_program,
    hooked_clients,
    install_hooks,
    plan_hooks,
    plugin_clients,
    uninstall_kept,
    uninstall_system_parts,
)
from kept.local.clients import PLUGIN_SUGGEST, SUGGEST, has_hooks, has_plugin, with_codex_permission, with_hooks
from kept.local.files import hold_lock
from kept.local.settings import load_settings
from kept.memories.person import create_memory
from kept.outputs.routing import routes_by_memory
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles.profile import OutputPlace
from kept.recall.preview import preview_context
from talking import RULE, say
from trusting import trust_hooks


def quiet(_words, _given):
    return CommandResult(code=0, out="NEXT")


def tree(home):
    state = home / ".local"
    return {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file() and not path.is_relative_to(state)}


@pytest.fixture
def place(home):
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"model":"opus",  "hooks": {}}')
    (home / ".codex").mkdir()
    return find_paths(None, {"HOME": str(home)})


def test_the_memory_file_of_kept_itself_is_no_sign_that_claude_code_is_used(home):
    own = find_paths(None, {"HOME": str(home)})
    (home / ".claude/rules").mkdir(parents=True)
    (home / ".claude/rules/memory.md").write_text("# Memory\n")
    assert plan_hooks(own) == ()
    (home / ".claude/projects").mkdir()
    assert [change.path for change in plan_hooks(own)] == [home / ".claude/settings.json"]


def test_everything_comes_and_goes_and_the_home_is_byte_for_byte_as_before(desk_at, home, place):
    say(home, "a", RULE)
    before = tree(home)
    install_hooks(place, plan_hooks(place))
    install_job(place, {}, kind="systemd", run=quiet)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert {each.name for each in hooked_clients(place)} == {"claude", "codex"}
        assert tree(home) != before
        left = uninstall_kept(workspace, {}, run=quiet)
        assert left.problems == []
        assert left.quarantined == []
        assert tree(home) == before
        assert not (home / ".config" / "systemd").exists()
        assert workspace.store.log.memories()


def test_what_was_changed_in_the_settings_meanwhile_stays(desk_at, home, place):
    install_hooks(place, plan_hooks(place))
    path = home / ".claude" / "settings.json"
    body = json.loads(path.read_text())
    body["theme"] = "dark"
    path.write_text(json.dumps(body))
    with desk_at(home) as workspace:
        uninstall_kept(workspace, {}, run=quiet)
    assert json.loads(path.read_text()) == {"model": "opus", "theme": "dark"}


@pytest.mark.parametrize("before", ["{}", "", "{ }\n"])
def test_settings_that_held_nothing_before_the_hooks_came_are_byte_for_byte_as_before(desk_at, home, place, before):
    path = home / ".claude" / "settings.json"
    path.write_text(before)
    install_hooks(place, plan_hooks(place))
    with desk_at(home) as workspace:
        uninstall_kept(workspace, {}, run=quiet)
    assert path.read_text() == before


def test_settings_that_kept_created_are_gone_with_the_hooks(desk_at, home, place):
    path = home / ".claude" / "settings.json"
    path.unlink()
    install_hooks(place, plan_hooks(place))
    assert path.exists()
    with desk_at(home) as workspace:
        uninstall_kept(workspace, {}, run=quiet)
    assert not path.exists()


def test_instructions_of_blank_lines_alone_stay_and_an_empty_file_without_a_section_is_not_deleted(desk_at, home, place):
    blank, empty = home / ".gemini" / "GEMINI.md", home / ".codex" / "AGENTS.md"
    blank.parent.mkdir()
    blank.write_text("  \n")
    empty.write_text("")
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        uninstall_kept(workspace, {}, run=quiet)
    assert (blank.read_text(), empty.read_text()) == ("  \n", "")


def test_an_empty_file_that_a_section_was_written_into_is_empty_again(desk_at, home, place):
    path = home / ".codex" / "AGENTS.md"
    path.write_text("")
    config = home / ".config" / "kept" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('sections = ["codex", "gemini"]\n')
    (home / ".gemini").mkdir()
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert RULE.split(",")[0] in path.read_text()
        assert (home / ".gemini" / "GEMINI.md").exists()
        uninstall_kept(workspace, {}, run=quiet)
    assert path.read_bytes() == b""
    assert not (home / ".gemini" / "GEMINI.md").exists()


def test_lines_a_person_added_to_memory_md_are_kept_aside_and_named(desk_at, home, place):
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memory = home / ".claude" / "rules" / "memory.md"
        memory.write_text(memory.read_text() + "\nA line of my own.\n")
        left = uninstall_kept(workspace, {}, run=quiet)
        assert not memory.exists()
        (aside,) = left.quarantined
        assert "A line of my own." in Path(aside).read_text()


@pytest.mark.parametrize(
    "words", ["# My rules\n\n- Never touch prod.\n", "\ufeff# Mine\r\n\r\nText here.\r\n\r\n## More\r\n\r\nEnd"]
)
def test_a_memory_md_that_was_the_persons_before_kept_came_is_byte_for_byte_as_before(desk_at, home, place, words):
    memory = home / ".claude" / "rules" / "memory.md"
    memory.parent.mkdir()
    memory.write_bytes(words.encode())
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert b"kept:" in memory.read_bytes()
        say(home, "b", "Remember that the broker is NATS and never RabbitMQ.")
        run_pipeline(workspace, [], RunOptions())
        left = uninstall_kept(workspace, {}, run=quiet)
    assert memory.read_bytes() == words.encode()
    assert (left.quarantined, left.problems) == ([], [])


def test_installing_twice_changes_nothing_more_and_still_leaves_cleanly(desk_at, home, place):
    before = tree(home)
    install_hooks(place, plan_hooks(place))
    assert plan_hooks(place) == ()
    assert install_hooks(place, plan_hooks(place)) == ()
    with desk_at(home) as workspace:
        uninstall_kept(workspace, {}, run=quiet)
    assert tree(home) == before


def test_setup_lets_claude_code_call_one_tool_without_asking_and_no_other(home, place):
    assert all("permissions" not in json.loads(change.text) for change in plan_hooks(place, allow=False))
    install_hooks(place, plan_hooks(place))
    assert json.loads((home / ".claude" / "settings.json").read_text())["permissions"] == {"allow": [SUGGEST]}
    assert "permissions" not in json.loads((home / ".codex" / "hooks.json").read_text())


@pytest.mark.parametrize(
    "server",
    ['[mcp_servers.kept]\ncommand = "kept"', '[plugins."kept@mine"]\nenabled = true', 'model = "x"\n[mcp_servers.kept]\n\n'],
)
def test_setup_lets_codex_and_gemini_call_one_tool_and_leaves_without_a_trace(desk_at, home, place, server):
    (home / ".codex/config.toml").write_text(server)
    (home / ".gemini/extensions/kept").mkdir(parents=True)
    (home / ".gemini/extensions/kept/gemini-extension.json").write_text('{"name": "kept"}')
    before = tree(home)
    assert {each.path.name for each in plan_hooks(place, allow=False)}.isdisjoint({"config.toml", "kept.toml"})
    install_hooks(place, plan_hooks(place))
    body = tomllib.loads((home / ".codex/config.toml").read_text())
    owner = body["plugins"]["kept@mine"] if "plugins" in body else body
    assert owner["mcp_servers"]["kept"]["tools"] == {"save_what_user_said": {"approval_mode": "approve"}}
    (rule,) = tomllib.loads((home / ".gemini/policies/kept.toml").read_text())["rule"]
    assert (rule["mcpName"], rule["toolName"], rule["decision"]) == ("kept", "save_what_user_said", "allow")
    assert plan_hooks(place) == ()
    with desk_at(home) as workspace:
        uninstall_kept(workspace, {}, run=quiet)
    assert tree(home) == before


def test_what_a_person_adds_to_codex_settings_stays_when_kept_leaves(desk_at, home, place):
    settings = home / ".codex/config.toml"
    settings.write_text('[mcp_servers.kept]\ncommand = "kept"\n')
    install_hooks(place, plan_hooks(place))
    settings.write_text(f'{settings.read_text()}\n[profiles.mine]\nmodel = "x"\n')
    with desk_at(home) as workspace:
        uninstall_kept(workspace, {}, run=quiet)
    assert settings.read_text() == '[mcp_servers.kept]\ncommand = "kept"\n\n[profiles.mine]\nmodel = "x"\n'


@pytest.mark.parametrize(
    "text",
    [
        'model = "x"\n',
        "not toml [",
        '[mcp_servers.kept]\ncommand = "kept"\n[mcp_servers.kept.tools.save_what_user_said]\napproval_mode = "prompt"\n',
        '[plugins."kept@mine"]\nenabled = false\n',
    ],
)
def test_codex_settings_without_kepts_server_or_in_which_a_person_decided_stay(text):
    assert with_codex_permission(text) == text


def test_settings_that_are_no_json_are_told_and_left_alone(home, place):
    path = home / ".claude" / "settings.json"
    path.write_text("{ // mine\n}")
    with pytest.raises(ConfigError, match="not JSON"):
        install_hooks(place, plan_hooks(place))
    assert path.read_text() == "{ // mine\n}"


def test_purging_deletes_kepts_own_folders_and_nothing_else(desk_at, home, place):
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        uninstall_kept(workspace, {}, run=quiet)
    assert delete_own_folders(place) == ((place.state,), ())
    assert not place.state.exists()
    assert (home / ".claude" / "settings.json").exists()


def test_nothing_is_purged_while_a_run_is_active(desk_at, home, place):
    with desk_at(home) as workspace:
        create_memory(workspace, "Boats leave at noon.", "convention")
    with hold_lock(place.lock), pytest.raises(StoreError, match="nothing was deleted: already running"):
        delete_own_folders(place)
    assert place.store.is_file()


def test_the_doctor_looks_at_everything_and_says_how_to_mend_it(desk_at, home, place):
    found = {each.name: each for each in run_checks(place)}
    assert found["home"].fix == "kept run"
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    place.state.chmod(0o755)
    found = {each.name: each for each in run_checks(place)}
    assert found["store"].ok
    assert found["folder"].ok is False
    assert "chmod 700" in found["folder"].fix
    assert found["claude"].fix == "kept setup"
    place.store.write_bytes(b"not a database at all" * 300)
    assert any(each.ok is False for each in run_checks(place))


MINE = "# My rules\n\nBe brief.\n"


@pytest.fixture
def sectioned_desk(desk_at, home):
    """A workspace whose settings ask for sections for Codex and Gemini; Codex's file is the user's, Gemini's is not there."""
    (home / ".codex").mkdir()
    (home / ".codex" / "AGENTS.md").write_text(MINE)
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('sections = ["codex", "gemini"]\n')
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        yield workspace


def test_memory_arrives_in_a_section_of_the_instructions_of_codex_and_gemini(sectioned_desk, home):
    run_pipeline(sectioned_desk, [], RunOptions())
    for file, mine in ((".codex/AGENTS.md", MINE), (".gemini/GEMINI.md", "")):
        text = (home / file).read_text()
        assert text.startswith(mine)
        assert "## Remembered\n" in text
        assert "### harbor: Conventions\n- In this project we always write dates as ISO 8601 in UTC" in text
    assert run_pipeline(sectioned_desk, [], RunOptions()).written.files == []


def test_an_edit_in_such_a_section_is_the_users_and_an_added_line_waits(sectioned_desk, home):
    run_pipeline(sectioned_desk, [], RunOptions())
    path = home / ".codex" / "AGENTS.md"
    text = path.read_text().replace("never in local time", "never in local time, not even in logs")
    path.write_text(text.replace("<!-- kept:end", "- Ask before you push.\n<!-- kept:end"))
    run_pipeline(sectioned_desk, [], RunOptions())
    found = {each.content: each.status.value for each in sectioned_desk.store.log.memories()}
    assert found["Ask before you push."] == "held"
    assert any("not even in logs" in each for each in found)
    assert "not even in logs" in (home / ".claude" / "rules" / "memory.md").read_text()
    assert "- Ask before you push.\n" in path.read_text()


def test_a_section_that_is_wanted_no_more_goes_and_so_does_it_when_kept_leaves(sectioned_desk, home):
    run_pipeline(sectioned_desk, [], RunOptions())
    run_pipeline(replace(sectioned_desk, settings=replace(sectioned_desk.settings, sections=("gemini",))), [], RunOptions())
    assert (home / ".codex" / "AGENTS.md").read_text() == MINE
    assert "ISO 8601" in (home / ".gemini" / "GEMINI.md").read_text()
    left = uninstall_kept(sectioned_desk, {}, run=quiet)
    assert left.problems == []
    assert not (home / ".gemini").exists()
    assert "sections" not in (home / ".config" / "kept" / "config.toml").read_text()  # or the next run would write them again


def test_where_a_plugin_brings_the_hooks_setup_adds_none_and_the_doctor_tells(home, place):
    (home / ".claude" / "settings.json").write_text('{"enabledPlugins": {"kept@kept": true, "other@kept": true}}')
    (home / ".codex" / "config.toml").write_text('[plugins."kept@mine"]\nenabled = false\n')
    assert [each.name for each in plugin_clients(place)] == ["claude"]
    claude, codex = plan_hooks(place)
    assert (claude.path.parent.name, codex.path.parent.name) == (".claude", ".codex")
    assert not has_hooks(claude.text)
    assert json.loads(claude.text)["permissions"] == {"allow": [PLUGIN_SUGGEST]}
    found = {each.name: each for each in run_checks(place)}
    assert found["claude"].detail == "calls kept before each prompt (plugin)"
    (home / ".codex" / "config.toml").write_text('[plugins."kept@mine"]\nenabled = true\n')
    install_hooks(place, plan_hooks(place))
    assert hooked_clients(place) == ()


def test_the_doctor_tells_where_both_call_kept_and_where_the_kept_that_is_called_is_gone(home, place):
    install_hooks(place, plan_hooks(place))
    settings = home / ".claude" / "settings.json"
    body = json.loads(settings.read_text())
    settings.write_text(json.dumps(body | {"enabledPlugins": {"kept@kept": True}}))
    found = {each.name: each for each in run_checks(place)}
    assert "the plugin's hooks stay silent" in found["claude"].detail
    assert "claude plugin uninstall" in found["claude"].fix
    hooks = home / ".codex" / "hooks.json"
    assert found["codex"].ok is False
    assert "so it does not call those at SessionStart, " in found["codex"].detail
    trust_hooks(home / ".codex", hooks)
    assert {each.name: each for each in run_checks(place)}["codex"].ok is True
    hooks.write_text(with_hooks("", "'/no where/kept' --home /x", "f"))
    found = {each.name: each for each in run_checks(place)}
    assert found["codex"].ok is False
    assert "/no where/kept" in found["codex"].detail


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{", '{"enabledPlugins": []}', '{"enabledPlugins": {"kept@x": false}}', "= [", "[plugins]"]
)
def test_settings_that_name_no_plugin_of_kepts_have_none(text):
    assert not has_plugin(text)


def test_where_the_store_is_gone_already_hooks_and_schedule_go_all_the_same(home, place, capsys):
    before = tree(home)
    install_hooks(place, plan_hooks(place))
    install_job(place, {}, kind="systemd", run=quiet)
    left = uninstall_system_parts(place, {}, run=quiet)
    assert left.problems == []
    assert tree(home) == before


def test_a_section_tells_how_to_hand_over_where_no_hook_does(sectioned_desk, home):
    place = find_paths(None, {"HOME": str(home)})
    run_pipeline(sectioned_desk, [], RunOptions())
    assert START in (home / ".codex" / "AGENTS.md").read_text()
    assert START in (home / ".gemini" / "GEMINI.md").read_text()
    install_hooks(place, plan_hooks(place))
    run_pipeline(sectioned_desk, [], RunOptions())
    assert START not in (home / ".codex" / "AGENTS.md").read_text()
    assert START in (home / ".gemini" / "GEMINI.md").read_text()


def test_lines_a_person_added_to_a_section_are_kept_aside_and_the_rest_of_the_file_is_as_before(sectioned_desk, home):
    run_pipeline(sectioned_desk, [], RunOptions())
    path = home / ".codex" / "AGENTS.md"
    path.write_text(path.read_text().replace("<!-- kept:end", "- Ask before you push.\n<!-- kept:end"))
    left = uninstall_kept(sectioned_desk, {}, run=quiet)
    assert left.problems == []
    assert path.read_text() == MINE
    (aside,) = left.quarantined
    assert "Ask before you push." in Path(aside).read_text()


def test_hooks_and_outputs_go_where_the_environment_says_an_agents_folder_is(home, monkeypatch):
    own = home / "work" / "claude"
    (own / "projects" / "p").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(own))
    monkeypatch.setenv("CODEX_HOME", "/outside/codex")
    place = find_paths(None, os.environ)
    assert [change.path for change in plan_hooks(place)] == [own / "settings.json"]
    assert place.output_path(".claude/rules/memory.md") == own / "rules" / "memory.md"
    assert place.output_path("notes/memory.md") == home / "notes" / "memory.md"
    assert place.output_path(".codex/AGENTS.md") == home / ".codex" / "AGENTS.md"  # a folder that is not there is not made
    assert find_paths(str(home / "trial"), os.environ).output_path(".claude/rules/memory.md").is_relative_to(home / "trial")


def test_a_clients_folder_outside_the_home_is_read_hooked_written_and_left_as_it_was(desk_at, home, tmp_path):
    own = tmp_path / "data" / "claude"
    own.mkdir(parents=True)
    (own / "settings.json").write_text('{"model": "opus"}')
    say(home, "a", RULE)
    (home / ".claude" / "projects").rename(own / "projects")
    (home / ".claude").rmdir()
    variables = {"CLAUDE_CONFIG_DIR": str(own)}
    before = tree(own)
    place = find_paths(None, {"HOME": str(home), **variables})
    with desk_at(home, variables=variables) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert "ISO 8601" in (own / "rules" / "memory.md").read_text()
        install_hooks(place, plan_hooks(place))
        assert has_hooks((own / "settings.json").read_text())
        assert not (home / ".claude").exists()
        assert uninstall_kept(workspace, {}, run=quiet).problems == []
    assert tree(own) == before


def test_with_hooks_the_memory_file_has_what_holds_everywhere_and_without_them_all_of_it(desk_at, home, place):
    say(home, "a", RULE)
    memory = home / ".claude" / "rules" / "memory.md"
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        create_memory(workspace, "Explain the options before changing anything.", "preference")
        run_pipeline(workspace, [], RunOptions())
        assert "ISO 8601" in memory.read_text()
        install_hooks(place, plan_hooks(place))
        run_pipeline(workspace, [], RunOptions())
        assert "ISO 8601" not in memory.read_text()
        assert "Explain the options" in memory.read_text()
        rule = next(each for each in workspace.store.log.memories() if "ISO 8601" in each.content)
        (route,) = [each for each in routes_by_memory(workspace, [rule])[rule.id] if each.place is OutputPlace.MEMORY]
        assert route.why == "a hook brings it to the sessions of its project"
        assert preview_context(workspace, directory=rule_directory(workspace)).pieces[0].key == rule.id
        uninstall_system_parts(place, {}, run=quiet)
        run_pipeline(workspace, [], RunOptions())
        assert "ISO 8601" in memory.read_text()


def rule_directory(workspace):
    return workspace.store.archive.directories()[0][0]


def test_the_nights_job_finds_the_clients_where_the_shell_that_installed_it_does(home):
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": "/data/my claude", "XDG_DATA_HOME": "/data/share", "PATH": "/x"}
    (entered,) = install_job(find_paths(None, env), env, kind="launchd", run=quiet).places
    words = plistlib.loads(Path(entered).read_bytes())["ProgramArguments"]
    assert words[:3] == ["/usr/bin/env", "CLAUDE_CONFIG_DIR=/data/my claude", "XDG_DATA_HOME=/data/share"]
    (plain,) = install_job(find_paths(None, {"HOME": str(home)}), {}, kind="launchd", run=quiet).places
    assert plistlib.loads(Path(plain).read_bytes())["ProgramArguments"][0] != "/usr/bin/env"


def test_a_section_in_a_file_with_other_line_endings_that_nobody_edited_is_told_as_nobodys(sectioned_desk, home):
    path, mine = home / ".codex" / "AGENTS.md", MINE.replace("\n", "\r\n").encode()
    path.write_bytes(mine)
    run_pipeline(sectioned_desk, [], RunOptions())
    assert b"kept:begin" in path.read_bytes()
    left = uninstall_kept(sectioned_desk, {}, run=quiet)
    assert left.quarantined == []
    assert path.read_bytes() == mine


def test_the_nights_job_is_shown_before_it_is_entered_and_nothing_is_written(home):
    paths = find_paths(str(home), {})
    shown = job_files(paths, {}, at="03:10", kind="systemd")
    assert any("03:10" in text for text in shown.values())
    assert not any(Path(place).exists() for place in shown)
    install_job(paths, {}, at="03:10", kind="systemd")
    assert {place: Path(place).read_text() for place in shown} == shown


def test_where_nothing_runs_the_nights_job_setup_has_each_session_read_when_it_ends(
    capsys, home, place, tmp_path_factory, monkeypatch
):
    program = tmp_path_factory.mktemp("bin") / "systemctl"
    program.write_text("#!/bin/sh\necho no bus >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    say(home, "a", RULE)
    _, out, _ = kept(capsys, "setup", "--yes")
    assert "does not run it yet" in out
    assert "each session is read when it ends" in out
    assert "--with cron" in " ".join(kept(capsys, "schedule", "install")[1].split())
    assert load_settings(place.settings).at_session_end == "run"


def test_setup_without_a_nightly_job_says_when_sessions_are_read(capsys, home, place):
    say(home, "a", RULE)
    assert "sessions are read when you call kept run" in " ".join(kept(capsys, "setup", "--yes", "--no-schedule")[1].split())
    kept(capsys, "config", "set", "at_session_end", "run")
    assert "when you call kept run" not in " ".join(kept(capsys, "setup", "--yes", "--no-schedule")[1].split())


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("kind", ["systemd", "cron"])
def test_setup_renews_a_nightly_job_whose_program_is_gone_and_leaves_one_that_runs(
    capsys, home, tmp_path_factory, monkeypatch, kind
):
    programs = tmp_path_factory.mktemp("bin")
    table = programs / "table"
    table.touch()
    for name, text in (("systemctl", "echo NEXT"), ("crontab", f'[ "$1" = -l ] && exec cat {table}; exec cat > {table}')):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    say(home, "a", RULE)
    kept(capsys, "schedule", "install", "--with", kind)
    job = table if kind == "cron" else home / ".config/systemd/user/kept-nightly.service"
    own = job.read_text()
    assert f"{kind} runs kept already" in kept(capsys, "setup", "--yes")[1]
    assert job.read_text() == own
    job.write_text(own.replace(str(Path(sys.executable).parent), "/moved/away/bin"))
    assert "/moved/away/bin/kept, which cannot be run" in " ".join(kept(capsys, "setup", "--show")[1].split())
    kept(capsys, "setup", "--yes")
    assert job.read_text() == own


def test_setup_says_how_to_add_the_server_whose_tool_it_permits_until_it_is_there(capsys, home):
    (home / ".claude").mkdir(exist_ok=True)
    step = "claude mcp add --scope user kept -- kept mcp"
    assert step in " ".join(kept(capsys, "setup", "--show")[1].split())
    assert step not in " ".join(kept(capsys, "setup", "--show", "--no-allow")[1].split())
    (home / ".claude.json").write_text('{"mcpServers": {"kept": {"command": "kept", "args": ["mcp"]}}}')
    assert step not in " ".join(kept(capsys, "setup", "--show")[1].split())


def test_setup_announces_a_memory_file_for_a_project_only_where_no_hook_brings_its_memories(capsys, home):
    (home / ".claude").mkdir(exist_ok=True)
    conditional = "memories that apply everywhere, once there are any"
    assert conditional in " ".join(kept(capsys, "setup", "--show")[1].split())
    assert conditional not in " ".join(kept(capsys, "setup", "--show", "--no-hooks")[1].split())


def test_hooks_call_kept_through_python_where_its_script_names_a_python_that_is_gone(tmp_path, monkeypatch):
    (tmp_path / "python").symlink_to(sys.executable)
    script = tmp_path / "kept"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    script.write_text(f"#!{tmp_path}/python\nimport kept\n")
    script.chmod(0o755)
    assert hook_program() == str(script)
    script.write_text("#!/moved/away/bin/python\nimport kept\n")
    assert hook_program() == f"{tmp_path}/python -m kept"
