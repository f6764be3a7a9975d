"""Extract threads that grew: judged candidates in the log, one pass for each stretch of a thread.

A thread is read from the first of its episodes that was still open, with a bounded look back, so an appended line costs its own
episode and the outcome equals that of reading the whole at once. An episode stays open until as many events follow it as can undo a
fix in it. Each stretch commits by itself: a run cut short goes on after it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime

from kept.core.errors import SourceError
from kept.core.event import Event
from kept.core.isolation import isolate_errors
from kept.core.memory import Accepted, Actor, CandidateVerdict, Held, Refused, Verdict
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.fixes import AHEAD
from kept.extraction.rules.fixes import propose_fixes as fixes_of
from kept.extraction.rules.view import LOOKBACK
from kept.extraction.segment import Episode, segment
from kept.extraction.sequels import SessionPairing
from kept.extraction.verdicts import Rules, judge_candidate, rules_for, texts_by_key
from kept.local.batches import split_batches
from kept.local.progress import Late, Progress, ignore_progress, never_late
from kept.profiles.language import choose_lexicon
from kept.profiles.profile import Occasion
from kept.store.threads import find_abandoned
from kept.store.values import SEQUEL, Draft, Proposal, Span, Thread
from kept.workspace import Workspace

# What counts while a session goes on must be surer than what is accepted of a whole one.
LIVE = 0.85
WINDOW = 4_000  # events looked at together: bounds memory whatever the length of a session


@dataclass(kw_only=True, slots=True)
class ExtractionReport:
    """What extraction did: threads looked at, episodes analysed, and what became of their candidates.

    ``broken`` are the files of threads that could not be analysed, with the reason: they wait for the next run.
    """

    threads: int = 0
    episodes: int = 0
    accepted: int = 0
    held: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, str]] = field(default_factory=list)

    @property
    def candidates(self) -> int:
        """How many candidates there were."""
        return self.accepted + self.held + self.refused.total()

    def count(self, verdict: Verdict) -> None:
        """Add a candidate."""
        match verdict:
            case Accepted():
                self.accepted += 1
            case Held():
                self.held += 1
            case Refused(reason=reason):
                self.refused[reason] += 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """A part of a thread that was analysed: its candidates, the ordinal up to which episodes are closed, the one to go on from."""

    span: Span
    closed: int
    stop: int
    episodes: int


Within = tuple[datetime | None, datetime | None]


def extract_pending(
    workspace: Workspace,
    run: Callable[[], int],
    *,
    force: bool = False,
    within: Within | None = None,
    occasion: Occasion = Occasion.NIGHTLY,
    progress: Progress = ignore_progress,
    late: Late = never_late,
) -> ExtractionReport:
    """Extract every thread that is :func:`threads_to_extract`; only those with events in [start, stop) where ``within`` is given.

    ``run`` gives the number of the run, asked for only where something is to be noted. In real time only what is very sure is
    noted, and the thread still waits for a later occasion, which takes in all of it. A thread that cannot be analysed is named and
    left, and so are all where ``late`` says so. Raises StoreError.
    """
    threads = threads_to_extract(workspace, occasion, force=force, within=within)
    live = occasion is Occasion.REAL_TIME
    forgotten, key = workspace.store.log.forgotten_fingerprints(), workspace.store.key("forget")
    result = ExtractionReport(threads=len(threads))
    sequels = SessionPairing(workspace=workspace, run=run, coming=set(threads))
    number = 0
    for batch in split_batches(workspace.store.archive.threads_by_id(threads), _length, WINDOW):
        if late():
            break
        # A thread that is a batch of its own commits stretch by stretch, so that a run cut short goes on within it.
        with workspace.store.transaction() if len(batch) > 1 else nullcontext():
            for thread in batch:
                progress("extracting", number, len(threads))
                number += 1
                try:
                    rules = replace(rules_for(workspace, thread, forgotten, key), live=live)
                    for stretch in _extract_thread(workspace, run, thread, rules, sequels, force=force):
                        result.episodes += stretch.episodes
                        for _, judged in stretch.span.judged:
                            result.count(judged.verdict)
                    for verdict in sequels.take_new_verdicts():
                        result.count(verdict)
                except SourceError as error:
                    result.broken.append((thread.path, error.what))
    progress("extracting", len(threads), len(threads))
    return result


def threads_to_extract(
    workspace: Workspace, occasion: Occasion, *, force: bool = False, within: Within | None = None
) -> Mapping[int, int]:
    """The threads that grew (all where ``force``) and whose profile is extracted on an occasion; the others wait for one that is
    theirs.

    In the order of their first event, by number, with the ordinal from which their episodes are open. Only those with events in
    [start, stop) where ``within`` is given.
    """
    always = all(profile.when.on(occasion) for profile in workspace.profiles)
    return {
        thread.id: thread.extracted
        for thread in workspace.store.archive.threads(pending=not force)
        if (always or workspace.profile_for(thread.source, thread.project, thread.path).when.on(occasion))
        and (within is None or has_events_within(thread, within))
    }


def _length(thread: Thread) -> int:
    return thread.events


def reextract_thread(
    workspace: Workspace, run: int, thread: Thread, coming: Collection[int] = ()
) -> tuple[tuple[Proposal, ...], tuple[CandidateVerdict, ...]]:
    """Extract a thread from its start, inside a transaction; what rules proposed of it before, and what they propose now.

    ``coming`` are the threads whose turn is still to come. Raises StoreError.
    """
    before = _load_proposals(workspace, thread)
    rules = rules_for(workspace, thread, workspace.store.log.forgotten_fingerprints(), workspace.store.key("forget"))
    sequels = SessionPairing(workspace=workspace, run=lambda: run, coming=set(coming))
    for _ in _extract_thread(workspace, lambda: run, thread, rules, sequels, force=True):
        pass
    return before, tuple(proposal.judged for proposal in _load_proposals(workspace, thread))


def _load_proposals(workspace: Workspace, thread: Thread) -> tuple[Proposal, ...]:
    return workspace.store.log.thread_proposals(thread.id, 0) + workspace.store.log.thread_proposals(thread.id, 0, SEQUEL)


def has_events_within(thread: Thread, within: Within) -> bool:
    """Whether a thread has events in [start, stop), as far as its first and last tell."""
    start, stop = within
    return (stop is None or (thread.first_at is not None and thread.first_at < stop)) and (
        start is None or (thread.last_at is not None and thread.last_at >= start)
    )


def _extract_thread(
    workspace: Workspace, run: Callable[[], int], thread: Thread, rules: Rules, sequels: SessionPairing, *, force: bool
) -> Iterator[_Stretch]:
    """Analyse a thread from its first open episode on, and note it stretch by stretch; with the last one pair it with other
    sessions.
    """
    with workspace.store.transaction():
        changed = _mark_branches(workspace, thread)
        place = 0 if force else changed
        if place < thread.extracted:
            workspace.store.archive.save_extraction_progress(thread.id, extracted=place, seen=place)
    closed = place
    while place < thread.events:
        with isolate_errors("it cannot be analysed", thread.path):
            stretch = _extract_stretch(workspace, thread, place, rules)
        closed = stretch.closed if closed == place else closed  # once an episode stays open, so do those after it
        last = stretch.stop == thread.events
        with workspace.store.transaction():
            _commit_span(workspace, run, thread, stretch.span, None if last else stretch.stop, live=rules.live)
            if not rules.live:
                workspace.store.archive.save_extraction_progress(thread.id, extracted=closed, seen=stretch.stop)
            if last and not rules.live:
                with isolate_errors("it cannot be paired with other sessions", thread.path):
                    sequels.pair_thread(thread)
        yield stretch
        place = stretch.stop


def _commit_span(workspace: Workspace, run: Callable[[], int], thread: Thread, span: Span, stop: int | None, *, live: bool) -> None:
    before = tuple(
        (proposal.ordinal, proposal.judged) for proposal in workspace.store.log.thread_proposals(thread.id, span.start, stop=stop)
    )
    if live:  # what an earlier batch found stays until the next one
        known = {candidate_verdict.candidate.id for _, candidate_verdict in before}
        fresh = (item for item in span.judged if item[1].candidate.id not in known)
        span = replace(span, judged=tuple(sorted((*before, *fresh), key=lambda each: each[0])))
    if before == span.judged:
        return  # the episodes say what they said before
    subject = f"{thread.source}:{thread.session}"
    draft = Draft(run=run(), stage="extract", subject=subject, actor=Actor.MACHINE, recorded_at=workspace.clock(), span=span)
    workspace.store.log.commit(draft)


def _extract_stretch(workspace: Workspace, thread: Thread, place: int, rules: Rules) -> _Stretch:
    """Analyse the episodes that begin at an ordinal, as many as a window holds."""
    base, stop = max(0, place - LOOKBACK), min(place + WINDOW, thread.events)
    events = workspace.store.archive.events(thread.id, base, min(stop + AHEAD, thread.events))
    episodes = segment(events[place - base : stop - base], rules.profile.buffer)
    usable = [episode for episode in episodes if episode.closed or stop == thread.events] or list(episodes)
    judged = [
        (place + episode.start, candidate_verdict)
        for episode in usable
        for candidate_verdict in _judge_episode(events, _shift_episode(episode, place - base), rules)
    ]
    judged += _judge_fixes(events, base, place, place + usable[-1].stop, rules)
    settled = thread.events - AHEAD
    unsettled = (episode.start for episode in usable if not episode.closed or place + episode.stop > settled)
    return _Stretch(
        span=Span(thread=thread.id, start=place, judged=tuple(sorted(judged, key=lambda pair: pair[0]))),
        closed=place + next(unsettled, usable[-1].stop),
        stop=place + usable[-1].stop,
        episodes=len(usable),
    )


def _shift_episode(episode: Episode, places: int) -> Episode:
    return replace(episode, start=episode.start + places, stop=episode.stop + places)


def _mark_branches(workspace: Workspace, thread: Thread) -> int:
    """Update which events a rewind replaced; the first ordinal from which to extract again because of it."""
    if not workspace.store.archive.has_rewinds(thread.id):
        return thread.extracted  # as nearly always: the tree of a long conversation need not be held in memory
    tree, marked = workspace.store.archive.tree(thread.id)
    gone = find_abandoned(tree)
    workspace.store.archive.mark_abandoned(
        thread.id, ((order, bool(now)) for order, (was, now) in enumerate(zip(marked, gone, strict=True)) if was != now)
    )
    first = next((order for order, (was, now) in enumerate(zip(marked, gone, strict=True)) if was != now), thread.extracted)
    return 0 if first < thread.extracted else thread.extracted


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
