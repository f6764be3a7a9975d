"""Days: a calendar, and what each day was."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import Response

from kept.core.markup import remove_invisible
from kept.core.summary import SummaryBullet, SummaryPart
from kept.days.day_notes import format_authors
from kept.journal import calendar
from kept.journal.calendar import CalendarDay
from kept.memories.day_view import load_day_view as look_at
from kept.web.navigation import NavigationPage
from kept.web.render import render_page
from kept.web.room import request_workspace

router = APIRouter()
PAGE = NavigationPage(id="days", title="Days", path="/days", key="d", router=router)

# Journals may say what a transcript said: nothing in them leads anywhere, fetches anything or is taken for markup of ours.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable(["link", "autolink", "image", "reference"])


@router.get("/days")
def days(request: Request, month: Annotated[str, Query(max_length=10)] = "") -> Response:
    """The calendar of a month: the one that is asked for, else the last in which something happened."""
    with request_workspace(request) as workspace:
        today = workspace.clock().astimezone(workspace.zone).date()
        first = calendar.parse_month(month, calendar.latest_active_day(workspace) or today)
        calendar_month = calendar.load_month(workspace, first)
        following = (first + timedelta(days=32)).replace(day=1)
        return render_page(
            request,
            workspace,
            "days.html",
            here=PAGE.id,
            found=calendar_month,
            after=calendar_month.after or (following if following <= today else None),
            weeks=_split_weeks(calendar_month.cells),
            today=today,
            busy=_most_sessions(calendar_month.cells),
        )


def _split_weeks(cells: tuple[CalendarDay, ...]) -> list[list[CalendarDay | None]]:
    """The days by week, Monday first; None where a week reaches into another month."""
    ahead: list[CalendarDay | None] = [None] * cells[0].day.weekday()
    every = [*ahead, *cells]
    every += [None] * (-len(every) % 7)
    return [every[at : at + 7] for at in range(0, len(every), 7)]


def _most_sessions(cells: Iterable[CalendarDay]) -> int:
    return max((calendar_day.sessions for calendar_day in cells), default=0) or 1


@router.get("/days/{day}")
def day_page(request: Request, day: str) -> Response:
    """What a day was."""
    with request_workspace(request) as workspace:
        which = workspace.day(day)
        day_view = look_at(workspace, which)
        entry = calendar.load_journal_entry(workspace, which)
        values: dict[str, Any] = {
            "which": which,
            "found": day_view,
            "sessions": calendar.load_day_sessions(workspace, which),
            "open": calendar.list_open_questions(workspace, which),
            "entry": entry,
            "html": Markup(_MARKDOWN.render(remove_invisible(_normalize_line_ends(entry.text)))) if entry else "",  # noqa: S704 - made with html off
            "told": _group_bullets(day_view.summary.condensed),
            "everything": _group_bullets(day_view.summary.detailed),
            "decided": [
                memory for memory in day_view.learnt if _is_in_part(memory.id, day_view.summary.detailed, SummaryPart.DECIDED)
            ],
            "learnt": [
                memory for memory in day_view.learnt if _is_in_part(memory.id, day_view.summary.detailed, SummaryPart.LEARNT)
            ],
            "before": which - timedelta(days=1),
            "after": which + timedelta(days=1),
            "month": which.strftime("%Y-%m"),
        }
        return render_page(request, workspace, "day.html", here=PAGE.id, **values)


def _normalize_line_ends(text: str) -> str:
    """Line ends stay, for they are what Markdown is made of."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_in_part(number: str, bullets: Iterable[SummaryBullet], part: SummaryPart) -> bool:
    return any(summary_bullet.source == number and summary_bullet.part is part for summary_bullet in bullets)


def _group_bullets(bullets: Iterable[SummaryBullet]) -> list[tuple[str, str, list[tuple[str, list[str]]]]]:
    """What is told of a day besides memories: by part and by whom it is told, then by project."""
    made = []
    for part in SummaryPart:
        inside = [
            summary_bullet
            for summary_bullet in bullets
            if summary_bullet.part is part and (part is SummaryPart.WORKED or summary_bullet.by)
        ]
        if inside:
            lines = [
                (scope, [summary_bullet.text for summary_bullet in some])
                for scope, some in groupby(inside, key=lambda each: each.scope)
            ]
            made.append((part.value.capitalize(), format_authors(inside), lines))
    return made
