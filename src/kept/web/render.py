"""Templates, and how values look in them. Everything a template puts out is escaped, and stripped of what nobody sees.

A page is whole, or, where htmx asks for a part of it (header ``HX-Request``), only its ``<main>``: templates need not care. Style,
scripts and pictures are read once; each is served under the hash of its bytes, and never traversed to.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from kept import __version__
from kept.core.markup import remove_invisible
from kept.core.memory import USER_SCOPE
from kept.core.project import PROJECT
from kept.core.times import format_day, format_minute
from kept.core.value import dataclass
from kept.local.queue import load_failures
from kept.memories.browse import WHOSE, address_person
from kept.pipeline.erase.forget import list_left
from kept.profiles.profile import category_title
from kept.recall.spelling import excerpt
from kept.web.room import web_context
from kept.workspace import Workspace

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FOREVER, _ANEW = "public, max-age=31536000, immutable", "no-cache"

router = APIRouter()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A file as it is served. ``mark`` is the beginning of the hash of its bytes."""

    data: bytes
    mark: str
    kind: str


@cache
def load_assets() -> Mapping[str, Asset]:
    """Every file that is served, by its name."""
    found = {}
    for traversable in files("kept.web").joinpath("static").iterdir():
        kind = _TYPES.get(traversable.name.rpartition(".")[2])
        if kind is not None:
            data = traversable.read_bytes()
            found[traversable.name] = Asset(data=data, mark=hashlib.sha256(data).hexdigest()[:16], kind=kind)
    return found


def asset_url(name: str) -> str:
    """Where a file is found, for as long as its bytes are these."""
    return f"/static/{name}?{load_assets()[name].mark}"


@router.get("/static/{name}", include_in_schema=False)
def static(request: Request, name: str) -> Response:
    """A file, to be kept for good under the hash of its bytes."""
    asset = load_assets().get(name)
    if asset is None:
        raise HTTPException(404)
    headers = {"etag": f'"{asset.mark}"', "cache-control": _FOREVER if request.url.query == asset.mark else _ANEW}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(asset.data, media_type=asset.kind, headers=headers)


@dataclass(frozen=True, kw_only=True, slots=True)
class NavigationPage:
    """``path`` is where the navigation leads, ``key`` the letter that goes there after ``g``; ``count`` says how much waits there,
    ``mark`` what must be seen on every page (empty: nothing).
    """

    id: str
    title: str
    path: str
    key: str
    router: APIRouter
    count: Callable[[Workspace], int] | None = None
    mark: Callable[[Workspace], str] | None = None


def is_htmx_request(request: Request) -> bool:
    """Whether htmx asks for a part of a page."""
    return request.headers.get("hx-request") == "true" and "hx-history-restore-request" not in request.headers


_ENDING = re.compile(r"(?<=[a-z]{4})(?:s|es|ed|ing)$|(?<=[a-z]{3})(?<=e)s$")
_BOLD = re.compile(r"\*\*(\S[^*\n]*)\*\*|\*\*$")


def render_page(request: Request, workspace: Workspace, template: str, *, here: str, status: int = 200, **values: Any) -> Response:
    """A page out of a template; ``here`` is the id of the page the navigation marks."""
    nav = [(page, page.count(workspace) if page.count else 0) for page in _visible_pages(request)]
    marks = {page.id: page.mark(workspace) for page in _visible_pages(request) if page.mark}
    frame = {"nav": nav, "marks": marks, "here": here, "version": __version__, "sample": _is_sample_shown(request)}
    frame |= {"failures": load_failures(str(workspace.paths.state)), "left": list_left(workspace)}
    return _render_template(template, status, _workspace_functions(workspace) | values | frame)


def render_part(workspace: Workspace, template: str, *, status: int = 200, **values: Any) -> Response:
    """A part of a page out of a template of its own, for htmx to put somewhere."""
    return _render_template(template, status, _workspace_functions(workspace) | values)


def problem_page(request: Request, status: int, problem: dict[str, str]) -> Response:
    """What went wrong, as a page; or as one line where htmx asks."""
    name = "problem_line.html" if is_htmx_request(request) else "problem.html"
    title, pages, path = HTTPStatus(status).phrase, _visible_pages(request), request.url.path
    fit = [page for page in pages if path.startswith(page.path) or (page.path == "/" and path.startswith("/memories"))]
    back = max(fit, key=lambda page: len(page.path), default=pages[0])
    values = _frame_values(request) | {"here": back.id, "back": back}
    return _render_template(name, status, {"problem": problem, "title": title, **values})


def render_bare_page(request: Request, template: str, *, here: str, **values: Any) -> Response:
    """A page for when there is no workspace to be had: the navigation counts nothing."""
    return _render_template(template, HTTPStatus.OK, values | _frame_values(request) | {"here": here})


def _frame_values(request: Request) -> dict[str, Any]:
    """What stands around a page where there is no workspace that could count."""
    nav = [(page, 0) for page in _visible_pages(request)]
    told = load_failures(str(web_context(request).home.state))
    empty = {"nav": nav, "marks": {}, "here": "", "left": {}}
    return empty | {"version": __version__, "sample": _is_sample_shown(request), "failures": told}


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
    made.filters["to_you"] = address_person
    return made


def _make_visible(value: Any) -> Any:
    """A value as it may be shown: Markup is ours, every other text may come from a transcript."""
    return remove_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _format_count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def render_sentence(text: str, words: Sequence[str] = ()) -> Markup:
    """A memory's sentence: what stands between backticks as code, what was searched for marked, and no stars for bold letters."""
    parts = _BOLD.sub(r"\1", remove_invisible(text)).split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner is one
        parts[-2:] = ["`".join(parts[-2:])]
    return Markup("").join(
        Markup("<code>{}</code>").format(_mark_words(each, words)) if number % 2 and each else _mark_words(each, words)
        for number, each in enumerate(parts)
    )


def _mark_words(text: str, words: Sequence[str]) -> Markup:
    """The text with every word that begins with one of ``words``, or with what is left of one without its ending, in ``<mark>`` as
    far as it is the same; letters of any case.
    """
    lower = text.casefold()
    if len(lower) != len(text):  # a letter that is two in lower case would shift every mark
        return escape(text)
    stems = sorted({stem for word in words for stem in (word, _ENDING.sub("", word)) if stem}, key=len, reverse=True)
    found = re.finditer("|".join(map(re.escape, stems)), lower) if stems else ()
    made, at = Markup(""), 0
    for mark in found:
        start, before = mark.start(), text[mark.start() - 1 : mark.start()]
        if before.isascii() and before.isalpha() and not (before.islower() and text[start].isupper()):
            continue  # within a word, and no part of an identifier
        made += escape(text[at:start]) + Markup("<mark>{}</mark>").format(text[start : mark.end()])
        at = mark.end()
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
