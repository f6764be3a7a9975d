"""What changed, for people to see: between two texts word by word, and between two states of what is remembered. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import groupby

from kept.core.memory import Memory, Status

Change = tuple[str, str]  # "same", "ins" or "del", and the words


def diff_words(before: str, after: str) -> tuple[Change, ...]:
    """The words of both texts in order: those that stayed, went and came. What went stands before what came in its place."""
    old, new = _split_for_diff(before), _split_for_diff(after)
    found: list[Change] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(("same", "".join(old[i:j])))
            continue
        found += [(kind, text) for kind, text in (("del", "".join(old[i:j])), ("ins", "".join(new[k:m]))) if text]
    return tuple(found)


def _split_for_diff(text: str) -> list[str]:
    """Words and what stands between them, so that joined they are the text."""
    return list(_split_runs(text))


def _split_runs(text: str) -> Iterator[str]:
    for _, run in groupby(text, key=lambda char: (char.isalnum(), char.isspace())):
        yield "".join(run)


class DifferenceKind(StrEnum):
    """What became of a memory, the most important first."""

    ENTERED = "entered"
    CHANGED = "changed"
    MOVED = "moved"
    LEFT = "left"
    HELD = "held for you"
    DECLINED = "turned down"
    MARKED = "pinned or unpinned"
    CONFIRMED = "seen again"


_ORDER = {difference_kind: number for number, difference_kind in enumerate(DifferenceKind)}


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryDifference:
    """One memory before and after (None: not there)."""

    id: str
    what: DifferenceKind
    before: Memory | None
    after: Memory | None

    @property
    def text(self) -> str:
        """What it says, or said last."""
        memory = self.after if self.after is not None and self.after.content else self.before or self.after
        return memory.content if memory is not None else ""

    @property
    def words(self) -> tuple[Change, ...]:
        """The words that changed among those that stayed; nothing where none did."""
        old, new = (memory.content if memory is not None else "" for memory in (self.before, self.after))
        return diff_words(old, new) if old and new and old != new else ()

    @property
    def why(self) -> str:
        """The reason on record, or what became of it; may be empty."""
        before, after = self.before, self.after
        if after is None:
            return "undone"
        if self.what is DifferenceKind.MARKED:
            return "pinned" if after.pinned else "no longer pinned"
        if self.what is DifferenceKind.MOVED:
            return f"{before.category if before else ''} → {after.category}" if before and before.category != after.category else ""
        if self.what is DifferenceKind.LEFT:
            return (
                after.reason
                if after.reason.startswith(after.status.value)
                else f"{after.status.value}: {after.reason}".rstrip(": ")
            )
        told = after.reason if self.what in (DifferenceKind.HELD, DifferenceKind.DECLINED) or before is None else ""
        return "" if told == "accepted" else told


def list_differences(changed: Mapping[str, tuple[Memory | None, Memory | None]]) -> tuple[MemoryDifference, ...]:
    """What became of each memory, the most important first."""
    memory_differences = [
        MemoryDifference(id=number, what=_difference_kind(before, after), before=before, after=after)
        for number, (before, after) in changed.items()
    ]
    return tuple(sorted(memory_differences, key=lambda each: (_ORDER[each.what], each.id)))


def _difference_kind(before: Memory | None, after: Memory | None) -> DifferenceKind:
    had, has = (memory.status if memory is not None else None for memory in (before, after))
    match had, has:
        case _, Status.ACTIVE if had is not Status.ACTIVE:
            return DifferenceKind.ENTERED
        case Status.ACTIVE, _ if has is not Status.ACTIVE:
            return DifferenceKind.LEFT
        case _, Status.HELD if had is not Status.HELD:
            return DifferenceKind.HELD
        case Status.REJECTED, None:  # a proposal that no memory was made of but for turning it down: it waits again
            return DifferenceKind.HELD
        case _, None:
            return DifferenceKind.LEFT
        case _ if had != has:
            return DifferenceKind.DECLINED
    assert before is not None
    assert after is not None
    if before.content != after.content:
        return DifferenceKind.CHANGED
    if (before.category, before.scope) != (after.category, after.scope):
        return DifferenceKind.MOVED
    return DifferenceKind.MARKED if before.pinned != after.pinned else DifferenceKind.CONFIRMED
