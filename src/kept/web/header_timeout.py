"""An HTTP protocol with a time limit for request headers, against clients that send a request byte by byte."""

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kept.web.guard import HEADERS

SECONDS = 10.0  # from the opening of a connection, or the first byte of a later request, to the end of its headers


class HeaderTimeoutProtocol(H11Protocol):
    """Closes a connection if the headers of a request do not arrive within :data:`SECONDS`."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Handle received bytes; stop the timer once the headers are complete."""
        if self._timer is None:
            self._start_timer()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()

    def eof_received(self) -> bool:  # type: ignore[override]  # the base returns None: the response is lost then
        """Answer a complete request before the connection is closed; refuse an incomplete one with status 400."""
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
        """Answer an invalid request with a JSON error and the headers that every response has."""
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
        self._timer = self.loop.call_later(SECONDS, self._close_connection)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_connection(self) -> None:
        self._timer = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.abort()
