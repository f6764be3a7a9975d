"""The data types of journal entries: items, front matter and templates."""

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum

from kept.core.value import dataclass, field

EXTRACTIVE = "extractive"  # the writer named in an entry that no language model wrote


class Slot(StrEnum):
    """The parts of an entry. The values are the names of the placeholders in templates."""

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
    """Where an item comes from, which decides how far it is trusted: a session, an existing memory, or an external source."""

    SESSION = "sessions"
    MEMORY = "memory"
    OUTSIDE = "outside"


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedItem:
    """An item of an external source. All fields are untrusted text of one line.

    ``key`` is the same each time the source delivers the item. ``source`` is the name of the feed.
    """

    key: str
    source: str
    title: str
    text: str = ""
    at: datetime | None = None
    link: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextItem:
    """An item that an entry may use: its text, origin and weight.

    ``reference`` is the id of a memory or the key of a feed item. ``day`` is the item's day if that is not a day of the entry.
    ``kind`` is the kind of a memory ("decided", "still open") or of earlier work ("last worked on").
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

    ``shares`` maps each source to its share of the inputs (sum 1). ``memories`` has the ids of the memories used.
    ``self_reference`` is the share (0 to 1) of sentences about the memory system itself. ``tokens`` (in, out) is an estimate from
    the length of the text. ``inputs`` is a hash of the inputs. ``digest`` is a hash of the file as kept wrote it, without this
    field.
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
    """A form of entry. ``text`` is Markdown with a ``{{slot}}`` placeholder for each part.

    ``span`` is ``day`` or ``week``. ``extract`` means that memories are extracted from entries of this form. ``instruction`` tells
    a model what kind of text to write.
    """

    name: str
    text: str
    span: str = "day"
    extract: bool = False
    instruction: str = ""
