"""``kept status``: show the state of the store. Read-only."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kept.cli.command_support import command_workspace
from kept.cli.console import Line, format_count, format_path, line, write_json, write_lines
from kept.cli.lists import pending_line
from kept.cli.model_use import model_lines, searchable_line, trial_lines, unknown_language_line, without_model_line
from kept.cli.registry import GlobalOptions
from kept.core.codec import json_fields, to_json
from kept.core.memory import Status
from kept.core.times import format_day, format_instant, format_minute
from kept.intake.reminders import OFF, load_added_tokens
from kept.intake.reminders import load_reminder_costs as handover_costs
from kept.intake.survey import ExpiringFiles, find_expiring_files, find_outages, load_unread_reasons
from kept.llm.budget import usage_body
from kept.local.queue import NIGHT, load_failures
from kept.memories import waiting
from kept.memories.browse import StoreStatus, load_status
from kept.memories.history import describe_counts
from kept.pipeline.usage import load_costs, load_quarantined
from kept.recall.indexing import VectorStatus, vector_status
from kept.store.values import Run
from kept.workspace import Workspace

_DAYS = 7  # days for which the amount of text added by hooks is shown


def status(call: GlobalOptions, *, as_json: bool = False) -> None:
    """Show what is stored, what was read, the last runs, and what is held for review."""
    with command_workspace(call) as workspace:
        store_status = load_status(workspace)
        due = find_expiring_files(workspace)
        missed = load_unread_reasons(workspace.paths, workspace.settings.exclude)
        if as_json:
            not_read = [{"path": path, "reason": reason} for path, reason in missed.items()]
            write_json(_state_body(workspace, store_status, due) | {"not_read": not_read})
        else:
            write_lines(_state_lines(workspace, store_status, due, missed))


def inactive_profile_lines(workspace: Workspace, store_status: StoreStatus) -> Iterator[Line]:
    """Lines about memories that are hidden because their profile is not in use, and how to show them again."""
    for profile, count in sorted(store_status.of_inactive_profiles.items()):
        others = ",".join((*workspace.settings.profiles, profile))
        text = f"{format_count(count, 'memory')} of the profile {profile} not shown, because it is not in use"
        yield line((text, "yellow"), f" → kept config set profiles {others}")


def _state_lines(
    workspace: Workspace, store_status: StoreStatus, due: Sequence[ExpiringFiles], missed: Mapping[str, str]
) -> Iterator[Line]:
    yield from _memory_count_lines(workspace, store_status)
    yield from (line((text, "red"), f" → {fix}") for text, fix in find_outages(workspace.paths))
    yield from _expiring_lines(workspace, due)
    if missed:
        yield line((f"{format_count(len(missed), 'file')} could not be read", "yellow"), " → kept sources")
    yield from inactive_profile_lines(workspace, store_status)
    if sum(waits := waiting.count_pending_proposals(workspace)):
        yield pending_line(*waits)
    undated = f", {format_count(store_status.undated, 'event')} without a date" if store_status.undated else ""
    yield line(f"{format_count(store_status.files, 'transcript')} read{undated}", " → kept sources")
    if private := len({session.session for session in workspace.store.archive.opted_out_sessions()}):
        yield line(f"{format_count(private, 'session')} off the record", " → kept sources")
    if store_status.unread:
        yield line((f"{format_count(store_status.unread, 'session')} archived but not analysed yet", "yellow"), " → kept run")
    if store_status.not_asked:
        yield line(
            (f"{format_count(store_status.not_asked, 'session')} not read by the language model yet", "yellow"), " → kept run"
        )
    if aside := load_quarantined(workspace):
        text = (
            f"{format_count(len(aside), 'session')} set aside: the language model's reply could not be used "
            f"({', '.join(sorted(set(aside.values())))})"
        )
        yield line((text, "yellow"), " → kept run --force")
    yield from filter(None, (searchable_line(workspace), unknown_language_line(workspace), without_model_line(workspace)))
    for prompt in store_status.prompts:
        if prompt.overridden or workspace.llm is not None:
            from kept.cli.commands.prompt import origin_line  # noqa: PLC0415 - few people have their own prompt

            yield origin_line(prompt)
    yield from model_lines(workspace.settings.llm, load_costs(workspace))
    yield from trial_lines(workspace)
    yield _search_line(vector_status(workspace))
    yield from _handover_lines(workspace)
    yield from _injected_lines(workspace)
    for failure in load_failures(str(workspace.paths.state)):
        runner, _, step = failure.what.partition(" ")
        when = f"last night, {step}" if runner == NIGHT else "at the end of a session"
        yield line((f"Failed {when}: {failure.detail}", "red"), " → kept doctor")
    for path in store_status.outputs:
        yield line("Writes ", format_path(path))
    if not store_status.last_runs:
        yield line("kept was never run here", " → kept run")
    for number, run in enumerate(store_status.last_runs):
        yield line(
            (f"{'Last runs' if number == 0 else '':<11}", ""),
            f"{format_minute(run.started_at, workspace.zone)}  {run.command:<9}",
            *_describe_ending(run),
        )


def _memory_count_lines(workspace: Workspace, store_status: StoreStatus) -> Iterator[Line]:
    titles = {category.id: category.title for profile in reversed(workspace.profiles) for category in profile.categories}
    active = store_status.statuses[Status.ACTIVE]
    noun = "profiles" if len(workspace.profiles) > 1 else "profile"
    yield line(
        (format_count(active, "memory"), "bold"), (f" · {noun} {', '.join(profile.id for profile in workspace.profiles)}", "dim")
    )
    for category, count in sorted(store_status.categories.items(), key=lambda item: (-item[1], item[0])):
        yield line(f"  {count:>5,}  {titles.get(category, category)}")
    others = ", ".join(
        f"{count:,} {status}"
        for status, count in sorted(store_status.statuses.items())
        if status not in (Status.ACTIVE, Status.HELD)
    )
    if others:
        yield line((f"  {others} → kept list --all", "dim"))


def _handover_lines(workspace: Workspace) -> Iterator[Line]:
    """The number of tokens used to ask agents to hand over the person's words."""
    if workspace.settings.handover == OFF:
        yield line("Agents are not asked to hand over your words", " → kept config set handover remind")
        return
    costs = handover_costs(str(workspace.paths.state))
    times, tokens = costs.get("reminder", (0, 0))[0], sum(spent for _, spent in costs.values())
    if tokens:
        cost = f": {format_count(times, 'reminder')}, {format_count(tokens, 'token')} in all"
        yield line("Agents hand over your words", (cost, "dim"))


