"""Stretches: find and judge the candidates in a part of a thread. All functions are pure, so any process can call them."""

from collections.abc import Iterator, Sequence

from kept.core.errors import SourceError
from kept.core.event import Event
from kept.core.memory import Accepted, CandidateVerdict
from kept.core.value import dataclass
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.commands import Actions, find_actions
from kept.extraction.rules.fixes import AHEAD, find_failures, propose_fixes
from kept.extraction.rules.patterns import LOOKBACK
from kept.extraction.rules.remedies import Failures
from kept.extraction.segment import segment
from kept.extraction.verdicts import Rules, judge_candidate
from kept.local.progress import isolate_errors
from kept.profiles.language import choose_lexicon
from kept.store.values import Span

PAIRED_EVENTS = 120  # events at the end of one session and at the start of the next in which a fix that spans both is searched
# While a session goes on, a candidate needs more confidence than in a finished session.
LIVE = 0.85


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The part ``[place, stop)`` of a thread, in ordinals, that is to be analysed.

    ``events`` begin at ordinal ``base`` and include some before and after that part. ``length`` is the number of events of the
    thread.
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
    """An analysed part of a thread: its candidates, the ordinal up to which episodes are closed, and the ordinal to continue from.

    ``failures`` are those at the end of the thread, if this part ends it.
    """

    span: Span
    closed: int
    stop: int
    episodes: int
    failures: Failures


def analyse_windows(windows: Sequence[Window | None]) -> tuple[Stretch | str | None, ...]:
    """Analyse each window. The result for a window is a stretch or an error message; None for None."""
    return tuple(_analyse_or_report(window) if window else None for window in windows)


def _analyse_or_report(window: Window) -> Stretch | str:
    try:
        with isolate_errors("it cannot be analysed", window.path):
            return analyse_window(window)
    except SourceError as error:
        return error.what


def analyse_window(window: Window) -> Stretch:
    """Find and judge the candidates of a window."""
    events, base, place, stop, rules = window.events, window.base, window.place, window.stop, window.rules
    episodes = segment(events[place - base : stop - base], rules.profile.buffer)
    usable = [episode for episode in episodes if episode.closed or stop == window.length] or list(episodes)
    judged = [
        (place + episode.start, verdict)
        for episode in usable
        for verdict in _judge_episode(events, episode.start + place - base, episode.stop + place - base, rules)
    ]
    done = find_actions(events)
    judged += _judge_fixes(window, done, place + usable[-1].stop)
    settled = window.length - AHEAD
    unsettled = (episode.start for episode in usable if not episode.closed or place + episode.stop > settled)
    return Stretch(
        span=Span(thread=window.thread, start=place, judged=tuple(sorted(judged, key=lambda pair: pair[0]))),
        closed=place + next(unsettled, usable[-1].stop),
        stop=place + usable[-1].stop,
        episodes=len(usable),
        failures=find_failures(done[0] if place + usable[-1].stop == window.length else (), len(events) - PAIRED_EVENTS),
    )


def _judge_episode(events: Sequence[Event], start: int, stop: int, rules: Rules) -> Iterator[CandidateVerdict]:
    """Yield the judged candidates of the episode ``[start, stop)``. They depend on its events and those before it, and on the
    :data:`AHEAD` events after it, which may take them back.
    """
    seen, later = events[max(0, start - LOOKBACK) : stop], events[stop : stop + AHEAD]
    words = choose_lexicon(seen, rules.profile.languages)
    candidates = extract_candidates(
        events, start, stop, profile=rules.profile, lexicon=words, scope=rules.scope, suggested=rules.handover
    )
    for candidate in candidates:
        judged = judge_candidate(rules, candidate, seen, words, later=later)
        if not rules.live or (isinstance(judged.verdict, Accepted) and judged.candidate.confidence >= LIVE):
            yield judged


def _judge_fixes(window: Window, done: Actions, stop: int) -> list[tuple[int, CandidateVerdict]]:
    """Return the judged fixes whose success is in a window before the ordinal ``stop``.

    Empty while a session goes on, because later events prove a fix.
    """
    events, base, rules = window.events, window.base, window.rules
    if rules.live:
        return []
    found: list[tuple[int, CandidateVerdict]] = []
    for place, candidate in propose_fixes(events, done, profile=rules.profile, scope=rules.scope, start=window.place - base):
        if base + place < stop:
            seen = events[max(0, place - LOOKBACK) : place + 1]
            words = choose_lexicon(seen, rules.profile.languages)
            found.append((base + place, judge_candidate(rules, candidate, seen, words)))
    return found
