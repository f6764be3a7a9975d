"""Extract threads that grew, and commit the judged candidates to the log, one pass for each stretch of a thread.

A thread is read from its first open episode on, together with a bounded number of earlier events. An appended line therefore costs
only its own episode, and the result equals that of reading the whole thread at once. An episode stays open until enough events have
followed that no later event can undo a fix in it. A long thread is committed stretch by stretch, short threads in batches. An
interrupted run continues after the last commit.

A fix may span sessions: a command fails at the end of one session, and first passes in a later session of the project. A session is
paired with up to three sessions that ended in the two weeks before it began. Sessions that overlap are not paired. The order of
reading does not matter: when a session is read, it is paired with earlier ones, and later ones are paired again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from itertools import dropwhile
from operator import attrgetter

from kept.core.errors import SourceError
from kept.core.event import Event
from kept.core.memory import Accepted, CandidateVerdict, Held, Refused, Verdict
from kept.core.value import dataclass, field, replace
from kept.extraction.rules.commands import find_actions
from kept.extraction.rules.fixes import AHEAD, find_failures, propose_fixes_across
from kept.extraction.rules.patterns import LOOKBACK
from kept.extraction.rules.remedies import Failures, may_fix
from kept.extraction.segment import WINDOW
from kept.extraction.stretches import PAIRED_EVENTS, Stretch, Window, analyse_window, analyse_windows
from kept.extraction.verdicts import Rules, commit_span, judge_candidate, load_rules, place_proposals
from kept.local.progress import Late, Progress, ignore_progress, isolate_errors, never_late, split_batches
from kept.local.workers import Workers, map_ahead
from kept.profiles.language import choose_lexicon
from kept.profiles.profile import Occasion
from kept.store.threads import find_abandoned
from kept.store.values import SEQUEL, Proposal, Span, Thread
from kept.workspace import RunNumber, Workspace

_PAIRED_SESSIONS = 3
_PAIRING_REACH = timedelta(days=14)
_CACHED_THREADS = 10_000
_CACHED_ENDS = 16


@dataclass(kw_only=True, slots=True)
class _SessionPairing:
    """Pairs sessions to find fixes that span them. ``unpaired`` are the threads that this run will pair later."""

    workspace: Workspace
    run: RunNumber
    unpaired: set[int]
    _directories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _failures: dict[tuple[int, int], Failures] = field(default_factory=dict)
    _ends: dict[int, tuple[Event, ...]] = field(default_factory=dict)
    _verdicts: list[Verdict] = field(default_factory=list)

    def take_new_verdicts(self) -> list[Verdict]:
        """Return and clear the verdicts on candidates found since the last call."""
        verdicts, self._verdicts = self._verdicts, []
        return verdicts

    def pair_thread(self, thread: Thread, failures: Failures) -> None:
        """Pair a thread with earlier ones, and pair later ones with it again, inside a transaction. ``failures`` are those at its
        end.

        Raises StoreError.
        """
        self.unpaired.discard(thread.id)
        self._ends.pop(thread.id, None)  # a rewind may have changed it
        self._save_failures(thread, failures)
        begun, ended = thread.first_at, thread.last_at
        if not thread.project or begun is None or ended is None:
            return
        self._pair(thread, begun)
        for item in tuple(self._later_threads(thread, begun, ended)):
            if item.id not in self.unpaired and item.first_at is not None:
                self._pair(item, item.first_at)

    def _later_threads(self, thread: Thread, begun: datetime, ended: datetime) -> Iterator[Thread]:
        """Yield the threads that may continue this one: those that began while it ran, and later ones until three ended between."""
        moments: list[datetime] = []
        for item in self.workspace.store.archive.threads_started_between(
            self._directories_of_project(thread), begun, ended + _PAIRING_REACH
        ):
            if item.first_at is None or item.last_at is None:
                continue
            if sum(ended < last < item.first_at for last in moments) >= _PAIRED_SESSIONS:
                return
            moments.append(item.last_at)
            if item.id != thread.id:
                yield item

    def _directories_of_project(self, thread: Thread) -> tuple[str, ...]:
        """The working directories of a thread's project."""
        if not self._directories:
            by_scope: dict[str, list[str]] = {}
            for directory, _ in self.workspace.store.archive.directories():
                if directory:
                    by_scope.setdefault(self.workspace.scope(directory), []).append(directory)
            self._directories = {directory: tuple(found) for found in by_scope.values() for directory in found}
        return self._directories.get(thread.project, (thread.project,))

    def _pair(self, thread: Thread, begun: datetime) -> None:
        before = self.workspace.store.log.thread_proposals(thread.id, 0, SEQUEL)
        fixes = tuple(self._judge_fixes_across(thread, begun))
        stored = place_proposals(before)
        self._verdicts += [fix[1].verdict for fix in fixes if fix not in stored]
        commit_span(self.workspace, self.run, thread, Span(thread=thread.id, start=0, judged=fixes), before, stage=SEQUEL)

    def _judge_fixes_across(self, thread: Thread, begun: datetime) -> Iterator[tuple[int, CandidateVerdict]]:
        earlier = tuple(dropwhile(lambda before: not self._find_failures(before).open, self._earlier_threads(thread, begun)))
        if not earlier:
            return
        events = self.workspace.store.archive.events(thread.id, 0, PAIRED_EVENTS)
        if not may_fix(events, [self._find_failures(before) for before in earlier]):
            return
        rules = load_rules(self.workspace, thread, self.workspace.store.log.forgotten_fingerprints())
        own = {event.key for event in events}  # events copied from an earlier session do not count
        ends = {event.key: event for thread in earlier for event in self._last_events(thread) if event.key not in own}
        before = tuple(ends.values())
        words = choose_lexicon(events, rules.profile.languages)
        for place, candidate in propose_fixes_across(before, events, profile=rules.profile, scope=rules.scope):
            yield place, judge_candidate(rules, candidate, (*before, *events), words)

    def _earlier_threads(self, thread: Thread, begun: datetime) -> tuple[Thread, ...]:
        """The sessions that ended before a thread began, latest last. Copies of the thread itself are left out."""
        threads = self.workspace.store.archive.threads_ended_between(
            self._directories_of_project(thread), begun - _PAIRING_REACH, begun, _PAIRED_SESSIONS
        )
        return tuple(item for item in reversed(threads) if item.session != thread.session)

    def _find_failures(self, thread: Thread) -> Failures:
        at = (thread.id, thread.events)
        if at not in self._failures:
            self._save_failures(thread, find_failures(find_actions(self._last_events(thread))[0]))
        return self._failures[at]

    def _save_failures(self, thread: Thread, failures: Failures) -> None:
        if len(self._failures) >= _CACHED_THREADS:
            self._failures.clear()
        self._failures[thread.id, thread.events] = failures

    def _last_events(self, thread: Thread) -> tuple[Event, ...]:
        """The last events of a thread, which several later sessions are paired with."""
        if thread.id not in self._ends:
            while len(self._ends) >= _CACHED_ENDS:
                del self._ends[next(iter(self._ends))]
            start = max(0, thread.events - PAIRED_EVENTS)
            self._ends[thread.id] = self.workspace.store.archive.events(thread.id, start, thread.events)
        return self._ends[thread.id]


