"""Find the end date that a statement contains: "until Friday", "valid until 2027-03-01", "for the next two weeks".

Dates are relative to the time of the statement, in the person's time zone. A named day is included. Only simple forms are found, in
all lexicon languages. Recurring times, ranges of weekdays and past dates give no end.
"""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from kept.core.memory import Candidate
from kept.core.pattern import compile_late
from kept.profiles.lexicons import calendar_words, join_alternatives, number_words

_TEXT_CHARS = 1_000
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_WEEKDAYS, _MONTHS = calendar_words("weekdays"), calendar_words("months")
_UNITS = {word: unit for unit in _DAYS for word in join_alternatives("expiry", unit, spaced=True).split("|")}
_UNIT = "|".join(map(re.escape, _UNITS))
_MONTH = "|".join(map(re.escape, _MONTHS))
_NUMBER = "|".join(map(re.escape, number_words()))
_WHEN = (
    rf"(?:(?P<iso>\d{{4}}-\d\d-\d\d)|(?P<day>{'|'.join(map(re.escape, _WEEKDAYS))})"
    rf"|(?P<first>\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of| de)? (?P<month>{_MONTH})(?:,? (?P<year>\d{{4}}))?"
    rf"|(?P<month2>{_MONTH}) (?P<second>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year2>\d{{4}}))?"
    rf"|(?:{join_alternatives('expiry', 'end_of', spaced=True)}) (?P<whole>{_UNIT}))"
)
_AHEAD = rf"(?:{join_alternatives('expiry', 'next', spaced=True)}) (?:(?P<count>\d{{1,2}}|{_NUMBER}) )?(?P<unit>{_UNIT})"
_UNTIL = join_alternatives("expiry", "until", spaced=True)
_END = compile_late(rf"(?<![\w-])(?:(?:{_UNTIL}) {_WHEN}|{_AHEAD})(?![\w-])")
_REPEATS = compile_late(rf"(?i)(?<![\w-])(?:{join_alternatives('expiry', 'repeats', spaced=True)})(?![\w-])")
_WORD = compile_late(r"[\w-]+")


def find_end(text: str, at: datetime | None, zone: ZoneInfo) -> datetime | None:
    """The end that a statement made at ``at`` names for itself. None if it names none, or one that had already passed."""
    match = _END.search(text[:_TEXT_CHARS].lower()) if at is not None else None
    if match is None or at is None or _REPEATS.search(text) or (match["day"] and _count_weekdays(text) > 1):
        return None
    try:
        last = _find_last_day(match, at.astimezone(zone).date())
        end = datetime.combine(last + timedelta(days=1), time(), zone).astimezone(UTC) if last is not None else None
    except OverflowError:  # "until 9999-12-31" counts as having no end
        return None
    return end if end is not None and end > at else None


def add_end(candidate: Candidate, zone: ZoneInfo) -> Candidate:
    """The candidate with the end that its words name. Unchanged if it has an end already."""
    return candidate if candidate.valid_until else replace(candidate, valid_until=find_end(candidate.content, candidate.at, zone))


def _count_weekdays(text: str) -> int:
    return sum(word.casefold() in _WEEKDAYS for word in _WORD.findall(text[:_TEXT_CHARS]))


def _find_last_day(match: re.Match[str], today: date) -> date | None:
    if match["unit"]:
        count = number_words().get(match["count"], match["count"]) if match["count"] else "1"
        return today + timedelta(days=int(count) * _DAYS[_UNITS[match["unit"]]])
    if match["day"]:
        return today + timedelta(days=(_WEEKDAYS[match["day"]] - today.weekday()) % 7)
    if match["whole"]:
        return _find_period_end(_UNITS[match["whole"]], today)
    if match["iso"]:
        return _build_date(*map(int, match["iso"].split("-")))
    month, day, year = match["month"] or match["month2"], match["first"] or match["second"], match["year"] or match["year2"]
    named = _build_date(int(year or today.year), _MONTHS[month], int(day))
    return _build_date(named.year + 1, named.month, named.day) if named is not None and named < today and not year else named


def _find_period_end(unit: str, today: date) -> date | None:
    match unit:
        case "week":
            return today + timedelta(days=6 - today.weekday())
        case "month":
            return (today.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        case "year":
            return today.replace(month=12, day=31)
        case _:
            return today


def _build_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
