"""``kept log``, ``undo``, ``redo``, ``diff``: what happened, and going back."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from kept.changes import settle
from kept.cli import show
from kept.cli.commands.edit import told_problems
from kept.cli.commands.status import run_body
from kept.cli.cost import cost_lines
from kept.cli.events import operation_name
from kept.cli.front import asked, at_desk
from kept.cli.lists import FORGOTTEN
from kept.cli.show import Line, counted, entry, line
from kept.core.codec import json_fields
from kept.core.memory import Memory, Status
from kept.core.operation import Operation, Pass
from kept.core.times import minute_text, to_text
from kept.llm.budget import usage_body
from kept.memories.browse import exported
from kept.memories.history import Entry, Later, Undone, difference, history, last_run
from kept.memories.history import redo as bring_back
from kept.memories.history import undo as take_back
from kept.pipeline.usage import costs
from kept.store.values import Run
from kept.workspace import Workspace

_CHANGES_SHOWN = 20
What = Annotated[list[str] | None, typer.Argument(metavar="PASS|RUN", help="A pass by its number, or a run as r3; see `kept log`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


def log(
    context: typer.Context,
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many runs.")] = 20,
    cost: Annotated[bool, typer.Option("--cost", help="What language models were asked in each run, and what it cost.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the runs that changed something, newest first, with their passes."""
    with at_desk(context) as workspace:
        found = history(workspace, limit)
        if cost:
            _show_costs(workspace, [each.run for each in found], as_json=as_json)
        elif as_json:
            show.write_json([_entry_body(each) for each in found])
        else:
            names = workspace.names()
            show.write(
                [each for one in found for each in _entry_lines(workspace, one, names)]
                or [line("Nothing happened yet.", (" → kept run", "dim"))]
            )


def _show_costs(workspace: Workspace, runs: Sequence[Run], *, as_json: bool) -> None:
    spent = costs(workspace)
    if as_json:
        ever = [{"purpose": each.purpose, "model": each.model} | usage_body(each.usage) for each in spent.ever]
        rows = [{"run": each.id, "started_at": to_text(each.started_at), "llm": each.report.get("llm", {})} for each in runs]
        show.write_json({"runs": rows, "ever": ever, "today": usage_body(spent.today), "total": usage_body(spent.total)})
    else:
        show.write(cost_lines([(each, minute_text(each.started_at, workspace.zone)) for each in runs], spent))


def _entry_lines(workspace: Workspace, one: Entry, names: Mapping[str, str]) -> Iterator[Line]:
    run = one.run
    all_off = all(off for _, off in one.passes)
    state = (("  undone", "yellow"),) if all_off else (("  cut short", "yellow"),) if run.ended_at is None else ()
    yield line((f"run {run.id}", "bold"), f"  {minute_text(run.started_at, workspace.zone)}  {run.command}", *state)
    quiet = [each for each, _ in one.passes if not _summarize_pass(each)]
    for each, off in one.passes:
        if told := _summarize_pass(each):
            subject = "" if each.undoes or each.redoes else each.subject
            for scope, name in names.items():
                subject = subject.replace(scope, name)
            mark = ("  undone", "yellow") if off and not all_off else ("", "")
            yield entry([(f"  pass {each.id:<5}", "dim"), (f"{each.stage:<8} ", "")], told, (f"  {subject}", "dim"), mark)
    if quiet:
        yield line((f"  and {counted(len(quiet), 'pass', 'passes')} that only noted proposals", "dim"))


def _summarize_pass(made: Pass) -> str:
    counts = Counter(type(each).__name__.lower() for each in made.operations)
    switched = [f"{word} {_passes(ids)}" for word, ids in (("took back", made.undoes), ("brought back", made.redoes)) if ids]
    return ", ".join(
        (*(f"{count} {kind}" for kind, count in sorted(counts.items())), *switched, *([made.note] if made.note else []))
    )


def _passes(ids: Sequence[int]) -> str:
    """``pass 3``, ``passes 1–17, 20``."""
    chains: list[list[int]] = []
    for each in sorted(ids):
        if chains and each == chains[-1][-1] + 1:
            chains[-1].append(each)
        else:
            chains.append([each])
    parts = [f"{chain[0]}–{chain[-1]}" if len(chain) > 1 else str(chain[0]) for chain in chains]
    return f"{'pass' if len(ids) == 1 else 'passes'} {', '.join(parts)}"


def _entry_body(one: Entry) -> dict[str, Any]:
    def pass_body(made: Pass, *, undone: bool) -> dict[str, Any]:
        body = json_fields(made, "stage", "subject", "actor", "recorded_at", "undoes", "redoes", "note", **{"pass": "id"})
        operations = [_operation_body(operation) for operation in made.operations]
        return body | {"undone": undone, "operations": operations}

    return run_body(one.run) | {"passes": [pass_body(made, undone=off) for made, off in one.passes]}


def _operation_body(operation: Operation) -> dict[str, Any]:
    return {"kind": operation_name(operation)} | json_fields(operation, "memory", "reason")


def undo(context: typer.Context, what: What = None, *, as_json: AsJson = False) -> int:
    """Take back the last run with all its passes, or a pass or run of your choice. `kept redo` brings it back."""
    return _switch(context, take_back, lambda workspace: " ".join(what or ()) or last_run(workspace), "Took back", as_json=as_json)


