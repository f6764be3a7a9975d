"""Day summaries: notes of the work, and bullets of four kinds, each with the events on which it is based."""

from datetime import date, datetime
from enum import StrEnum

from kept.core.value import dataclass

CAME_OF_IT = ("solutions", "decisions")  # kinds of points that state a result; problems and questions do not


class SummaryPart(StrEnum):
    """The part of a day summary that a bullet belongs to, in display order."""

    WORKED = "worked on"
    DECIDED = "decided"
    LEARNT = "learnt"
    OPEN = "still open"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkNote:
    """One task of a session on one day: what the user asked for and the outcome, in the words used in the session.

    ``ordinal`` is the position of its first event (a user's prompt) in the thread, ``event`` that event's key. ``outcome`` is empty
    if nothing states it. ``commits`` are the subjects of commits made meanwhile, ``names`` the changed files, most changed first.
    ``weight`` grows with the changes, commits and exchanges. ``question`` is a question that the user typed meanwhile and that
    stayed open, ``decision`` a decision that they typed.
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
    """One point that a model noted about a conversation.

    ``kind`` is ``problems``, ``solutions``, ``decisions`` or ``questions``; ``events`` are the keys of the events that say so.
    """

    kind: str
    text: str
    events: tuple[str, ...]


class PassageForm(StrEnum):
    """The form of a stored sentence about a day: a point that a model noted while it read a conversation, a summary line that a
    model made from the points of a day, or a person's own words.
    """

    POINT = "point"
    LINE = "line"
    OWN = "own"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """One stored sentence about a day.

    ``kind`` is one of the four kinds of :class:`SummaryPoint`. ``events`` and ``sessions`` are its sources, ``at`` is the time of
    the last event. A line, or a person's words, belongs to a ``day`` (local) and a ``scope``; a point belongs to its ``thread`` at
    ``ordinal``. ``by`` names the model and the prompt. ``made_of`` is a hash of the points that a line was made from. ``instead``
    is the id of the line that a person's words replace (empty text: they deleted it). ``id`` is derived from the rest.
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
        """The passage as a :class:`SummaryPoint`."""
        return SummaryPoint(kind=self.kind, text=self.text, events=self.events)


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryBullet:
    """One line of a summary. ``source`` is the key of an event, or the id of the memory or stored sentence it shows.

    ``by`` names who worded it: a model, or ``you``; empty for words of the session itself. ``remembered`` means that it is a
    memory, so views that list memories do not need to repeat it.
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
    """The summary of a day or a week, ``first`` to ``last``: ``detailed`` has every bullet, ``condensed`` the 10 to 15 that matter
    later.
    """

    first: date
    last: date
    detailed: tuple[SummaryBullet, ...]
    condensed: tuple[SummaryBullet, ...]
