"""Templates, and how values look in them. Everything a template puts out is escaped, and stripped of what nobody sees.

A page is whole, or, where htmx asks for a part of it (header ``HX-Request``), only its ``<main>``: templates need not care.
"""

from collections.abc import Callable, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from kept import __version__
from kept.core.markup import remove_invisible
from kept.core.memory import USER_SCOPE
from kept.core.project import PROJECT
from kept.core.times import format_day, format_minute
from kept.local.queue import load_failures
from kept.memories.browse import WHOSE
from kept.profiles.profile import category_title
from kept.recall.spelling import excerpt
from kept.web.assets import asset_url
from kept.web.navigation import NavigationPage
from kept.web.room import web_context
from kept.workspace import Workspace


def is_htmx_request(request: Request) -> bool:
    """Whether htmx asks for a part of a page."""
    return request.headers.get("hx-request") == "true" and "hx-history-restore-request" not in request.headers


def render_page(request: Request, workspace: Workspace, template: str, *, here: str, status: int = 200, **values: Any) -> Response:
    """A page out of a template; ``here`` is the id of the page the navigation marks."""
    nav = [(page, page.count(workspace) if page.count else 0) for page in _visible_pages(request)]
    marks = {page.id: page.mark(workspace) for page in _visible_pages(request) if page.mark}
    frame = {"nav": nav, "marks": marks, "here": here, "version": __version__, "sample": _is_sample_shown(request)}
    frame["failures"] = load_failures(str(workspace.paths.state))
    return _render_template(template, status, _workspace_functions(workspace) | values | frame)


def render_part(workspace: Workspace, template: str, *, status: int = 200, **values: Any) -> Response:
    """A part of a page out of a template of its own, for htmx to put somewhere."""
    return _render_template(template, status, _workspace_functions(workspace) | values)


def problem_page(request: Request, status: int, problem: dict[str, str]) -> Response:
    """What went wrong, as a page; or as one line where htmx asks."""
    name = "problem_line.html" if is_htmx_request(request) else "problem.html"
    title = HTTPStatus(status).phrase
    return _render_template(name, status, {"problem": problem, "title": title, **_frame_values(request)})


def render_bare_page(request: Request, template: str, *, here: str, **values: Any) -> Response:
    """A page for when there is no workspace to be had: the navigation counts nothing."""
    return _render_template(template, HTTPStatus.OK, values | _frame_values(request) | {"here": here})


def _frame_values(request: Request) -> dict[str, Any]:
    """What stands around a page where there is no workspace that could count."""
    nav = [(page, 0) for page in _visible_pages(request)]
    told = load_failures(str(web_context(request).home.state))
    return {"nav": nav, "marks": {}, "here": "", "version": __version__, "sample": _is_sample_shown(request), "failures": told}


async def sign_in_page(scope: Scope, receive: Receive, send: Send) -> None:
    """What is shown in place of any page until a browser has shown the key. At the front it is no failure."""
    status = HTTPStatus.OK if scope["path"] in ("/", "/overview") else HTTPStatus.UNAUTHORIZED
    await _render_template("sign_in.html", status, {})(scope, receive, send)


def _is_sample_shown(request: Request) -> bool:
    return web_context(request).in_sample.is_set()


def _visible_pages(request: Request) -> tuple[NavigationPage, ...]:
    navigation_pages: tuple[NavigationPage, ...] = request.app.state.pages
    return navigation_pages


def _render_template(template: str, status: int, values: dict[str, Any]) -> Response:
    return HTMLResponse(_create_environment().get_template(template).render(values), status_code=status)


@cache
def _create_environment() -> Environment:
    made = Environment(
        loader=PackageLoader("kept.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_make_visible,
        auto_reload=False,
    )
    made.globals["asset"] = asset_url
    made.filters["whose"] = lambda author: WHOSE.get(author, author)
    made.filters["counted"] = _format_count
    made.filters["said"] = render_sentence
    made.filters["short"] = excerpt
    made.filters["to_you"] = _address_person
    return made


def _make_visible(value: Any) -> Any:
    """A value as it may be shown: Markup is ours, every other text may come from a transcript."""
    return remove_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _format_count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _address_person(reason: str) -> str:
    """A reason as the log has it, said to the person it speaks of."""
    for theirs, yours in (("the user said themselves", "you said yourself"), ("the user's", "your"), ("the user", "you")):
        reason = reason.replace(theirs, yours)
    return reason


def render_sentence(text: str, words: Sequence[str] = ()) -> Markup:
    """A memory's sentence: what stands between backticks as code, and what was searched for marked."""
    parts = remove_invisible(text).split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner is one
        parts[-2:] = ["`".join(parts[-2:])]
    return Markup("").join(
        Markup("<code>{}</code>").format(_mark_words(each, words)) if number % 2 and each else _mark_words(each, words)
        for number, each in enumerate(parts)
    )


def _mark_words(text: str, words: Sequence[str]) -> Markup:
    """The text with every occurrence of a word in ``<mark>``; the longest word first, letters of any case."""
    lower = text.casefold()
    if len(lower) != len(text):  # a letter that is two in lower case would shift every mark
        return escape(text)
    made, at = Markup(""), 0
    while at < len(text):
        found = [(place, -len(word)) for word in words if word and (place := lower.find(word, at)) >= 0]
        if not found:
            break
        place, size = min(found)
        made += escape(text[at:place]) + Markup("<mark>{}</mark>").format(text[place : place - size])
        at = place - size
    return made + escape(text[at:])


def _workspace_functions(workspace: Workspace) -> dict[str, Callable[..., str]]:
    """How templates name what the workspace knows: days and moments in its zone, scopes and categories by their titles."""
    names: dict[str, str] = {}

    def scope(which: str) -> str:
        if not names:
            names.update({"": "", **workspace.scope_names()})
        return "everywhere" if which == USER_SCOPE else names.get(which, which.removeprefix(PROJECT))

    return {
        "day": lambda instant: format_day(instant, workspace.zone),
        "moment": lambda instant: format_minute(instant, workspace.zone),
        "scope": scope,
        "kind": lambda memory: category_title(workspace.profiles, memory.profile, memory.category),
    }
