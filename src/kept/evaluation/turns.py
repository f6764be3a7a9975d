"""Compare memories with completely annotated turns. They list all passages worth keeping, so precision can be measured besides
recall.

A folder contains ``turns.jsonl`` (``id``, ``source``, ``session``, ``before``, ``text``) and ``labels.jsonl`` (``id``, ``label``
keep or drop, ``quote``, ``importance``, ``why``). A memory is judged by the longest of its quotes that occurs in an annotated turn.
It is right if the quote and a passage to keep share half of the words of the shorter one. A memory that occurs in no annotated turn
is not judged.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
ACTIVE, HELD = "active", "held"
_STATUSES = {"active": ACTIVE, "accepted": ACTIVE, "held": HELD}
_MARKS = Pattern(r"[`*_\"'’‘“”]")
_LEAST_QUOTE_CHARS = 15  # shorter quotes are not looked for
_SHARE = 0.5
_NOWHERE = Pointer(path="", line=0, start=0, end=0)


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

    def passages_in(self, quote: str) -> list[KeepPassage]:
        """The passages worth keeping that overlap with a quote."""
        return [item for item in self.keep if is_overlapping(quote, item.quote)]


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
    keep, and ``found`` those that an active memory contains.
    """

    judged: list[MemoryJudgement] = field(default_factory=list)
    elsewhere: Counter[str] = field(default_factory=Counter)
    found: Counter[int] = field(default_factory=Counter)
    wanted: Counter[int] = field(default_factory=Counter)

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

    def body(self) -> dict[str, Any]:
        """The score as ``kept eval --json`` prints it."""

        def count_as_body(status: str, source: str = "") -> dict[str, int]:
            return dict(zip(("right", "of"), self.count_right(status, source), strict=True))

        return {
            "precision": {status: count_as_body(status) for status in (ACTIVE, HELD)},
            "by_source": {source: {status: count_as_body(status, source) for status in (ACTIVE, HELD)} for source in self.sources},
            "elsewhere": dict(self.elsewhere),
            "recall": {str(level): {"found": self.found[level], "of": self.wanted[level]} for level in LEVELS},
            "reliability": {str(band): {"right": right, "of": of} for band, (right, of) in self.reliability().items()},
        }


def load_annotations(folder: Path) -> tuple[AnnotatedTurn, ...]:
    """Load the annotated turns of a folder. Raises UsageError if a file is missing or a row is malformed."""
    keep: dict[str, list[KeepPassage]] = defaultdict(list)
    drop: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in read_rows(folder / LABELS, ("id", "label", "quote")):
        if row["label"] == "keep":
            keep[row["id"]].append(KeepPassage(quote=row["quote"], importance=int(row.get("importance", 1))))
        elif row["label"] == "drop":
            drop[row["id"]].append((row["quote"], str(row.get("why", ""))))
    needed = ("id", "source", "session", "text")
    return tuple(
        AnnotatedTurn(
            **{name: row[name] for name in needed},
            before=row.get("before") or "",
            keep=tuple(keep[row["id"]]),
            drop=tuple(drop[row["id"]]),
        )
        for row in read_rows(folder / TURNS, needed)
    )


def compare_with_turns(turns: Sequence[AnnotatedTurn], memories: Iterable[Mapping[str, Any]]) -> TurnScore:
    """Compare memories (rows of ``kept export``) with annotated turns."""
    texts = [(turn, normalize_text(turn.text)) for turn in sorted(turns, key=lambda turn: turn.id)]
    score, hit = TurnScore(), set[KeepPassage]()
    for memory in memories:
        status = _STATUSES.get(str(memory.get("status", ACTIVE)))
        if status is None:
            continue
        if (place := _find_turn(texts, memory)) is None:
            score.elsewhere[status] += 1
            continue
        turn, quote = place
        keeps = turn.passages_in(quote)
        why = next((reason for passage, reason in turn.drop if not keeps and is_overlapping(quote, passage)), "")
        score.judged.append(MemoryJudgement(memory=memory, status=status, source=turn.source, right=bool(keeps), why=why))
        if status == ACTIVE:
            hit.update(keeps)
    passages = [item for turn in turns for item in turn.keep]
    score.wanted.update(item.importance for item in passages)
    score.found.update(item.importance for item in passages if item in hit)
    return score


def _find_turn(texts: Sequence[tuple[AnnotatedTurn, str]], memory: Mapping[str, Any]) -> tuple[AnnotatedTurn, str] | None:
    """Find the turn that contains the longest of a memory's quotes. Returns it with that quote, or None."""
    quotes = [str(evidence.get("quote", "")) for evidence in memory.get("evidence", ())]
    for quote in sorted(quotes, key=lambda quote: -len(normalize_text(quote))):
        words = normalize_text(quote)
        if len(words) >= _LEAST_QUOTE_CHARS and (turn := next((turn for turn, text in texts if words in text), None)):
            return turn, quote
    return None


def is_overlapping(left: str, right: str) -> bool:
    """True if two passages share half of the words of the shorter one."""
    mine, theirs = set(normalize_text(left).split()), set(normalize_text(right).split())
    return len(mine & theirs) >= _SHARE * max(1, min(len(mine), len(theirs)))


@lru_cache(maxsize=16_384)
def normalize_text(text: str) -> str:
    """Normalize a text for comparison: lower case, single spaces, no quotation and emphasis marks."""
    return " ".join(_MARKS.sub("", text).split()).lower()


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
        hint = "write one JSON object per line"
        raise UsageError(f"the file is not a list of JSON objects: {error}", where=str(path), hint=hint) from error


def _parse_row(line: str, number: int, needed: Sequence[str]) -> dict[str, Any]:
    row = json.loads(line)
    if not isinstance(row, dict) or not row.keys() >= set(needed):
        raise ValueError(f"line {number} has not all of {', '.join(needed)}")
    return row


def plain_event(
    key: str, session: str, author: Author, text: str, *, pointer: Pointer = _NOWHERE, at: datetime | None = None, record: str = ""
) -> Event:
    """Create an event for a statement of a person or an assistant in a data set."""
    empty: dict[str, Any] = dict.fromkeys(("twin", "parent", "turn", "label_reason", "project", "branch"), "")
    return Event(
        key=key,
        session=session,
        record=record,
        kind=EventKind.PROMPT if author is Author.HUMAN else EventKind.RESPONSE,
        author=author,
        text=text,
        at=at,
        precision=Precision.SESSION if at else Precision.NONE,
        tool=None,
        pointer=pointer,
        **empty,
    )
