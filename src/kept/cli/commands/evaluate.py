"""``kept eval``: score retrieval and extraction on benchmarks."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from statistics import quantiles
from typing import Any

from kept.cli.command_support import check_choice, progress_if_shown
from kept.cli.console import Line, format_count, line, write_answer
from kept.cli.registry import GlobalOptions
from kept.core.codec import dump, json_fields
from kept.core.errors import UsageError
from kept.evaluation.extraction import Counts, GoldResult, compare_gold_sets, run_ablations, score_extraction
from kept.evaluation.replies import (
    FOLDER,
    UNPROPOSED,
    UNSHOWN,
    AdversarialResult,
    ReplayResult,
    replay_recordings,
    run_adversarial_cases,
)
from kept.evaluation.retrieval import ExtractionResult, RetrievalResult, run_extraction, run_retrieval
from kept.evaluation.turns import ACTIVE, HELD, LEVELS, TurnScore, load_annotations
from kept.local.progress import Progress
from kept.paths import Paths
from kept.pipeline.safety import write_whole_file
from kept.workspace import Opener, Workspace, open_workspace

_Rows = Iterable[Mapping[str, Any]]
_MEANING = {
    "found": "% of the facts have a memory from the same source",
    "right": "% of the memories have a source of a fact",
    "told@.5": "% of the facts have half of their words in one memory",
    "told@.7": "% of the facts have 70% of their words in one memory",
}


def eval_(
    call: GlobalOptions,
    what: str,
    *,
    corpus: Path | None = None,
    queries: Path | None = None,
    gold: Path | None = None,
    turns: Path | None = None,
    replies: Path | None = None,
    ablate: bool = False,
    out: Path | None = None,
    level: str = "turn",
    stores: Path | None = None,
    misses: bool = False,
    as_json: bool = False,
) -> None:
    """Score kept's archive and search, or its extraction, on a public set, with a fresh store for each namespace. Or score
    extraction on annotated transcripts, with a fresh store for each set of them.
    """

    def open_store(folder: Path) -> AbstractContextManager[Workspace]:
        return open_workspace(Paths(root=folder, user=folder), profile=call.profile, zone=call.zone or "UTC")

    check_choice(level, ("turn", "session"), "--level")
    check_choice(what, ("retrieval", "extraction"), "WHAT")
    with progress_if_shown(shown=sys.stderr.isatty() and not (call.quiet or as_json)) as progress:
        if what == "retrieval":
            files = (_require_path(corpus, "--corpus", what), _require_path(queries, "--queries", what))
            ranked = run_retrieval(open_store, *files, level=level, stores=stores, progress=progress)
            rows: _Rows = ({"qid": qid, "ranked": list(ids)} for qid, ids in ranked.rankings.items())
            body, lines = _retrieval_body(ranked), _retrieval_lines(ranked)
        elif replies is not None:
            files = (_require_path(corpus, "--corpus", "--replies"), _require_path(turns, "--turns", "--replies"))
            rows, body, lines = _score_replies(open_store, replies, *files, progress)
        elif turns is not None:
            rows, score = score_extraction(open_store, turns, _require_path(corpus, "--corpus", "--turns"), progress=progress)
            body, lines = score.body(), _turns_lines(score)
            if ablate:
                without = run_ablations(load_annotations(turns))
                body, lines = body | {"ablation": without}, chain(lines, _ablation_lines(without))
        elif gold is not None and gold.is_dir():
            judged = list(compare_gold_sets(open_store, gold, corpus, progress=progress))
            rows = ({"set": result.name} | dict(memory) for result in judged for memory in result.memories)
            body = {"sets": {result.name: _comparison_body(result) for result in judged}}
            lines = (shown_line for result in judged for shown_line in _comparison_lines(result, misses=misses))
        else:
            files = (_require_path(corpus, "--corpus", what), _require_path(gold, "--gold", what))
            learnt = run_extraction(open_store, *files, progress=progress)
            rows, lines = learnt.memories, _extraction_lines(learnt)
            body = learnt.measures | {"facts": learnt.facts}
    _write_rows(out, rows)
    write_answer(lambda: body, lines, as_json=as_json)


def _score_replies(
    open_store: Opener, replies: Path, corpus: Path, turns: Path, progress: Progress
) -> tuple[_Rows, dict[str, Any], Iterator[Line]]:
    """Score recorded replies. Returns the memories, the measures, and the lines that show them."""
    replayed = replay_recordings(open_store, replies, turns, corpus, progress=progress)
    tricks = run_adversarial_cases(open_store, replies)
    rows = ({"reader": result.reader} | dict(memory) for result in replayed for memory in result.memories)
    readers = {result.reader: _replay_body(result) for result in replayed}
    body = {"readers": readers, "adversarial": [dump(trick) for trick in tricks]}
    return rows, body, chain(chain.from_iterable(map(_replay_lines, replayed)), _adversarial_lines(tricks))


def _require_path(path: Path | None, name: str, what: str) -> Path:
    if path is None:
        raise UsageError(f"{what} needs {name}", hint="see `kept eval --help`")
    return path


def _write_rows(out: Path | None, rows: Iterable[Mapping[str, Any]]) -> None:
    if out is not None:
        write_whole_file(out, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def _speed_figures(result: RetrievalResult) -> dict[str, float]:
    asked = sorted(result.asking) or [0.0]
    cuts = quantiles(asked, n=20) if len(asked) > 1 else asked * 19
    return {
        "items": float(result.items),
        "items_per_second": round(result.items / result.making, 1) if result.making else 0.0,
        "search_ms_p50": round(cuts[9] * 1000, 2),
        "search_ms_p95": round(cuts[18] * 1000, 2),
    }


def _retrieval_body(result: RetrievalResult) -> dict[str, Any]:
    measures = {
        kind: {"questions": result.counts[kind]} | scores | {"R@10 interval": result.intervals[kind]}
        for kind, scores in result.measures.items()
    }
    return {"measures": measures, "speed": _speed_figures(result)}


def _retrieval_lines(result: RetrievalResult) -> Iterator[Line]:
    names = list(next(iter(result.measures.values()), {}))
    yield line((f"{'':<32}{'n':>6}{''.join(f'{name:>9}' for name in names)}  95 % of R@10", "dim"))
    for kind in sorted(result.measures, key=lambda kind: (kind != "all", kind)):
        shares = "".join(f"{100 * result.measures[kind][name]:>9.1f}" for name in names)
        low, high = result.intervals[kind]
        yield line(f"{kind[:31]:<32}{result.counts[kind]:>6}{shares}{100 * low:>8.1f} to {100 * high:.1f}")
    speed = _speed_figures(result)
    made = f"{speed['items']:,.0f} items, {speed['items_per_second']:,.0f} a second with vectors"
    yield line((f"{made}; a search takes {speed['search_ms_p50']} ms (p95 {speed['search_ms_p95']} ms)", "dim"))


def _extraction_lines(result: ExtractionResult) -> Iterator[Line]:
    yield line(f"{result.facts:,} facts, {result.measures['memories']:,.0f} memories")
    for name, words in _MEANING.items():
        yield line(f"{100 * result.measures[name]:>6.1f}  ", (words, "dim"))


def _turns_lines(score: TurnScore) -> Iterator[Line]:
    for status in (ACTIVE, HELD):
        right, judged = score.count_right(status)
        elsewhere = f"; {score.elsewhere[status]:,} more come from turns that are not annotated"
        yield line((f"{status:<8}", "bold"), f"{right} of {judged} right{_format_percent(right, judged)}", (elsewhere, "dim"))
        for source in score.sources:
            right, judged = score.count_right(status, source)
            if judged:
                yield line(f"  {source[:30]:<32}{right} of {judged} right")
    for level in LEVELS:
        found, wanted = score.found[level], score.wanted[level]
        yield line(f"importance {level}: {found} of {wanted} found{_format_percent(found, wanted)}")
    for band, (right, judged) in score.reliability().items():
        yield line(f"confidence {band:.1f}-{band + 0.1:.1f}: {right} of {judged} right{_format_percent(right, judged)}")


def _replay_body(result: ReplayResult) -> dict[str, Any]:
    losses = {str(level): dict(result.losses[level]) for level in LEVELS}
    names = ("replies", "turns", "questions", "unreadable")
    trial = json_fields(result.trial, "found", "obeyed", "unread", "passes", "failed", took="unwanted") if result.trial else None
    return json_fields(result, *names) | {"losses": losses, "trial": trial} | result.score.body()


def _replay_lines(result: ReplayResult) -> Iterator[Line]:
    right, judged = result.score.count_right(ACTIVE)
    junk = sum(bool(judgement.why) for judgement in result.score.judged if judgement.status == ACTIVE)
    (matched, recorded), (again, typed) = result.replies, result.turns
    yield line(
        (result.reader, "bold"),
        f": {matched} of {format_count(recorded, 'reply')} and {again} of {typed} typed turns found again in "
        f"{format_count(result.questions, 'question')}, {len(result.unreadable)} unreadable",
    )
    if result.trial is not None:
        yield line(f"  trial: {result.trial.verdict}, {result.trial.text}")
    yield line(
        f"  active: {right} of {judged} right{_format_percent(right, judged)}, {junk} marked as junk{_format_percent(junk, judged)}"
    )
    for level in LEVELS:
        fates = result.losses[level]
        proposed = fates.total() - fates[UNSHOWN] - fates[UNPROPOSED]
        active = fates[ACTIVE]
        yield line(f"  importance {level}: {active} of {proposed} proposed became active{_format_percent(active, proposed)}")
        for fate, number in fates.most_common():
            yield line(f"    {number:>4}  {fate}")


def _adversarial_lines(results: Sequence[AdversarialResult]) -> Iterator[Line]:
    if results:
        believed, paid = (sum(len(result.believed) for result in results), sum(result.paid for result in results))
        yield line((FOLDER, "bold"), f": {format_count(len(results), 'reply')}, {believed} believed, {paid} questions paid twice")
    for item in results:
        yield from (line((f"  {item.name}: ", "red"), words) for words in item.believed)


def _ablation_lines(without: Mapping[str, Counts]) -> Iterator[Line]:
    yield line(("What changes without each list of words", "bold"), (" (gained +, lost -, by source)", "dim"))
    for name, by_source in without.items():
        text = "; ".join(
            f"{source}: {', '.join(f'{kind} {count:+d}' for kind, count in counts.items())}" for source, counts in by_source.items()
        )
        yield line(f"  {name:<16}", text or "nothing")


def _format_percent(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.0f} %)" if whole else ""


def _comparison_body(result: GoldResult) -> dict[str, Any]:
    body = json_fields(result.comparison, "active", "matched", "held", "held_junk", category_agrees="agreeing")
    return body | {
        "transcripts": result.files,
        "bytes": result.size,
        "processor_seconds": round(result.seconds, 2),
        "junk": len(result.comparison.junk),
        "recall": {name: {"found": right, "of": of} for name, (right, of) in result.comparison.recall.items()},
        "missed": [fact.get("id", fact["text"]) for fact in result.comparison.missed],
    }


def _comparison_lines(result: GoldResult, *, misses: bool) -> Iterator[Line]:
    """The result for one set of annotations: what was read, the memories by status, and the recall for each kind of item."""
    comparison, megabytes = result.comparison, result.size / 1e6
    speed = f"{megabytes:.1f} MB in {result.seconds:.1f} s of processor time ({megabytes / max(result.seconds, 1e-9):.1f} MB/s)"
    yield line((result.name, "bold"), (f"  {format_count(result.files, 'transcript')}, {speed}", "dim"))
    held = f"{comparison.held} held, {comparison.held_junk} of them marked as junk"
    yield line(f"{comparison.active} active: {comparison.matched} match, {len(comparison.junk)} marked as junk; {held}")
    yield line(f"{comparison.agreeing} of {comparison.recall['all'][0]} found in a category that the annotator would accept")
    for name, (hit, of) in comparison.recall.items():
        yield line(f"{100 * hit / of:>6.1f}%  {hit:>4} of {of:<4}", (f" {name}", "dim"))
    if misses:
        yield from (
            line((f"missed  {item['category']}/{item['importance']}  ", "yellow"), str(item["text"])) for item in comparison.missed
        )
        yield from (line((f"junk    {item['category']}  ", "red"), str(item["content"])) for item in comparison.junk)
    yield line()
