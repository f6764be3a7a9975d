"""Days: a calendar, and what each day was."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import Response

from kept.core.markup import visible
from kept.core.summary import Bullet, Part
from kept.days.day_notes import by_whom
from kept.journal import calendar
from kept.journal.calendar import Cell
from kept.memories.day_view import day as look_at
from kept.web.navigation import Page
from kept.web.render import page
from kept.web.room import at_desk

router = APIRouter()
PAGE = Page(id="days", title="Days", path="/days", key="d", router=router)

# Journals may say what a transcript said: nothing in them leads anywhere, fetches anything or is taken for markup of ours.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable(["link", "autolink", "image", "reference"])


@router.get("/days")
def days(request: Request, month: Annotated[str, Query(max_length=10)] = "") -> Response:
    """The calendar of a month: the one that is asked for, else the last in which something happened."""
    with at_desk(request) as workspace:
        today = workspace.clock().astimezone(workspace.zone).date()
        first = calendar.month_of(month, calendar.latest(workspace) or today)
        found = calendar.month(workspace, first)
        following = (first + timedelta(days=32)).replace(day=1)
        return page(
            request,
            workspace,
            "days.html",
            here=PAGE.id,
            found=found,
            after=found.after or (following if following <= today else None),
            weeks=_weeks(found.cells),
            today=today,
            busy=_busiest(found.cells),
        )


def _weeks(cells: tuple[Cell, ...]) -> list[list[Cell | None]]:
    """The days by week, Monday first; None where a week reaches into another month."""
    ahead: list[Cell | None] = [None] * cells[0].day.weekday()
    every = [*ahead, *cells]
    every += [None] * (-len(every) % 7)
    return [every[at : at + 7] for at in range(0, len(every), 7)]


def _busiest(cells: Iterable[Cell]) -> int:
    return max((each.sessions for each in cells), default=0) or 1


@router.get("/days/{day}")
def one_day(request: Request, day: str) -> Response:
    """What a day was."""
    with at_desk(request) as workspace:
        which = workspace.day(day)
        found = look_at(workspace, which)
        entry = calendar.diary(workspace, which)
        values: dict[str, Any] = {
            "which": which,
            "found": found,
            "sessions": calendar.sessions(workspace, which),
            "open": calendar.still_open(workspace, which),
            "entry": entry,
            "html": Markup(_MARKDOWN.render(visible(_kept(entry.text)))) if entry else "",  # noqa: S704 - made with html off
            "told": _group_bullets(found.summary.condensed),
            "everything": _group_bullets(found.summary.detailed),
            "decided": [each for each in found.learnt if _is(each.id, found.summary.detailed, Part.DECIDED)],
            "learnt": [each for each in found.learnt if _is(each.id, found.summary.detailed, Part.LEARNT)],
            "before": which - timedelta(days=1),
            "after": which + timedelta(days=1),
            "month": which.strftime("%Y-%m"),
        }
        return page(request, workspace, "day.html", here=PAGE.id, **values)


def _kept(text: str) -> str:
    """Line ends stay, for they are what Markdown is made of."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is(number: str, bullets: Iterable[Bullet], part: Part) -> bool:
    return any(each.source == number and each.part is part for each in bullets)


def _group_bullets(bullets: Iterable[Bullet]) -> list[tuple[str, str, list[tuple[str, list[str]]]]]:
    """What is told of a day besides memories: by part and by whom it is told, then by project."""
    made = []
    for part in Part:
        inside = [each for each in bullets if each.part is part and (part is Part.WORKED or each.by)]
        if inside:
            lines = [(scope, [each.text for each in some]) for scope, some in groupby(inside, key=lambda each: each.scope)]
            made.append((part.value.capitalize(), by_whom(inside), lines))
    return made
