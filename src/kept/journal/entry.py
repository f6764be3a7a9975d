"""Entries: what a day is told with, and the entry that tells it, as values. Knows no file, no model and no store."""

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum

from kept.core.value import dataclass, field

EXTRACTIVE = "extractive"  # the writer of an entry that no language model wrote


class Slot(StrEnum):
    """What a part of an entry tells, by the name a template calls it."""

    WORKED = "worked"
    SOLVED = "solved"
    DECIDED = "decided"
    LEARNT = "learnt"
    OPEN = "open"
    COMMITS = "commits"
    FILES = "files"
    OUTSIDE = "outside"
    BEFORE = "before"


class TrustLevel(StrEnum):
    """How far a source may be trusted: what sessions tell, what is remembered already, what comes from outside."""

    SESSION = "sessions"
    MEMORY = "memory"
    OUTSIDE = "outside"


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedItem:
    """Something that an external source brought: untrusted text, on one line each.

    ``key`` is the same whenever the source gives it again. ``source`` is the name of the feed.
    """

    key: str
    source: str
    title: str
    text: str = ""
    at: datetime | None = None
    link: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextItem:
    """One thing an entry may tell: its words, where they come from, and what it weighs.

    ``reference`` is a memory's id or an item's key; ``day`` the day it was made, where that is another than the entry's; ``kind``
    what a memory is ("decided", "still open") or where work stood ("last worked on").
    """

    slot: Slot
    text: str
    grade: TrustLevel = TrustLevel.SESSION
    source: str = TrustLevel.SESSION.value
    reference: str = ""
    day: date | None = None
    scope: str = ""
    weight: float = 1.0
    kind: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryHead:
    """What the front matter of an entry says of it.

    ``shares`` are those of what the entry was made of, by source, adding up to 1; ``memories`` the ids it drew on,
    ``self_reference`` the share (0 to 1) of its sentences about the machinery of memory. ``tokens`` (in, out) is what a model was
    asked for, estimated by length; ``inputs`` hashes what it was made of, ``digest`` the rest of the file as kept wrote it.
    """

    first: date
    last: date
    template: str
    writer: str
    extract: bool
    sessions: int
    shares: Mapping[str, float] = field(default_factory=dict)
    memories: tuple[str, ...] = ()
    self_reference: float = 0.0
    tokens: tuple[int, int] = (0, 0)
    inputs: str = ""
    digest: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A form of entry: ``text`` with ``{{slot}}`` where parts go. ``span`` is ``day`` or ``week``; ``extract`` says that memories
    are made of it.

    ``instruction`` tells a model what kind of text it is.
    """

    name: str
    text: str
    span: str = "day"
    extract: bool = False
    instruction: str = ""
