"""Recurrence rules of calendars (RFC 5545, 3.3.10), by local time: those that people's calendars use, and a clear no for the rest.

Read are FREQ (daily to yearly), INTERVAL, COUNT, UNTIL, WKST, BYMONTH, BYMONTHDAY and BYDAY (with numbers by the month). A rule
with anything else is not followed by half. Knows no calendar file and no clock.
"""

from calendar import monthrange
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import re2

_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_READ = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYMONTHDAY", "BYDAY"})
_DAY = re2.compile(r"^([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)$")
_UNTIL = re2.compile(r"^(?:\d{8}(?:T\d{6}Z?)?)?$")
_PERIODS = 40_000  # a rule that gives nothing in so many periods gives nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurrenceRule:
    """A recurrence rule. ``days`` are weekdays (0 is Monday) with their number in the month (0: each), ``until`` is as the file has
    it.
    """

    frequency: str
    interval: int = 1
    count: int = 0
    until: str = ""
    week_start: int = 0
    months: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    days: tuple[tuple[int, int], ...] = ()


def parse_recurrence_rule(text: str) -> RecurrenceRule | None:
    """The rule of an RRULE's value; None where it is malformed or says something that is not read. Never raises."""
    parts: Mapping[str, str] = {
        name.strip(): value.strip() for name, _, value in (part.partition("=") for part in text.strip().upper().split(";") if part)
    }
    if parts.keys() - _READ or parts.get("FREQ") not in _FREQUENCIES:
        return None
    try:
        made = RecurrenceRule(
            frequency=parts["FREQ"],
            interval=int(parts.get("INTERVAL", "1")),
            count=int(parts.get("COUNT", "0")),
            until=parts.get("UNTIL", ""),
            week_start=_DAYS.index(parts.get("WKST", "MO")),
            months=_parse_numbers(parts.get("BYMONTH", "")),
            month_days=_parse_numbers(parts.get("BYMONTHDAY", "")),
            days=tuple(_parse_weekday(part) for part in parts.get("BYDAY", "").split(",") if part),
        )
    except ValueError:
        return None
    return made if _is_valid_rule(made) else None


def _parse_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def _parse_weekday(text: str) -> tuple[int, int]:
    found = _DAY.match(text)
    if found is None:
        raise ValueError(text)
    return int(found[1] or "0"), _DAYS.index(found[2])


def _is_valid_rule(made: RecurrenceRule) -> bool:
    numbered = any(number for number, _ in made.days)
    monthly = made.frequency == "MONTHLY" or (made.frequency == "YEARLY" and bool(made.months))
    return (
        1 <= made.interval <= 1_000
        and bool(_UNTIL.match(made.until))
        and made.count >= 0
        and all(1 <= month <= 12 for month in made.months)
        and all(1 <= abs(day) <= 31 for day in made.month_days)
        and all(abs(number) <= 5 for number, _ in made.days)
        and (monthly or not numbered)
        and not (made.frequency == "WEEKLY" and made.month_days)
        and not (made.frequency == "YEARLY" and made.days and not made.months)  # weekdays of a whole year: nobody's birthday
    )


def occurrences(made: RecurrenceRule, start: datetime) -> Iterator[datetime]:
    """The starts of a series in local time, in order; the first is ``start``, whatever the rule says. UNTIL is left to the
    caller.
    """
    yield start
    count = 1
    for number in range(_PERIODS):
        try:
            days = _days_of_period(made, start.date(), number)
        except (ValueError, OverflowError):
            return  # beyond the last year that dates have
        for day in days:
            if made.count and count >= made.count:
                return
            if day > start.date():
                count += 1
                yield datetime.combine(day, start.time())


def _days_of_period(made: RecurrenceRule, start: date, number: int) -> list[date]:
    """The days of the period that is ``number`` intervals after that of the start. Raises ValueError, OverflowError past the last
    date.
    """
    step = made.interval * number
    match made.frequency:
        case "DAILY":
            found = [start + timedelta(days=step)]
            found = [day for day in found if not made.days or (0, day.weekday()) in made.days]
            found = [day for day in found if not made.month_days or _is_rule_day(made, day)]
        case "WEEKLY":
            first = start - timedelta(days=(start.weekday() - made.week_start) % 7) + timedelta(weeks=step)
            wanted = {day for _, day in made.days} or {start.weekday()}
            found = [day for day in (first + timedelta(days=place) for place in range(7)) if day.weekday() in wanted]
        case "MONTHLY":
            years, month = divmod(start.month - 1 + step, 12)
            return _days_of_month(made, start, start.year + years, month + 1)
        case _:
            months = sorted(set(made.months)) or [start.month]
            return [day for month in months for day in _days_of_month(made, start, start.year + step, month)]
    return [day for day in found if not made.months or day.month in made.months]


def _is_rule_day(made: RecurrenceRule, day: date) -> bool:
    last = monthrange(day.year, day.month)[1]
    return day.day in made.month_days or day.day - last - 1 in made.month_days


def _days_of_month(made: RecurrenceRule, start: date, year: int, month: int) -> list[date]:
    """The days of a month that a rule names; one that the month has not is left out."""
    if made.months and month not in made.months:
        return []
    last = monthrange(year, month)[1]
    days = [date(year, month, item) for item in range(1, last + 1)]
    if not made.days and not made.month_days:
        return [item for item in days if item.day == start.day]
    if made.month_days:
        days = [day for day in days if _is_rule_day(made, day)]
    if made.days:
        days = [item for item in days if any(_is_nth_weekday(item, last, *day) for day in made.days)]
    return days


def _is_nth_weekday(day: date, last: int, number: int, weekday: int) -> bool:
    """Whether a day is the numbered weekday of its month, from the end where the number is below 0."""
    place = (day.day - 1) // 7 + 1 if number > 0 else -((last - day.day) // 7 + 1)
    return day.weekday() == weekday and (not number or place == number)
