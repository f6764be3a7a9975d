"""Split a session's events into episodes, the units of extraction.

An episode is one or more whole exchanges (a person's prompt and what follows it, up to the next prompt). Only a very long exchange
is split (``TEAR``). Where an episode begins depends only on the events before it and on the event that opens it, so closed episodes
stay the same when a session grows.
"""

from collections.abc import Sequence

from kept.core.event import Author, Event, EventKind
from kept.core.value import dataclass
from kept.profiles.profile import Buffer

WINDOW = 4_000  # events of a thread that are processed together: bounds memory for sessions of any length
# An episode with this many times ``buffer.most`` events is split within an exchange, to bound memory.
TEAR = 20
# A split waits at most this many events for a place that is not between a tool call and its output.
GRACE = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The events ``[start, stop)`` of a session; ``closed`` if later events can no longer change where it ends."""

    start: int
    stop: int
    closed: bool


def segment(events: Sequence[Event], buffer: Buffer) -> tuple[Episode, ...]:
    """Return the episodes of a session, in order and without gaps; the last one is open.

    A prompt opens a new episode if the current one holds ``buffer.most`` events, or if it holds ``buffer.least`` and the prompt
    comes more than ``buffer.seconds`` after the previous event (or either time is unknown).
    """
    episodes: list[Episode] = []
    start = 0
    for index in range(1, len(events)):
        if _is_episode_start(events, start, index, buffer):
            episodes.append(Episode(start=start, stop=index, closed=True))
            start = index
    if events:
        episodes.append(Episode(start=start, stop=len(events), closed=False))
    return tuple(episodes)


def _is_episode_start(events: Sequence[Event], start: int, index: int, buffer: Buffer) -> bool:
    event, size = events[index], index - start
    if event.kind is EventKind.PROMPT and event.author is Author.HUMAN:
        return size >= max(1, buffer.most) or (size >= buffer.least and _has_pause(events[index - 1], event, buffer.seconds))
    limit = max(1, buffer.most) * TEAR
    return size >= limit + GRACE or (size >= limit and event.kind is not EventKind.TOOL_OUTPUT)


def _has_pause(before: Event, after: Event, seconds: int) -> bool:
    return before.at is None or after.at is None or (after.at - before.at).total_seconds() > seconds
