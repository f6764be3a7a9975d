"""Operations: what happens to memories. The log of them is the only truth; memories are their fold.

``Operation`` is a closed union. Each has ``memory`` (whom it happens to), ``at`` (the event time that caused it; None when
undated) and ``reason``. Who did it, when it was recorded and at what cost is said once, by the pass it belongs to.
"""

from datetime import datetime

from kept.core.event import Origin
from kept.core.memory import Actor, Evidence, Memory, Status
from kept.core.summary import Passage
from kept.core.value import dataclass, fields

# The reason for retiring what a later look at the same events no longer proposes: no judgement on the memory.
WITHDRAWN = "its evidence is no longer proposed"
# The beginning of the reason for retiring what its project stopped naming; said again later, it comes back.
FADED = "none of its names occurred any more in"

# The reason for merging entries that are alike into one that says each in short.
#: Earlier versions joined several memories into one under this reason; they come back as they were said.
CONDENSED = "condensed with what is like it"

# The reason for closing a question that something said later answers; asked again after that, it is open again.
ANSWERED = "answered by what was said later"
# The beginning of the reason for what a model said should become of memories; the rest is its own words.
ADVISED = "the model says: "
# The reason for what a model left standing beside what it may contradict.
BOTH_HOLD = f"{ADVISED}both can be so"
# The beginning of the reason for what gave way to something said later.
GAVE_WAY = "it was so until"
# The beginning of the reason for retiring what the person took back in a later session; said again after that, it comes back.
TAKEN_BACK = "you took it back on"
# The reason for what waits because something said later may leave no room for it: which of the two holds, a person says.
MAY_CONTRADICT = "held: these may contradict"
# The reason for what may be no rule, and holds because it gives what was told as one before another value.
NEWER_VALUE = "it says otherwise what was told before"
# The reason for what a person let in: it stays, and gives way to nothing but their own plain words.
APPROVED = "approved by the user"


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What evidence says of a memory, in full after the operation, except for the evidence itself, which is added or dropped.

    ``candidates`` are all the ids it now rests on; ``added`` is new evidence, ``dropped`` the event keys whose evidence no longer
    counts. ``advised`` says that the content is a model's wording of all of it. An operation that carries Facts replaces these
    fields and leaves the rest of the memory as it was.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Add:
    """A new memory, active or held as ``value`` says."""

    memory: str
    at: datetime | None
    reason: str
    value: Memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Revise:
    """Its content (or category) changes."""

    memory: str
    at: datetime | None
    reason: str
    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Reaffirm:
    """It was seen again: evidence, dates and counts move, the content stays."""

    memory: str
    at: datetime | None
    reason: str
    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """It takes in ``losers``, which become superseded by it, with all their evidence."""

    memory: str
    at: datetime | None
    reason: str
    losers: tuple[str, ...]
    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Supersede:
    """It gives way to ``by``."""

    memory: str
    at: datetime | None
    reason: str
    by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolve:
    """An open question was answered: by the memory ``by``, or by nothing that is remembered (empty)."""

    memory: str
    at: datetime | None
    reason: str
    by: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retire:
    """It no longer holds or no longer matters. It stays in the log and can come back."""

    memory: str
    at: datetime | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Promote:
    """It moves to another category because repetition has shown what it is."""

    memory: str
    at: datetime | None
    reason: str
    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """It belongs to another scope, because a person corrected which project a directory is, or to another profile, because a person
    migrated; ``candidates`` it rests on there. ``profile`` and ``category`` are empty where they stay.
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
    """A held (or retired, or rejected) memory becomes active."""

    memory: str
    at: datetime | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reject:
    """A held memory is turned down; the same proposal does not come back."""

    memory: str
    at: datetime | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """It is always shown and no machine touches it; ``on=False`` takes that back."""

    memory: str
    at: datetime | None
    reason: str
    on: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Forget:
    """Its content is erased everywhere. ``fingerprints`` are keyed and content-free; they keep it from coming back.

    ``candidates`` are the proposals whose words were erased with it.
    """

    memory: str
    at: datetime | None
    reason: str
    fingerprints: tuple[str, ...]
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reword:
    """A person's words (none: they deleted it) take the place of a line of a day's summary. No memory changes.

    ``memory`` is the id of their passage, ``line`` that passage, ``content`` its words. The text of ``line`` is what a person had
    written there before the log had such operations; otherwise it is empty.
    """

    memory: str
    at: datetime | None
    reason: str
    line: Passage
    content: str = ""


Operation = (
    Add | Revise | Reaffirm | Merge | Supersede | Resolve | Retire | Promote | Move | Approve | Reject | Pin | Forget | Reword
)


def operation_kind(operation: Operation) -> str:
    """The kind of an operation; what is added to wait for a decision is a kind of its own."""
    return "hold" if isinstance(operation, Add) and operation.value.status is Status.HELD else type(operation).__name__.lower()


def affected_memory_ids(operation: Operation) -> tuple[str, ...]:
    """The ids of the memories an operation concerns, its own first, each once."""
    others = (*getattr(operation, "losers", ()), getattr(operation, "by", ""))
    return tuple(dict.fromkeys(item for item in (operation.memory, *others) if item))


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """The operations of one run of one stage over one input, committed together and undone together.

    ``id`` is its sequence number, ``run`` the run it belongs to (all passes of a run are undone together by a bare ``undo``).
    ``stage`` is a short name (``curate``, ``person``, ``absorb``, ``undo``, ``redo``); ``subject`` says over what (a profile and
    scope, a file, a pass). ``recorded_at`` is when it was processed: the only such time in the store.
    ``undoes`` and ``redoes`` name the passes that an undo or redo switches off or on again.
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
"""What facts say of a memory in full, by the names that both have for it."""


def to_facts(memory: Memory) -> Facts:
    """What evidence says of a memory as it stands, for an operation that changes some of it."""
    return Facts(**{name: getattr(memory, name) for name in FACT_NAMES})
