"""The history page: the changes of each run, with undo and redo, and the changes between two dates.

A person can also start and follow a run here, and decide on the changes that a guard stopped.
"""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from kept.core.errors import MissingError
from kept.intake.discovery import discover, printable
from kept.local.queue import NIGHT
from kept.memories.differences import DifferenceKind, MemoryDifference, count_given_back, list_differences
from kept.memories.history import PERSON, HistoryEntry, describe_command, describe_counts, diff_moments, find_run, run_changes
from kept.memories.waiting import describe_set_aside
from kept.pipeline.estimate import estimate_run
from kept.pipeline.nightly import load_last_night
from kept.pipeline.run import has_interrupted_run
from kept.pipeline.run_report import count_questions, list_runs, list_stopped_groups, reported_number
from kept.web.context import request_workspace, web_context
from kept.web.listing import LABELS
from kept.web.render import NavigationPage, render_page, render_part
from kept.workspace import Workspace

router = APIRouter()
_SHOWN = 40
_GROUP_GAP = timedelta(minutes=15)  # maximum time between two changes by a person that are shown as one group
_SHOWN_FILES = 200  # maximum number of transcripts of a source that can be chosen individually
# Maximum operations of a run whose changes are listed at once; maximum changes listed at once; maximum changes listed when opened.
_SMALL, _SHOWN_CHANGES, _MOST_CHANGES = 40, 4, 500


def _count_stopped(workspace: Workspace) -> int:
    return len(list_stopped_groups(workspace))


PAGE = NavigationPage(id="runs", title="History", path="/history", key="h", router=router, count=_count_stopped)


@router.get("/history")
def runs_page(request: Request) -> Response:
    """Show the history page."""
    with request_workspace(request) as workspace:
        return render_page(
            request,
            workspace,
            "runs.html",
            here=PAGE.id,
            model=workspace.llm is not None,
            projects=sorted(set(workspace.scope_names().values())),
            **(_runs_values(workspace) | _current_run_values(request, workspace)),
        )


@router.get("/history/now")
def current_run(request: Request, *, follow: bool = False) -> Response:
    """Show the state of the current run. The page requests this every second during a run."""
    with request_workspace(request) as workspace:
        answer = render_part(workspace, "runs_now.html", **_current_run_values(request, workspace))
    if follow and not web_context(request).background_run.now.running:
        answer.headers["hx-trigger"] = "kept:changed"
    return answer


@router.get("/history/new")
def unread_transcripts(request: Request) -> Response:
    """Show the transcripts that a run would read, by source, newest first.

    If a model is set, also show how many questions about earlier transcripts the run would ask it.
    """
    with request_workspace(request) as workspace:
        found: dict[str, list[tuple[str, os.stat_result, bool]]] = {}
        read, discovered = {file.path: file.offset for file in workspace.store.archive.files()}, discover(workspace, [])
        for path, source in discovered.files.items():
            if printable(FilePath(path)) != path:  # a page cannot show this name; choosing the whole source reads the file
                continue
            with suppress(OSError):  # the file was deleted
                about = FilePath(path).stat()
                found.setdefault(source.name, []).append((path, about, read.get(path, -1) >= about.st_size))
        for files in found.values():
            files.sort(key=lambda file: (file[2], -file[1].st_mtime))
        estimate = estimate_run(workspace, workspace.llm) if workspace.llm is not None else None
        values: dict[str, Any] = {
            "sources": found,
            "unchanged": discovered.unchanged,
            "shown": _SHOWN_FILES,
            "estimate": estimate,
            "cost": format_run_cost,
        }
        return render_part(workspace, "runs_new.html", at=lambda when: datetime.fromtimestamp(when, UTC), **values)


@router.get("/history/list")
def runs_list(request: Request, *, before: Annotated[int, Query(ge=0, le=10**15)] = 0) -> Response:
    """Show a part of the list of runs. ``before`` is the number of a run; only older runs are listed."""
    with request_workspace(request) as workspace:
        return render_part(workspace, "runs_more.html" if before else "runs_list.html", **_runs_values(workspace, before=before))


@router.get("/history/{number}/row")
def run_row(request: Request, number: Annotated[int, Path(ge=0, le=10**15)]) -> Response:
    """Show a run as a row of the list."""
    with request_workspace(request) as workspace:
        run_summary = next(iter(list_runs(workspace, 1, before=number + 1)), None)
        if run_summary is None or run_summary.run.id != number:
            raise MissingError(f"there is no run {number} that changed anything", hint="see `kept log`")
        return render_part(workspace, "runs_row.html", each=run_summary, **_row_helpers(workspace, (run_summary,)))


@router.get("/history/{number}/changes")
def run_changes_part(request: Request, number: Annotated[int, Path(ge=0, le=10**15)]) -> Response:
    """Show all changes of a run."""
    with request_workspace(request) as workspace:
        entry = find_run(workspace, str(number))
        memory_differences = list_differences(run_changes(workspace, [pass_ for pass_, _ in entry.passes]))
        return render_part(workspace, "history_changes.html", steps=memory_differences, most=_MOST_CHANGES)


