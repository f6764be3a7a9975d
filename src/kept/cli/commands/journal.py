"""``kept journal``: write entries about days from their sessions and from earlier memory."""

import sys
from collections.abc import Iterator, Sequence
from datetime import date
from time import monotonic
from typing import Annotated, Any

import typer

from kept.cli import show
from kept.cli.front import call_options, command_workspace
from kept.cli.show import Line, format_count, line
from kept.core.codec import json_fields, to_json
from kept.core.errors import UsageError
from kept.days.day_notes import week_bounds
from kept.journal.entry import EntryHead
from kept.journal.feed_reading import collect_feeds
from kept.journal.templates import list_templates
from kept.pipeline import write_journal as use
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import BackfillPlan, EntryOptions, EntryOutcome, EntryState
from kept.workspace import Workspace

_ACTIONS = ("write", "backfill", "stats", "templates")
_BAR = 20


def journal(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="write|backfill|stats|templates", help="What to do.")] = "write",
    *,
    day: Annotated[str, typer.Option("--date", metavar="DATE", help="The day: YYYY-MM-DD, today or yesterday.")] = "today",
    first: Annotated[str, typer.Option("--from", metavar="DATE", help="The first day.")] = "",
    last: Annotated[str, typer.Option("--to", metavar="DATE", help="The last day.")] = "",
    template: Annotated[
        str, typer.Option("--template", metavar="NAME", help="The form of entry; see `kept journal templates`.")
    ] = "",
    no_llm: Annotated[bool, typer.Option("--no-llm", help="Use no language model.")] = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what a backfill would do and cost; write nothing.")] = False,
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency",
            min=1,
            max=16,
            metavar="N",
            help="Ask a model about up to N days at a time, if none depends on another: days of different projects, "
            "or a template "
            "whose entries are not remembered. The entries come out the same.",
        ),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> int:
    """Write the journal entry of a day, or of every day of a period in order; show what entries are made of.

    An entry uses only memories from before its day. An entry that you edited is never overwritten.
    """
    if action not in _ACTIONS or (action == "backfill" and not (first and last)):
        raise UsageError(
            "wrong arguments for `kept journal`", hint="kept journal write | backfill --from DATE --to DATE | stats | templates"
        )
    with command_workspace(context, also=("journal",)) as workspace:
        match action:
            case "stats":
                return _print_stats(workspace, as_json=as_json)
            case "templates":
                names = list_templates(workspace.paths.config)
                if as_json:
                    show.write_json(list(names))
                else:
                    show.write_lines(line(name) for name in names)
                return 0
            case _:
                work = use.make_entry_options(workspace, template, model=not no_llm)
                if not estimate:
                    _read_new_inputs(workspace, model=work.model)
                if action == "backfill":
                    plan = use.plan_backfill(workspace, work, workspace.day(first), workspace.day(last, last=True))
                    return _run_backfill(context, workspace, work, plan, concurrency, estimate=estimate, as_json=as_json)
                spans = _parse_day_span(workspace, work, day, first, last)
                done = use.write_journal_entry(workspace, work, *spans)
                return _print_outcomes([done], as_json=as_json)


def _parse_day_span(workspace: Workspace, work: EntryOptions, day: str, first: str, last: str) -> tuple[date, date]:
    if first or last:
        chosen = workspace.day(first or last), workspace.day(last or first, last=True)
        if chosen[0] > chosen[1]:
            raise UsageError(f"{chosen[0]} is after {chosen[1]}", hint="give the earlier day with --from")
        return chosen
    which = workspace.day(day)
    return week_bounds(which) if work.template.span == "week" else (which, which)


def _read_new_inputs(workspace: Workspace, *, model: bool) -> None:
    """Read what is new on this machine and what external sources brought, and tell what could not be."""
    report = run_pipeline(workspace, [], RunOptions(model=model))
    problems = [*report.written.problems, *collect_feeds(workspace)]
    show.write_lines((line((problem, "yellow")) for problem in problems), sys.stderr)


def _run_backfill(
    context: typer.Context,
    workspace: Workspace,
    work: EntryOptions,
    found: BackfillPlan,
    concurrency: int,
    *,
    estimate: bool,
    as_json: bool,
) -> int:
    quiet = call_options(context).quiet or as_json
    if not as_json and (estimate or not quiet):
        show.write_line(_format_plan(found), stream=sys.stdout if estimate else sys.stderr)
    if estimate:
        if as_json:
            show.write_json(_plan_body(found))
        return 0
    started, done = monotonic(), 0

    def tell(each: EntryOutcome) -> None:
        nonlocal done
        done += 1
        left = (monotonic() - started) / done * (len(found.days) - done)
        if not quiet:
            rest = f"{done} of {len(found.days)}" + (f", about {left:.0f} s left" if left >= 1 else "")
            money = found.estimate.usage.cost if found.estimate else None
            rest += f", about {money * (len(found.days) - done) / len(found.days):.2f} USD left" if money else ""
            show.write_line((f"{each.first}  {each.state.value}", ""), (f"  {rest}", "dim"), stream=sys.stderr)

    return _print_outcomes(
        use.backfill_entries(workspace, work, found.days, tell, concurrency=concurrency), as_json=as_json, days=len(found.days)
    )


