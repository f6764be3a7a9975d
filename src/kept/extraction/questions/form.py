"""The form of a reply about a chunk: what a model fills in. Categories and verdicts are plain text: an unknown one costs its item
only.
"""

from dataclasses import dataclass

from kept.llm.schema import schema_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What the model says of a hint: confirm, reword (``content`` is the better sentence) or refuse (``reason`` says why)."""

    hint: str
    verdict: str
    content: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Cited:
    """An event by its id, and words that stand in it."""

    event: str
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposed:
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
    quotes: tuple[Cited, ...]
    later: str
    worth: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Noted:
    """A point of what the part came to, and the events that say so."""

    text: str
    events: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notes:
    """What the part came to."""

    problems: tuple[Noted, ...]
    solutions: tuple[Noted, ...]
    decisions: tuple[Noted, ...]
    questions: tuple[Noted, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
    """A whole reply; ``hints`` are asked for only where there are some."""

    hints: tuple[Verdict, ...]
    memories: tuple[Proposed, ...]
    notes: Notes


@dataclass(frozen=True, kw_only=True, slots=True)
class _WithoutHints:
    memories: tuple[Proposed, ...]
    notes: Notes


SCHEMA = schema_of(_WithoutHints)
SCHEMA_WITH_HINTS = schema_of(Filled)
