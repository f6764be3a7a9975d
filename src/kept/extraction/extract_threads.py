"""Extract threads that grew: judged candidates in the log, one pass for each stretch of a thread.

A thread is read from the first of its episodes that was still open, with a bounded look back, so an appended line costs its own
episode and the outcome equals that of reading the whole at once. An episode stays open until as many events follow it as can undo a
fix in it. Each stretch commits by itself: a run cut short goes on after it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from kept.core.errors import SourceError
from kept.core.isolation import isolate_errors
from kept.core.memory import Accepted, Actor, CandidateVerdict, Held, Refused, Verdict
from kept.extraction.rules.fixes import AHEAD
from kept.extraction.rules.view import LOOKBACK
from kept.extraction.sequels import SessionPairing
from kept.extraction.stretches import Stretch, Window, analyse_window, analyse_windows
from kept.extraction.verdicts import Rules, rules_for
from kept.local.batches import split_batches
from kept.local.progress import Late, Progress, ignore_progress, never_late
from kept.local.workers import Workers, map_ahead
from kept.profiles.profile import Occasion
from kept.store.threads import find_abandoned
from kept.store.values import SEQUEL, Draft, Proposal, Span, Thread
from kept.workspace import Workspace

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


Within = tuple[datetime | None, datetime | None]


def extract_pending(
    workspace: Workspace,
    run: Callable[[], int],
    *,
    force: bool = False,
    within: Within | None = None,
    occasion: Occasion = Occasion.NIGHTLY,
    workers: Workers | None = None,
    progress: Progress = ignore_progress,
    late: Late = never_late,
) -> ExtractionReport:
    """Extract every thread that is :func:`threads_to_extract`; only those with events in [start, stop) where ``within`` is given.

    ``run`` gives the number of the run, asked for only where something is to be noted. In real time only what is very sure is
    noted, and the thread still waits for a later occasion, which takes in all of it. ``workers`` look at the threads, where there
    are any. A thread that cannot be analysed is named and left, and so are all where ``late`` says so. Raises StoreError.
    """
    threads = threads_to_extract(workspace, occasion, force=force, within=within)
    result = ExtractionReport(threads=len(threads))
    sequels = SessionPairing(workspace=workspace, run=run, coming=set(threads))
    number = 0
    for batch, done in map_ahead(
        workers,
        analyse_windows,
        _prepare_batches(workspace, threads, live=occasion is Occasion.REAL_TIME, force=force, loaded=workers is not None),
    ):
        if late():
            break
        # A thread that is a batch of its own commits stretch by stretch, so that a run cut short goes on within it.
        with workspace.store.transaction() if len(batch) > 1 else nullcontext():
            for order, thread in enumerate(batch):
                progress("extracting", number, len(threads))
                number += 1
                try:
                    first = done[order] if done else None
                    for stretch in _extract_thread(workspace, run, thread, sequels, first):
                        result.episodes += stretch.episodes
                        for _, judged in stretch.span.judged:
                            result.count(judged.verdict)
                    for verdict in sequels.take_new_verdicts():
                        result.count(verdict)
                except SourceError as error:
                    result.broken.append((thread.thread.path, error.what))
    progress("extracting", len(threads), len(threads))
    return result


@dataclass(frozen=True, kw_only=True, slots=True)
class _OpenThread:
    """A thread, the ordinal from which its episodes are open, and what they are judged by."""

    thread: Thread
    place: int
    rules: Rules


def _prepare_batches(
    workspace: Workspace, threads: Mapping[int, int], *, live: bool, force: bool, loaded: bool
) -> Iterator[tuple[list[_OpenThread], list[Window | None] | None]]:
    """Threads in batches, each with what is first to be looked at in it; that is ``loaded`` where another process looks."""
    forgotten, key = workspace.store.log.forgotten_fingerprints(), workspace.store.key("forget")
    for batch in split_batches(workspace.store.archive.threads_by_id(threads), _length, WINDOW):
        with workspace.store.transaction():
            opened = [
                _OpenThread(
                    thread=thread,
                    place=_open_thread(workspace, thread, force=force),
                    rules=replace(rules_for(workspace, thread, forgotten, key), live=live),
                )
                for thread in batch
            ]
        yield opened, [_load_first(workspace, each) for each in opened] if loaded else None


def _load_first(workspace: Workspace, opened: _OpenThread) -> Window | None:
    with suppress(SourceError), isolate_errors("it cannot be read", opened.thread.path):  # told by whoever reads it again
        return _load_window(workspace, opened, opened.place) if opened.place < opened.thread.events else None
    return None


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
    opened = _OpenThread(thread=thread, place=_open_thread(workspace, thread, force=True), rules=rules)
    for _ in _extract_thread(workspace, lambda: run, opened, sequels):
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


def _open_thread(workspace: Workspace, thread: Thread, *, force: bool) -> int:
    """Note which of a thread's events were replaced; the ordinal of its first open episode."""
    changed = _mark_branches(workspace, thread)
    place = 0 if force else changed
    if place < thread.extracted:
        workspace.store.archive.save_extraction_progress(thread.id, extracted=place, seen=place)
    return place


def _extract_thread(
    workspace: Workspace, run: Callable[[], int], opened: _OpenThread, sequels: SessionPairing, first: Stretch | str | None = None
) -> Iterator[Stretch]:
    """Analyse a thread from its first open episode on, and note it stretch by stretch; with the last one pair it with other
    sessions. ``first`` is what its first stretch says, or what is wrong with it, where another process looked. Raises SourceError.
    """
    thread, rules, place = opened.thread, opened.rules, opened.place
    closed = place
    while place < thread.events:
        if isinstance(first, str):
            raise SourceError(first, where=thread.path)
        with isolate_errors("it cannot be analysed", thread.path):
            stretch = first or analyse_window(_load_window(workspace, opened, place))
        first = None
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


def _load_window(workspace: Workspace, opened: _OpenThread, place: int) -> Window:
    """What to look at of a thread from an ordinal on, as much as is looked at together."""
    thread = opened.thread
    base, stop = max(0, place - LOOKBACK), min(place + WINDOW, thread.events)
    return Window(
        thread=thread.id,
        path=thread.path,
        events=workspace.store.archive.events(thread.id, base, min(stop + AHEAD, thread.events)),
        base=base,
        place=place,
        stop=stop,
        length=thread.events,
        rules=opened.rules,
    )


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
