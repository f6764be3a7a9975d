"""``kept eval``: scores on benchmarks, of retrieval and of extraction."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from statistics import quantiles
from typing import Annotated, Any

import typer

from kept.cli import show
from kept.cli.front import asked, one_of, progress_when
from kept.cli.show import Line, counted, line
from kept.core.codec import dump, json_fields
from kept.core.errors import UsageError
from kept.evaluation.ablation import Counts, ablations
from kept.evaluation.adversarial import FOLDER, Deceived, deceived
from kept.evaluation.extraction import Judged, annotated, scored
from kept.evaluation.replies import ACTIVE, UNPROPOSED, UNSHOWN, Replayed, replayed
from kept.evaluation.retrieval import Learnt, Retrieved, extraction, retrieval
from kept.evaluation.turns import LEVELS, TurnScore, annotations
from kept.paths import Paths
from kept.pipeline.safety import put
from kept.workspace import Workspace, opened

_MEANING = {
    "found": "% of the facts have a memory from the same source",
    "right": "% of the memories have a source of a fact",
    "told@.5": "% of the facts have half of their words in one memory",
    "told@.7": "% of the facts have 70% of their words in one memory",
}


def eval_(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="retrieval or extraction.")],
    *,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The corpus: {ns, id, session, role, date, text} a line. Of annotations: the folder that their paths start "
            "from (looked for near them).",
        ),
    ] = None,
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="Questions: {qid, ns, query, gold} a line.")] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Facts: {ns, text, sources} a line. Or a folder of annotations of transcripts (gold.jsonl)."
        ),
    ] = None,
    turns: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A folder of turns annotated completely (turns.jsonl, labels.jsonl): precision as well as recall."
        ),
    ] = None,
    replies: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Of annotated turns: what recorded replies of models come to, and where passages were lost."
        ),
    ] = None,
    ablate: Annotated[
        bool,
        typer.Option(
            "--ablate",
            help="Of annotated turns: what is gained and lost where each list of words of the rules is left out.",
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the rankings, or the memories, as JSON lines.")] = None,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="Rank turns or sessions.")] = "turn",
    stores: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the stores of a retrieval here, and ask those that are here again.")
    ] = None,
    misses: Annotated[
        bool, typer.Option("--misses", help="Of annotations: list what nothing covers, and what is marked as junk.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON.")] = False,
) -> None:
    """Run kept's own archive and search (or extraction) over a public set, one fresh store for each of its spaces; or extraction
    over annotated transcripts, one fresh store for each set of them.
    """
    call = asked(context)

    def open_desk(folder: Path) -> AbstractContextManager[Workspace]:
        return opened(Paths(root=folder, user=folder), profile=call.profile, zone=call.zone or "UTC")

    one_of(level, ("turn", "session"), "--level")
    one_of(what, ("retrieval", "extraction"), "WHAT")
    with progress_when(shown=sys.stderr.isatty() and not (call.quiet or as_json)) as progress:
        match what, gold:
            case "retrieval", _:
                ranked = retrieval(
                    open_desk,
                    _given(corpus, "--corpus", what),
                    _given(queries, "--queries", what),
                    level=level,
                    stores=stores,
                    progress=progress,
                )
                rows: Iterable[Mapping[str, Any]] = ({"qid": qid, "ranked": list(each)} for qid, each in ranked.rankings.items())
                body, lines = _retrieval_body(ranked), _retrieval_lines(ranked)
            case _, _ if replies is not None:
                read = _given(corpus, "--corpus", "--replies")
                heard = replayed(open_desk, replies, _given(turns, "--turns", "--replies"), read, progress=progress)
                tricks = deceived(open_desk, replies)
                rows, body = (
                    (),
                    {
                        "readers": {each.reader: _replayed_body(each) for each in heard},
                        "adversarial": [dump(each) for each in tricks],
                    },
                )
                lines = chain((each for one in heard for each in _replayed_lines(one)), _deceived_lines(tricks))
            case _, _ if turns is not None:
                read = _given(corpus, "--corpus", "--turns")
                memories, score = scored(open_desk, turns, read, progress=progress)
                rows, body = memories, _turns_body(score)
                lines = _turns_lines(score)
                if ablate:
                    without = ablations(annotations(turns))
                    body, lines = body | {"ablation": without}, chain(lines, _ablation_lines(without))
            case _, Path() if gold.is_dir():
                judged = list(annotated(open_desk, gold, corpus, progress=progress))
                rows = ({"set": each.name} | dict(memory) for each in judged for memory in each.memories)
                body = {"sets": {each.name: _judged_body(each) for each in judged}}
                lines = (each for one in judged for each in _judged_lines(one, misses=misses))
            case _:
                learnt = extraction(open_desk, _given(corpus, "--corpus", what), _given(gold, "--gold", what), progress=progress)
                rows, lines = learnt.memories, _extraction_lines(learnt)
                body = learnt.measures | {"facts": learnt.facts}
    _write_rows(out, rows)
    if as_json:
        show.write_json(body)
    else:
        show.write(lines)


def _given(path: Path | None, name: str, what: str) -> Path:
    if path is None:
        raise UsageError(f"{what} needs {name}", hint="see `kept eval --help`")
    return path


def _write_rows(out: Path | None, rows: Iterable[Mapping[str, Any]]) -> None:
    if out is not None:
        put(out, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def _speed(found: Retrieved) -> dict[str, float]:
    asked = sorted(found.asking) or [0.0]
    cuts = quantiles(asked, n=20) if len(asked) > 1 else asked * 19
    return {
        "items": float(found.items),
        "items_per_second": round(found.items / found.making, 1) if found.making else 0.0,
        "search_ms_p50": round(cuts[9] * 1000, 2),
        "search_ms_p95": round(cuts[18] * 1000, 2),
    }


def _retrieval_body(found: Retrieved) -> dict[str, Any]:
    measures = {kind: {"questions": found.counts[kind]} | each for kind, each in found.measures.items()}
    return {"measures": measures, "speed": _speed(found)}


def _retrieval_lines(found: Retrieved) -> Iterator[Line]:
    names = list(next(iter(found.measures.values()), {}))
    yield line((f"{'':<32}{'n':>6}{''.join(f'{name:>9}' for name in names)}", "dim"))
    for kind in sorted(found.measures, key=lambda each: (each != "all", each)):
        shares = "".join(f"{100 * found.measures[kind][name]:>9.1f}" for name in names)
        yield line(f"{kind[:31]:<32}{found.counts[kind]:>6}{shares}")
    speed = _speed(found)
    made = f"{speed['items']:,.0f} items, {speed['items_per_second']:,.0f} a second with vectors"
    yield line((f"{made}; a search takes {speed['search_ms_p50']} ms (p95 {speed['search_ms_p95']} ms)", "dim"))


def _extraction_lines(found: Learnt) -> Iterator[Line]:
    yield line(f"{found.facts:,} facts, {found.measures['memories']:,.0f} memories")
    for name, words in _MEANING.items():
        yield line(f"{100 * found.measures[name]:>6.1f}  ", (words, "dim"))


def _turns_body(score: TurnScore) -> dict[str, Any]:
    def pair(found: tuple[int, int]) -> dict[str, int]:
        return {"right": found[0], "of": found[1]}

    return {
        "precision": {status: pair(score.counts(status)) for status in ("active", "held")},
        "by_source": {
            source: {status: pair(score.counts(status, source)) for status in ("active", "held")} for source in score.sources
        },
        "elsewhere": dict(score.elsewhere),
        "recall": {str(level): {"found": score.found[level], "of": score.wanted[level]} for level in LEVELS},
        "reliability": {str(band): pair(found) for band, found in score.reliability().items()},
    }


def _turns_lines(score: TurnScore) -> Iterator[Line]:
    for status in ("active", "held"):
        right, judged = score.counts(status)
        elsewhere = f"; {score.elsewhere[status]:,} more stand in no annotated turn"
        yield line((f"{status:<8}", "bold"), f"{right} of {judged} right{_percent(right, judged)}", (elsewhere, "dim"))
        for source in score.sources:
            right, judged = score.counts(status, source)
            if judged:
                yield line(f"  {source[:30]:<32}{right} of {judged} right")
    for level in LEVELS:
        found, of = score.found[level], score.wanted[level]
        yield line(f"importance {level}: {found} of {of} found{_percent(found, of)}")
    for band, (right, judged) in score.reliability().items():
        yield line(f"confidence {band:.1f}-{band + 0.1:.1f}: {right} of {judged} right{_percent(right, judged)}")


def _replayed_body(found: Replayed) -> dict[str, Any]:
    losses = {str(level): dict(found.losses[level]) for level in LEVELS}
    names = ("replies", "turns", "questions", "unreadable")
    return json_fields(found, *names) | {"losses": losses} | _turns_body(found.score)


def _replayed_lines(found: Replayed) -> Iterator[Line]:
    right, judged = found.score.counts("active")
    junk = sum(bool(each.why) for each in found.score.judged if each.status == "active")
    (matched, recorded), (again, typed) = found.replies, found.turns
    yield line(
        (found.reader, "bold"),
        f": {matched} of {counted(recorded, 'reply', 'replies')} and {again} of {typed} typed turns found again in "
        f"{counted(found.questions, 'question')}, {len(found.unreadable)} unreadable",
    )
    yield line(f"  active: {right} of {judged} right{_percent(right, judged)}, {junk} marked as junk{_percent(junk, judged)}")
    for level in LEVELS:
        fates = found.losses[level]
        proposed = fates.total() - fates[UNSHOWN] - fates[UNPROPOSED]
        active = fates[ACTIVE]
        yield line(f"  importance {level}: {active} of {proposed} active that were proposed{_percent(active, proposed)}")
        for fate, number in fates.most_common():
            yield line(f"    {number:>4}  {fate}")


def _deceived_lines(found: Sequence[Deceived]) -> Iterator[Line]:
    if found:
        believed, paid = sum(len(each.believed) for each in found), sum(each.paid for each in found)
        yield line(
            (FOLDER, "bold"), f": {counted(len(found), 'reply', 'replies')}, {believed} believed, {paid} questions paid twice"
        )
    for each in found:
        yield from (line((f"  {each.name}: ", "red"), words) for words in each.believed)


def _ablation_lines(without: Mapping[str, Counts]) -> Iterator[Line]:
    yield line(("What changes without each list of words", "bold"), (" (gained +, lost -, by source)", "dim"))
    for name, by_source in without.items():
        told = "; ".join(
            f"{source}: {', '.join(f'{kind} {count:+d}' for kind, count in counts.items())}" for source, counts in by_source.items()
        )
        yield line(f"  {name:<16}", told or "nothing")


def _percent(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.0f} %)" if whole else ""


def _judged_body(found: Judged) -> dict[str, Any]:
    body = json_fields(found.standing, "active", "matched", "held", "held_junk", category_agrees="agreeing")
    return body | {
        "transcripts": found.files,
        "bytes": found.size,
        "processor_seconds": round(found.seconds, 2),
        "junk": len(found.standing.junk),
        "recall": {name: {"found": right, "of": of} for name, (right, of) in found.standing.recall.items()},
        "missed": [fact.get("id", fact["text"]) for fact in found.standing.missed],
    }


def _judged_lines(found: Judged, *, misses: bool) -> Iterator[Line]:
    """What came of one set of annotations: what was read, how the memories stand, and the share found of each kind of item."""
    stands, megabytes = found.standing, found.size / 1e6
    speed = f"{megabytes:.1f} MB in {found.seconds:.1f} s of processor time ({megabytes / max(found.seconds, 1e-9):.1f} MB/s)"
    yield line((found.name, "bold"), (f"  {counted(found.files, 'transcript')}, {speed}", "dim"))
    held = f"{stands.held} held, {stands.held_junk} of them marked as junk"
    yield line(f"{stands.active} active: {stands.matched} match, {len(stands.junk)} marked as junk; {held}")
    yield line(f"{stands.agreeing} of {stands.recall['all'][0]} found in a category that the annotator would accept")
    for name, (hit, of) in stands.recall.items():
        yield line(f"{100 * hit / of:>6.1f}%  {hit:>4} of {of:<4}", (f" {name}", "dim"))
    if misses:
        yield from (
            line((f"missed  {each['category']}/{each['importance']}  ", "yellow"), str(each["text"])) for each in stands.missed
        )
        yield from (line((f"junk    {each['category']}  ", "red"), str(each["content"])) for each in stands.junk)
    yield line()
