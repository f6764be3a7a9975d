"""The store: archive, log, memories, and what checks them."""

import os
import sqlite3
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kept.adapters.store import Draft, Span, Store
from kept.adapters.store.database import FORMAT, Database
from kept.model.errors import DamagedError, StoreError
from kept.model.event import Account, Author, Cursor, Event, Kind, Origin, Pointer, Precision
from kept.model.fold import fold
from kept.model.memory import Accepted, Actor, Candidate, Evidence, Judged, Memory, Refused, Status
from kept.model.operation import Add, Forget, Pin, Retire, Supersede

AT = datetime(2026, 1, 5, 14, tzinfo=UTC)
NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "kept.db") as opened:
        yield opened


def event(
    key: str, *, session: str = "s", text: str = "words", twin: str = "", at: datetime | None = AT, project: str = "/p"
) -> Event:
    return Event(
        key=key, twin=twin, session=session, record=key, parent="", turn="", kind=Kind.PROMPT, author=Author.HUMAN, label_reason="typed",
        text=text, at=at, precision=Precision.MESSAGE, project=project, branch="", tool=None,
        pointer=Pointer(path="f", line=1, start=0, end=1),
    )  # fmt: skip


def memory(number: str, content: str = "something") -> Memory:
    return Memory(
        id=number, profile="coding", category="decision", scope="user", status=Status.ACTIVE, content=content, confidence=0.8,
        origin=Origin.USER, first_seen=AT, last_seen=AT, candidates=(f"c-{number}",),
    )  # fmt: skip


def judged(number: str, verdict=Accepted()) -> Judged:
    quote = Evidence(quote=f"quote {number}", event="e", session="s", path="f", at=AT, author="human", origin=Origin.USER)
    candidate = Candidate(
        id=number, profile="coding", category="decision", scope="user", content=f"content {number}", confidence=0.8, trigger="t", at=AT,
        origin=Origin.USER, artifacts=(), evidence=(quote,), reasoning="r",
    )  # fmt: skip
    return Judged(candidate=candidate, verdict=verdict)


def archive(store: Store, *events: Event, path: str = "f", offset: int = 10, anew: bool = True) -> int:
    return store.archive.add(
        "claude-code",
        path,
        events,
        Account(records=len(events), kept=len(events), events=len(events)),
        Cursor(offset=offset),
        anew=anew,
    )


def commit(store: Store, *operations, **changes):
    run = store.log.start_run("test", NOW)
    draft = Draft(run=run, stage="person", subject="", actor=Actor.PERSON, recorded_at=NOW, operations=operations)
    return store.log.commit(replace(draft, **changes))


def add(number: str, content: str = "something") -> Add:
    return Add(memory=number, at=AT, reason="new", value=memory(number, content))


def test_a_store_is_readable_by_its_owner_only(tmp_path):
    old = os.umask(0)
    try:
        with Store(tmp_path / "deep" / "kept.db"):
            pass
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "deep" / "kept.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700


def test_a_newer_store_is_refused_in_one_line(tmp_path):
    with Store(tmp_path / "kept.db"):
        pass
    with sqlite3.connect(tmp_path / "kept.db") as raw:
        raw.execute(f"PRAGMA user_version = {FORMAT + 1}")
    raw.close()
    with pytest.raises(StoreError, match="install a newer kept"):
        Store(tmp_path / "kept.db")


def test_a_file_that_is_no_store_is_left_alone(tmp_path):
    for body in (b"not a database at all, but long enough to be looked at" * 30,):
        (tmp_path / "kept.db").write_bytes(body)
        with pytest.raises(StoreError):
            Store(tmp_path / "kept.db")
        assert (tmp_path / "kept.db").read_bytes() == body


def test_the_durable_settings_are_in_force(store):
    assert store._database.raw("PRAGMA journal_mode").fetchone()[0] == "delete"
    assert store._database.raw("PRAGMA synchronous").fetchone()[0] == 3


