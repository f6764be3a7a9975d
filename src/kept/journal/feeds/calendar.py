"""Read a calendar (iCalendar, RFC 5545) from a file or URL: its events up to today, including recurring ones.

An event is not delivered before its day, because it may still be moved or cancelled.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from kept.core.errors import SourceError
from kept.core.pattern import Pattern
from kept.core.times import parse_instant
from kept.core.value import replace
from kept.journal.entry import FeedItem
from kept.journal.feeds.base import MOST_ITEMS, FeedRequest, FeedResult, clean_feed_title, read_data

_WEEKDAY = "(?:MO|TU|WE|TH|FR|SA|SU)"
_LISTS = {"BYMONTH": "(?:0?[1-9]|1[0-2])", "BYMONTHDAY": r"[+-]?(?:0?[1-9]|[12]\d|3[01])", "BYDAY": f"(?:[+-]?0?[1-5])?{_WEEKDAY}"}
_PART = Pattern(
    rf"^(?:FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)|INTERVAL=[1-9]\d{{0,2}}|COUNT=\d{{1,6}}|UNTIL=(?:\d{{8}}(?:T\d{{6}}Z?)?)?"
    rf"|WKST={_WEEKDAY}|BYSETPOS=[+-]?[1-9]\d?|{'|'.join(f'{name}={item}(?:,{item})*' for name, item in _LISTS.items())})$"
)

RecurrenceRule = Mapping[str, str]
"""The parts of an RRULE by name, such as ``FREQ``."""


def parse_recurrence_rule(text: str) -> RecurrenceRule | None:
    """Parse the value of an RRULE. None if it is malformed or has a part that is not supported. Never raises."""
    parts = [part.partition("=") for part in text.upper().split(";") if part.strip()]
    rule = {name.strip(): value.strip() for name, _, value in parts}
    supported = "FREQ" in rule and all(_PART.match(f"{name}={value}") for name, value in rule.items())
    return rule if supported and _can_recur(rule) else None


def _can_recur(rule: RecurrenceRule) -> bool:
    """True if a rule can be expanded. A monthly or yearly rule always can.

    A daily or weekly rule cannot if it has parts that belong to months, or whose parts may never occur together. For the latter,
    dateutil would try every day up to the last year that it supports.
    """
    if rule["FREQ"] in ("MONTHLY", "YEARLY"):
        return True
    never = "BYMONTHDAY" in rule and (rule["FREQ"] == "WEEKLY" or "BYMONTH" in rule or "BYDAY" in rule)
    return not never and "BYSETPOS" not in rule and not any(char.isdigit() for char in rule.get("BYDAY", ""))


def expand_recurrence(rule: RecurrenceRule, start: datetime) -> Iterator[datetime]:
    """Yield the starts of a series in local time, in order. The first is always ``start``. The caller applies UNTIL."""
    from dateutil.rrule import rrulestr  # noqa: PLC0415 - only calendars with recurring events need it

    series = rrulestr(";".join(f"{name}={value}" for name, value in rule.items() if name not in ("COUNT", "UNTIL")), dtstart=start)
    later = (at for at in series if at > start)
    count = int(rule.get("COUNT", "0"))
    yield start
    with suppress(ValueError, OverflowError):  # dateutil raises these after the last year that dates support
        yield from islice(later, count - 1) if count else later


_LINE = Pattern(r"^([A-Za-z-]+)((?:;[^:;\"]*(?:\"[^\"]*\")?)*):(.*)$")
_ZONE = Pattern(r"(?i);TZID=\"?([^;:\"]+)\"?")
_ESCAPES = (("\\n", " "), ("\\N", " "), ("\\,", ","), ("\\;", ";"), ("\\\\", "\\"))
_MOST_OF_SERIES = 1_500  # newest occurrences that are kept; four years of a daily series
_LONGEST_SERIES = 50_000  # maximum number of occurrences computed

Fields = Mapping[str, list[tuple[str, str]]]
"""The values of each field, as pairs of parameters and value."""

Event = tuple[Fields, datetime, str, ZoneInfo | None]
"""The fields of an event, its local start, its UID, and its time zone, which is None for a whole-day event."""


def read_calendar(request: FeedRequest) -> FeedResult:
    """Read the events of a calendar up to today. They are read if the calendar changed or the next event is due.

    Raises SourceError.
    """
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
    newest = sorted(items.values(), key=lambda item: str(item.at))[-MOST_ITEMS:]
    following = {"next": min(coming).isoformat()} if coming else {}
    return FeedResult(items=tuple(newest), cursor={**cursor, **following}, skipped=+skipped)


def _parse_events(text: str, skipped: Counter[str]) -> Iterator[Fields]:
    """Yield the fields of each event. Fields of nested components, such as alarms, are skipped."""
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
    """Parse an event. None if it is cancelled or has no date or summary; this is counted in ``skipped``."""
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
    """Yield the start and key of an event. For a series, yield those of each event up to the first one at ``stop`` or later.

    ``moved`` has the occurrences that another event replaces; these are skipped.
    """
    fields, start, number, zone = event
    rule = parse_recurrence_rule(_field_value(fields, "RRULE"))
    if rule is None or "RECURRENCE-ID" in fields:
        skipped["series with an unsupported rule, after their first event"] += rule is None and "RRULE" in fields
        if (at := _start_instant(start, zone, request.zone)) is not None:
            yield at, request.item_key(number, _field_value(fields, "RECURRENCE-ID"))
        return
    off = {at for text in fields.get("EXDATE", ()) for at in _parse_instants(text, request.zone)}
    found: deque[datetime] = deque(maxlen=_MOST_OF_SERIES)
    for at in islice(_series_instants(rule, start, zone, request.zone), _LONGEST_SERIES):
        if at not in off and (number, at) not in moved:
            skipped["the oldest events of long series"] += len(found) == _MOST_OF_SERIES
            found.append(at)
            if at >= stop:
                break
    yield from ((at, request.item_key(number, at.isoformat())) for at in found)


def _series_instants(rule: RecurrenceRule, start: datetime, zone: ZoneInfo | None, usual: ZoneInfo) -> Iterator[datetime]:
    """Yield the start times of a series until its rule ends."""
    last = _parse_local_time("", rule.get("UNTIL", ""), zone or usual)
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
    """Convert a local start to UTC. A whole-day event starts at noon.

    Returns None if the result is after the last year that dates support.
    """
    try:
        return _to_utc(start.replace(hour=12) if zone is None else start, zone, usual)
    except OverflowError:
        return None


def _event_item(fields: Fields, key: str, at: datetime, request: FeedRequest) -> FeedItem:
    place = _unescape(_field_value(fields, "LOCATION"))
    rest = ", ".join(item for item in (place, _unescape(_field_value(fields, "DESCRIPTION"))) if item)
    return request.make_item(key, _unescape(_field_value(fields, "SUMMARY")), text=rest, at=at)


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
    """Parse a date or a time as local time and zone. The zone is None for a date. Returns None for any other text."""
    value = value.strip()
    try:
        if len(value) == 8:
            return datetime.combine(date.fromisoformat(value), time()), None
        stamp = datetime.strptime(value.rstrip("Zz"), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - the zone is given elsewhere
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
