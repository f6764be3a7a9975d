"""The pages for days: a calendar, and a page for each day."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import Response

from kept.core.errors import MissingError
from kept.core.markup import remove_invisible
from kept.core.memory import Memory
from kept.core.summary import SummaryBullet, SummaryPart
from kept.core.text import normal_form
from kept.days.day_notes import format_authors
from kept.days.summaries import part_of_category
from kept.journal import calendar
from kept.journal.calendar import CalendarDay
from kept.memories.day_view import find_wordings_at, load_day_view
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
    """Show the calendar of a month, by default the last month with activity.

    For a single project, also show its decisions, learnings and work.
    """
    with request_workspace(request) as workspace:
        today = workspace.clock().astimezone(workspace.zone).date()
        scope = _find_scope(workspace, project)
        first = calendar.parse_month(month, calendar.latest_active_day(workspace, scope) or today)
        calendar_month = calendar.load_month(workspace, first, frozenset({scope} - {""}))
        following = (first + timedelta(days=32)).replace(day=1)
        project_month = calendar.load_project_month(workspace, first, scope) if scope else None
        said = [memory for part in project_month.said.values() for _, memory, _ in part] if project_month else ()
        return render_page(
            request,
            workspace,
            "days.html",
            here=PAGE.id,
            calendar_month=calendar_month,
            after=calendar_month.after or (following if following <= today else None),
            weeks=_split_weeks(calendar_month.cells),
            today=today,
            project_month=project_month,
            then=find_wordings_at(workspace, said, workspace.day_bounds(following)[0]),
            parts=SummaryPart,
            **_project_values(workspace, scope),
            busiest=max((day.sessions for day in calendar_month.cells), default=0) or 1,
        )


def _split_weeks(cells: tuple[CalendarDay, ...]) -> list[list[CalendarDay | None]]:
    """Split the days of a month into weeks, Monday first. None stands for a day of another month."""
    squares: list[CalendarDay | None] = [*[None] * cells[0].day.weekday(), *cells]
    squares += [None] * (-len(squares) % 7)
    return [squares[at : at + 7] for at in range(0, len(squares), 7)]


def _find_scope(workspace: Workspace, project: str) -> str:
    """Check that a scope from the URL exists, and return it. Empty means all projects. Raises MissingError."""
    if project and project not in workspace.scope_names():
        raise MissingError(f"there is no project {project!r}", hint="choose one of those that are listed")
    return project


def _project_values(workspace: Workspace, scope: str) -> dict[str, Any]:
    """The template values for choosing a project: all scopes with their names, and the chosen scope."""
    return {"project": scope, "projects": sorted(workspace.scope_names().items(), key=lambda item: item[1].casefold())}


@router.get("/days/{day}")
def day_page(request: Request, day: str, project: ProjectName = "") -> Response:
    """Show a day, for all projects or one. A memory that is in several lists is shown only in the first of them."""
    with request_workspace(request) as workspace:
        which = workspace.day(day)
        scope = _find_scope(workspace, project)
        day_view = load_day_view(workspace, which, scopes=frozenset({scope} - {""}))
        entry = None if scope else calendar.load_journal_entry(workspace, which)
        asked = [memory for memory in calendar.list_open_questions(workspace, which) if scope in ("", memory.scope)]
        said = (*day_view.learnt, *day_view.ended)
        listed = {memory.id: memory for memory in (*said, *day_view.confirmed, *asked)}
        then = find_wordings_at(workspace, listed.values(), workspace.day_bounds(which)[1])
        shown = {normal_form(words) for memory in listed.values() for words in (memory.content, then.get(memory.id, ""))}
        parts: Mapping[SummaryPart, Sequence[Memory]] = {
            SummaryPart.WORKED: (),
            SummaryPart.DECIDED: [memory for memory in said if part_of_category(memory.category) is SummaryPart.DECIDED],
            SummaryPart.LEARNT: [memory for memory in said if part_of_category(memory.category) is SummaryPart.LEARNT],
            SummaryPart.OPEN: asked,
        }
        condensed = _take_new(day_view.summary.condensed, shown)
        sections = [
            DaySection(part, memories, [item for item in condensed if item.part is part]) for part, memories in parts.items()
        ]
        sessions = []
        for session in calendar.load_day_sessions(workspace, which, scope):
            new = _take_new(session.worked, shown)
            sessions.append((session, new, [bullet for bullet in session.worked if bullet not in new]))
        values: dict[str, Any] = {
            "which": which,
            "sections": [section for section in sections if section.memories or section.bullets],
            "confirmed": day_view.confirmed,
            "reworded": day_view.reworded,
            "sessions": sessions,
            "rest": _take_new(day_view.summary.detailed, shown),
            "by_scope": _group_by_scope,
            "authors": format_authors,
            "then": then,
            **_project_values(workspace, scope),
            "entry": entry,
            "html": Markup(_MARKDOWN.render(remove_invisible(_normalize_line_ends(entry.text)))) if entry else "",  # noqa: S704 - made with html off
            "before": which - timedelta(days=1),
            "after": which + timedelta(days=1),
            "month": which.strftime("%Y-%m"),
        }
        return render_page(request, workspace, "day.html", here=PAGE.id, **values)


class DaySection(NamedTuple):
    """A part of the page of a day: its memories, and the lines of the day's summary that say something else."""

    part: SummaryPart
    memories: Sequence[Memory]
    bullets: Sequence[SummaryBullet]


def _take_new(bullets: Iterable[SummaryBullet], shown: set[str]) -> list[SummaryBullet]:
    """The bullets that are neither memories nor in ``shown`` (normal forms). Their normal forms are added to ``shown``."""
    taken = []
    for bullet in bullets:
        form = normal_form(bullet.text)
        if not bullet.remembered and form not in shown:
            shown.add(form)
            taken.append(bullet)
    return taken


def _group_by_scope(bullets: Iterable[SummaryBullet]) -> list[tuple[str, list[str]]]:
    return [(scope, [bullet.text for bullet in inside]) for scope, inside in groupby(bullets, key=lambda bullet: bullet.scope)]


def _normalize_line_ends(text: str) -> str:
    """Convert all line ends to line feeds, which Markdown needs. Carriage returns would be removed as invisible characters."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
