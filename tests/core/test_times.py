"""Instants as text."""

from datetime import datetime
from zoneinfo import ZoneInfo

from kept.core.times import format_instant


def test_the_two_instants_of_a_repeated_hour_are_formatted_apart():
    zone = ZoneInfo("Europe/Berlin")
    moments = [datetime(2026, 10, 25, 2, 30, tzinfo=zone, fold=fold) for fold in (0, 1)]
    assert [*map(format_instant, moments)] == ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"]
