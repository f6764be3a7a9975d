"""``kept status``, ``kept day``: the state of the store, and the summary of a day. Read-only."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any

import typer

from kept.cli import show
from kept.cli.commands.prompt import origin_line
from kept.cli.commands.show import route_lines
from kept.cli.front import command_workspace
from kept.cli.lists import grouped_lines, memory_line, scope_name
from kept.cli.model_use import model_lines, searchable_line, without_model_line
from kept.cli.report import missed_lines, pending_line
from kept.cli.show import Line, format_count, hanging_line, line
from kept.core.codec import json_fields, to_json
from kept.core.memory import Status
from kept.core.summary import SummaryPart
from kept.core.times import format_day, format_instant, format_minute
from kept.days.day_notes import format_authors, week_bounds
from kept.intake.discovery import ExpiringFiles, find_expiring_files
from kept.intake.reminders import OFF, put_by_day
from kept.intake.reminders import load_reminder_costs as handover_costs
from kept.intake.unread import load_unread_reasons
from kept.journal.calendar import CalendarMonth, load_month
from kept.llm.budget import usage_body
from kept.local.queue import load_failures
from kept.memories import waiting
from kept.memories.browse import StoreStatus, load_status, to_export, to_json_value
from kept.memories.day_view import DayView, list_active_days
from kept.memories.day_view import load_day_view as look_at
from kept.outputs.compose import OutputRoute
from kept.outputs.routing import ExtractedMemories, extracted_between, routes_by_memory
from kept.pipeline.nightly import NIGHT, load_last_night
from kept.pipeline.usage import load_costs, load_quarantined
from kept.profiles.profile import category_title
from kept.recall.indexing import VectorStatus, vector_status
from kept.store.values import Run
from kept.workspace import Workspace

_DAYS = 7  # days of which it is told what hooks put in


def status(context: typer.Context, *, as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> None:
    """Show what is stored, what was read, the last runs, and what waits for review."""
    with command_workspace(context) as workspace:
        store_status = load_status(workspace)
        due = find_expiring_files(workspace)
        missed = load_unread_reasons(workspace.paths)
        if as_json:
            not_read = [{"path": path, "reason": reason} for path, reason in missed.items()]
            show.write_json(_state_body(workspace, store_status, due) | {"not_read": not_read})
        else:
            show.write_lines(_state_lines(workspace, store_status, due, missed))


def _state_lines(
    workspace: Workspace, found: StoreStatus, due: Sequence[ExpiringFiles], missed: Mapping[str, str]
) -> Iterator[Line]:
    yield from _memory_count_lines(workspace, found)
    yield from _expiring_lines(workspace, due)
    if missed:
        yield line((f"{format_count(len(missed), 'file')} could not be read", "yellow"), (" → kept sources", "dim"))
    for profile, count in sorted(found.shelved.items()):
        others = ",".join((*workspace.settings.profiles, profile))
        told = f"{format_count(count, 'memory', 'memories')} of the profile {profile}, which is not in use, so nothing shows them"
        yield line((told, "yellow"), (f" → kept config set profiles {others}", "dim"))
    if sum(waits := waiting.count_pending_proposals(workspace)):
        yield pending_line(*waits)
    undated = f", {format_count(found.undated, 'event')} without a date" if found.undated else ""
    yield line(f"{format_count(found.files, 'transcript')} read{undated}", (" → kept sources", "dim"))
    if found.unread:
        yield line((f"{format_count(found.unread, 'session')} archived but not analysed yet", "yellow"), (" → kept run", "dim"))
    if found.unheard:
        yield line(
            (f"{format_count(found.unheard, 'session')} not read by the language model yet", "yellow"), (" → kept run", "dim")
        )
    if aside := load_quarantined(workspace):
        told = (
            f"{format_count(len(aside), 'session')} set aside: the language model's reply could not be used "
            f"({', '.join(sorted(set(aside.values())))})"
        )
        yield line((told, "yellow"), (" → kept run --force", "dim"))
    if found.files:
        yield searchable_line(workspace)
    if offered := without_model_line(workspace):
        yield offered
    for each in found.prompts:
        if each.overridden or workspace.llm is not None:
            yield origin_line(each)
    yield from model_lines(workspace.settings.llm, load_costs(workspace))
    yield _search_line(vector_status(workspace))
    yield _handover_line(workspace)
    yield from _injected_lines(workspace)
    night = load_last_night(workspace.paths)
    for step in night.failed if night else ():
        yield line((f"Failed last night, {step.name}: {step.detail}", "red"), (" → kept doctor", "dim"))
    for failure in load_failures(str(workspace.paths.state)):
        if not failure.what.startswith(NIGHT):
            yield line((f"Failed at the end of a session: {failure.detail}", "red"), (" → kept doctor", "dim"))
    for path in found.outputs:
        yield line("Writes ", show.format_path(path))
    if not found.last_runs:
        yield line("Nothing was ever run here", (" → kept run", "dim"))
    for number, run in enumerate(found.last_runs):
        yield line(
            (f"{'Last runs' if number == 0 else '':<11}", ""),
            f"{format_minute(run.started_at, workspace.zone)}  {run.command:<9}",
            *describe_ending(run),
        )


def _memory_count_lines(workspace: Workspace, found: StoreStatus) -> Iterator[Line]:
    titles = {category.id: category.title for profile in reversed(workspace.profiles) for category in profile.categories}
    active = found.statuses[Status.ACTIVE]
    noun = "profiles" if len(workspace.profiles) > 1 else "profile"
    yield line(
        (format_count(active, "memory", "memories"), "bold"),
        (f" · {noun} {', '.join(profile.id for profile in workspace.profiles)}", "dim"),
    )
    for category, count in sorted(found.categories.items(), key=lambda each: (-each[1], each[0])):
        yield line(f"  {count:>5,}  {titles.get(category, category)}")
    others = ", ".join(
        f"{count:,} {each.value}" for each, count in sorted(found.statuses.items()) if each not in (Status.ACTIVE, Status.HELD)
    )
    if others:
        yield line((f"  {others} → kept list --all", "dim"))


def _handover_line(workspace: Workspace) -> Line:
    """What it cost to tell agents about handing over."""
    if workspace.settings.handover == OFF:
        return line("Agents are not asked to hand over your words", (" → kept config set handover remind", "dim"))
    told = handover_costs(str(workspace.paths.state))
    times, tokens = told.get("reminder", (0, 0))[0], sum(spent for _, spent in told.values())
    return line(
        "Agents hand over your words", (f": {format_count(times, 'reminder')}, {format_count(tokens, 'token')} in all", "dim")
    )


def _injected_lines(workspace: Workspace) -> Iterator[Line]:
    """What hooks put before sessions and prompts, by day."""
    days = list(put_by_day(str(workspace.paths.state)).items())[-_DAYS:]
    for number, (day, (times, tokens)) in enumerate(reversed(days)):
        head = "Added to sessions and prompts" if number == 0 else ""
        yield line(f"{head:<31}  {day}  ", (f"{format_count(tokens, 'token')} in {format_count(times, 'text')}", "dim"))


def _expiring_lines(workspace: Workspace, due: Sequence[ExpiringFiles]) -> Iterator[Line]:
    """What is lost soon unless it is read."""
    for expiring in due:
        when = f"from {format_day(expiring.since, workspace.zone)} on" if expiring.since > workspace.clock() else "at any moment"
        what = format_count(expiring.files, "transcript")
        yield line((f"{what} not archived will be deleted by {expiring.source} itself, {when}", "red"), (" → kept run", "dim"))


def _search_line(found: VectorStatus) -> Line:
    """How search stands: by words always, by meaning where there is a model."""
    if found.problem:
        return line("Search by words only", (f": {found.problem}", "yellow"))
    if not found.model:
        return line(
            "Search by words only", (": the local model is not here, or turned off → kept config get recall.embeddings", "dim")
        )
    left = f", {found.waiting:,} to come with the next runs" if found.waiting else ""
    return line("Search by words and meaning", (f": {found.model}, {format_count(found.embedded, 'vector')}{left}", "dim"))


def describe_ending(run: Run) -> tuple[tuple[str, str], ...]:
    """How a run ended, in a few words."""
    if run.ended_at is None:
        return (("cut short; the next run continues", "yellow"),)
    parts = [f"{count} {kind}" for kind, count in sorted(run.report.get("operations", {}).items())]
    stopped = [("stopped by a guard", "red")] if run.report.get("stopped") else []
    return ((", ".join(parts), "dim"), *stopped)


def _state_body(workspace: Workspace, found: StoreStatus, due: Sequence[ExpiringFiles]) -> dict[str, Any]:
    return {
        "memories": {each.value: count for each, count in sorted(found.statuses.items())},
        "categories": dict(sorted(found.categories.items())),
        "held": found.statuses[Status.HELD],
        "of_profiles_not_at_work": dict(sorted(found.shelved.items())),
        "files": found.files,
        "undated_events": found.undated,
        "unread_sessions": found.unread,
        "unheard_sessions": found.unheard,
        "set_aside": dict(load_quarantined(workspace)),
        "prompts": [json_fields(prompt, "profile", "origin", "overridden", "version") for prompt in found.prompts],
        "deleted_soon": [
            {"source": expiring.source, "files": expiring.files, "from": format_instant(expiring.since)} for expiring in due
        ],
        "outputs": list(found.outputs),
        "meaning": json_fields(vector_status(workspace), "model", "waiting", "problem", vectors="embedded"),
        "handover": {
            "setting": workspace.settings.handover,
            **{
                kind: {"times": times, "tokens": tokens}
                for kind, (times, tokens) in handover_costs(str(workspace.paths.state)).items()
            },
        },
        "put": {day: {"times": times, "tokens": tokens} for day, (times, tokens) in put_by_day(str(workspace.paths.state)).items()},
        "profile": workspace.profile.id,
        "profiles": [profile.id for profile in workspace.profiles],
        "timezone": str(workspace.zone),
        "home": str(workspace.paths.root),
        "llm": _llm_body(workspace),
        "failures": to_json(load_failures(str(workspace.paths.state))),
        "runs": [run_body(run) for run in found.last_runs],
    }


def _llm_body(workspace: Workspace) -> dict[str, Any]:
    costs, settings = load_costs(workspace), workspace.settings.llm
    return {
        "adapter": settings.adapter,
        "model": settings.model,
        "command": settings.command,
        "today": usage_body(costs.today),
        "ever": usage_body(costs.total),
        "awaited": costs.awaited,
        "day": {"usd": settings.day_usd, "calls": settings.day_calls, "tokens": settings.day_tokens},
    }


def run_body(run: Run) -> dict[str, Any]:
    """A run as JSON."""
    return json_fields(run, "command", "started_at", "ended_at", "report", run="id")


def day(
    context: typer.Context,
    which: Annotated[str, typer.Argument(metavar="DATE", help="YYYY-MM-DD, today or yesterday.")] = "today",
    *,
    whole_week: Annotated[bool, typer.Option("--week", help="The week the day is in.")] = False,
    whole_month: Annotated[bool, typer.Option("--month", help="The month the day is in, a line a day.")] = False,
    detailed: Annotated[
        bool, typer.Option("--detailed", help="Everything that was worked on, not only what matters later.")
    ] = False,
    routing: Annotated[bool, typer.Option("--routing", help="In which outputs each thing learnt on it is shown, and why.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show what was worked on, decided and learnt on a day, and what is still open."""
    with command_workspace(context) as workspace:
        chosen = workspace.day(which)
        if whole_month:
            calendar = load_month(workspace, chosen.replace(day=1))
            if as_json:
                show.write_json(json_fields(calendar, "cells", "before", "after") | {"month": f"{calendar.first:%Y-%m}"})
            else:
                show.write_lines(_month_lines(calendar))
            return
        day_view = look_at(workspace, *(week_bounds(chosen) if whole_week else (chosen,)))
        if routing:
            whole = extracted_between(workspace, day_view.day, day_view.last)
            told = routes_by_memory(workspace, whole.memories)
            if as_json:
                show.write_json(
                    [
                        json_fields(memory, "id", "content", "reason")
                        | {"status": memory.status_at(workspace.clock()).value, "routes": to_json(told.get(memory.id, ()))}
                        for memory in whole.memories
                    ]
                )
            else:
                show.write_lines(_routing_lines(workspace, day_view, whole, told))
        elif as_json:
            show.write_json(_day_body(workspace, day_view))
        else:
            show.write_lines(_day_lines(workspace, day_view, detailed=detailed))