@dataclass(kw_only=True, slots=True)
class ExtractionReport:
    """The result of extraction: the number of analysed threads and episodes, and the verdicts on their candidates.

    ``broken`` lists the files of threads that could not be analysed, with the reason. The next run tries them again.
    """

    threads: int = 0
    episodes: int = 0
    accepted: int = 0
    held: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, str]] = field(default_factory=list)

    @property
    def candidates(self) -> int:
        """The number of candidates."""
        return self.accepted + self.held + self.refused.total()

    def count(self, verdict: Verdict) -> None:
        """Count a verdict."""
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
    run: RunNumber,
    *,
    from_start: Collection[int] = (),
    within: Within | None = None,
    occasion: Occasion = Occasion.NIGHTLY,
    workers: Workers | None = None,
    report: ExtractionReport | None = None,
    progress: Progress = ignore_progress,
    late: Late = never_late,
) -> ExtractionReport:
    """Extract every thread in :func:`threads_to_extract`.

    ``run`` returns the number of the run; it is called only before a commit. In real time, only very certain candidates are
    committed, and the thread stays pending for an occasion that extracts all of it. If ``workers`` is given, other processes
    analyse the threads. A thread that cannot be analysed is reported and skipped. Once ``late`` returns true, the remaining threads
    wait for the next run. If ``report`` is given, it is the report of an earlier part of the run, to which this part is added.
    Raises StoreError.
    """
    threads = threads_to_extract(workspace, occasion, from_start=from_start, within=within)
    result = report or ExtractionReport()
    result.threads += len(threads)
    pairing = _SessionPairing(workspace=workspace, run=run, unpaired=set(threads))
    number = 0
    for batch, done in map_ahead(
        workers,
        analyse_windows,
        _prepare_batches(
            workspace, threads, live=occasion is Occasion.REAL_TIME, from_start=from_start, loaded=workers is not None
        ),
    ):
        if late():
            break
        # If a batch has only one thread, each stretch is committed, so that an interrupted run continues within the thread.
        with workspace.store.transaction() if len(batch) > 1 else nullcontext():
            for order, thread in enumerate(batch):
                progress("extracting", number, len(threads))
                number += 1
                try:
                    first = done[order] if done else None
                    for stretch in _extract_thread(workspace, run, thread, pairing, first):
                        result.episodes += stretch.episodes
                        for _, judged in stretch.span.judged:
                            result.count(judged.verdict)
                    for verdict in pairing.take_new_verdicts():
                        result.count(verdict)
                except SourceError as error:
                    result.broken.append((thread.thread.path, error.what))
    progress("extracting", len(threads), len(threads))
    return result


