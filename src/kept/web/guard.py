"""The guard of the web server. It checks host, origin, key and size of every request, and turns errors into responses.

It prevents other web sites from reading or changing anything. A site may find the port and make its own DNS name point to this
machine. However, the ``Host`` header of its requests then has the name of the site, so the guard rejects them. They also have
neither the key nor the cookie. Every response gets the headers in :data:`HEADERS`.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any

from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kept.core.errors import (
    BusyError,
    ChangedError,
    ConfigError,
    GuardError,
    KeptError,
    MissingError,
    RefusedPathError,
    StaleError,
    StoreError,
    TerminalOnlyError,
    UsageError,
)
from kept.local.error_log import error_line, log_error
from kept.web.context import WebContext

MAX_BODY_BYTES, MAX_BODY_SECONDS = 2 * 2**20, 10.0  # maximum bytes of a request body, and seconds in which it must arrive
# The maximum number of bytes of a rejected request that are read and discarded, and of seconds that this may take.
_DRAIN_BYTES, _DRAIN_SECONDS = 8 * MAX_BODY_BYTES, 1.0
HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
STATIC, API, SIGN_IN = "/static/", "/api/", "/api/session"
_READS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_OVERRIDES = ("x-http-method-override", "x-http-method", "x-method-override")


class _RejectedRequest(Exception):  # noqa: N818 - not an error of the program
    """A request that the guard rejects, with the status, message and hint of the response."""

    def __init__(self, status: HTTPStatus, what: str, hint: str = "") -> None:
        self.status, self.what, self.hint = status, what, hint
        super().__init__(what)


class RequestGuard:
    """The guard in front of an application. If the browser has not signed in, ``sign_in`` responds instead of a page."""

    def __init__(self, app: Starlette, web: WebContext, sign_in: ASGIApp) -> None:
        self._app, self._web, self._sign_in = app, web, sign_in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or reject it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        scope.setdefault("state", {})["web"] = self._web
        response = _ResponseSender(send, static=scope["path"].startswith(STATIC))
        try:
            admitted = self._is_admitted(scope)
            if scope["method"] not in _READS:
                receive = _replay_body(await _receive_body(receive), receive)
            await (self._app if admitted else self._sign_in)(scope, receive, response)
        except _RejectedRequest as rejection:
            await response.send_error(rejection.status, rejection.what, rejection.hint, rest=receive)
        # Catch everything, because a response must not contain a traceback or text of a transcript.
        except Exception as error:  # noqa: BLE001
            if not response.begun:  # otherwise the application has already responded and logged the error
                await response.send_error(
                    HTTPStatus.INTERNAL_SERVER_ERROR, error_line(error), log_request_error(self._web, scope, error)
                )

    def _is_admitted(self, scope: Scope) -> bool:
        """True if the application may handle a request, False if the browser must sign in first. Raises _RejectedRequest."""
        headers = Headers(scope=scope)
        reads, path = scope["method"] in _READS, scope["path"]
        self._check_origin(headers)
        if _header_values(headers, "upgrade"):
            raise _RejectedRequest(HTTPStatus.FORBIDDEN, "only plain HTTP is served here")
        if any(_header_values(headers, override) for override in _OVERRIDES):
            raise _RejectedRequest(HTTPStatus.BAD_REQUEST, "headers that override the method are not allowed")
        sizes = _header_values(headers, "content-length")
        if any(not (size.isascii() and size.isdigit()) for size in sizes) or len(set(sizes)) > 1:
            raise _RejectedRequest(HTTPStatus.BAD_REQUEST, "the length of the request is not a number")
        if sizes and (len(sizes[0]) > 18 or int(sizes[0]) > MAX_BODY_BYTES):
            raise _RejectedRequest(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large", f"at most {MAX_BODY_BYTES:,} bytes"
            )
        signed_in = self._is_signed_in(headers)
        if (scope["method"] in _WITH_BODY or (not reads and sizes not in ([], ["0"]))) and not _is_json(headers):
            if not signed_in:  # a form on another site could send this, so the response reveals nothing more
                raise _RejectedRequest(HTTPStatus.FORBIDDEN, "nobody is signed in", "open the address that `kept web` printed")
            # If no route matches, the application itself responds that there is none.
            if any(route.matches(scope)[0] is Match.FULL for route in self._app.router.routes):
                raise _RejectedRequest(
                    HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "changes must be sent as JSON", "content-type: application/json"
                )
        if not signed_in and path != SIGN_IN and (path.startswith(API) or not reads):
            raise _RejectedRequest(
                HTTPStatus.UNAUTHORIZED, "nobody is signed in", "send `Authorization: Bearer KEY`, never a key in an address"
            )
        return signed_in or path == SIGN_IN or path.startswith(STATIC)

    def _check_origin(self, headers: Headers) -> None:
        hosts, origins = _header_values(headers, "host"), _header_values(headers, "origin")
        if len(hosts) != 1 or hosts[0] not in self._web.hosts:
            raise _RejectedRequest(HTTPStatus.FORBIDDEN, "this page is served only to this machine, under its own host name")
        if any(origin != f"http://{hosts[0]}" for origin in origins) or len(origins) > 1:
            raise _RejectedRequest(HTTPStatus.FORBIDDEN, "requests from other pages are not allowed")
        if any(value not in ("same-origin", "none") for value in _header_values(headers, "sec-fetch-site")):
            raise _RejectedRequest(HTTPStatus.FORBIDDEN, "requests from other pages are not allowed")

    def _is_signed_in(self, headers: Headers) -> bool:
        for item in _header_values(headers, "authorization"):
            scheme, _, key = item.partition(" ")
            if scheme.lower() == "bearer" and self._web.is_key(key.strip()):
                return True
        for item in _header_values(headers, "cookie"):
            try:
                cookie = SimpleCookie(item).get(self._web.cookie)
            except CookieError:
                continue
            if cookie is not None and self._web.is_session(cookie.value):
                return True
        return False


class _ResponseSender:
    """Sends a response with the headers of :data:`HEADERS`. ``begun`` is True when sending has started."""

    def __init__(self, send: Send, *, static: bool) -> None:
        self._send, self._static, self.begun = send, static, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            others = [(name, value) for name, value in message["headers"] if name.decode("latin-1").lower() not in HEADERS]
            own = [*HEADERS.items(), *(() if self._static else (("cache-control", "no-store"),))]
            message = {**message, "headers": [*others, *((name.encode(), value.encode()) for name, value in own)]}
        await self._send(message)

    async def send_error(self, status: HTTPStatus, what: str, hint: str = "", *, rest: Receive | None = None) -> None:
        """Send an error as JSON, read the ``rest`` of the request, and close the connection.

        Does nothing if a response has begun.
        """
        if self.begun:
            return
        body = json.dumps({"error": what, "where": "", "hint": hint}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        await self({"type": "http.response.start", "status": int(status), "headers": headers})
        await self({"type": "http.response.body", "body": body, "more_body": rest is not None})
        if rest is not None:
            await _drain_body(rest)
            await self({"type": "http.response.body"})


def _header_values(headers: Headers, name: str) -> list[str]:
    return [value.strip() for value in headers.getlist(name)]


def _is_json(headers: Headers) -> bool:
    kinds = _header_values(headers, "content-type")
    return len(kinds) == 1 and kinds[0].partition(";")[0].strip().lower() == "application/json"


async def _receive_body(receive: Receive) -> bytes:
    """Read the whole body of a request. Raises _RejectedRequest if it is incomplete, slow or too large.

    The size is that of the received bytes, not the one that the headers claim.
    """
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _RejectedRequest(HTTPStatus.BAD_REQUEST, "the request ended early")
                part = message.get("body", b"")
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise _RejectedRequest(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large", f"at most {MAX_BODY_BYTES:,} bytes"
                    )
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError as error:
        raise _RejectedRequest(HTTPStatus.REQUEST_TIMEOUT, "the request was sent too slowly") from error


async def _drain_body(receive: Receive) -> None:
    """Read and discard the rest of a rejected request, within limits.

    This is needed because many clients read the response only after they have sent everything.
    """
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while size < _DRAIN_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` function that returns the body first, which was already read. After that, it calls the original ``receive``."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


def log_request_error(web: WebContext, scope: Scope, error: Exception) -> str:
    """Log an error and print it on the terminal of ``kept web``. Returns a hint about what the person can do.

    The query string is not logged, because it may contain what the person searched for.
    """
    action = f"{scope['method']} {scope['path']}"
    log = log_error(web.home.state, action, error)
    hint = f"the trace is in {log}; report it" if log else "report this line"
    with suppress(OSError, ValueError):  # without a terminal, stderr may be closed
        sys.stderr.write(f"kept web: {action}: {error_line(error)}; {hint}\n")
    return hint


class Problem(BaseModel):
    """An error: what happened, where, and what to do next."""

    error: str = Field(description="What happened, as a clause.")
    where: str = Field(default="", description="The memory, file or setting concerned; empty if there is none.")
    hint: str = Field(default="", description="The next step; empty if there is none.")


def http_status(error: KeptError) -> int:
    """The HTTP status of the response for an error."""
    match error:
        case StaleError():
            return HTTPStatus.PRECONDITION_FAILED
        case MissingError():
            return HTTPStatus.NOT_FOUND
        case RefusedPathError() | TerminalOnlyError():
            return HTTPStatus.FORBIDDEN
        case UsageError() | ConfigError() | BusyError() | ChangedError() | GuardError():
            return HTTPStatus.CONFLICT
        case StoreError():
            return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.INTERNAL_SERVER_ERROR


def problem_body(error: KeptError) -> dict[str, Any]:
    """The JSON form of an error."""
    return {"error": error.what, "where": error.where, "hint": error.hint}


# FastAPI prepares the model once for each status of each operation, which takes long. So only one status declares the model, and
# the others refer to its schema.
_PROBLEM = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    int(status): {"description": text, **({"model": Problem} if status == HTTPStatus.BAD_REQUEST else _PROBLEM)}
    for status, text in (
        (HTTPStatus.BAD_REQUEST, "The request is malformed."),
        (HTTPStatus.UNAUTHORIZED, "Nobody is signed in."),
        (HTTPStatus.FORBIDDEN, "The request does not come from this page, or is not allowed."),
        (HTTPStatus.NOT_FOUND, "It does not exist."),
        (HTTPStatus.CONFLICT, "It conflicts with the current state."),
        (HTTPStatus.PRECONDITION_FAILED, "It changed since you loaded it; nothing was changed."),
        (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "It is too large."),
        (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body is not JSON."),
        (HTTPStatus.UNPROCESSABLE_ENTITY, "The body does not match the schema."),
        (HTTPStatus.SERVICE_UNAVAILABLE, "The store cannot be read or written."),
    )
}
"""The error responses that every operation of the API may have, in addition to those documented with the operation.

Omitted are 408 (the request came too slowly) and 500 (an error in kept).
"""