def _month_lines(found: CalendarMonth) -> Iterator[Line]:
    yield line((f"{found.first:%B %Y}", "bold"))
    calendar_days = [calendar_day for calendar_day in found.cells if not calendar_day.empty]
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
        f"{word}: kept day {day.isoformat()} --month" for word, day in (("Before", found.before), ("After", found.after)) if day
    ]
    if others:
        yield line((f"  {';  '.join(others)}", "dim"))


def _routing_lines(
    workspace: Workspace, found: DayView, whole: ExtractedMemories, told: Mapping[str, Sequence[OutputRoute]]
) -> Iterator[Line]:
    """Where each thing extracted of a day went: every memory output by output, and what was refused by its reason."""
    what = f"{format_count(len(whole.memories), 'memory', 'memories')}, {len(whole.refused):,} refused"
    yield line((show.format_weekday(found.day), "bold"), (f"  {what}", "dim"))
    for memory in whole.memories:
        yield memory_line(memory, workspace.zone, category_title(workspace.profiles, memory.profile, memory.category))
        if memory.status_at(workspace.clock()) is not Status.ACTIVE:
            reason = memory.reason.removeprefix(f"{memory.status.value}: ")
            yield line((f"      {memory.status.value:<7} ", "yellow"), (f" {reason}", "dim"))
        yield from route_lines([route for route in told.get(memory.id, ()) if route.where or memory.status is Status.ACTIVE])
    for judged in whole.refused:
        reason = getattr(judged.verdict, "reason", "")
        yield hanging_line([("    refused     ", "dim")], judged.candidate.content, (f"  {reason}", "dim"))


