"""Hooks in the settings of coding agents: they come, go, and touch nothing else."""

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.errors import ConfigError
from kept.local.clients import (
    CLIENTS,
    EVENTS,
    PLUGIN_SUGGEST,
    SUGGEST,
    has_hooks,
    has_permission,
    hook_groups,
    with_hooks,
    with_permission,
    without_hooks,
)

PROGRAM = "'/opt/my tools/kept'"
MINE = {
    "hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "notify kept-alive hook stopped"}]}]},
    "model": "opus",
}


def test_every_event_calls_kept_by_its_full_path():
    body = json.loads(with_hooks("", PROGRAM, "f"))
    assert set(body["hooks"]) == {*EVENTS, "PostToolUseFailure"}
    assert body["hooks"]["PreCompact"][0]["hooks"][0]["command"] == f"{PROGRAM} hook pre-compact 2>/dev/null || true"
    assert has_hooks(json.dumps(body))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_each_client_calls_kept_after_commands_alone_by_the_event_that_tells_of_their_failure(client):
    body = json.loads(with_hooks("", PROGRAM, "f", client))
    (group,) = body["hooks"][client.failure]
    assert group["matcher"] == "Bash"
    assert group["hooks"][0]["command"] == f"{PROGRAM} hook tool-failure 2>/dev/null || true"
    assert without_hooks(json.dumps(body), "f") == "{}\n"
    assert set(body["hooks"]) == set(hook_groups(client))


@pytest.mark.parametrize("program", ["/nowhere/kept", "sh /nowhere/kept", "exit 2; kept"])
def test_a_kept_that_is_gone_or_broken_says_nothing_and_stops_nothing(program):
    body = json.loads(with_hooks("", program, "f"))
    for event in EVENTS:
        command = body["hooks"][event][0]["hooks"][0]["command"]
        done = subprocess.run(
            ["sh", "-c", f"({command.removesuffix(' || true')}) || true"], input=b"{}", capture_output=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_hooks_of_others_stay_where_they_are_and_kepts_go_without_a_trace():
    before = json.dumps(MINE, indent=4) + "\n"
    after = with_hooks(before, PROGRAM, "f")
    assert json.loads(after)["hooks"]["Stop"][0] == MINE["hooks"]["Stop"][0]
    assert "\n    " in after
    assert without_hooks(after, "f") == before
    assert without_hooks(before, "f") == before


@each_case("tool", [SUGGEST, PLUGIN_SUGGEST])
@each_case("mine", [{}, MINE, {"permissions": {"allow": ["Bash(ls:*)"], "deny": ["WebFetch"]}}])
def test_the_permission_of_one_tool_comes_and_goes_without_a_trace(tool, mine):
    before = json.dumps(mine, indent=2) + "\n"
    after = with_permission(with_hooks(before, PROGRAM, "f"), tool, "f")
    assert json.loads(after)["permissions"]["allow"][-1:] == [tool]
    assert with_permission(after, tool, "f") == after
    assert has_permission(after)
    assert not has_permission(before)
    assert without_hooks(after, "f") == before


def test_a_newer_kept_takes_the_place_of_an_older_one():
    once = with_hooks("", "/old/bin/kept", "f")
    again = with_hooks(once, "/new/bin/python -m kept --home '/a b'", "f")
    assert "/old/" not in again
    assert len(json.loads(again)["hooks"]["Stop"]) == 1
    assert with_hooks(again, "/new/bin/python -m kept --home '/a b'", "f") == again


@each_case("text", ["[]", "{", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// comment\n{}", '{"permissions": {"allow": "all"}}'])
def test_settings_of_an_unknown_form_are_never_rewritten(text):
    with pytest.raises(ConfigError):
        with_hooks(text, PROGRAM, "f")
    assert not has_hooks(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text().filter(lambda name: name not in ("hooks", "permissions")), values))
def test_whatever_else_the_settings_say_is_the_same_after_install_and_uninstall(body):
    text = json.dumps(body)
    assert json.loads(without_hooks(with_hooks(text, PROGRAM, "f"), "f")) == body
