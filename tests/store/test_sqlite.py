"""The file of a store, with a server or without: its rights, its settings, its damage, its migrations."""

import json
import os
import re
import sqlite3
import stat
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kept.core.erasure import ErasureWords
from kept.core.errors import DamagedError, StoreError
from kept.core.event import Author, Cursor, Origin, RecordAccount
from kept.core.event import EventKind as What
from kept.core.memory import Actor, Evidence
from kept.core.operation import Add, Forget, Retire, Supersede
from kept.store import database
from kept.store.database import FORMAT, Database
from kept.store.erasing import erase_from_rows
from kept.store.redaction import redact_cursor, redact_draft
from kept.store.sqlite import SqliteStore
from kept.store.values import Draft, OperationRow, Span
from older_store import write_older_store
from store_world import AT, DAWN, NOW, add, archive, commit, event, judged, memory


def test_a_store_is_readable_by_its_owner_only(open_at, tmp_path):
    old = os.umask(0)
    try:
        with open_at(tmp_path / "deep" / "kept.db"):
            pass
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "deep" / "kept.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700


def test_a_newer_store_is_refused_in_one_line(open_at, tmp_path):
    with open_at(tmp_path / "kept.db"):
        pass
    with sqlite3.connect(tmp_path / "kept.db") as raw:
        raw.execute(f"PRAGMA user_version = {FORMAT + 1}")
    raw.close()
    with pytest.raises(StoreError, match="install a newer kept"):
        open_at(tmp_path / "kept.db")


def test_a_file_that_is_no_store_is_left_alone(open_at, tmp_path):
    for body in (b"not a database at all, but long enough to be looked at" * 30,):
        (tmp_path / "kept.db").write_bytes(body)
        with pytest.raises(StoreError):
            open_at(tmp_path / "kept.db")
        assert (tmp_path / "kept.db").read_bytes() == body


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("journal_mode", "delete"), ("synchronous", 3), ("secure_delete", 1), ("trusted_schema", 0), ("temp_store", 2)),
        *(("cache_size", -16384), ("busy_timeout", 30_000), ("foreign_keys", 1)),
    ],
)
def test_the_durable_settings_are_in_force(store, name, value):
    assert store._database.execute_sql(f"PRAGMA {name}").fetchone()[0] == value


DAMAGE = [json.loads(line) for line in (Path(__file__).parent / "damage.jsonl").read_text(encoding="utf-8").splitlines()]