@router.get("/history/compare")
def compare_dates(
    request: Request,
    *,
    earlier: Annotated[str, Query(alias="from", max_length=40)],
    later: Annotated[str, Query(alias="to", max_length=40)] = "today",
    project: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show the changes between two dates, in all projects or one."""
    with request_workspace(request) as workspace:
        first, last = sorted((workspace.parse_moment(earlier), workspace.parse_moment(later or "today")))
        names = workspace.scope_names()
        memory_differences = [
            difference
            for difference in list_differences(diff_moments(workspace, first, last))
            if not project
            or project == names.get(next(memory.scope for memory in (difference.after, difference.before) if memory is not None))
        ]
        return render_part(workspace, "history_changes.html", steps=memory_differences, most=_MOST_CHANGES)


def _current_run_values(request: Request, workspace: Workspace) -> dict[str, Any]:
    now = web_context(request).background_run.now
    cut = now.stopped or (not now.number and has_interrupted_run(workspace))
    return {"now": now, "cut": cut, "stages": LABELS["stages"], "cost": format_run_cost, "counts": describe_counts}


def _row_helpers(workspace: Workspace, found: Sequence[HistoryEntry]) -> dict[str, Any]:
    """The template values for rows.

    The changes of a large run are not included, because the page requests them when the row is opened.
    """
    small = {
        run_summary.run.id: [made for made, _ in run_summary.passes]
        for run_summary in found
        if 0 < run_summary.operations.total() <= _SMALL or run_summary.switches
    }
    steps = {run: list_differences(run_changes(workspace, passes)) for run, passes in small.items()}
    return {
        "who": describe_who,
        "changes": describe_changes,
        "asked": count_questions,
        "spent": lambda run: format_run_cost(reported_number(run, "cost")),
        "counts": describe_counts,
        "set_aside": describe_set_aside,
        "steps_of": steps,
        "most": _SHOWN_CHANGES,
    }


def _group_runs(found: Sequence[HistoryEntry]) -> list[list[HistoryEntry]]:
    """Group the runs without changing their order. A person's changes in quick succession form one group."""
    groups: list[list[HistoryEntry]] = []
    for item in found:
        last = groups[-1][-1] if groups else None
        by_person = last is not None and {describe_command(last.run.command), describe_command(item.run.command)} == {PERSON}
        if last is not None and by_person and last.run.started_at - item.run.started_at < _GROUP_GAP:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def _runs_values(workspace: Workspace, *, before: int = 0) -> dict[str, Any]:
    run_summaries = list_runs(workspace, _SHOWN + 1, before=before)
    return {
        "groups": _group_runs(run_summaries[:_SHOWN]),
        "changed_by": _describe_group,
        "more": run_summaries[_SHOWN - 1].run.id if len(run_summaries) > _SHOWN else 0,
        "stops": list_stopped_groups(workspace),
        "night": load_last_night(workspace.paths),
        **_row_helpers(workspace, run_summaries[:_SHOWN]),
    }


def describe_who(happened: HistoryEntry) -> str:
    """Who or what made a run, in words for the person."""
    return describe_command(NIGHT if happened.night else happened.run.command)


def describe_changes(happened: HistoryEntry, steps: Sequence[MemoryDifference] = ()) -> str:
    """The changes of a run in a few words. ``steps`` are needed to count what an undo or redo restored, and what is held."""
    found = _count_operations(happened)
    held = found.pop("hold", 0)
    counts_text = describe_counts(found)
    if not counts_text and not held and {made.stage for made, _ in happened.passes} <= {"undo", "redo"} and happened.passes:
        return "a change" + (f": {count_given_back(steps)}" if steps else "")
    held = sum(step.what is DifferenceKind.HELD for step in steps) or held
    return ", ".join(filter(None, (counts_text, f"{held:,} held" if held else ""))) or "no memory changed"


def _count_operations(happened: HistoryEntry) -> Counter[str]:
    """Count the operations of a run by kind, as a person would count them. For example, a decision on a proposal counts as one."""
    found = Counter(happened.operations)
    if happened.run.command == "reject":  # rejecting a wish said once adds it as a memory first
        found["add"] = found["hold"] = 0
    if happened.run.command == "past":
        return Counter(past=found["approve"])
    if happened.run.command == "split":
        return Counter(split=found["supersede"])
    if happened.run.command == "edit" and found["supersede"]:  # moving a memory to another project supersedes it by a new one
        found["move"] += found.pop("supersede")
        found["add"] = 0
    if happened.run.command == "admit":
        found["approve"] += found.pop("add", 0)
        found["hold"] = 0
    return found


def _describe_group(group: Sequence[HistoryEntry]) -> str:
    """The person's actions in a group of runs, in words. Undone runs are omitted."""
    return describe_counts(sum((_count_operations(item) for item in group if not item.undone), Counter[str]())) or "all taken back"


def format_run_cost(value: float | None) -> str:
    """A cost in USD as text. None means that the price is unknown."""
    return "price unknown" if value is None else f"{value:.2f} USD" if value >= 0.01 or not value else "under 0.01 USD"
