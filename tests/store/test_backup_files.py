"""Backups beside a store: which are whole, which stay, and what takes the place of what."""

import sqlite3
import stat
from contextlib import closing

import pytest

from kept.core.errors import DamagedError, StoreError, UsageError
from kept.store import backups
from kept.store.backups import (
    add_backup,
    is_copy,
    is_intact,
    list_backups,
    make_working_copy,
    may_hold_turns,
    replace_with_copy,
    restore_backup,
    rotate,
)
from kept.store.sqlite import SqliteStore
from store_world import NOW, add, archive, commit, event


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "home" / "kept.db") as opened:
        archive(opened, event("a", text="what was said"))
        commit(opened, add("m1"))
        yield opened


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "backups"
    made.mkdir()
    return made


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_backup_is_named_by_its_bytes_and_an_interrupted_one_is_no_backup(store, folder):
    (folder / "fresh.db").write_text("half of one")
    (folder / "fresh.db-journal").write_text("half of one")
    made = add_backup(store, folder, "2026-01-05")
    assert names(folder) == [made.name]
    head, name, sum_, tail = made.name.replace("-", ".", 1).split(".")
    assert (head, name, len(sum_), tail) == ("kept", "2026-01-05", 16, "db")
    assert is_intact(made)
    made.write_bytes(made.read_bytes() + b"x")
    assert not is_intact(made)
    assert not is_intact(folder / "gone.db")


@pytest.mark.parametrize("version", [0, 3, 99])
def test_a_database_of_another_program_is_no_backup_and_leaves_nothing_behind(folder, tmp_path, version):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as made:
        made.execute("CREATE TABLE tides (height)")
        made.execute(f"PRAGMA user_version = {version}")
        made.commit()
    with pytest.raises(UsageError, match="it is no backup of kept; nothing was changed") as error:
        restore_backup(other, folder / "kept.db", tmp_path / "aside")
    assert (error.value.where, names(folder)) == (str(other), [])


def test_a_backup_that_cannot_be_made_says_what_is_in_the_way(store, tmp_path):
    (tmp_path / "a file").touch()
    with pytest.raises(StoreError) as error:
        add_backup(store, tmp_path / "a file", "x")
    assert str(error.value) == f"the copy cannot be made: Not a directory ({tmp_path / 'a file'}) → move what is in the way"


def test_a_backup_is_made_although_an_index_is_wrong_and_a_copy_is_not(store, folder):
    store._database.execute_sql("INSERT INTO memory_index (memory_index) VALUES ('delete-all')")
    assert is_intact(add_backup(store, folder, "x"))
    with pytest.raises(DamagedError, match="the store is damaged: the full-text index"):
        store.copy_to(folder / "y.db")


def test_the_newest_whole_backups_stay_and_damaged_ones_count_for_none(store, folder):
    made = [add_backup(store, folder, f"2026-01-0{number}") for number in (1, 2, 3, 4, 5)]
    (folder / "other.db").touch()
    assert list_backups(folder) == tuple(reversed(made))
    made[3].write_bytes(b"damaged")
    assert rotate(folder, 2, "2026-01-05") == (made[1], made[0])
    assert list_backups(folder) == (made[4], made[3], made[2])
    assert rotate(folder, 2, "2026-01-05") == ()


def test_backups_of_days_to_come_give_way_to_todays(store, folder):
    made = [add_backup(store, folder, day) for day in ("2036-01-01", "2036-01-02", "2026-01-04", "2026-01-05")]
    assert rotate(folder, 3, "2026-01-05") == (made[0],)
    assert rotate(folder, 2, "2026-01-05") == (made[1],)


def test_a_backup_takes_the_place_of_a_store_which_is_put_aside(store, folder, tmp_path, monkeypatch):
    backup, place, aside = add_backup(store, folder, "x"), store.path, tmp_path / "deep" / "aside"
    commit(store, add("m2"))
    flushed = []
    monkeypatch.setattr(backups, "flush", flushed.append)
    place.with_name("kept.db.restoring").write_text("left by an interrupted restore")
    saved = [restore_backup(backup, place, aside) for _ in range(2)]
    assert saved == [aside / "kept.db", aside / "kept.2.db"]
    assert stat.S_IMODE(aside.stat().st_mode) == 0o700
    assert flushed == [place.parent] * 2
    assert names(place.parent) == ["kept.db"]
    ids = []
    for path in (place, *saved):
        with SqliteStore(path) as found:
            ids.append(sorted(found.log.memory_ids()))
    assert ids == [["m1"], ["m1", "m2"], ["m1"]]


def test_a_store_on_a_disk_without_hard_links_is_put_aside_as_a_copy_of_its_owners_alone(store, folder, tmp_path, monkeypatch):
    backup = add_backup(store, folder, "x")
    before = store.path.read_bytes()
    monkeypatch.setattr(backups.Path, "hardlink_to", lambda *_: (_ for _ in ()).throw(OSError("no links here")))
    saved = restore_backup(backup, store.path, tmp_path / "aside")
    assert (saved.read_bytes(), stat.S_IMODE(saved.stat().st_mode)) == (before, 0o600)