@dataclass(frozen=True, kw_only=True, slots=True)
class _OpenThread:
    """A thread, the ordinal of its first open episode, and the rules for its candidates."""

    thread: Thread
    place: int
    rules: Rules


def _prepare_batches(
    workspace: Workspace, threads: Iterable[int], *, live: bool, from_start: Collection[int], loaded: bool
) -> Iterator[tuple[list[_OpenThread], list[Window | None] | None]]:
    """Yield the threads in batches. If ``loaded``, a batch has each thread's first window, for another process to analyse."""
    forgotten = workspace.store.log.forgotten_fingerprints()
    for batch in split_batches(workspace.store.archive.threads_by_id(threads), attrgetter("events"), WINDOW):
        with workspace.store.transaction():
            opened = [
                _OpenThread(
                    thread=thread,
                    place=_find_open_episode(workspace, thread, force=thread.id in from_start),
                    rules=replace(load_rules(workspace, thread, forgotten), live=live),
                )
                for thread in batch
            ]
        yield opened, [_load_first(workspace, each) for each in opened] if loaded else None


def _load_first(workspace: Workspace, opened: _OpenThread) -> Window | None:
    with suppress(SourceError), isolate_errors("it cannot be read", opened.thread.path):  # the analysis will report this error
        return _load_window(workspace, opened, opened.place) if opened.place < opened.thread.events else None
    return None


def threads_to_extract(
    workspace: Workspace, occasion: Occasion, *, from_start: Collection[int] = (), within: Within | None = None
) -> Mapping[int, int]:
    """The threads to extract on an ``occasion``: those that grew and those in ``from_start``, if their profile is extracted then.

    Maps thread ids, in the order of their first events, to the ordinal of the first open episode. If ``within`` is given, only
    threads with events in [start, stop) are included.
    """
    always = all(profile.when.on(occasion) for profile in workspace.profiles)
    grown = {thread.id for thread in workspace.store.archive.threads(pending=True)} if from_start else ()
    return {
        thread.id: thread.extracted
        for thread in workspace.store.archive.threads(pending=not from_start)
        if (not from_start or thread.id in grown or thread.id in from_start)
        and (always or workspace.profile_for(thread.source, thread.project, thread.path).when.on(occasion))
        and (within is None or has_events_within(thread, within))
    }


