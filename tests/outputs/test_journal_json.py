"""The JSON view of the journal profile: readable, editable, absorbed."""

import json

import pytest

from kept.changes import apply_person_change
from kept.core.memory import Status
from kept.memories.history import undo
from kept.memories.person import create_memory, reject
from kept.outputs.routing import routes_by_memory
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles.profile import OutputPlace

QUESTION = "Does discovery in `registry.go` hold when four workflows run at once?"


@pytest.fixture
def journal(home, desk_at):
    """A workspace whose profile is the journal's, with an entry in each list, its view written."""
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profile = "journal"\n')
    with desk_at(home) as workspace:
        create_memory(workspace, "Decoupling worker registration from project directories.", "themes")
        create_memory(workspace, "Switched to dynamic discovery in `registry.go`.", "decisions")
        create_memory(workspace, QUESTION, "open_questions")
        create_memory(workspace, "`PRAGMA synchronous` has no effect inside of a transaction.", "insights")
        run_pipeline(workspace, [], RunOptions())
        yield workspace


def view(home):
    return home / "kept" / "journal.json"


def read(home):
    return json.loads(view(home).read_text())


def write(home, body):
    view(home).write_text(json.dumps(body))


def told(workspace, status=Status.ACTIVE):
    return {(each.category, each.content) for each in workspace.store.log.memories() if each.status is status}


def test_the_view_holds_four_lists_of_entries_with_their_days(journal, home):
    body = read(home)
    assert list(body) == ["themes", "decisions", "open_questions", "insights"]
    (entry,) = body["decisions"]
    assert entry["text"] == "Switched to dynamic discovery in `registry.go`."
    assert entry["since"] == entry["last"] == "2026-10-01"


def test_deleting_a_theme_retires_it(journal, home):
    body = read(home)
    write(home, body | {"themes": []})
    run_pipeline(journal, [], RunOptions())
    assert told(journal, Status.RETIRED) == {("themes", "Decoupling worker registration from project directories.")}
    assert read(home)["themes"] == []


def test_deleting_every_entry_retires_all_and_undo_brings_them_back(journal, home):
    before = told(journal)
    write(home, {name: [] for name in read(home)})
    run_pipeline(journal, [], RunOptions())
    assert (told(journal), told(journal, Status.RETIRED)) == (set(), before)
    apply_person_change(journal, lambda: undo(journal))
    assert told(journal) == before
    assert sum(map(len, read(home).values())) == len(before)


def test_moving_an_open_question_to_the_decisions_resolves_it_as_one(journal, home):
    body = read(home)
    (question,) = body["open_questions"]
    question["text"] = "Discovery in `registry.go` is limited to three workflows at once."
    write(home, body | {"open_questions": [], "decisions": [*body["decisions"], question]})
    run_pipeline(journal, [], RunOptions())
    assert told(journal, Status.RESOLVED) == {("open_questions", QUESTION)}
    assert ("decisions", "Discovery in `registry.go` is limited to three workflows at once.") in told(journal)
    (asked,) = (each for each in journal.store.log.memories() if each.status is Status.RESOLVED)
    assert journal.store.log.memory(asked.resolved_by).category == "decisions"


def test_a_reworded_insight_holds_through_later_runs(journal, home):
    body = read(home)
    body["insights"][0]["text"] = "Set `PRAGMA synchronous` before a transaction begins."
    write(home, body)
    run_pipeline(journal, [], RunOptions())
    assert not run_pipeline(journal, [], RunOptions()).written.files
    assert read(home)["insights"][0]["text"] == "Set `PRAGMA synchronous` before a transaction begins."


def test_a_new_entry_waits_for_approval(journal, home):
    body = read(home)
    body["decisions"].append("Workers register through plugins in `plugin.go`.")
    write(home, body)
    run_pipeline(journal, [], RunOptions())
    assert told(journal, Status.HELD) == {("decisions", "Workers register through plugins in `plugin.go`.")}


def test_an_entry_that_a_person_rejected_stays_rejected_when_it_is_written_again(journal, home):
    before = read(home)
    added = {**before, "decisions": [*before["decisions"], "Workers register through plugins in `plugin.go`."]}
    write(home, added)
    run_pipeline(journal, [], RunOptions())
    reject(journal, next(each.id for each in journal.store.log.memories() if each.status is Status.HELD))
    for body in (before, added):
        write(home, body)
        run_pipeline(journal, [], RunOptions())
    assert told(journal, Status.REJECTED) == {("decisions", "Workers register through plugins in `plugin.go`.")}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"themes": 3}', '{"themes": []}'])
def test_a_damaged_view_is_put_aside_and_written_anew_and_nothing_is_lost(journal, home, text):
    before = told(journal)
    view(home).write_text(text)
    report = run_pipeline(journal, [], RunOptions())
    assert told(journal) == before
    assert len(report.written.problems) == 1
    assert list(read(home)) == ["themes", "decisions", "open_questions", "insights"]
    assert not run_pipeline(journal, [], RunOptions()).written.problems


def test_a_view_that_was_deleted_is_written_anew(journal, home):
    before = read(home)
    view(home).unlink()
    run_pipeline(journal, [], RunOptions())
    assert read(home) == before


def test_the_view_is_bounded_and_what_has_no_room_stays_in_the_store(journal, home):
    for number in range(150):
        create_memory(
            journal, f"Switched `module_{number}.go` to discovery because its list of paths was wrong every time.", "decisions"
        )
    run_pipeline(journal, [], RunOptions())
    assert view(home).stat().st_size <= 24_000
    shown = {each["id"] for several in read(home).values() for each in several}
    assert 60 < len(shown) < 154
    assert len(told(journal)) == 154
    assert run_pipeline(journal, [], RunOptions()).written.files == []
    left = next(each for each in journal.store.log.memories() if each.id not in shown)
    route = next(each for each in routes_by_memory(journal, [left])[left.id] if each.place is OutputPlace.VIEW)
    assert (route.where, route.why) == ("", "there is no room, because others are more relevant")
    body = read(home)
    gone = body["decisions"].pop()
    write(home, body)
    run_pipeline(journal, [], RunOptions())
    assert journal.store.log.memory(gone["id"]).status is Status.RETIRED
    assert len(told(journal)) == 153, "what was only left out is not taken for deleted"
