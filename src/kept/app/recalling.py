"""Recalling: what is stored that a question asks for, best first, each with its reasons. Changes nothing.

Imports little, for a hook asks before every prompt: not the desk, only what it needs of one (:class:`Place`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

from kept.adapters.index import Index, Kind, Limits, Unit, opened
from kept.model.project import folder_of
from kept.model.times import from_text, to_text
from kept.stages.recall.question import telling_words

EVERYWHERE = (Kind.MEMORY, Kind.SUMMARY, Kind.TURN)


class Home(Protocol):
    """Where the store lies."""

    @property
    def store(self) -> Path:
        """The store file."""
        ...


class Place(Protocol):
    """What a search needs of a desk: where the store lies, what time it is, and where a day begins."""

    @property
    def home(self) -> Home:
        """Where the store lies."""
        ...

    @property
    def zone(self) -> ZoneInfo:
        """The zone that decides which day an instant belongs to."""
        ...

    def clock(self) -> datetime:
        """The present moment."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """Among what to look; empty means everything.

    ``scopes`` are those of memories (``"user"``, ``"project:<key>"``), and turns count to the project they were said in; ``project``
    is part of a project's name. ``since`` and ``until`` bound the time of what is found: until is exclusive. ``statuses`` are those of memories.
    """

    scopes: tuple[str, ...] = ()
    project: str = ""
    category: str = ""
    since: datetime | None = None
    until: datetime | None = None
    statuses: tuple[str, ...] = ("active", "held")


NO_FILTERS = Filters()


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """Something found. ``id`` is that of a memory, the key of a turn, or the day of a summary.

    ``score`` orders the hits of one search (higher is better) and means nothing beyond it; ``similarity`` is the cosine of the
    meanings, None where none was computed. ``reasons`` say in words why it is here. ``project`` is what people call the scope.
    """

    kind: Kind
    id: str
    text: str
    score: float
    similarity: float | None
    reasons: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    scope: str
    project: str
    category: str = ""
    status: str = ""
    confidence: float = 1.0
    author: str = ""
    session: str = ""


def search(
    desk: Place, query: str, *, where: Sequence[Kind] = EVERYWHERE, limit: int = 10, filters: Filters = NO_FILTERS
) -> tuple[Hit, ...]:
    """What answers a question, best first. Any text is a question: none of its characters is an operator. Raises StoreError."""
    words = telling_words(query)
    found: list[Hit] = []
    with opened(desk.home.store) as index:
        grounds = _Grounds(index)
        limits = grounds.limits(filters, to_text(desk.clock()))
        for kind in where:
            scores = dict(index.by_words(kind, words, limits, limit))
            units = index.units(kind, scores)
            best = max(scores.values(), default=1.0) or 1.0
            found += [grounds.hit(units[item], score / best) for item, score in scores.items() if item in units]
    return tuple(sorted(found, key=lambda each: (-each.score, each.kind, each.id))[:limit])


class _Grounds:
    """Which project each turn belongs to; looked up once, and only where it is asked."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._projects = {directory: (scope, name) for directory, scope, name in index.projects()}
        self._names = dict(self._projects.values())

    def limits(self, filters: Filters, now: str) -> Limits:
        """The limits that filters mean."""
        scopes = set(filters.scopes) or None
        if filters.project:
            part = filters.project.casefold()
            named = {scope for scope, name in self._names.items() if part in name.casefold()}
            scopes = named if scopes is None else named & scopes
        threads = None
        if scopes is not None:
            rows = self._index.threads()
            threads = tuple(number for number, directory, path in rows if self.scope(directory, path)[0] in scopes)
        return Limits(
            now=now, statuses=filters.statuses, scopes=None if scopes is None else tuple(sorted(scopes)), threads=threads,
            category=filters.category, since=to_text(filters.since) if filters.since else None,
            until=to_text(filters.until) if filters.until else None,
        )  # fmt: skip

    def scope(self, directory: str, path: str) -> tuple[str, str]:
        """The scope of what was said in a directory (else in the transcript at ``path``), and its project's name."""
        return self._projects.get(directory or (folder_of(path) if path else ""), ("", ""))

    def hit(self, unit: Unit, score: float) -> Hit:
        """A unit as a hit."""
        scope, name = (unit.scope, self._names.get(unit.scope, "")) if unit.scope else self.scope(unit.directory, unit.path)
        return Hit(
            kind=unit.kind, id=unit.id, text=unit.text, score=score, similarity=None, reasons=("its words",),
            first_at=_instant(unit.first_at), last_at=_instant(unit.last_at), scope=scope, project=name, category=unit.category,
            status=unit.status, confidence=unit.confidence, author=unit.author, session=unit.session,
        )  # fmt: skip


def _instant(text: str) -> datetime | None:
    return from_text(text) if text else None
