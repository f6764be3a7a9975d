"""The overview page: new memories, pending proposals, the last active days, what the next sessions get, health, and charts."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from kept.core.memory import CandidateVerdict, Memory, Status
from kept.core.text import normal_form
from kept.core.value import dataclass
from kept.intake.survey import find_outages
from kept.memories import waiting
from kept.memories.browse import find_main_evidence, format_author
from kept.memories.day_view import DayView
from kept.memories.day_view import load_day_view as look_at
from kept.memories.differences import DifferenceKind, list_differences
from kept.memories.history import run_changes, run_history
from kept.outputs.compose.sheet import recency_of
from kept.outputs.routing import preview_start
from kept.pipeline.run_report import ChartPoint, daily_costs
from kept.profiles.profile import category_title
from kept.recall.preview import session_directories
from kept.web.context import request_workspace
from kept.web.pages.review import find_refusal_reason
from kept.web.pages.runs import describe_who
from kept.web.pages.settings import describe_nightly_job
from kept.web.render import NavigationPage, render_page
from kept.workspace import Workspace

router = APIRouter()
PAGE = NavigationPage(id="overview", title="Overview", path="/overview", key="o", router=router)

_NEW, _RUNS, _WAITING, _BULLETS, _PROJECTS, _LAST_DAYS = 8, 5, 3, 4, 5, 2  # maximum number of each that are shown
_WEEKS, _DAYS = 26, 30
_WIDTH, _HEIGHT = 600, 96  # size of a chart, in its own units
_GAP = 0.25  # empty share of a bar's width


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle in a chart, in the chart's units, with its label."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A bar chart of the days from ``first`` to ``last``. ``top`` is the label at the upper end of the axis."""

    title: str
    subtitle: str
    top: str
    first: str
    last: str
    bars: tuple[Bar, ...]
    width: int = _WIDTH
    height: int = _HEIGHT


@router.get("/overview")
def overview(request: Request) -> Response:
    """Show the overview."""
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
            tables=_count_origins(memories, refused),
            charts=[chart for chart in (_chart_growth(workspace, memories, today), _chart_costs(workspace)) if chart],
            year=year_squares(minutes, today),
        )


def _recent_changes(workspace: Workspace) -> list[Any]:
    """The latest run that changed memories, and its changes, the most important first. Empty if none of the last runs did.

    Confirming a memory does not count as a change.
    """
    for entry in run_history(workspace, _RUNS):
        memory_differences = [
            difference
            for difference in list_differences(run_changes(workspace, [made for made, _ in entry.passes]))
            if difference.what is not DifferenceKind.CONFIRMED
        ]
        if memory_differences:
            return [entry, memory_differences]
    return []


def _list_projects(workspace: Workspace, memories: Iterable[Memory]) -> list[tuple[str, str, int, int, int]]:
    """The projects with the latest memories. Each is a tuple of name, directory, and three counts.

    The counts are the project's active memories, the memories that a session in the directory gets at its start, and the memories
    of other projects that it gets in addition.
    """
    active = [memory for memory in memories if memory.status is Status.ACTIVE]
    counts, last = Counter(memory.scope for memory in active), recency_of(active)
    known = [(workspace.scope(directory), directory, name) for directory, name in session_directories(workspace)]
    latest = sorted(known, key=lambda each: (-last.get(each[0], 0.0), each[2]))[:_PROJECTS]
    starts = [(name, directory, counts[scope], preview_start(workspace, directory)) for scope, directory, name in latest]
    return [(name, directory, count, start.memory_count, len(start.foreign)) for name, directory, count, start in starts]


def _last_backup(workspace: Workspace) -> datetime | None:
    """The time of the newest automatic backup; None if there is none."""
    latest = max((copy.stat().st_mtime for copy in workspace.paths.backups.glob("*.db")), default=0.0)
    return datetime.fromtimestamp(latest, UTC) if latest else None


