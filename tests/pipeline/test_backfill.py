"""A backfill with questions asked ahead: the same entries and memories as one day after the other, cut short or not."""

import re
from contextlib import contextmanager
from datetime import date, timedelta
from itertools import product
from threading import Barrier, Lock

import pytest

from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.client import LlmClient
from kept.local import files
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import EntryState, backfill_entries, make_entry_options, plan_backfill
from kept.store.sqlite import SqliteStore
from talking import say

FIRST = date(2026, 1, 5)
NOTES = {kind: [] for kind in ("problems", "solutions", "decisions", "questions")}


def day(number):
    return FIRST + timedelta(days=number)


def days_of(home, *projects):
    """A day of work in each of the projects, one after the other."""
    for number, project in enumerate(projects):
        say(
            home,
            f"s{number}",
            f"Please add the page number {number} of the {project} to `{project}.py`, with its tables and its map.",
            f"We decided to keep the {project} tables {number} in `{project}{number}.sqlite` instead of CSV files.",
            cwd=f"/x/{project}",
            day=day(number).isoformat(),
        )


class Author:
    """Tells every note as a paragraph of its own; counts the questions and who is asked at the same time."""

    def __init__(self, together=0, stop=0):
        self.asked, self.most, self.open = [], 0, 0
        self._lock, self._stop = Lock(), stop
        self._barrier = Barrier(together) if together else None

    def __call__(self, ask):
        if ask.purpose in ("curate", "outdated"):
            return {"operations": []}
        if ask.purpose != "journal":
            return {"hints": [], "memories": [], "notes": NOTES}
        with self._lock:
            self.asked.append(ask.prompt)
            self.open += 1
            self.most = max(self.most, self.open)
            if len(self.asked) == self._stop:
                raise KeyboardInterrupt
        barrier = self._barrier
        if barrier is not None:
            barrier.wait()  # nobody goes on before so many are asked at the same time
            self._barrier = None
        with self._lock:
            self.open -= 1
        told = re.findall(r"(?m)^(s\d+) \((\w+)[^)]*\): (.+)$", ask.prompt)
        own = [each for each in told if each[1] != "before"]
        return {
            "paragraphs": [
                {"part": part if part in ("worked", "decided") else "worked", "text": text, "sources": [name]}
                for name, part, text in own
            ]
        }


@pytest.fixture(scope="module")
def results():
    """What came of projects that one author was asked about, day after day and to the end: the same for every test."""
    return {}


@pytest.fixture
def whole(filled, results):
    """Gives what came of days that were written without a break."""

    def of(projects):
        if projects not in results:
            results[projects] = filled("whole", Author(), projects)
        return results[projects]

    return of


@pytest.fixture
def filled(desk_at, tmp_path):
    """Fills days in a home of its own; gives entries, memories, outcomes."""

    def at(name, author, projects, concurrency=1, template=""):
        home = tmp_path / name
        days_of(home, *projects)
        for _ in range(2):
            with desk_at(home, also=("journal",)) as workspace:
                object.__setattr__(workspace, "llm", LlmClient(lambda: ScriptedModel(author)))
                work = make_entry_options(workspace, template)
                try:
                    run_pipeline(workspace, [], RunOptions(model=False))
                    days = plan_backfill(workspace, work, day(0), day(9)).days
                    done = backfill_entries(workspace, work, days, lambda _: None, concurrency=concurrency)
                except KeyboardInterrupt:
                    continue
                memories = sorted((each.content, str(each.status), str(each.first_seen)) for each in workspace.store.log.memories())
                entries = [re.sub(r"[0-9a-f]{10,16}", "·", each.read_text()) for each in sorted((home / "journal").rglob("*.md"))]
                return entries, memories, done
        raise AssertionError

    return at


def test_days_of_independent_projects_are_asked_about_at_the_same_time_with_the_same_result(filled):
    projects = ("harbour", "windmill", "harbour", "orchard")
    alone, together = Author(), Author(together=3)
    first = filled("alone", alone, projects)
    second = filled("together", together, projects, concurrency=3)
    assert second[:2] == first[:2]
    assert [each.state for each in second[2]] == [EntryState.WRITTEN] * 4
    assert (alone.most, together.most) == (1, 3)
    assert len(together.asked) == 4


