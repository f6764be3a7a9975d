"""Links in kept's own folder, and what a killed command leaves, seen from the command line."""

import io
import json

import pytest

from cli_world import RULE, kept, told
from kept.cli.hook import answer_event


def test_a_link_anywhere_in_the_state_folder_stops_every_command_before_it_writes(capsys, home, tmp_path_factory):
    told(capsys, "add", RULE, "--type", "constraint")
    state, outside = home / ".local" / "share" / "kept", tmp_path_factory.mktemp("outside")
    assert kept(capsys, "run")[0] == 0
    names = sorted(str(each.relative_to(state)) for each in state.rglob("*") if each.is_file())
    assert "kept.db" in names
    for name in (*names, "night.json", "agents/one.jsonl", "aside/x"):
        place, real = state / name, outside / name.replace("/", "-")
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            place.rename(real)
        else:
            real.write_text("theirs")
        before = real.read_bytes()
        place.symlink_to(real)
        code, _, err = kept(capsys, "add", f"Never touch {name} by hand.", "--type", "constraint")
        assert (code, "there is a link in kept's own folder" in err) == (2, True), name
        assert real.read_bytes() == before
        place.unlink()
        real.rename(place)
    assert kept(capsys, "check")[0] in (0, 2)


@pytest.mark.parametrize("words", [("add", RULE, "--type", "constraint"), ("run",), ("status",), ("config", "list"), ("list",)])
@pytest.mark.parametrize("there", [True, False])
def test_a_state_folder_that_is_a_link_to_another_place_stops_every_command_before_it_writes(
    capsys, home, tmp_path_factory, words, there
):
    outside = tmp_path_factory.mktemp("outside") / "folder"
    if there:
        outside.mkdir()
    (home / ".local" / "share").mkdir(parents=True, exist_ok=True)
    (home / ".local" / "share" / "kept").symlink_to(outside)
    code, _, err = kept(capsys, *words)
    assert (code, "kept's own folder is a link" in err) == (2, True)
    assert outside.exists() == there
    assert [*outside.parent.rglob("*")] == [outside] * there


def test_a_hook_writes_nothing_where_the_state_folder_is_a_link_to_another_place(capsys, home, tmp_path_factory, monkeypatch):
    outside = tmp_path_factory.mktemp("outside")
    (home / ".local" / "share").mkdir(parents=True, exist_ok=True)
    (home / ".local" / "share" / "kept").symlink_to(outside)
    payload = {"session_id": "s", "transcript_path": str(home / "s.jsonl"), "prompt": "hello"}
    for event in ("session-start", "prompt", "session-end", "nonsense"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode())))
        assert answer_event([event, "--home", str(home)]) == 0
    assert [*outside.rglob("*")] == []


def test_what_a_killed_command_left_beside_its_files_is_gone_after_the_next_command(capsys, home):
    told(capsys, "add", RULE, "--type", "constraint")
    state = home / ".local" / "share" / "kept"
    folders = (home / ".claude" / "rules", home / ".config" / "kept", state)
    left = [folder / f".kept-{number:016x}.tmp" for number, folder in enumerate(folders)]
    left += [state / "kept.db.restoring", state / "backups" / "fresh.db"]
    for each in left:
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("half")
    assert kept(capsys, "status")[0] == 0
    assert [each for each in left if each.exists()] == []


def test_setup_that_only_shows_leaves_nothing(capsys, home):
    (home / ".claude").mkdir()
    before = sorted(home.rglob("*"))
    assert kept(capsys, "setup", "--show")[0] == 0
    assert sorted(home.rglob("*")) == before


def test_what_was_taken_back_is_said_in_words(capsys, home):
    number = told(capsys, "add", RULE, "--type", "constraint")["id"]
    assert "Retired" in kept(capsys, "retire", number)[1]
    assert kept(capsys, "undo")[1].startswith("Undone: 1 retired (pass ")
    assert kept(capsys, "redo")[1].startswith("Redone: 1 retired (pass ")


def test_a_store_whose_folder_is_a_link_is_said_to_stay_at_purge(capsys, home):
    kept(capsys, "add", RULE, "--type", "constraint")
    state, vault = home / ".local" / "share" / "kept", home / "vault"
    state.rename(vault)
    state.symlink_to(vault)
    code, out, _ = kept(capsys, "uninstall", "--purge", "--yes")
    assert (code, (vault / "kept.db").exists()) == (1, True)
    assert f"Not deleted, because it is a link: {state} → {vault}. Delete both yourself." in " ".join(out.split())
