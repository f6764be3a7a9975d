"""The calendar: what each day of a month held, by the person's own days, and what belongs to one of them."""

from datetime import date

import pytest

from kept.core.errors import UsageError
from kept.journal.calendar import (
    latest_active_day,
    list_open_questions,
    load_day_sessions,
    load_journal_entry,
    load_month,
    parse_month,
)
from kept.memories.person import create_memory, resolve
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import make_entry_options, write_journal_entry
from talking import OTHER, RULE, say

JANUARY = date(2026, 1, 1)


@pytest.fixture
def workspace(home, desk_at):
    say(home, "s1", RULE, day="2026-01-05")
    say(home, "s2", OTHER, "Please fix the parser in `feed.py` too.", day="2026-01-06")
    say(home, "s3", "Please look at `feed.py` once more.", day="2026-03-02")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        yield workspace


def told(found):
    return {each.day.day: each for each in found.cells if not each.empty}


def test_a_month_counts_sessions_and_memories_by_day(workspace):
    cells = told(load_month(workspace, JANUARY))
    assert {day: (each.sessions, each.learnt + each.decided) for day, each in cells.items()} == {5: (1, 1), 6: (1, 1)}


def test_a_month_names_the_months_around_it_in_which_something_happened(workspace):
    found = load_month(workspace, date(2026, 2, 1))
    assert (found.before, found.after) == (JANUARY, date(2026, 3, 1))
    assert all(each.empty for each in found.cells)
    assert len(found.cells) == 28


def test_a_day_is_the_persons_own(home, desk_at):
    say(home, "s1", RULE, day="2026-01-05")
    with desk_at(home, zone="Pacific/Auckland") as workspace:  # 10:00 in UTC is 23:00 there
        run_pipeline(workspace, [], RunOptions())
        assert list(told(load_month(workspace, JANUARY))) == [5]
    with desk_at(home, zone="Pacific/Kiritimati") as workspace:  # and after midnight there
        assert list(told(load_month(workspace, JANUARY))) == [6]


def test_the_sessions_of_a_day_tell_what_was_worked_on_in_each(workspace):
    (found,) = load_day_sessions(workspace, date(2026, 1, 6))
    assert found.activity.session == "s2"
    assert any("feed.py" in each.text for each in found.worked)


def test_a_question_is_open_on_the_days_before_it_was_answered(workspace):
    asked = create_memory(workspace, "Does `feed.py` need a lock?", "open_question")
    day = workspace.clock().date()
    assert [each.id for each in list_open_questions(workspace, day)] == [asked.id]
    assert list_open_questions(workspace, date(2026, 1, 6)) == ()
    resolve(workspace, asked.id, "decision", "`feed.py` needs no lock.")
    assert list_open_questions(workspace, day) == ()


def test_the_journal_entry_of_a_day_is_shown_without_its_front_matter(workspace):
    day = date(2026, 1, 6)
    assert load_journal_entry(workspace, day) is None
    write_journal_entry(workspace, make_entry_options(workspace), day)
    found = load_journal_entry(workspace, day)
    assert found.text.lstrip().startswith("#")
    assert "digest:" not in found.text
    assert told(load_month(workspace, JANUARY))[6].entry


def test_a_month_is_named_by_year_and_month(workspace):
    assert parse_month("2026-02", JANUARY) == date(2026, 2, 1)
    assert parse_month("", date(2026, 5, 9)) == date(2026, 5, 1)
    for wrong in ("2026-13", "soon", "2026-1"):
        with pytest.raises(UsageError):
            parse_month(wrong, JANUARY)


def test_the_latest_day_is_the_last_one_on_which_something_happened(workspace):
    assert latest_active_day(workspace) == date(2026, 3, 2)
