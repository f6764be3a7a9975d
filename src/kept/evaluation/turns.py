"""Compare memories with completely annotated turns. They list all passages worth keeping, so precision can be measured besides
recall.

A folder contains ``turns.jsonl`` (``id``, ``source``, ``session``, ``before``, ``text``) and ``labels.jsonl`` (``id``, ``label``
keep or drop, ``quote``, ``importance``, ``why``). A memory is judged by the longest of its quotes that occurs in an annotated turn.
It is right if the quote and a passage to keep share half of the words of the shorter one. A memory that occurs in no annotated turn
is not judged.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from kept.core.errors import UsageError
from kept.core.event import Author, Event, EventKind, Pointer, Precision
from kept.core.pattern import Pattern
from kept.core.value import dataclass, field

TURNS, LABELS = "turns.jsonl", "labels.jsonl"
LEVELS = (3, 2, 1)
_MARKS = Pattern(r"[`*_\"'’‘“”]")
_LEAST_QUOTE_CHARS = 15  # shorter quotes are not looked for
_SHARE = 0.5
_NOWHERE = Pointer(path="", line=0, start=0, end=0)
_STATUSES = {"active": "active", "accepted": "active", "held": "held"}


@dataclass(frozen=True, kw_only=True, slots=True)
class KeepPassage:
    """A passage worth keeping, and its importance: the loss without it (1 to 3; 3 means lost working time)."""

    quote: str
    importance: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AnnotatedTurn:
    """A typed turn with the assistant's last words before it. It lists the passages worth keeping, and other passages with the
    reason to drop them.
    """

    id: str
    source: str
    session: str
    before: str
    text: str
    keep: tuple[KeepPassage, ...]
    drop: tuple[tuple[str, str], ...]

    def is_worth_keeping(self, quote: str) -> bool:
        """True if a quote overlaps with a passage worth keeping."""
        return any(is_overlapping(quote, item.quote) for item in self.keep)


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryJudgement:
    """The judgement of a memory that occurs in an annotated turn. ``status`` is active or held. ``source`` is the turn's source.

    ``why`` is the annotator's reason to drop the passage. It is empty if the memory is right or the annotator gave no reason.
    """

    memory: Mapping[str, Any]
    status: str
    source: str
    right: bool
    why: str = ""


@dataclass(kw_only=True, slots=True)
class TurnScore:
    """The score of memories against annotated turns.

    ``elsewhere`` counts, by status, the memories that occur in no annotated turn. ``wanted`` counts, by importance, the passages to
    keep, and ``found`` those that an active memory contains. ``missed`` are the others.
    """

    judged: list[MemoryJudgement] = field(default_factory=list)
    elsewhere: Counter[str] = field(default_factory=Counter)
    found: Counter[int] = field(default_factory=Counter)
    wanted: Counter[int] = field(default_factory=Counter)
    missed: list[KeepPassage] = field(default_factory=list)

    def count_right(self, status: str, source: str = "") -> tuple[int, int]:
        """Return the numbers of right and of judged memories with a status, of all sources or of one."""
        rights = [judgement.right for judgement in self.judged if judgement.status == status and source in ("", judgement.source)]
        return sum(rights), len(rights)

    def reliability(self) -> dict[float, tuple[int, int]]:
        """The numbers of right and of judged memories, by confidence in steps of 0.1."""
        bands: dict[float, list[bool]] = defaultdict(list)
        for judgement in self.judged:
            if isinstance(confidence := judgement.memory.get("confidence"), (int, float)):
                bands[min(9, int(confidence * 10)) / 10].append(judgement.right)
        return {band: (sum(bands[band]), len(bands[band])) for band in sorted(bands)}

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources with judged memories, sorted."""
        return tuple(sorted({judgement.source for judgement in self.judged}))


def load_annotations(folder: Path) -> tuple[AnnotatedTurn, ...]:
    """Load the annotated turns of a folder. Raises UsageError if a file is missing or a row is malformed."""
    labels: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in read_rows(folder / LABELS, ("id", "label", "quote")):
        labels[row["id"]].append(row)
    return tuple(
        AnnotatedTurn(
            id=row["id"],
            source=row["source"],
            session=row["session"],
            before=row.get("before") or "",
            text=row["text"],
            keep=tuple(
                KeepPassage(quote=label["quote"], importance=int(label.get("importance", 1)))
                for label in labels[row["id"]]
                if label["label"] == "keep"
            ),
            drop=tuple((label["quote"], str(label.get("why", ""))) for label in labels[row["id"]] if label["label"] == "drop"),
        )
        for row in read_rows(folder / TURNS, ("id", "source", "session", "text"))
    )


