"""How the server is reached: over stdin and stdout, or over HTTP behind the page's door: this machine, no other page, a key."""

import hmac
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kept.core.errors import UsageError
from kept.mcp.server import OpenDesk, create_server

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(open_desk: OpenDesk, *, key: str = "", host: str = "127.0.0.1", port: int = 8321) -> None:
    """Serve until the client leaves (stdio) or, where there is a key, over HTTP until the process is stopped. Raises UsageError for
    a host that is not this machine.
    """
    if not key:
        create_server(open_desk).run("stdio")
        return
    if host not in LOOPBACK:
        raise UsageError(f"kept serves this machine only, not {host}", hint=f"--host may be {', '.join(LOOPBACK)}")
    uvicorn.run(create_mcp_app(open_desk, key, port), host=host, port=port, log_level="warning")


def create_mcp_app(open_desk: OpenDesk, key: str, port: int) -> ASGIApp:
    """The application: it answers requests that name this machine, come from no other page, and bear the key."""
    names = [f"{item}:{port}" for item in ("127.0.0.1", "localhost", "[::1]")]
    allowed = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    inside = create_server(open_desk).streamable_http_app(stateless_http=True, transport_security=allowed)
    expected = f"Bearer {key}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, Any] = dict(scope.get("headers", ()))
        if scope["type"] == "http" and not hmac.compare_digest(headers.get(b"authorization", b""), expected):
            await PlainTextResponse("kept mcp --http wrote the header to send", status_code=401)(scope, receive, send)
            return
        await inside(scope, receive, send)

    return guarded
