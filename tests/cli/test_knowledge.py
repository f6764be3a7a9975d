"""``kept day --month``: what the page shows, for the terminal and for programs."""

import pytest

from cli_world import OTHER, RULE, kept, told, transcript

MEMORY = ".claude/rules/memory.md"


@pytest.fixture
def remembered(home, capsys):
    """A home in which two rules are remembered, of two days."""
    place = home / ".claude" / "projects" / "p"
    transcript(place / "one.jsonl", RULE)
    transcript(place / "two.jsonl", OTHER, day="2026-01-06")
    assert kept(capsys, "run", "--tz", "UTC")[0] == 0
    return home


def test_a_month_is_told_a_line_a_day(capsys, remembered):
    _, out, _ = kept(capsys, "day", "2026-01-20", "--month", "--tz", "UTC")
    assert out.splitlines() == ["January 2026", "  Mon 2026-01-05  1 session, 1 decided", "  Tue 2026-01-06  1 session, 1 decided"]
    body = told(capsys, "day", "2026-01-20", "--month", "--tz", "UTC")
    assert sum(each["sessions"] for each in body["cells"]) == 2
