"""The application, put together; and the server that serves it to this machine."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from kept.core.errors import KeptError, UsageError

try:
    import jinja2  # noqa: F401 - named here so that what is missing is told once
    import uvicorn
    from fastapi import Depends, FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.security import HTTPBearer
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Match
    from starlette.types import ASGIApp, Scope
except ImportError as error:
    raise UsageError("`kept web` needs the extra web", hint="pip install 'kept[web]'") from error

from kept import __version__
from kept.install.error_log import error_line
from kept.paths import Paths
from kept.web import assets
from kept.web.api import AREAS, session
from kept.web.door import API, Door, noted
from kept.web.pages import PAGES, story
from kept.web.patience import PatientProtocol
from kept.web.problems import DOCUMENTED, problem_of, status_of
from kept.web.render import part, problem_page, sign_in_page
from kept.web.room import OpenDesk, Room, at_desk, room_of

_FILES = 30  # seconds that changes may take to reach the files once the server has stopped
_GRACE = 2  # seconds that open requests may take once the server is to stop


def make(room: Room) -> ASGIApp:
    """The application of a room: the pages, the API, what they are made of, and the door before all of it."""
    app = FastAPI(
        title="kept",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        summary="What is remembered: read it, change it, take changes back. The same use cases as the command line's.",
    )
    app.state.room = room
    app.state.pages = PAGES
    app.include_router(assets.router)
    signed = HTTPBearer(auto_error=False, description="The key of this start of `kept web`.")  # checked at the door
    app.include_router(session.router, prefix="/api", responses=DOCUMENTED)
    for area in AREAS:
        app.include_router(area, prefix="/api", responses=DOCUMENTED, dependencies=[Depends(signed)])
    for each in (*(one.router for one in PAGES), story.router):  # the story is a page that no navigation leads to
        app.include_router(each, include_in_schema=False)
    app.add_api_route("/waiting/{name}", _waiting, include_in_schema=False)
    app.add_api_route("/written", _written, include_in_schema=False)
    app.add_exception_handler(KeptError, _respond_to_error)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(Exception, _broken)

    def takes(scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in app.router.routes)

    return Door(app, room, sign_in_page, takes)


def _waiting(request: Request, name: str) -> Response:
    """How much waits on a page, for the navigation."""
    found = next((each.count for each in PAGES if each.id == name and each.count), None)
    if found is None:
        raise HTTPException(404)
    with at_desk(request) as workspace:
        return part(workspace, "waiting.html", count=found(workspace))


def _written(request: Request) -> Response:
    """Whether the files have what was changed; what could not be written."""
    with at_desk(request) as workspace:
        return part(workspace, "written.html", files=room_of(request).files)


def _respond_to_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, KeptError)
    return _problem_response(request, status_of(error), problem_of(error))


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = "there is no such page" if error.status_code == 404 else str(error.detail)
    headers = {"allow": ", ".join(_allowed(request))} if error.status_code == 405 else error.headers
    return _problem_response(request, error.status_code, {"error": what, "where": "", "hint": ""}, headers)


def _allowed(request: Request) -> list[str]:
    """Every method that something answers at the path of a request; the router tells only those of the first."""
    described = request.app.openapi()["paths"]
    place = request.url.path.split("/")
    fits = [each for each in described if _fits(each.split("/"), place)]
    exact = [each for each in fits if each == request.url.path] or fits
    return sorted({method.upper() for each in exact for method in described[each]}) or ["GET"]


def _fits(template: list[str], place: list[str]) -> bool:
    return len(template) == len(place) and all(
        one == each or one.startswith("{") for one, each in zip(template, place, strict=True)
    )


def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(each) for each in first["loc"][1:])
    return _problem_response(request, 422, {"error": str(first["msg"]), "where": where, "hint": ""})


def _broken(request: Request, error: Exception) -> Response:
    hint = noted(room_of(request), request.scope, error)
    return _problem_response(request, 500, {"error": error_line(error), "where": "", "hint": hint})


def _problem_response(request: Request, status: int, problem: dict[str, str], headers: Mapping[str, str] | None = None) -> Response:
    if request.url.path.startswith(API):
        return JSONResponse(problem, status_code=status, headers=headers)
    return problem_page(request, status, problem)


def listen(port: int) -> socket.socket:
    """A socket on this machine's own address; any free port for 0. Raises UsageError where the port is taken."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind(("127.0.0.1", port))
    except OSError as error:
        own.close()
        raise UsageError(f"port {port} cannot be taken: {error.strerror}", hint="give another --port, or none") from error
    return own


def serve(
    open_desk: OpenDesk,
    home: Paths,
    *,
    key: str,
    own: socket.socket,
    ready: Callable[[], None],
    open_sample: OpenDesk | None = None,
) -> None:
    """Serve on a socket of :func:`listen` until the process is told to stop; ``ready`` is called when it answers."""
    room = Room(open_desk=open_desk, home=home, key=key, port=own.getsockname()[1], open_sample=open_sample)
    asyncio.run(Server(config_of(make(room)), ready).serve(sockets=[own]))
    room.files.wait(_FILES)


def config_of(app: ASGIApp) -> uvicorn.Config:
    """How an application is served: without websockets, with bounded patience, and without a log, for requests tell of memories."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=64 * 2**10,
        log_level="critical",
    )


class Server(uvicorn.Server):
    """A server that says when it answers, and that ends as asked: Ctrl-C and a polite kill are no failures."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at the first signal; what was there before is back afterwards. Another thread gets no signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
