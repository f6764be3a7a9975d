"""The differences of memories between two states, for display: their kinds, and what an undo or redo gave back, in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

from kept.core.memory import Memory, Status, find_ending_word
from kept.core.text import Change, diff_words
from kept.core.value import dataclass
from kept.memories.browse import WORDS

Changes = Mapping[str, tuple[Memory | None, Memory | None]]
"""The state of each changed memory before and after, by id. None means that the memory did not exist."""


class DifferenceKind(StrEnum):
    """The kinds of changes of a memory, in the order in which they are listed."""

    ENTERED = "entered"
    CHANGED = "changed"
    MOVED = "moved"
    LEFT = "left"
    HELD = "held"
    REJECTED = "rejected"
    MARKED = "pinned or unpinned"
    CONFIRMED = "seen again"

    @property
    def shown(self) -> Mapping[str, str]:
        """How it is shown: ``sign`` and ``colour`` on a terminal, ``mark`` and ``title`` on the page, ``undone`` after an undo."""
        return WORDS["differences"][self]  # type: ignore[no-any-return]


_ORDER = {difference_kind: number for number, difference_kind in enumerate(DifferenceKind)}


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryDifference:
    """A changed memory, before and after the change. None means that it did not exist."""

    id: str
    what: DifferenceKind
    before: Memory | None
    after: Memory | None

    @property
    def text(self) -> str:
        """The text of the memory; if it no longer exists or was forgotten, its last text."""
        memory = self.after if self.after is not None and self.after.content else self.before or self.after
        return memory.content if memory is not None else ""

    @property
    def words(self) -> tuple[Change, ...]:
        """The word diff of the text. Empty if the text did not change, or if it did not exist before or after."""
        old, new = (memory.content if memory is not None else "" for memory in (self.before, self.after))
        return diff_words(old, new) if old and new and old != new else ()

    @property
    def word(self) -> str:
        """One word for the action by which the person ended the memory (:func:`find_ending_word`); empty if there was none."""
        return find_ending_word(self.after.reason) if self.after is not None and self.after.ended_at else ""

    @property
    def why(self) -> str:
        """The recorded reason for the change, or a description of it; may be empty."""
        before, after = self.before, self.after
        if after is None:
            return "undone"
        if find_ending_word(after.reason):
            return after.reason
        if self.what is DifferenceKind.MARKED:
            return "pinned" if after.pinned else "no longer pinned"
        if self.what is DifferenceKind.MOVED:
            return f"{before.category} → {after.category}" if before and before.category != after.category else ""
        if self.what is DifferenceKind.LEFT:
            return after.reason if after.reason.startswith(after.outcome) else f"{after.outcome}: {after.reason}".rstrip(": ")
        reason = after.reason if self.what in (DifferenceKind.HELD, DifferenceKind.REJECTED) or before is None else ""
        return "" if reason == "accepted" else reason


def list_differences(changed: Changes) -> tuple[MemoryDifference, ...]:
    """The differences of all changed memories, in the order of :class:`DifferenceKind`."""
    moved = {
        memory.superseded_by: number
        for number, states in changed.items()
        for memory in states
        if memory is not None and memory.outcome == "moved" and None in changed.get(memory.superseded_by, ())
    }  # a moved memory goes on under a new id in another project, so both are shown as one difference
    found = []
    for number, (before, after) in changed.items():
        old = changed[moved[number]] if number in moved else (None, None)
        states = (before or old[0], after or old[1])
        if number not in moved.values():
            found.append(MemoryDifference(id=number, what=_difference_kind(*states), before=states[0], after=states[1]))
    return tuple(sorted(found, key=lambda difference: (_ORDER[difference.what], difference.id)))


def _difference_kind(before: Memory | None, after: Memory | None) -> DifferenceKind:
    had, has = (memory.status if memory is not None else None for memory in (before, after))
    match had, has:
        case _, Status.ACTIVE if had is not Status.ACTIVE:
            return DifferenceKind.ENTERED
        case Status.ACTIVE, _ if has is not Status.ACTIVE:
            return DifferenceKind.LEFT
        case _, Status.HELD if had is not Status.HELD:
            return DifferenceKind.HELD
        case Status.REJECTED, None:  # only the rejection had stored the proposal, which is pending again
            return DifferenceKind.HELD
        case _, None:
            return DifferenceKind.LEFT
        case _ if had != has:
            return DifferenceKind.REJECTED
    assert before is not None
    assert after is not None
    if before.content != after.content:
        return DifferenceKind.CHANGED
    if (before.category, before.scope) != (after.category, after.scope):
        return DifferenceKind.MOVED
    return DifferenceKind.MARKED if before.pinned != after.pinned else DifferenceKind.CONFIRMED


_LONGEST = 80  # maximum characters of a quoted memory


def count_given_back(steps: Sequence[MemoryDifference]) -> str:
    """Count the changes that an undo or redo made to memories, by kind, in words."""
    held = DifferenceKind.HELD
    kinds = Counter(held if step.after and step.after.status is Status.HELD else step.what for step in steps)
    return ", ".join(f"{count:,} {kind.shown['undone']}" for kind, count in kinds.items())


def describe_given_back(steps: Sequence[MemoryDifference]) -> str:
    """Describe the changes that an undo or redo made to memories, in words. If only one memory changed, its text is quoted."""
    counted = count_given_back(steps)
    if len(steps) != 1 or not steps[0].text:
        return counted
    text = steps[0].text
    return f"“{text if len(text) <= _LONGEST else text[:_LONGEST].rstrip() + '…'}” – {counted.removeprefix('1 ')}"
