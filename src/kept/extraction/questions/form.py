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
    does not stand by itself; ``quotes`` are the further words that it rests on, or by which the person agreed.
    """

    category: str
    event: str
    passage: str
    about: str
    rewording: str
    quotes: tuple[Cited, ...]


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
    """A whole reply."""

    hints: tuple[Verdict, ...]
    memories: tuple[Proposed, ...]
    notes: Notes


SCHEMA = schema_of(Filled)
