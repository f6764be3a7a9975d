"""``kept log``, ``undo``, ``redo``, ``diff``: show what happened, and revert it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from kept.changes import apply_person_change
from kept.cli.command_support import command_workspace
from kept.cli.commands.edit import print_problems
from kept.cli.commands.status import run_body
from kept.cli.console import Line, format_count, hanging_line, line, more_lines, page_lines, write_json, write_line, write_lines
from kept.cli.lists import FORGOTTEN, operation_name, step_line
from kept.cli.model_use import cost_lines, format_cost
from kept.cli.registry import GlobalOptions
from kept.core.codec import json_fields
from kept.core.errors import UsageError
from kept.core.memory import Actor
from kept.core.operation import Operation, Pass, find_undone_passes, operation_kind
from kept.core.times import format_instant, format_minute
from kept.llm.budget import usage_body
from kept.local.queue import NIGHT
from kept.memories.browse import address_person, find_scopes, to_export
from kept.memories.differences import Changes, DifferenceKind, list_differences
from kept.memories.history import (
    PERSON,
    HistoryEntry,
    LaterOperation,
    UndoResult,
    describe_command,
    describe_counts,
    diff_moments,
    find_run,
    is_lasting_change,
    is_nightly_job,
    last_undoable_run,
    refuse_late_undo,
    run_changes,
    run_history,
    undo_model,
)
from kept.memories.history import redo as redo_passes
from kept.memories.history import undo as undo_passes
from kept.memories.waiting import describe_set_aside
from kept.pipeline.usage import load_costs
from kept.store.values import Run
from kept.workspace import Workspace

_CHANGES_SHOWN, _CHANGES_OF_A_RUN = 20, 5
_NIGHT_SHOWN = ("read", "extract", "curate", "sleep", "backup")  # steps of a nightly job that a list shows


def log(
    call: GlobalOptions, which: str = "", *, limit: int = 20, project: str = "", cost: bool = False, as_json: bool = False
) -> None:
    """List what each run and each of your changes did, newest first.

    It shows which memories were added, changed or removed, and which proposals were held or refused.
    """
    with command_workspace(call) as workspace:
        scopes = find_scopes(workspace, project)
        if which:
            history_entries: Iterable[HistoryEntry] = (find_run(workspace, which),)
        else:
            history_entries = run_history(
                workspace,
                None if scopes else limit,
                also=lambda run: not scopes and (is_nightly_job(run) or is_lasting_change(run)),
            )
        if scopes:
            history_entries = islice((entry for entry in history_entries if _entry_changes(workspace, entry, scopes)), limit)
        if cost:
            _show_costs(workspace, [entry.run for entry in history_entries], as_json=as_json)
        elif as_json:
            write_json([_entry_body(workspace, entry, scopes) for entry in history_entries])
        else:
            most = None if which else _CHANGES_OF_A_RUN
            page_lines(
                [shown_line for entry in history_entries for shown_line in _entry_lines(workspace, entry, most, scopes)]
                or [line("Nothing happened yet.", " → kept run")]
            )


def _show_costs(workspace: Workspace, runs: Sequence[Run], *, as_json: bool) -> None:
    spent = load_costs(workspace)
    if as_json:
        ever = [{"purpose": usage_sum.purpose, "model": usage_sum.model} | usage_body(usage_sum.usage) for usage_sum in spent.ever]
        rows = [{"run": run.id, "started_at": format_instant(run.started_at), "llm": run.report.get("llm", {})} for run in runs]
        write_json({"runs": rows, "ever": ever, "today": usage_body(spent.today), "total": usage_body(spent.total)})
    else:
        write_lines(cost_lines([(run, format_minute(run.started_at, workspace.zone)) for run in runs], spent))


def _entry_changes(workspace: Workspace, entry: HistoryEntry, scopes: frozenset[str]) -> Changes:
    return _changes_in(run_changes(workspace, [pass_ for pass_, _ in entry.passes]), scopes)


def _changes_in(changes: Changes, scopes: frozenset[str]) -> Changes:
    """The changes of memories whose scope is in ``scopes``. All changes if ``scopes`` is empty."""
    named = {number: sides for number, sides in changes.items() if any(memory and memory.scope in scopes for memory in sides)}
    return named if scopes else changes


def _entry_lines(workspace: Workspace, entry: HistoryEntry, most: int | None, scopes: frozenset[str]) -> Iterator[Line]:
    run = entry.run
    all_off = bool(entry.passes) and all(off for _, off in entry.passes)
    state = (("  undone", "yellow"),) if all_off else (("  cut short", "yellow"),) if run.ended_at is None else ()
    state = (("  not taken back by undo", "dim"),) if is_lasting_change(run) else state
    who = describe_command(NIGHT if entry.night else run.command)
    did = f"{who}: {run.command}" if who == PERSON or (entry.night and not entry.account) else who
    yield line((f"r{run.id}", "bold"), f"  {format_minute(run.started_at, workspace.zone)}  {did}", *state)
    if entry.account:
        yield from _account_lines(entry, most)
    if not entry.passes:
        return
    yield from changes_lines(_entry_changes(workspace, entry, scopes), most, f"kept log r{run.id}")
    partly = [pass_.id for pass_, off in entry.passes if off and not all_off]
    if partly:
        yield line((f"  {_format_pass_ids(partly)} undone", "yellow"))
    if text := _describe_report(run):
        yield line((f"  {text}", "dim"))
    if most is None:
        yield line((f"  {_format_pass_ids([pass_.id for pass_, _ in entry.passes])} → kept undo r{run.id}", "dim"))


def _account_lines(entry: HistoryEntry, most: int | None) -> Iterator[Line]:
    """The result of each step of a nightly job. In a list (``most`` is set), only failed steps and those of ``_NIGHT_SHOWN``."""
    steps = [step for step in entry.account if most is None or not step["done"] or step["name"] in _NIGHT_SHOWN]
    yield from (step_line(step["name"], step["detail"], done=step["done"]) for step in steps)
    if len(steps) < len(entry.account):
        yield line((f"  … and {len(entry.account) - len(steps)} steps that were done → kept log r{entry.run.id}", "dim"))


def _describe_report(run: Run) -> str:
    """The numbers of refusals and model requests of a run, in words; empty if there are none."""
    asked = run.report.get("llm") or {}
    parts = list(filter(None, [describe_set_aside(run.report.get("refused") or {})]))
    if asked.get("questions"):
        parts.append(f"{format_count(asked['questions'], 'question')} to a model, {format_cost(asked.get('cost'))}")
    return "; ".join(parts)


def _format_pass_ids(ids: Sequence[int]) -> str:
    """``pass 3``, ``passes 1–17, 20``."""
    chains: list[list[int]] = []
    for item in sorted(ids):
        if chains and item == chains[-1][-1] + 1:
            chains[-1].append(item)
        else:
            chains.append([item])
    parts = [f"{chain[0]}–{chain[-1]}" if len(chain) > 1 else str(chain[0]) for chain in chains]
    return f"{'pass' if len(ids) == 1 else 'passes'} {', '.join(parts)}"


def _entry_body(workspace: Workspace, entry: HistoryEntry, scopes: frozenset[str]) -> dict[str, Any]:
    def pass_body(made: Pass, *, undone: bool) -> dict[str, Any]:
        body = json_fields(made, "stage", "subject", "actor", "recorded_at", "undoes", "redoes", "note", **{"pass": "id"})
        operations = [_operation_body(operation) for operation in made.operations]
        return body | {"undone": undone, "operations": operations}

    changed = list_differences(_entry_changes(workspace, entry, scopes))
    return run_body(entry.run) | {
        "passes": [pass_body(made, undone=off) for made, off in entry.passes],
        "changes": [json_fields(difference, "what", "id", "text", "why") for difference in changed],
    }


def _operation_body(operation: Operation) -> dict[str, Any]:
    return {"kind": operation_name(operation)} | json_fields(operation, "memory", "reason")


def undo(call: GlobalOptions, what: list[str] | None = None, *, model: str = "", as_json: bool = False) -> int:
    """Take back the last run or change, or the run or pass that you name.

    A pass is one step of a run. `kept redo` brings it back.
    """
    if model and what:
        raise UsageError("--model does not go together with a pass or run", hint=f"kept undo --model {model}")
    if model:
        return _apply_undo_redo(call, undo_model, lambda _: model, "Undone:", as_json=as_json)

    def choose(workspace: Workspace) -> str:
        if not what:
            refuse_late_undo(workspace)
        return " ".join(what or ()) or last_undoable_run(workspace)

    return _apply_undo_redo(call, undo_passes, choose, "Undone:", as_json=as_json)


def redo(call: GlobalOptions, what: list[str] | None = None, *, as_json: bool = False) -> int:
    """Bring back what the last undo took back, or the run or pass that you name."""

    def choose(workspace: Workspace) -> str:
        if not what:
            _refuse_late_redo(workspace)
        return " ".join(what or ())

    return _apply_undo_redo(call, redo_passes, choose, "Redone:", as_json=as_json)


def _refuse_late_redo(workspace: Workspace) -> None:
    """Raise UsageError if the person changed anything since the last undo."""
    heads = tuple(workspace.store.log.pass_heads())
    off = find_undone_passes(heads)
    last = next((made for made in reversed(heads) if made.stage == "undo" and not off.isdisjoint(made.undoes)), None)
    since = (made for made in heads if last and made.id > last.id and made.id not in off and made.stage not in ("undo", "redo"))
    if last and any(made.actor is Actor.PERSON for made in since):
        chosen = sorted(off.intersection(last.undoes))
        run = next(made.run for made in heads if made.id in chosen)
        text = f"you made other changes after you undid r{run} ({_describe_passes(workspace, chosen)})"
        raise UsageError(text, hint=f"kept redo r{run}")


def _apply_undo_redo(
    call: GlobalOptions, act: Callable[[Workspace, str], UndoResult], what: Callable[[Workspace], str], title: str, *, as_json: bool
) -> int:
    with command_workspace(call) as workspace:
        chosen = what(workspace)  # choose before merging hand edits, so that "last" is not the run that merges them
        done, written = apply_person_change(workspace, lambda: act(workspace, chosen))
        if as_json:
            later = [_later_body(operation) for operation in done.later]
            write_json({"passes": list(done.passes), "changed": _changes_body(workspace, done.changed), "later": later})
        elif not call.quiet:
            write_line(
                (f"{title} {_describe_passes(workspace, done.passes)}", "green"), (f" ({_format_pass_ids(done.passes)})", "dim")
            )
            write_lines(changes_lines(done.changed, _CHANGES_SHOWN))
            write_lines(_later_lines(done.later))
        return print_problems(written)


def _describe_passes(workspace: Workspace, passes: Sequence[int]) -> str:
    """The effect of passes in words, for example ``1 retired, 2 added``; the names of their stages if they changed no memory."""
    made = tuple(workspace.store.log.passes(passes))
    kinds = Counter(operation_kind(operation) for pass_ in made for operation in pass_.operations)
    return describe_counts(kinds) or ", ".join(sorted({pass_.stage for pass_ in made}))


def _later_lines(later: Sequence[LaterOperation]) -> Iterator[Line]:
    """The later operations on the same memories: first those without effect now, then those that still apply."""
    for idle, effect in ((True, "no longer have any effect"), (False, "still apply")):
        later_operations = [operation for operation in later if operation.idle is idle]
        if later_operations:
            yield line((f"Later changes that {effect}:", "yellow" if idle else "dim"))
        for item in later_operations[:_CHANGES_SHOWN]:
            kind = type(item.operation).__name__.lower()
            yield hanging_line(
                [(f"  pass {item.made.id:<5}", "dim"), (f"{kind:<10} ", "")],
                item.operation.memory,
                (f"  {item.operation.reason}", "dim"),
            )
        yield from more_lines(len(later_operations), _CHANGES_SHOWN, "--json")


def _later_body(later: LaterOperation) -> dict[str, Any]:
    return _operation_body(later.operation) | json_fields(later, "idle", **{"pass": "made.id"})


def diff(
    call: GlobalOptions, earlier: str, later: str, *, recorded: bool = False, project: str = "", as_json: bool = False
) -> None:
    """Show what changed between two dates."""
    with command_workspace(call) as workspace:
        moments = sorted((workspace.parse_moment(earlier), workspace.parse_moment(later)))
        changed = _changes_in(diff_moments(workspace, *moments, recorded=recorded), find_scopes(workspace, project))
        if as_json:
            write_json({"changed": _changes_body(workspace, changed)})
        else:
            page_lines(changes_lines(changed))


def changes_lines(changed: Changes, most: int | None = None, rest: str = "kept list") -> Iterator[Line]:
    """The change of each memory: + added, ~ changed, - removed, ? held. Memories that only gained evidence are counted."""
    every = list_differences(changed)
    memory_differences = [difference for difference in every if difference.what is not DifferenceKind.CONFIRMED]
    for item in memory_differences[:most]:
        shown = item.what.shown
        mark, style = ("○", "yellow") if item.word == "was so" else (shown["sign"], shown["colour"])
        body = [(_MARKED[kind].format(text), _STYLES[kind]) for kind, text in item.words] or [(item.text or FORGOTTEN, "")]
        why = address_person(item.why) or ("" if item.what in (DifferenceKind.ENTERED, DifferenceKind.CHANGED) else item.what.value)
        why = why if item.words or item.text else ""
        yield hanging_line([(f"  {mark} ", style), (item.id, "yellow"), ("  ", "")], *body, (f"  ({why})" if why else "", "dim"))
    yield from more_lines(len(memory_differences), len(memory_differences) if most is None else most, rest)
    if again := len(every) - len(memory_differences):
        yield line((f"  {format_count(again, 'memory')} with the same words; only evidence, dates or requests changed", "dim"))
    if not changed:
        yield line("No memory changed.")


_MARKED = {"same": "{}", "del": "[-{}-]", "ins": "{{+{}+}}"}
_STYLES = {"same": "", "del": "red", "ins": "green"}


def _changes_body(workspace: Workspace, changed: Changes) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "before": to_export(workspace, before) if before else None,
            "after": to_export(workspace, after) if after else None,
        }
        for number, (before, after) in changed.items()
    ]
