"""How memories stand against what an annotator would keep of the same transcripts. Pure; reads words, not meaning.

A memory covers an annotated item where the first 300 characters of its content hold one alternative of each of the item's groups.
So wording can defeat a group, and a memory that matches by accident counts: what is unmatched has to be read.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kept.evaluation.turns import normalize_text

SEEN = 300  # characters of a memory that count
MOST = 2  # items that one memory may be credited with, the most important first
_LIVE = ("active", "accepted")
_KINDS = ("importance", "category", "trigger", "origin")
_LONG, _WORDS, _SHARE = 25, 6, 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """How many memories are active and held, how many of each are marked as junk, how many active ones match an item, and what was
    found.

    ``recall`` has (found, annotated) by ``all``, ``importance 3``, ``category …``, ``trigger …`` and ``origin …``; ``agreeing`` of
    the found items have a memory of a category that the annotator would accept. ``missed`` and ``junk`` are rows: items that
    nothing covers, active memories marked as junk.
    """

    active: int
    held: int
    matched: int
    held_junk: int
    agreeing: int
    recall: Mapping[str, tuple[int, int]]
    missed: tuple[Mapping[str, Any], ...]
    junk: tuple[Mapping[str, Any], ...]


def compare_with_gold(
    gold: Sequence[Mapping[str, Any]], negatives: Sequence[Mapping[str, Any]], memories: Iterable[Mapping[str, Any]]
) -> Comparison:
    """Compare memories (``content``, ``category``, ``status``, ``evidence`` with quotes) with annotations.

    An item of the gold has ``text``, ``category``, ``also_ok``, ``origin``, ``trigger``, ``importance`` and ``must_mention``,
    groups of alternatives; a negative has a ``quote`` of tempting text that should not become a memory.
    """
    every = list(memories)
    live = [item for item in every if item.get("status", "active") in _LIVE]
    held = [item for item in every if item.get("status") == "held"]
    hit = _match_items(gold, [normalize_text(str(item["content"])[:SEEN]) for item in live])
    matched = {place for item in hit for place in item}
    junk = [each for place, each in enumerate(live) if place not in matched and _is_tempting_match(each, negatives)]
    found: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for item, places in zip(gold, hit, strict=True):
        for key in _item_keys(item):
            wanted[key] += 1
            found[key] += bool(places)
    return Comparison(
        active=len(live),
        held=len(held),
        matched=len(matched),
        held_junk=sum(_is_tempting_match(item, negatives) for item in held),
        agreeing=sum(
            any(live[place].get("category") in (item["category"], *item.get("also_ok", ())) for place in places)
            for item, places in zip(gold, hit, strict=True)
        ),
        recall={key: (found[key], wanted[key]) for key in sorted(wanted, key=_kind_order)},
        missed=tuple(item for item, places in zip(gold, hit, strict=True) if not places),
        junk=tuple(junk),
    )


def _kind_order(key: str) -> tuple[int, int, str]:
    """All first, then importance from the highest down, then the other kinds."""
    kind, _, value = key.partition(" ")
    return (_KINDS.index(kind) + 1, -int(value) if value.isdigit() else 0, value) if value else (0, 0, "")


def _item_keys(item: Mapping[str, Any]) -> tuple[str, ...]:
    named = (f"{name} {item[name]}" for name in _KINDS if name in item)
    return ("all", *named)


def _match_items(gold: Sequence[Mapping[str, Any]], contents: Sequence[str]) -> list[list[int]]:
    """The memories that cover each item; a memory is credited with a bounded number of items, the most important first."""
    credit: Counter[int] = Counter()
    hit: list[list[int]] = [[] for _ in gold]
    for place in sorted(range(len(gold)), key=lambda each: -int(gold[each].get("importance", 0))):
        groups = [[normalize_text(str(item)) for item in group] for group in gold[place]["must_mention"]]
        covering = (number for number, each in enumerate(contents) if all(any(item in each for item in group) for group in groups))
        hit[place] = [number for number in covering if credit[number] < MOST]
        credit.update(hit[place][:1])
    return hit


def _is_tempting_match(memory: Mapping[str, Any], negatives: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a memory says, or rests on, what was marked as tempting and wrong."""
    said = [normalize_text(str(item.get("quote", ""))) for item in memory.get("evidence", ())] + [
        normalize_text(str(memory["content"]))
    ]
    return any(_has_overlap(item, normalize_text(str(negative["quote"]))) for item in said for negative in negatives)


def _has_overlap(left: str, right: str) -> bool:
    """Whether one text holds the other, or they share 80% of the shorter one's words (six words or more)."""
    if not left or not right:
        return False
    if (left in right or right in left) and min(len(left), len(right)) >= _LONG:
        return True
    mine, theirs = set(left.split()), set(right.split())
    short = min(len(mine), len(theirs))
    return short >= _WORDS and len(mine & theirs) >= _SHARE * short
