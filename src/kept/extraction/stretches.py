"""Stretches: what the episodes in a part of a thread propose, judged. Values in, values out, so that any process may do it."""

from collections.abc import Iterator, Sequence

from kept.core.errors import SourceError, isolate_errors
from kept.core.event import Event
from kept.core.memory import Accepted, CandidateVerdict
from kept.core.value import dataclass, replace
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.fixes import AHEAD, has_open_failure
from kept.extraction.rules.fixes import propose_fixes as fixes_of
from kept.extraction.rules.patterns import LOOKBACK
from kept.extraction.segment import Episode, segment
from kept.extraction.verdicts import Rules, judge_candidate, texts_by_key
from kept.profiles.language import choose_lexicon
from kept.store.values import Span

EVENTS = 120  # of the end of a session, and of the beginning of the one after it, in which one mends what failed in the other
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
    """A part of a thread that was analysed: its candidates, the ordinal up to which episodes are closed, the one to go on from,
    whether it leaves something failing where it is the end of the thread.
    """

    span: Span
    closed: int
    stop: int
    episodes: int
    failing: bool


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
        (place + episode.start, verdict)
        for episode in usable
        for verdict in _judge_episode(events, _shift_episode(episode, place - base), rules)
    ]
    judged += _judge_fixes(events, base, place, place + usable[-1].stop, rules)
    settled = window.length - AHEAD
    unsettled = (episode.start for episode in usable if not episode.closed or place + episode.stop > settled)
    return Stretch(
        span=Span(thread=window.thread, start=place, judged=tuple(sorted(judged, key=lambda pair: pair[0]))),
        closed=place + next(unsettled, usable[-1].stop),
        stop=place + usable[-1].stop,
        episodes=len(usable),
        failing=place + usable[-1].stop == window.length and has_open_failure(events[-EVENTS:]),
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
        judged = judge_candidate(rules, item, by_key, said, words)
        if not rules.live or (isinstance(judged.verdict, Accepted) and judged.candidate.confidence >= LIVE):
            yield judged


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
