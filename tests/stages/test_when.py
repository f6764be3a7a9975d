"""The time a question speaks of."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from kept.recall.ranking.when import when

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 11, 22, 30, tzinfo=UTC)  # a Wednesday, 23:30 in Berlin


def days(question):
    found = when(question, NOW, ZONE)
    if found is None:
        return None
    edges = [each.astimezone(ZONE).strftime("%Y-%m-%d") if each else "" for each in (found.since, found.until)]
    return tuple(edges)


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("what did we decide yesterday?", "2026-03-10", "2026-03-11"),
        ("what happened today", "2026-03-11", "2026-03-12"),
        ("What did we do last Tuesday?", "2026-03-10", "2026-03-11"),
        ("the script that failed last Wednesday", "2026-03-04", "2026-03-05"),
        ("this Wednesday", "2026-03-11", "2026-03-12"),
        ("on Friday we broke it", "2026-03-06", "2026-03-07"),
        ("last week's plan", "2026-03-02", "2026-03-09"),
        ("this month", "2026-03-01", "2026-04-01"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("the last 3 days", "2026-03-08", "2026-03-12"),
        ("two weeks ago the build broke", "2026-02-22", "2026-03-01"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("in December we moved", "2025-12-01", "2026-01-01"),
        ("in May 2024", "2024-05-01", "2024-06-01"),
        ("mid-January trip", "2026-01-10", "2026-01-21"),
        ("at the end of February", "2026-02-20", "2026-03-01"),
        ("on March 5", "2026-03-05", "2026-03-06"),
        ("on 5th March 2025, what", "2025-03-05", "2025-03-06"),
        ("2025-11-30 notes", "2025-11-30", "2025-12-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("since last Monday", "2026-03-09", ""),
        ("after February", "2026-03-01", ""),
        ("before March 5", "", "2026-03-05"),
        ("until yesterday", "", "2026-03-11"),
    ],
)
def test_a_span_is_understood_relative_to_now_in_the_persons_zone(question, since, until):
    assert days(question) == (since, until)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "may I march on?",
        "the last mile",
        "this day-old build",
        "port 2024 is taken",
        "version 3.11",
        "recent changes",
        "in",
    ],
)
def test_what_only_looks_like_a_time_is_none(question):
    assert days(question) is None


def test_what_bounds_a_span_may_be_something_that_happened():
    found = when("what broke before the big release", NOW, ZONE)
    assert (found.event, found.side, found.rest) == (("big", "release"), "until", "what broke")
    assert when("since the migration", NOW, ZONE).side == "since"


def test_the_rest_of_the_question_stays():
    assert when("what did we decide last Tuesday about Parquet", NOW, ZONE).rest == "what did we decide about Parquet"


def test_a_long_or_strange_text_is_read_without_harm():
    for text in ("last " * 100_000, "-" * 5000, "mid-", "the end of", "0 days ago", "99999 weeks ago", "\x00 last \ud800 tuesday"):
        when(text, NOW, ZONE)