def test_events_come_back_as_they_were_archived(store):
    events = [event("a"), event("b", text="two\nlines — ünïcode"), event("c", at=None)]
    assert archive(store, *events) == 3
    (thread,) = store.archive.threads()
    assert store.archive.events(thread.id, 0, 9) == tuple(events)


def test_an_event_known_by_key_or_twin_is_stored_once_whatever_file_tells_it(store):
    archive(store, event("a", twin="t"), event("b"))
    assert (
        archive(
            store, event("a", twin="t", session="copy"), event("a2", twin="t", session="copy"), event("d", session="copy"), path="g"
        )
        == 1
    )
    copy = store.archive.threads()[1]
    assert [each.key for each in store.archive.events(copy.id, 0, 9)] == ["a", "d"]


def test_reading_a_file_again_stores_nothing_and_lengthens_no_thread(store):
    archive(store, event("a"), event("b"))
    assert archive(store, event("a"), event("b"), event("c"), offset=20) == 1
    (thread,) = store.archive.threads()
    assert thread.events == 3


def test_accounts_add_up_over_slices_and_start_over_for_a_rewritten_file(store):
    archive(store, event("a"))
    archive(store, event("b"), offset=20, anew=False)
    assert store.archive.files()[0].account.records == 2
    archive(store, event("a"), offset=30, anew=True)
    assert store.archive.files()[0].account.records == 1


def test_turns_are_found_by_stem_by_part_of_an_identifier_and_in_cjk(store):
    archive(store, event("a", text="the getUserName function in src/app/main.py was renamed"), event("b", text="数据库连接失败"))
    for query, key in (("renaming", "a"), ("user", "a"), ("main", "a"), ("连接", "b")):
        hits = store.archive.search(f'"{query}"', 5)
        assert [hit.key for hit, _ in hits] == [key], query


def test_a_memory_is_what_its_operations_add_up_to(store):
    commit(store, add("m1"), Pin(memory="m1", at=AT, reason="x"))
    assert store.log.memory("m1").pinned
    assert {each.id: each for each in store.log.memories()} == fold(store.log.passes())


def test_a_pass_that_does_not_fit_changes_nothing(store):
    commit(store, add("m1"), add("m2"))
    for operation in (Retire(memory="nobody", at=AT, reason="x"), Supersede(memory="m1", at=AT, reason="x", by="m1")):
        with pytest.raises(StoreError):
            commit(store, Pin(memory="m2", at=AT, reason="x"), operation)
    assert not store.log.memory("m2").pinned
    assert store.damage() == ()


def test_memories_may_not_supersede_each_other_in_a_circle(store):
    commit(store, add("m1"), add("m2"), Supersede(memory="m1", at=AT, reason="x", by="m2"))
    with pytest.raises(StoreError, match="each other"):
        commit(store, Supersede(memory="m2", at=AT, reason="x", by="m1"))


def test_undone_passes_take_their_candidates_with_them_and_redo_brings_them_back(store):
    archive(store, event("a"))
    made = commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")),)))
    undo = commit(store, stage="undo", undoes=(made.id,))
    assert store.log.proposals("coding", "user") == ()
    commit(store, stage="redo", redoes=(made.id,))
    assert [each.judged for each in store.log.proposals("coding", "user")] == [judged("c1")]
    assert undo.id == made.id + 1


def test_a_later_span_replaces_the_candidates_of_the_episodes_it_covers(store):
    archive(store, event("a"))
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")), (5, judged("c2")))))
    commit(store, stage="extract", span=Span(thread=1, start=5, judged=((5, judged("c3")),)))
    assert {each.judged.candidate.id for each in store.log.proposals("coding", "user")} == {"c1", "c3"}


def test_candidates_of_undone_curation_are_blocked(store):
    made = commit(store, add("m1"))
    commit(store, stage="undo", undoes=(made.id,))
    assert store.log.blocked() == {"c-m1"}