def _injected_lines(workspace: Workspace) -> Iterator[Line]:
    """The amount of text that hooks added to sessions and prompts, by day."""
    days = list(load_added_tokens(str(workspace.paths.state)).items())[-_DAYS:]
    for number, (day, (times, tokens)) in enumerate(reversed(days)):
        head = "Added to sessions and prompts" if number == 0 else ""
        yield line(f"{head:<31}  {day}  ", (f"{format_count(tokens, 'token')} in {format_count(times, 'text')}", "dim"))


def _expiring_lines(workspace: Workspace, due: Sequence[ExpiringFiles]) -> Iterator[Line]:
    """The transcripts that their tool will delete soon and that kept has not archived."""
    for expiring in due:
        when = f"from {format_day(expiring.since, workspace.zone)} on" if expiring.since > workspace.clock() else "at any moment"
        what = format_count(expiring.files, "transcript")
        yield line((f"{what} not archived will be deleted by {expiring.source} itself, {when}", "red"), " → kept run")


def _search_line(vectors: VectorStatus) -> Line:
    """The state of search. Search by words always works; search by meaning needs a model."""
    if vectors.problem:
        return line("Search by words only", (f": {vectors.problem}", "yellow"))
    if not vectors.model:
        return line(
            "Search by words only", (": the local model is missing or turned off → kept config get recall.embeddings", "dim")
        )
    left = f", {vectors.waiting:,} still to compute → kept schedule run" if vectors.waiting else ""
    return line("Search by words and meaning", (f": {vectors.model}, {format_count(vectors.embedded, 'vector')}{left}", "dim"))


def _describe_ending(run: Run) -> tuple[tuple[str, str], ...]:
    """The ending of a run, in words with their style."""
    if run.ended_at is None:
        return (("cut short; the next run continues", "yellow"),)
    if steps := run.report.get("steps"):
        failed = [step["name"] for step in steps if not step["done"]]
        return ((f"failed: {', '.join(failed)}", "red") if failed else (f"{len(steps)} steps, all done", "dim"),)
    stopped = [("stopped by a guard", "red")] if run.report.get("stopped") else []
    return ((describe_counts(run.report.get("operations", {})), "dim"), *stopped)


def _state_body(workspace: Workspace, store_status: StoreStatus, due: Sequence[ExpiringFiles]) -> dict[str, Any]:
    (held, _), state = waiting.count_pending_proposals(workspace), str(workspace.paths.state)
    statuses = {**store_status.statuses, Status.HELD: held}
    return {
        "memories": {str(status): count for status, count in sorted(statuses.items()) if count},
        "categories": dict(sorted(store_status.categories.items())),
        "held": held,
        "of_inactive_profiles": dict(sorted(store_status.of_inactive_profiles.items())),
        "files": store_status.files,
        "undated_events": store_status.undated,
        "sessions_not_analysed": store_status.unread,
        "sessions_not_asked_about": store_status.not_asked,
        "set_aside": dict(load_quarantined(workspace)),
        "prompts": [json_fields(prompt, "profile", "origin", "overridden", "version") for prompt in store_status.prompts],
        "deleted_soon": [
            {"source": expiring.source, "files": expiring.files, "from": format_instant(expiring.since)} for expiring in due
        ],
        "outages": [{"what": text, "fix": fix} for text, fix in find_outages(workspace.paths)],
        "outputs": list(store_status.outputs),
        "meaning": json_fields(vector_status(workspace), "model", "waiting", "problem", vectors="embedded"),
        "handover": {"setting": workspace.settings.handover, **_count_bodies(handover_costs(state))},
        "put": _count_bodies(load_added_tokens(state)),
        "profile": workspace.profile.id,
        "profiles": [profile.id for profile in workspace.profiles],
        "timezone": str(workspace.zone),
        "home": str(workspace.paths.root),
        "llm": _llm_body(workspace),
        "failures": to_json(load_failures(state)),
        "runs": [run_body(run) for run in store_status.last_runs],
    }


def _count_bodies(counts: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    return {name: {"times": times, "tokens": tokens} for name, (times, tokens) in counts.items()}


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
