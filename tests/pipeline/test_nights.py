"""Clocks that jump, zones that differ, nights that were missed: no event belongs to two days or to none, and no memory to
either.
"""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from kept.memories.day_view import load_day_view as look_at
from kept.pipeline.nightly import run_nightly
from kept.pipeline.run import RunOptions, run_pipeline
from talking import OTHER, RULE, say

ZONES = ("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Asia/Kolkata", "UTC")


def facts(workspace):
    """What is remembered, with its dates."""
    return sorted(
        (each.id, each.content, each.status.value, each.first_seen, each.last_seen) for each in workspace.store.log.memories()
    )


@pytest.mark.parametrize("zone", ZONES)
def test_the_days_of_a_year_follow_each_other_without_a_gap_whatever_the_clock_does(desk_at, home, zone):
    with desk_at(home, zone=zone) as workspace:
        first = date(2026, 1, 1)
        spans = [workspace.day_bounds(first + timedelta(days=number)) for number in range(366)]
        assert [before[1] for before in spans[:-1]] == [after[0] for after in spans[1:]]
        hours = {(stop - start).total_seconds() / 3_600 for start, stop in spans}
        assert hours <= {23.0, 23.5, 24.0, 24.5, 25.0}
        assert (hours == {24.0}) is (zone in ("Asia/Kolkata", "UTC"))


@pytest.mark.parametrize(
    ("day", "hours", "moments"),
    [
        ("2026-03-29", 23, ["2026-03-28T23:00:00Z", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-03-29T21:59:59Z"]),
        ("2026-10-25", 25, ["2026-10-24T22:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T22:59:59Z"]),
    ],
)
def test_every_moment_of_a_night_in_which_the_clock_jumps_belongs_to_its_day_alone(desk_at, home, day, hours, moments):
    with desk_at(home, zone="Europe/Berlin") as workspace:
        start, stop = workspace.day_bounds(date.fromisoformat(day))
        assert stop - start == timedelta(hours=hours)
        for each in moments:
            at = datetime.fromisoformat(each)
            assert at.astimezone(workspace.zone).date().isoformat() == day
            assert start <= at < stop


def test_two_machines_in_two_zones_remember_the_same_with_the_same_dates(desk_at, tmp_path, monkeypatch):
    found = {}
    for zone in ("America/Los_Angeles", "Asia/Tokyo"):
        home = tmp_path / zone.replace("/", "-")
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("TZ", zone)
        say(home, "a", RULE, day="2026-01-05")
        say(home, "b", OTHER, day="2026-01-06")
        with desk_at(home, zone=zone) as workspace:
            run_nightly(workspace)
            found[zone] = [each[1:] for each in facts(workspace)]
    assert found["America/Los_Angeles"] == found["Asia/Tokyo"]


def test_one_home_used_from_two_zones_changes_nothing_of_what_is_remembered(desk_at, home):
    say(home, "a", RULE, day="2026-01-05")
    with desk_at(home, zone="America/Los_Angeles") as workspace:
        run_pipeline(workspace, [], RunOptions())
        west, known = look_at(workspace, date(2026, 1, 5)), facts(workspace)
        assert len(west.sessions) == 1
    with desk_at(home, zone="Pacific/Kiritimati") as workspace:  # 10:00 in London is the next day here
        report = run_pipeline(workspace, [], RunOptions())
        assert report.extracted.threads == 0
        assert facts(workspace) == known
        assert look_at(workspace, date(2026, 1, 5)).sessions == ()
        assert len(look_at(workspace, date(2026, 1, 6)).sessions) == 1


@pytest.mark.parametrize(("missed", "zone"), [("2026-03-08", "America/New_York"), ("2026-11-01", "America/New_York")])
def test_a_night_that_the_clock_jumped_over_is_made_up_for_by_the_next(desk_at, home, missed, zone):
    before = datetime.fromisoformat(missed).replace(hour=2, minute=30, tzinfo=ZoneInfo(zone)) - timedelta(days=1)
    say(home, "a", RULE, day=(date.fromisoformat(missed) - timedelta(days=2)).isoformat())
    with desk_at(home, zone=zone) as workspace:
        run_nightly(replace(workspace, clock=lambda: before.astimezone(UTC)))
        say(home, "b", OTHER, day=missed)
        after = run_nightly(
            replace(workspace, clock=lambda: (before + timedelta(days=2)).astimezone(UTC))
        )  # as if that night never was
        assert after.failed == ()
        (found,) = [each for each in workspace.store.log.memories() if "uv sync" in each.content]
        assert found.first_seen.astimezone(ZoneInfo(zone)).date().isoformat() == missed


def test_a_clock_that_was_set_back_loses_no_night(desk_at, home):
    say(home, "a", RULE)
    with desk_at(home) as workspace:
        run_nightly(workspace)
        say(home, "b", OTHER, day="2026-01-09")
        early = datetime(2020, 1, 1, tzinfo=UTC)
        assert run_nightly(replace(workspace, clock=lambda: early)).failed == ()
        assert any("uv sync" in each.content for each in workspace.store.log.memories())
