"""Extract memories from annotated transcripts without a model and score them. Also measure the effect of each of the rules' word
lists.

A gold set is a folder with ``gold.jsonl`` (what to keep) and ``negatives.jsonl`` (what not to keep). Their rows name transcripts by
paths relative to one folder. Each set is read in a temporary home. The user's own store is neither read nor changed. To measure a
word list, annotated turns are read again without it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from kept.core.errors import UsageError
from kept.core.event import Author, Event
from kept.core.memory import SAID_ONCE, Accepted
from kept.core.value import dataclass, fields, replace
from kept.evaluation.turns import (
    AnnotatedTurn,
    TurnScore,
    compare_with_turns,
    load_annotations,
    normalize_text,
    plain_event,
    read_rows,
)
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import propose_prompt_tellings
from kept.local.progress import Progress, ignore_progress
from kept.memories.browse import to_export
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles import load_profile
from kept.profiles.lexicons import Lexicon, TellingPatterns, load_lexicon
from kept.workspace import Opener

COMPARED_CHARS = 300  # characters at the start of a memory that are compared
MOST_CREDITED = 2  # maximum number of items that one memory may match
_LIVE = ("active", "accepted")
_KINDS = ("importance", "category", "trigger", "origin")
_CONTAINED_CHARS, _LEAST_WORDS, _SHARED_SHARE = 25, 6, 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """The result of comparing memories with annotations.

    ``active`` and ``held`` count memories, ``matched`` the active ones that match an item, ``held_junk`` the held ones that match a
    negative. ``recall`` maps ``all``, ``importance 3``, ``category …``, ``trigger …`` and ``origin …`` to (found, annotated).
    ``agreeing`` counts found items with a memory in a category that the annotator accepts. ``missed`` are the items that no memory
    covers, ``junk`` the active memories that match a negative and no item.
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

    A gold item has ``text``, ``category``, ``also_ok``, ``origin``, ``trigger``, ``importance`` and ``must_mention``: groups of
    alternatives, of which a memory must contain one each. A negative has a ``quote`` of tempting text that should not become a
    memory.
    """
    rows = list(memories)
    live = [row for row in rows if row.get("status", "active") in _LIVE]
    held = [row for row in rows if row.get("status") == "held"]
    covering = _match_items(gold, [normalize_text(str(row["content"])[:COMPARED_CHARS]) for row in live])
    matched = {place for places in covering for place in places}
    found: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for item, places in zip(gold, covering, strict=True):
        for key in ("all", *(f"{name} {item[name]}" for name in _KINDS if name in item)):
            wanted[key] += 1
            found[key] += bool(places)
    return Comparison(
        active=len(live),
        held=len(held),
        matched=len(matched),
        held_junk=sum(_is_tempting_match(row, negatives) for row in held),
        agreeing=sum(
            any(live[place].get("category") in (item["category"], *item.get("also_ok", ())) for place in places)
            for item, places in zip(gold, covering, strict=True)
        ),
        recall={key: (found[key], wanted[key]) for key in sorted(wanted, key=_kind_order)},
        missed=tuple(item for item, places in zip(gold, covering, strict=True) if not places),
        junk=tuple(row for place, row in enumerate(live) if place not in matched and _is_tempting_match(row, negatives)),
    )


def _kind_order(key: str) -> tuple[int, int, str]:
    """A sort key: ``all`` first, then importance in descending order, then the other kinds."""
    kind, _, value = key.partition(" ")
    return (_KINDS.index(kind) + 1, -int(value) if value.isdigit() else 0, value) if value else (0, 0, "")


def _match_items(gold: Sequence[Mapping[str, Any]], contents: Sequence[str]) -> list[list[int]]:
    """Return for each item the indices of the memories that match it. A memory matches at most :data:`MOST_CREDITED` items, the
    most important ones.
    """
    credit: Counter[int] = Counter()
    hit: list[list[int]] = [[] for _ in gold]
    for place in sorted(range(len(gold)), key=lambda number: -int(gold[number].get("importance", 0))):
        groups = [[normalize_text(str(word)) for word in group] for group in gold[place]["must_mention"]]
        covering = (number for number, text in enumerate(contents) if all(any(word in text for word in group) for group in groups))
        hit[place] = [number for number in covering if credit[number] < MOST_CREDITED]
        credit.update(hit[place][:1])
    return hit


def _is_tempting_match(memory: Mapping[str, Any], negatives: Sequence[Mapping[str, Any]]) -> bool:
    """True if a memory's content or evidence overlaps with a negative."""
    texts = [memory["content"], *(item.get("quote", "") for item in memory.get("evidence", ()))]
    return any(
        _has_overlap(normalize_text(str(text)), normalize_text(str(negative["quote"]))) for text in texts for negative in negatives
    )


