"""Read a calendar (iCalendar, RFC 5545) from a file or URL: past and current events, including recurring ones.

An event is delivered on its day and not before, because until then it may be moved or cancelled.
"""

from calendar import monthrange
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from kept.core.errors import SourceError
from kept.core.pattern import Pattern
from kept.core.times import parse_instant
from kept.core.value import dataclass, replace
from kept.journal.entry import FeedItem
from kept.journal.feeds.base import MOST_ITEMS, FeedRequest, FeedResult, clean_feed_text, clean_feed_title, item_key, read_data

_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_RULE_PARTS = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYMONTHDAY", "BYDAY"})
_DAY = Pattern(r"^([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)$")
_UNTIL = Pattern(r"^(?:\d{8}(?:T\d{6}Z?)?)?$")
_MOST_PERIODS = 40_000  # of a series, which are expanded


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurrenceRule:
    """A recurrence rule. ``days`` are pairs of a number in the month (0: every one) and a weekday (0: Monday). ``until`` is as in
    the file.
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
    """Parse the value of an RRULE; None if it is malformed or uses an unsupported part. Never raises."""
    parts: Mapping[str, str] = {
        name.strip(): value.strip() for name, _, value in (part.partition("=") for part in text.strip().upper().split(";") if part)
    }
    if parts.keys() - _RULE_PARTS or parts.get("FREQ") not in _FREQUENCIES:
        return None
    try:
        rule = RecurrenceRule(
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
    return rule if _is_valid_rule(rule) else None


def _parse_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def _parse_weekday(text: str) -> tuple[int, int]:
    found = _DAY.match(text)
    if found is None:
        raise ValueError(text)
    return int(found[1] or "0"), _DAYS.index(found[2])


def _is_valid_rule(rule: RecurrenceRule) -> bool:
    numbered = any(number for number, _ in rule.days)
    monthly = rule.frequency == "MONTHLY" or (rule.frequency == "YEARLY" and bool(rule.months))
    return (
        1 <= rule.interval <= 1_000
        and bool(_UNTIL.match(rule.until))
        and rule.count >= 0
        and all(1 <= month <= 12 for month in rule.months)
        and all(1 <= abs(day) <= 31 for day in rule.month_days)
        and all(abs(number) <= 5 for number, _ in rule.days)
        and (monthly or not numbered)
        and not (rule.frequency == "WEEKLY" and rule.month_days)
        # weekdays counted over a whole year are not supported
        and not (rule.frequency == "YEARLY" and rule.days and not rule.months)
    )


def expand_recurrence(rule: RecurrenceRule, start: datetime) -> Iterator[datetime]:
    """Yield the starts of a series in local time, in order; ``start`` is always the first. The caller applies ``until``."""
    yield start
    count = 1
    for number in range(_MOST_PERIODS):
        try:
            days = _days_of_period(rule, start.date(), number)
        except (ValueError, OverflowError):
            return  # after the last year that dates support
        for day in days:
            if rule.count and count >= rule.count:
                return
            if day > start.date():
                count += 1
                yield datetime.combine(day, start.time())


def _days_of_period(rule: RecurrenceRule, start: date, number: int) -> list[date]:
    """The days in the period ``number`` intervals after that of the start. Raises ValueError or OverflowError after the last
    date.
    """
    step = rule.interval * number
    match rule.frequency:
        case "DAILY":
            day = start + timedelta(days=step)
            fits = not rule.days or (0, day.weekday()) in rule.days
            found = [day] if fits and (not rule.month_days or _is_rule_day(rule, day)) else []
        case "WEEKLY":
            first = start - timedelta(days=(start.weekday() - rule.week_start) % 7) + timedelta(weeks=step)
            wanted = {day for _, day in rule.days} or {start.weekday()}
            found = [day for day in (first + timedelta(days=place) for place in range(7)) if day.weekday() in wanted]
        case "MONTHLY":
            years, month = divmod(start.month - 1 + step, 12)
            return _days_of_month(rule, start, start.year + years, month + 1)
        case _:
            months = sorted(set(rule.months)) or [start.month]
            return [day for month in months for day in _days_of_month(rule, start, start.year + step, month)]
    return [day for day in found if not rule.months or day.month in rule.months]


def _is_rule_day(rule: RecurrenceRule, day: date) -> bool:
    last = monthrange(day.year, day.month)[1]
    return day.day in rule.month_days or day.day - last - 1 in rule.month_days


def _days_of_month(rule: RecurrenceRule, start: date, year: int, month: int) -> list[date]:
    """The days of a month that a rule selects; days that the month does not have are left out."""
    if rule.months and month not in rule.months:
        return []
    last = monthrange(year, month)[1]
    days = [date(year, month, item) for item in range(1, last + 1)]
    if not rule.days and not rule.month_days:
        return [item for item in days if item.day == start.day]
    if rule.month_days:
        days = [day for day in days if _is_rule_day(rule, day)]
    if rule.days:
        days = [item for item in days if any(_is_nth_weekday(item, last, *day) for day in rule.days)]
    return days


def _is_nth_weekday(day: date, last: int, number: int, weekday: int) -> bool:
    """True if a day is the numbered weekday of its month; a negative number counts from the end."""
    place = (day.day - 1) // 7 + 1 if number > 0 else -((last - day.day) // 7 + 1)
    return day.weekday() == weekday and (not number or place == number)


_LINE = Pattern(r"^([A-Za-z-]+)((?:;[^:;\"]*(?:\"[^\"]*\")?)*):(.*)$")
_ZONE = Pattern(r"(?i);TZID=\"?([^;:\"]+)\"?")
_ESCAPES = (("\\n", " "), ("\\N", " "), ("\\,", ","), ("\\;", ";"), ("\\\\", "\\"))
_MOST_OF_SERIES = 1_500  # newest occurrences that are kept: four years of a daily series
_LONGEST_SERIES = 50_000  # occurrences that are examined

Fields = Mapping[str, list[tuple[str, str]]]
"""The values of each field with their parameters."""

Event = tuple[Fields, datetime, str, ZoneInfo | None]
"""Its fields, start in local time, UID, and zone (None: a whole-day event)."""


def read_calendar(request: FeedRequest) -> FeedResult:
    """Read the events of a calendar up to today, if it changed or the next event is due. Raises SourceError."""
    stop = datetime.combine(request.now.astimezone(request.zone).date() + timedelta(days=1), time(), request.zone).astimezone(UTC)
    due = parse_instant(request.cursor.get("next", ""))
    asked = replace(request, cursor={}) if due is not None and due < stop else request
    data, cursor = read_data(asked)
    if data is None:
        return FeedResult(cursor={**request.cursor, **cursor})
    text = data.decode("utf-8-sig", "replace")
    if "BEGIN:VCALENDAR" not in text[:2_000].upper():
        raise SourceError("is no calendar", where=request.place)
    skipped = Counter[str]()
    events = [event for fields in _parse_events(text, skipped) if (event := _parse_event(fields, request, skipped)) is not None]
    moved = {
        (number, at)
        for fields, _, number, _ in events
        for field in fields.get("RECURRENCE-ID", [])[:1]
        for at in _parse_instants(field, request.zone)[:1]
    }
    items: dict[str, FeedItem] = {}
    coming: list[datetime] = []
    for event in events:
        for at, key in _event_starts(event, moved, request, stop, skipped):
            if at >= stop:
                coming.append(at)
            else:
                items[key] = _event_item(event[0], key, at, request)
    newest = sorted(items.values(), key=lambda one: str(one.at))[-MOST_ITEMS:]
    following = {"next": min(coming).isoformat()} if coming else {}
    return FeedResult(items=tuple(newest), cursor={**cursor, **following}, skipped=+skipped)


def _parse_events(text: str, skipped: Counter[str]) -> Iterator[Fields]:
    """Yield the fields of each event by name, with their parameters; fields of nested components such as alarms are skipped."""
    fields: dict[str, list[tuple[str, str]]] | None = None
    inner = ""
    for line in _unfold_lines(text):
        word = line.strip().upper()
        if word == "BEGIN:VEVENT":
            skipped["unfinished events"] += fields is not None
            fields, inner = {}, ""
        elif word == "END:VEVENT" and fields is not None:
            yield fields
            fields = None
        elif fields is not None and word.startswith("BEGIN:"):
            inner = word[6:]
        elif inner and word == f"END:{inner}":
            inner = ""
        elif fields is not None and not inner and (found := _LINE.match(line)):
            fields.setdefault(found[1].upper(), []).append((found[2] or "", found[3]))
    skipped["unfinished events"] += fields is not None


def _unfold_lines(text: str) -> list[str]:
    lines: list[str] = []
    for raw in text.splitlines():
        if raw[:1] in (" ", "\t") and lines:
            lines[-1] = (lines[-1] + raw[1:])[:10_000]
        else:
            lines.append(raw)
    return lines


def _parse_event(fields: Fields, request: FeedRequest, skipped: Counter[str]) -> Event | None:
    """An event with a date and a summary; None, and counted, for any other."""
    if _field_value(fields, "STATUS").strip().upper() == "CANCELLED":
        skipped["cancelled events"] += 1
        return None
    found = _parse_local_time(*fields.get("DTSTART", [("", "")])[0], request.zone)
    head = clean_feed_title(_unescape(_field_value(fields, "SUMMARY")))
    if found is None or not head:
        skipped["events without a date or a summary"] += 1
        return None
    return fields, found[0], _field_value(fields, "UID") or f"{found[0]}{head}", found[1]


def _event_starts(
    event: Event, moved: set[tuple[str, datetime]], request: FeedRequest, stop: datetime, skipped: Counter[str]
) -> Iterator[tuple[datetime, str]]:
    """Yield the starts of an event or of its series, up to the first one in the future, each with its key."""
    fields, start, number, zone = event
    rule = parse_recurrence_rule(_field_value(fields, "RRULE"))
    if rule is None or "RECURRENCE-ID" in fields:
        skipped["series with an unsupported rule, after their first event"] += rule is None and "RRULE" in fields
        if (at := _start_instant(start, zone, request.zone)) is not None:
            yield at, item_key(request.name, number, _field_value(fields, "RECURRENCE-ID"))
        return
    off = {at for text in fields.get("EXDATE", ()) for at in _parse_instants(text, request.zone)}
    found: deque[datetime] = deque(maxlen=_MOST_OF_SERIES)
    for at in islice(_series_instants(rule, start, zone, request.zone), _LONGEST_SERIES):
        if at not in off and (number, at) not in moved:
            skipped["the oldest events of long series"] += len(found) == _MOST_OF_SERIES
            found.append(at)
            if at >= stop:
                break
    yield from ((at, item_key(request.name, number, at.isoformat())) for at in found)


def _series_instants(rule: RecurrenceRule, start: datetime, zone: ZoneInfo | None, usual: ZoneInfo) -> Iterator[datetime]:
    """Yield the instants of a series until its rule ends."""
    last = _parse_local_time("", rule.until, zone or usual) if rule.until else None
    for occurrence in expand_recurrence(rule, start):
        at = _start_instant(occurrence, zone, usual)
        if last is not None:
            whole_day = last[1] is None
            over = (
                occurrence.date() > last[0].date()
                if whole_day or zone is None
                else at is None or at > _to_utc(last[0], last[1], usual)
            )
            if over:
                return
        if at is not None:
            yield at


def _to_utc(moment: datetime, zone: ZoneInfo | None, usual: ZoneInfo) -> datetime:
    return moment.replace(tzinfo=zone or usual).astimezone(UTC)


def _start_instant(start: datetime, zone: ZoneInfo | None, usual: ZoneInfo) -> datetime | None:
    """The instant of a local start; a whole-day event counts as noon. None after the last supported year."""
    try:
        return _to_utc(start.replace(hour=12) if zone is None else start, zone, usual)
    except OverflowError:
        return None


def _event_item(fields: Fields, key: str, at: datetime, request: FeedRequest) -> FeedItem:
    place = _unescape(_field_value(fields, "LOCATION"))
    rest = ", ".join(item for item in (place, _unescape(_field_value(fields, "DESCRIPTION"))) if item)
    return FeedItem(
        key=key,
        source=request.name,
        title=clean_feed_title(_unescape(_field_value(fields, "SUMMARY"))),
        text=clean_feed_text(rest),
        at=at,
    )


def _field_value(fields: Fields, name: str) -> str:
    return fields.get(name, [("", "")])[0][1]


def _unescape(value: str) -> str:
    for mark, other in _ESCAPES:
        value = value.replace(mark, other)
    return value


def _parse_instants(field: tuple[str, str], usual: ZoneInfo) -> list[datetime]:
    found = (_parse_local_time(field[0], part, usual) for part in field[1].split(","))
    return [at for item in found if item is not None and (at := _start_instant(item[0], item[1], usual)) is not None]


def _parse_local_time(parameters: str, value: str, usual: ZoneInfo) -> tuple[datetime, ZoneInfo | None] | None:
    """Parse a date or time as (local time, zone); the zone is None for a whole day. None if it is neither."""
    value = value.strip()
    try:
        if len(value) == 8:
            return datetime.combine(date.fromisoformat(value), time()), None
        stamp = datetime.strptime(value.rstrip("Zz"), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - the zone is another field
    except ValueError:
        return None
    if value[-1:] in ("Z", "z"):
        return stamp, ZoneInfo("UTC")
    named = _ZONE.search(parameters)
    return stamp, _find_zone(named[1], usual) if named else usual


def _find_zone(name: str, usual: ZoneInfo) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return usual