def reextract_thread(
    workspace: Workspace, run: RunNumber, thread: Thread, unpaired: Collection[int] = ()
) -> tuple[tuple[Proposal, ...], tuple[CandidateVerdict, ...]]:
    """Extract a thread from its start, inside a transaction. Returns the rules' proposals before and after.

    ``unpaired`` are the threads that will be extracted later, and are paired then. Raises StoreError.
    """
    before = _load_proposals(workspace, thread)
    rules = load_rules(workspace, thread, workspace.store.log.forgotten_fingerprints())
    pairing = _SessionPairing(workspace=workspace, run=run, unpaired=set(unpaired))
    opened = _OpenThread(thread=thread, place=_find_open_episode(workspace, thread, force=True), rules=rules)
    for _ in _extract_thread(workspace, run, opened, pairing):
        pass
    return before, tuple(proposal.judged for proposal in _load_proposals(workspace, thread))


def _load_proposals(workspace: Workspace, thread: Thread) -> tuple[Proposal, ...]:
    return workspace.store.log.thread_proposals(thread.id, 0) + workspace.store.log.thread_proposals(thread.id, 0, SEQUEL)


def has_events_within(thread: Thread, within: Within) -> bool:
    """True if a thread may have events in [start, stop), according to its first and last event."""
    start, stop = within
    return (stop is None or (thread.first_at is not None and thread.first_at < stop)) and (
        start is None or (thread.last_at is not None and thread.last_at >= start)
    )


def _find_open_episode(workspace: Workspace, thread: Thread, *, force: bool) -> int:
    """Mark the thread's abandoned events. Returns the ordinal from which to extract."""
    changed = _mark_branches(workspace, thread)
    place = 0 if force else changed
    if place < thread.extracted:
        workspace.store.archive.save_extraction_progress(thread.id, extracted=place, seen=place)
    return place


def _extract_thread(
    workspace: Workspace, run: RunNumber, opened: _OpenThread, pairing: _SessionPairing, first: Stretch | str | None = None
) -> Iterator[Stretch]:
    """Analyse a thread from its first open episode, commit it stretch by stretch, and pair it with other sessions after the last
    stretch. If another process analysed the first window, ``first`` is the result or the error message. Raises SourceError.
    """
    thread, rules, place = opened.thread, opened.rules, opened.place
    closed = place
    while place < thread.events:
        if isinstance(first, str):
            raise SourceError(first, where=thread.path)
        with isolate_errors("it cannot be analysed", thread.path):
            stretch = first or analyse_window(_load_window(workspace, opened, place))
        first = None
        closed = stretch.closed if closed == place else closed  # no episode after an open one counts as closed
        last = stretch.stop == thread.events
        with workspace.store.transaction():
            _commit_stretch(workspace, run, thread, stretch.span, None if last else stretch.stop, live=rules.live)
            if not rules.live:
                workspace.store.archive.save_extraction_progress(thread.id, extracted=closed, seen=stretch.stop)
            if last and not rules.live:
                with isolate_errors("it cannot be paired with other sessions", thread.path):
                    pairing.pair_thread(thread, stretch.failures)
        yield stretch
        place = stretch.stop


def _commit_stretch(workspace: Workspace, run: RunNumber, thread: Thread, span: Span, stop: int | None, *, live: bool) -> None:
    before = workspace.store.log.thread_proposals(thread.id, span.start, stop=stop)
    if live:  # in real time, candidates of an earlier batch stay until the next batch
        placed = place_proposals(before)
        known = {judged.candidate.id for _, judged in placed}
        fresh = (item for item in span.judged if item[1].candidate.id not in known)
        span = replace(span, judged=tuple(sorted((*placed, *fresh), key=lambda each: each[0])))
    commit_span(workspace, run, thread, span, before, stage="extract")


def _load_window(workspace: Workspace, opened: _OpenThread, place: int) -> Window:
    """Load the part of a thread to analyse from ordinal ``place`` on."""
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
    """Mark the events that a rewind abandoned. Returns the ordinal from which to extract: 0 if an extracted event changed."""
    if not workspace.store.archive.has_rewinds(thread.id):
        return thread.extracted  # the usual case, in which the tree of a long conversation need not be loaded
    tree, marked = workspace.store.archive.tree(thread.id)
    gone = find_abandoned(tree)
    workspace.store.archive.mark_abandoned(
        thread.id, ((order, bool(now)) for order, (was, now) in enumerate(zip(marked, gone, strict=True)) if was != now)
    )
    first = next((order for order, (was, now) in enumerate(zip(marked, gone, strict=True)) if was != now), thread.extracted)
    return 0 if first < thread.extracted else thread.extracted
