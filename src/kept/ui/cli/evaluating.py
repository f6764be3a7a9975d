"""``kept eval``: scores on benchmarks, of retrieval and of extraction."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import quantiles
from typing import Annotated, Any

import typer

from kept.app.desk import Desk, Home, opened
from kept.app.evaluating import Learnt, Retrieved, extraction, retrieval
from kept.app.progress import Progress, silent
from kept.app.safety import put
from kept.model.errors import UsageError
from kept.ui.cli import show
from kept.ui.cli.front import asked, one_of
from kept.ui.cli.show import Line, line

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
    corpus: Annotated[Path, typer.Option(metavar="FILE", help="The corpus: {ns, id, session, role, date, text} a line.")],
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="Questions: {qid, ns, query, gold} a line.")] = None,
    gold: Annotated[Path | None, typer.Option(metavar="FILE", help="Facts: {ns, text, sources} a line.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the rankings, or the memories, as JSON lines.")] = None,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="Rank turns or sessions.")] = "turn",
    stores: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the stores of a retrieval here, and ask those that are here again.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON.")] = False,
) -> None:
    """Run kept's own archive and search (or extraction) over a public set, one fresh store for each of its spaces."""
    call = asked(context)

    def open_desk(folder: Path) -> AbstractContextManager[Desk]:
        return opened(Home(root=folder, user=folder), profile=call.profile, zone=call.zone or "UTC")

    one_of(level, ("turn", "session"), "--level")
    with _progress(shown=sys.stderr.isatty() and not (call.quiet or as_json)) as progress:
        match what:
            case "retrieval" if queries is not None:
                ranked = retrieval(open_desk, corpus, queries, level=level, stores=stores, progress=progress)
            case "extraction" if gold is not None:
                learnt = extraction(open_desk, corpus, gold, progress=progress)
            case "retrieval" | "extraction":
                raise UsageError(
                    f"{what} needs {'--queries' if what == 'retrieval' else '--gold'} FILE", hint="see `kept eval --help`"
                )
            case _:
                raise UsageError(f"there is nothing to evaluate called {what!r}", hint="retrieval or extraction")
    if what == "retrieval":
        _written(out, ({"qid": qid, "ranked": list(each)} for qid, each in ranked.rankings.items()))
        body, lines = _retrieval_body(ranked), _retrieval_lines(ranked)
    else:
        _written(out, learnt.memories)
        body, lines = learnt.measures | {"facts": learnt.facts}, _extraction_lines(learnt)
    if as_json:
        show.write_json(body)
    else:
        show.write(lines)


def _progress(*, shown: bool) -> AbstractContextManager[Progress]:
    if not shown:
        return nullcontext(silent)
    from kept.ui.cli import bar  # noqa: PLC0415 - only a terminal needs it

    return bar.shown()


def _written(out: Path | None, rows: Iterable[Mapping[str, Any]]) -> None:
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
