"""Parses the time that a question names: "last Tuesday", "10.01.2024", "first week of March".

Times are relative to a moment, in a person's time zone. A weekday alone is the last one before today. A month without a year is the
most recent one that has begun. Time words of other languages are translated to English first. Chinese, Japanese and Korean texts,
which have no spaces, are searched with regular expressions.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from kept.core.pattern import compile_late
from kept.core.words import language_tables, plain_words

_WORDS: Mapping[str, str] = {
    word: english for table in language_tables("calendar") for english, words in table.items() for word in words.split()
}
# Time words with another meaning in another language (a git tag; German "hier"), each with other words of its own language. Next to
# other words, "tag" means a day only directly after one of these. "hier" means yesterday only if one of them occurs anywhere.
_HOMONYMS: Mapping[str, frozenset[str]] = {
    word: frozenset(others.split()) for table in language_tables("homonyms") for word, others in table.items()
}
_AGO = plain_words("ago_before")  # words before the number that mean "ago"
_SPANS = sorted(
    {(word, name) for table in language_tables("times") for name, words in table.items() for word in words.split()},
    key=lambda each: (-len(each[0]), each[0]),
)
_CJK_UNITS = {
    sign: unit for signs, unit in (("天日일", "day"), ("周週주", "week"), ("月월", "month"), ("年년", "year")) for sign in signs
}
_DIGITS = {
    digit: str(number)
    for number, digits in enumerate(("〇", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九"))
    for digit in digits
}


_DENSE_DATE = compile_late(r"(?:(20\d\d)\s*[年년]\s*)?(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日号號일])?(?!\s*[前전])")
_DENSE_YEAR = compile_late(r"(20\d\d)\s*[年년]")
_DENSE_AGO = compile_late(
    r"(\d{1,3}|[一二两兩三四五六七八九])\s*[个個ヶか개]?\s*([天日일周週주月월年년])[間间]?\s*(?:前|之前|以前|전)"
)


_UTC = ZoneInfo("UTC")
_CHARACTERS = 1_000
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_SHORT_MONTHS = {name[:3]: number for number, name in enumerate(_MONTHS)} | {"sept": 8}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first month of each season on the northern hemisphere
# Words after a season's name that give it another meaning: "spring boot", "fall back".
_PRODUCTS = frozenset(
    {"boot", "framework", "security", "data", "cloud", "mvc", "webflux", "batch", "integration", "jpa", "kafka", "ai", "shell"}
    | {"bean", "beans", "bom", "app", "application", "applications", "project", "projects", "config", "context", "tests", "back"}
)
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 5}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "few": 3, "couple": 2}
_UNITS = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
_PARTS = {"early": (1, 11), "mid": (10, 21), "middle": (10, 21), "late": (20, 32), "beginning": (1, 11), "end": (20, 32)}
_OPEN = {"before": "until", "until": "until", "till": "until", "by": "until", "after": "since", "since": "since"}
_LEAD = frozenset(
    {"in", "on", "at", "over", "during", "of", "the", "around", "der", "dem", "den", "la", "le", "el", "il", "a", "o", "на"}
)
# Words before "3 may" or "3 march" that show that these are dates and not verbs.
_DATED = tuple([word] for word in (*_OPEN, "on", "from", "of", "le", "el", "il"))


_Found = tuple[tuple[date, date], int]  # the first and last day, and the number of words that name them


class TimeSpan(NamedTuple):
    """A span of time ``[since, until)``, with None for an open end. ``label`` is its wording, ``rest`` the rest of the question."""

    since: datetime | None
    until: datetime | None
    label: str
    rest: str = ""


def parse_time_span(question: str, now: datetime, zone: ZoneInfo, *, month_first: bool = False) -> TimeSpan | None:
    """The time span that a question names; None if it names none. ``month_first`` reads 10/01/2024 as the first of October."""
    raw, words = _split_question_words(question)
    today = now.astimezone(zone).date()
    for place in range(len(words)):
        side = _OPEN.get(words[place], "")
        start = place + 1 if side else place
        lead = start
        while lead < len(words) and lead < start + 2 and words[lead] in _LEAD:
            lead += 1
        if lead == len(words):
            break
        found = _parse_span(words, lead, today) or _parse_numeric_date(
            words[lead], month_first=month_first, led=lead > place or not lead
        )
        if found is not None:
            (first, last), length = found
            label = " ".join(raw[place : lead + length]).lower().strip(".,;:!?()\"'“”")
            rest = " ".join((*raw[:place], *raw[lead + length :]))
            since: datetime | None = _day_start(first, zone)
            until: datetime | None = _day_start(last + timedelta(days=1), zone)
            if side == "since":
                since, until = until if words[place] == "after" else since, None
            elif side == "until":
                since, until = None, since if words[place] == "before" else until
            return TimeSpan(since, until, label, rest=rest)
    return _parse_cjk_span(question[:_CHARACTERS], today, zone)


def _split_question_words(question: str) -> tuple[list[str], list[str]]:
    """The words of a question's first 1,000 characters, as written and normalized.

    Normalized words are in lower case, without punctuation, and time words are translated to English. A season that begins a
    product name ("Spring" in "Spring Boot") becomes an empty string.
    """
    raw = question[:_CHARACTERS].split()
    words = [item.lower().strip(".,;:!?()\"'“”") for item in raw]
    words = [item.removesuffix("'s").removesuffix("’s") for item in words]
    return raw, [
        _translate_time_word(words, place) if not _is_product_name(raw, words, place) else "" for place in range(len(words))
    ]


def _translate_time_word(words: Sequence[str], place: int) -> str:
    """The English word for a time word; any other word unchanged.

    A homonym (``_HOMONYMS``) is translated only if it is the whole question, or directly follows a number or a word of its own
    language. "hier" is also translated if such a word occurs anywhere.
    """
    word, before = words[place], words[place - 1] if place else ""
    beside = _HOMONYMS.get(word)
    alone = len(words) == 1 or beside is None or before in beside or (word == "hier" and not beside.isdisjoint(words))
    return _WORDS.get(word, word) if alone or before.isdecimal() else word


def _is_product_name(raw: Sequence[str], words: Sequence[str], place: int) -> bool:
    """True if a season's name is the first word of a longer name (Spring Boot)."""
    after = raw[place + 1] if place + 1 < len(raw) else ""
    return words[place] in _SEASONS and raw[place][:1].isupper() and raw[place][-1:].isalpha() and after[:1].isupper()


