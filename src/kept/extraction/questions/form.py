"""The form of a reply about a chunk: what a model fills in. Categories and verdicts are plain text: an unknown one costs its item
only.
"""

from dataclasses import dataclass

from kept.llm.reply import schema_of


@dataclass(frozen=True, kw_only=True, slots=True)
class HintVerdict:
    """What the model says of a hint: confirm, reword (``content`` is the better sentence) or refuse (``reason`` says why)."""

    hint: str
    verdict: str
    content: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """An event by its id, and words that stand in it."""

    event: str
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedMemory:
    """A memory that the model proposes: a passage of an event, which becomes its content.

    ``about`` names what the passage speaks of where its own words do not say. ``rewording`` takes the passage's place where that
    does not stand by itself; ``quotes`` are the further words that it rests on, or by which the person agreed. ``later`` names
    another task that needs it; ``worth`` says how much is lost without it: 3 (much) to 1, 0 where the reply does not say.
    """

    category: str
    event: str
    passage: str
    about: str
    rewording: str
    quotes: tuple[Citation, ...]
    later: str
    worth: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NotePoint:
    """A point of what the part came to, and the events that say so."""

    text: str
    events: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notes:
    """What the part came to."""

    problems: tuple[NotePoint, ...]
    solutions: tuple[NotePoint, ...]
    decisions: tuple[NotePoint, ...]
    questions: tuple[NotePoint, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyForm:
    """A whole reply; ``hints`` are asked for only where there are some."""

    hints: tuple[HintVerdict, ...]
    memories: tuple[ProposedMemory, ...]
    notes: Notes


@dataclass(frozen=True, kw_only=True, slots=True)
class _ReplyFormNoHints:
    memories: tuple[ProposedMemory, ...]
    notes: Notes


SCHEMA = schema_of(_ReplyFormNoHints)
SCHEMA_WITH_HINTS = schema_of(ReplyForm)
