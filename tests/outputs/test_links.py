"""Links in the place of kept's files: where they are followed and where they are refused."""

import shutil

import pytest

from kept.changes import apply_person_change
from kept.core.errors import RefusedPathError, StoreError
from kept.memories.person import create_memory
from kept.outputs.write import FileState, file_states
from talking import RULE

KEYS = "ssh-ed25519 AAAA somebody@home\n"


def snapshot(folder):
    """Every file below a folder, with its bytes."""
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def remember(workspace):
    return apply_person_change(workspace, lambda: create_memory(workspace, RULE, "constraint"))


def test_a_link_to_a_file_elsewhere_is_neither_read_nor_written_nor_told_as_written(desk_at, home):
    keys = home / ".ssh" / "authorized_keys"
    keys.parent.mkdir()
    keys.write_text(KEYS)
    place = home / ".claude" / "rules" / "memory.md"
    place.parent.mkdir(parents=True)
    place.symlink_to("../../.ssh/authorized_keys")
    with desk_at(home) as workspace:
        memory, written = remember(workspace)
        assert [each for each in written.files if each[0] == str(place)] == []
        assert any("a link leads to" in each for each in written.problems)
        assert workspace.store.output_states(str(place)) == ()
        assert keys.read_text() == KEYS
        place.unlink()
        _, written = apply_person_change(workspace, lambda: None)
        assert written.problems == []
        assert RULE in place.read_text()
        place.rename(home / "mine.md")
        place.symlink_to(home / "mine.md")
        apply_person_change(workspace, lambda: None)
        assert [state for path, state, _ in file_states(workspace) if path == str(place)] == [FileState.DAMAGED]
        assert [each.id for each in workspace.store.log.memories() if each.content] == [memory.id]


def test_a_link_into_a_folder_that_the_settings_allow_is_followed(desk_at, home):
    (home / "dotfiles").mkdir()
    place = home / ".claude" / "rules" / "memory.md"
    place.parent.mkdir(parents=True)
    place.symlink_to(home / "dotfiles" / "memory.md")
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('linked_folders = ["~/dotfiles"]\n')
    with desk_at(home) as workspace:
        _, written = remember(workspace)
    assert written.problems == []
    assert place.is_symlink()
    assert RULE in (home / "dotfiles" / "memory.md").read_text()


def test_a_store_that_is_a_link_is_not_opened(desk_at, home):
    with desk_at(home) as workspace:
        remember(workspace)
        place = workspace.paths.store
    real = home / "elsewhere.db"
    place.rename(real)
    place.symlink_to(real)
    with pytest.raises((RefusedPathError, StoreError)), desk_at(home):
        pass


@pytest.mark.parametrize("moved", [False, True])
def test_a_home_that_was_copied_or_moved_writes_to_where_it_is_now_and_takes_edits_there(desk_at, tmp_path, moved):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    with desk_at(first) as workspace:
        memory, _ = remember(workspace)
    shutil.move(first, second) if moved else shutil.copytree(first, second)
    place, before = second / ".claude" / "rules" / "memory.md", snapshot(first)
    place.write_text(place.read_text().replace("- ", "- By hand: ", 1))
    with desk_at(second) as workspace:
        _, written = apply_person_change(workspace, lambda: None)
        assert all(each.startswith(f"{second}/") for each in workspace.store.outputs())
        now = workspace.store.log.memory(memory.id)
    assert written.problems == []
    assert now.content.startswith("By hand: ")
    assert snapshot(first) == before