def test_a_group_is_dirty_until_it_is_curated(store):
    archive(store, event("a"))
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")),)))
    assert store.log.dirty() == (("coding", "user"),)
    store.log.cleaned("coding", "user")
    assert store.log.dirty() == ()


def test_refused_candidates_are_listed(store):
    archive(store, event("a"))
    commit(
        store,
        stage="extract",
        span=Span(thread=1, start=0, judged=((0, judged("c1")), (0, judged("c2", Refused(reason="chatter"))))),
    )
    assert [each.judged.candidate.id for each in store.log.refused()] == ["c2"]


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
    assert store.archive.search('"xylophone"', 5) == ()
    assert store.damage() == ()
    assert store.log.forgotten() == {"f1"}


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
    with Store(tmp_path / "kept.db") as opened:
        archive(opened, event("a"), event("b"))
        commit(opened, add("m1"), add("m2"))
        commit(opened, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")),)))
        assert opened.damage() == ()
    with sqlite3.connect(tmp_path / "kept.db") as raw:
        raw.execute(DAMAGE[name])
    raw.close()
    with Store(tmp_path / "kept.db") as opened:
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
    assert store.log.search('"something"', 5)


def test_a_damaged_block_is_never_served(store):
    archive(store, event("a"))
    store._database.raw("UPDATE blocks SET body = x'00'")
    with pytest.raises(DamagedError, match="damaged"):
        store.archive.event("a")


def test_a_trial_leaves_no_trace(store):
    with store.trial():
        commit(store, add("m1"))
        assert store.log.memory("m1")
    assert store.log.memory("m1") is None
    assert store.log.runs() == ()


def test_a_failure_inside_a_transaction_takes_everything_back(store):
    with pytest.raises(RuntimeError), store.transaction():
        commit(store, add("m1"))
        raise RuntimeError
    assert store.log.memories() == ()


def test_a_forked_process_may_not_use_the_connection(store, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreError, match="forked"):
        store.log.memories()


def test_two_connections_see_each_others_commits(tmp_path):
    with Store(tmp_path / "kept.db") as one, Store(tmp_path / "kept.db") as two:
        commit(one, add("m1"))
        commit(two, add("m2"))
        assert [each.id for each in one.log.memories()] == ["m1", "m2"]
        assert one.damage() == ()


def test_a_key_is_made_once(tmp_path):
    with Store(tmp_path / "kept.db") as opened:
        first = opened.key("forget")
        assert opened.key("redaction") != first
    with Store(tmp_path / "kept.db") as opened:
        assert opened.key("forget") == first


def test_a_statement_file_names_each_statement_once():
    text = (Path(Database.__init__.__code__.co_filename).parent / "queries.sql").read_text()
    names = [line.removeprefix("-- name: ") for line in text.splitlines() if line.startswith("-- name: ")]
    assert len(names) == len(set(names))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_history_of_operations_undos_and_redos_agrees_with_its_fold(tmp_path_factory, data):
    with Store(tmp_path_factory.mktemp("s") / "kept.db") as opened:
        passes: list[int] = []
        for step in range(data.draw(st.integers(1, 8))):
            kind = data.draw(st.sampled_from(("add", "retire", "pin", "undo", "redo")))
            ids = [each.id for each in opened.log.memories()]
            if kind == "add" or not ids:
                passes.append(commit(opened, add(f"m{step}")).id)
            elif kind in ("undo", "redo"):
                commit(opened, stage=kind, **{"undoes" if kind == "undo" else "redoes": (data.draw(st.sampled_from(passes)),)})
            else:
                number = data.draw(st.sampled_from(ids))
                operation = Retire(memory=number, at=AT, reason="x") if kind == "retire" else Pin(memory=number, at=AT, reason="x")
                passes.append(commit(opened, operation).id)
            assert {each.id: each for each in opened.log.memories()} == fold(opened.log.passes())
        assert opened.damage() == ()
