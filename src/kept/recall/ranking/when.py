"""The time a question speaks of: "last Tuesday", "in March", "before the release". Relative to a moment, in a person's zone.
English.

Reads words one after another, without patterns, so its cost is that of splitting the text. A weekday or month without more is the
last one.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from kept.recall.ranking.question import telling_words

_CHARACTERS = 1_000
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "few": 3, "couple": 2}
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}
_PARTS = {"early": (1, 11), "mid": (10, 21), "middle": (10, 21), "late": (20, 32), "beginning": (1, 11), "end": (20, 32)}
_OPEN = {"before": "until", "until": "until", "till": "until", "by": "until", "after": "since", "since": "since"}
_LEAD = frozenset({"in", "on", "during", "of", "the", "around"})


class When(NamedTuple):
    """A span of time: [since, until), None where it is open; what it is called in the question; words by which it is to be found.

    ``event`` are the words of what bounds it where that is no date ("the release"): whoever knows its time puts it at ``side``.
    """

    since: datetime | None
    until: datetime | None
    label: str
    event: tuple[str, ...] = ()
    side: str = ""
    rest: str = ""


def when(question: str, now: datetime, zone: ZoneInfo) -> When | None:
    """The span a question names, and the question without it; None where it names none."""
    raw = question[:_CHARACTERS].split()
    words = [each.lower().strip(".,;:!?()\"'“”") for each in raw]
    words = [each.removesuffix("'s").removesuffix("’s") for each in words]
    today = now.astimezone(zone).date()
    for place in range(len(words)):
        side = _OPEN.get(words[place], "")
        start = place + 1 if side else place
        lead = start
        while lead < len(words) and lead < start + 2 and words[lead] in _LEAD:
            lead += 1
        found = _span(words, lead, today)
        if found is not None:
            (first, last), length = found
            label = " ".join(words[place : lead + length])
            rest = " ".join((*raw[:place], *raw[lead + length :]))
            since, until = _edge(first, zone), _edge(last + timedelta(days=1), zone)
            match side, words[place]:
                case "since", "after":
                    return When(until, None, label, rest=rest)
                case "since", _:
                    return When(since, None, label, rest=rest)
                case "until", "before":
                    return When(None, since, label, rest=rest)
                case "until", _:
                    return When(None, until, label, rest=rest)
                case _:
                    return When(since, until, label, rest=rest)
    return _bounded_by_event(raw, words)


def _bounded_by_event(raw: Sequence[str], words: Sequence[str]) -> When | None:
    for place, word in enumerate(words[:-2]):
        if word in ("before", "after", "since") and words[place + 1] in ("the", "our", "my", "that"):
            event = telling_words(" ".join(words[place + 2 : place + 5]))
            if event:
                label = " ".join(words[place : place + 3])
                return When(None, None, label, event, _OPEN[word], " ".join(raw[:place]))
    return None


def _edge(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _span(words: Sequence[str], at: int, today: date) -> tuple[tuple[date, date], int] | None:
    """The days that the words from a place on name, and how many words that are."""
    word, after, third = (words[at + n] if at + n < len(words) else "" for n in range(3))
    match word:
        case "today" | "tonight":
            return (today, today), 1
        case "yesterday":
            day = today - timedelta(days=1)
            return (day, day), 1
        case "last" | "past" | "previous" | "this" | "recent":
            return _relative(word, after, third, today)
        case "early" | "mid" | "middle" | "late" | "beginning" | "end":
            month = at + (2 if after == "of" else 1)
            found = _month(words, month, today) if month < len(words) else None
            return (_part(found[0], _PARTS[word]), found[1] + month - at) if found else None
    if "-" in word and word.split("-", 1)[0] in _PARTS:  # mid-January
        part, _, name = word.partition("-")
        found = _month([name, after], 0, today)
        return (_part(found[0], _PARTS[part]), found[1]) if found else None
    if word in _DAYS:
        day = today - timedelta(days=(today.weekday() - _DAYS.index(word)) % 7 or 7)
        return (day, day), 1
    if (ago := _ago(word, after, third, today)) is not None:
        return ago
    if (iso := _iso(word)) is not None:
        return (iso, iso), 1
    if word.isdecimal() and len(word) == 4 and 2000 <= int(word) < 2100 and at and words[at - 1] in ("in", "during", "of"):
        return (date(int(word), 1, 1), date(int(word), 12, 31)), 1
    return _month(words, at, today)


def _relative(word: str, after: str, third: str, today: date) -> tuple[tuple[date, date], int] | None:
    if after in _DAYS and word != "recent":
        back = (today.weekday() - _DAYS.index(after)) % 7
        day = today - timedelta(days=back if word == "this" else back or 7)
        return (day, day), 2
    if after in _MONTHS:
        found = _month([after], 0, today)
        return (found[0], 2) if found else None
    number = _NUMBERS.get(after, int(after) if after.isdecimal() and len(after) < 4 else 0)
    unit = third.removesuffix("s")
    if number and unit in _UNITS and word != "this":
        return (today - timedelta(days=number * _UNITS[unit]), today), 3
    if word == "recent" or after not in _UNITS:
        return None
    return _unit_before(today, after, 0 if word == "this" else 1), 2


def _unit_before(today: date, unit: str, back: int) -> tuple[date, date]:
    """The calendar day, week, month or year that lies so many back."""
    match unit:
        case "day":
            return today - timedelta(days=back), today - timedelta(days=back)
        case "week":
            monday = today - timedelta(days=today.weekday() + 7 * back)
            return monday, monday + timedelta(days=6)
        case "month":
            return _month_span(today.year - (today.month <= back), (today.month - back - 1) % 12 + 1)
        case _:
            return date(today.year - back, 1, 1), date(today.year - back, 12, 31)


def _ago(word: str, after: str, third: str, today: date) -> tuple[tuple[date, date], int] | None:
    number = _NUMBERS.get(word, int(word) if word.isdecimal() and len(word) < 4 else 0)
    unit = after.removesuffix("s")
    if not number or unit not in _UNITS or third != "ago":
        return None
    middle = today - timedelta(days=number * _UNITS[unit])
    slack = timedelta(days={"day": 0, "week": 3, "month": 15, "year": 90}[unit])
    return (middle - slack, middle + slack), 3


def _iso(word: str) -> date | None:
    try:
        return date.fromisoformat(word) if len(word) == 10 and word[4] == "-" else None
    except ValueError:
        return None


def _month(words: Sequence[str], at: int, today: date) -> tuple[tuple[date, date], int] | None:
    """``March``, ``March 2025``, ``March 5``, ``5 March 2025``."""
    word, after, third = (words[at + n] if at + n < len(words) else "" for n in range(3))
    if (day := _ordinal(word)) and after in _MONTHS:
        year = _year(third)
        return _one_day(year or today.year, _MONTHS.index(after) + 1, day, today, fixed=bool(year), length=3 if year else 2)
    if word not in _MONTHS or (word in ("may", "march") and not _is_name(words, at)):
        return None
    month = _MONTHS.index(word) + 1
    if day := _ordinal(after):
        year = _year(third)
        return _one_day(year or today.year, month, day, today, fixed=bool(year), length=3 if year else 2)
    year = _year(after)
    span = _month_span(year or today.year, month)
    return (span if year or span[0] <= today else _month_span(today.year - 1, month)), 2 if year else 1


def _is_name(words: Sequence[str], at: int) -> bool:
    """Whether ``may`` or ``march`` is a month here: a preposition before it, or a number after it."""
    before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    return before in ("in", "during", "of", "last", "this", "since", "until", "before", "after", "by") or after[:1].isdigit()


def _ordinal(word: str) -> int:
    bare = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return int(bare) if bare.isdecimal() and len(bare) <= 2 and 1 <= int(bare) <= 31 else 0


def _year(word: str) -> int:
    return int(word) if word.isdecimal() and len(word) == 4 and 2000 <= int(word) < 2100 else 0


def _one_day(year: int, month: int, day: int, today: date, *, fixed: bool, length: int) -> tuple[tuple[date, date], int] | None:
    try:
        found = date(year, month, day)
        if found > today and not fixed:
            found = date(year - 1, month, day)
    except ValueError:
        return None
    return (found, found), length


def _month_span(year: int, month: int) -> tuple[date, date]:
    after = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), after - timedelta(days=1)


def _part(span: tuple[date, date], days: tuple[int, int]) -> tuple[date, date]:
    first, last = span
    return max(first, first.replace(day=days[0])), min(last, first + timedelta(days=days[1] - 2))
