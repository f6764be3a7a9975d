"""Observe a conversation event by event, and return certain candidates at once.

It uses the batch engine, so episodes and candidates are the same. While an episode is open, its candidates are only a preview,
because later events may change their words. The candidates of a closed episode are exactly those of a later run over the
transcript. This module stores nothing.
"""

from kept.core.event import Event
from kept.core.memory import Accepted, Candidate
from kept.core.value import dataclass
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.patterns import LOOKBACK
from kept.extraction.segment import segment
from kept.extraction.stretches import LIVE
from kept.profiles.language import choose_lexicon
from kept.profiles.lexicons import Lexicon
from kept.profiles.profile import Profile


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionContext:
    """The inputs of extraction besides events: the profile, and the scope of the project."""

    profile: Profile
    scope: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedConversation:
    """The state of a conversation: the events that extraction may still read, the index of the open episode's first event among
    them, and the ids of the candidates already shown.
    """

    events: tuple[Event, ...] = ()
    start: int = 0
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Noticed:
    """The candidates that one event yields. ``live`` are certain candidates of the open episode that were not shown before.
    ``closed`` are all candidates of the episodes that the event closed.
    """

    live: tuple[Candidate, ...] = ()
    closed: tuple[Candidate, ...] = ()


def observe_event(watched: ObservedConversation, event: Event, engine: ExtractionContext) -> tuple[ObservedConversation, Noticed]:
    """Add the next event of a conversation. Events must come in the order of the transcript, cleaned and redacted."""
    events = (*watched.events, event)
    episodes = segment(events[watched.start :], engine.profile.buffer)
    closed: list[Candidate] = []
    start = watched.start
    for episode in episodes[:-1]:
        closed += _extract_range(events, watched.start + episode.start, watched.start + episode.stop, engine)
        start = watched.start + episode.stop
    words = _lexicon_around(events, start, len(events), engine)
    candidates = _extract_range(events, start, len(events), engine)
    sure = [candidate for candidate in candidates if candidate.confidence >= LIVE and _is_accepted(candidate, engine, words)]
    live = tuple(candidate for candidate in sure if candidate.id not in watched.shown)
    keep = max(0, start - LOOKBACK)
    shown = frozenset(candidate.id for candidate in sure) if closed else watched.shown | {candidate.id for candidate in live}
    return ObservedConversation(events=events[keep:], start=start - keep, shown=shown), Noticed(live=live, closed=tuple(closed))


def _extract_range(events: tuple[Event, ...], start: int, stop: int, engine: ExtractionContext) -> list[Candidate]:
    if stop <= start:
        return []
    words = _lexicon_around(events, start, stop, engine)
    return list(extract_candidates(events, start, stop, profile=engine.profile, lexicon=words, scope=engine.scope))


def _lexicon_around(events: tuple[Event, ...], start: int, stop: int, engine: ExtractionContext) -> Lexicon:
    return choose_lexicon(events[max(0, start - LOOKBACK) : stop], engine.profile.languages)


def _is_accepted(candidate: Candidate, engine: ExtractionContext, words: Lexicon) -> bool:
    return isinstance(judge(candidate, engine.profile, lexicon=words), Accepted)
