"""How the server of the page ends."""

import gc
import signal
import socket

import pytest

pytest.importorskip("fastapi")

from conftest import serving
from kept.web import server


def test_a_request_that_outlasts_the_grace_period_is_cut_off_and_leaves_no_open_socket(home, monkeypatch):
    monkeypatch.setattr(server, "_GRACE", 0.01)
    with socket.socket() as client:
        with serving(home) as served:
            client.connect(("127.0.0.1", served.port))
            head = f"POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.key}\r\n"
            client.sendall((head + "Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{").encode())
            served.ask("GET", "/api/session")  # so that the unfinished request has been received
        assert client.recv(1) == b""
    gc.collect()


def test_the_signals_of_a_terminal_and_of_a_service_end_the_server(home):
    web = server.WebServer(server.server_config(None), lambda: None)
    with web.capture_signals():
        assert {signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)} == {web.handle_exit}
