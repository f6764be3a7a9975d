"""The pages for days: a calendar, and one page per day."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import Response

from kept.core.errors import MissingError
from kept.core.markup import remove_invisible
from kept.core.summary import SummaryBullet, SummaryPart
from kept.days.day_notes import format_authors
from kept.days.summaries import part_of_category
from kept.journal import calendar
from kept.journal.calendar import CalendarDay
from kept.memories.day_view import find_wordings_at
from kept.memories.day_view import load_day_view as look_at
from kept.web.context import request_workspace
from kept.web.render import NavigationPage, render_page
from kept.workspace import Workspace

router = APIRouter()
PAGE = NavigationPage(id="days", title="Days", path="/days", key="d", router=router)

ProjectName = Annotated[str, Query(max_length=400, description="The scope of a project; empty: all of them.")]

# A journal may quote a transcript, so its Markdown is rendered without links, images and HTML.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable(["link", "autolink", "image", "reference"])


@router.get("/days")
def days(request: Request, month: Annotated[str, Query(max_length=10)] = "", project: ProjectName = "") -> Response:
    """The calendar of a month, by default the last with activity; for all projects, or for one with its decisions, learnings and
    work.
    """
    with request_workspace(request) as workspace:
        today = workspace.clock().astimezone(workspace.zone).date()
        scope = _find_scope(workspace, project)
        first = calendar.parse_month(month, calendar.latest_active_day(workspace, scope) or today)
        calendar_month = calendar.load_month(workspace, first, frozenset({scope} - {""}))
        following = (first + timedelta(days=32)).replace(day=1)
        of = calendar.load_project_month(workspace, first, scope) if scope else None
        said = [memory for part in of.said.values() for _, memory, _ in part] if of else ()
        return render_page(
            request,
            workspace,
            "days.html",
            here=PAGE.id,
            found=calendar_month,
            after=calendar_month.after or (following if following <= today else None),
            weeks=_split_weeks(calendar_month.cells),
            today=today,
            of=of,
            then=find_wordings_at(workspace, said, workspace.day_bounds(following)[0]),
            parts=SummaryPart,
            **_project_values(workspace, scope),
            busy=(max((day.sessions for day in calendar_month.cells), default=0) or 1),
        )


def _split_weeks(cells: tuple[CalendarDay, ...]) -> list[list[CalendarDay | None]]:
    """The days by week, Monday first; None for days of another month."""
    ahead: list[CalendarDay | None] = [None] * cells[0].day.weekday()
    every = [*ahead, *cells]
    every += [None] * (-len(every) % 7)
    return [every[at : at + 7] for at in range(0, len(every), 7)]


def _find_scope(workspace: Workspace, project: str) -> str:
    """Check the scope in the URL; empty means all projects. Raises MissingError."""
    if project and project not in workspace.scope_names():
        raise MissingError(f"there is no project {project!r}", hint="choose one of those that are listed")
    return project


def _project_values(workspace: Workspace, scope: str) -> dict[str, Any]:
    """The values for the choice of a project: the projects by name, and the chosen one."""
    return {"project": scope, "projects": sorted(workspace.scope_names().items(), key=lambda each: each[1].casefold())}


@router.get("/days/{day}")
def day_page(request: Request, day: str, project: ProjectName = "") -> Response:
    """The page of one day, for all projects or one."""
    with request_workspace(request) as workspace:
        which = workspace.day(day)
        scope = _find_scope(workspace, project)
        day_view = look_at(workspace, which, scopes=frozenset({scope} - {""}))
        entry = None if scope else calendar.load_journal_entry(workspace, which)
        asked = [memory for memory in calendar.list_open_questions(workspace, which) if scope in ("", memory.scope)]
        said = (*day_view.learnt, *day_view.ended)
        shown = {memory.id: memory for memory in (*said, *day_view.confirmed, *asked)}
        values: dict[str, Any] = {
            "which": which,
            "found": day_view,
            "sessions": calendar.load_day_sessions(workspace, which, scope),
            "open": asked,
            "then": find_wordings_at(workspace, shown.values(), workspace.day_bounds(which)[1]),
            **_project_values(workspace, scope),
            "entry": entry,
            "html": Markup(_MARKDOWN.render(remove_invisible(_normalize_line_ends(entry.text)))) if entry else "",  # noqa: S704 - made with html off
            "told": _group_bullets(day_view.summary.condensed),
            "everything": _group_bullets(day_view.summary.detailed),
            "decided": [memory for memory in said if part_of_category(memory.category) is SummaryPart.DECIDED],
            "learnt": [memory for memory in said if part_of_category(memory.category) is SummaryPart.LEARNT],
            "before": which - timedelta(days=1),
            "after": which + timedelta(days=1),
            "month": which.strftime("%Y-%m"),
        }
        return render_page(request, workspace, "day.html", here=PAGE.id, **values)


def _normalize_line_ends(text: str) -> str:
    """Convert line ends to line feeds, so that they remain when invisible characters are removed: Markdown needs them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _group_bullets(bullets: Iterable[SummaryBullet]) -> list[tuple[str, str, list[tuple[str, list[str]]]]]:
    """The bullets of a day that are not memories: by part, with the authors, then by project."""
    made = []
    for part in SummaryPart:
        inside = [bullet for bullet in bullets if bullet.part is part and not bullet.remembered]
        if inside:
            lines = [(scope, [bullet.text for bullet in some]) for scope, some in groupby(inside, key=lambda each: each.scope)]
            made.append((part.value.capitalize(), format_authors(inside), lines))
    return made
