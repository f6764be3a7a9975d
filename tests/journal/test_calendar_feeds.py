"""Calendars as a source of the journal: zones, series by their rules, what is called off, moved, yet to come or malformed."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from kept.core.errors import SourceError
from kept.journal.feeds import read_new_items
from kept.journal.feeds.base import FetchResponse
from kept.journal.feeds.calendar import expand_recurrence, parse_recurrence_rule

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 1, 5, 10)  # noqa: DTZ001 - local time, as a calendar has it; a Monday
EVENTS = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:1
DTSTART;TZID=Europe/Berlin:20260105T100000
SUMMARY:Pilot meeting\\, quay
 7
LOCATION:Room 2
BEGIN:VALARM
SUMMARY:Alarm
END:VALARM
END:VEVENT
BEGIN:VEVENT
UID:2
DTSTART;VALUE=DATE:20260106
SUMMARY:Dredging
END:VEVENT
BEGIN:VEVENT
UID:3
DTSTART:20261399T990000Z
SUMMARY:Nonsense
END:VEVENT
BEGIN:VEVENT
UID:5
STATUS:CANCELLED
DTSTART:20260107T090000Z
SUMMARY:Regatta
END:VEVENT
BEGIN:VEVENT
UID:4
SUMMARY:cut off""".replace("\n", "\r\n")


def no_network(address, cursor):
    pytest.fail("fetched")


@pytest.fixture
def calendar(tmp_path):
    """Reads a calendar of the given events (each a list of lines) at a moment."""

    def read(*events, now="2026-02-01", cursor=None):
        path = tmp_path / "c.ics"
        inner = "\n".join("\n".join(("BEGIN:VEVENT", *each, "END:VEVENT")) for each in events)
        path.write_text(events[0] if isinstance(events[0], str) else f"BEGIN:VCALENDAR\n{inner}\nEND:VCALENDAR\n")
        moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
        return read_new_items(
            "calendar", name="dates", place=str(path), cursor=cursor or {}, zone=BERLIN, now=moment, fetching=no_network
        )

    return read


def days(found):
    return [each.at.astimezone(BERLIN).strftime("%m-%d %H:%M") for each in found.items]


