"""Covering: the topics of the sessions that grew, or of a day, and what memory has of each. Changes nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kept.adapters.store import Thread
from kept.app.desk import Desk
from kept.model.memory import USER_SCOPE, Memory
from kept.model.times import to_text
from kept.stages.coverage import Coverage, Topic, topics

WINDOW = 4_000  # events looked at together: bounds memory whatever the length of a session
_MISSED_KEPT = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Missed:
    """A topic of which nothing is remembered although the user's words look worth it: what was said, its words, where and when."""

    session: str
    path: str
    at: datetime | None
    words: tuple[str, ...]
    told: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Covered:
    """How many topics there were and what memory has of them; at most 50 of the missed ones are listed."""

    topics: int = 0
    covered: int = 0
    nothing: int = 0
    missed: tuple[Missed, ...] = ()

    def body(self) -> dict[str, Any]:
        """The account as JSON."""
        return {
            "topics": self.topics,
            "covered": self.covered,
            "nothing": self.nothing,
            "missed": [
                {
                    "session": each.session,
                    "path": each.path,
                    "at": to_text(each.at) if each.at else None,
                    "words": list(each.words),
                    "told": each.told,
                }
                for each in self.missed
            ],
        }


def cover(desk: Desk, threads: Iterable[Thread], within: tuple[datetime, datetime] | None = None) -> Covered:
    """The account of the topics of some threads; only of those that begin in [start, stop) where ``within`` is given. Raises StoreError."""
    groups: dict[tuple[str, str], tuple[Memory, ...]] = {}
    total = covered = nothing = 0
    missed: dict[tuple[str, str], Missed] = {}
    for thread in threads:
        scope, profile = desk.scope(thread.project, thread.path), desk.profile_for(thread.source, thread.project, thread.path)
        here, everywhere = (profile.id, scope), (profile.id, USER_SCOPE)
        for each in (here, everywhere):
            if each not in groups:
                groups[each] = desk.store.log.memories(group=each)
        for topic, at in _topics(desk, thread, groups[here] + groups[everywhere]):
            if within is not None and (at is None or not within[0] <= at < within[1]):
                continue
            total += 1
            covered += topic.state is Coverage.COVERED
            nothing += topic.state is Coverage.NOTHING
            if topic.state is Coverage.MISSED:
                found = Missed(session=thread.session, path=thread.path, at=at, words=topic.words, told=topic.told)
                missed.setdefault((thread.session, topic.told), found)
    return Covered(topics=total, covered=covered, nothing=nothing, missed=tuple(missed.values())[:_MISSED_KEPT])


def _topics(desk: Desk, thread: Thread, memories: tuple[Memory, ...]) -> Iterator[tuple[Topic, datetime | None]]:
    for base in range(0, thread.events, WINDOW):
        events = desk.store.archive.events(thread.id, base, min(base + WINDOW, thread.events))
        for topic in topics(events, memories, lexicon=desk.lexicon):
            yield topic, events[topic.start].at
