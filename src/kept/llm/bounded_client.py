"""The HTTP client of the vendors' libraries. It follows no redirect, and limits each response in size and time."""

from collections.abc import Iterator
from time import monotonic

import httpx2

_MOST_BYTES = 64 * 2**20  # the replies of a batch come in one response


class _BoundedStream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, seconds: float) -> None:
        self._stream, self._until = stream, monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if monotonic() > self._until:
                raise httpx2.ReadTimeout("the response takes too long")
            if size > _MOST_BYTES:
                raise httpx2.DecodingError("the response is too large")
            yield part

    def close(self) -> None:
        self._stream.close()


def create_client(seconds: float, *, proxies: bool) -> httpx2.Client:
    """Create the client. A redirect would send the question to another server; a compressed response could expand without limit."""

    def bound(response: httpx2.Response) -> None:
        response.headers.pop("Content-Encoding", None)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _BoundedStream(response.stream, seconds)

    headers = {"Accept-Encoding": "identity"}
    return httpx2.Client(trust_env=proxies, timeout=seconds, headers=headers, event_hooks={"response": [bound]})
