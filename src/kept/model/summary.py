"""Summaries: what a day amounted to, as notes of what was worked on and bullets of four kinds, each with the events it rests on."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class Part(StrEnum):
    """What a bullet of a day tells (K2, X8), in the order it is told."""

    WORKED = "worked on"
    DECIDED = "decided"
    LEARNT = "learnt"
    OPEN = "still open"


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """One thing that was worked on in a session, on one day: what the user asked for and what came of it, in the words used then.

    ``ordinal`` is its first event's place in the thread, ``event`` that event's key (a prompt of the user's). ``outcome`` is empty
    where nothing tells it; ``commits`` are the subjects of commits made meanwhile, ``names`` the files changed, most changed first.
    ``weight`` grows with what was done: changes, commits, exchanges.
    """

    ordinal: int
    event: str
    at: datetime
    asked: str
    outcome: str = ""
    commits: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    weight: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Bullet:
    """One line of a summary. ``source`` is the key of an event, or the id of the memory it tells of."""

    part: Part
    text: str
    at: datetime | None
    source: str
    scope: str
    weight: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What a day (or a week) was, from its first to its last day: everything told, and the 10 to 15 lines that matter later (K10)."""

    first: date
    last: date
    detailed: tuple[Bullet, ...]
    condensed: tuple[Bullet, ...]
