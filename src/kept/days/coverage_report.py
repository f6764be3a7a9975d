"""Coverage of a run or a day: the topics of its sessions, and how memories cover them. Read-only."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from kept.core.event import Event
from kept.core.memory import USER_SCOPE
from kept.core.value import dataclass
from kept.extraction.coverage import Coverage, MemoryCoverage, Topic, collect_coverage, find_topics, mark_topics
from kept.extraction.segment import WINDOW
from kept.profiles.language import choose_lexicon
from kept.store.values import Thread
from kept.workspace import Workspace

_MISSED_KEPT = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class MissedTopic:
    """A topic without a memory although the user's words look worth remembering (``told``), with its words, session and time."""

    session: str
    path: str
    at: datetime | None
    words: tuple[str, ...]
    told: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverageReport:
    """The number of topics by coverage; at most 50 of the missed ones are listed."""

    topics: int = 0
    covered: int = 0
    nothing: int = 0
    missed: tuple[MissedTopic, ...] = ()


class CoverageCounter:
    """Counts topics; if ``within`` is given, only those that begin in [start, stop)."""

    def __init__(self, workspace: Workspace, within: tuple[datetime, datetime] | None = None) -> None:
        self._desk = workspace
        self._within = within
        self._known: dict[tuple[str, str], MemoryCoverage] = {}
        self._states: Counter[Coverage] = Counter()
        self._missed: dict[tuple[str, str], MissedTopic] = {}

    def count_topics(self, thread: Thread, events: Sequence[Event], found: Sequence[Topic]) -> None:
        """Count the topics in some events of a thread. Raises StoreError."""
        for topic in mark_topics(found, self._load_coverage(thread)):
            at = events[topic.start].at
            if self._within is not None and (at is None or not self._within[0] <= at < self._within[1]):
                continue
            self._states[topic.state] += 1
            if topic.state is Coverage.MISSED and len(self._missed) < _MISSED_KEPT:
                missed_topic = MissedTopic(session=thread.session, path=thread.path, at=at, words=topic.words, told=topic.telling)
                self._missed.setdefault((thread.session, topic.telling), missed_topic)

    def done(self) -> CoverageReport:
        """The report of what was counted."""
        return CoverageReport(
            topics=self._states.total(),
            covered=self._states[Coverage.COVERED],
            nothing=self._states[Coverage.NOTHING],
            missed=tuple(self._missed.values()),
        )

    def _load_coverage(self, thread: Thread) -> MemoryCoverage:
        """The coverage by the memories of a thread's scope and the user scope, cached per group."""
        profile = self._desk.profile_for(thread.source, thread.project, thread.path).id
        group = profile, self._desk.scope(thread.project, thread.path)
        if group not in self._known:
            groups = dict.fromkeys((group, (profile, USER_SCOPE)))
            self._known[group] = collect_coverage(memory for item in groups for memory in self._desk.store.log.memories(group=item))
        return self._known[group]


def report_coverage(
    workspace: Workspace, threads: Iterable[Thread], within: tuple[datetime, datetime] | None = None
) -> CoverageReport:
    """Report the coverage of the topics of some threads; with ``within``, only of those that begin in [start, stop). Raises
    StoreError.
    """
    covering = CoverageCounter(workspace, within)
    for thread in threads:
        for base in range(0, thread.events, WINDOW):
            events = workspace.store.archive.events(thread.id, base, min(base + WINDOW, thread.events))
            covering.count_topics(thread, events, find_topics(events, lexicon=choose_lexicon(events, workspace.languages)))
    return covering.done()
