"""Stretches: what the episodes in a part of a thread propose, judged. Values in, values out, so that any process may do it.

An episode is one or more whole exchanges (a person's prompt and what follows it, up to the next prompt) that are analysed together.
Where one begins depends only on the events to its left and on the event that opens it, so a session that grows keeps every closed
episode.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kept.core.errors import SourceError
from kept.core.event import Author, Event, EventKind
from kept.core.isolation import isolate_errors
from kept.core.memory import Accepted, CandidateVerdict
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.fixes import AHEAD
from kept.extraction.rules.fixes import propose_fixes as fixes_of
from kept.extraction.rules.patterns import LOOKBACK
from kept.extraction.verdicts import Rules, judge_candidate, texts_by_key
from kept.profiles.language import choose_lexicon
from kept.profiles.profile import Buffer
from kept.store.values import Span

# An exchange is torn only beyond this many times the buffer's most, so that memory stays bounded.
TEAR = 20
# A tear waits at most this many events for a place that is not between a call and its output.
GRACE = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The events ``[start, stop)`` of a session; ``closed`` when later events can no longer change where it ends."""

    start: int
    stop: int
    closed: bool


def segment(events: Sequence[Event], buffer: Buffer) -> tuple[Episode, ...]:
    """The episodes of a session, in order, without gaps; the last one is open.

    A prompt opens a new episode when the running one holds ``buffer.most`` events, or ``buffer.least`` and the prompt comes more
    than ``buffer.seconds`` after the event before it (or either time is unknown).
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


# What counts while a session goes on must be surer than what is accepted of a whole one.
LIVE = 0.85


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A part of a thread to look at, from the ordinal ``place`` up to ``stop``: ``events`` are those from ``base`` on, some before
    and after it among them. ``length`` is how many the thread has.
    """

    thread: int
    path: str
    events: Sequence[Event]
    base: int
    place: int
    stop: int
    length: int
    rules: Rules


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A part of a thread that was analysed: its candidates, the ordinal up to which episodes are closed, the one to go on from."""

    span: Span
    closed: int
    stop: int
    episodes: int


def analyse_windows(windows: Sequence[Window | None]) -> tuple[Stretch | str | None, ...]:
    """What each says, or why it cannot be analysed; nothing of none."""
    return tuple(_analyse_or_tell(window) if window else None for window in windows)


def _analyse_or_tell(window: Window) -> Stretch | str:
    try:
        return analyse_window(window)
    except SourceError as error:
        return error.what


def analyse_window(window: Window) -> Stretch:
    """What the episodes of a window say. Raises SourceError."""
    with isolate_errors("it cannot be analysed", window.path):
        return _analyse(window)


def _analyse(window: Window) -> Stretch:
    events, base, place, stop, rules = window.events, window.base, window.place, window.stop, window.rules
    episodes = segment(events[place - base : stop - base], rules.profile.buffer)
    usable = [episode for episode in episodes if episode.closed or stop == window.length] or list(episodes)
    judged = [
        (place + episode.start, candidate_verdict)
        for episode in usable
        for candidate_verdict in _judge_episode(events, _shift_episode(episode, place - base), rules)
    ]
    judged += _judge_fixes(events, base, place, place + usable[-1].stop, rules)
    settled = window.length - AHEAD
    unsettled = (episode.start for episode in usable if not episode.closed or place + episode.stop > settled)
    return Stretch(
        span=Span(thread=window.thread, start=place, judged=tuple(sorted(judged, key=lambda pair: pair[0]))),
        closed=place + next(unsettled, usable[-1].stop),
        stop=place + usable[-1].stop,
        episodes=len(usable),
    )


def _shift_episode(episode: Episode, places: int) -> Episode:
    return replace(episode, start=episode.start + places, stop=episode.stop + places)


def _judge_episode(events: Sequence[Event], episode: Episode, rules: Rules) -> Iterator[CandidateVerdict]:
    """The candidates of an episode with their verdicts. They rest on it and what it looks back on: nothing later counts."""
    seen = events[max(0, episode.start - LOOKBACK) : episode.stop]
    words = choose_lexicon(seen, rules.profile.languages)
    candidates = extract_candidates(
        events,
        episode.start,
        episode.stop,
        profile=rules.profile,
        lexicon=words,
        scope=lambda _: rules.scope,
        suggested=rules.handover,
    )
    if not candidates:
        return
    by_key, said = {event.key: event for event in seen}, texts_by_key(seen)
    for item in candidates:
        candidate_verdict = judge_candidate(rules, item, by_key, said, words)
        if not rules.live or (isinstance(candidate_verdict.verdict, Accepted) and candidate_verdict.candidate.confidence >= LIVE):
            yield candidate_verdict


def _judge_fixes(events: Sequence[Event], base: int, start: int, stop: int, rules: Rules) -> list[tuple[int, CandidateVerdict]]:
    """The fixes whose success stands in ``[start, stop)`` of a thread, judged; ``base`` is the ordinal of the first of the events.

    None while a session goes on: a fix is proven by what comes after it.
    """
    if rules.live:
        return []
    found: list[tuple[int, CandidateVerdict]] = []
    for place, candidate in fixes_of(events, profile=rules.profile, scope=lambda _: rules.scope, start=start - base):
        if base + place < stop:
            seen = events[max(0, place - LOOKBACK) : place + 1]
            words = choose_lexicon(seen, rules.profile.languages)
            found.append(
                (base + place, judge_candidate(rules, candidate, {event.key: event for event in seen}, texts_by_key(seen), words))
            )
    return found
