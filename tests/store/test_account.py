"""One account of every event, however many files tell it; projects and conversations that are not to be remembered."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kept.core.erasure import ErasureWords
from kept.core.event import FORGOTTEN_MARK, Author, EventKind, Pointer, Precision
from kept.core.project import Project
from kept.store.sqlite import SqliteStore
from store_world import AT, DAWN, NOW, archive, event


def at(one, path):
    return replace(one, pointer=Pointer(path=path, line=1, start=0, end=1))


def archived(store: SqliteStore, *events, path):
    return archive(store, *(at(each, path) for each in events), path=path)


def texts(store, thread):
    return [each.text for each in store.archive.events(thread, 0, 99)]


NATIVE = event("native-1", text="Use `uv sync`, never pip.", at=AT + timedelta(milliseconds=317), twin="t1")
COPY = event("copy-1", text="Use `uv sync`, never pip.\n", twin="t2")


@pytest.mark.parametrize("order", [(NATIVE, COPY), (COPY, NATIVE)])
def test_a_copy_without_fractions_of_a_second_is_the_same_event_whichever_is_read_first(store, order):
    assert archived(store, order[0], path="a") == 1
    assert archived(store, order[1], path="b") == 0
    assert [each.events for each in store.archive.threads()] == [1, 1]
    assert archived(store, order[1], path="b") == 0
    assert archived(store, order[0], path="a") == 0


def test_the_same_words_twice_in_a_second_of_one_file_are_two_events(store):
    twice = (NATIVE, replace(NATIVE, key="native-2", twin="t3", at=AT + timedelta(milliseconds=900)))
    assert archived(store, *twice, path="a") == 2
    assert archived(store, COPY, replace(COPY, key="copy-2", twin="t4"), path="b") == 0


@pytest.mark.parametrize(
    "other",
    [
        replace(COPY, session="another"),
        replace(COPY, text="Use pip."),
        replace(COPY, at=AT + timedelta(seconds=1)),
        replace(COPY, kind=EventKind.RESPONSE),
        replace(COPY, precision=Precision.INFERRED, twin=""),
    ],
)
def test_another_session_second_kind_or_text_is_another_event(store, other):
    archived(store, NATIVE, path="a")
    assert archived(store, other, path="b") == 1


@pytest.mark.parametrize("worse", [Precision.INFERRED, Precision.SESSION, Precision.NONE])
def test_the_more_precise_copy_of_an_event_wins_under_the_same_key(store, worse):
    undated = worse is Precision.NONE
    first = replace(NATIVE, twin="", precision=worse, at=None if undated else NOW, session="fork")
    archived(store, first, event("later", session="fork"), path="fork")
    store.archive.save_extraction_progress(1, extracted=2, seen=2)
    assert archived(store, NATIVE, path="parent") == 0
    found = store.archive.event("native-1")
    assert (found.at, found.precision, found.session) == (NATIVE.at, Precision.MESSAGE, "s")
    assert 1 in [each.id for each in store.archive.threads(pending=True)]
    assert next(store.archive.threads()).last_at == NATIVE.at or undated
    assert store.archive.find_mentions("sync", DAWN)
    assert store.find_damage() == ()


def test_a_less_precise_copy_changes_nothing(store):
    archived(store, NATIVE, path="parent")
    store.archive.save_extraction_progress(1, extracted=1, seen=1)
    archived(store, replace(NATIVE, twin="", precision=Precision.INFERRED, at=NOW), path="fork")
    assert store.archive.event("native-1").at == NATIVE.at
    assert 1 not in [each.id for each in store.archive.threads(pending=True)]


def test_a_copy_that_knows_its_place_in_the_tree_gives_it(store):
    archived(store, replace(COPY, record="", parent=""), path="a")
    archived(store, replace(NATIVE, parent="p"), path="b")
    assert store.archive.event("copy-1").parent == "p"
    assert store.archive.tree(1)[0].parent[0]


def test_what_was_forgotten_is_not_told_again_by_a_better_copy(store):
    archived(store, replace(NATIVE, twin="", precision=Precision.INFERRED), path="fork")
    store.archive.erase_words(ErasureWords(sentences=(), cited=(("native-1", "uv sync"),)))
    archived(store, NATIVE, path="parent")
    assert "uv sync" not in store.archive.event("native-1").text


def test_prompts_that_the_client_itself_marks_as_abandoned_are_still_prompts_of_a_person(store):
    archived(store, replace(NATIVE, author=Author.ABANDONED), path="a")
    assert store.archive.tree(1)[0].human[0]


def test_an_event_counts_in_the_sitting_that_told_it_first(store):
    archived(store, NATIVE, path="a")
    archived(store, COPY, event("new", text="more"), path="b")
    found = store.archive.session_activity(AT, AT + timedelta(hours=1))
    assert sorted((each.path, each.events) for each in found) == [("a", 1), ("b", 1)]


def test_a_conversation_that_is_not_to_be_remembered_loses_its_words_and_nothing_else(store):
    archived(store, NATIVE, event("shared", text="in both"), path="a")
    archived(store, event("shared", text="in both", session="other"), path="b")
    for thread in (1, 2):
        store.archive.save_extraction_progress(thread, extracted=1, seen=2)
    assert store.archive.opt_out("s", "a") == 1
    assert texts(store, 1) == [FORGOTTEN_MARK, "in both"]
    assert texts(store, 2) == ["in both"]
    assert not store.archive.find_mentions("sync", DAWN)
    assert [each.id for each in store.archive.threads(pending=True)] == [1]
    assert [(each.session, each.path) for each in store.archive.opted_out_sessions()] == [("s", "a")]
    assert archived(store, replace(NATIVE, parent="p"), path="c") == 0
    assert texts(store, 1)[0] == FORGOTTEN_MARK
    assert store.find_damage() == ()


def test_words_that_are_not_to_be_remembered_are_in_no_byte_of_the_file(open_at, tmp_path):
    with open_at(tmp_path / "kept.db") as store:
        archived(store, replace(NATIVE, text="xylophone quartz"), path="a")
        store.archive.opt_out("s", "a")
        store.compact()
    raw = (tmp_path / "kept.db").read_bytes()
    assert b"xylophone" not in raw
    assert b"quartz" not in raw


def test_what_a_directory_is_stays_recorded(store, tmp_path):
    project = Project(directory="/gone/app", identity="git:example.org/me/app", name="app", scope="project:app-1")
    assert store.archive.project("/gone/app") is None
    store.archive.save_project(project)
    store.archive.save_project(replace(project, scope="project:app-2"))
    assert store.archive.projects() == (replace(project, scope="project:app-2"),)


def test_directories_are_those_of_threads_and_the_files_of_threads_without_one(store):
    archived(store, event("a"), event("b", session="t"), path="f")
    archived(store, event("c", session="u", project=""), path="g")
    assert store.archive.directories() == (("", "g"), ("/p", ""))


def test_projects_and_opted_out_conversations_travel_with_a_store(open_at, store, tmp_path):
    archived(store, NATIVE, path="a")
    store.archive.save_project(Project(directory="/p", identity="dir:/p", name="p", scope="project:p-1"))
    store.archive.opt_out("s", "a")
    with open_at(tmp_path / "other.db") as other:
        other.load_rows(store.export_rows())
        assert tuple(other.export_rows()) == tuple(store.export_rows())
        assert archived(other, COPY, path="b") == archived(store, COPY, path="b")


def test_a_thread_forks_only_where_a_prompt_has_a_sibling(store):
    first, answer = event("u1", text="first"), replace(event("a1", text="answer"), kind=EventKind.RESPONSE, parent="u1")
    archived(store, first, answer, path="a")
    assert not store.archive.has_rewinds(1)
    archived(store, replace(event("u2", text="again"), parent="u1"), path="a")
    assert store.archive.has_rewinds(1)
