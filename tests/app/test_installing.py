"""Living on a machine, and leaving it as it was."""

import json
from pathlib import Path

import pytest
from talking import RULE, say

from kept.adapters.schedulers import Ran
from kept.app.desk import find_home
from kept.app.doctoring import examine
from kept.app.installing import hooked, install_hooks, leave, planned, purge
from kept.app.running import Options, run
from kept.app.scheduling import install
from kept.model.errors import ConfigError


def quiet(_words, _given):
    return Ran(code=0, out="NEXT")


def tree(home):
    state = home / ".local"
    return {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file() and not path.is_relative_to(state)}


@pytest.fixture
def place(home):
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"model":"opus",  "hooks": {}}')
    (home / ".codex").mkdir()
    return find_home(None, {"HOME": str(home)})


def test_everything_comes_and_goes_and_the_home_is_byte_for_byte_as_before(desk_at, home, place):
    say(home, "a", RULE)
    before = tree(home)
    install_hooks(place)
    install(place, {}, kind="systemd", run=quiet)
    with desk_at(home) as desk:
        run(desk, [], Options())
        assert {each.name for each in hooked(place)} == {"claude", "codex"}
        assert tree(home) != before
        left = leave(desk, {}, run=quiet)
        assert left.problems == []
        assert left.aside == []
        assert tree(home) == before
        assert not (home / ".config" / "systemd").exists()
        assert desk.store.log.memories()


def test_what_was_changed_in_the_settings_meanwhile_stays(desk_at, home, place):
    install_hooks(place)
    path = home / ".claude" / "settings.json"
    body = json.loads(path.read_text())
    body["theme"] = "dark"
    path.write_text(json.dumps(body))
    with desk_at(home) as desk:
        leave(desk, {}, run=quiet)
    assert json.loads(path.read_text()) == {"model": "opus", "theme": "dark"}


def test_lines_a_person_added_to_memory_md_are_kept_aside_and_named(desk_at, home, place):
    say(home, "a", RULE)
    with desk_at(home) as desk:
        run(desk, [], Options())
        memory = home / ".claude" / "rules" / "memory.md"
        memory.write_text(memory.read_text() + "\nA line of my own.\n")
        left = leave(desk, {}, run=quiet)
        assert not memory.exists()
        (aside,) = left.aside
        assert "A line of my own." in Path(aside).read_text()


def test_installing_twice_changes_nothing_more_and_still_leaves_cleanly(desk_at, home, place):
    before = tree(home)
    install_hooks(place)
    assert planned(place) == ()
    assert install_hooks(place) == ()
    with desk_at(home) as desk:
        leave(desk, {}, run=quiet)
    assert tree(home) == before


def test_settings_that_are_no_json_are_told_and_left_alone(home, place):
    path = home / ".claude" / "settings.json"
    path.write_text("{ // mine\n}")
    with pytest.raises(ConfigError, match="no JSON"):
        install_hooks(place)
    assert path.read_text() == "{ // mine\n}"


def test_purging_deletes_kepts_own_folders_and_nothing_else(desk_at, home, place):
    say(home, "a", RULE)
    with desk_at(home) as desk:
        run(desk, [], Options())
        leave(desk, {}, run=quiet)
    assert purge(place) == (str(place.state),)
    assert not place.state.exists()
    assert (home / ".claude" / "settings.json").exists()


def test_the_doctor_looks_at_everything_and_says_how_to_mend_it(desk_at, home, place):
    found = {each.name: each for each in examine(place)}
    assert found["home"].fix == "kept run"
    say(home, "a", RULE)
    with desk_at(home) as desk:
        run(desk, [], Options())
    place.state.chmod(0o755)
    found = {each.name: each for each in examine(place)}
    assert found["store"].well
    assert found["folder"].well is False
    assert "chmod 700" in found["folder"].fix
    assert found["claude"].fix == "kept setup"
    place.store.write_bytes(b"not a database at all" * 300)
    assert any(each.well is False for each in examine(place))
