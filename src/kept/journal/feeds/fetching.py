"""Fetching an address that the user configured: http and https alone, bounded, with the validators of the last time."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping

from kept.core.errors import SourceError
from kept.journal.feeds.base import MOST_BYTES, FetchResponse

_SECONDS = 20
_ASKED = {"etag": "If-None-Match", "modified": "If-Modified-Since"}


# Without the handlers of files and FTP, so that no redirect leads off the web.
_HANDLERS = (
    urllib.request.ProxyHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPRedirectHandler,
    urllib.request.HTTPErrorProcessor,
    urllib.request.UnknownHandler,
)


def _create_opener() -> urllib.request.OpenerDirector:
    made = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        made.add_handler(handler())
    return made


def fetch_address(address: str, cursor: Mapping[str, str]) -> FetchResponse:
    """What an address gives; nothing where it says that it is as it was. Raises SourceError."""
    if not address.startswith(("http://", "https://")):
        raise SourceError("is no address of the web", where=address)
    request = urllib.request.Request(address, headers={"User-Agent": "kept"})  # noqa: S310 - the scheme was checked above
    for name, header in _ASKED.items():
        if cursor.get(name):
            request.add_header(header, cursor[name])
    try:
        with _create_opener().open(request, timeout=_SECONDS) as reply:
            data = reply.read(MOST_BYTES + 1)
            validators = {"etag": reply.headers.get("ETag", ""), "modified": reply.headers.get("Last-Modified", "")}
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.NOT_MODIFIED:
            return FetchResponse(data=None, validators=cursor)
        raise SourceError(f"the server answered {error.code}", where=address) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise SourceError(f"cannot be fetched: {reason}", where=address) from error
    if len(data) > MOST_BYTES:
        raise SourceError(f"gives more than {MOST_BYTES // 2**20} MB", where=address)
    return FetchResponse(data=data, validators={name: value for name, value in validators.items() if value})
