"""What a file looks like from outside: when that is enough to leave it closed, and when it is not."""

import os
from time import time_ns

import pytest

from kept.sources import stat_cache
from kept.sources.stat_cache import is_unchanged, make_stat_entry

MINUTE = 60 * 10**9


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "a.jsonl"
    made.write_bytes(b"{}\n")
    return made


@pytest.fixture
def later(monkeypatch):
    """A clock that is a minute ahead of the file system's."""
    monkeypatch.setattr(stat_cache, "time_ns", lambda: time_ns() + MINUTE)


@pytest.mark.usefixtures("later")
def test_a_file_that_nobody_touched_looks_the_same(path):
    assert is_unchanged(make_stat_entry(path, "claude-code"), make_stat_entry(path, "claude-code"))


def test_a_file_looked_at_right_after_a_change_may_have_changed_unseen(path):
    assert not is_unchanged(make_stat_entry(path, "claude-code"), make_stat_entry(path, "claude-code"))


def rewritten(path):
    path.write_bytes(b"[]\n")


def rewritten_in_disguise(path):
    """Another text of the same size, with the times of the first."""
    info = path.stat()
    path.write_bytes(b"[]\n")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def replaced(path):
    other = path.with_name("b.jsonl")
    other.write_bytes(b"{}\n")
    other.replace(path)


def linked(path):
    target = path.rename(path.with_name("target.jsonl"))
    path.symlink_to(target)


def grown(path):
    with path.open("ab") as file:
        file.write(b"{}\n")


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("change", [rewritten, rewritten_in_disguise, replaced, linked, grown, os.unlink])
def test_whatever_happens_to_a_file_shows(path, change):
    before = make_stat_entry(path, "claude-code")
    change(path)
    assert not is_unchanged(before, make_stat_entry(path, "claude-code"))


@pytest.mark.usefixtures("later")
def test_what_is_written_to_a_database_or_beside_it_shows(tmp_path):
    database, log = tmp_path / "state.vscdb", tmp_path / "state.vscdb-wal"
    database.write_bytes(b"SQLite format 3\0")
    alone = make_stat_entry(database, "cursor")
    assert is_unchanged(alone, make_stat_entry(database, "cursor"))
    log.write_bytes(b"a")
    beside = make_stat_entry(database, "cursor")
    log.write_bytes(b"b")
    assert not is_unchanged(alone, beside)
    assert not is_unchanged(beside, make_stat_entry(database, "cursor"))


@pytest.mark.usefixtures("later")
def test_what_a_plugin_reads_is_always_looked_into(path, monkeypatch):
    monkeypatch.setattr(stat_cache, "PLUGINS", frozenset({"theirs"}))
    assert make_stat_entry(path, "theirs") == ""


@pytest.mark.usefixtures("later")
def test_another_set_of_readers_looks_into_every_file_again(path, monkeypatch):
    before = make_stat_entry(path, "claude-code")
    monkeypatch.setattr(stat_cache, "readers_version", lambda: "others")
    assert not is_unchanged(before, make_stat_entry(path, "claude-code"))