def parse_day_range(text: str, today: date) -> tuple[date, date] | None:
    """The first and last day that a text names, if it is nothing but a date: ``2026-01-05``, ``monday``, ``last week``, ``3 days
    ago``.

    A range that includes today ends today. Accepts every language of :func:`parse_time_span`. None if the text says anything else.
    """
    moment = datetime.combine(today, time(12), UTC)
    found = parse_time_span(text.strip(), moment, _UTC)
    if found is None or found.since is None or found.until is None or found.rest:
        return None
    return found.since.date(), min(found.until.date() - timedelta(days=1), max(today, found.since.date()))


def is_month_first_locale(env: Mapping[str, str]) -> bool:
    """True if a person's locale writes 10/01/2024 for the first of October."""
    return (env.get("LC_ALL") or env.get("LC_TIME") or env.get("LANG") or "").startswith("en_US")


def _parse_cjk_span(text: str, today: date, zone: ZoneInfo) -> TimeSpan | None:
    """The first time span that :func:`_find_cjk_times` finds in a Chinese, Japanese or Korean text."""
    for start, end, found in _find_cjk_times(text, today) if not text.isascii() else ():
        if found is not None:
            first, last = found
            rest = f"{text[:start]} {text[end:]}".strip()
            return TimeSpan(_day_start(first, zone), _day_start(last + timedelta(days=1), zone), text[start:end], rest=rest)
    return None


def _find_cjk_times(text: str, today: date) -> Iterator[tuple[int, int, tuple[date, date] | None]]:
    """The times at characters ``[start, end)``: dates, then years, then the first of each time word. None for an impossible one."""
    for match in _DENSE_DATE.finditer(text):
        year, month, day = (int(part or 0) for part in match.groups())
        if 1 <= month <= 12:
            words = [*([str(day)] if day else []), _MONTHS[month - 1], *([str(year)] if year else [])]
            yield *match.span(), (_parse_month(words, 0, today, sure=True) or (None,))[0]
    for match in _DENSE_YEAR.finditer(text):
        yield *match.span(), (date(int(match[1]), 1, 1), date(int(match[1]), 12, 31))
    for match in _DENSE_AGO.finditer(text):
        ago = [_DIGITS.get(match[1], match[1]), _CJK_UNITS[match[2]], "ago"]
        yield *match.span(), (_parse_ago(ago, 0, today) or (None,))[0]
    for word, name in _SPANS:
        if (start := text.find(word)) >= 0:
            unit, back = name.split()
            span = _weekend_span(today, int(back)) if unit == "weekend" else _calendar_unit_span(today, unit, int(back))
            yield start, start + len(word), span


