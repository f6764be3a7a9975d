"""Fetch HTTP(S) URLs from servers that are not trusted: each reply has a limit of size and of time."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from email.message import Message
from threading import Thread
from typing import TypeVar

from kept.core.value import dataclass

T = TypeVar("T")
# There are no handlers for files and FTP, so that a redirect cannot leave HTTP(S).
_HANDLERS = (
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPErrorProcessor,
    urllib.request.UnknownHandler,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """The response of a server, whatever its status."""

    status: int
    headers: Message
    data: bytes


def fetch(request: urllib.request.Request, *, seconds: float, most: int, redirects: bool = False, proxies: bool = True) -> Response:
    """Send a request. Follows redirects only with ``redirects``, because they send headers, keys included, to other servers.

    Raises OSError (TimeoutError after ``seconds``), ValueError if the response has more than ``most`` bytes or is not HTTP.
    """
    opener = urllib.request.OpenerDirector()
    opener.add_handler(urllib.request.ProxyHandler(None if proxies else {}))
    for handler in (*_HANDLERS, *((urllib.request.HTTPRedirectHandler,) if redirects else ())):
        opener.add_handler(handler())

    def read_response() -> Response:
        try:
            response = opener.open(request, timeout=seconds)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            return Response(status=response.status, headers=response.headers, data=response.read(most + 1))

    try:
        response = _wait_for(read_response, seconds)
    except http.client.HTTPException as error:
        raise ValueError(f"the response is not HTTP ({type(error).__name__})") from error
    if len(response.data) > most:
        raise ValueError(f"the response is larger than {most // 2**20} MB")
    return response


def _wait_for(call: Callable[[], T], seconds: float) -> T:
    """Return the result of a call, or raise its exception, or TimeoutError if it takes longer. The timeout of a socket would start
    anew with each byte.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised in the caller
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future.result(seconds)
