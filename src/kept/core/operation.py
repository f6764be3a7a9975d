"""Operations: the changes to memories. Memories are computed from the log of operations (:mod:`.fold`), which alone is
authoritative.

``Operation`` is a closed union. Each member has ``memory`` (the id it applies to; for a Reword, that of a passage), ``at`` (the
time of the event that caused it; None if undated) and ``reason``. Its :class:`Pass` records who made it and when.
"""

from datetime import datetime

from kept.core.event import Origin
from kept.core.memory import Actor, Evidence, Memory, Status
from kept.core.summary import Passage
from kept.core.value import dataclass, fields

# Retired, because extracting the same events again no longer proposes it. This does not say whether it is true.
WITHDRAWN = "the words it rests on are read differently now"
# Start of the reason to retire a memory whose names no longer occur in its project. It comes back if it is said again.
FADED = "none of its names occurred any more in"

# Earlier versions merged similar memories into one for this reason. Such memories come back in their original words.
CONDENSED = "condensed with what is like it"

# Resolved, because a later statement answers the question. It is reopened if it is asked again.
ANSWERED = "answered by what was said later"
# Start of the reason of an operation that a model advised. The model's own words follow.
ADVISED = "the model says: "
# Approved, because a model finds that the held memory does not contradict the memory that it seemed to.
BOTH_HOLD = f"{ADVISED}both can be so"
# Start of the reason to supersede a memory by a later statement.
GAVE_WAY = "it was so until"
# Start of the reason to retire a memory that the person took back in a later session. It comes back if they say it again.
TAKEN_BACK = "you took it back on"
# Held, because it may contradict another memory. A person decides which of the two is true.
MAY_CONTRADICT = "held: these may contradict"
# Active although the statement may not be meant as a rule, because it gives an earlier rule a new value.
NEWER_VALUE = "it gives a new value to something you said before"


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """The fields of a memory that follow from its evidence. An operation with Facts replaces these fields and leaves the others.

    All fields are complete values, except that evidence is a difference: ``added`` is new evidence, ``dropped`` has the keys of
    events whose evidence no longer counts. ``candidates`` are the ids of all proposals of the memory. ``advised`` means that a
    model chose the content when it merged memories.
    """

    content: str
    category: str
    confidence: float
    origin: Origin
    first_seen: datetime | None
    last_seen: datetime | None
    observations: int
    artifacts: tuple[str, ...]
    candidates: tuple[str, ...]
    added: tuple[Evidence, ...] = ()
    dropped: tuple[str, ...] = ()
    valid_until: datetime | None = None
    trigger: str = ""
    fingerprint: str = ""
    subject: str = ""
    advised: bool = False
    about: str = ""
    needed_for: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Add:
    """Adds or replaces a memory. Its status is that of ``value``."""

    memory: str
    at: datetime | None
    reason: str
    value: Memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Revise:
    """Changes the content, the category and the other facts of a memory."""

    memory: str
    at: datetime | None
    reason: str
    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Reaffirm:
    """Records that a memory was seen again. Evidence, dates and counts change, the content does not."""

    memory: str
    at: datetime | None
    reason: str
    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """Merges ``losers`` into the memory with all their evidence. They become superseded by it."""

    memory: str
    at: datetime | None
    reason: str
    losers: tuple[str, ...]
    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Supersede:
    """Replaces a memory by the memory with the id ``by``."""

    memory: str
    at: datetime | None
    reason: str
    by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolve:
    """Closes an open question. ``by`` is the id of the memory that answers it, or empty if no memory does."""

    memory: str
    at: datetime | None
    reason: str
    by: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retire:
    """Ends a memory that is no longer true or no longer matters. It stays in the log and can come back."""

    memory: str
    at: datetime | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Promote:
    """Moves a memory to another category, after repetition showed that it belongs there."""

    memory: str
    at: datetime | None
    reason: str
    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """Moves a memory to another scope (a person or new evidence corrected a directory's project), or to another profile (a person
    migrated it).

    ``candidates`` are the ids of its proposals there. ``profile`` and ``category`` are empty if they do not change.
    """

    memory: str
    at: datetime | None
    reason: str
    scope: str
    candidates: tuple[str, ...]
    profile: str = ""
    category: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approve:
    """Makes a held or ended memory active, whatever ended it."""

    memory: str
    at: datetime | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reject:
    """Rejects a held memory. The same proposal is not made again."""

    memory: str
    at: datetime | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Anticipate:
    """Sets the requests before which a memory is shown. A model wrote them for the words ``content``; it may have found none.

    It changes nothing else, and has no effect if the memory's content has changed since. An earlier edit can therefore be undone.
    """

    memory: str
    at: datetime | None
    reason: str
    content: str = ""
    needed_for: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """Pins a memory: kept always shows it and never changes it. ``on=False`` unpins it."""

    memory: str
    at: datetime | None
    reason: str
    on: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Forget:
    """Records that the content of a memory was erased everywhere.

    ``fingerprints`` are keyed and contain no words. They prevent kept from extracting it again. ``candidates`` are the
    proposals whose words were erased with it.
    """

    memory: str
    at: datetime | None
    reason: str
    fingerprints: tuple[str, ...]
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reword:
    """Replaces a line of a day summary by a person's words. Empty ``content`` means that they deleted it. Changes no memory.

    ``memory`` is the id of the passage with their words, ``line`` that passage without its text, ``content`` the text. In older
    logs, ``line`` includes the text.
    """

    memory: str
    at: datetime | None
    reason: str
    line: Passage
    content: str = ""


Operation = (
    Add
    | Revise
    | Reaffirm
    | Merge
    | Supersede
    | Resolve
    | Retire
    | Promote
    | Move
    | Approve
    | Reject
    | Anticipate
    | Pin
    | Forget
    | Reword
)


def operation_kind(operation: Operation) -> str:
    """The kind of an operation: its class name in lower case. An Add of a held memory has the kind ``hold``."""
    return "hold" if isinstance(operation, Add) and operation.value.status is Status.HELD else type(operation).__name__.lower()


def affected_memory_ids(operation: Operation) -> tuple[str, ...]:
    """The ids of the memories (for a Reword, the passage) that an operation affects, without duplicates. Its own id comes first."""
    others = (*getattr(operation, "losers", ()), getattr(operation, "by", ""))
    return tuple(dict.fromkeys(item for item in (operation.memory, *others) if item))


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """The operations of one stage on one input in one run. They are committed together and undone together.

    ``id`` is its sequence number, ``run`` the run it belongs to (``kept undo`` without an argument undoes all passes of the last
    run). ``stage`` is a short name (such as ``extract``, ``curate``, ``guard``, ``person``, ``absorb``, ``undo``), ``subject`` its
    input (a profile and scope, a file, a pass). ``recorded_at`` is the time of processing; operations and memories have event times
    only. ``undoes`` and ``redoes`` are the ids of the passes that it undoes or redoes. ``note`` names the model and prompt of a
    model's pass, or says why a guard stopped a pass.
    """

    id: int
    run: int
    stage: str
    subject: str
    actor: Actor
    recorded_at: datetime
    operations: tuple[Operation, ...]
    undoes: tuple[int, ...] = ()
    redoes: tuple[int, ...] = ()
    note: str = ""


FACT_NAMES = tuple(field.name for field in fields(Facts) if field.name not in ("added", "dropped"))
"""The fields that :class:`Facts` and a memory share and that Facts give as whole values."""


def to_facts(memory: Memory) -> Facts:
    """The Facts of a memory in its present state, for an operation that changes some of them."""
    return Facts(**{name: getattr(memory, name) for name in FACT_NAMES})
