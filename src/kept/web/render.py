"""Render templates and serve static files. All template output is escaped, and invisible characters are removed from it.

Style sheets, scripts and pictures are read once, at the first request. Their URLs contain a hash of their bytes. A request selects
one of these files by name, so it cannot traverse the file system.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from kept.core.text import Change, format_count
from kept.core.times import format_day, format_minute
from kept.core.value import dataclass
from kept.local.queue import load_failures
from kept.memories.browse import WHOSE, address_person, find_main_evidence, format_author
from kept.pipeline.erase.forget import list_left
from kept.profiles.profile import category_title
from kept.recall.spelling import excerpt
from kept.web.context import web_context
from kept.workspace import Workspace

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FOREVER, _ANEW = "public, max-age=31536000, immutable", "no-cache"

router = APIRouter()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A static file. ``mark`` is the first 16 hex digits of the SHA-256 of its bytes."""

    data: bytes
    mark: str
    kind: str


@cache
def load_assets() -> Mapping[str, Asset]:
    """Read all static files. Returns them by name."""
    found = {}
    for traversable in files("kept.web").joinpath("static").iterdir():
        kind = _TYPES.get(traversable.name.rpartition(".")[2])
        if kind is not None:
            data = traversable.read_bytes()
            found[traversable.name] = Asset(data=data, mark=hashlib.sha256(data).hexdigest()[:16], kind=kind)
    return found


def asset_url(name: str) -> str:
    """The URL of a static file. It contains the file's hash, so it changes with the bytes."""
    return f"/static/{name}?{load_assets()[name].mark}"


@router.get("/static/{name}", include_in_schema=False)
def static(request: Request, name: str) -> Response:
    """Return a static file. A browser may cache it forever if the URL has the hash of its bytes."""
    asset = load_assets().get(name)
    if asset is None:
        raise HTTPException(404)
    headers = {"etag": f'"{asset.mark}"', "cache-control": _FOREVER if request.url.query == asset.mark else _ANEW}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(asset.data, media_type=asset.kind, headers=headers)


@dataclass(frozen=True, kw_only=True, slots=True)
class NavigationPage:
    """A page in the navigation. ``path`` is its URL path. Typing ``g`` and then ``key`` opens it.

    ``count`` returns the number of pending things on the page. ``mark`` returns a word that the navigation shows, or an empty text.
    """

    id: str
    title: str
    path: str
    key: str
    router: APIRouter
    count: Callable[[Workspace], int] | None = None
    mark: Callable[[Workspace], str] | None = None


def is_htmx_request(request: Request) -> bool:
    """True if htmx requests a part of a page."""
    return request.headers.get("hx-request") == "true" and "hx-history-restore-request" not in request.headers


_ENDING = re.compile(r"(?<=[a-z]{4})(?:s|es|ed|ing)$|(?<=[a-z]{3})(?<=e)s$")
_BOLD = re.compile(r"\*\*(\S[^*\n]*)\*\*|\*\*$")
_UNBROKEN = 28  # maximum characters of a word in code that is not broken; so many fit in a line on a phone


def render_page(request: Request, workspace: Workspace, template: str, *, here: str, status: int = 200, **values: Any) -> Response:
    """Render a page from a template. ``here`` is the id of the page that the navigation marks as current."""
    nav = [(page, page.count(workspace) if page.count else 0) for page in _visible_pages(request)]
    marks = {page.id: page.mark(workspace) for page in _visible_pages(request) if page.mark}
    frame = {"nav": nav, "marks": marks, "here": here, "version": __version__, "sample": _is_sample_shown(request)}
    frame |= {"failures": load_failures(str(workspace.paths.state)), "left": list_left(workspace)}
    return _render_template(template, status, _workspace_functions(workspace) | values | frame)


def render_part(workspace: Workspace, template: str, *, status: int = 200, **values: Any) -> Response:
    """Render a part of a page, which htmx inserts."""
    return _render_template(template, status, _workspace_functions(workspace) | values)


def problem_page(request: Request, status: int, problem: dict[str, str]) -> Response:
    """An error as a page, or as one line if htmx made the request."""
    name = "problem_line.html" if is_htmx_request(request) else "problem.html"
    title, pages, path = HTTPStatus(status).phrase, _visible_pages(request), request.url.path
    fit = [page for page in pages if path.startswith(page.path) or (page.path == "/" and path.startswith("/memories"))]
    back = max(fit, key=lambda page: len(page.path), default=pages[0])
    values = _frame_values(request) | {"here": back.id, "back": back}
    return _render_template(name, status, {"problem": problem, "title": title, **values})


