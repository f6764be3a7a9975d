"""Copies of a store file: a working copy is whole, and what takes a file's place is on the disk first, whatever disk it is."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from kept.core.erasure import ErasureWords
from kept.core.errors import StoreError
from kept.core.event import FORGOTTEN_MARK, Origin
from kept.core.memory import Evidence
from kept.store import backups
from kept.store.erasing import cites_erased
from store_world import AT, add, commit


def test_a_working_copy_has_the_journal_without_which_it_is_not_whole(tmp_path):
    (tmp_path / "kept.db").write_bytes(b"pages")
    assert [each.name for each in backups.make_working_copy(tmp_path / "kept.db", tmp_path / "work").parent.iterdir()] == [
        "copy.db"
    ]
    (tmp_path / "kept.db-journal").write_bytes(b"before")
    copy = backups.make_working_copy(tmp_path / "kept.db", tmp_path / "work")
    assert (copy.read_bytes(), copy.with_name("copy.db-journal").read_bytes()) == (b"pages", b"before")


@pytest.mark.parametrize("other_disk", [False, True])
def test_what_takes_a_files_place_is_on_the_disk_before_and_its_folder_behind(tmp_path, monkeypatch, other_disk):
    copy, place = tmp_path / "work" / "copy.db", tmp_path / "mine.db"
    copy.parent.mkdir()
    copy.write_bytes(b"new")
    place.write_bytes(b"old")
    place.with_name("mine.db-journal").write_bytes(b"old journal")
    done, real = [], Path.replace

    def replace(self, target):
        if other_disk and self == copy:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        done.append(("replaced", self.name, Path(target).name))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(backups, "flush", lambda path: done.append(("flushed", path.name)))
    assert backups.replace_with_copy(copy, place) == place
    assert (place.read_bytes(), sorted(each.name for each in tmp_path.iterdir())) == (b"new", ["mine.db", "work"])
    moved = (
        [("flushed", ".mine.db.new"), ("replaced", ".mine.db.new", "mine.db")]
        if other_disk
        else [("replaced", "copy.db", "mine.db")]
    )
    assert done == [("flushed", "copy.db"), *moved, ("flushed", tmp_path.name)]


def test_a_copy_that_cannot_be_put_in_its_place_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    copy, place = tmp_path / "copy.db", tmp_path / "mine.db"
    copy.write_bytes(b"new")
    place.write_bytes(b"old")

    def refuse(*_):
        raise OSError(errno.EACCES, "no")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        backups.replace_with_copy(copy, place)
    assert place.read_bytes() == b"old"


def test_evidence_cites_what_is_erased_by_its_event_or_session_until_its_quote_is_gone():
    quote = Evidence(quote="words", event="k", session="s", path="p", at=AT, author="human", origin=Origin.USER)
    by_event, by_session = (
        ErasureWords(sentences=(), **{name: frozenset(each)}) for name, each in (("events", "k"), ("sessions", "s"))
    )
    assert (cites_erased(quote, by_event), cites_erased(quote, by_session)) == (True, True)
    assert not cites_erased(quote, ErasureWords(sentences=("x",), events=frozenset({"other"})))
    gone = Evidence(quote=FORGOTTEN_MARK, event="k", session="s", path="p", at=AT, author="human", origin=Origin.USER)
    assert not cites_erased(gone, by_event)


def test_a_transaction_after_a_trial_is_whole_or_not_at_all(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as store:
        with store._database.trial_transaction():
            commit(store, add("m1"))

        def break_off():
            with store._database.transaction():
                commit(store, add("m2"))
                raise sqlite3.Error

        with pytest.raises(sqlite3.Error):
            break_off()
        assert store.log.memory_ids() == frozenset()


def test_a_store_is_free_again_once_it_was_locked_for_a_replacement(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as store, open_at(tmp_path / "kept.db") as other:
        other._database.execute_sql("PRAGMA busy_timeout = 0")
        with store._database.exclusive_lock(), pytest.raises(StoreError, match="locked"):
            other.log.memory_ids()
        commit(other, add("m1"))
        assert set(store.log.memory_ids()) == {"m1"}


def test_the_passes_after_one_are_told_in_order_and_none_of_an_empty_store(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as store:
        assert list(store.log.passes_after(0)) == []
        made = [commit(store, add(f"m{number}")) for number in range(3)]
        assert [each.id for each in store.log.passes_after(1)] == [2, 3]
        assert len(made) == 3


def test_a_store_that_does_not_open_is_put_aside_with_its_journal_when_a_backup_takes_its_place(open_at, tmp_path, monkeypatch):
    with open_at(tmp_path / "good.db") as store:
        commit(store, add("m1"))
    place = tmp_path / "kept.db"
    place.write_bytes(b"not a database at all, but long enough to be looked at" * 30)
    place.with_name("kept.db-journal").write_bytes(b"half a change")

    def refuse(path):
        raise StoreError("it does not open")

    monkeypatch.setattr(backups, "Database", refuse)
    saved = backups.restore_backup(tmp_path / "good.db", place, tmp_path / "aside")
    assert saved.with_name(f"{saved.name}-journal").read_bytes() == b"half a change"
    assert not place.with_name("kept.db-journal").exists()
    with open_at(place) as store:
        assert set(store.log.memory_ids()) == {"m1"}