def _summarize_day(found: DayView, shown: Collection[str]) -> list[str]:
    """The first distinct lines of a day's summary, without those whose normal form is in ``shown``."""
    lines = {normal_form(bullet.text.rstrip(".")): bullet.text for bullet in found.summary.condensed}
    return [text for key, text in lines.items() if key not in shown][:_BULLETS]


def _chart_growth(workspace: Workspace, memories: Sequence[Memory], today: date) -> Chart | None:
    monday = today - timedelta(days=today.weekday())
    seen = [
        (entry.first_seen.astimezone(workspace.zone).date(), category_title(workspace.profiles, entry.profile, entry.category))
        for entry in memories
        if entry.status is Status.ACTIVE and entry.first_seen is not None
    ]
    points = []
    for week in (monday - timedelta(weeks=back) for back in range(_WEEKS - 1, -1, -1)):
        there = Counter(title for day, title in seen if day < week + timedelta(weeks=1))
        parts = ", ".join(f"{count:,} {title}" for title, count in there.most_common()) or "none"
        points.append(ChartPoint(day=week, value=there.total(), label=f"week of {week}: {there.total():,}, {parts}"))
    return build_chart("Memories over time", "active ones, week by week, with their categories", points)


def _count_origins(
    memories: Sequence[Memory], refused: Iterable[CandidateVerdict]
) -> list[tuple[str, str, list[tuple[str, int, float]]]]:
    """Two charts: whose words the active memories are based on, and why proposals were refused.

    Each has a title, a subtitle, and rows with a name, a count, and the count as a percentage of the largest one.
    """
    whose = Counter(
        format_author(source) if (source := find_main_evidence(memory)) else "told directly"
        for memory in memories
        if memory.status is Status.ACTIVE
    )
    reasons = Counter(find_refusal_reason(judged) for judged in refused)
    pictures = (("Where they come from", "whose words active memories rest on", whose), ("What was refused", "why", reasons))
    return [
        (title, subtitle, [(name, count, round(100 * count / max(counts.values()), 1)) for name, count in counts.most_common()])
        for title, subtitle, counts in pictures
        if counts.total()
    ]


def _chart_costs(workspace: Workspace) -> Chart | None:
    return build_chart("Spent on models", f"USD by day, the last {_DAYS}", daily_costs(workspace, _DAYS), "USD")


def build_chart(title: str, subtitle: str, points: Sequence[ChartPoint], unit: str = "") -> Chart | None:
    """Build a bar chart from points, oldest first. ``unit`` is the unit of the values. None if there are no points or all are 0."""
    top = max((point.value for point in points), default=0)
    if not top:
        return None
    step = _WIDTH / max(len(points), 12)
    bars = []
    for number, point in enumerate(points):
        height = max(round(_HEIGHT * point.value / top, 1), 1.0)
        corner = (round(number * step, 1), round(_HEIGHT - height, 1))
        bars.append(Bar(*corner, width=round(step * (1 - _GAP), 1), height=height, label=point.label))
    return Chart(
        title=title,
        subtitle=subtitle,
        top=f"{top:.2f} {unit}" if unit else f"{top:,.0f}",
        first=points[0].day.isoformat(),
        last=points[-1].day.isoformat(),
        bars=tuple(bars),
    )


def year_squares(activity: Mapping[date, int], today: date) -> tuple[tuple[int, int, int, date, int], ...]:
    """The days of the last year as squares: column (week), row (weekday), level of activity (0 to 4), day, active minutes."""
    first = today - timedelta(days=364 + today.weekday())
    busiest = max((count for day, count in activity.items() if day >= first), default=0) or 1
    days = [first + timedelta(days=number) for number in range((today - first).days + 1)]
    return tuple(
        ((day - first).days // 7, day.weekday(), -(-4 * activity.get(day, 0) // busiest), day, activity.get(day, 0)) for day in days
    )
