"""The calendar: what each day of a month held, by the person's own days, and what belongs to one of them."""

from datetime import date

import pytest

from kept.core.errors import UsageError
from kept.journal.calendar import diary, latest, month, month_of, sessions, still_open
from kept.memories.person import add, resolve
from kept.pipeline.run import Options, run
from kept.pipeline.write_journal import work_of, write
from talking import OTHER, RULE, say

JANUARY = date(2026, 1, 1)


@pytest.fixture
def workspace(home, desk_at):
    say(home, "s1", RULE, day="2026-01-05")
    say(home, "s2", OTHER, "Please fix the parser in `feed.py` too.", day="2026-01-06")
    say(home, "s3", "Please look at `feed.py` once more.", day="2026-03-02")
    with desk_at(home) as workspace:
        run(workspace, [], Options())
        yield workspace


def told(found):
    return {each.day.day: each for each in found.cells if not each.empty}


def test_a_month_counts_sessions_and_memories_by_day(workspace):
    cells = told(month(workspace, JANUARY))
    assert {day: (each.sessions, each.learnt + each.decided) for day, each in cells.items()} == {5: (1, 1), 6: (1, 1)}


def test_a_month_names_the_months_around_it_in_which_something_happened(workspace):
    found = month(workspace, date(2026, 2, 1))
    assert (found.before, found.after) == (JANUARY, date(2026, 3, 1))
    assert all(each.empty for each in found.cells)
    assert len(found.cells) == 28


def test_a_day_is_the_persons_own(home, desk_at):
    say(home, "s1", RULE, day="2026-01-05")
    with desk_at(home, zone="Pacific/Auckland") as workspace:  # 10:00 in UTC is 23:00 there
        run(workspace, [], Options())
        assert list(told(month(workspace, JANUARY))) == [5]
    with desk_at(home, zone="Pacific/Kiritimati") as workspace:  # and after midnight there
        assert list(told(month(workspace, JANUARY))) == [6]


def test_the_sessions_of_a_day_tell_what_was_worked_on_in_each(workspace):
    (found,) = sessions(workspace, date(2026, 1, 6))
    assert found.sitting.session == "s2"
    assert any("feed.py" in each.text for each in found.worked)


def test_a_question_is_open_on_the_days_before_it_was_answered(workspace):
    asked = add(workspace, "Does `feed.py` need a lock?", "open_question")
    day = workspace.clock().date()
    assert [each.id for each in still_open(workspace, day)] == [asked.id]
    assert still_open(workspace, date(2026, 1, 6)) == ()
    resolve(workspace, asked.id, "decision", "`feed.py` needs no lock.")
    assert still_open(workspace, day) == ()


def test_the_journal_entry_of_a_day_is_shown_without_its_front_matter(workspace):
    day = date(2026, 1, 6)
    assert diary(workspace, day) is None
    write(workspace, work_of(workspace), day)
    found = diary(workspace, day)
    assert found.text.lstrip().startswith("#")
    assert "digest:" not in found.text
    assert told(month(workspace, JANUARY))[6].entry


def test_a_month_is_named_by_year_and_month(workspace):
    assert month_of("2026-02", JANUARY) == date(2026, 2, 1)
    assert month_of("", date(2026, 5, 9)) == date(2026, 5, 1)
    for wrong in ("2026-13", "soon", "2026-1"):
        with pytest.raises(UsageError):
            month_of(wrong, JANUARY)


def test_the_latest_day_is_the_last_one_on_which_something_happened(workspace):
    assert latest(workspace) == date(2026, 3, 2)