def test_a_calendar_gives_its_events_in_their_own_zones_and_counts_what_it_passes_over(calendar):
    found = calendar(EVENTS)
    assert [(each.title, each.text, each.at) for each in found.items] == [
        ("Pilot meeting, quay7", "Room 2", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        ("Dredging", "", datetime(2026, 1, 6, 11, tzinfo=UTC)),
    ]
    assert found.skipped == {"events without a date or a summary": 1, "unfinished events": 1, "cancelled events": 1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("FREQ=DAILY;COUNT=3", ["01-05", "01-06", "01-07"]),
        ("FREQ=DAILY;INTERVAL=10;COUNT=3", ["01-05", "01-15", "01-25"]),
        ("FREQ=DAILY;BYDAY=MO,FR;COUNT=3", ["01-05", "01-09", "01-12"]),
        ("FREQ=DAILY;BYMONTHDAY=1;COUNT=3", ["01-05", "02-01", "03-01"]),
        ("FREQ=WEEKLY;COUNT=3", ["01-05", "01-12", "01-19"]),
        ("FREQ=WEEKLY;BYDAY=MO,WE;COUNT=4", ["01-05", "01-07", "01-12", "01-14"]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;COUNT=4", ["01-05", "01-11", "01-19", "01-25"]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU;COUNT=4", ["01-05", "01-18", "01-19", "02-01"]),
        ("FREQ=MONTHLY;COUNT=3", ["01-05", "02-05", "03-05"]),
        ("FREQ=MONTHLY;BYMONTHDAY=31;COUNT=4", ["01-05", "01-31", "03-31", "05-31"]),
        ("FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3", ["01-05", "01-31", "02-28"]),
        ("FREQ=MONTHLY;BYDAY=1MO;COUNT=3", ["01-05", "02-02", "03-02"]),
        ("FREQ=MONTHLY;BYDAY=-1FR;COUNT=3", ["01-05", "01-30", "02-27"]),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=3", ["01-05", "02-13", "03-13"]),
        ("FREQ=MONTHLY;BYMONTH=3,5;COUNT=3", ["01-05", "03-05", "05-05"]),
        ("FREQ=YEARLY;BYMONTH=1,7;COUNT=3", ["01-05", "07-05", "01-05"]),
        ("FREQ=YEARLY;BYMONTH=5;BYDAY=2SU;COUNT=3", ["01-05", "05-10", "05-09"]),
        ("FREQ=YEARLY;COUNT=2", ["01-05", "01-05"]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=3", ["01-05", "01-30", "02-27"]),
        ("FREQ=YEARLY;BYDAY=2MO;COUNT=3", ["01-05", "01-12", "01-11"]),
    ],
)
def test_a_rule_gives_the_days_that_the_standard_gives(text, told):
    made = parse_recurrence_rule(text)
    assert made is not None
    assert [each.strftime("%m-%d") for each in expand_recurrence(made, START)] == told


def test_a_leap_day_returns_in_leap_years_alone():
    made = parse_recurrence_rule("FREQ=YEARLY;COUNT=3")
    assert made is not None
    assert [each.year for each in expand_recurrence(made, datetime(2024, 2, 29))] == [2024, 2028, 2032]  # noqa: DTZ001 - local time


@pytest.mark.parametrize(
    "text",
    [
        "",
        "FREQ=HOURLY",
        "FREQ=DAILY;BYSETPOS=1",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=x",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=WEEKLY;BYDAY=2MO",
        "FREQ=MONTHLY;BYDAY=9MO",
        "FREQ=MONTHLY;BYMONTHDAY=0",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYWEEKNO=1",
        "FREQ=DAILY;UNTIL=soon",
        "FREQ=DAILY;COUNT=-1",
        "FREQ=YEARLY;BYMONTH=13",
        "nonsense",
        "FREQ=WEEKLY;BYMONTHDAY=3",
    ],
)
def test_a_rule_that_is_not_understood_whole_is_not_followed_by_half(text, calendar):
    assert parse_recurrence_rule(text) is None
    found = calendar(["UID:1", "DTSTART:20260105T090000Z", f"RRULE:{text}", "SUMMARY:Watch"])
    assert [each.at for each in found.items] == [datetime(2026, 1, 5, 9, tzinfo=UTC)]
    assert found.skipped == {"series with an unsupported rule, after their first event": 1}


def test_a_series_keeps_its_local_hour_over_the_change_of_clocks(calendar):
    event = ["UID:1", "DTSTART;TZID=Europe/Berlin:20260323T100000", "RRULE:FREQ=WEEKLY;COUNT=2", "SUMMARY:Watch"]
    found = calendar(event, now="2026-05-01")
    assert [each.at.hour for each in found.items] == [9, 8]


def test_a_series_ends_where_it_is_said_to_and_leaves_out_what_was_taken_out_or_moved(calendar):
    series = [
        "UID:1",
        "DTSTART;TZID=Europe/Berlin:20260105T100000",
        "RRULE:FREQ=DAILY;UNTIL=20260109T090000Z",
        "EXDATE;TZID=Europe/Berlin:20260106T100000,20260107T100000",
        "SUMMARY:Watch",
    ]
    moved = [
        "UID:1",
        "RECURRENCE-ID;TZID=Europe/Berlin:20260108T100000",
        "DTSTART;TZID=Europe/Berlin:20260108T150000",
        "SUMMARY:Watch",
    ]
    assert sorted(days(calendar(series, moved))) == ["01-05 10:00", "01-08 15:00", "01-09 10:00"]


def test_what_is_yet_to_come_is_brought_on_its_day_where_it_is_still_on(calendar):
    series = ["UID:1", "DTSTART:20260130T090000Z", "RRULE:FREQ=WEEKLY", "SUMMARY:Watch"]
    single = ["UID:2", "DTSTART:20260210T090000Z", "SUMMARY:Regatta"]
    first = calendar(series, single, now="2026-02-01")
    assert days(first) == ["01-30 10:00"]
    again = calendar(series, single, now="2026-02-05", cursor=first.cursor)
    assert again.items == ()
    assert dict(again.cursor) == dict(first.cursor)
    later = calendar(series, single, now="2026-02-06T01:00", cursor=first.cursor)
    assert days(later) == ["01-30 10:00", "02-06 10:00"]
    assert {each.key for each in first.items} < {each.key for each in later.items}
    off = calendar(series, ["UID:2", "DTSTART:20260310T090000Z", "SUMMARY:Regatta"], now="2026-02-12", cursor=later.cursor)
    assert "Regatta" not in {each.title for each in off.items}


def test_a_calendar_of_the_web_is_asked_for_whole_where_an_event_has_come(tmp_path):
    body = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20260210T090000Z\nSUMMARY:Watch\nEND:VEVENT\nEND:VCALENDAR"
    asked = []

    def fetching(address, cursor):
        asked.append(dict(cursor))
        return FetchResponse(data=None if cursor.get("etag") else body, validators={"etag": "e"})

    def at(now, cursor):
        return read_new_items(
            "calendar", name="dates", place="https://example.org/c", cursor=cursor, zone=BERLIN, now=now, fetching=fetching
        )

    first = at(datetime(2026, 2, 1, tzinfo=UTC), {})
    assert first.items == ()
    second = at(datetime(2026, 2, 10, 1, tzinfo=UTC), first.cursor)
    assert [each.title for each in second.items] == ["Watch"]
    assert at(datetime(2026, 2, 11, tzinfo=UTC), second.cursor).items == ()
    assert [bool(each) for each in asked] == [False, False, True]


def test_a_series_without_an_end_is_bounded_and_counted(calendar):
    found = calendar(["UID:1", "DTSTART:20160101T090000Z", "RRULE:FREQ=DAILY", "SUMMARY:Watch"])
    assert len(found.items) == 1_499  # and the one that is yet to come
    assert found.items[-1].at == datetime(2026, 2, 1, 9, tzinfo=UTC)
    assert found.skipped["the oldest events of long series"] > 2_000


@pytest.mark.parametrize("rule", ["DAILY", "WEEKLY", "WEEKLY;BYDAY=SU,MO", "MONTHLY;BYMONTHDAY=31", "YEARLY;BYDAY=-1FR"])
def test_a_series_at_the_end_of_all_years_ends(calendar, rule):
    found = calendar(["UID:1", "DTSTART:99991230T090000Z", f"RRULE:FREQ={rule}", "SUMMARY:Watch"])
    assert found.items == ()
    assert len(list(expand_recurrence(parse_recurrence_rule(f"FREQ={rule}"), datetime(9999, 12, 30)))) <= 2  # noqa: DTZ001


@pytest.mark.parametrize("text", ["", "no calendar", "\x00\x01", "BEGIN:VEVENT"])
def test_what_is_no_calendar_is_refused(calendar, text):
    with pytest.raises(SourceError):
        calendar(text)
