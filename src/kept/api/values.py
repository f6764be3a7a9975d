"""The values that :class:`kept.Memory` returns. They are frozen and have no access to the store. Times are aware and in UTC. A time
of None is unknown.
"""

from collections.abc import Mapping
from datetime import datetime

from kept.core.fence import ContextPiece
from kept.core.memory import USER_SCOPE, Memory
from kept.core.value import dataclass
from kept.memories.browse import TimelineEntry
from kept.recall.search import Hit


@dataclass(frozen=True, kw_only=True, slots=True)
class Quote:
    """Evidence of a memory: verbatim words with their author (``human``, ``assistant``, ``tool``, …), time and session."""

    text: str
    author: str
    session: str
    at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One memory. ``scope`` is ``user`` if it applies everywhere, else ``project``. ``status`` is active, held (for review by a
    person), retired, superseded, resolved, rejected or expired.

    ``first_seen`` and ``last_seen`` are the first and last time it was said. ``expires`` is when it ends. ``evidence`` may be empty
    if a person added the memory.
    """

    id: str
    text: str
    category: str
    scope: str
    status: str
    confidence: float
    pinned: bool
    evidence: tuple[Quote, ...]
    first_seen: datetime | None
    last_seen: datetime | None
    expires: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The parts of a score, each in [0, 1] relative to the best result of its search. ``words`` is for shared words. ``meaning`` is
    the cosine similarity (None if not computed). ``rest`` is what time, conversation and neighbours add.
    """

    words: float
    meaning: float | None
    rest: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """A search result. ``score`` orders the results of one search and cannot be compared between searches. ``parts`` and
    ``reasons`` explain it.

    ``kind`` is ``memory``, or ``turn`` for a statement that did not become a memory. For a turn, ``id`` is not the id of a memory,
    and ``category`` is the author.
    """

    id: str
    text: str
    kind: str
    category: str
    score: float
    parts: Score
    reasons: tuple[str, ...]
    evidence: tuple[Quote, ...]
    first_seen: datetime | None
    last_seen: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a context. ``layer`` is the reason for the line: ``core`` (always applies), ``here`` (always applies in the
    project), ``fixes``, ``days``, ``facts``, ``past`` or ``said``. ``day`` is in ISO format or empty. ``near`` is the similarity to
    the message, in [0, 1]. ``id`` is the id of a memory, except in ``days``, ``past`` and ``said``.
    """

    id: str
    text: str
    layer: str
    day: str
    near: float
    score: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The relevant memory for a message. ``text`` is to be put before the prompt, and ``lines`` are its content. ``tokens`` is an
    upper estimate of its length. An empty context is falsy.
    """

    text: str
    lines: tuple[Line, ...]
    tokens: int

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One event in a memory's history. ``kind`` is the operation (add, revise, retire, …). ``actor`` is person, agent or machine.
    ``before`` and ``after`` are the memory's texts. ``undone`` means that the event was undone later.
    """

    kind: str
    at: datetime
    actor: str
    reason: str
    before: str
    after: str
    undone: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Learnt:
    """The result of the end of a session: the new memories, the memories that the person withdrew (they are retired, not erased),
    and problems. A withdrawal that identifies no memory is a problem.
    """

    new: tuple[Item, ...] = ()
    withdrawn: tuple[Item, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgotten:
    """The ids of the erased memories, and the number of erased places for each part of kept that contained the words. ``remains``
    lists the places that still contain them. If it is empty, a search after the erasure found none.
    """

    ids: tuple[str, ...]
    places: Mapping[str, int]
    remains: tuple[str, ...]
    problems: tuple[str, ...]


def list_quotes(memory: Memory) -> tuple[Quote, ...]:
    """The evidence of a memory."""
    return tuple(Quote(text=item.quote, author=item.author, session=item.session, at=item.at) for item in memory.evidence)


def make_item(memory: Memory, moment: datetime) -> Item:
    """Convert a memory in its state at ``moment``."""
    return Item(
        id=memory.id,
        text=memory.content,
        category=memory.category,
        scope="user" if memory.scope == USER_SCOPE else "project",
        status=memory.status_at(moment).value,
        confidence=memory.confidence,
        pinned=memory.pinned,
        evidence=list_quotes(memory),
        first_seen=memory.first_seen,
        last_seen=memory.last_seen,
        expires=memory.valid_until,
    )


def make_recalled(hit: Hit, memory: Memory | None) -> Recalled:
    """Convert a search hit. Its evidence is that of its memory. A hit that is not a memory is its own evidence."""
    quote = Quote(text=hit.text, author=hit.author, session=hit.session, at=hit.last_at)
    return Recalled(
        id=hit.id,
        text=hit.text,
        kind=str(hit.kind),
        category=hit.category if memory else hit.author,
        score=hit.score,
        parts=Score(words=hit.words, meaning=hit.similarity, rest=hit.score - hit.own),
        reasons=hit.reasons,
        evidence=list_quotes(memory) if memory else (quote,),
        first_seen=hit.first_at,
        last_seen=hit.last_at,
    )


def make_line(piece: ContextPiece) -> Line:
    """Convert a piece of context to a line."""
    return Line(
        id=piece.key, text=piece.text, layer=piece.layer, day=piece.day, near=piece.near, score=piece.score, reason=piece.reason
    )


def make_change(chapter: TimelineEntry) -> Change:
    """Convert an entry of a memory's timeline to a change."""
    return Change(
        kind=chapter.kind,
        at=chapter.operation.at or chapter.made.recorded_at,
        actor=chapter.made.actor.value,
        reason=chapter.operation.reason,
        before=chapter.before,
        after=chapter.after,
        undone=chapter.off,
    )