def test_check_names_planted_damage_and_nothing_else(open_at, tmp_path, kind):
    path = tmp_path / "kept.db"
    with open_at(path) as opened:
        archive(opened, event("a", text="the first words"), event("b", text="the second words"))
        quote = Evidence(quote="the first words", event="a", session="s", path="f", at=AT, author="human", origin=Origin.USER)
        commit(opened, add("m1"), add("m2"), Add(memory="m3", at=AT, reason="new", value=replace(memory("m3"), evidence=(quote,))))
        commit(opened, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")),)))
        assert opened.find_damage() == ()
    whole, found, damage = path.read_bytes(), {}, DAMAGE[:: 1 if kind == "sqlite" else 4]
    for row in damage:
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute(row["sql"])
        with open_at(path) as opened:
            found[row["damage"]] = [each for each in opened.find_damage() if "on the server" not in each]
    assert found == {row["damage"]: row["found"] for row in damage}


def test_rebuilding_gives_the_same_memories_and_mends_derived_damage(store):
    commit(store, add("m1"), add("m2"), Retire(memory="m2", at=AT, reason="x"))
    before = store.log.memories()
    store._database.execute_sql("DELETE FROM memories WHERE id = 'm1'")
    store._database.execute_sql("INSERT INTO memory_index (memory_index) VALUES ('delete-all')")
    store._database.execute_sql("INSERT INTO mentions (memory, operation) SELECT 'm9', id FROM operations LIMIT 1")
    assert store.find_damage() != ()
    store.log.rebuild()
    assert store.log.memories() == before
    assert store.find_damage() == ()
    assert store.log.search(("something",), 5)


def test_a_damaged_block_is_never_served(store):
    archive(store, event("a"))
    store._database.execute_sql("UPDATE blocks SET body = x'00'")
    with pytest.raises(DamagedError, match="damaged"):
        store.archive.event("a")


def test_a_forked_process_may_not_use_the_connection(store):
    if (child := os.fork()) == 0:
        for use in (store.log.memories, lambda: store._database.execute_many("add_mention", [])):
            try:
                use()
            except StoreError as error:
                if "forked" in str(error):
                    continue
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_two_connections_see_each_others_commits(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as one, open_at(tmp_path / "kept.db") as two:
        commit(one, add("m1"))
        commit(two, add("m2"))
        assert [each.id for each in one.log.memories()] == ["m1", "m2"]
        assert one.find_damage() == ()


def test_a_key_is_made_once(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as opened:
        first = opened.key("forget")
        assert opened.key("redaction") != first
    with open_at(tmp_path / "kept.db") as opened:
        assert opened.key("forget") == first


@pytest.mark.parametrize("file", ["queries.sql", "reader.sql"])
def test_each_query_has_a_name_of_its_own_a_description_and_a_use(file):
    folder = Path(Database.__init__.__code__.co_filename).parent
    lines = (folder / file).read_text().splitlines()
    names = [line.removeprefix("-- name: ") for line in lines if line.startswith("-- name: ")]
    assert len(names) == len(set(names))
    for line, after in pairwise(lines):
        assert not line.startswith("-- name: ") or after.startswith("-- "), line
    code = "".join(path.read_text() for path in folder.rglob("*.py"))
    assert [name for name in names if f'"{name}"' not in code] == []


def test_what_is_forgotten_is_in_no_byte_of_the_file(store):
    secret = "xylophone quartz"
    archive(store, event("a", text=f"we always use {secret} here"))
    commit(store, add("m1", f"use {secret}"))
    store.key("forget")
    made = commit(store, Forget(memory="m1", at=AT, reason="x", fingerprints=("f1",)))
    store.log.erase_memory("m1", (), ("f1",), made)
    store.archive.erase_words(ErasureWords(sentences=(), cited=(("a", f"use {secret}"),)))
    store.compact()
    raw = store.path.read_bytes()
    assert b"xylophone" not in raw
    assert b"quartz" not in raw
    assert store.archive.find_mentions("xylophone", DAWN) == ()
    assert store.find_damage() == ()
    assert store.log.forgotten_fingerprints() == {"f1"}


def schema_of(path: Path) -> list[tuple[str, str, str]]:
    with sqlite3.connect(path) as raw:
        rows = raw.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name").fetchall()
    raw.close()
    return [
        (kind, name, " ".join(re.findall(r"\w+|[^\w\s]", sql))) for kind, name, sql in rows
    ]  # an added column stands on the line of another


def old_store(path: Path, version: int) -> None:
    """A store as a program of that format made it, with a memory in it."""
    reply = replace(event("b", text="the answer"), kind=What.RESPONSE, author=Author.ASSISTANT)
    with SqliteStore(path.with_name("new.db")) as new:
        archive(new, event("a"), event("c"), event("d"), reply)
        new.archive.mark_abandoned(1, [(1, True)])
        new.archive.add_slice("s", "g", (), RecordAccount(), Cursor(carry='{"open":{"c1":"žluť"}}'), anew=True)
        commit(new, add("m1"), add("m2"))
        commit(new, Supersede(memory="m1", at=AT, reason="x", by="m2"))
    write_older_store(path.with_name("new.db"), path, version)


def test_what_was_said_is_found_after_migrating_whoever_said_it(tmp_path):
    old_store(tmp_path / "kept.db", FORMAT - 1)
    with SqliteStore(tmp_path / "kept.db") as migrated:
        assert all(migrated.archive.find_mentions(word, DAWN) for word in ("words", "answer"))
        assert list(migrated.archive.find_damage()) == []


@pytest.mark.parametrize("version", range(1, FORMAT))
def test_migrating_an_older_store_gives_the_newest_schema_and_loses_nothing(tmp_path, version):
    old_store(tmp_path / "kept.db", version)
    with SqliteStore(tmp_path / "kept.db") as migrated, SqliteStore(tmp_path / "new.db") as new:
        assert [each.id for each in migrated.log.memories()] == ["m1", "m2"]
        assert list(migrated.log.passes()) == list(new.log.passes())
        assert list(migrated.archive.export_rows()) == list(new.archive.export_rows())
        assert [each.id for each in migrated.log.related_passes([1])] == [1, 2]
        migrated.archive.reindex()
        migrated.log.rebuild()
        assert migrated.find_damage() == ()
    assert schema_of(tmp_path / "kept.db") == schema_of(tmp_path / "new.db")
    with sqlite3.connect(tmp_path / "kept.db") as raw:
        assert [row[0] for row in raw.execute("SELECT version FROM migrations")] == list(range(version + 1, FORMAT + 1))
        assert raw.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    raw.close()


def test_a_migration_is_preceded_by_a_backup_in_the_old_format(tmp_path):
    old_store(tmp_path / "kept.db", 1)
    with SqliteStore(tmp_path / "kept.db"):
        pass
    (made,) = (tmp_path / "backups").iterdir()
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    with sqlite3.connect(made) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (1,)
        assert raw.execute("SELECT count(*) FROM passes").fetchone() == (2,)
    raw.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    old_store(tmp_path / "kept.db", 1)
    before = schema_of(tmp_path / "kept.db")
    broken = (*database.migration_statements(2), "CREATE TABLE passes (id)")
    monkeypatch.setattr(database, "migration_statements", lambda _: broken)
    with pytest.raises(StoreError):
        SqliteStore(tmp_path / "kept.db")
    assert schema_of(tmp_path / "kept.db") == before
    monkeypatch.undo()
    with SqliteStore(tmp_path / "kept.db") as migrated:
        assert len(migrated.log.memories()) == 2


def test_a_store_is_not_migrated_where_no_backup_can_be_made(tmp_path):
    old_store(tmp_path / "kept.db", 1)
    before = schema_of(tmp_path / "kept.db")
    (tmp_path / "backups").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        SqliteStore(tmp_path / "kept.db")
    assert schema_of(tmp_path / "kept.db") == before


def test_a_long_running_reader_does_not_serve_what_another_process_forgot(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as one, open_at(tmp_path / "kept.db") as two:
        archive(one, event("a", text="xylophone"))
        assert two.archive.event("a").text == "xylophone"
        one.archive.erase_words(ErasureWords(sentences=(), cited=(("a", "xylophone"),)))
        assert two.archive.event("a").text == "[forgotten]"


def test_a_row_that_cannot_be_read_is_named_and_never_served(store):
    commit(store, add("m1"), add("m2"))
    store._database.execute_sql("UPDATE memories SET body = '{' WHERE id = 'm1'")
    assert store.find_damage() == ("memory m1: cannot be read",)
    with pytest.raises(DamagedError):
        store.log.memories()
    store.log.rebuild()
    assert store.find_damage() == ()


def test_a_slice_of_many_events_lies_in_blocks_of_bounded_size(open_at, tmp_path, monkeypatch):
    path = tmp_path / "kept.db"
    monkeypatch.setattr("kept.store.archive.turns.BLOCK_EVENTS", 2)
    with open_at(path) as store:
        archive(store, *(event(name, text=f"text of {name}") for name in "abcde"))
        assert [each.key for each in store.archive.events(1, 0, 9)] == list("abcde")
        assert store.archive.event("d").text == "text of d"
        assert list(store.find_damage()) == []
    with closing(sqlite3.connect(path)) as raw:
        assert [row[0] for row in raw.execute("SELECT id FROM blocks ORDER BY id")] == [1, 3, 5]


def test_words_of_a_forgetting_that_was_cut_short_are_erased_at_the_next_opening(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as opened:
        archive(opened, event("a", text="we always use xylophone quartz here"))
        commit(opened, add("m1", "use xylophone quartz"))
        opened.key("forget")
        with opened.transaction():
            made = commit(opened, Forget(memory="m1", at=AT, reason="x", fingerprints=("f1",)))
            opened.log.erase_memory("m1", (), ("f1",), made)
            opened.archive.erase_words(ErasureWords(sentences=(), cited=(("a", "use xylophone quartz"),)))
    assert b"xylophon" in (tmp_path / "kept.db").read_bytes(), "the index still holds them: there is something to do"
    with open_at(tmp_path / "kept.db") as again:
        assert again.find_damage() == ()
    assert b"xylophon" not in (tmp_path / "kept.db").read_bytes()


def test_words_taken_out_of_the_log_are_in_no_byte_of_the_file_after_the_next_opening(open_at, tmp_path):
    words = ErasureWords(sentences=("use xylophone quartz",))
    with open_at(tmp_path / "kept.db") as opened:
        archive(opened, event("a", text="hello"))
        commit(opened, add("m1", "use xylophone quartz"))
        candidate = replace(judged("c1").candidate, content="use xylophone quartz")
        commit(opened, stage="extract", span=Span(thread=1, start=0, judged=((0, replace(judged("c1"), candidate=candidate)),)))
        assert opened.log.erase_words(words)
        assert opened.find_damage() == ()
    with open_at(tmp_path / "kept.db") as again:
        assert again.find_damage() == ()
    assert b"xylophone" not in (tmp_path / "kept.db").read_bytes()


def test_words_that_cannot_be_erased_at_the_next_opening_are_told_by_check(open_at, tmp_path, monkeypatch):
    with open_at(tmp_path / "kept.db") as opened:
        archive(opened, event("a", text="use xylophone quartz"))
        opened.archive.erase_words(ErasureWords(sentences=(), cited=(("a", "xylophone"),)))

    def refused(_: SqliteStore) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(SqliteStore, "compact", refused)
    with open_at(tmp_path / "kept.db") as again:
        assert again.find_damage() == ("forgotten words may still be in free pages: the disk is full",)


def test_every_folder_made_for_a_store_is_its_owners_alone(open_at, tmp_path):
    old = os.umask(0)
    try:
        with open_at(tmp_path / "a" / "b" / "kept.db"):
            pass
    finally:
        os.umask(old)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]


def test_a_commit_that_the_disk_did_not_keep_is_not_told_as_done(open_at, tmp_path, monkeypatch):
    with open_at(tmp_path / "kept.db") as opened:
        run = opened._database.run
        monkeypatch.setattr(
            opened._database,
            "run",
            lambda name, /, **values: run("blocks" if name == "passes_of" else name, **({} if name == "passes_of" else values)),
        )
        with pytest.raises(DamagedError, match="cannot be read back"):
            commit(opened, add("m1"))


def test_a_key_of_what_was_forgotten_that_is_gone_is_not_made_anew(store):
    commit(store, add("m1"))
    store.key("forget")
    made = commit(store, Forget(memory="m1", at=AT, reason="x", fingerprints=("f1",)))
    store.log.erase_memory("m1", (), ("f1",), made)
    store._database.execute_sql("DELETE FROM settings WHERE name = 'key:forget'")
    assert "the key for forgotten words is missing, so these words may come back" in store.find_damage()
    with pytest.raises(DamagedError, match="key for forgotten words"):
        store.key("forget")


def test_what_must_not_come_back_is_in_the_rows_of_an_export(open_at, store, tmp_path):
    commit(store, add("m1"))
    store.key("forget")
    made = commit(store, Forget(memory="m1", at=AT, reason="x", fingerprints=("f1",)))
    store.log.erase_memory("m1", (), ("f1",), made)
    with open_at(tmp_path / "other" / "kept.db") as other:
        other.load_rows(store.export_rows())
        assert other.log.forgotten_fingerprints() == {"f1"}


def test_rebuilding_brings_back_what_must_not_come_back(store):
    commit(store, add("m1"))
    store.key("forget")
    made = commit(store, Forget(memory="m1", at=AT, reason="x", fingerprints=("f1",)))
    store.log.erase_memory("m1", (), ("f1",), made)
    store._database.execute_sql("DELETE FROM forgotten")
    assert store.find_damage() != ()
    store.log.rebuild()
    assert store.log.forgotten_fingerprints() == {"f1"}
    assert store.find_damage() == ()


@pytest.mark.parametrize("how", ["replaced", "gone"])
def test_nothing_is_written_to_a_store_whose_file_was_replaced_or_is_gone(open_at, tmp_path, how):
    path = tmp_path / "kept.db"
    with open_at(path) as store, open_at(tmp_path / "other.db"):
        store.log.start_run("run", NOW)
        (tmp_path / "other.db").rename(path) if how == "replaced" else path.unlink()
        with pytest.raises(StoreError, match="replaced meanwhile"):
            store.log.start_run("run", NOW)
        with pytest.raises(StoreError, match="replaced meanwhile"):
            store.log.start_run("again", NOW)
        assert len(store.log.runs()) == 1


def test_no_copy_is_made_of_a_store_that_was_deleted_meanwhile(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as store:
        store.log.start_run("run", NOW)
        (tmp_path / "kept.db").unlink()
        with pytest.raises(StoreError, match="replaced meanwhile"):
            store.copy_to(tmp_path / "copies" / "copy.db")
    assert list((tmp_path / "copies").iterdir()) == []


def test_an_empty_file_beside_what_comes_before_a_store_becomes_one_and_beside_anything_else_is_damage(open_at, tmp_path):
    """The plugin's first session leaves notes, and its run a lock, before the run has created the store."""
    (tmp_path / "kept.db").touch()
    for name in ("plugin.since", "run.lock", "outputs.lock"):
        (tmp_path / name).touch()
    (tmp_path / "hooks").mkdir()
    with pytest.raises(DamagedError, match="empty"):
        open_at(tmp_path / "kept.db")
    (tmp_path / "outputs.lock").unlink()
    with open_at(tmp_path / "kept.db") as store:
        assert store.find_damage() == ()


def test_what_is_read_in_one_transaction_is_of_one_moment(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as mine, open_at(tmp_path / "kept.db") as other:
        commit(mine, add("m1"))
        other._database.execute_sql("PRAGMA busy_timeout = 0")
        with mine._database.read_transaction():
            before = mine.log.memory_ids()
            with pytest.raises(StoreError, match="locked"):
                commit(other, add("m2"))
            assert mine.log.memory_ids() == before


def test_what_is_written_after_a_trial_is_there_for_others_and_the_trial_is_not(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as store, open_at(tmp_path / "kept.db") as other:
        with store._database.trial_transaction():
            commit(store, add("m1"))
        assert store.log.memory_ids() == frozenset()
        commit(store, add("m2"))
        assert set(other.log.memory_ids()) == {"m2"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("database or disk is full", "the disk is full"),
        ("attempt to write a readonly database", "the store is read-only"),
        ("the file is read-only", "the store is read-only"),
        ("database is locked", "another process kept the store locked"),
        ("database disk image is malformed", "the store file is damaged"),
        ("file is not a database", "the store file is damaged"),
        ("disk I/O error", "the disk refused"),
        ("unable to open database file", "the store cannot be opened"),
        ("something else", "the store answered: something else"),
    ],
)
def test_an_error_of_the_store_says_what_happened_and_what_to_do(said, told, tmp_path):
    error = database._to_store_error(sqlite3.OperationalError(said), tmp_path / "kept.db")
    assert told in str(error)
    assert "→" in str(error)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
def test_a_file_that_is_no_store_is_closed_again(tmp_path):
    (tmp_path / "kept.db").write_bytes(b"not a database at all, but long enough to be looked at" * 30)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(StoreError) as told:
        Database(tmp_path / "kept.db")
    assert len(list(Path("/proc/self/fd").iterdir())) == before, told


def test_a_copy_is_on_the_disk_with_its_folder_before_it_counts(store, tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(database, "flush", flushed.append)
    store._database.copy_to(tmp_path / "copies" / "a.db")
    assert flushed == [tmp_path / "copies" / "a.db", tmp_path / "copies"]


def test_rebuilding_keeps_no_fingerprint_that_the_log_does_not_have(store):
    commit(store, add("m1"))
    store._database.execute_many("add_fingerprint", [{"fingerprint": "f" * 128, "pass_id": 1}])
    store.log.rebuild()
    assert store.log.forgotten_fingerprints() == frozenset()


def test_a_cursor_without_a_secret_is_the_very_cursor_and_one_with_a_secret_holds_it_no_more():
    cursor = Cursor(carry='{"open":{"c1":"token hunter2"}}')
    assert redact_cursor(cursor, lambda text: text) is cursor
    assert redact_cursor(cursor, lambda text: text.replace("hunter2", "x")).carry == '{"open":{"c1":"token x"}}'


def test_a_row_whose_words_stay_keeps_its_commitment():
    words = ErasureWords(sentences=("the vault code of the lighthouse is under the mat",))
    row = OperationRow(
        id=1, pass_id=1, memory="m", kind="add", body='{"reason":"the vault code of the lighthouse is under the mat"}',
        commitment="c", salt="s", words='{"content":"other"}',
    )  # fmt: skip
    (changed,) = erase_from_rows((), (row,), (), words).operations
    assert (changed.body, changed.commitment, changed.words) == ('{"reason":"[forgotten]"}', "c", row.words)
    swapped = replace(row, body="{}", words=row.body)
    (changed,) = erase_from_rows((), (swapped,), (), words).operations
    assert changed.commitment != "c"


def test_a_text_that_many_operations_of_a_pass_repeat_is_searched_for_secrets_once():
    seen = Counter()

    def note(text):
        seen[text] += 1
        return text

    added = tuple(add(f"{number:010}", f"fact {number}") for number in range(50))
    draft = Draft(run=1, stage="import", subject="mem0.json", actor=Actor.PERSON, recorded_at=NOW, operations=added)
    assert redact_draft(draft, note) == draft
    assert (max(seen.values()), seen["fact 7"]) == (1, 1)