def _has_overlap(left: str, right: str) -> bool:
    """True if one text contains the other (25 characters or more), or if they share 80 % of the shorter text's words (six
    or more).
    """
    if not left or not right:
        return False
    if (left in right or right in left) and min(len(left), len(right)) >= _CONTAINED_CHARS:
        return True
    mine, theirs = set(left.split()), set(right.split())
    short = min(len(mine), len(theirs))
    return short >= _LEAST_WORDS and len(mine & theirs) >= _SHARED_SHARE * short


GOLD, NEGATIVES, TOPICS = "gold.jsonl", "negatives.jsonl", "topics.jsonl"
# The places where transcripts are looked for, relative to the folder of annotations and its parents.
_PLACES = ("", "transcripts", "transcripts/inputs")
_PARENT_FOLDERS = 3
_NEEDED = {GOLD: ("text", "category", "importance", "must_mention", "evidence"), NEGATIVES: ("quote", "file"), TOPICS: ("file",)}


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldResult:
    """The result of one gold set: the comparison, the memories, and the number, bytes and CPU seconds of the files read."""

    name: str
    comparison: Comparison
    memories: tuple[Mapping[str, Any], ...]
    files: int
    size: int
    seconds: float


def compare_gold_sets(
    open_workspace: Opener, gold: Path, transcripts: Path | None = None, *, progress: Progress = ignore_progress
) -> Iterator[GoldResult]:
    """Extract the transcripts of each gold set without a model, compare the memories, and yield the results one by one.

    ``gold`` is a set or a folder of sets. ``transcripts`` is the folder of the transcripts. Without it, they are looked for near
    the annotations. Raises UsageError if there is no set, a row is malformed, or a cited transcript is missing.
    """
    for folder in _find_gold_sets(gold):
        yield _compare_gold_set(open_workspace, folder, transcripts, progress)


def score_extraction(
    open_workspace: Opener, folder: Path, transcripts: Path, *, progress: Progress = ignore_progress
) -> tuple[tuple[Mapping[str, Any], ...], TurnScore]:
    """Extract transcripts without a model in a temporary home and compare the memories with annotated turns. Raises UsageError."""
    turns = load_annotations(folder)
    with TemporaryDirectory(prefix="kept-eval-") as made, open_workspace(Path(made)) as workspace:
        run_pipeline(workspace, [transcripts], RunOptions(model=False), progress=progress)
        memories = tuple(
            to_export(workspace, memory) | {"confidence": memory.confidence} for memory in workspace.store.log.memories()
        )
    return memories, compare_with_turns(turns, memories)


def _find_gold_sets(gold: Path) -> list[Path]:
    paths = [path for path in (gold, *sorted(gold.iterdir())) if (path / GOLD).is_file()]
    if not paths:
        raise UsageError(f"there is no {GOLD} in this folder or one below it", where=str(gold), hint="a folder of annotations")
    return paths


