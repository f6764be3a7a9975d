"""Summaries: what a day amounted to, as notes of what was worked on and bullets of four kinds, each with the events it rests on."""

from datetime import date, datetime
from enum import StrEnum

from kept.core.value import dataclass

CAME_OF_IT = ("solutions", "decisions")  # the kinds of points that tell what came of a day; problems and questions alone do not


class SummaryPart(StrEnum):
    """What a bullet of a day tells (K2, X8), in the order it is told."""

    WORKED = "worked on"
    DECIDED = "decided"
    LEARNT = "learnt"
    OPEN = "still open"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkNote:
    """One thing that was worked on in a session, on one day: what the user asked for and what came of it, in the words used then.

    ``ordinal`` is its first event's place in the thread, ``event`` that event's key (a prompt of the user's). ``outcome`` is empty
    where nothing tells it; ``commits`` are the subjects of commits made meanwhile, ``names`` the files changed, most changed first.
    ``weight`` grows with what was done: changes, commits, exchanges. ``question`` is one that was typed meanwhile and stayed open,
    ``decision`` what was typed of how something is to be.
    """

    ordinal: int
    event: str
    at: datetime
    asked: str
    outcome: str = ""
    commits: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    weight: int = 1
    question: str = ""
    decision: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryPoint:
    """One point of what a conversation came to: its kind (``problems``, ``solutions``, ``decisions``, ``questions``), and the
    events (keys) that say so.
    """

    kind: str
    text: str
    events: tuple[str, ...]


class PassageForm(StrEnum):
    """What a stored sentence about a day is: a point that a model noted while it read, a line that was put together of the points
    of a day, or a person's own words.
    """

    POINT = "point"
    LINE = "line"
    OWN = "own"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """One stored sentence of what a day came to.

    ``kind`` is one of the four of a point; ``events`` and ``sessions`` are what it rests on, ``at`` is when the last of
    them was. ``day`` (local) and ``scope`` say where a line or a person's words belong; a point belongs to its ``thread`` at
    ``ordinal``. ``by`` names the model and the prompt; ``made_of`` is the mark of the points that a line was put together of.
    ``instead`` is the id of the line whose place a person's words took (empty text: they deleted it). ``id`` is made of what it is.
    """

    id: str
    form: PassageForm
    kind: str
    text: str
    at: datetime
    events: tuple[str, ...]
    sessions: tuple[str, ...] = ()
    day: date | None = None
    scope: str = ""
    thread: int = 0
    ordinal: int = 0
    by: str = ""
    made_of: str = ""
    instead: str = ""

    @property
    def point(self) -> SummaryPoint:
        """It as a point."""
        return SummaryPoint(kind=self.kind, text=self.text, events=self.events)


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryBullet:
    """One line of a summary. ``source`` is the key of an event, or the id of the memory or of the stored sentence it tells.

    ``by`` names who put it into words: a model, or ``you``; empty for words used then. ``remembered`` says that it is a memory,
    which is told by itself where memories are listed.
    """

    part: SummaryPart
    text: str
    at: datetime | None
    source: str
    scope: str
    weight: int = 1
    by: str = ""
    events: tuple[str, ...] = ()
    remembered: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What a day (or a week) was, from its first to its last day: everything told, and the 10 to 15 lines that matter later
    (K10).
    """

    first: date
    last: date
    detailed: tuple[SummaryBullet, ...]
    condensed: tuple[SummaryBullet, ...]
