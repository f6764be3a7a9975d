"""Evaluate archive, search and extraction on public data sets of questions and facts, with a fresh store for each space.

Data sets are JSON Lines. Rows of a corpus are ``{ns, id, session, role, date, text}``, questions ``{qid, ns, query, gold: {turn,
session}}``, facts ``{ns, fid, text, sources}``. ``ns`` is the space. Stores are temporary. The user's own store is neither read nor
changed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from math import log2
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from kept.core.digest import digest
from kept.core.event import Author, Cursor, Pointer, RecordAccount
from kept.core.text import tokenize
from kept.core.times import parse_instant
from kept.core.value import dataclass, field, replace
from kept.curation.passes import curate_changed_groups
from kept.evaluation.turns import plain_event, read_rows
from kept.extraction.extract_threads import extract_pending
from kept.local.progress import Progress, ignore_progress
from kept.recall.index import UnitKind
from kept.recall.indexing import update_index
from kept.recall.search import search, search_sessions
from kept.sources.stamps import find_stamp, stamp_instant
from kept.workspace import Opener, RunNumber, Workspace

RANKS = (1, 5, 10)
_RESAMPLES = 1_000


def ranking_measures(ranked: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    """Compute the measures of a ranking: R@k, all@5, NDCG@10 and MRR.

    R@k is the share of the gold items among the first k. all@5 is 1 if the first five contain all gold items, else 0. NDCG is that
    of Järvelin and Kekäläinen (2002) with binary relevance. MRR is 1/rank of the first gold item. Raises ValueError without gold.
    """
    if not gold:
        raise ValueError("no gold")
    places = [place for place, item in enumerate(dict.fromkeys(ranked), 1) if item in gold]
    found = {f"R@{k}": sum(place <= k for place in places) / len(gold) for k in RANKS}
    gain = sum(1 / log2(place + 1) for place in places if place <= 10)
    best = sum(1 / log2(place + 1) for place in range(1, min(len(gold), 10) + 1))
    return found | {
        "all@5": float(sum(place <= 5 for place in places) == len(gold)),
        "NDCG@10": gain / best,
        "MRR": 1 / places[0] if places else 0.0,
    }


def average_measures(rows: Iterable[dict[str, float]]) -> dict[str, float]:
    """The mean of each measure. Empty if there are no rows."""
    listed = list(rows)
    return {name: sum(row[name] for row in listed) / len(listed) for name in listed[0]} if listed else {}


def bootstrap_interval(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The 95 % bootstrap interval of sum(part) / sum(whole) over pairs (part, whole). If each whole is 1, that is the mean.

    (0, 0) if the sum of the wholes is 0. The same pairs always give the same interval.
    """
    drawing = Random(len(pairs))  # noqa: S311 - statistics, not secrets
    shares = []
    for _ in range(_RESAMPLES if pairs else 0):
        sample = drawing.choices(pairs, k=len(pairs))
        total = sum(of for _, of in sample)
        shares.append(sum(part for part, _ in sample) / total if total else 0.0)
    shares.sort()
    return (shares[int(0.025 * _RESAMPLES)], shares[int(0.975 * _RESAMPLES)]) if shares else (0.0, 0.0)


def covered_share(fact: str, memories: Sequence[frozenset[str]]) -> float:
    """The share of a fact's content words in the memory that contains most of them, in [0, 1]. Memories are given as
    their words.
    """
    words = content_words(fact)
    return max((len(words & item) / len(words) for item in memories), default=0.0) if words else 0.0


def content_words(text: str) -> frozenset[str]:
    """The content words of a text: words longer than three characters or with a digit. They are cut to six characters, which
    removes most endings.
    """
    return frozenset(item[:6] for item in tokenize(text) if len(item) > 3 or any(map(str.isdigit, item)))


MOST = 200  # maximum number of results in a ranking


@dataclass(kw_only=True, slots=True)
class RetrievalResult:
    """The result of a retrieval run.

    ``rankings`` are by question, ``measures`` by category (``all`` first). ``intervals`` are the 95 % intervals of R@10. ``making``
    is the time for building the stores, and ``asking`` lists the time of each question, both in seconds.
    """

    rankings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    measures: dict[str, dict[str, float]] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    items: int = 0
    making: float = 0.0
    asking: list[float] = field(default_factory=list)


def run_retrieval(
    open_workspace: Opener,
    corpus: Path,
    queries: Path,
    *,
    level: str = "turn",
    stores: Path | None = None,
    progress: Progress = ignore_progress,
) -> RetrievalResult:
    """Archive each space of a corpus in a separate store, embed it, and rank its turns (or sessions) for each question.

    If ``stores`` is a folder, the stores stay there and existing ones are reused. Raises UsageError if a file is malformed.
    """
    spaces = _rows_by_space(corpus, ("ns", "id", "session", "text"))
    asked = _rows_by_space(queries, ("ns", "qid", "query"))
    result = RetrievalResult()
    rows: dict[str, list[dict[str, float]]] = {"all": []}
    for number, (space, items) in enumerate(spaces.items()):
        progress("evaluating", number, len(spaces))
        if space not in asked:
            continue
        with _open_space(open_workspace, stores / digest(space, size=8) if stores else None) as workspace:
            started = perf_counter()
            names = archive_items(workspace, items)
            update_index(workspace, float("inf"))
            result.making += perf_counter() - started
            result.items += len(items)
            there = _with_final_clock(workspace)
            for question in asked[space]:
                started = perf_counter()
                if level == "turn":
                    ranked = tuple(names[hit.id] for hit in search(there, question["query"], where=(UnitKind.TURN,), limit=MOST))
                else:
                    ranked = tuple(hit.session for hit in search_sessions(there, question["query"], limit=MOST))
                result.asking.append(perf_counter() - started)
                result.rankings[question["qid"]] = ranked
                gold = frozenset(map(str, _gold_at_level(question, level)))
                if gold:
                    for kind in ("all", str(question.get("category", "")) or "none"):
                        rows.setdefault(kind, []).append(ranking_measures(ranked, gold))
    result.measures = {kind: average_measures(kind_rows) for kind, kind_rows in rows.items() if kind_rows}
    result.intervals = {kind: bootstrap_interval([(row["R@10"], 1.0) for row in kind_rows]) for kind, kind_rows in rows.items()}
    result.counts = Counter({kind: len(kind_rows) for kind, kind_rows in rows.items()})
    return result


