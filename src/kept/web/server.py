"""Assemble the web application, and serve it on this machine.

The HTTP protocol has a time limit for request headers, so that clients that send a request byte by byte cannot occupy the server.
"""

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from kept.core.errors import KeptError, UsageError

try:
    import h11
    import jinja2  # noqa: F401 - imported here, so that a missing extra is reported once
    import uvicorn
    from fastapi import Depends, FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.security import HTTPBearer
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse, Response
    from starlette.routing import compile_path
    from starlette.types import ASGIApp
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise UsageError("`kept web` needs the extra web", hint="pip install 'kept[web]'") from error

from kept import __version__
from kept.local.error_log import error_line
from kept.paths import Paths
from kept.pipeline.erase.forget import list_left
from kept.web import render
from kept.web.api import AREAS, session
from kept.web.background import OpenWorkspace
from kept.web.context import WebContext, request_workspace, web_context
from kept.web.guard import API, DOCUMENTED, HEADERS, RequestGuard, http_status, log_request_error, problem_body
from kept.web.pages import PAGES, story
from kept.web.render import problem_page, render_part, sign_in_page

_FILES = 30  # maximum seconds to wait for pending file writes after the server has stopped
_GRACE = 2  # seconds that open requests get to complete when the server stops


def create_app(web: WebContext) -> ASGIApp:
    """Create the application with pages, API and static files, behind the request guard."""
    return RequestGuard(_create_routes(), web, sign_in_page)


@cache
def _create_routes() -> FastAPI:
    """Create the application without its guard. It is cached, because FastAPI takes long to prepare the routes.

    The guard adds the web context to each request.
    """
    app = FastAPI(
        title="kept",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        summary="Read memories, change them, and undo changes, as on the command line.",
    )
    app.state.pages = PAGES
    app.include_router(render.router)
    # This only documents the scheme, because the guard checks the key.
    signed = HTTPBearer(auto_error=False, description="The key of this start of `kept web`.")
    app.include_router(session.router, prefix="/api", responses=DOCUMENTED)
    for area in AREAS:
        app.include_router(area, prefix="/api", responses=DOCUMENTED, dependencies=[Depends(signed)])
    for apirouter in (*(page.router for page in PAGES), story.router):  # the story page is not in the navigation
        app.include_router(apirouter, include_in_schema=False)
    app.add_api_route("/waiting/{name}", _pending_count_part, include_in_schema=False)
    app.add_api_route("/written", _write_status_part, include_in_schema=False)
    app.add_exception_handler(KeptError, _respond_to_error)
    app.add_exception_handler(HTTPException, _respond_http_error)
    app.add_exception_handler(RequestValidationError, _respond_invalid)
    app.add_exception_handler(Exception, _respond_unexpected)
    return app


def _pending_count_part(request: Request, name: str) -> Response:
    """Show the number of pending things on a page, for the navigation."""
    found = next((page.count for page in PAGES if page.id == name and page.count), None)
    if found is None:
        raise HTTPException(404)
    with request_workspace(request) as workspace:
        return render_part(workspace, "waiting.html", count=found(workspace))


def _write_status_part(request: Request) -> Response:
    """Show whether file writes are pending, which files could not be written, and which places a forget could not erase."""
    web = web_context(request)
    with request_workspace(request) as workspace:
        return render_part(workspace, "written.html", files=web.file_writer, left=list_left(workspace))


def _respond_to_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, KeptError)
    return _problem_response(request, http_status(error), problem_body(error))


def _respond_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = "there is no such page" if error.status_code == 404 else str(error.detail)
    headers = {"allow": ", ".join(_allowed_methods(request))} if error.status_code == 405 else error.headers
    return _problem_response(request, error.status_code, {"error": what, "where": "", "hint": ""}, headers)


