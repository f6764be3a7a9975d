"""Operations, the changes to memories, and the pure fold that computes memories from them. The log of operations alone is
authoritative.

``Operation`` is a closed union. Each member has ``memory`` (the id it applies to; for a Reword, that of a passage), ``at`` (the
time of the event that caused it; None if undated) and ``reason``. Its :class:`Pass` records who made it and when. Undo and redo
switch passes off and on. If the pass that added a memory was undone, later operations on the memory change nothing. The fold
reports them as idle, and raises no error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from kept.core.event import Origin
from kept.core.memory import Actor, Evidence, Memory, Status
from kept.core.summary import Passage
from kept.core.value import dataclass, fields

# Retired, because extracting the same events again no longer proposes it. This does not say whether it is true.
REREAD = "the words it rests on are read differently now"
# Start of the reason to retire a memory whose names no longer occur in its project. It comes back if it is said again.
FADED = "none of its names occurred any more in"

# Earlier versions merged similar memories into one for this reason. Such memories come back in their original words.
CONDENSED = "condensed with what is like it"

# Resolved, because a later statement answers the question. It is reopened if it is asked again.
ANSWERED = "answered by what was said later"
# Start of the reason of an operation that a model advised. The model's own words follow.
ADVISED = "the model says: "
# In the reason of an operation that a model advised because of a prompt: the session, of which no other words are stored here.
IN_SESSION = "in session "
SESSION_CHARS = 8  #: characters of the session's id that follow
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
class _Operation:
    """What all operations have: the id of the memory that they change, the time of the event behind them, and the reason."""

    memory: str
    at: datetime | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Add(_Operation):
    """Adds or replaces a memory. Its status is that of ``value``."""

    value: Memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Revise(_Operation):
    """Changes the content, the category and the other facts of a memory."""

    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Reaffirm(_Operation):
    """Records that a memory was seen again. Evidence, dates and counts change, the content does not."""

    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge(_Operation):
    """Merges ``losers`` into the memory with all their evidence. They become superseded by it."""

    losers: tuple[str, ...]
    facts: Facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Supersede(_Operation):
    """Replaces a memory by the memory with the id ``by``."""

    by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolve(_Operation):
    """Closes an open question. ``by`` is the id of the memory that answers it, or empty if no memory does."""

    by: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retire(_Operation):
    """Ends a memory that is no longer true or no longer matters. It stays in the log and can come back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Promote(_Operation):
    """Moves a memory to another category, after repetition showed that it belongs there."""

    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Move(_Operation):
    """Moves a memory to another scope (a person or new evidence corrected a directory's project), or to another profile (a person
    migrated it).

    ``candidates`` are the ids of its proposals there. ``profile`` and ``category`` are empty if they do not change.
    """

    scope: str
    candidates: tuple[str, ...]
    profile: str = ""
    category: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approve(_Operation):
    """Makes a held or ended memory active, whatever ended it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reject(_Operation):
    """Rejects a held memory. The same proposal is not made again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Anticipate(_Operation):
    """Sets the requests before which a memory is shown. A model wrote them for the words ``content``; it may have found none.

    It changes nothing else, and has no effect if the memory's content has changed since. An earlier edit can therefore be undone.
    """

    content: str = ""
    needed_for: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin(_Operation):
    """Pins a memory: kept always shows it and never changes it. ``on=False`` unpins it."""

    on: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Forget(_Operation):
    """Records that the content of a memory was erased everywhere.

    ``fingerprints`` are keyed and contain no words. They prevent kept from extracting it again. ``candidates`` are the
    proposals whose words were erased with it.
    """

    fingerprints: tuple[str, ...]
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reword(_Operation):
    """Replaces a line of a day summary by a person's words. Empty ``content`` means that they deleted it. Changes no memory.

    ``memory`` is the id of the passage with their words, ``line`` that passage without its text, ``content`` the text. In older
    logs, ``line`` includes the text.
    """

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


def stated_facts(operation: Operation) -> Memory | Facts | None:
    """The memory that an operation adds, or the facts that it sets; None if it does neither."""
    return getattr(operation, "value", None) or getattr(operation, "facts", None)


FORGOTTEN = "forgotten"
_SEEN_AGAIN = frozenset({"first_seen", "last_seen", "observations", "candidates"})  # fields that do not depend on a memory's words


def find_undone_passes(passes: Iterable[Pass]) -> frozenset[int]:
    """The ids of the passes that are undone, after all undos and redos were applied in order."""
    off: set[int] = set()
    for pass_ in passes:
        off |= set(pass_.undoes)
        off -= set(pass_.redoes)
    return frozenset(off)


def fold(passes: Iterable[Pass]) -> dict[str, Memory]:
    """All memories that result from the passes, by id. Undone passes are skipped."""
    return _replay(passes)[0]


