"""Day summaries: notes of the work, and bullets of four kinds. Each has the events on which it is based."""

from datetime import date, datetime
from enum import StrEnum

from kept.core.value import dataclass

CAME_OF_IT = ("solutions", "decisions")  # the kinds of points that state a result, unlike problems and questions


class SummaryPart(StrEnum):
    """The part of a day summary with a bullet. The order is that of display."""

    WORKED = "worked on"
    DECIDED = "decided"
    LEARNT = "learnt"
    OPEN = "still open"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkNote:
    """One task of a session on one day: the user's request and the outcome, in the words of the session.

    ``ordinal`` is the position of its first event (a user's prompt) in the thread, ``event`` that event's key. ``outcome`` is empty
    if no text states it. ``commits`` are the subjects of commits made during the task. ``names`` are the changed files, most
    changed first. ``weight`` grows with the number of changes, commits and exchanges. ``question`` is a question that the user
    typed during the task and nobody answered; ``decision`` is a decision that they typed.
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

    ``kind`` is ``problems``, ``solutions``, ``decisions`` or ``questions``. ``events`` are the keys of the events that support it.
    """

    kind: str
    text: str
    events: tuple[str, ...]


class PassageForm(StrEnum):
    """The form of a stored sentence about a day: a point that a model noted while it read a conversation, a line that a model wrote
    from the points of a day, or a person's own words.
    """

    POINT = "point"
    LINE = "line"
    OWN = "own"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """One stored sentence about a day.

    ``kind`` is one of the four kinds of :class:`SummaryPoint`. ``events`` and ``sessions`` are its sources, ``at`` is the time of
    the last event. A line or a person's words belong to a ``day`` (local) and a ``scope``. A point belongs to its ``thread`` at
    ``ordinal``. ``by`` names the model and the prompt. ``made_of`` is a hash of the points from which a line was made. ``instead``
    is the id of the line that a person's words replace; if their text is empty, they deleted the line. ``id`` is derived from the
    other fields.
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
    """One line of a summary. ``source`` is the key of an event, or the id of the memory or stored sentence that it shows.

    ``by`` names who worded it: a model, or ``you``. It is empty for words of the session itself. ``remembered`` means that it is a
    memory. Views that list memories need not repeat it.
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
    """The summary of the days ``first`` to ``last``. ``detailed`` has every bullet, ``condensed`` 10 to 15 that matter later."""

    first: date
    last: date
    detailed: tuple[SummaryBullet, ...]
    condensed: tuple[SummaryBullet, ...]