def render_bare_page(request: Request, template: str, *, here: str, **values: Any) -> Response:
    """Render a page without a workspace, for when none can be opened. The navigation shows no counts."""
    return _render_template(template, HTTPStatus.OK, values | _frame_values(request) | {"here": here})


def _frame_values(request: Request) -> dict[str, Any]:
    """The template values for the frame of a page without a workspace. The navigation has no counts and no marks."""
    nav = [(page, 0) for page in _visible_pages(request)]
    failures = load_failures(str(web_context(request).home.state))
    empty = {"nav": nav, "marks": {}, "here": "", "left": {}}
    return empty | {"version": __version__, "sample": _is_sample_shown(request), "failures": failures}


async def sign_in_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Show the sign-in page instead of any other page, until the browser has signed in.

    Its status is 401. It is 200 for the first pages that a browser opens, because the sign-in takes place there.
    """
    status = HTTPStatus.OK if scope["path"] in ("/", "/overview") else HTTPStatus.UNAUTHORIZED
    await _render_template("sign_in.html", status, {})(scope, receive, send)


def _is_sample_shown(request: Request) -> bool:
    return web_context(request).sample_shown.is_set()


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
    made.filters["source"] = find_main_evidence
    made.filters["by"] = format_author
    made.filters["counted"] = format_count
    made.filters["said"] = render_sentence
    made.filters["diffed"] = render_diff
    made.filters["short"] = excerpt
    made.filters["to_you"] = address_person
    return made


def _make_visible(value: Any) -> Any:
    """Remove invisible characters from a text. Markup is returned unchanged, because only kept itself makes it."""
    return remove_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_sentence(text: str, words: Sequence[str] = ()) -> Markup:
    """A memory's text as HTML.

    Text in backticks becomes code, the ``words`` are marked, and the asterisks of bold text are removed.
    """
    parts = _BOLD.sub(r"\1", remove_invisible(text)).split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner stays in the text
        parts[-2:] = ["`".join(parts[-2:])]
    return Markup("").join(
        Markup("<code>{}</code>").format(_render_code(each, words)) if number % 2 and each else _mark_words(each, words)
        for number, each in enumerate(parts)
    )


def render_diff(changes: Iterable[Change]) -> Markup:
    """A word diff as HTML. Inserted words are in ``<ins>``, deleted words in ``<del>``."""
    return Markup("").join(
        remove_invisible(text) if tag == "same" else Markup("<{0}>{1}</{0}>").format(tag, remove_invisible(text))
        for tag, text in changes
    )


def _render_code(text: str, words: Sequence[str]) -> Markup:
    """The HTML for code.

    Words with special characters, such as ``-m`` and ``#[0-9]*``, are not broken at line ends unless they are long.
    """
    return Markup("").join(
        _mark_words(each, words)
        if not each.strip() or each.isalnum() or len(each) > _UNBROKEN
        else Markup("<span>{}</span>").format(_mark_words(each, words))
        for each in re.split(r"(\s+)", text)
    )


def _mark_words(text: str, words: Sequence[str]) -> Markup:
    """Put ``<mark>`` around the beginning of each word that starts with one of ``words``.

    Case and endings of ``words`` are ignored.
    """
    lower = text.casefold()
    if len(lower) != len(text):  # folding changed the length, so marks would be in the wrong places
        return escape(text)
    stems = sorted({stem for word in words for stem in (word, _ENDING.sub("", word)) if stem}, key=len, reverse=True)
    found = re.finditer("|".join(map(re.escape, stems)), lower) if stems else ()
    made, at = Markup(""), 0
    for mark in found:
        start, before = mark.start(), text[mark.start() - 1 : mark.start()]
        if before.isascii() and before.isalpha() and not (before.islower() and text[start].isupper()):
            continue  # inside a word; a capital within an identifier counts as the beginning of a word
        made += escape(text[at:start]) + Markup("<mark>{}</mark>").format(text[start : mark.end()])
        at = mark.end()
    return made + escape(text[at:])


def _workspace_functions(workspace: Workspace) -> dict[str, Callable[..., str]]:
    """The template functions that need the workspace: they format days and times in its zone, and the titles of scopes and
    categories.
    """
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
