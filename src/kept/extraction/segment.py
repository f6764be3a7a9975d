"""Split a session's events into episodes, the units of extraction.

An episode is one or more whole exchanges. An exchange is a person's prompt and everything up to the next prompt. Only a very long
exchange is split (``TEAR``). The start of an episode depends only on the events before it and on its first event, so closed
episodes stay the same when a session grows.
"""

from collections.abc import Sequence

from kept.core.event import Event, EventKind, is_prompt
from kept.core.value import dataclass
from kept.profiles.profile import Buffer

WINDOW = 4_000  # events of a thread that are processed together, to bound memory for sessions of any length
# An episode with this many times ``buffer.most`` events is split within an exchange, to bound memory.
TEAR = 20
# A split within a call and its output is delayed by at most this many events.
GRACE = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The events ``[start, stop)`` of a session. ``closed`` means that later events cannot change ``stop``."""

    start: int
    stop: int
    closed: bool


def segment(events: Sequence[Event], buffer: Buffer) -> tuple[Episode, ...]:
    """Return the episodes of a session, in order and without gaps. The last one is open.

    A prompt opens a new episode if the current one has ``buffer.most`` events. It also opens one if the current one has
    ``buffer.least`` events and the prompt comes more than ``buffer.seconds`` after the previous event, or either time is unknown.
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
    if is_prompt(event):
        return size >= max(1, buffer.most) or (size >= buffer.least and _has_pause(events[index - 1], event, buffer.seconds))
    limit = max(1, buffer.most) * TEAR
    return size >= limit + GRACE or (size >= limit and event.kind is not EventKind.TOOL_OUTPUT)


def _has_pause(before: Event, after: Event, seconds: int) -> bool:
    return before.at is None or after.at is None or (after.at - before.at).total_seconds() > seconds
