"""Instants and days. Every instant is an aware UTC datetime. A day is a local calendar date in a named zone."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from kept.core.pattern import compile_late

# A number outside these bounds is not a time stamp of a coding agent.
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)

_ISO = compile_late(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d\d:?[0-5]\d)?")
_LEAST_WRONG_OFFSET = timedelta(hours=15)
_EPOCH, _MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
ALWAYS = (datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))  # a range with every day in any time zone
_MILLISECONDS_FROM = 10**11  # larger epoch values are milliseconds; as seconds they would be after the year 5000


def parse_instant(value: object) -> datetime | None:
    """Read a timestamp as transcripts write it: ISO 8601, or epoch seconds or milliseconds.

    Returns:
        An aware UTC datetime, or None if the value is not a plausible instant. The event is then undated, never "now". A text
        without a zone also gives None, because only a reader that knows the zone may add it.
    """
    match value:
        case bool() | None:
            return None
        case int() | float():
            return _from_epoch(value)
        case str():
            return _from_text(value)
        case _:
            return None


def _from_epoch(value: float) -> datetime | None:
    if value != value or abs(value) > 10**15:  # noqa: PLR0124 - NaN is the only value unequal to itself
        return None
    seconds = value / 1000 if value > _MILLISECONDS_FROM else value
    if not EARLIEST.timestamp() <= seconds < LATEST.timestamp():
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _from_text(text: str) -> datetime | None:
    if len(text) == 24 and text[10] == "T" and text[19] == "." and text[23] == "Z":  # the form in nearly all transcripts
        with suppress(ValueError):
            instant = datetime.fromisoformat(text)
            return instant if EARLIEST <= instant < LATEST else None
    match = _ISO.fullmatch(text.strip())
    if not match:
        return None
    *parts, second, fraction, zone = match.groups()
    if not zone:
        return None
    year, month, day, hour, minute = parts
    clock = f"{hour}:{minute}:{min(int(second or 0), 59):02}.{(fraction or '0')[:6]:0<6}"  # second 60, a leap second, becomes 59
    try:
        local = datetime.fromisoformat(f"{year}-{month}-{day}T{clock}{zone.upper()}")
        offset = local.utcoffset() or timedelta()
        instant = local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return instant if EARLIEST <= instant < LATEST and abs(offset) < _LEAST_WRONG_OFFSET else None


def format_instant(instant: datetime) -> str:
    """Format an instant as ``2026-01-05T14:12:12.091Z`` (UTC, milliseconds). Such texts sort in time order."""
    # Converted before the cache: when clocks are set back, two instants of another zone are equal keys.
    return _format_utc(instant if instant.tzinfo is UTC else instant.astimezone(UTC))


@lru_cache(maxsize=4096)  # an event's time is formatted when the event is read, packed, and added to its thread
def _format_utc(instant: datetime) -> str:
    return f"{instant.isoformat('T', 'milliseconds')[:23]}Z"


def parse_stored_instant(text: str) -> datetime:
    """Parse the output of :func:`format_instant`. Raises ValueError for anything else."""
    if len(text) != 24 or text[10] != "T" or text[19] != "." or text[23] != "Z":
        raise ValueError(f"not an instant in kept's format: {text[:40]!r}")
    return datetime.fromisoformat(text)


def parse_optional_instant(text: str | None) -> datetime | None:
    """:func:`parse_stored_instant`, but None for an empty text or None."""
    return parse_stored_instant(text) if text else None


def to_milliseconds(instant: datetime) -> int:
    """An instant as milliseconds since 1970, rounded down as in :func:`format_instant`."""
    return (instant - _EPOCH) // _MILLISECOND


def from_milliseconds(count: int) -> datetime:
    """The inverse of :func:`to_milliseconds`."""
    return _EPOCH + count * _MILLISECOND


def format_optional_instant(instant: datetime | None) -> str | None:
    """:func:`format_instant`, but None for None."""
    return format_instant(instant) if instant is not None else None


def format_day(instant: datetime | None, zone: ZoneInfo) -> str:
    """The local day of an instant as YYYY-MM-DD; ``undated`` for None."""
    return instant.astimezone(zone).date().isoformat() if instant is not None else "undated"


def format_minute(instant: datetime | None, zone: ZoneInfo) -> str:
    """The local day and time of an instant, to the minute; ``undated`` for None."""
    return f"{instant.astimezone(zone):%Y-%m-%d %H:%M}" if instant is not None else "undated"


def to_local_day(instant: datetime | None, zone: ZoneInfo) -> date | None:
    """The local calendar day of an instant. None for None, which means undated."""
    return instant.astimezone(zone).date() if instant is not None else None
