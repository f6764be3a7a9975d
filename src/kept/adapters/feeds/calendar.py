"""Calendars (iCalendar, RFC 5545), from a file or an address: what was on a day. A series counts by its first event only."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import re2

from kept.adapters.feeds.base import MOST_ITEMS, Brought, Given, data_of, key_of, title, words
from kept.model.entry import Item
from kept.model.errors import SourceError

_LINE = re2.compile(r"^([A-Za-z-]+)((?:;[^:;\"]*(?:\"[^\"]*\")?)*):(.*)$")
_ZONE = re2.compile(r"(?i);TZID=\"?([^;:\"]+)\"?")
_ESCAPES = (("\\n", " "), ("\\N", " "), ("\\,", ","), ("\\;", ";"), ("\\\\", "\\"))


def bring(given: Given) -> Brought:
    """The events of a calendar, where it changed. Raises SourceError."""
    data, cursor = data_of(given)
    if data is None:
        return Brought(cursor=cursor)
    text = data.decode("utf-8-sig", "replace")
    if "BEGIN:VCALENDAR" not in text[:2_000].upper():
        raise SourceError("is no calendar", where=given.place)
    skipped = Counter[str]()
    items = []
    for fields in _events(text, skipped):
        item = _item(fields, given)
        if item is None:
            skipped["events without a date or a summary"] += 1
            continue
        skipped["later events of a series"] += "RRULE" in fields
        items.append(item)
    return Brought(items=tuple(items[:MOST_ITEMS]), cursor=cursor, skipped=+skipped)


def _events(text: str, skipped: Counter[str]) -> Iterator[dict[str, tuple[str, str]]]:
    """The fields of each event by name, each with its parameters; what stands in an alarm is not the event's."""
    fields: dict[str, tuple[str, str]] | None = None
    inner = ""
    for line in _unfolded(text):
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
            fields.setdefault(found[1].upper(), (found[2] or "", found[3]))
    skipped["unfinished events"] += fields is not None


def _unfolded(text: str) -> list[str]:
    lines: list[str] = []
    for raw in text.splitlines():
        if raw[:1] in (" ", "\t") and lines:
            lines[-1] = (lines[-1] + raw[1:])[:10_000]
        else:
            lines.append(raw)
    return lines


def _item(fields: dict[str, tuple[str, str]], given: Given) -> Item | None:
    head = title(_text(fields.get("SUMMARY", ("", ""))[1]))
    at = _at(*fields.get("DTSTART", ("", "")), given.zone)
    if at is None or not head:
        return None
    place = _text(fields.get("LOCATION", ("", ""))[1])
    rest = ", ".join(each for each in (place, _text(fields.get("DESCRIPTION", ("", ""))[1])) if each)
    number = fields.get("UID", ("", ""))[1] + fields.get("RECURRENCE-ID", ("", ""))[1]
    return Item(key=key_of(given.name, number or f"{at}{head}"), source=given.name, title=head, text=words(rest), at=at)


def _text(value: str) -> str:
    for mark, other in _ESCAPES:
        value = value.replace(mark, other)
    return value


def _at(parameters: str, value: str, zone: ZoneInfo) -> datetime | None:
    value = value.strip()
    try:
        if len(value) == 8:
            day = datetime.strptime(value, "%Y%m%d").date()  # noqa: DTZ007 - a day has no zone of its own
            return datetime.combine(day, time(12), zone).astimezone(UTC)
        stamp = datetime.strptime(value.rstrip("Zz"), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - the zone is another field
        if value[-1:] in ("Z", "z"):
            return stamp.replace(tzinfo=UTC)
        named = _ZONE.search(parameters)
        return stamp.replace(tzinfo=_zone(named[1], zone) if named else zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(name: str, usual: ZoneInfo) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return usual
