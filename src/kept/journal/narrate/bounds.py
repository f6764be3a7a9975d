"""Bounds: which of what could be told goes into the context of an entry, each source within its share.

What is remembered is never larger than what the sessions of the day say (J5), nor than its own budget; what comes from outside has
a share by source. A share bounds what is shown; nothing is left out because of what it says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kept.core.artifact import find_artifacts
from kept.core.statement import parse_statement
from kept.journal.entry import ContextItem, Slot, TrustLevel

_LEAST_OUTSIDE, _ONE_ITEM = 600, 300  # characters, about five lines
_LEAST_SHARED = 2  # telling words that a memory has in common with the day, where it names nothing of it


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextBounds:
    """Budgets in characters: of the whole context, and of what is remembered.

    ``outside`` is the share of the whole that all external sources have together, ``shares`` the weight of each of them by name.
    ``memories`` is how many of them at most.
    """

    whole: int
    memory: int
    outside: float
    shares: Mapping[str, float] = field(default_factory=dict)
    memories: int = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemSelection:
    """What goes into the context, in its order, and the share of each source in it (adding up to 1 where there is anything)."""

    told: tuple[ContextItem, ...]
    shares: Mapping[str, float]


def select_items(told: Sequence[ContextItem], bounds: ContextBounds) -> ItemSelection:
    """The parts of an entry within the bounds: of each source the weightiest first, in the order they came in."""
    inside = [item for item in told if item.grade is TrustLevel.SESSION]
    outside = [item for item in told if item.grade is TrustLevel.OUTSIDE]
    room = int(bounds.whole * (1 - bounds.outside)) if outside else bounds.whole
    sessions = _heaviest_items(inside, room)
    spent = _count_characters(sessions)
    memory = _heaviest_items(
        _related_memories([item for item in told if item.grade is TrustLevel.MEMORY], sessions), min(bounds.memory, spent)
    )
    memory = memory[: bounds.memories]
    chosen = [*sessions, *_share_among_sources(outside, bounds, spent), *memory]
    wanted = {id(item) for item in chosen}
    kept = tuple(item for item in told if id(item) in wanted)
    total = _count_characters(kept)
    sources = dict.fromkeys(item.source for item in kept)
    return ItemSelection(
        told=kept,
        shares={name: _count_characters(item for item in kept if item.source == name) / total for name in sources} if total else {},
    )


def _count_characters(told: Iterable[ContextItem]) -> int:
    return sum(len(item.text) + 1 for item in told)


def _heaviest_items(told: Sequence[ContextItem], room: int) -> list[ContextItem]:
    """The weightiest that fit, the earlier first among equals."""
    found, left = [], room
    for item in sorted(told, key=lambda one: -one.weight):
        if len(item.text) + 1 <= left:
            found.append(item)
            left -= len(item.text) + 1
    return found


def _share_among_sources(told: Sequence[ContextItem], bounds: ContextBounds, spent: int) -> list[ContextItem]:
    """Of each external source what fits into its part; a source without a weight of its own weighs as much as the lightest.

    All of them together have their share of what the sessions say (``spent`` characters), a few lines at least, but no more than
    the sessions where that is more than one item.
    """
    names = list(dict.fromkeys(context_item.source for context_item in told))
    usual = min((share for share in bounds.shares.values() if share > 0), default=1.0)
    weights = {name: bounds.shares.get(name, usual) for name in names}
    total = sum(weights.values()) or 1.0
    relative = spent * bounds.outside / max(1 - bounds.outside, 0.01)
    room = min(bounds.whole * bounds.outside, max(relative, min(_LEAST_OUTSIDE, max(spent, _ONE_ITEM))))
    return [
        item
        for name in names
        for item in _heaviest_items(
            [context_item for context_item in told if context_item.source == name], int(room * weights[name] / total)
        )
    ]


def _related_memories(memories: Sequence[ContextItem], day: Sequence[ContextItem]) -> list[ContextItem]:
    """The memories that have something to do with the day: that name what it names, or share telling words with one thing of it;
    and where work stood, which is no memory.
    """
    names = {artifact.casefold() for context_item in day for artifact in find_artifacts(context_item.text)}
    said = [(context_item.scope, parse_statement(context_item.text).content) for context_item in day]
    context_items = [context_item for context_item in memories if not context_item.reference]
    for item in (context_item for context_item in memories if context_item.reference):
        own = {artifact.casefold() for artifact in find_artifacts(item.text)}
        words = parse_statement(item.text).content
        shared = max((len(words & other) for scope, other in said if scope == item.scope or len(words & other) > 3), default=0)
        if own & names or shared >= max(_LEAST_SHARED, len(words) // 3):
            context_items.append(replace(item, weight=item.weight + 3 * len(own & names) + shared))
    ranked = sorted(context_items, key=lambda one: -one.weight)
    originals = {(context_item.reference, context_item.text): context_item for context_item in memories}
    return [originals[context_item.reference, context_item.text] for context_item in ranked]


WRITTEN = frozenset({Slot.WORKED, Slot.SOLVED, Slot.DECIDED, Slot.LEARNT, Slot.OPEN, Slot.OUTSIDE})  # what a model may put in words
