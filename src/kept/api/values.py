"""The values that :class:`kept.Memory` returns: frozen, without access to the store. Times are aware and in UTC; None is
unknown.
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
    """Evidence of a memory: verbatim words, their author (``human``, ``assistant``, ``tool``, …), time and session."""

    text: str
    author: str
    session: str
    at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One memory. ``scope`` is ``user`` if it applies everywhere, else ``project``; ``status`` is active, held (for a person),
    retired, superseded, resolved, rejected or expired.

    ``first_seen`` and ``last_seen`` are when it was said, ``expires`` is when it ends. A person's own words need no evidence.
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
    """The parts of a score, each in [0, 1] relative to the best of its search: shared ``words``, and the cosine similarity of the
    ``meaning`` (None if not computed). ``rest`` is added by time, conversation and neighbours.
    """

    words: float
    meaning: float | None
    rest: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """A search result. ``score`` orders the results of one search and has no meaning beyond it; ``parts`` and ``reasons`` explain
    it.

    ``kind`` is ``memory``, or ``turn`` for something said that did not become one: then ``id`` is not a memory's, and ``category``
    is the author.
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
    """One line of a context: ``layer`` is why it is there (``core`` always applies, ``here`` always applies in the project,
    ``fixes``, ``days``, ``facts``, ``past``, ``said``), ``day`` is ISO or empty, ``near`` in [0, 1] its similarity to the message.
    ``id`` is a memory's, except in ``days``, ``past`` and ``said``.
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
    """The relevant memory for a message: ``text`` goes before the prompt, ``lines`` are its content. It is falsy if empty.
    ``tokens`` is an upper estimate.
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
    """One event in a memory's history: ``kind`` is the operation (add, revise, retire, …), ``actor`` person, agent or machine,
    ``before`` and ``after`` its text. ``undone``: it no longer counts.
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
    """The result of the end of a session: new memories, memories that the person withdrew (``withdrawn``: retired, not erased), and
    problems. A withdrawal that did not identify a memory is a problem.
    """

    new: tuple[Item, ...] = ()
    withdrawn: tuple[Item, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgotten:
    """The erased memories by id, and the number of erased places for each part of kept that held the words. ``remains`` lists
    places that still hold them; empty is the proof that none does.
    """

    ids: tuple[str, ...]
    places: Mapping[str, int]
    remains: tuple[str, ...]
    problems: tuple[str, ...]


def list_quotes(memory: Memory) -> tuple[Quote, ...]:
    """The evidence of a memory."""
    return tuple(Quote(text=item.quote, author=item.author, session=item.session, at=item.at) for item in memory.evidence)


def make_item(memory: Memory, moment: datetime) -> Item:
    """A memory in its state at a moment."""
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
    """A search hit, with the evidence of its memory, or itself as evidence if it was only said."""
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
    """A piece of context as a line."""
    return Line(
        id=piece.key, text=piece.text, layer=piece.layer, day=piece.day, near=piece.near, score=piece.score, reason=piece.reason
    )


def make_change(chapter: TimelineEntry) -> Change:
    """An entry of a memory's timeline as a change."""
    return Change(
        kind=chapter.kind,
        at=chapter.operation.at or chapter.made.recorded_at,
        actor=chapter.made.actor.value,
        reason=chapter.operation.reason,
        before=chapter.before,
        after=chapter.after,
        undone=chapter.off,
    )
