"""The overview page: new memories, pending proposals, the last active days, what the next sessions see, health, and charts."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from kept.core.memory import CandidateVerdict, Memory, Status
from kept.core.text import normal_form
from kept.intake.unread import find_outages
from kept.memories import waiting
from kept.memories.browse import WHOSE
from kept.memories.day_view import DayView
from kept.memories.day_view import load_day_view as look_at
from kept.memories.history import DifferenceKind, list_differences, run_changes, run_history
from kept.outputs.routing import preview_start
from kept.pipeline.status import daily_costs
from kept.profiles.profile import category_title
from kept.recall.preview import session_directories
from kept.web.charts import Chart, StackedChart, build_chart, build_stacked_chart, year_squares
from kept.web.pages.review import find_refusal_reason
from kept.web.pages.runs import MARKS, describe_who
from kept.web.pages.settings import describe_nightly_job
from kept.web.render import NavigationPage, render_page
from kept.web.room import request_workspace
from kept.workspace import Workspace

router = APIRouter()
PAGE = NavigationPage(id="overview", title="Overview", path="/overview", key="o", router=router)

_NEW, _RUNS, _WAITING, _BULLETS, _PROJECTS, _LAST_DAYS = 8, 5, 3, 4, 12, 2  # how many of each are shown
_WEEKS, _DAYS, _CATEGORIES = 26, 30, 5


@router.get("/overview")
def overview(request: Request) -> Response:
    """The page."""
    with request_workspace(request) as workspace:
        today = workspace.clock().astimezone(workspace.zone).date()
        memories = [memory for memory in workspace.store.log.memories() if memory.content]
        minutes = Counter(minute.astimezone(workspace.zone).date() for minute in workspace.store.archive.active_minutes())
        active_days = sorted(minutes, reverse=True)[:_LAST_DAYS]
        queue = waiting.list_pending_proposals(workspace)
        likely = waiting.best_of_each_scope(queue)
        new, refused = _recent_changes(workspace), waiting.list_refused(workspace)
        shown = {normal_form(change.text.rstrip(".")) for change in new[1]} if new else frozenset()
        return render_page(
            request,
            workspace,
            "overview.html",
            here=PAGE.id,
            stored=bool(memories or queue),
            active=sum(memory.status is Status.ACTIVE for memory in memories),
            refused=len(refused),
            new=new,
            who=describe_who,
            most=_NEW,
            signs=MARKS,
            queue=waiting.best_of_all(likely, _WAITING),
            waits=len(likely),
            unlikely=len(queue) - len(likely),
            days=[(found := look_at(workspace, which), _summarize_day(found, shown)) for which in active_days],
            today=today,
            projects=_list_projects(workspace, memories),
            outages=list(find_outages(workspace.paths)),
            **describe_nightly_job(workspace.paths),
            at_end=workspace.settings.at_session_end == "run",
            backup=_last_backup(workspace),
            grown=_chart_growth(workspace, memories, today),
            tables=_count_origins(memories, refused),
            charts=[spent] if (spent := _chart_costs(workspace)) else [],
            year=year_squares(minutes, today),
        )


def _recent_changes(workspace: Workspace) -> list[Any]:
    """The latest run that changed any memory (besides confirming it), and its changes, the most important first; else empty."""
    for entry in run_history(workspace, _RUNS):
        memory_differences = [
            difference
            for difference in list_differences(run_changes(workspace, [made for made, _ in entry.passes]))
            if difference.what is not DifferenceKind.CONFIRMED
        ]
        if memory_differences:
            return [entry, memory_differences]
    return []


def _list_projects(workspace: Workspace, memories: Iterable[Memory]) -> list[tuple[str, str, int, int]]:
    """The projects with the most active memories: the name, a directory, how many memories a session there sees at its start, and
    how many of other projects.
    """
    counts = Counter(memory.scope for memory in memories if memory.status is Status.ACTIVE)
    known = sorted(session_directories(workspace), key=lambda each: (-counts[workspace.scope(each[0])], each[1]))
    starts = [(name, directory, preview_start(workspace, directory)) for directory, name in known[:_PROJECTS]]
    return [(name, directory, start.memory_count, start.foreign) for name, directory, start in starts]


def _last_backup(workspace: Workspace) -> str:
    """The name of the newest backup; empty if there is none."""
    copies = sorted(workspace.paths.backups.glob("*.db"), key=lambda each: each.stat().st_mtime)
    return copies[-1].name if copies else ""


def _summarize_day(found: DayView, shown: Collection[str]) -> list[str]:
    """The first distinct lines of a day's summary, without those already ``shown``."""
    lines = {normal_form(bullet.text.rstrip(".")): bullet.text for bullet in found.summary.condensed}
    return [text for key, text in lines.items() if key not in shown][:_BULLETS]


def _chart_growth(workspace: Workspace, memories: Sequence[Memory], today: date) -> StackedChart | None:
    monday = today - timedelta(days=today.weekday())
    weeks = [monday - timedelta(weeks=back) for back in range(_WEEKS - 1, -1, -1)]
    grown: dict[str, Counter[date]] = {}
    for entry in memories:
        if entry.status is Status.ACTIVE and entry.first_seen is not None:
            day = entry.first_seen.astimezone(workspace.zone).date()
            title = category_title(workspace.profiles, entry.profile, entry.category)
            grown.setdefault(title, Counter()).update(week for week in weeks if day < week + timedelta(weeks=1))
    told, places = "active ones by category, week by week", {week: str(week) for week in weeks}
    return build_stacked_chart("Memories over time", told, places, grown, _CATEGORIES)


def _count_origins(
    memories: Sequence[Memory], refused: Iterable[CandidateVerdict]
) -> list[tuple[str, str, list[tuple[str, int, float]]]]:
    """Two charts: whose words active memories are based on, and why proposals were refused. Each has a title, a subtitle and, per
    name, its count and its percentage of the largest count.
    """
    whose = Counter(
        WHOSE.get(memory.evidence[0].author, memory.evidence[0].author) if memory.evidence else "told directly"
        for memory in memories
        if memory.status is Status.ACTIVE
    )
    reasons = Counter(find_refusal_reason(judged) for judged in refused)
    pictures = (("Where they come from", "whose words active memories rest on", whose), ("What was refused", "why", reasons))
    return [
        (title, told, [(name, count, round(100 * count / max(counts.values()), 1)) for name, count in counts.most_common()])
        for title, told, counts in pictures
        if counts.total()
    ]


def _chart_costs(workspace: Workspace) -> Chart | None:
    return build_chart("Spent on models", f"USD by day, the last {_DAYS}", daily_costs(workspace, _DAYS), share=False)
