"""Fixes across sessions: what failed at the end of one session and passed first in a later one of the project.

A session goes on where the up to three before it ended, as far as the two weeks before it go; two that ran side by side do not
follow each other. Both orders of reading end alike: a session is paired with those before it when it is read, and those after it
are paired again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kept.core.event import Event
from kept.core.memory import Actor, CandidateVerdict, Verdict
from kept.extraction.rules.fixes import has_open_failure
from kept.extraction.rules.fixes import propose_fixes_across as fixes_across
from kept.extraction.verdicts import Rules, judge_candidate, rules_for, texts_by_key
from kept.profiles.language import choose_lexicon
from kept.store.values import SEQUEL, Draft, Span, Thread
from kept.workspace import Workspace

EVENTS = 120  # of the end of a session, and of the beginning of the one after it
SESSIONS = 3
REACH = timedelta(days=14)
_KNOWN = 10_000


@dataclass(kw_only=True, slots=True)
class SessionPairing:
    """The pairing of sessions under way; ``coming`` are the threads that are paired when it is their turn."""

    workspace: Workspace
    run: Callable[[], int]
    coming: set[int]
    _directories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _failing: dict[tuple[int, int], bool] = field(default_factory=dict)
    _verdicts: list[Verdict] = field(default_factory=list)

    def take_new_verdicts(self) -> list[Verdict]:
        """The verdicts on what was found since this was asked last."""
        found, self._verdicts = self._verdicts, []
        return found

    def pair_thread(self, thread: Thread) -> None:
        """Pair a thread with those before it, and those after it anew, inside a transaction. Raises StoreError."""
        self.coming.discard(thread.id)
        begun, ended = thread.first_at, thread.last_at
        if not thread.project or begun is None or ended is None:
            return
        self._pair(thread, begun)
        for item in tuple(self._later_threads(thread, begun, ended)):
            if item.id not in self.coming and item.first_at is not None:
                self._pair(item, item.first_at)

    def _later_threads(self, thread: Thread, begun: datetime, ended: datetime) -> Iterator[Thread]:
        """The threads that may have this one before them: all that began while it ran, and those after it up to the third that
        ended.
        """
        moments: list[datetime] = []
        for item in self.workspace.store.archive.threads_started_between(
            self._directories_of_project(thread), begun, ended + REACH
        ):
            if item.first_at is None or item.last_at is None:
                continue
            if sum(ended < last < item.first_at for last in moments) >= SESSIONS:
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
            self._directories = {scope: tuple(found) for scope, found in by_scope.items()}
        return self._directories.get(self.workspace.scope(thread.project, thread.path), (thread.project,))

    def _pair(self, thread: Thread, begun: datetime) -> None:
        before = self.workspace.store.log.thread_proposals(thread.id, 0, SEQUEL)
        rules = rules_for(
            self.workspace, thread, self.workspace.store.log.forgotten_fingerprints(), self.workspace.store.key("forget")
        )
        judged = tuple(self._judge_fixes(thread, begun, rules))
        was = tuple((proposal.ordinal, proposal.judged) for proposal in before)
        if was == judged:
            return
        self._verdicts += [
            candidate_verdict.verdict for place, candidate_verdict in judged if (place, candidate_verdict) not in was
        ]
        draft = Draft(
            run=self.run(),
            stage=SEQUEL,
            subject=f"{thread.source}:{thread.session}",
            actor=Actor.MACHINE,
            recorded_at=self.workspace.clock(),
            span=Span(thread=thread.id, start=0, judged=judged),
        )
        self.workspace.store.log.commit(draft)

    def _judge_fixes(self, thread: Thread, begun: datetime, rules: Rules) -> Iterator[tuple[int, CandidateVerdict]]:
        earlier = self._earlier_threads(thread, begun)
        if not any(self._is_left_failing(thread) for thread in earlier):
            return
        events = self.workspace.store.archive.events(thread.id, 0, EVENTS)
        known = {event.key for event in events}
        ends = {
            event.key: event for thread in earlier for event in self._last_events(thread) if event.key not in known
        }  # a copy tells it again
        before = tuple(ends.values())
        both = (*before, *events)
        words = choose_lexicon(events, rules.profile.languages)
        by_key, said = {event.key: event for event in both}, texts_by_key(both)
        for place, candidate in fixes_across(before, events, profile=rules.profile, scope=lambda _: rules.scope):
            yield place, judge_candidate(rules, candidate, by_key, said, words)

    def _earlier_threads(self, thread: Thread, begun: datetime) -> tuple[Thread, ...]:
        """The sessions before a thread, the latest last; copies of the thread itself are none."""
        threads = self.workspace.store.archive.threads_ended_between(
            self._directories_of_project(thread), begun - REACH, begun, SESSIONS
        )
        return tuple(item for item in reversed(threads) if item.session != thread.session)

    def _is_left_failing(self, thread: Thread) -> bool:
        at = (thread.id, thread.events)
        if at not in self._failing:
            if len(self._failing) >= _KNOWN:
                self._failing.clear()
            self._failing[at] = has_open_failure(self._last_events(thread))
        return self._failing[at]

    def _last_events(self, thread: Thread) -> tuple[Event, ...]:
        return self.workspace.store.archive.events(thread.id, max(0, thread.events - EVENTS), thread.events)
