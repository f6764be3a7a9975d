"""``kept journal``: write entries about days from their sessions and from earlier memories. ``kept day``: show a day."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from time import monotonic
from typing import Any

from kept.cli.command_support import command_workspace, parse_days
from kept.cli.commands.show import route_lines
from kept.cli.console import Line, format_count, format_path, hanging_line, line, write_json, write_line, write_lines
from kept.cli.lists import grouped_lines, memory_line, scope_name
from kept.cli.registry import GlobalOptions
from kept.cli.report import missed_lines
from kept.core.codec import dump, json_fields, to_json
from kept.core.errors import UsageError
from kept.core.memory import Status
from kept.core.summary import SummaryPart
from kept.days.day_notes import format_authors, week_bounds
from kept.days.summaries import part_of_category
from kept.journal.calendar import CalendarMonth, load_month
from kept.journal.entry import EXTRACTIVE, EntryHead, list_templates
from kept.journal.feed_reading import collect_feeds
from kept.memories.browse import find_scopes, to_export
from kept.memories.day_view import DayView, find_wordings_at, list_active_days, load_day_view
from kept.memories.history import record_lasting_change
from kept.outputs.compose.pages import OutputRoute
from kept.outputs.routing import ExtractedMemories, extracted_between, routes_by_memory
from kept.pipeline import write_journal
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import BackfillPlan, EntryOptions, EntryOutcome, EntryState
from kept.profiles.profile import category_title
from kept.workspace import Workspace

_ACTIONS = ("write", "backfill", "stats", "templates")
_BAR = 20
_WEEK = 7


def journal(
    call: GlobalOptions,
    action: str = "write",
    *,
    day: str = "today",
    first: str = "",
    last: str = "",
    template: str = "",
    no_llm: bool = False,
    estimate: bool = False,
    concurrency: int = 1,
    as_json: bool = False,
) -> int:
    """Write the journal entry of a day, or of every day of a period in order; show statistics of entries.

    An entry uses only memories from before its day. An entry that you edited is never overwritten.
    """
    if action not in _ACTIONS or (action == "backfill" and not (first and last)):
        raise UsageError(
            "wrong arguments for `kept journal`", hint="kept journal write | backfill --from DATE --to DATE | stats | templates"
        )
    with command_workspace(call, also=("journal",)) as workspace:
        match action:
            case "stats":
                return _print_stats(workspace, as_json=as_json)
            case "templates":
                names = list_templates(workspace.paths.config)
                if as_json:
                    write_json(list(names))
                else:
                    own = format_path(workspace.paths.config / "templates")
                    write_lines([*map(line, names), line((f"Your own templates are in {own}", "dim"))])
                return 0
            case _:
                work = write_journal.make_entry_options(workspace, template, model=not no_llm)
                spans = _parse_day_span(workspace, work, day, first, last)
                if not estimate:
                    _read_new_inputs(workspace, model=work.model)
                if action == "backfill":
                    plan = write_journal.plan_backfill(workspace, work, *spans)
                    return _run_backfill(call, workspace, work, plan, concurrency, estimate=estimate, as_json=as_json)
                done = write_journal.write_journal_entry(workspace, work, *spans)
                return _print_outcomes(workspace, [done], as_json=as_json)


def _parse_day_span(workspace: Workspace, work: EntryOptions, day: str, first: str, last: str) -> tuple[date, date]:
    start, end = parse_days(workspace, first or last, last or first, "--from")
    if start and end:
        return start, end
    which = workspace.day(day)
    return week_bounds(which) if work.template.span == "week" else (which, which)


def _read_new_inputs(workspace: Workspace, *, model: bool) -> None:
    """Read new transcripts and external sources, and print what could not be read."""
    report = run_pipeline(workspace, [], RunOptions(model=model))
    problems = [*report.written.problems, *collect_feeds(workspace)]
    write_lines((line((problem, "yellow")) for problem in problems), sys.stderr)


def _run_backfill(
    call: GlobalOptions,
    workspace: Workspace,
    work: EntryOptions,
    plan: BackfillPlan,
    concurrency: int,
    *,
    estimate: bool,
    as_json: bool,
) -> int:
    quiet = call.quiet or as_json
    if not as_json and (estimate or not quiet):
        write_line(_format_plan(plan), stream=sys.stdout if estimate else sys.stderr)
    if estimate:
        if as_json:
            write_json(_plan_body(plan))
        return 0
    started, done = monotonic(), 0

    def tell(outcome: EntryOutcome) -> None:
        nonlocal done
        done += 1
        left = (monotonic() - started) / done * (len(plan.days) - done)
        if not quiet:
            rest = f"{done} of {len(plan.days)}" + (f", about {left:.0f} s left" if left >= 1 else "")
            money = plan.estimate.usage.cost if plan.estimate else None
            rest += f", about {money * (len(plan.days) - done) / len(plan.days):.2f} USD left" if money else ""
            write_line((f"{outcome.first}  {outcome.state.value}", ""), (f"  {rest}", "dim"), stream=sys.stderr)

    outcomes = write_journal.backfill_entries(workspace, work, plan.days, tell, concurrency=concurrency)
    return _print_outcomes(workspace, outcomes, as_json=as_json, days=len(plan.days))


def _format_plan(plan: BackfillPlan) -> str:
    entries = format_count(len(plan.days), "entry")
    if plan.estimate is None:
        return f"{entries}, without a language model: nothing is asked."
    would = plan.estimate.usage
    cost = "at an unknown cost" if would.cost is None else f"about {would.cost:.2f} USD"
    return (
        f"{entries}, {plan.estimate.questions} questions, {plan.estimate.cached} answered before: about {would.input_tokens:,} "
        f"tokens, {cost};"
        " extracting memories from the entries comes on top."
    )


def _plan_body(plan: BackfillPlan) -> dict[str, Any]:
    estimate = plan.estimate
    return {
        "days": to_json(plan.days),
        "questions": estimate.questions if estimate else 0,
        "tokens": estimate.usage.input_tokens if estimate else 0,
        "usd": estimate.usage.cost if estimate else 0.0,
    }


def _print_outcomes(workspace: Workspace, outcomes: Sequence[EntryOutcome], *, as_json: bool, days: int = 1) -> int:
    if any(outcome.state is EntryState.WRITTEN for outcome in outcomes):
        record_lasting_change(workspace, "journal", [outcome.run for outcome in outcomes if outcome.run])
    if as_json:
        write_json({"days": days, "entries": [_outcome_body(outcome) for outcome in outcomes]})
    else:
        write_lines(_format_outcomes(outcomes))
        left = days - len(outcomes)
        if left > 0:
            write_line((f"{format_count(left, 'day')} not done", "red"), " → run the same command to continue")
    if outcomes and all(outcome.state in (EntryState.FAILED, EntryState.FOREIGN) for outcome in outcomes):
        return 2
    return int(any(outcome.incomplete for outcome in outcomes))


def _format_outcomes(outcomes: Sequence[EntryOutcome]) -> Iterator[Line]:
    for outcome in outcomes:
        days = outcome.first.isoformat() if outcome.first == outcome.last else f"{outcome.first} to {outcome.last}"
        style = {EntryState.WRITTEN: "green", EntryState.FAILED: "red", EntryState.FOREIGN: "red"}.get(outcome.state, "dim")
        reason = f": {outcome.reason}" if outcome.reason else ""
        yield line((f"{days}  ", "cyan"), (f"{outcome.state.value}{reason}", style))
        if outcome.state is EntryState.NOTHING:
            continue
        yield line((f"    {format_path(outcome.path)}", "dim"))
        if outcome.head is not None and outcome.state is EntryState.WRITTEN:
            yield line((f"    {_format_head(outcome.head)}", "dim"))
        if outcome.asked_again:
            yield line(("    asked twice, because an earlier entry changed the question", "dim"))
        if outcome.refused:
            yield line((f"    {format_count(outcome.refused, 'paragraph')} left out: not supported by their citations", "yellow"))
        if outcome.memories:
            yield line((f"    {format_count(outcome.memories, 'new memory')} → kept list --profile journal", "dim"))
        yield from (line((f"    {problem}", "red")) for problem in outcome.problems)


def _format_head(head: EntryHead) -> str:
    shares = ", ".join(f"{name} {share:.0%}" for name, share in head.shares.items())
    drawn = format_count(len(head.memories), "memory")
    writer = "without a model" if head.writer == EXTRACTIVE else f"by {head.writer}"
    return f"{writer}, from {shares}; uses {drawn}; {head.self_reference:.0%} about memory itself"


def _outcome_body(outcome: EntryOutcome) -> dict[str, Any]:
    other = {
        "from": "first",
        "to": "last",
        "refused_paragraphs": "refused",
        "asked_anew": "asked_again",
        "new_memories": "memories",
    }
    state, head = outcome.state.name.lower(), _head_body(outcome.head) if outcome.head else None
    return json_fields(outcome, "path", "reason", "problems", **other) | {"state": state, "entry": head}


def _head_body(head: EntryHead) -> dict[str, Any]:
    names = ("template", "writer", "sessions", "shares", "memories", "self_reference")
    return json_fields(head, *names, date="first") | {"tokens_in": head.tokens[0], "tokens_out": head.tokens[1]}


def _print_stats(workspace: Workspace, *, as_json: bool) -> int:
    entry_heads = write_journal.load_entry_heads(workspace)
    target = workspace.settings.journal.self_reference
    if as_json:
        write_json({"target_self_reference": target, "entries": [_head_body(head) for head in entry_heads]})
        return 0
    if not entry_heads:
        write_line("There are no entries yet.", " → kept journal write")
        return 0
    mean = sum(head.self_reference for head in entry_heads) / len(entry_heads)
    write_line((f"{format_count(len(entry_heads), 'entry')}, {mean:.1%} of their sentences about memory itself", "bold"))
    for item in entry_heads:
        filled = round(item.self_reference * _BAR)
        shares = ", ".join(f"{name} {share:.0%}" for name, share in item.shares.items())
        style = "yellow" if item.self_reference > target else "green"
        write_line(
            (f"{item.first}  ", "cyan"),
            ("█" * filled + "·" * (_BAR - filled), style),
            (f"  {item.self_reference:>4.0%}  {shares}; {format_count(len(item.memories), 'memory')}", "dim"),
        )
    return 0


def day(
    call: GlobalOptions,
    which: str = "today",
    *,
    whole_week: bool = False,
    whole_month: bool = False,
    project: str = "",
    detailed: bool = False,
    routing: bool = False,
    as_json: bool = False,
) -> None:
    """Show what was worked on, decided and learnt on a day, and what is still open."""
    with command_workspace(call) as workspace:
        chosen, last, scopes = workspace.day(which), workspace.day(which, last=True), find_scopes(workspace, project)
        if whole_month or last - chosen >= timedelta(days=_WEEK):
            calendar = load_month(workspace, chosen.replace(day=1), scopes)
            if as_json:
                write_json(json_fields(calendar, "cells", "before", "after") | {"month": f"{calendar.first:%Y-%m}"})
            else:
                write_lines(_month_lines(calendar))
            return
        view = load_day_view(workspace, *(week_bounds(chosen) if whole_week else (chosen, last)), scopes=scopes)
        if routing:
            whole = extracted_between(workspace, view.day, view.last)
            routes = routes_by_memory(workspace, whole.memories)
            if as_json:
                write_json(
                    [
                        json_fields(memory, "id", "content", "reason")
                        | {"status": memory.status_at(workspace.clock()).value, "routes": to_json(routes.get(memory.id, ()))}
                        for memory in whole.memories
                    ]
                )
            else:
                write_lines(_routing_lines(workspace, view, whole, routes))
        elif as_json:
            write_json(_day_body(workspace, view))
        else:
            write_lines(_day_lines(workspace, view, detailed=detailed))


def _format_weekday(which: date) -> str:
    """A date with its weekday: ``Friday 2026-02-13``."""
    return f"{which:%A} {which.isoformat()}"


def _month_lines(calendar: CalendarMonth) -> Iterator[Line]:
    yield line((f"{calendar.first:%B %Y}", "bold"))
    calendar_days = [calendar_day for calendar_day in calendar.cells if not calendar_day.empty]
    for item in calendar_days:
        parts = [format_count(item.sessions, "session")] if item.sessions else []
        parts += [
            f"{count:,} {what}"
            for count, what in ((item.learnt, "learnt"), (item.decided, "decided"), (item.open, "asked"))
            if count
        ]
        parts += ["a journal entry"] if item.entry else []
        yield line(f"  {item.day:%a} {item.day.isoformat()}", (f"  {', '.join(parts)}", "dim"))
    if not calendar_days:
        yield line("  Nothing happened.")
    others = [
        f"{word}: kept day {day.isoformat()} --month"
        for word, day in (("Before", calendar.before), ("After", calendar.after))
        if day
    ]
    if others:
        yield line((f"  {';  '.join(others)}", "dim"))


def _routing_lines(
    workspace: Workspace, view: DayView, whole: ExtractedMemories, routes: Mapping[str, Sequence[OutputRoute]]
) -> Iterator[Line]:
    """All memories extracted from a day, each with the outputs that show it, and the refused proposals by reason."""
    what = f"{format_count(len(whole.memories), 'memory')}, {len(whole.refused):,} refused"
    yield line((_format_weekday(view.day), "bold"), (f"  {what}", "dim"))
    for memory in whole.memories:
        yield memory_line(memory, workspace.zone, category_title(workspace.profiles, memory.profile, memory.category))
        if memory.status_at(workspace.clock()) is not Status.ACTIVE:
            reason = memory.reason.removeprefix(f"{memory.status.value}: ")
            yield line((f"      {memory.status.value:<7} ", "yellow"), (f" {reason}", "dim"))
        yield from route_lines([route for route in routes.get(memory.id, ()) if route.where or memory.status is Status.ACTIVE])
    for judged in whole.refused:
        reason = getattr(judged.verdict, "reason", "")
        yield hanging_line([("    refused     ", "dim")], judged.candidate.content, (f"  {reason}", "dim"))


def _day_lines(workspace: Workspace, view: DayView, *, detailed: bool) -> Iterator[Line]:
    yield line((_format_weekday(view.day) + (f" to {_format_weekday(view.last)}" if view.last != view.day else ""), "bold"))
    if not (view.sessions or view.learnt or view.confirmed or view.ended):
        before = max((item for item in list_active_days(workspace) if item < view.day), default=None)
        yield line("Nothing happened.", (f" The last day before it with activity: kept day {before}" if before else "", "dim"))
    if view.sessions:
        yield line((format_count(len(view.sessions), "session"), "cyan"))
    if view.last != view.day:
        counts = Counter(workspace.scope(activity.project, activity.path) for activity in view.sessions)
        for scope, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
            yield line(f"  {count:>4,}  {scope_name(scope, workspace.scope_names())}")
    for activity in view.sessions if view.last == view.day else ():
        spent = f"  {activity.first_at.astimezone(workspace.zone):%H:%M}–{activity.last_at.astimezone(workspace.zone):%H:%M}  "
        what = f"  {format_count(activity.prompts, 'prompt')}, {format_count(activity.events, 'event')}"
        yield hanging_line(
            [(spent, "")],
            scope_name(workspace.scope(activity.project, activity.path), workspace.scope_names()),
            (f"{what}  {activity.session}", "dim"),
        )
    if view.sessions and view.last == view.day:
        yield line(("  Show a whole session: kept show --session ID", "dim"))
    yield from _work_lines(workspace, view, detailed=detailed)
    start, stop = workspace.day_bounds(view.day)[0], workspace.day_bounds(view.last)[1]
    was, became = (find_wordings_at(workspace, view.confirmed, moment) for moment in (start, stop))
    changed = {item.id for item in view.confirmed if was.get(item.id, item.content) != became.get(item.id, item.content)}
    first = {part: [item for item in (*view.learnt, *view.ended) if part_of_category(item.category) is part] for part in _FIRST}
    groups = [(title, first[part]) for part, title in _FIRST.items()]
    groups += [("Changed", [item for item in view.confirmed if item.id in changed])]
    groups += [("Confirmed", [item for item in view.confirmed if item.id not in changed]), (_HELD, [*view.held])]
    for title, memories in groups:
        if memories:
            yield line((f"{title}: {format_count(len(memories), 'memory')}", "cyan"))
            then = find_wordings_at(workspace, memories, start if title == "Changed" else stop)
            yield from grouped_lines(workspace, memories, None if title == _HELD else workspace.clock(), then=then)
    yield from missed_lines(view.covered, workspace.zone, whole=detailed, hint="kept day --detailed")


_FIRST = {SummaryPart.LEARNT: "Learnt", SummaryPart.DECIDED: "Decided", SummaryPart.OPEN: "Asked"}
_HELD = "Held for you (kept review --all)"
_PARTS = {SummaryPart.WORKED: "Worked on", SummaryPart.DECIDED: "Decided", SummaryPart.OPEN: "Left open"}


def _work_lines(workspace: Workspace, view: DayView, *, detailed: bool) -> Iterator[Line]:
    """The work, decisions and open questions of a day, by project. Shortened unless ``detailed``. Memories are not included."""
    whole = [bullet for bullet in view.summary.detailed if not bullet.remembered]
    short = [bullet for bullet in view.summary.condensed if not bullet.remembered]
    for part, title in _PARTS.items():
        summary_bullets = [bullet for bullet in whole if bullet.part is part]
        shown = summary_bullets if detailed else [bullet for bullet in short if bullet.part is part] or summary_bullets[:1]
        if summary_bullets:
            rest = f" ({len(shown)} of {len(summary_bullets)}, all with --detailed)" if len(shown) < len(summary_bullets) else ""
            yield line((title, "cyan"), (f"  {format_authors(shown)}{rest}", "dim"))
        for scope, bullets in groupby(shown, key=lambda bullet: bullet.scope):
            yield line(f"  {scope_name(scope, workspace.scope_names())}")
            for bullet in bullets:
                when = f"{bullet.at.astimezone(workspace.zone):%a %H:%M}" if bullet.at and view.last != view.day else ""
                yield hanging_line([("    - ", "dim")], bullet.text, (f"  {when}".rstrip(), "dim"))


def _day_body(workspace: Workspace, view: DayView) -> dict[str, Any]:
    return json_fields(view, "day", "last") | {
        "summary": {
            "condensed": [dump(bullet) for bullet in view.summary.condensed],
            "detailed": [dump(bullet) for bullet in view.summary.detailed],
            "written_by": sorted({bullet.by for bullet in view.summary.condensed if bullet.by}),
        },
        "sessions": [
            json_fields(activity, "source", "path", "session", "project", "events", "prompts", "first_at", "last_at")
            for activity in view.sessions
        ],
        "learnt": [to_export(workspace, memory) for memory in view.learnt],
        "confirmed": [to_export(workspace, memory) for memory in view.confirmed],
        "ended": [to_export(workspace, memory) for memory in view.ended],
        "held": [to_export(workspace, memory) for memory in view.held],
        "coverage": to_json(view.covered),
    }