def _allowed_methods(request: Request) -> list[str]:
    """All methods that the path of a request supports.

    The router itself only names those of the first matching route.
    """
    described = request.app.openapi()["paths"]
    fits = [item for item in described if compile_path(item)[0].match(request.url.path)]
    exact = [fit for fit in fits if fit == request.url.path] or fits
    return sorted({method.upper() for item in exact for method in described[item]}) or ["GET"]


def _respond_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(item) for item in first["loc"][1:])
    return _problem_response(request, 422, {"error": str(first["msg"]), "where": where, "hint": ""})


def _respond_unexpected(request: Request, error: Exception) -> Response:
    hint = log_request_error(web_context(request), request.scope, error)
    return _problem_response(request, 500, {"error": error_line(error), "where": "", "hint": hint})


def _problem_response(request: Request, status: int, problem: dict[str, str], headers: Mapping[str, str] | None = None) -> Response:
    if request.url.path.startswith(API):
        return JSONResponse(problem, status_code=status, headers=headers)
    return problem_page(request, status, problem)


def open_socket(port: int) -> socket.socket:
    """Open a socket on 127.0.0.1. Port 0 means any free port. Raises UsageError if the port cannot be used."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind(("127.0.0.1", port))
    except OSError as error:
        own.close()
        raise UsageError(f"port {port} cannot be taken: {error.strerror}", hint="give another --port, or none") from error
    return own


def serve(
    open_own: OpenWorkspace,
    home: Paths,
    *,
    key: str,
    own: socket.socket,
    ready: Callable[[], None],
    open_sample: OpenWorkspace | None = None,
) -> None:
    """Serve on a socket from :func:`open_socket` until a signal stops the process.

    ``ready`` is called when the server accepts requests. After the end, pending file writes are completed.
    """
    web = WebContext(open_own=open_own, home=home, key=key, port=own.getsockname()[1], open_sample=open_sample)
    asyncio.run(WebServer(server_config(create_app(web)), ready).serve(sockets=[own]))
    web.file_writer.wait(_FILES)


def server_config(app: ASGIApp) -> uvicorn.Config:
    """The configuration of the server. It has no websockets, and no access log, because URLs may reveal memories."""
    return uvicorn.Config(
        app,
        http=HeaderTimeoutProtocol,
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


class WebServer(uvicorn.Server):
    """A server that calls ``ready`` when it accepts requests, and that ends normally on SIGINT and SIGTERM."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving, then call ``ready``."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving, and close the connections of requests that outlasted the grace period. The base class leaves them open."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0)  # lets the event loop close their sockets before it ends

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop the server at SIGINT or SIGTERM, and restore the previous handlers afterwards.

        Does nothing outside the main thread, which alone gets signals.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {item: signal.signal(item, self.handle_exit) for item in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for signals, handler in before.items():
                signal.signal(signals, handler)


HEADER_SECONDS = 10.0  # time from opening a connection, or from the first byte of a later request, to the end of the headers


class HeaderTimeoutProtocol(H11Protocol):
    """Closes a connection if the headers of a request do not arrive within :data:`HEADER_SECONDS`."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Handle received bytes. Stop the timer when the headers are complete."""
        if self._timer is None:
            self._start_timer()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()

    def eof_received(self) -> bool:  # type: ignore[override]  # the base returns None, which loses the response
        """Answer a complete request before the connection is closed. Reject an incomplete one with status 400."""
        unanswered = self.cycle is not None and not self.cycle.response_complete
        if unanswered and not self.cycle.more_body:
            self.cycle.keep_alive = False
            return True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and self.conn.their_state is not h11.DONE:
            if unanswered:
                self.cycle.disconnected = True
            if unanswered or self.conn.trailing_data[0]:
                self.send_400_response("The request ended early.")
        return False

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request with a JSON error and the headers of :data:`HEADERS`."""
        body = json.dumps({"error": msg.strip(".").lower(), "where": "", "hint": ""}).encode()
        own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        for event in (h11.Response(status_code=400, headers=[*kind, *own]), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADER_SECONDS, self._close_connection)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_connection(self) -> None:
        self._timer = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.abort()
