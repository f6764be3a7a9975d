"""What a store in memory holds, and how words are looked for in it."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from math import log1p
from typing import TypeVar

from kept.core.memory import Memory
from kept.core.project import Project
from kept.core.summary import Note, Passage
from kept.store.values import (
    CandidateRow,
    EventRow,
    FileRow,
    FingerprintRow,
    GroupRow,
    OperationRow,
    OptedOut,
    Output,
    PassRow,
    RunRow,
    ThreadRow,
)

T = TypeVar("T")
Now = Callable[[], "State"]
"""The state as it is now: another object after a transaction was taken back."""


@dataclass(kw_only=True, slots=True)
class State:
    """Everything the store holds. Every value in it is frozen, so a copy of the containers is a copy of the store."""

    files: dict[tuple[str, str], FileRow] = field(default_factory=dict)
    looks: dict[str, tuple[str, str]] = field(default_factory=dict)
    events: dict[str, EventRow] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)
    likenesses: dict[str, str] = field(default_factory=dict)
    projects: dict[str, Project] = field(default_factory=dict)
    opted_out: dict[str, OptedOut] = field(default_factory=dict)
    threads: list[ThreadRow] = field(default_factory=list)
    runs: list[RunRow] = field(default_factory=list)
    passes: list[PassRow] = field(default_factory=list)
    operations: list[OperationRow] = field(default_factory=list)
    candidates: list[CandidateRow] = field(default_factory=list)
    fingerprints: dict[str, FingerprintRow] = field(default_factory=dict)
    groups: dict[tuple[str, str], GroupRow] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    notes: dict[int, tuple[Note, ...]] = field(default_factory=dict)
    noted: dict[int, int] = field(default_factory=dict)
    passages: dict[str, Passage] = field(default_factory=dict)
    outputs: dict[tuple[str, int], Output] = field(default_factory=dict)
    keys: dict[str, bytes] = field(default_factory=dict)

    def copied(self) -> "State":
        """A copy that later changes of this one do not reach."""
        return State(**{each.name: copy(getattr(self, each.name)) for each in fields(self)})


def best(texts: Iterable[tuple[T, str]], words: Sequence[str]) -> list[tuple[T, float]]:
    """Values whose text has any of the words, those with more and rarer ones first; equal ones as they came."""
    wanted = {_stem(each) for each in words}
    found = [(value, {_stem(word) for word in text.split()} & wanted) for value, text in texts]
    hits = [(value, there) for value, there in found if there]
    counts = {word: sum(word in there for _, there in hits) for word in wanted}
    scored = [(value, sum(log1p(len(found) / counts[word]) for word in sorted(there))) for value, there in hits]
    return sorted(scored, key=lambda each: -each[1])


def _stem(word: str) -> str:
    """A word without its commonest English ending."""
    return next(
        (word[: -len(end)] for end in ("ing", "ed", "es", "s", "e") if word.endswith(end) and len(word) > len(end) + 3), word
    )