def _with_final_clock(workspace: Workspace) -> Workspace:
    """Return the workspace with its clock at the last time in the space, because questions say "last week" relative to it."""
    last = max((thread.last_at for thread in workspace.store.archive.threads() if thread.last_at), default=None)
    return replace(workspace, clock=lambda: last) if last else workspace


def _gold_at_level(question: Mapping[str, Any], level: str) -> Sequence[Any]:
    gold = question.get("gold", ())
    ids: Sequence[Any] = gold.get(level, ()) if isinstance(gold, dict) else gold
    return ids


@dataclass(kw_only=True, slots=True)
class ExtractionResult:
    """The result of an extraction run: memories of all spaces, and their measures against the facts."""

    memories: list[dict[str, Any]] = field(default_factory=list)
    facts: int = 0
    measures: dict[str, float] = field(default_factory=dict)


def run_extraction(open_workspace: Opener, corpus: Path, gold: Path, *, progress: Progress = ignore_progress) -> ExtractionResult:
    """Extract each space of a corpus without a model, in a separate store, and compare the memories with the facts.

    Measures: ``found`` is the share of facts that have a source in common with a memory. ``right`` is the share of memories that
    have a source in common with a fact. ``told@.5`` is the share of facts for which a single memory contains half of the content
    words, ``told@.7`` the same for 70 %. Raises UsageError.
    """
    spaces = _rows_by_space(corpus, ("ns", "id", "session", "text"))
    facts = _rows_by_space(gold, ("ns", "text"))
    result = ExtractionResult(facts=sum(map(len, facts.values())))
    found, shares, right = 0, [], 0
    for number, (space, items) in enumerate(spaces.items()):
        progress("evaluating", number, len(spaces))
        with _open_space(open_workspace) as workspace:
            memories = list(_extract_memories(workspace, archive_items(workspace, items)))
        sources = {item for memory in memories for item in memory["sources"]}
        wanted = {str(item) for fact in facts.get(space, ()) for item in fact.get("sources", ())}
        words = [content_words(memory["text"]) for memory in memories]
        for fact in facts.get(space, ()):
            found += not sources.isdisjoint(map(str, fact.get("sources", ())))
            shares.append(covered_share(fact["text"], words))
        right += sum(not wanted.isdisjoint(memory["sources"]) for memory in memories)
        result.memories += [{"ns": space} | memory for memory in memories]
    many, total = max(1, result.facts), max(1, len(result.memories))
    result.measures = {
        "found": found / many,
        "right": right / total,
        "told@.5": sum(share >= 0.5 for share in shares) / many,
        "told@.7": sum(share >= 0.7 for share in shares) / many,
        "memories": float(len(result.memories)),
    }
    return result


def _extract_memories(workspace: Workspace, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    run = RunNumber(workspace, "eval")
    extract_pending(workspace, run)
    curate_changed_groups(workspace, run)
    for memory in workspace.store.log.memories():
        sources = sorted({names[item.event] for item in memory.evidence if item.event in names})
        yield {"text": memory.content, "kind": memory.category, "status": memory.status.value, "sources": sources}


@contextmanager
def _open_space(open_workspace: Opener, folder: Path | None = None) -> Iterator[Workspace]:
    """Open the store of a space in ``folder``, which is created if necessary. Without it, a temporary folder is used."""
    with TemporaryDirectory(prefix="kept-eval-") as temporary:
        home = folder or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        with open_workspace(home) as workspace:
            yield workspace


def archive_items(workspace: Workspace, items: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Archive the items of a space by session, unless the store has them. Returns each item's id by the key of its event."""
    names: dict[str, str] = {}
    has_threads = any(True for _ in workspace.store.archive.threads())
    with workspace.store.transaction():
        for session, group in groupby(items, key=lambda item: str(item["session"])):
            events = []
            for item in group:
                key, author = f"{len(names)}", Author.ASSISTANT if item.get("role") == "assistant" else Author.HUMAN
                place, at = Pointer(path=f"eval/{session}", line=1, start=0, end=0), _parse_instant(workspace, item.get("date"))
                events.append(plain_event(key, session, author, str(item["text"]), pointer=place, at=at, record=key))
                names[key] = str(item["id"])
            if has_threads:
                continue
            account = RecordAccount(records=len(events), kept=len(events), events=len(events))
            workspace.store.archive.add_slice("eval", f"eval/{session}", events, account, Cursor(), anew=False)
    return names


def _parse_instant(workspace: Workspace, value: object) -> datetime | None:
    moment = parse_instant(value)
    if moment is not None or not isinstance(value, str):
        return moment
    stamp = find_stamp(value) or find_stamp(value.replace("-", " "))
    return stamp_instant(stamp, workspace.zone) if stamp else None


def _rows_by_space(path: Path, needed: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Read the rows of a file in order, by space. Raises UsageError."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in read_rows(path, needed):
        found.setdefault(str(row["ns"]), []).append(row)
    return found