def _day_lines(workspace: Workspace, found: DayView, *, detailed: bool) -> Iterator[Line]:
    yield line(
        (show.format_weekday(found.day) + (f" to {show.format_weekday(found.last)}" if found.last != found.day else ""), "bold")
    )
    if not (found.sittings or found.learnt or found.confirmed):
        before = max((item for item in list_active_days(workspace) if item < found.day), default=None)
        yield line("Nothing happened.", (f" The last day before it with activity: kept day {before}" if before else "", "dim"))
    if found.sittings:
        yield line((format_count(len(found.sittings), "session"), "cyan"))
    if found.last != found.day:
        counts = Counter(workspace.scope(sitting.project, sitting.path) for sitting in found.sittings)
        for scope, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
            yield line(f"  {count:>4,}  {scope_name(scope, workspace.scope_names())}")
    for each in found.sittings if found.last == found.day else ():
        spent = f"  {each.first_at.astimezone(workspace.zone):%H:%M}–{each.last_at.astimezone(workspace.zone):%H:%M}  "
        what = f"  {format_count(each.prompts, 'prompt')}, {format_count(each.events, 'event')}"
        yield hanging_line(
            [(spent, "")],
            scope_name(workspace.scope(each.project, each.path), workspace.scope_names()),
            (f"{what}  {each.session}", "dim"),
        )
    yield from _work_lines(workspace, found, detailed=detailed)
    for title, memories in (("Learnt", found.learnt), ("Confirmed", found.confirmed)):
        if memories:
            yield line((f"{title}: {format_count(len(memories), 'memory', 'memories')}", "cyan"))
            yield from grouped_lines(memories, workspace.profiles, workspace.scope_names(), workspace.zone)
    yield from missed_lines(found.covered, workspace.zone, whole=True)


