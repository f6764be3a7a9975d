"""The values of journal entries: their items, front matter and templates."""

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum

from kept.core.value import dataclass, field

EXTRACTIVE = "extractive"  # the writer of an entry that no language model wrote


class Slot(StrEnum):
    """The parts of an entry; the values are their names in templates."""

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
    """The source of an item, which decides how far it is trusted: sessions, existing memories, or outside."""

    SESSION = "sessions"
    MEMORY = "memory"
    OUTSIDE = "outside"


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedItem:
    """An item of an external source: untrusted text, one line per field.

    ``key`` identifies the item if the source delivers it again. ``source`` is the name of the feed.
    """

    key: str
    source: str
    title: str
    text: str = ""
    at: datetime | None = None
    link: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextItem:
    """An item that an entry may use: its text, its origin, and its weight.

    ``reference`` is a memory's id or a feed item's key. ``day`` is the item's day if it is not the entry's. ``kind`` is the kind of
    a memory ("decided", "still open") or of earlier work ("last worked on").
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
    """The front matter of an entry.

    ``shares`` are the shares of its inputs by source (sum 1), ``memories`` the ids of the memories used, ``self_reference`` the
    share (0 to 1) of its sentences about the memory system itself. ``tokens`` (in, out) estimates the model's tokens by text
    length. ``inputs`` is a hash of its inputs, ``digest`` one of the rest of the file as kept wrote it.
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
    """A form of entry: ``text`` with ``{{slot}}`` placeholders for parts. ``span`` is ``day`` or ``week``; with ``extract``,
    memories are extracted from its entries.

    ``instruction`` tells a model what kind of text to write.
    """

    name: str
    text: str
    span: str = "day"
    extract: bool = False
    instruction: str = ""
