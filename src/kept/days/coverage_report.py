"""Count the topics of sessions, and how many of them have memories. Changes nothing in the store."""

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

_MOST_MISSED = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class MissedTopic:
    """A topic without a memory, although the user typed a sentence in it that looks worth remembering (``told``)."""

    session: str
    path: str
    at: datetime | None
    words: tuple[str, ...]
    told: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverageReport:
    """Numbers of topics: all, ``covered`` by a memory, with ``nothing`` to remember. ``missed`` lists at most 50 missed topics."""

    topics: int = 0
    covered: int = 0
    nothing: int = 0
    missed: tuple[MissedTopic, ...] = ()


class CoverageCounter:
    """Counts topics by coverage. If ``within`` is given, it counts only topics that begin in that interval [start, stop)."""

    def __init__(self, workspace: Workspace, within: tuple[datetime, datetime] | None = None) -> None:
        self._workspace = workspace
        self._within = within
        self._known: dict[tuple[str, str], MemoryCoverage] = {}
        self._states: Counter[Coverage] = Counter()
        self._missed: dict[tuple[str, str], MissedTopic] = {}

    def count_topics(self, thread: Thread, events: Sequence[Event], topics: Sequence[Topic]) -> None:
        """Count ``topics`` of a thread; their places are indexes into ``events``. Raises StoreError."""
        for topic in mark_topics(topics, self._load_coverage(thread)):
            at = events[topic.start].at
            if self._within is not None and (at is None or not self._within[0] <= at < self._within[1]):
                continue
            self._states[topic.state] += 1
            if topic.state is Coverage.MISSED and len(self._missed) < _MOST_MISSED:
                missed_topic = MissedTopic(session=thread.session, path=thread.path, at=at, words=topic.words, told=topic.telling)
                self._missed.setdefault((thread.session, topic.telling), missed_topic)

    def build_report(self) -> CoverageReport:
        """The report on all topics counted so far."""
        return CoverageReport(
            topics=self._states.total(),
            covered=self._states[Coverage.COVERED],
            nothing=self._states[Coverage.NOTHING],
            missed=tuple(self._missed.values()),
        )

    def _load_coverage(self, thread: Thread) -> MemoryCoverage:
        """The coverage by memories of the thread's scope and of the user scope. Cached per profile and scope."""
        profile = self._workspace.profile_for(thread.source, thread.project, thread.path).id
        group = profile, self._workspace.scope(thread.project, thread.path)
        if group not in self._known:
            groups, log = dict.fromkeys((group, (profile, USER_SCOPE))), self._workspace.store.log
            self._known[group] = collect_coverage(memory for item in groups for memory in log.memories(group=item))
        return self._known[group]


def report_coverage(
    workspace: Workspace, threads: Iterable[Thread], within: tuple[datetime, datetime] | None = None
) -> CoverageReport:
    """Count the topics of threads by coverage. If ``within`` is given, only topics that begin in that interval [start, stop) count.

    Raises StoreError.
    """
    counter = CoverageCounter(workspace, within)
    for thread in threads:
        for base in range(0, thread.events, WINDOW):
            events = workspace.store.archive.events(thread.id, base, min(base + WINDOW, thread.events))
            counter.count_topics(thread, events, find_topics(events, lexicon=choose_lexicon(events, workspace.languages)))
    return counter.build_report()