def redo(context: typer.Context, what: What = None, *, as_json: AsJson = False) -> int:
    """Bring back what the last undo took, or a pass or run of your choice."""
    return _switch(context, bring_back, lambda _: " ".join(what or ()), "Brought back", as_json=as_json)


def _switch(
    context: typer.Context, act: Callable[[Workspace, str], Undone], what: Callable[[Workspace], str], told: str, *, as_json: bool
) -> int:
    with at_desk(context) as workspace:
        chosen = what(workspace)  # before edits made by hand are taken over: what is meant is the run before them
        done, written = settle(workspace, lambda: act(workspace, chosen))
        if as_json:
            later = [_later_body(each) for each in done.later]
            show.write_json({"passes": list(done.passes), "changed": _changes_body(workspace, done.changed), "later": later})
        elif not asked(context).quiet:
            show.write([line((f"{told} {_done_in(workspace, done.passes)}", "green"), (f" ({_passes(done.passes)})", "dim"))])
            show.write(_changes(done.changed, _CHANGES_SHOWN))
            show.write(_later_lines(done.later))
        return told_problems(written)


def _done_in(workspace: Workspace, passes: Sequence[int]) -> str:
    """What passes did, in words: ``1 retire, 2 add``; what they are called where they did nothing to a memory."""
    made = tuple(workspace.store.log.passes(passes))
    kinds = Counter(type(operation).__name__.lower() for each in made for operation in each.operations)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or ", ".join(sorted({each.stage for each in made}))


def _later_lines(later: Sequence[Later]) -> Iterator[Line]:
    """What was done later to the same memories: what has nothing to act on any more, and what still holds."""
    for idle, told in ((True, "has nothing to act on any more"), (False, "still holds, on what is there now")):
        found = [each for each in later if each.idle is idle]
        if found:
            yield line((f"What was done later and {told}:", "yellow" if idle else "dim"))
        for each in found[:_CHANGES_SHOWN]:
            kind = type(each.operation).__name__.lower()
            yield entry(
                [(f"  pass {each.made.id:<5}", "dim"), (f"{kind:<10} ", "")],
                each.operation.memory,
                (f"  {each.operation.reason}", "dim"),
            )
        if len(found) > _CHANGES_SHOWN:
            yield line((f"  … and {len(found) - _CHANGES_SHOWN:,} more → --json", "dim"))


def _later_body(each: Later) -> dict[str, Any]:
    return _operation_body(each.operation) | json_fields(each, "idle", **{"pass": "made.id"})


def diff(
    context: typer.Context,
    earlier: Annotated[str, typer.Argument(metavar="DATE", help="The earlier date; its end counts.")],
    later: Annotated[str, typer.Argument(metavar="DATE", help="The later date; its end counts.")],
    *,
    recorded: Annotated[bool, typer.Option("--recorded", help="Compare what kept believed then, not what was true then.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what changed between two dates."""
    with at_desk(context) as workspace:
        found = difference(workspace, *sorted((workspace.moment(earlier), workspace.moment(later))), recorded=recorded)
        if as_json:
            show.write_json({"changed": _changes_body(workspace, found.changed)})
        else:
            show.write(_changes(found.changed))


def _changes(changed: Mapping[str, tuple[Memory | None, Memory | None]], most: int | None = None) -> Iterator[Line]:
    """What became of each memory: + there now, - gone, ~ other words; those that only gained evidence are counted."""
    told = [each for number, pair in changed.items() for each in _change(number, *pair)]
    yield from told[:most]
    if most is not None and len(told) > most:
        yield line((f"  … and {len(told) - most:,} more → kept list", "dim"))
    if rest := sum(not any(_change(number, *pair)) for number, pair in changed.items()):
        yield line((f"  {counted(rest, 'memory', 'memories')} with other evidence or dates only", "dim"))
    if not changed:
        yield line("No memory changed.")


def _change(number: str, before: Memory | None, after: Memory | None) -> Iterator[Line]:
    had, has = _status(before), _status(after)
    words = (after or before).content if after or before else ""  # type: ignore[union-attr]  # one of them is there
    if had != has:
        mark, style = ("+", "green") if has is Status.ACTIVE else ("-", "red") if had is Status.ACTIVE else ("~", "yellow")
        was = f"  ({had.value if had else 'not there'} → {has.value if has else 'not there'})"
        yield entry([(f"  {mark} ", style), (number, "yellow"), ("  ", "")], words or FORGOTTEN, (was, "dim"))
    elif before is not None and after is not None and (before.content, before.category) != (after.content, after.category):
        yield entry(
            [("  ~ ", "yellow"), (number, "yellow"), ("  ", "")], after.content or FORGOTTEN, (f"  (was: {before.content})", "dim")
        )


def _status(memory: Memory | None) -> Status | None:
    return memory.status if memory is not None else None


def _changes_body(workspace: Workspace, changed: Mapping[str, tuple[Memory | None, Memory | None]]) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "before": exported(workspace, before) if before else None,
            "after": exported(workspace, after) if after else None,
        }
        for number, (before, after) in changed.items()
    ]
