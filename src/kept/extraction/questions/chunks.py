"""Chunks: a conversation cut into pieces that a model reads one at a time. Every event is in exactly one of them.

A chunk ends where the talk turns to something else, as far as that can be seen from what stands before: its bounds depend only on
what is left of them, so a conversation that grows keeps every closed chunk. A few turns before it are shown again, to be understood
by.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kept.core.event import Author, Event, EventKind
from kept.core.statement import find_content
from kept.extraction.questions.turns import estimate_tokens_high, render_turn

# A long pause ends a chunk that is at least this share of the limit, so that what was read last time need not be read again.
PAUSE_SECONDS = 4 * 3600
_LEAST = 0.25
# The end of a full chunk is looked for in its last part.
_EARLIEST = 0.5
_SHORT_PAUSE = 1800
_LEAD_SHARE = 0.1
_LEAD_EVENTS = 6
_LEAD_CHARS = 240
_RECENT = 8  # events before a prompt whose words count as known
_READ = 2_000
_PART_HEAD = 12  # tokens that name a part of a long event


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """An event, or a part of a very long one, as a model reads it; ``ordinal`` is its place in the thread."""

    ordinal: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """The events with ordinals in [start, stop) as ``turns``, and before them ``lead``: turns that another chunk reads.

    ``closed`` says that later events can no longer change it.
    """

    start: int
    stop: int
    closed: bool
    turns: tuple[Turn, ...]
    lead: tuple[Turn, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Unit:
    turn: Turn
    size: int
    whole: bool


def chunks(events: Sequence[Event], *, offset: int, start: int, limit: int) -> tuple[Chunk, ...]:
    """The chunks of the events from the ordinal ``start`` on, in order, without gaps; the last one may be open.

    ``events[0]`` has the ordinal ``offset``; those before ``start`` serve as lead. ``limit`` is in tokens as
    :func:`estimate_tokens_high` counts them, and holds for the turns of a chunk; its lead adds at most a tenth. Raises ValueError
    for a limit below 200.
    """
    if limit < 200:
        raise ValueError("a chunk needs at least 200 tokens")
    units = [unit for place in range(start - offset, len(events)) for unit in _units(events[place], place + offset, limit)]
    found: list[Chunk] = []
    first = 0
    for stop in _bounds(units, events, offset, limit):
        found.append(_chunk(units[first:stop], events, offset, limit, closed=True))
        first = stop
    if first < len(units):
        found.append(_chunk(units[first:], events, offset, limit, closed=not units[-1].whole))
    return tuple(found)


def _chunk(units: Sequence[_Unit], events: Sequence[Event], offset: int, limit: int, *, closed: bool) -> Chunk:
    start = units[0].turn.ordinal
    return Chunk(
        start=start,
        stop=units[-1].turn.ordinal + 1,
        closed=closed,
        turns=tuple(unit.turn for unit in units),
        lead=_lead(events, start - offset, offset, limit),
    )


def _lead(events: Sequence[Event], place: int, offset: int, limit: int) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    left = limit * _LEAD_SHARE
    for item in range(place - 1, max(-1, place - 1 - _LEAD_EVENTS), -1):
        text = render_turn(events[item], item + offset)[:_LEAD_CHARS]
        if not text:
            continue
        left -= estimate_tokens_high(text)
        if left < 0:
            break
        turns.append(Turn(ordinal=item + offset, text=text))
    return tuple(reversed(turns))


def _units(event: Event, ordinal: int, limit: int) -> Iterator[_Unit]:
    """The event whole, or where it is larger than a chunk, in parts that each fill one."""
    text = render_turn(event, ordinal)
    size = estimate_tokens_high(text)
    if size <= limit:
        yield _Unit(turn=Turn(ordinal=ordinal, text=text), size=size, whole=True)
        return
    parts = list(_parts(text, limit - _PART_HEAD))
    for number, part in enumerate(parts, 1):
        head = f"[e{ordinal}] part {number} of {len(parts)}: " if number > 1 else ""
        yield _Unit(turn=Turn(ordinal=ordinal, text=head + part), size=limit, whole=False)


def _parts(text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most so many tokens, cut between words where there are any."""
    at = 0
    while at < len(text):
        size = min(len(text) - at, limit)  # a token is a character at least
        while at + 2 * size < len(text) and estimate_tokens_high(text[at : at + 2 * size]) <= limit:
            size *= 2
        space = text.rfind(" ", at + size // 2, at + size) + 1 if at + size < len(text) else 0
        stop = space or at + size
        yield text[at:stop]
        at = stop


def _bounds(units: Sequence[_Unit], events: Sequence[Event], offset: int, limit: int) -> Iterator[int]:
    """Where closed chunks end, as indices of units. Looks at nothing right of the unit that makes a chunk overflow."""
    first = size = 0
    place = 0
    while place < len(units):
        unit = units[place]
        torn = place > first and not (unit.whole and units[place - 1].whole)
        if torn or (place > first and size >= limit * _LEAST and _pause(events, unit.turn.ordinal - offset) >= PAUSE_SECONDS):
            yield place
            first, size = place, 0
        while place > first and size + unit.size > limit:
            first = _find_best_end(units, events, offset, first, place)
            yield first
            size = sum(unit.size for unit in units[first:place])
        size += unit.size
        place += 1


def _find_best_end(units: Sequence[_Unit], events: Sequence[Event], offset: int, first: int, last: int) -> int:
    """The end of a full chunk: in its last half where the talk turns most, else before a call, else where it is full."""
    total = sum(unit.size for unit in units[first:last])
    size, found = 0, list[tuple[float, int]]()
    fallback = last
    for place in range(first, last + 1):
        event = events[units[place].turn.ordinal - offset]
        if place > first and size >= total * _EARLIEST:
            if event.kind is EventKind.PROMPT and event.author is Author.HUMAN:
                found.append((topic_shift(events, units[place].turn.ordinal - offset), place))
            elif event.kind is not EventKind.TOOL_OUTPUT:
                fallback = place
        size += units[place].size
    return max(found)[1] if found else fallback


def topic_shift(events: Sequence[Event], place: int) -> float:
    """How much a prompt turns to something else, from 0 to 2: the share of its words that the events before it do not know, and a
    pause.
    """
    known = {word for event in events[max(0, place - _RECENT) : place] for word in find_content(event.text[:_READ])}
    words = find_content(events[place].text[:_READ])
    fresh = len(words - known) / len(words) if words else 0.0
    return fresh + min(1.0, _pause(events, place) / _SHORT_PAUSE)


def _pause(events: Sequence[Event], place: int) -> float:
    """Seconds between a person's prompt and the event before it; 0 where either is unknown."""
    event = events[place]
    if place == 0 or event.kind is not EventKind.PROMPT or event.author is not Author.HUMAN:
        return 0.0
    before = events[place - 1].at
    return max(0.0, (event.at - before).total_seconds()) if event.at and before else 0.0