def _format_plan(found: BackfillPlan) -> str:
    told = format_count(len(found.days), "entry", "entries")
    if found.estimate is None:
        return f"{told}, without a language model: nothing is asked."
    would = found.estimate.usage
    cost = "a cost that is not known" if would.cost is None else f"about {would.cost:.2f} USD"
    return (
        f"{told}, {found.estimate.questions} questions, {found.estimate.cached} answered before: about {would.input_tokens:,} "
        f"tokens, {cost};"
        " extracting memories from the entries comes on top."
    )


def _plan_body(found: BackfillPlan) -> dict[str, Any]:
    would = found.estimate
    return {
        "days": to_json(found.days),
        "questions": would.questions if would else 0,
        "tokens": would.usage.input_tokens if would else 0,
        "usd": would.usage.cost if would else 0.0,
    }


def _print_outcomes(found: Sequence[EntryOutcome], *, as_json: bool, days: int = 1) -> int:
    if as_json:
        show.write_json({"days": days, "entries": [_outcome_body(outcome) for outcome in found]})
    else:
        show.write_lines(_format_outcomes(found))
        left = days - len(found)
        if left > 0:
            show.write_line((f"{format_count(left, 'day')} not done", "red"), (" → run the same command to continue", "dim"))
    if found and all(outcome.state in (EntryState.FAILED, EntryState.FOREIGN) for outcome in found):
        return 2
    return int(any(outcome.incomplete for outcome in found))


def _format_outcomes(found: Sequence[EntryOutcome]) -> Iterator[Line]:
    for outcome in found:
        days = outcome.first.isoformat() if outcome.first == outcome.last else f"{outcome.first} to {outcome.last}"
        style = {EntryState.WRITTEN: "green", EntryState.FAILED: "red", EntryState.FOREIGN: "red"}.get(outcome.state, "dim")
        reason = f": {outcome.reason}" if outcome.reason else ""
        yield line((f"{days}  ", "cyan"), (f"{outcome.state.value}{reason}", style))
        if outcome.state is EntryState.NOTHING:
            continue
        yield line((f"    {show.format_path(outcome.path)}", "dim"))
        if outcome.head is not None and outcome.state is EntryState.WRITTEN:
            yield line((f"    {_format_head(outcome.head)}", "dim"))
        if outcome.anew:
            yield line(("    asked ahead for nothing: an earlier entry changed the question", "dim"))
        if outcome.refused:
            yield line((f"    {format_count(outcome.refused, 'paragraph')} left out: not supported by what they cite", "yellow"))
        if outcome.memories:
            yield line((f"    {format_count(outcome.memories, 'new memory', 'new memories')} → kept list --profile journal", "dim"))
        yield from (line((f"    {problem}", "red")) for problem in outcome.problems)


def _format_head(head: EntryHead) -> str:
    shares = ", ".join(f"{name} {share:.0%}" for name, share in head.shares.items())
    drawn = format_count(len(head.memories), "memory", "memories")
    return f"by {head.writer}, of {shares}; draws on {drawn}; {head.self_reference:.0%} about memory itself"


def _outcome_body(each: EntryOutcome) -> dict[str, Any]:
    other = {"from": "first", "to": "last", "refused_paragraphs": "refused", "asked_anew": "anew", "new_memories": "memories"}
    state, head = each.state.name.lower(), _head_body(each.head) if each.head else None
    return json_fields(each, "path", "reason", "problems", **other) | {"state": state, "entry": head}


def _head_body(head: EntryHead) -> dict[str, Any]:
    names = ("template", "writer", "sessions", "shares", "memories", "self_reference")
    return json_fields(head, *names, date="first") | {"tokens_in": head.tokens[0], "tokens_out": head.tokens[1]}


def _print_stats(workspace: Workspace, *, as_json: bool) -> int:
    entry_heads = use.load_entry_heads(workspace)
    target = workspace.settings.journal.self_reference
    if as_json:
        show.write_json({"target_self_reference": target, "entries": [_head_body(head) for head in entry_heads]})
        return 0
    if not entry_heads:
        show.write_line("There are no entries yet.", (" → kept journal write", "dim"))
        return 0
    mean = sum(head.self_reference for head in entry_heads) / len(entry_heads)
    show.write_line(
        (f"{format_count(len(entry_heads), 'entry', 'entries')}, {mean:.1%} of their sentences about memory itself", "bold")
    )
    for item in entry_heads:
        filled = round(item.self_reference * _BAR)
        shares = ", ".join(f"{name} {share:.0%}" for name, share in item.shares.items())
        style = "yellow" if item.self_reference > target else "green"
        show.write_line(
            (f"{item.first}  ", "cyan"),
            ("█" * filled + "·" * (_BAR - filled), style),
            (f"  {item.self_reference:>4.0%}  {shares}; {format_count(len(item.memories), 'memory', 'memories')}", "dim"),
        )
    return 0