_PARTS = {SummaryPart.WORKED: "Worked on", SummaryPart.DECIDED: "Decided", SummaryPart.OPEN: "Left open"}


def _work_lines(workspace: Workspace, found: DayView, *, detailed: bool) -> Iterator[Line]:
    """What a day came to, by project: what was worked on, and what a model or the person says was decided and stayed open.

    In short unless ``detailed``. Memories are told by themselves.
    """
    whole = [bullet for bullet in found.summary.detailed if bullet.part is SummaryPart.WORKED or bullet.by]
    short = [bullet for bullet in found.summary.condensed if bullet.part is SummaryPart.WORKED or bullet.by]
    for part, title in _PARTS.items():
        summary_bullets = [bullet for bullet in whole if bullet.part is part]
        shown = summary_bullets if detailed else [bullet for bullet in short if bullet.part is part]
        if summary_bullets:
            rest = f" ({len(shown)} of {len(summary_bullets)}, all with --detailed)" if len(shown) < len(summary_bullets) else ""
            yield line((title, "cyan"), (f"  {format_authors(shown)}{rest}", "dim"))
        for scope, bullets in groupby(shown, key=lambda each: each.scope):
            yield line(f"  {scope_name(scope, workspace.scope_names())}")
            for each in bullets:
                when = f"{each.at.astimezone(workspace.zone):%a %H:%M}" if each.at and found.last != found.day else ""
                yield hanging_line([("    - ", "dim")], each.text, (f"  {when}".rstrip(), "dim"))


def _day_body(workspace: Workspace, found: DayView) -> dict[str, Any]:
    return json_fields(found, "day", "last") | {
        "summary": {
            "condensed": [to_json_value(bullet) for bullet in found.summary.condensed],
            "detailed": [to_json_value(bullet) for bullet in found.summary.detailed],
            "written_by": sorted({bullet.by for bullet in found.summary.condensed if bullet.by}),
        },
        "sessions": [
            json_fields(sitting, "source", "path", "session", "project", "events", "prompts", "first_at", "last_at")
            for sitting in found.sittings
        ],
        "learnt": [to_export(workspace, memory) for memory in found.learnt],
        "confirmed": [to_export(workspace, memory) for memory in found.confirmed],
        "coverage": to_json(found.covered),
    }
