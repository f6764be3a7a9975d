"""What only the store in SQLite can say: its file, its settings, its damage, its migrations."""

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from store_world import AT, add, archive, commit, event, judged

from kept.adapters.store import Span, SqliteStore
from kept.adapters.store.database import FORMAT, Database
from kept.model.errors import DamagedError, StoreError
from kept.model.operation import Forget, Retire


@pytest.fixture
def store(tmp_path: Path):
    with SqliteStore(tmp_path / "kept.db") as opened:
        yield opened


def test_a_store_is_readable_by_its_owner_only(tmp_path):
    old = os.umask(0)
    try:
        with SqliteStore(tmp_path / "deep" / "kept.db"):
            pass
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "deep" / "kept.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700


def test_a_newer_store_is_refused_in_one_line(tmp_path):
    with SqliteStore(tmp_path / "kept.db"):
        pass
    with sqlite3.connect(tmp_path / "kept.db") as raw:
        raw.execute(f"PRAGMA user_version = {FORMAT + 1}")
    raw.close()
    with pytest.raises(StoreError, match="install a newer kept"):
        SqliteStore(tmp_path / "kept.db")


def test_a_file_that_is_no_store_is_left_alone(tmp_path):
    for body in (b"not a database at all, but long enough to be looked at" * 30,):
        (tmp_path / "kept.db").write_bytes(body)
        with pytest.raises(StoreError):
            SqliteStore(tmp_path / "kept.db")
        assert (tmp_path / "kept.db").read_bytes() == body


def test_the_durable_settings_are_in_force(store):
    assert store._database.raw("PRAGMA journal_mode").fetchone()[0] == "delete"
    assert store._database.raw("PRAGMA synchronous").fetchone()[0] == 3


DAMAGE = {
    "a changed word": "UPDATE sealed SET words = replace(words, 'something', 'anything')",
    "a changed fact": "UPDATE operations SET body = replace(body, '0.8', '0.9')",
    "a lost operation": "DELETE FROM operations WHERE id = 2",
    "words gone without a forget": "DELETE FROM sealed WHERE owner = 'o1'",
    "a lost pass": "UPDATE passes SET id = 99 WHERE id = 2",
    "a changed pass": "UPDATE passes SET subject = 'another' WHERE id = 1",
    "a changed memory": "UPDATE memories SET body = replace(body, 'something', 'anything')",
    "a lost memory": "DELETE FROM memories WHERE id = 'm1'",
    "a column that lies": "UPDATE memories SET status = 'retired' WHERE id = 'm1'",
    "an index entry lost": "INSERT INTO memory_index (memory_index) VALUES ('delete-all')",
    "a damaged block": "UPDATE blocks SET body = zeroblob(20)",
    "a lost block": "DELETE FROM blocks",
    "a lost event": "DELETE FROM thread_events WHERE ordinal = 0",
    "a candidate changed": "UPDATE candidates SET body = replace(body, 'coding', 'codinG')",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_check_names_planted_damage(tmp_path, name):
    with SqliteStore(tmp_path / "kept.db") as opened:
        archive(opened, event("a"), event("b"))
        commit(opened, add("m1"), add("m2"))
        commit(opened, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")),)))
        assert opened.damage() == ()
    with sqlite3.connect(tmp_path / "kept.db") as raw:
        raw.execute(DAMAGE[name])
    raw.close()
    with SqliteStore(tmp_path / "kept.db") as opened:
        assert opened.damage() != ()


def test_rebuilding_gives_the_same_memories_and_mends_derived_damage(store):
    commit(store, add("m1"), add("m2"), Retire(memory="m2", at=AT, reason="x"))
    before = store.log.memories()
    store._database.raw("DELETE FROM memories WHERE id = 'm1'")
    store._database.raw("INSERT INTO memory_index (memory_index) VALUES ('delete-all')")
    assert store.damage() != ()
    store.log.rebuild()
    assert store.log.memories() == before
    assert store.damage() == ()
    assert store.log.search(("something",), 5)


def test_a_damaged_block_is_never_served(store):
    archive(store, event("a"))
    store._database.raw("UPDATE blocks SET body = x'00'")
    with pytest.raises(DamagedError, match="damaged"):
        store.archive.event("a")


def test_a_forked_process_may_not_use_the_connection(store, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreError, match="forked"):
        store.log.memories()


def test_two_connections_see_each_others_commits(tmp_path):
    with SqliteStore(tmp_path / "kept.db") as one, SqliteStore(tmp_path / "kept.db") as two:
        commit(one, add("m1"))
        commit(two, add("m2"))
        assert [each.id for each in one.log.memories()] == ["m1", "m2"]
        assert one.damage() == ()


def test_a_key_is_made_once(tmp_path):
    with SqliteStore(tmp_path / "kept.db") as opened:
        first = opened.key("forget")
        assert opened.key("redaction") != first
    with SqliteStore(tmp_path / "kept.db") as opened:
        assert opened.key("forget") == first


def test_a_statement_file_names_each_statement_once():
    text = (Path(Database.__init__.__code__.co_filename).parent / "queries.sql").read_text()
    names = [line.removeprefix("-- name: ") for line in text.splitlines() if line.startswith("-- name: ")]
    assert len(names) == len(set(names))


def test_what_is_forgotten_is_in_no_byte_of_the_file(store):
    secret = "xylophone quartz"
    archive(store, event("a", text=f"we always use {secret} here"))
    commit(store, add("m1", f"use {secret}"))
    made = commit(store, Forget(memory="m1", at=AT, reason="x", fingerprints=("f1",)))
    store.log.erase("m1", (), ("f1",), made)
    store.archive.erase("a", [f"use {secret}"], "[forgotten]")
    store.compact()
    raw = store.path.read_bytes()
    assert b"xylophone" not in raw
    assert b"quartz" not in raw
    assert store.archive.search(("xylophone",), 5) == ()
    assert store.damage() == ()
    assert store.log.forgotten() == {"f1"}