def _compare_gold_set(open_workspace: Opener, folder: Path, transcripts: Path | None, progress: Progress) -> GoldResult:
    rows = {
        name: list(read_rows(folder / name, needed))
        for name, needed in _NEEDED.items()
        if name == GOLD or (folder / name).is_file()
    }
    evidence = (item for row in rows[GOLD] for item in row["evidence"])
    cited = sorted({str(item["file"]) for item in (*evidence, *rows.get(NEGATIVES, ()), *rows.get(TOPICS, ()))})
    root = transcripts or _find_root(folder, cited)
    paths = [root / item for item in cited]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise UsageError(
            f"{len(missing)} of the {len(paths)} transcripts that it cites are not there, the first is {missing[0]}",
            where=str(folder),
            hint="give their folder with --corpus FOLDER",
        )
    begun = process_time()
    with TemporaryDirectory(prefix="kept-eval-") as home, open_workspace(Path(home)) as workspace:
        run_pipeline(workspace, paths, RunOptions(model=False), progress=progress)
        memories = tuple(to_export(workspace, memory) for memory in workspace.store.log.memories())
    return GoldResult(
        name=folder.name,
        comparison=compare_with_gold(rows[GOLD], rows.get(NEGATIVES, []), memories),
        memories=memories,
        files=len(paths),
        size=sum(path.stat().st_size for path in paths),
        seconds=process_time() - begun,
    )


def _find_root(folder: Path, cited: list[str]) -> Path:
    """Find the folder to which the cited paths are relative: the first one near the annotations with the first cited transcript."""
    above = [folder.resolve(), *folder.resolve().parents][: _PARENT_FOLDERS + 1]
    paths = (path / place for path in above for place in _PLACES if any((path / place / item).is_file() for item in cited[:1]))
    root = next(paths, None)
    if root is None:
        raise UsageError("the cited transcripts are not near it", where=str(folder), hint="give their folder with --corpus FOLDER")
    return root


# entries of a lexicon that are not measured: the language's name, and words that are needed to read any text
_NEEDED_LISTS = frozenset(("language", "words"))
Counts = Mapping[str, Mapping[str, int]]


def run_ablations(turns: Sequence[AnnotatedTurn]) -> dict[str, Counts]:
    """Measure how the counts of outcomes change without each word list of the rules, by list, source and outcome.

    An outcome is the status (active, waiting or said once) with right or wrong. A change is negative if passages are lost without
    the list. A list without effect has no sources.
    """
    rules = load_profile("coding")
    whole = load_lexicon(rules.languages)
    names = [field.name for field in fields(TellingPatterns) if field.name not in _NEEDED_LISTS and field.type in (str, "str")]
    before = _count_outcomes(turns, whole)
    found: dict[str, Counts] = {}
    for name in names:
        empty: dict[str, Any] = {name: ""}
        after = _count_outcomes(turns, replace(whole, tellings=tuple(replace(telling, **empty) for telling in whole.tellings)))
        after.subtract(before)
        found[name] = {
            source: {kind: count for (_, kind), count in group}
            for source, group in groupby(sorted((key, n) for key, n in after.items() if n), key=lambda item: item[0][0])
        }
    return found


def _count_outcomes(turns: Sequence[AnnotatedTurn], words: Lexicon) -> Counter[tuple[str, str]]:
    rules, counts = load_profile("coding"), Counter[tuple[str, str]]()
    for turn in turns:
        events = _to_session(turn)
        for candidate in propose_prompt_tellings(events, 0, len(events), profile=rules, lexicon=words, scope="project:turns"):
            status = "active" if isinstance(judge(candidate, rules, lexicon=words), Accepted) else "waiting"
            status = SAID_ONCE if candidate.doubt == SAID_ONCE else status
            counts[turn.source, f"{status} {'right' if turn.passages_in(candidate.evidence[0].quote) else 'wrong'}"] += 1
    return counts


def _to_session(turn: AnnotatedTurn) -> tuple[Event, Event]:
    """Convert a turn to a session of two events: the assistant's last words and the prompt."""
    before = plain_event(f"{turn.id}-0", turn.session, Author.ASSISTANT, turn.before)
    return before, plain_event(f"{turn.id}-1", turn.session, Author.HUMAN, turn.text)
