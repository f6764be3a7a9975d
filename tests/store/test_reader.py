"""The reader of a hook: it reads what the store's own readers read, changes nothing, and gives up in time."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import pytest

from kept.core.errors import StoreError
from kept.core.memory import APPROVED, Status
from kept.core.times import format_instant
from kept.local import queue
from kept.memories.configure import change_setting
from kept.memories.person import approve, create_memory, pin, retire
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.reader import StoreReader, _load_queries
from kept.store.sqlite import SqliteStore
from prepared import open_at


@pytest.fixture(scope="module")
def made():
    """The store of each kind, which no test here changes."""
    return {}


@pytest.fixture
def store(kind, request, made, tmp_path_factory):
    """The store of the bundled sample, with a pinned, a retired, a suggested and an approved memory."""
    if kind in made:
        return made[kind]
    home = tmp_path_factory.mktemp(kind)
    if kind == "postgres":
        change_setting(find_paths(str(home), {"HOME": str(home)}), "store.url", request.getfixturevalue("postgres")())
    with open_at(home) as workspace:
        run_pipeline(workspace, [Path(str(files("kept.sample") / "projects"))], RunOptions())
        pin(workspace, create_memory(workspace, "Releases go out on Tuesdays only.", "constraint").id)
        retire(workspace, create_memory(workspace, "We deploy with Ansible.", "decision", project="/x").id)
        create_memory(workspace, "The CI image pins Node 20.", "project_fact", agent=True)
        approve(workspace, create_memory(workspace, "The CI image has no curl.", "project_fact", agent=True).id)
    return made.setdefault(kind, find_paths(str(home), {"HOME": str(home)}).store)


def test_a_glance_sees_the_memories_that_the_store_sees(store):
    with SqliteStore(store) as full, StoreReader(str(store), 5) as reader:
        known = {each.id: each for each in full.log.memories()}
        rows = list(range(1, len(known) + 1))
        for each in reader.memories(rows):
            memory = known.pop(each.id)
            assert (each.category, each.scope, each.content, each.confidence) == (
                memory.category,
                memory.scope,
                memory.content,
                1.0 if memory.reason == APPROVED else memory.confidence,  # a person is certain
            )
            assert (each.pinned, each.observations, each.fingerprint, each.artifacts) == (
                memory.pinned,
                memory.observations,
                memory.fingerprint,
                memory.artifacts,
            )
            assert each.last_seen == (format_instant(memory.last_seen) if memory.last_seen else "")
            assert each.sessions == {one.session for one in memory.evidence}
        assert known == {}


def test_only_active_memories_are_found_and_always_shown_are_pinned_ones_and_the_users(store):
    with SqliteStore(store) as full, StoreReader(str(store), 5) as reader:
        active = {each.id for each in full.log.memories() if each.status is Status.ACTIVE}
        scopes = sorted({each.scope for each in full.log.memories()})
        assert [each.content for each in reader.always_shown_memories(["user"], ["constraint"], ["coding"])] == [
            "Releases go out on Tuesdays only."
        ]
        for word in ("tuesdays", "ansible", "node", "the", "dates"):
            rows = reader.memory_rows_with_word(word)
            found = {each.id for each in reader.memories(reader.active_rows(rows, scopes, ["coding"]))}
            assert found == {each.id for each in reader.memories(rows)} & active
        assert reader.active_rows(reader.memory_rows_with_word("ansible"), scopes, ["coding"]) == []
        assert reader.active_rows(reader.memory_rows_with_word("tuesdays"), ["project:other"], ["coding"]) == []


def test_the_texts_are_counted_without_reading_them(store):
    with closing(sqlite3.connect(store)) as connection, StoreReader(str(store), 5) as reader:
        count = "SELECT (SELECT count(*) FROM memory_index_docsize) + (SELECT count(*) FROM turn_index_docsize)"
        count += " + (SELECT count(*) FROM reply_index_docsize)"
        assert reader.count_texts() == connection.execute(count).fetchone()[0] > 0


@pytest.mark.parametrize("name", ["always_shown", "memories_by_fingerprint", "memories_by_id", "active_memories"])
def test_what_always_holds_is_looked_up_and_not_sought_among_all_that_is_active(store, name):
    with closing(sqlite3.connect(store)) as connection:
        values = dict.fromkeys(("profiles", "scopes", "categories", "rules", "marks", "ids", "rows"), "[]")
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {_load_queries()[name]}", values)]
    assert any("memories" in step for step in plan)
    assert not any("memories_status" in step or step == "SCAN memories" for step in plan)


def test_what_was_worked_on_is_what_the_store_notes(store):
    with SqliteStore(store) as full, StoreReader(str(store), 5) as reader:
        start, stop = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
        noted = full.days.notes_between(start, stop)
        assert noted
        scopes = [each.scope for each in full.archive.projects()]
        found = reader.notes_between(format_instant(start), format_instant(stop), scopes)
        assert sorted((each.key, each.at, each.session, each.weight) for each in found) == sorted(
            (each.note.event, format_instant(each.note.at), each.session, each.note.weight) for each in noted
        )
        assert reader.notes_between(format_instant(start), format_instant(stop), ["project:other"]) == []
        word = next(word for word in found[0].text.split() if word.isalpha() and len(word) > 4).lower()
        assert found[0].row in reader.note_rows_with_word(word, scopes)
        assert found[0] in reader.notes([found[0].row])
        assert [path for path, _ in reader.outputs()] == list(full.outputs())


def test_a_glance_writes_nothing_and_makes_no_file(store, tmp_path):
    before = store.read_bytes()
    with StoreReader(str(store), 5) as reader, pytest.raises(sqlite3.Error, match="readonly"):
        reader._connection.execute("DELETE FROM memories")
    assert store.read_bytes() == before
    with pytest.raises(StoreError):
        StoreReader(str(tmp_path / "none.db"), 5)
    assert not (tmp_path / "none.db").exists()


def test_a_deadline_that_has_passed_ends_a_query(store):
    long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000) SELECT max(i) FROM n"
    with StoreReader(str(store), 0.01) as reader:
        reader._queries = {"long": long}
        with pytest.raises(StoreError, match="interrupted"):
            reader._fetch_all("long")


def test_lines_appended_to_a_spool_are_taken_once_and_never_torn(tmp_path):
    path = str(tmp_path / "hooks" / "queue")
    assert all(queue.append_line(path, f"line {number}\nx", 1_000) for number in range(50))
    assert not any(queue.append_line(path, "y" * 900, 1_000) for _ in range(3))
    assert queue.take_lines(path) == [f"line {number} x" for number in range(50)]
    assert queue.take_lines(path) == []


def test_the_log_of_the_hooks_is_bounded_and_keeps_the_newest(tmp_path):
    for number in range(2_500):
        queue.log_hook_problem(str(tmp_path), "2026-01-05T10:00:00Z", "stop", f"{number} " + "x" * 100)
    kept = queue.load_hook_log(str(tmp_path))
    assert kept[-1].startswith("2026-01-05T10:00:00Z stop: 2499 ")
    assert sum(map(len, kept)) < 130_000


def test_the_hooks_know_where_the_store_lies(home):
    assert queue.state_folder(str(home)) == str(find_paths(str(home), {}).state)


def test_time_that_passed_in_waiting_for_somebody_else_does_not_count(store):
    with StoreReader(str(store), 0) as reader:
        assert reader._late()
        reader.extend_deadline(60)
        assert not reader._late()
        assert reader.count_texts()