def compare_with_turns(turns: Sequence[AnnotatedTurn], memories: Iterable[Mapping[str, Any]]) -> TurnScore:
    """Compare memories (rows of ``kept export``) with annotated turns."""
    place, result = _create_locator(turns), TurnScore()
    hit: set[KeepPassage] = set()
    for memory in memories:
        status = _STATUSES.get(str(memory.get("status", "active")))
        if status is None:
            continue
        placed = place(memory)
        if placed is None:
            result.elsewhere[status] += 1
            continue
        turn, quote = placed
        keeps = [item for item in turn.keep if is_overlapping(quote, item.quote)]
        why = next((reason for passage, reason in turn.drop if not keeps and is_overlapping(quote, passage)), "")
        result.judged.append(MemoryJudgement(memory=memory, status=status, source=turn.source, right=bool(keeps), why=why))
        if status == "active":
            hit.update(keeps)
    for item in (item for turn in turns for item in turn.keep):
        result.wanted[item.importance] += 1
        result.found[item.importance] += item in hit
        if item not in hit:
            result.missed.append(item)
    return result


def is_overlapping(left: str, right: str) -> bool:
    """True if two passages share half of the words of the shorter one."""
    mine, theirs = set(normalize_text(left).split()), set(normalize_text(right).split())
    return len(mine & theirs) >= _SHARE * max(1, min(len(mine), len(theirs)))


@lru_cache(maxsize=16_384)
def normalize_text(text: str) -> str:
    """Normalize a text for comparison: lower case, single spaces, no quotation and emphasis marks."""
    return " ".join(_MARKS.sub("", text).split()).lower()


def _create_locator(turns: Sequence[AnnotatedTurn]) -> Callable[[Mapping[str, Any]], tuple[AnnotatedTurn, str] | None]:
    """Return a function that finds the turn that contains the longest of a memory's quotes, and that quote."""
    texts = {turn.id: normalize_text(turn.text) for turn in turns}
    by_id = {turn.id: turn for turn in turns}
    starts: dict[str, set[str]] = defaultdict(set)
    for number, text in texts.items():
        for at in range(max(1, len(text) - _LEAST_QUOTE_CHARS + 1)):
            starts[text[at : at + _LEAST_QUOTE_CHARS]].add(number)

    def locate_memory(memory: Mapping[str, Any]) -> tuple[AnnotatedTurn, str] | None:
        best: tuple[int, str, str] | None = None
        for evidence in memory.get("evidence", ()):
            quote = normalize_text(str(evidence.get("quote", "")))
            for number in sorted(starts.get(quote[:_LEAST_QUOTE_CHARS], ())) if len(quote) >= _LEAST_QUOTE_CHARS else ():
                if quote in texts[number] and (best is None or len(quote) > best[0]):
                    best = (len(quote), number, str(evidence["quote"]))
        return (by_id[best[1]], best[2]) if best else None

    return locate_memory


def read_rows(path: Path, needed: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON Lines file. Raises UsageError if it cannot be read, or if a row lacks one of the fields
    ``needed``.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _parse_row(line, number, needed)
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the file is not a list of JSON objects: {error}", where=str(path), hint="write one JSON object per line"
        ) from error


def _parse_row(line: str, number: int, needed: Sequence[str]) -> dict[str, Any]:
    row = json.loads(line)
    if not isinstance(row, dict) or not all(name in row for name in needed):
        raise ValueError(f"line {number} has not all of {', '.join(needed)}")
    return row


def plain_event(
    key: str, session: str, author: Author, text: str, *, pointer: Pointer = _NOWHERE, at: datetime | None = None
) -> Event:
    """Create an event for a statement of a person or an assistant in a data set."""
    return Event(
        key=key,
        twin="",
        session=session,
        record="",
        parent="",
        turn="",
        kind=EventKind.PROMPT if author is Author.HUMAN else EventKind.RESPONSE,
        author=author,
        label_reason="",
        text=text,
        at=at,
        precision=Precision.SESSION if at else Precision.NONE,
        project="",
        branch="",
        tool=None,
        pointer=pointer,
    )
