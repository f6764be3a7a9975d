"""What the log and the archive store, read back and take back, in one store here."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from kept.core.erasure import ErasureWords
from kept.core.errors import DamagedError
from kept.core.event import NOTED, Author, Cursor, EventKind, Origin, RecordAccount, ToolUse
from kept.core.memory import Actor, Evidence, Refused
from kept.core.operation import Add, Forget, Reaffirm, Retire, Revise, to_facts
from kept.core.project import Project
from kept.store.check import check_fingerprints, check_quotes, citations, fingerprints_of
from kept.store.log import Log
from kept.store.packing import block_hash, pack
from kept.store.sqlite import SqliteStore
from kept.store.values import FingerprintRow, OperationRow, Span
from store_world import AT, DAWN, NOW, add, archive, commit, event, judged, memory

SECRET = "hunter2"


@pytest.fixture
def store(tmp_path):
    with SqliteStore(
        tmp_path / "kept.db", redact=lambda text, key: text.replace(SECRET, "[secret]" if len(key) == 32 else key.hex())
    ) as opened:
        yield opened


def spanned(store, *numbers, start=0, scope="user", **changes):
    placed = []
    for place, number in enumerate(numbers, start):
        one = judged(number)
        placed.append((place, replace(one, candidate=replace(one.candidate, scope=scope))))
    return commit(store, stage="extract", span=Span(thread=1, start=start, judged=tuple(placed)), **changes)


def test_no_row_holds_a_secret_and_files_with_one_in_their_path_are_found(store, tmp_path):
    path = f"/logs/{SECRET}/a.jsonl"
    cursor, account = Cursor(offset=3, carry=json.dumps({"open": SECRET})), RecordAccount(records=1, dropped={f"odd {SECRET}": 1})
    store.archive.add_slice("claude-code", path, [event("a")], account, cursor, anew=True)
    store.archive.save_project(Project(directory=f"/{SECRET}", identity=f"git:{SECRET}", name=SECRET, scope="project:x"))
    run = store.log.start_run(f"run {SECRET}", NOW)
    made = commit(store, add("m1", f"use {SECRET}"), run=run, subject=SECRET, note=SECRET)
    store.log.end_run(run, NOW, {SECRET: [SECRET]})
    store.archive.save_stat_cache_entry("claude-code", path, "stamp")
    assert store.archive.cursor("claude-code", path).offset == 3
    assert store.archive.stat_cache_entry(path) == ("claude-code", "stamp")
    assert [each.session for each in store.archive.threads(path=path)] == ["s"]
    assert [*store.archive.threads(path="/logs")] == []
    assert store.archive.project(f"/{SECRET}").name == "[secret]"
    store.archive.opt_out(f"s {SECRET}", path)
    assert SECRET not in repr([*store.export_rows(), made, *store.log.runs()])
    assert "[secret]" in store.log.memory("m1").content
    store.archive.save_stat_cache_entry("claude-code", path, "stamp")
    store.archive.add_slice("claude-code", path, [event("b")], account, cursor, anew=False)
    assert store.archive.stat_cache_entry(path) is None
    assert next(store.archive.files()).account.records == 2
    assert store.find_damage() == ()
    assert SECRET.encode() not in (tmp_path / "kept.db").read_bytes()


def test_what_a_machine_says_of_archived_words_is_stored_as_it_is(store):
    commit(store, add("m1", SECRET), actor=Actor.MACHINE)
    assert store.log.memory("m1").content == SECRET


def test_runs_are_told_the_newest_first_all_or_those_of_a_command(store):
    first, second, third = (store.log.start_run(command, NOW) for command in ("run", "undo", "run"))
    store.log.end_run(second, NOW + timedelta(hours=1), {"accepted": 1})
    assert [each.id for each in store.log.runs()] == [third, second, first]
    assert [each.id for each in store.log.runs(2)] == [third, second]
    assert [each.id for each in store.log.runs(command="run")] == [third, first]
    assert [each.id for each in store.log.runs(1, command="run")] == [third]
    (undone,) = store.log.runs(command="undo")
    assert (undone.started_at, undone.ended_at, undone.report) == (NOW, NOW + timedelta(hours=1), {"accepted": 1})
    assert (store.log.runs(1)[0].ended_at, store.log.runs(1)[0].report) == (None, {})


@pytest.mark.parametrize(
    "lost",
    [
        "UPDATE passes SET hash = 'z' || substr(hash, 2)",
        "UPDATE operations SET commitment = 'z'",
        "DELETE FROM sealed WHERE owner LIKE 'o%'",
        "DELETE FROM candidates WHERE id = 'c2'",
        "UPDATE candidates SET verdict = '{}' WHERE id = 'c1'",
        "DELETE FROM sealed WHERE owner LIKE 'c%'",
    ],
)
def test_a_pass_of_which_the_disk_kept_a_part_is_not_told_as_done(store, monkeypatch, lost):
    archive(store, event("a"))
    append = Log._append
    monkeypatch.setattr(Log, "_append", lambda log, rows: (append(log, rows), store._database.execute_sql(lost)))
    span = Span(thread=1, start=0, judged=((0, judged("c1")), (1, judged("c2"))))
    with pytest.raises(DamagedError, match="cannot be read back"):
        commit(store, add("m1"), stage="extract", span=span)


@pytest.mark.parametrize(
    "write",
    [
        lambda store: archive(store, event("b")),
        lambda store: store.archive.erase_words(ErasureWords(sentences=(), cited=(("a", "the first words"),))),
    ],
)
def test_a_block_of_which_the_disk_kept_a_part_is_not_told_as_done(store, monkeypatch, write):
    run = store._database.run

    def lose(name, /, **values):
        done = run(name, **values)
        if name in ("add_block", "put_block"):
            run(name.replace("add", "put"), **values | {"hash": "z"})
        return done

    archive(store, event("a", text="the first words"))
    monkeypatch.setattr(store._database, "run", lose)
    with pytest.raises(DamagedError, match="cannot be read back"):
        write(store)


def test_two_readings_of_one_span_in_one_transaction_are_both_there_and_the_last_one_counts(store):
    archive(store, event("a"))
    with store.transaction():
        spanned(store, "c1")
        spanned(store, "c2")
    assert [each.judged.candidate.id for each in store.log.proposals("coding", "user")] == ["c2"]
    assert [each.candidate.id for each in store.log.all_judged_candidates()] == ["c1", "c2"]
    assert store.find_damage() == ()


def test_a_group_that_loses_a_proposal_waits_for_curation_and_one_whose_spans_are_earlier_does_not(store):
    archive(store, event("a"))
    spanned(store, "c1", scope="project:x")
    spanned(store, "c2", start=4, scope="project:y")
    for scope in ("project:x", "project:y"):
        store.log.mark_group_curated("coding", scope)
    spanned(store, "c3", start=4, scope="project:z")
    assert store.log.groups_to_curate() == (("coding", "project:y"), ("coding", "project:z"))


def test_proposals_of_a_thread_are_those_between_two_places(store):
    archive(store, event("a"))
    spanned(store, "c0", "c1", "c2", "c3")
    for start, stop, expected in ((0, None, "0123"), (1, None, "123"), (1, 3, "12"), (0, 0, "")):
        found = store.log.thread_proposals(1, start, stop=stop)
        assert [each.judged.candidate.id for each in found] == [f"c{number}" for number in expected]
    assert [each.judged.candidate.id for each in store.log.proposals_with("coding", "user", ["c3", "c1", "c9"])] == ["c1", "c3"]


def test_refused_proposals_are_told_by_their_reason(store):
    archive(store, event("a"))
    refused = [(0, judged("c1", Refused(reason="chatter"))), (1, judged("c2", Refused(reason="chat"))), (2, judged("c3"))]
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=tuple(refused)))
    for reason, expected in (("", ["c1", "c2"]), ("chatter", ["c1"]), ("chat", ["c2"]), ("cha", [])):
        assert [each.judged.candidate.id for each in store.log.refused(reason)] == expected


def test_what_an_undo_shuts_out_may_come_again_from_what_stands_or_from_another_model(store):
    archive(store, event("a"))
    rest = replace(memory("m2"), candidates=("c2", "c9"))
    first = commit(store, Add(memory="m1", at=AT, reason="new", value=replace(memory("m1"), candidates=("c1", "c2", "c3"))))
    commit(store, Add(memory="m2", at=AT, reason="new", value=rest))
    assert store.log.blocked_candidates() == frozenset()
    spanned(store, "c1", note="model a, prompt 1")
    commit(store, stage="undo", undoes=(first.id,))
    assert store.log.blocked_candidates() == {"c1", "c3"}
    spanned(store, "c1", "c3", note="model a, prompt 2")
    assert store.log.blocked_candidates() == {"c1"}
    other = commit(store, add("m4"))
    commit(store, stage="undo", undoes=(other.id,))
    commit(store, stage="redo", redoes=(other.id,))
    assert store.log.blocked_candidates() == {"c1", "c3"}
    commit(store, stage="redo", redoes=(first.id,))
    assert store.log.blocked_candidates() == frozenset()


def test_words_of_a_memory_that_was_forgotten_before_a_crash_are_erased_at_the_next_opening(store, tmp_path):
    commit(store, add("m1", "use xylophone quartz"))
    store.key("forget")
    made = commit(store, Forget(memory="m1", at=AT, reason="x", fingerprints=("f1",)))
    store.log.erase_memory("m1", (), ("f1",), made)
    assert b"xylophon" in (tmp_path / "kept.db").read_bytes()
    with SqliteStore(tmp_path / "kept.db") as again:
        assert again.find_damage() == ()
    assert b"xylophon" not in (tmp_path / "kept.db").read_bytes()


WORDS = ErasureWords(sentences=("the vault code of the lighthouse is under the mat",))


@pytest.mark.parametrize(
    ("where", "rows"), [("report", 1), ("note", 0), ("reason", 1), ("nowhere", 0), ("content", 1), ("carry", 0), ("session", 0)]
)
def test_words_are_erased_wherever_they_stand_and_at_the_next_opening_from_every_byte(store, tmp_path, where, rows):
    said = WORDS.sentences[0]
    carry = json.dumps({"open": said if where == "carry" else "x"})
    store.archive.add_slice("claude-code", "f", [event("a")], RecordAccount(records=1), Cursor(carry=carry), anew=True)
    if where == "session":
        archive(store, event("b", session="t", text=said), path="g")
    made = commit(
        store,
        add("m1", said if where == "content" else "other"),
        Retire(memory="m1", at=AT, reason=said if where == "reason" else "no"),
        note=said if where == "note" else "",
    )
    store.log.end_run(made.run, NOW, {"problems": [said if where == "report" else "none"]})
    store.log.start_run("run", NOW)
    assert store.log.erase_words(WORDS) == rows
    assert store.archive.erase_words(WORDS) == ({"b"} if where == "session" else frozenset())
    assert store.log.erase_words(WORDS) == 0
    assert not [label for label, text in store.log.stored_texts() if WORDS.is_in_text(text)]
    assert not WORDS.is_in_text(store.archive.cursor("claude-code", "f").carry)
    assert store.find_damage() == ()
    waits = store._database.fetch_one("setting", name="erasing") is not None
    assert waits is (where != "nowhere")
    with SqliteStore(tmp_path / "kept.db") as again:
        assert again.find_damage() == ()
    assert b"lighthouse" not in (tmp_path / "kept.db").read_bytes()


def test_the_texts_that_curation_compares_go_with_whatever_changes_the_history(store):
    def texts():
        return store._database.execute_sql("SELECT count(*) FROM texts").fetchone()[0]

    made = commit(store, add("m1", WORDS.sentences[0]))
    store.log.start_run("run", NOW)
    for change, left in (
        (lambda: commit(store, add("m2")), 1),
        (lambda: store.log.erase_memory("m9", (), (), made), 0),
        (lambda: commit(store, stage="undo", undoes=(made.id,)), 0),
        (lambda: commit(store, stage="redo", redoes=(made.id,)), 0),
        (store.log.rebuild, 0),
        (lambda: store.log.erase_words(WORDS), 0),
    ):
        store._database.execute_sql("DELETE FROM texts")
        store._database.execute_sql("INSERT INTO texts VALUES (1, 'coding', 'user', 'x', 'x', 'x')")
        change()
        assert texts() == left


def test_rows_that_are_spared_keep_their_words(store):
    archive(store, event("a"))
    commit(store, add("m1", WORDS.sentences[0]), add("m2", WORDS.sentences[0]))
    assert store.log.erase_words(WORDS, spared=("m1",)) == 1
    assert (store.log.memory("m1").content, store.log.memory("m2").content) == (WORDS.sentences[0], "[forgotten]")


def test_a_row_of_something_else_is_no_row_of_a_log(store):
    with pytest.raises(ValueError, match="no row of a log: Project"):
        store.log.load_row(Project(directory="", identity="", name="", scope=""))


def test_a_run_that_ended_without_a_report_travels(store, tmp_path):
    store.log.end_run(store.log.start_run("run", NOW), NOW, {})
    store.log.start_run("run", NOW)
    with SqliteStore(tmp_path / "other.db") as other:
        other.load_rows(store.export_rows())
        assert other.log.runs() == store.log.runs()


def test_fingerprints_are_those_of_the_log_and_each_difference_is_told():
    rows = [
        OperationRow(
            id=n,
            pass_id=n,
            memory="m",
            kind="forget",
            body=json.dumps({"fingerprints": names}),
            commitment="",
            salt=None,
            words=None,
        )
        for n, names in ((1, ["a", "b"]), (2, ["b", "c"]))
    ]
    assert fingerprints_of(rows) == {"a": 1, "b": 1, "c": 2}
    stored = [FingerprintRow(fingerprint=name, pass_id=number) for name, number in (("d", 4), ("c", 2), ("b", 2))]
    assert list(check_fingerprints(rows, stored)) == [
        "pass 1: the forgotten words may come back, because a fingerprint is missing",
        "a fingerprint of forgotten words (pass 2) is not the log's",
        "a fingerprint of forgotten words (pass 4) is not the log's",
    ]


def test_a_quote_is_of_an_event_whatever_its_spaces_and_also_of_a_tool_and_each_memory_is_told_once():
    said = event("a", text="what\nwas   said")
    assert list(check_quotes("a", said, [("m1", "was said"), ("m2", "never said")])) == [
        "memory m2: its words are not those of event a"
    ]
    by_tool = replace(said, text="what was sa", tool=ToolUse(name="run", target="id then", detail="what\nchanged"))
    cited = [("m1", "id then"), ("m2", "what changed"), ("m3", "said"), ("m4", "was sa id")]
    assert list(check_quotes("a", by_tool, cited)) == ["memory m3: its words are not those of event a"]
    assert list(check_quotes("a", replace(said, text="a [forgotten] b"), [("m1", "was said")])) == []
    assert list(check_quotes("k", None, [("m1", "one"), ("m1", "two"), ("m2", "x")])) == [
        "memory m1: cites event k, which is not in the archive",
        "memory m2: cites event k, which is not in the archive",
    ]


def test_citations_are_the_quotes_of_each_event_without_imported_ones():
    quotes = [
        Evidence(quote=quote, event=key, session="s", path="f", at=AT, author="human", origin=Origin.USER)
        for quote, key in (("one", "a"), ("two", "b"), ("three", "a"), ("four", ""))
    ]
    memories = [replace(memory(number), evidence=tuple(quotes[:size])) for number, size in (("m1", 4), ("m2", 1), ("m3", 2))]
    assert citations(memories, frozenset({"m3"})) == {"a": [("m1", "one"), ("m1", "three"), ("m2", "one")], "b": [("m1", "two")]}


# The archive


def test_how_far_a_file_was_read_is_not_served_damaged(store):
    archive(store, event("a"))
    assert store.archive.cursor("claude-code", "f") == Cursor(offset=10)
    assert store.archive.cursor("codex", "f") is None
    store._database.execute_sql("UPDATE files SET offset = 9")
    with pytest.raises(DamagedError, match=r"how far f was read is damaged .*→ restore a backup: kept restore FILE"):
        store.archive.cursor("claude-code", "f")


def test_stamps_of_a_folder_are_those_of_the_files_directly_in_it(store):
    for path in ("/a/one", "/a/two", "/a/b/three", "/a0", "/a.x", "/A/one"):
        store.archive.save_stat_cache_entry("codex", path, f"stamp of {path}")
    assert store.archive.stat_cache_below("/a") == {path: ("codex", f"stamp of {path}") for path in ("/a/one", "/a/two")}


def test_one_event_told_twice_in_a_slice_is_stored_once_and_has_one_place(store):
    events = [event("a", twin="t"), event("b", twin="t"), event("c"), event("c"), event("d", twin="u")]
    assert archive(store, *events) == 3
    assert [each.key for each in store.archive.events(1, 0, 9)] == ["a", "c", "d"]
    assert store.archive.known_keys(["a", "b", "c", "x"]) == {"a", "c"}
    assert next(store.archive.threads()).events == 3
    assert store.find_damage() == ()


def test_a_thread_lasts_from_its_first_event_to_its_last_whatever_their_order(store):
    hours = [timedelta(hours=number) for number in (2, 0, 3, 1)]
    events = [event(f"e{number}", at=AT + hour, project="") for number, hour in enumerate(hours)]
    archive(store, *events[:2], event("undated", at=None), project := event("named", at=AT + hours[0]))
    archive(store, *events[2:], offset=20, anew=False)
    (thread,) = store.archive.threads()
    assert (thread.first_at, thread.last_at, thread.events, thread.project) == (AT, AT + hours[2], 6, project.project)
    assert store.archive.count_undated_events() == 1
    assert list(store.archive.active_minutes()) == [AT + timedelta(hours=number) for number in range(4)]
    assert store.find_damage() == ()


def test_a_thread_gets_the_first_project_that_is_told_and_keeps_it(store):
    archive(store, event("a", project=""))
    assert next(store.archive.threads()).project == ""
    archive(store, event("b", project="/p"), offset=20, anew=False)
    archive(store, event("c", project="/q"), offset=30, anew=False)
    assert next(store.archive.threads()).project == "/p"


@pytest.mark.parametrize(("path", "threads"), [("/new/f", 1), ("/new/g", 2)])
def test_a_file_that_moved_to_another_folder_goes_on_in_its_thread(store, path, threads):
    archive(store, event("a"), path="/old/f")
    archive(store, event("a"), event("b"), path=path)
    assert len([*store.archive.threads()]) == threads
    assert [each.key for each in store.archive.events(threads, 0, 9)] == ["a", "b"]


def test_a_diary_in_another_folder_is_another_thread_although_its_entries_are_known(store):
    entry = replace(event("a"), label_reason=next(iter(sorted(NOTED))))
    archive(store, entry, path="/old/f")
    archive(store, entry, path="/new/f")
    assert sorted(each.path for each in store.archive.threads()) == ["/new/f", "/old/f"]


def test_prompts_and_replies_that_nearly_repeat_a_sentence_are_found_in_their_order(store):
    reply = replace(
        event("c", text="The lighthouse has its vault code under the mat."), kind=EventKind.RESPONSE, author=Author.ASSISTANT
    )
    archive(store, event("a", text="the code of the lighthouse vault lies under a mat"), event("b", text="the code is fine"), reply)
    assert [each.key for each in store.archive.events_with_similar_words(WORDS)] == ["a", "c"]


def test_what_a_rewind_replaced_is_labelled_and_no_longer_so_if_it_was_not(store):
    archive(store, event("a"), event("b"), event("c"))
    store.archive.mark_abandoned(1, [(1, True)])
    found = store.archive.events(1, 0, 9)
    assert [(each.key, each.author) for each in found] == [("a", Author.HUMAN), ("b", Author.ABANDONED), ("c", Author.HUMAN)]
    assert found[1].label_reason == "a later rewind replaced it"
    assert list(store.archive.tree(1)[1]) == [0, 1, 0]
    assert not store.archive.has_rewinds(1)
    store.archive.mark_abandoned(1, [(1, False)])
    assert store.archive.events(1, 1, 2)[0].author is Author.HUMAN
    assert store.find_damage() == ()


def test_a_marked_thread_with_links_may_have_rewinds(store):
    archive(store, event("a"), replace(event("b"), parent="a"))
    assert not store.archive.has_rewinds(1)
    store.archive.mark_abandoned(1, [(1, True)])
    assert store.archive.has_rewinds(1)


def test_events_around_one_are_those_before_and_after_it_in_its_thread(store):
    archive(store, *(event(key) for key in "abcdef"))
    for before, after, expected in ((0, 0, "c"), (1, 2, "bcde"), (9, 0, "abc")):
        assert "".join(each.key for each in store.archive.events_around("c", before, after)) == expected
    assert store.archive.events_around("x", 1, 1) == ()


def test_what_changes_is_embedded_again_and_prompts_of_a_person_are_at_first(store):
    reply = replace(event("b", text="an answer"), kind=EventKind.RESPONSE, author=Author.ASSISTANT)
    archive(store, event("a", text="the first words"), reply)
    waiting = "SELECT item FROM unembedded WHERE kind = 'turn' ORDER BY item"
    assert [row[0] for row in store._database.execute_sql(waiting)] == [1]
    store._database.execute_sql("DELETE FROM unembedded")
    store.archive.erase_words(ErasureWords(sentences=(), cited=(("a", "first"),)))
    assert [row[0] for row in store._database.execute_sql(waiting)] == [1]


def test_only_prompts_and_replies_of_the_person_or_the_assistant_are_found_by_their_words(store):
    base = event("a", text="zebra")
    told = [
        replace(base, key=f"{kind}-{author}", kind=kind, author=author, record=f"{kind}-{author}", session=f"{kind}{author}")
        for kind in (EventKind.PROMPT, EventKind.RESPONSE, EventKind.TOOL_OUTPUT)
        for author in (Author.HUMAN, Author.ASSISTANT, Author.ABANDONED)
    ]
    for number, each in enumerate(told):
        archive(store, each, path=f"f{number}")
    assert {found.path for found in store.archive.find_mentions("zebra", DAWN)} == {"f0", "f1", "f3", "f4"}
    assert store.find_damage() == ()


def test_a_row_of_an_event_without_a_place_in_its_block_is_damage(store):
    archive(store, event("a"))
    store._database.execute_sql("INSERT INTO events (id, at, voice) VALUES (7, NULL, 'ph')")
    assert "events 2 to 7: their archive block is missing" in store.find_damage()
    blocks = store.archive._blocks
    for read in (blocks.event, blocks.key, lambda number: list(blocks.slices([(number, 1)]))):
        with pytest.raises(DamagedError, match=r"archive block 1 has no place 6 \(.*kept.db\) → run `kept check`"):
            read(7)
    store._database.execute_sql("DELETE FROM blocks")
    with pytest.raises(DamagedError, match="archive block 1 is missing"):
        store.archive._blocks._load_block(bytes, 1)


@pytest.mark.parametrize("body", [b"", b"\0", pack([event("b", text="other words")])[0]])
def test_a_block_of_other_bytes_is_not_served_although_they_can_be_read(store, body):
    archive(store, event("a"))
    with closing(sqlite3.connect(store.path)) as raw, raw:
        raw.execute("UPDATE blocks SET body = ?", (body,))
    for read in (lambda: store.archive.event("a"), lambda: store.archive.events(1, 0, 1), lambda: store.archive.known_keys(["a"])):
        with pytest.raises(DamagedError, match=r"archive block 1 is damaged \(.*kept.db\) → run `kept check`"):
            read()


def test_what_has_no_words_or_is_not_indexed_is_no_damage_of_an_index(store):
    output = replace(event("b", text="zebra"), kind=EventKind.TOOL_OUTPUT)
    archive(store, event("a", text="!!! …"), output, replace(event("c", text="zebra"), author=Author.ABANDONED))
    assert store.find_damage() == ()


def test_a_block_that_was_written_damaged_is_not_served(store):
    archive(store, event("a"))
    with closing(sqlite3.connect(store.path)) as raw, raw:
        raw.execute("UPDATE blocks SET body = ?, hash = ?", (b"\0", block_hash(b"\0")))
    with pytest.raises(DamagedError, match="archive block 1 is damaged"):
        store.archive.event("a")


@pytest.mark.parametrize("body", ["x'00'", "NULL", "x'ff00ff'"])
def test_words_are_not_sought_in_a_damaged_block_without_a_word(store, body):
    archive(store, event("a"))
    store._database.execute_sql(f"UPDATE blocks SET body = coalesce({body}, 7)")
    with pytest.raises(DamagedError, match="archive block 1 is damaged"):
        list(store.archive.events_with_words(WORDS))


def test_an_index_is_made_anew_from_whole_blocks(store, monkeypatch):
    monkeypatch.setattr("kept.store.archive.turns.BLOCK_EVENTS", 1)
    reply = replace(event("b", text="an answer"), kind=EventKind.RESPONSE, author=Author.ASSISTANT)
    archive(store, event("a", text="the first words"), reply)
    before = {name: store.archive.find_mentions(name, DAWN) for name in ("first", "answer")}
    assert all(before.values())
    for table in ("marks", "passage_hashes", "unembedded"):
        store._database.execute_sql(f"DELETE FROM {table}")
    for table in ("turn_index", "reply_index"):
        store._database.execute_sql(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
    store.archive.reindex()
    assert {name: store.archive.find_mentions(name, DAWN) for name in before} == before
    assert store._database.execute_sql("SELECT count(*) FROM unembedded").fetchone()[0] == 1
    assert store.find_damage() == ()
    with closing(sqlite3.connect(store.path)) as raw, raw:
        raw.execute("UPDATE blocks SET body = x'00' WHERE id = 1")
    store.archive.reindex()
    assert not store.archive.find_mentions("first", DAWN)
    assert store.archive.find_mentions("answer", DAWN) == before["answer"]


def test_a_memory_that_an_earlier_version_left_with_an_undone_edit_is_mended_once(store):
    commit(store, add("m1", "words before the edit"))
    before = store.log.memory("m1")
    edited = replace(to_facts(before), content="words of the edit")
    commit(store, Revise(memory="m1", at=AT, reason="edited", facts=edited))
    commit(store, Reaffirm(memory="m1", at=AT, reason="seen again", facts=replace(edited, observations=2)))
    commit(store, add("m2"))
    commit(store, stage="undo", undoes=(2,))
    left = replace(store.log.memory("m1"), content="words of the edit")  # as the fold of that version has it
    with store.transaction():
        store.log._update_memories({"m1": left})
    assert store.find_damage() == ("memory m1: differs from the result of the log",)
    store.upgrade_memories()
    assert (store.log.memory("m1").content, store.log.memory("m1").observations) == ("words before the edit", 2)
    assert store.find_damage() == ()
    with store.transaction():
        store.log._update_memories({"m1": left})
    store.upgrade_memories()
    assert store.log.memory("m1") == left
