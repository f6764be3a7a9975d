"""What every store does, whatever it is made of."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kept.core.document import Line
from kept.core.erasure import ErasureWords
from kept.core.errors import DamagedError, StoreError, UsageError
from kept.core.event import FORGOTTEN_MARK, Origin
from kept.core.memory import Evidence, Refused, Status
from kept.core.operation import Add, Forget, Merge, Pin, Retire, Supersede, fold, to_facts
from kept.core.project import Project
from kept.core.summary import Passage, PassageForm, WorkNote
from kept.store.check import IMPORTED
from kept.store.sqlite import SqliteStore
from kept.store.values import ArchiveCounts, Output, Span
from store_world import AT, DAWN, NOW, add, archive, commit, event, judged, memory, replica


@pytest.fixture
def opened(request):
    """Opens a store of a kind, whose server holds at the end what the store does."""

    @contextmanager
    def open_store(kind: str, path: Path) -> Iterator[SqliteStore]:
        with SqliteStore(path) if kind == "sqlite" else replica(path, request.getfixturevalue("postgres")()) as found:
            yield found
            if kind != "sqlite":
                assert [*found.compare_with_server()] == []

    return open_store


@pytest.fixture
def store(kind, tmp_path: Path, opened):
    with opened(kind, tmp_path / "kept.db") as found:
        yield found


def test_events_come_back_as_they_were_archived(store):
    events = [event("a"), event("b", text="two\nlines — ünïcode"), event("c", at=None)]
    assert archive(store, *events) == 3
    (thread,) = store.archive.threads()
    assert store.archive.events(thread.id, 0, 9) == tuple(events)


def test_names_with_a_nul_come_back_as_they_are(store):
    for name in ("/p\0q", "/p\U0010ffff0", "/\U0010ffff\0"):
        archive(store, event(f"a{name}", project=name), path=f"f{name}")
        store.archive.save_project(Project(directory=name, identity="i", name=name, scope=f"project:{name}"))
    assert [project.directory for project in store.archive.projects()] == sorted(("/p\0q", "/p\U0010ffff0", "/\U0010ffff\0"))
    assert store.find_damage() == ()


def test_an_event_known_by_key_or_twin_is_stored_once_whatever_file_tells_it(store):
    archive(store, event("a", twin="t"), event("b"))
    assert (
        archive(
            store, event("a", twin="t", session="copy"), event("a2", twin="t", session="copy"), event("d", session="copy"), path="g"
        )
        == 1
    )
    copy = [*store.archive.threads()][1]
    assert [each.key for each in store.archive.events(copy.id, 0, 9)] == ["a", "d"]


def test_reading_a_file_again_stores_nothing_and_lengthens_no_thread(store):
    archive(store, event("a"), event("b"))
    assert archive(store, event("a"), event("b"), event("c"), offset=20) == 1
    (thread,) = store.archive.threads()
    assert thread.events == 3


def test_accounts_add_up_over_slices_and_start_over_for_a_rewritten_file(store):
    archive(store, event("a"))
    archive(store, event("b"), offset=20, anew=False)
    assert next(store.archive.files()).account.records == 2
    archive(store, event("a"), offset=30, anew=True)
    assert next(store.archive.files()).account.records == 1


def test_a_name_is_found_whole_as_part_of_an_identifier_or_path_and_in_cjk(store):
    archive(store, event("a", text="the getUserName function in src/app/main.py was renamed"), event("b", text="数据库连接失败"))
    for name in ("user", "getUserName", "main.py", "src/app/main.py", "app/main.py", "连接"):
        assert [mention.at for mention in store.archive.find_mentions(name, DAWN)] == [AT], name
    for name in ("getName", "app/other.py", "...", ""):
        assert store.archive.find_mentions(name, DAWN) == (), name
    assert store.archive.find_mentions("user", AT) == ()


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
    assert store.find_damage() == ()


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


def test_what_a_model_proposes_stands_beside_what_rules_propose_and_each_replaces_its_own(store):
    archive(store, event("a"))
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")),)))
    first = commit(store, stage="model", span=Span(thread=1, start=0, judged=((0, judged("m1")),)))
    assert [each.judged.candidate.id for each in store.log.thread_proposals(1, 0)] == ["c1"]
    assert [each.judged.candidate.id for each in store.log.thread_proposals(1, 0, "model")] == ["m1"]
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c2")),)))
    second = commit(store, stage="model", span=Span(thread=1, start=0, judged=((0, judged("m2")),)))
    assert {each.judged.candidate.id for each in store.log.proposals("coding", "user")} == {"c2", "m2"}
    commit(store, stage="undo", undoes=(second.id,))
    assert {each.judged.candidate.id for each in store.log.proposals("coding", "user")} == {"c2", "m1"}
    commit(store, stage="undo", undoes=(first.id,))
    assert {each.judged.candidate.id for each in store.log.proposals("coding", "user")} == {"c2"}
    store.log.rebuild()
    assert {each.judged.candidate.id for each in store.log.proposals("coding", "user")} == {"c2"}
    assert store.find_damage() == ()


def test_a_thread_waits_for_a_model_until_all_its_events_were_read(store):
    archive(store, event("a"), event("b"))
    ((thread, closed),) = store.archive.list_threads_pending_llm()
    assert (thread, closed) == (next(store.archive.threads()), 0)
    assert store.archive.count() == ArchiveCounts(files=1, threads=1, pending=1, pending_llm=1)
    store.archive.save_llm_progress(thread.id, closed=1, seen=2)
    assert store.archive.list_threads_pending_llm() == ()
    store.archive.save_extraction_progress(thread.id, extracted=1, seen=2)
    assert store.archive.count() == ArchiveCounts(files=1, threads=1, pending=0, pending_llm=0)
    archive(store, event("c"), offset=20, anew=False)
    assert [closed for _, closed in store.archive.list_threads_pending_llm()] == [1]


def test_what_changed_since_a_model_read_it_was_not_read(store):
    archive(store, event("a"), event("b"), event("c"))
    for change in (
        lambda: store.archive.mark_abandoned(1, [(1, True)]),
        lambda: store.archive.opt_out("s", "f"),
    ):
        store.archive.save_llm_progress(1, closed=2, seen=3)
        assert store.archive.list_threads_pending_llm() == ()
        change()
        assert [closed for _, closed in store.archive.list_threads_pending_llm()] == [0]


def test_candidates_of_undone_curation_are_blocked(store):
    made = commit(store, add("m1"))
    commit(store, stage="undo", undoes=(made.id,))
    assert store.log.blocked_candidates() == {"c-m1"}


def test_a_group_is_dirty_until_it_is_curated(store):
    archive(store, event("a"))
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")),)))
    assert store.log.groups_to_curate() == (("coding", "user"),)
    store.log.mark_group_curated("coding", "user")
    assert store.log.groups_to_curate() == ()


def test_refused_candidates_are_listed(store):
    archive(store, event("a"))
    commit(
        store,
        stage="extract",
        span=Span(thread=1, start=0, judged=((0, judged("c1")), (0, judged("c2", Refused(reason="chatter"))))),
    )
    assert [each.judged.candidate.id for each in store.log.refused()] == ["c2"]


def test_a_trial_leaves_no_trace(store):
    with store.trial_transaction():
        commit(store, add("m1"))
        assert store.log.memory("m1")
    assert store.log.memory("m1") is None
    assert store.log.runs() == ()


def test_a_failure_inside_a_transaction_takes_everything_back(store):
    def fail():
        with store.transaction():
            commit(store, add("m1"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert store.log.memories() == ()


@settings(max_examples=12)
@given(data=st.data())
def test_any_history_of_operations_undos_and_redos_agrees_with_its_fold(tmp_path_factory, opened, data):
    make_history(opened("sqlite", tmp_path_factory.mktemp("s") / "kept.db"), data)


@settings(max_examples=2)  # a replica folds as the store does that it is: this proves that the server's rows agree with it
@given(data=st.data())
def test_any_history_on_a_server_agrees_with_its_fold(tmp_path_factory, opened, data):
    make_history(opened("postgres", tmp_path_factory.mktemp("s") / "kept.db"), data)


def make_history(store, data) -> None:
    with store as found:
        passes: list[int] = []
        for step in range(data.draw(st.integers(1, 8))):
            what = data.draw(st.sampled_from(("add", "retire", "pin", "supersede", "undo", "redo")))
            ids = [each.id for each in found.log.memories()]
            if what == "add" or not ids:
                passes.append(commit(found, add(f"m{step}")).id)
            elif what in ("undo", "redo"):
                chosen = (data.draw(st.sampled_from(passes)),)
                commit(found, stage=what, **{"undoes" if what == "undo" else "redoes": chosen})
            else:
                number = data.draw(st.sampled_from(ids))
                commit_one(found, what, number, data.draw(st.sampled_from(ids)), passes)
            assert {each.id: each for each in found.log.memories()} == fold(found.log.passes())
        assert found.find_damage() == ()


def commit_one(store: SqliteStore, what: str, number: str, other: str, passes: list[int]) -> None:
    operations = {
        "retire": Retire(memory=number, at=AT, reason="x"),
        "pin": Pin(memory=number, at=AT, reason="x"),
        "supersede": Supersede(memory=number, at=AT, reason="x", by=other),
    }
    try:
        passes.append(commit(store, operations[what]).id)
    except StoreError:
        assert what == "supersede"  # itself, or in a circle


def test_keys_are_made_once_and_differ(store):
    assert store.key("forget") == store.key("forget")
    assert store.key("forget") != store.key("redaction")
    assert len(store.key("forget")) == 32


def test_an_output_is_what_was_written_and_after_it_what_is_being_written(store):
    before, after = (Output(hash=each, lines=(Line(key="m1", text=each),)) for each in ("one", "two"))
    store.save_output("/f", before)
    store.save_pending_output("/f", after)
    assert store.output_states("/f") == (before, after)
    store.save_output("/f", after)
    assert store.output_states("/f") == (after,)
    assert store.outputs() == ("/f",)
    store.drop_output("/f")
    assert store.outputs() == ()


def test_what_happened_to_a_memory_includes_what_others_did_to_it(store):
    commit(store, add("m1"), add("m2"), add("m3"))
    commit(store, Pin(memory="m3", at=AT, reason="x"))
    commit(store, Supersede(memory="m1", at=AT, reason="x", by="m2"))
    assert [type(each).__name__ for _, each in store.log.operations_on("m2")] == ["Add", "Supersede"]
    assert [made.id for made, _ in store.log.operations_on("m2")] == [1, 3]


def test_related_passes_are_those_of_everything_a_pass_is_tied_to_and_of_nothing_else(store):
    for number in ("m1", "m2", "m3"):
        commit(store, add(number))
    commit(store, Supersede(memory="m1", at=AT, reason="x", by="m2"))
    commit(store, Pin(memory="m3", at=AT, reason="x"))
    assert [each.id for each in store.log.related_passes([1])] == [1, 2, 4]
    assert [each.id for each in store.log.related_passes([5])] == [3, 5]


def test_an_undo_changes_what_is_tied_to_it_and_leaves_the_rest(store):
    first = commit(store, add("m1"))
    commit(store, add("m2"))
    commit(store, Supersede(memory="m2", at=AT, reason="x", by="m1"))
    commit(store, stage="undo", undoes=(first.id,))
    assert store.log.memory("m1") is None
    assert store.log.memory("m2").status is Status.SUPERSEDED
    assert store.find_damage() == ()


def test_memories_are_counted_by_status_at_a_moment_profile_and_category(store):
    past = Add(memory="m2", at=AT, reason="new", value=replace(memory("m2"), valid_until=AT))
    commit(store, add("m1"), past, add("m3"), Retire(memory="m3", at=AT, reason="x"))
    counts = store.log.count_memories(NOW)
    assert counts == {(each, "coding", "decision"): 1 for each in (Status.ACTIVE, Status.EXPIRED, Status.RETIRED)}
    assert store.log.memory_ids() == {"m1", "m2", "m3"}


def test_memories_of_a_span_of_time_were_seen_in_it_or_on_both_sides_of_it(store):
    later = AT + timedelta(days=9)
    wide = Add(memory="m2", at=AT, reason="new", value=replace(memory("m2"), last_seen=later))
    undated = Add(memory="m3", at=None, reason="new", value=replace(memory("m3"), first_seen=None, last_seen=None))
    commit(store, add("m1"), wide, undated)
    assert [each.id for each in store.log.memories_between(AT, later)] == ["m1", "m2"]
    assert [each.id for each in store.log.memories_between(AT + timedelta(days=1), later)] == ["m2"]
    assert store.log.memories_between(AT - timedelta(days=1), AT) == ()


def test_memories_are_found_by_any_of_the_words_the_better_match_first(store):
    commit(store, add("m1", "use uv for locking"), add("m2", "use pip"), add("m3", "deploy on Tuesdays"))
    assert next(each.id for each, _ in store.log.search(("uv", "locking", "pip"), 5)) == "m1"
    assert {each.id for each, _ in store.log.search(("uv", "pip"), 5)} == {"m1", "m2"}
    assert store.log.search((), 5) == ()
    assert store.log.search(('"', "NEAR("), 5) == ()


def test_ids_are_found_by_their_beginning(store):
    commit(store, add("aa01"), add("aa02"), add("ab01"))
    assert store.log.memory_ids_with_prefix("aa") == ("aa01", "aa02")


def test_what_is_forgotten_is_nowhere_and_the_gaps_are_explained(store):
    archive(store, event("a", text="we always use xylophone quartz here"))
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")),)))
    commit(store, add("m1", "use xylophone quartz"))
    store.key("forget")
    made = commit(store, Forget(memory="m1", at=AT, reason="x", fingerprints=("f1",), candidates=("c1",)))
    store.log.erase_memory("m1", ("c1",), ("f1",), made)
    assert store.archive.erase_words(ErasureWords(sentences=(), cited=(("a", "use xylophone quartz"),)))
    store.compact()
    assert "xylophone" not in repr(list(store.export_rows()))
    assert store.archive.find_mentions("xylophone", DAWN) == ()
    assert store.log.search(("quartz",), 5) == ()
    assert store.log.all_judged_candidates() == ()
    assert store.log.forgotten_fingerprints() == {"f1"}
    assert store.find_damage() == ()


SENTENCE = "Never deploy the harbour service on Fridays, the tide crew is away."


def test_words_are_taken_out_of_events_rows_and_reports_and_the_hashes_hold(store):
    archive(store, event("a", text="ok, **NEVER deploy** the harbour service on\nfridays then"), event("b", text="nothing of it"))
    evidence = replace(judged("c1").candidate.evidence[0], quote=SENTENCE)
    proposal = judged("c1")
    proposal = replace(proposal, candidate=replace(proposal.candidate, evidence=(evidence,)))
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, proposal),)))
    made = commit(store, add("m1", "Deploy on Mondays."), Retire(memory="m1", at=AT, reason=f"because {SENTENCE}"), note=SENTENCE)
    store.log.end_run(made.run, NOW, {"problems": [SENTENCE]})
    words = ErasureWords(sentences=(SENTENCE,))
    assert [found.key for found in store.archive.events_with_words(words)] == ["a"]
    assert {name for name, text in store.log.stored_texts() if words.is_in_text(text)} == {
        "proposal c1",
        "the history of memory m1",
        f"pass {made.id}",
        f"the report of run {made.run}",
    }
    assert store.archive.erase_words(words) == {"a"}
    assert store.log.erase_words(words) == 3
    assert store.archive.event("a").text == f"ok, **{FORGOTTEN_MARK} then"
    assert store.log.memory("m1").reason == f"because {FORGOTTEN_MARK}."
    assert not words.is_in_text(repr(list(store.export_rows())))
    assert store.archive.find_mentions("fridays", DAWN) == ()
    assert store.find_damage() == ()
    assert (store.archive.erase_words(words), store.log.erase_words(words)) == (frozenset(), 0)


def test_words_in_the_name_of_a_branch_are_taken_out_of_its_events(store):
    archive(store, replace(event("a"), branch="feat/zanzibar-quokka-deal"))
    assert store.archive.erase_words(ErasureWords(sentences=("zanzibar quokka",))) == {"a"}
    assert store.archive.event("a").branch == ""
    assert store.find_damage() == ()


def test_words_that_an_event_does_not_say_are_damage_unless_they_were_imported(store):
    archive(store, event("a", text="what was said"))
    quotes = [
        Evidence(quote=quote, event=key, session="s", path="f", at=AT, author="human", origin=Origin.USER)
        for quote, key in (("was said", "a"), ("never said", "a"), ("lost", "b"))
    ]
    for number, quote in enumerate(quotes):
        commit(store, Add(memory=f"m{number}", at=AT, reason="new", value=replace(memory(f"m{number}"), evidence=(quote,))))
    value = replace(memory("m9"), evidence=tuple(quotes), trigger=IMPORTED)
    commit(store, Add(memory="m9", at=AT, reason="new", value=value))
    assert [each.split(":")[0] for each in store.find_damage()] == ["memory m1", "memory m2"]


def filled(store: SqliteStore) -> None:
    """A store with some of everything."""
    store.key("forget")
    archive(store, event("a", twin="t"), event("b", at=None), event("c", session="other", text="what was said"))
    archive(store, event("a2", twin="t", session="copy"), path="g")
    store.archive.mark_abandoned(1, [(1, True)])
    store.archive.save_llm_progress(1, closed=1, seen=2)
    store.archive.save_extraction_progress(1, extracted=1, seen=2)
    run = commit(
        store, stage="extract", span=Span(thread=1, start=0, judged=((0, judged("c1")), (1, judged("c2", Refused(reason="no")))))
    ).run
    store.log.end_run(run, NOW, {"accepted": 1})
    commit(store, stage="extract", span=Span(thread=1, start=1, judged=((1, judged("c3")),)))
    made = commit(store, add("m1"), add("m2"), add("m3", "another"))
    facts = Merge(memory="m1", at=AT, reason="x", losers=("m2",), facts=to_facts(memory("m1")))
    commit(store, facts)
    commit(store, stage="undo", undoes=(made.id,))
    commit(store, stage="redo", redoes=(made.id,))
    store.key("forget")
    forget = commit(store, Forget(memory="m3", at=AT, reason="x", fingerprints=("f1",), candidates=("c3",)))
    store.log.erase_memory("m3", ("c3",), ("f1",), forget)
    store.archive.erase_words(ErasureWords(sentences=(), cited=(("a", "words"),)))


@pytest.mark.parametrize("into", ["sqlite", "postgres"])
def test_a_store_written_out_and_loaded_is_the_same_store(store, tmp_path, opened, into):
    filled(store)
    assert store.find_damage() == ()
    with opened(into, tmp_path / "second.db") as second:
        second.load_rows(store.export_rows())
        assert list(second.export_rows()) == list(store.export_rows())
        assert second.log.memories() == store.log.memories()
        assert second.log.proposals("coding", "user") == store.log.proposals("coding", "user")
        assert [replace(each, id=0) for each in second.archive.threads()] == [
            replace(each, id=0) for each in store.archive.threads()
        ]
        assert second.key("forget") == store.key("forget")
        assert second.find_damage() == ()
        assert commit(second, add("m9")).id == commit(store, add("m9")).id
        assert archive(second, event("a3", twin="t"), path="h") == 0  # still known, though its words were forgotten


def test_a_store_that_holds_something_loads_nothing(store):
    filled(store)
    rows = list(store.export_rows())
    with pytest.raises(UsageError, match="already"):
        store.load_rows(rows)
    assert list(store.export_rows()) == rows


@pytest.mark.parametrize("into", ["sqlite"])  # whether rows are whole is seen before any of them leaves the machine
def test_rows_that_were_tampered_with_are_not_loaded(store, tmp_path, opened, into):
    filled(store)
    rows = list(store.export_rows())
    with opened(into, tmp_path / "second.db") as second:
        for number, row in enumerate(rows):
            if type(row).__name__ in ("OperationRow", "CandidateRow", "PassRow", "EventRow"):
                with pytest.raises(DamagedError, match="nothing was changed"):
                    second.load_rows([*rows[:number], *rows[number + 1 :]])
                assert not list(second.log.passes())
                assert not [*second.archive.files()]


def test_a_copy_opens_as_a_store_and_holds_the_same(store, tmp_path):
    filled(store)
    store.copy_to(tmp_path / "deep" / "copy.db")
    with SqliteStore(tmp_path / "deep" / "copy.db") as copy:
        assert list(copy.export_rows()) == list(store.export_rows())
    assert (tmp_path / "deep" / "copy.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError):
        store.copy_to(tmp_path / "deep" / "copy.db")


def test_notes_of_a_thread_are_kept_by_day_and_made_again_where_its_words_are_erased(store):
    archive(store, event("a"), event("b"))
    note = WorkNote(ordinal=1, event="b", at=AT, asked="mend the parser")
    assert store.days.list_threads_without_notes() == ((1, 0),)
    store.days.save_notes(1, 0, [(replace(note, ordinal=0, event="a"), "one"), (note, "two")], 2)
    store.days.save_notes(1, 1, [(note, "three")], 2)
    assert store.days.list_threads_without_notes() == ()
    assert [each.note.event for each in store.days.notes_between(AT, AT + timedelta(hours=1))] == ["a", "b"]
    assert store.days.notes_between(AT + timedelta(hours=1), NOW) == ()
    store.days.drop_notes(events={"b"})
    assert store.days.list_threads_without_notes() == ((1, 0),)
    assert store.days.notes_between(AT, NOW) == ()


def test_a_look_at_a_file_holds_until_something_of_it_is_archived(store):
    archive(store, event("a"))
    (file,) = store.archive.files()
    assert store.archive.stat_cache_entry(file.path) is None
    store.archive.save_stat_cache_entry(file.source, file.path, "as it was")
    assert store.archive.stat_cache_entry(file.path) == (file.source, "as it was")
    archive(store, event("b"))
    assert store.archive.stat_cache_entry(file.path) is None


def test_threads_come_by_number_in_the_order_asked_for(store):
    archive(store, event("a"), event("b", session="other"))
    first, second = sorted(store.archive.threads(), key=lambda each: each.id)
    assert list(store.archive.threads_by_id([second.id, first.id])) == [second, first]


def passage(number, form=PassageForm.LINE, **changes):
    made = Passage(id=number, form=form, kind="decisions", text=f"text {number}", at=AT, events=("a",), sessions=("s",))
    return replace(made, **changes)


def test_points_of_a_thread_lines_of_a_day_and_a_persons_words_stand_beside_each_other(store):
    archive(store, event("a"), event("b"))
    day, next_day = AT.date(), AT.date() + timedelta(days=1)
    first, second = passage("a1", PassageForm.POINT, thread=1), passage("a2", PassageForm.POINT, thread=1, ordinal=1)
    store.days.save_points(1, 0, 2, [first, second])
    store.days.save_points(1, 1, 2, [passage("a3", PassageForm.POINT, thread=1, ordinal=1)])
    assert [(each.passage.id, each.session, each.path) for each in store.days.points_between(AT, NOW)] == [
        ("a1", "s", "f"),
        ("a3", "s", "f"),
    ]
    store.days.save_day_lines(day, "p", [passage("b1", day=day, scope="p"), passage("b2", day=day, scope="p", ordinal=1)])
    store.days.save_passage(passage("c1", PassageForm.OWN, day=day, scope="p", instead="b2", events=("b",)))
    store.days.save_day_lines(day, "p", [passage("b3", day=day, scope="p")])
    assert {each.id for each in store.days.passages_of_days(day, next_day)} == {"b3", "c1"}
    assert store.days.passages_of_days(next_day, next_day) == ()
    store.days.clear_notes()
    assert {each.id for each in store.days.passages()} == {"a1", "a3", "b3", "c1"}
    store.days.drop_notes(events={"a"})
    assert [each.id for each in store.days.passages()] == ["c1"]
    store.days.erase_passages(["c1"])
    assert store.days.passages() == ()
    assert store.find_damage() == ()


def test_the_threads_of_a_project_come_by_when_they_ended_and_by_when_they_began(store):
    for number, (name, project) in enumerate((("a", "/x"), ("b", "/x"), ("c", "/y"), ("d", "/x"), ("e", ""))):
        began = AT + timedelta(hours=number)
        archive(
            store,
            event(name, session=name, project=project, at=began),
            event(f"{name}2", session=name, at=began + timedelta(minutes=5)),
            path=name,
        )
    ended = store.archive.threads_ended_between(["/x"], AT, AT + timedelta(hours=3), 2)
    assert [each.session for each in ended] == ["b", "a"]
    assert [each.session for each in store.archive.threads_ended_between(["/x", "/y"], AT, AT + timedelta(hours=9), 2)] == [
        "d",
        "c",
    ]
    assert [each.session for each in store.archive.threads_started_between(["/x"], AT, AT + timedelta(hours=3))] == ["b", "d"]
    assert list(store.archive.threads_started_between(["/z"], AT, AT + timedelta(hours=9))) == []


LONG = (
    "Before a release the change log is read aloud " * 3 + "and every entry of it is checked against the list of merged requests."
)


def test_a_long_passage_that_comes_again_in_another_session_is_told_with_both_and_the_first_waits_again(store):
    archive(store, event("a", text=f"look:\n{LONG}\nwhy?"))
    (thread,) = store.archive.threads()
    store.archive.save_extraction_progress(thread.id, extracted=1, seen=1)
    assert [*store.archive.threads(pending=True)] == []
    archive(store, event("b", session="t", text=f"again: \n{LONG.upper()}", at=AT + timedelta(days=1)), path="g")
    assert [each.session for each in store.archive.threads(pending=True)] == ["s", "t"]
    first, second = (store.archive.event(key) for key in "ab")
    assert first.repeated == second.repeated != ()
    assert store.archive.events(thread.id, 0, 1) == (first,)


def test_words_that_came_once_in_a_copy_or_in_short_are_not_told_as_repeated(store):
    archive(store, event("a", text=LONG), event("b", text=f"{LONG}\nwe squash", at=AT + timedelta(days=1)))
    archive(
        store,
        event("c", session="t", text=LONG, at=AT + timedelta(seconds=30)),
        event("d", session="t", text="we squash"),
        path="g",
    )
    assert [store.archive.event(key).repeated for key in "acd"] == [(), store.archive.event("b").repeated, ()]


def test_a_passage_that_is_erased_in_one_session_is_no_longer_repeated_in_the_other(store):
    archive(store, event("a", text=LONG))
    archive(store, event("b", session="t", text=LONG, at=AT + timedelta(days=1)), path="g")
    assert store.archive.event("b").repeated
    store.archive.erase_words(ErasureWords(sentences=(), cited=(("a", LONG),)))
    assert store.archive.event("b").repeated == ()
    assert not store.find_damage()