def find_idle_operations(passes: Iterable[Pass]) -> tuple[tuple[int, Operation], ...]:
    """The operations that change nothing because their memory does not exist, each with the id of its pass."""
    return tuple(_replay(passes)[1])


def _replay(passes: Iterable[Pass]) -> tuple[dict[str, Memory], list[tuple[int, Operation]]]:
    history = tuple(passes)
    off = find_undone_passes(history)
    memories: dict[str, Memory] = {}
    idle: list[tuple[int, Operation]] = []
    for pass_ in history:
        for operation in pass_.operations if pass_.id not in off else ():
            changed = apply_operation(memories, operation, pass_.actor)
            memories.update(changed)
            if not changed and not isinstance(operation, Reword):
                idle.append((pass_.id, operation))
    return memories, idle


def apply_operation(memories: Mapping[str, Memory], operation: Operation, actor: Actor) -> dict[str, Memory]:
    """The memories that one operation changes, by id, in their new form. Empty for an idle operation and for a Reword."""
    if isinstance(operation, Add):
        return {operation.memory: replace(operation.value, reason=operation.reason)}
    memory = memories.get(operation.memory)
    if memory is None or isinstance(operation, Reword):
        return {}
    decided = actor is Actor.PERSON and not isinstance(operation, Approve | Pin)
    changed = replace(memory, reason=operation.reason, owned=memory.owned or decided)
    match operation:
        case Revise(facts=facts):
            return {memory.id: with_facts(changed, facts)}
        case Reaffirm(facts=facts):
            # The operation repeats the words that the memory had then. If the edit to these words is undone, it must not bring them
            # back.
            if facts.content != memory.content:
                facts = replace(facts, **{name: getattr(memory, name) for name in FACT_NAMES if name not in _SEEN_AGAIN})
            return {memory.id: with_facts(changed, replace(facts, category=memory.category))}
        case Merge(facts=facts, losers=losers):
            taken = {loser: memories[loser] for loser in losers if loser in memories and loser != memory.id}
            winner = replace(with_facts(changed, facts), supersedes=_merge_unique(memory.supersedes, tuple(taken)))
            return {memory.id: winner} | {
                id_: replace(
                    loser, status=Status.SUPERSEDED, superseded_by=memory.id, reason=operation.reason, ended_at=operation.at
                )
                for id_, loser in taken.items()
            }
        case Supersede(by=by):
            after = {memory.id: replace(changed, status=Status.SUPERSEDED, superseded_by=by, ended_at=operation.at)}
            if by in memories:
                after[by] = replace(memories[by], supersedes=_merge_unique(memories[by].supersedes, (memory.id,)))
            return after
        case Resolve(by=by):
            return {memory.id: replace(changed, status=Status.RESOLVED, resolved_by=by, ended_at=operation.at)}
        case Retire():
            return {memory.id: replace(changed, status=Status.RETIRED, ended_at=operation.at)}
        case Promote(category=category):
            return {memory.id: replace(changed, category=category)}
        case Move(scope=scope, candidates=candidates, profile=profile, category=category):
            kind = (profile or memory.profile, category or memory.category)
            return {memory.id: replace(changed, scope=scope, candidates=candidates, profile=kind[0], category=kind[1])}
        case Approve():
            return {memory.id: replace(changed, status=Status.ACTIVE, superseded_by="", resolved_by="", ended_at=None)}
        case Reject():
            return {memory.id: replace(changed, status=Status.REJECTED, ended_at=operation.at)}
        case Anticipate(content=content, needed_for=needed_for):
            return {memory.id: replace(memory, needed_for=needed_for) if content == memory.content else memory}
        case Pin(on=on):
            return {memory.id: replace(changed, pinned=on)}
        case Forget():
            return {memory.id: erase_content(changed)}
        case _:
            assert_never(operation)


def with_facts(memory: Memory, facts: Facts) -> Memory:
    """The memory with evidence added and dropped as ``facts`` says, and all other fields of ``facts`` replaced."""
    keep = tuple(item for item in memory.evidence if item.event not in facts.dropped)
    values = {name: getattr(facts, name) for name in FACT_NAMES}
    return replace(memory, evidence=sort_evidence(keep + facts.added), **values)


def erase_content(memory: Memory) -> Memory:
    """The memory without its content; its id, category, scope and times remain."""
    return replace(
        memory,
        status=Status.RETIRED,
        content="",
        evidence=(),
        artifacts=(),
        fingerprint="",
        subject="",
        about="",
        needed_for=(),
        pinned=False,
        owned=True,
        reason=FORGOTTEN,
    )


def sort_evidence(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Evidence in order of time, each quote of an event once."""
    unique = {(item.event, item.quote): item for item in evidence}
    return tuple(sorted(unique.values(), key=lambda item: (item.at is None, item.at, item.event, item.quote)))


def _merge_unique(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(left + right))
