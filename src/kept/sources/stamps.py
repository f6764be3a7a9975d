"""Parse dates and times as people and tools write them in file names, front matter and headings. Most name no time zone, so the
caller gives one.
"""

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from kept.core.pattern import Pattern
from kept.core.times import EARLIEST, LATEST, parse_instant
from kept.core.value import dataclass

_CHARACTERS = 200
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Examples: 2026-01-31T13:52:55Z, 2026-01-31_13-52-55, 20260131T135255Z, 20260131135255, 2026-01-31-1352, 2026_01_31.
_NUMERIC = Pattern(
    r"(?:^|[^0-9])(\d{4})[-/._]?(\d\d)[-/._]?(\d\d)"
    r"(?:(?:[Tt _-]| at |, )?(\d\d)[:.hH-]?(\d\d)(?:[:.-]?(\d\d)(?:[.,]\d{1,9})?)?[ ]?(Z|z|UTC|GMT|[+-]\d\d:?\d\d)?)?(?:[^0-9]|$)"
)
_NAMED = Pattern(r"(?i)\b(?:(\d{1,2})(?:st|nd|rd|th|\.)? )?([a-z]{3,9})\.? (?:(\d{1,2})(?:st|nd|rd|th)?,? )?(\d{4})\b")
_CLOCK = Pattern(r"(?:^|[^0-9:])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?:[^0-9:]|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Stamp:
    """A date as written, optionally with a time of day and a time zone."""

    day: date
    clock: time | None = None
    zone: tzinfo | None = None

    def __str__(self) -> str:
        clock = f"T{self.clock:%H:%M:%S}" if self.clock else ""
        return f"{self.day:%Y-%m-%d}{clock}{self.zone or ''}"


def find_stamp(text: str) -> Stamp | None:
    """The first date in the first 200 characters of a text, with the time of day after it; None if there is none."""
    text = text[:_CHARACTERS]
    for match in _NUMERIC.finditer(text):
        year, month, day, hour, minute, second, zone = match.groups()
        stamp = _make_date(int(year), int(month), int(day))
        if stamp is None:
            continue
        clock = _make_time(hour, minute, second)
        return Stamp(day=stamp, clock=clock, zone=_parse_zone(zone) if clock else None)
    for match in _NAMED.finditer(text):
        before, name, after, year = match.groups()
        number = before or after
        if number and name[:3].lower() in _MONTHS:
            stamp = _make_date(int(year), _MONTHS.index(name[:3].lower()) + 1, int(number))
            if stamp is not None:
                return Stamp(day=stamp)
    return None


def parse_stamp(text: str) -> Stamp | None:
    """The date in a field: a date as in :func:`find_stamp`, or seconds or milliseconds since 1970. None for other text."""
    if text.replace(".", "", 1).isdecimal() and text.isascii() and 9 <= len(text.partition(".")[0]) <= 13:
        instant = parse_instant(float(text))
        return Stamp(day=instant.date(), clock=instant.time(), zone=UTC) if instant else None
    return find_stamp(text)


def find_clock(text: str) -> time | None:
    """The first time of day (``23:52``) in the first 200 characters of a text; None if there is none."""
    found = _CLOCK.search(text[:_CHARACTERS])
    return _make_time(found.group(1), found.group(2), found.group(3)) if found else None


def stamp_instant(stamp: Stamp, zone: ZoneInfo) -> datetime | None:
    """The instant of a stamp; None outside the supported years. Without a zone, ``zone`` applies. Without a time, noon is taken, so
    that the day is right.
    """
    try:
        local = datetime.combine(stamp.day, stamp.clock or time(12), tzinfo=stamp.zone or zone)
        instant = local.astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return instant if EARLIEST <= instant < LATEST else None


def next_instant(day: date, clock: time, previous: datetime, zone: ZoneInfo) -> datetime:
    """The first instant not before ``previous`` at which clocks show this time on that day or the next.

    When clocks are set back, an hour occurs twice. A time that seems to go backwards may then be in the second one.
    """
    tries = [(day, 0), (day, 1), (day + timedelta(days=1), 0)]
    moments = [datetime.combine(day, clock.replace(fold=fold), tzinfo=zone).astimezone(UTC) for day, fold in tries]
    return next((instant for instant in moments if instant >= previous), moments[-1])


def _make_date(year: int, month: int, day: int) -> date | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return found if EARLIEST.date() <= found < LATEST.date() else None


def _make_time(hour: str | None, minute: str | None, second: str | None) -> time | None:
    if hour is None or minute is None:
        return None
    try:
        return time(int(hour), int(minute), int(second or 0))
    except ValueError:
        return None


def _parse_zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    if hours > 14 or minutes > 59:
        return None
    return timezone((1 if text[0] == "+" else -1) * timedelta(hours=hours, minutes=minutes))