def _day_start(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _parse_span(words: Sequence[str], at: int, today: date) -> _Found | None:
    """The first and last day that the words from ``at`` on name, and the number of those words."""
    word, after, third = (words[at + n] if at + n < len(words) else "" for n in range(3))
    match word:
        case "today" | "tonight":
            return (today, today), 1
        case "yesterday":
            day = today - timedelta(days=1)
            return (day, day), 1
        case "last" | "past" | "previous" | "this" | "recent" if _parse_week_of_month(words, at, today) is None:
            return _parse_relative(word, after, third, today)
        case "y" if after == "a":  # French "il y a" (ago)
            return _parse_ago_prefix(words, at + 2, today, 2)
        case _ if word in _AGO:
            return _parse_ago_prefix(words, at + 1, today, 1)
        case "early" | "mid" | "middle" | "late" | "beginning" | "end":
            month = at + (2 if after == "of" else 1)
            found = _parse_month(words, month, today, sure=True) if month < len(words) else None
            return (_part_of_month(found[0], _PARTS[word]), found[1] + month - at) if found and _is_whole_month(found[0]) else None
    if "-" in word and word.split("-", 1)[0] in _PARTS:  # such as mid-January
        part, _, name = word.partition("-")
        found = _parse_month([name, after], 0, today)
        return (_part_of_month(found[0], _PARTS[part]), found[1]) if found and _is_whole_month(found[0]) else None
    if named := _parse_week_of_month(words, at, today) or _parse_quarter(words, at, today) or _parse_season(words, at, today):
        return named
    if word == "weekend" and at and words[at - 1] in ("over", "on", "at", "the", "in"):
        return _weekend_span(today, 0), 1
    if after == "last" and word != "day" and (found := _parse_relative("last", word, "", today)) is not None:
        return found  # such as "la semaine dernière"
    if word in _DAYS:
        day = today - timedelta(days=(today.weekday() - _DAYS.index(word)) % 7 or 7)
        return (day, day), 1
    if (ago := _parse_ago(words, at, today)) is not None:
        return ago
    if (iso := _parse_iso_date(word)) is not None:
        return (iso, iso), 1
    if (year := _parse_year(word)) and at and words[at - 1] in ("in", "during", "of"):
        return (date(year, 1, 1), date(year, 12, 31)), 1
    return _parse_month(words, at, today)


def _parse_relative(word: str, after: str, third: str, today: date) -> _Found | None:
    if after == "weekend":
        return _weekend_span(today, 0 if word == "this" else 1), 2
    if after in _SEASONS and word != "recent":
        return _season_span(after, today, last=word != "this"), 2
    if after in _DAYS and word != "recent":
        back = (today.weekday() - _DAYS.index(after)) % 7
        day = today - timedelta(days=back if word == "this" else back or 7)
        return (day, day), 2
    if after in _MONTHS:
        found = _parse_month([after], 0, today, sure=not third)
        return (found[0], 2) if found else None
    number = _NUMBERS.get(after, int(after) if after.isdecimal() and len(after) < 4 else 0)
    unit = third.removesuffix("s")
    if number and unit in _UNITS and word != "this":
        return (today - timedelta(days=number * _UNITS[unit]), today), 3
    if word == "recent" or after not in _UNITS:
        return None
    return _calendar_unit_span(today, after, 0 if word == "this" else 1), 2


def _calendar_unit_span(today: date, unit: str, back: int) -> tuple[date, date]:
    """The calendar day, week, month, quarter or year that is ``back`` units before today's."""
    match unit:
        case "day":
            return today - timedelta(days=back), today - timedelta(days=back)
        case "week":
            monday = today - timedelta(days=today.weekday() + 7 * back)
            return monday, monday + timedelta(days=6)
        case "month":
            return _months_span(today.year - (today.month <= back), (today.month - back - 1) % 12 + 1)
        case "quarter":
            start = 3 * ((today.month - 1) // 3) + 1 - 3 * back
            return _months_span(today.year + (start - 1) // 12, (start - 1) % 12 + 1, 3)
        case _:
            return date(today.year - back, 1, 1), date(today.year - back, 12, 31)


def _weekend_span(today: date, back: int) -> tuple[date, date]:
    """The most recent weekend that has begun. With ``back``, the most recent one that is over."""
    saturday = today - timedelta(days=(today.weekday() - 5) % 7)
    if back and saturday + timedelta(days=1) >= today:
        saturday -= timedelta(days=7)
    return saturday, saturday + timedelta(days=1)


def _parse_week_of_month(words: Sequence[str], at: int, today: date) -> _Found | None:
    """Parses ``first week of March``, ``last week in May 2024``."""
    number = _ORDINALS.get(words[at], 0)
    if not number or words[at + 1 : at + 3] not in (["week", "of"], ["week", "in"]):
        return None
    found = _parse_month(words, at + 3, today, sure=True) if at + 3 < len(words) else None
    if found is None or not _is_whole_month(found[0]):
        return None
    (first, last), length = found
    start = last - timedelta(days=6) if number == 5 else first + timedelta(days=7 * (number - 1))
    return (start, min(last, start + timedelta(days=6))), 3 + length


def _parse_quarter(words: Sequence[str], at: int, today: date) -> _Found | None:
    """Parses ``Q1``, ``Q3 2024``, ``first quarter of 2024``."""
    word, after, third, fourth = (words[at + n] if at + n < len(words) else "" for n in range(4))
    if len(word) == 2 and word[0] == "q" and word[1] in "1234":
        number, year, length = int(word[1]), _parse_year(after), 1
    elif after == "quarter" and 1 <= _ORDINALS.get(word, 0) <= 4:
        number, year, length = _ORDINALS[word], _parse_year(third) or (_parse_year(fourth) if third == "of" else 0), 2
        length += bool(year) and third == "of"
    else:
        return None
    start = 3 * number - 2
    return _months_span(year or today.year - (date(today.year, start, 1) > today), start, 3), length + bool(year)


def _parse_season(words: Sequence[str], at: int, today: date) -> _Found | None:
    """Parses ``in spring``, ``summer 2024``. The name of a season alone does not count, because it mostly means something else."""
    after = words[at + 1] if at + 1 < len(words) else ""
    if words[at] not in _SEASONS:
        return None
    if year := _parse_year(after):
        return _months_span(year, _SEASONS[words[at]], 3), 2
    led = (
        at
        and after not in _PRODUCTS
        and (words[at - 1] in ("in", "during") or words[at - 2 : at] in (["in", "the"], ["during", "the"]))
    )
    return (_season_span(words[at], today, last=False), 1) if led else None


def _season_span(name: str, today: date, *, last: bool) -> tuple[date, date]:
    """The most recent season with this name that has begun. With ``last``, the most recent one that is over."""
    for year in (today.year, today.year - 1, today.year - 2):
        first, end = _months_span(year, _SEASONS[name], 3)
        if first <= today and (not last or end < today):
            break
    return first, end


def _months_span(year: int, month: int, count: int = 1) -> tuple[date, date]:
    """The first and last day of ``count`` months from the given one on."""
    after = month + count - 1
    return date(year, month, 1), date(year + after // 12, after % 12 + 1, 1) - timedelta(days=1)


def _parse_numeric_date(word: str, *, month_first: bool, led: bool) -> _Found | None:
    """Parses ``10.01.2024``, ``10/01/2024``, ``2024/01/10``, ``01/2024``, ``2024-01``.

    ``10.01.24`` may be a version, so it counts only if it is ``led``: after a preposition, or at the beginning of the question.
    """
    mark = next((item for item in "./-" if item in word), "")
    parts = word.split(mark) if mark else []
    if not all(part.isdecimal() and part.isascii() for part in parts):
        return None
    match parts:
        case [first, second, year] if len(year) == 4 or (
            len(first) == len(second) == len(year) == 2 and (mark == "/" or (mark == "." and led))
        ):
            numbers = [int(first), int(second)]
            if mark == "/" and month_first != (numbers[not month_first] > 12):
                numbers.reverse()
            return _make_day_span(int(year) + 2000 * (len(year) == 2), numbers[1], numbers[0])
        case [year, month, day] if len(year) == 4:
            return _make_day_span(int(year), int(month), int(day))
        case [first, second] if {len(first), len(second)} == {2, 4}:
            year, month = (first, second) if len(first) == 4 else (second, first)
            return (_months_span(_parse_year(year), int(month)), 1) if _parse_year(year) and 1 <= int(month) <= 12 else None
    return None


def _make_day_span(year: int, month: int, day: int) -> _Found | None:
    try:
        found = date(year, month, day)
    except (ValueError, OverflowError):
        return None
    return ((found, found), 1) if 2000 <= year < 2100 else None


def _parse_ago_prefix(words: Sequence[str], at: int, today: date, before: int) -> _Found | None:
    """Parses ``vor drei Tagen``, ``il y a trois jours``; ``before`` is the number of words before the number."""
    found = _parse_ago([*words[at : at + 2], "ago"], 0, today)
    return (found[0], before + 2) if found else None


def _parse_ago(words: Sequence[str], at: int, today: date) -> _Found | None:
    word, after, third = (words[at + n] if at + n < len(words) else "" for n in range(3))
    number = _NUMBERS.get(word, int(word) if word.isdecimal() and len(word) < 4 else 0)
    unit = after.removesuffix("s")
    if not number or unit not in _UNITS or third != "ago":
        return None
    middle = today - timedelta(days=number * _UNITS[unit])
    slack = timedelta(days={"day": 0, "week": 3, "month": 15, "quarter": 45, "year": 90}[unit])
    return (middle - slack, middle + slack), 3


def _parse_iso_date(word: str) -> date | None:
    try:
        day = date.fromisoformat(word) if len(word) == 10 and word[4] == "-" else None
    except ValueError:
        return None
    return day if day and MINYEAR < day.year < MAXYEAR else None  # leaves room for callers to add and subtract days


def _parse_month(words: Sequence[str], at: int, today: date, *, sure: bool = False) -> _Found | None:
    """Parses ``March``, ``March 2025``, ``March 5``, ``5 March 2025``, ``5 Jan 2024``, ``17th of January``.

    ``sure`` means that the context rules out the verbs "may" and "march".
    """
    word, after, third = (words[at + n] if at + n < len(words) else "" for n in range(3))
    if day := _parse_day_number(word):
        of = after == "of"
        named = _month_number(third if of else after)
        if not named:
            return None
        year = next((_parse_year(item) for item in words[at + 2 + of : at + 4 + of] if item not in ("of", ",")), 0)
        bare = word.isdecimal() and not of and not year and _MONTHS[named - 1] in ("may", "march")  # "step 3 may fail"
        if bare and words[max(0, at - 1) : at] not in _DATED and len(words) > 2:
            return None
        length = 2 + of + (1 + (words[at + 2 + of] == "of") if year else 0)
        return _resolve_day(year or today.year, named, day, today, fixed=bool(year), length=length)
    short = _SHORT_MONTHS.get(word) is not None and word not in _MONTHS and bool(_parse_day_number(after) or _parse_year(after))
    if not short and (word not in _MONTHS or (word in ("may", "march") and not sure and not _is_month_name(words, at))):
        return None
    month = _month_number(word)
    if after == "of" and _parse_year(third):
        return _months_span(_parse_year(third), month), 3
    if day := _parse_day_number(after):
        year = _parse_year(third)
        return _resolve_day(year or today.year, month, day, today, fixed=bool(year), length=3 if year else 2)
    year = _parse_year(after)
    span = _months_span(year or today.year, month)
    return (span if year or span[0] <= today else _months_span(today.year - 1, month)), 2 if year else 1


def _month_number(word: str) -> int:
    """The number of a month, 1 to 12; 0 if the word is not a month."""
    return _MONTHS.index(word) + 1 if word in _MONTHS else _SHORT_MONTHS.get(word, -1) + 1


def _is_month_name(words: Sequence[str], at: int) -> bool:
    """True if ``may`` or ``march`` is a month here.

    That is so after a preposition, before a number or before "of" with a year, and at the end of the text after "last" or "this".
    """
    before, after, third = (words[at + n] if 0 <= at + n < len(words) else "" for n in (-1, 1, 2))
    led = before in ("in", "during", "of", "since", "until", "before", "after", "by")
    ends = before in ("last", "this") and not after  # in "the last may fail", may is a verb
    return led or ends or after[:1].isdigit() or (after == "of" and _parse_year(third) > 0)


def _parse_day_number(word: str) -> int:
    bare = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return int(bare) if bare.isdecimal() and len(bare) <= 2 and 1 <= int(bare) <= 31 else 0


def _parse_year(word: str) -> int:
    return int(word) if word.isdecimal() and len(word) == 4 and 2000 <= int(word) < 2100 else 0


def _resolve_day(year: int, month: int, day: int, today: date, *, fixed: bool, length: int) -> _Found | None:
    try:
        found = date(year, month, day)
        if found > today and not fixed:
            found = date(year - 1, month, day)
    except ValueError:
        return None
    return (found, found), length


def _is_whole_month(span: tuple[date, date]) -> bool:
    return span == _months_span(span[0].year, span[0].month)


def _part_of_month(span: tuple[date, date], days: tuple[int, int]) -> tuple[date, date]:
    first, last = span
    return max(first, first.replace(day=days[0])), min(last, first + timedelta(days=days[1] - 2))
