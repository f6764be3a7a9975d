"""Models that are on this machine already."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kept.llm.available import find_programs, find_servers


@pytest.fixture
def listening(monkeypatch):
    """A server on the loopback address that answers with a body, as late as a busy machine has it; gives its port."""
    monkeypatch.setattr("kept.llm.available._SECONDS", 600.0)
    started = []

    def answer(body, status=200):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
        started.append(server)
        return server.server_address[1]

    yield answer
    for server in started:
        server.shutdown()
        server.server_close()


def test_programs_on_the_path_are_found_in_their_order(tmp_path):
    for name in ("gemini", "claude", "vim"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    found = find_programs({"PATH": str(tmp_path)})
    assert [each.settings["llm.command"] for each in found] == ["claude", "gemini"]
    assert find_programs({"PATH": "/nowhere"}) == ()


def test_a_local_server_is_found_with_its_first_model_and_nothing_leaves_the_machine(listening):
    port = listening(json.dumps({"data": [{"id": "qwen3:8b"}, {"id": "other"}]}).encode())
    (found,) = find_servers({"Ollama": port})
    assert found.title == "Ollama (qwen3:8b)"
    assert found.settings["llm.model"] == "qwen3:8b"
    assert found.local


def test_a_model_of_the_cloud_that_a_local_server_offers_is_not_called_local(listening):
    (found,) = find_servers({"Ollama": listening(json.dumps({"data": [{"id": "gpt-oss:120b-cloud"}]}).encode())})
    assert found.reach == "questions go to its provider"


@pytest.mark.parametrize(
    ("body", "status"), [(b"<html>", 200), (b'{"data": []}', 200), (b'{"data": [{"id": 3}]}', 200), (b"", 404)]
)
def test_a_server_that_speaks_something_else_is_no_model(listening, body, status):
    assert find_servers({"Ollama": listening(body, status)}) == ()