def test_a_backup_is_restored_where_there_is_no_store_and_a_damaged_or_missing_one_nowhere(store, folder, tmp_path):
    backup, place, aside = add_backup(store, folder, "x"), tmp_path / "new" / "kept.db", tmp_path / "aside"
    assert restore_backup(backup, place, aside) is None
    assert not aside.exists()
    with closing(sqlite3.connect(backup)) as raw:
        raw.execute("UPDATE passes SET subject = 'another'")
        raw.commit()
    before = place.read_bytes()
    with pytest.raises(DamagedError) as error:
        restore_backup(backup, place, aside)
    assert str(error.value).startswith("the backup is damaged: pass 1: its content does not match the hash chain (")
    assert str(error.value).endswith(f"({backup}) → use an older one; nothing was changed")
    with pytest.raises(UsageError, match=r"there is no such file \(.*gone.db\)"):
        restore_backup(folder / "gone.db", place, aside)
    assert (place.read_bytes(), names(place.parent)) == (before, ["kept.db"])


def test_a_restored_store_is_bound_to_no_server(store, folder, tmp_path):
    store._database.run("put_setting", name="replica", value="a server")
    backup = add_backup(store, folder, "x")
    restore_backup(backup, tmp_path / "kept.db", tmp_path / "aside")
    with SqliteStore(tmp_path / "kept.db") as found:
        assert found._database.fetch_one("setting", name="replica") is None


def test_nobody_writes_to_a_store_while_it_is_replaced(store, folder, tmp_path, monkeypatch):
    backup, seen = add_backup(store, folder, "x"), []
    real = backups.free_name

    def look(path):
        store._database.execute_sql("PRAGMA busy_timeout = 0")
        with pytest.raises(StoreError, match="locked"):
            store.log.start_run("run", NOW)
        seen.append(path)
        return real(path)

    monkeypatch.setattr(backups, "free_name", look)
    restore_backup(backup, store.path, tmp_path / "aside")
    assert seen
    with pytest.raises(StoreError, match="replaced meanwhile"):
        store.log.start_run("run", NOW)


def test_a_copy_of_a_store_has_its_key(store, folder, tmp_path):
    backup = add_backup(store, folder, "x")
    assert not is_copy(backup, store)  # it was made before the store had a key
    store.key("redaction")
    backup = add_backup(store, folder, "y")
    assert is_copy(backup, store)
    with SqliteStore(tmp_path / "other.db") as other:
        assert not is_copy(backup, other)
    (folder / "none.db").write_text("no store at all, but long enough to be looked at" * 30)
    assert not is_copy(folder / "none.db", store)
    assert not is_copy(folder / "gone.db", store)


def test_a_file_may_hold_turns_by_their_keys_or_sessions_or_if_it_cannot_be_read(store, folder):
    backup = add_backup(store, folder, "x")
    for keys, sessions, expected in (
        (["a"], [], True),
        (["b", "a"], [], True),
        ([], ["t", "s"], True),
        (["b"], ["t"], False),
        ([], [], False),
    ):
        assert may_hold_turns(backup, keys, sessions) is expected
    (folder / "none.db").write_text("no store at all, but long enough to be looked at" * 30)
    assert may_hold_turns(folder / "none.db", [], [])
    assert may_hold_turns(folder / "gone.db", [], [])


def test_the_folder_of_a_working_copy_is_emptied_before_and_a_changed_copy_has_its_own_sum_in_its_name(store, folder, tmp_path):
    backup, work = add_backup(store, folder, "x"), tmp_path / "work"
    work.mkdir()
    (work / "left over").touch()
    copy = make_working_copy(backup, work)
    assert (names(work), stat.S_IMODE(copy.stat().st_mode)) == (["copy.db"], 0o600)
    with SqliteStore(copy) as opened:
        commit(opened, add("m2"))
    placed = replace_with_copy(copy, backup)
    assert (names(folder), is_intact(placed), names(work)) == ([placed.name], True, [])
    assert placed.name.startswith("kept-x.")
    assert placed != backup
    assert replace_with_copy(make_working_copy(placed, work), placed) == placed
    assert names(folder) == [placed.name]


def test_a_copy_for_another_disk_leaves_nothing_half_done(tmp_path, monkeypatch):
    copy, place = tmp_path / "copy.db", tmp_path / "mine.db"
    copy.write_bytes(b"new")
    (tmp_path / ".mine.db.new").write_bytes(b"left by an interrupted copy")
    backups._copy_beside(copy, place)
    assert (place.read_bytes(), stat.S_IMODE(place.stat().st_mode)) == (b"new", 0o600)
    monkeypatch.setattr(backups.Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("refused")))
    with pytest.raises(OSError, match="refused"):
        backups._copy_beside(copy, place)
    assert names(tmp_path) == ["copy.db", "mine.db"]