def test_days_of_one_project_are_never_asked_about_at_the_same_time(filled):
    projects = ("harbour",) * 3
    alone, together = Author(), Author()
    first = filled("alone", alone, projects)
    second = filled("together", together, projects, concurrency=4)
    assert second[:2] == first[:2]
    assert together.most == 1
    assert sorted(together.asked) == sorted(alone.asked)


def test_a_day_that_an_entry_before_it_matters_to_after_all_is_asked_about_anew(filled, tmp_path):
    class Rewording(Author):
        def __call__(self, ask):
            reply = super().__call__(ask)
            for each in reply.get("paragraphs", ()):
                each["text"] = each["text"].replace(
                    "We decided to keep the tide tables", "From now on we keep all tables, and tides,"
                )
            return reply

    for name in ("alone", "ahead"):
        home = tmp_path / name
        rule = "We decided to keep the tide tables of all gauges in `shared.sqlite` instead of CSV files."
        say(home, "x", rule, cwd="/x/harbour", day=day(0).isoformat())
        task = (
            "Please let the windmill read the tide tables of all gauges in `shared.sqlite`, and draw them in grey on its large "
            "map of the coast."
        )
        say(home, "y", task, f"{task} Do that for all the other tables as well.", cwd="/x/windmill", day=day(1).isoformat())
    first = filled("alone", Rewording(), ())
    second = filled("ahead", Rewording(), (), concurrency=2)
    assert second[:2] == first[:2]
    assert [each.asked_again for each in first[2]] == [False, False]
    assert [each.asked_again for each in second[2]] == [False, True]


def test_entries_that_nothing_is_remembered_of_are_all_asked_about_at_the_same_time(filled):
    projects = ("harbour",) * 4
    together = Author(together=4)
    found = filled("together", together, projects, concurrency=4, template="project-update")
    assert found[:1] == filled("alone", Author(), projects, template="project-update")[:1]
    assert together.most == 4


@pytest.mark.parametrize(
    ("number", "done"),
    [
        (4, False),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in product((1, 2, 4, 7), (True, False))),
    ],
)
def test_a_backfill_that_is_cut_off_at_any_write_of_a_file_ends_as_one_that_was_not(filled, whole, monkeypatch, number, done):
    projects = ("harbour", "windmill", "harbour")
    expected = whole(projects)[:2]
    real, calls = files.write_if_unchanged, 0

    def cut(path, data, **options):
        nonlocal calls
        calls += 1
        if calls == number and not done:
            raise KeyboardInterrupt
        found = real(path, data, **options)
        if calls == number:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(files, "write_if_unchanged", cut)
    assert filled("cut", Author(), projects)[:2] == expected
    assert calls >= number


@pytest.mark.parametrize("number", [9, *(pytest.param(each, marks=pytest.mark.slow) for each in (3, 15))])
def test_a_backfill_that_is_cut_off_at_any_pass_of_the_log_ends_as_one_that_was_not(filled, whole, monkeypatch, number):
    projects = ("harbour", "windmill", "harbour")
    expected = whole(projects)[:2]
    real, calls = SqliteStore.transaction, 0

    @contextmanager
    def cut(store):
        nonlocal calls
        with real(store):
            yield
            calls += 1
            if calls == number:
                raise KeyboardInterrupt

    monkeypatch.setattr(SqliteStore, "transaction", cut)
    assert filled("cut", Author(), projects)[:2] == expected
    assert calls >= number


@pytest.mark.parametrize("stop", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_backfill_with_questions_ahead_that_is_cut_short_anywhere_ends_as_one_that_was_not(filled, whole, stop):
    projects = ("harbour", "windmill", "harbour", "orchard")
    expected = whole(projects)[:2]
    cut = Author(stop=stop)
    assert filled("cut", cut, projects, concurrency=3)[:2] == expected
    assert len(cut.asked) <= 4 + 3  # what was under way when it was cut off is asked once more, nothing else is
