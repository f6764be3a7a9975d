"""``kept mcp`` against junk on its standard input and against what other machines and pages send to its port."""

import json
import os
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp.client.streamable_http import streamable_http_client
from test_mcp import FACT, ask

from cli_world import told
from kept.cli.serve import load_mcp_key
from kept.install import client_checks
from kept.paths import find_paths
from mcp_process import serving
from prepared import do


@pytest.fixture
def remembering(home):
    do("add", FACT, "--type", "project_fact")
    return home


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The port of a server that no test changes; HOME and KEPT_HOME are those of the server."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "KEPT_HOME"):
            patch.setenv(name, str(home))
        do("add", FACT, "--type", "project_fact")
        with serving() as port:
            yield port


def called(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def spoken(*lines):
    """What the server says to a greeting, then these lines, then a search: every line of its standard output, read as JSON."""
    search = called(99, "tools/call", name="search_memory", arguments={"query": "InvoiceWriter"})
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    said = b"\n".join((client_checks._GREETING, ready, *lines, search)) + b"\n"
    with subprocess.Popen(
        [sys.executable, "-m", "kept", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    ) as process:
        process.stdin.write(said)
        process.stdin.flush()
        answers = []
        for line in process.stdout:
            answers.append(json.loads(line))
            if answers[-1].get("id") == 99:
                break
        process.stdin.close()
        process.wait()
    return answers


def test_junk_on_standard_input_is_answered_as_the_protocol_says_and_the_next_call_is_served(remembering, capsys):
    before = told(capsys, "list", "--all")
    answers = spoken(
        b"\x00\xff\xfe not json at all",
        b'{"jsonrpc": "2.0", "id": 2',
        b"[]",
        b"[" * 5_000,
        called(3, "no/such/method"),
        called(4, "tools/call", name="no_such_tool", arguments={}),
        called(5, "tools/call", name="get_memory_evidence", arguments={"id": "../../../etc/passwd"}),
        called(6, "tools/call", name="get_day_history", arguments={"date": "../../etc"}),
        called(7, "resources/read", uri="kept://day/../../../etc/passwd"),
        called(8, "tools/call", name="search_memory", arguments={"query": ["no", "text"]}),
    )
    assert all(each["jsonrpc"] == "2.0" for each in answers)
    by_id = {each["id"]: each for each in answers if "id" in each}
    assert "serverInfo" in by_id[1]["result"]  # what the doctor looks for
    assert FACT.rstrip(".") in by_id[99]["result"]["content"][0]["text"]
    for number in (3, 4, 8):
        assert "error" in by_id[number] or by_id[number]["result"]["isError"]
    assert "root:" not in json.dumps(answers)
    assert told(capsys, "list", "--all") == before


@pytest.mark.slow
def test_a_message_of_a_hundred_megabytes_does_not_end_the_server(remembering):
    answers = spoken(called(2, "tools/call", name="search_memory", arguments={"query": "x" * 100_000_000}))
    assert FACT.rstrip(".") in answers[-1]["result"]["content"][0]["text"]


def status_of(port, raw):
    """The status with which the server answers raw bytes; 0 where it hangs up."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(raw)
        line = connection.makefile("rb").readline().split()
    return int(line[1]) if len(line) > 1 else 0


BODY = called(1, "tools/list")


def request(port, *headers, method="POST", target="/mcp", body=BODY):
    lines = [f"{method} {target} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).replace("$PORT", str(port)).encode() + b"\r\n\r\n" + body


HOST = "Host: 127.0.0.1:$PORT"
TAKES = "Accept: application/json, text/event-stream"
JSON = "Content-Type: application/json"


@asynccontextmanager
async def bearing(headers, url):
    async with httpx2.AsyncClient(headers=headers) as http, streamable_http_client(url, http_client=http) as streams:
        yield streams


def load_key():
    """The header with the key that the server wrote for clients of this user."""
    return f"Authorization: Bearer {load_mcp_key(find_paths(os.environ['HOME'], {}))}"


def test_over_http_it_serves_who_has_the_key_on_this_machine_and_no_page_from_elsewhere(port):
    home, key = Path(os.environ["HOME"]), load_key()
    file = home / ".local" / "share" / "kept" / "mcp.key"
    assert file.stat().st_mode & 0o777 == 0o600
    server = bearing(dict([key.split(": ")]), f"http://127.0.0.1:{port}/mcp")
    (text,) = ask(home, ("search_memory", {"query": "InvoiceWriter"}), server=server)
    assert FACT.rstrip(".") in text
    assert status_of(port, request(port, HOST, JSON, TAKES)) == 401
    assert status_of(port, request(port, HOST, JSON, TAKES, "Authorization: Bearer wrong")) == 401
    assert status_of(port, request(port, "Host: evil.example:$PORT", JSON, TAKES, key)) == 421
    assert status_of(port, request(port, HOST, JSON, TAKES, key, "Origin: http://evil.example")) == 403


def test_what_comes_from_elsewhere_over_http_is_refused_and_what_comes_from_here_is_served(port, capsys):
    before = told(capsys, "list", "--all")
    key = load_key()
    foreign = (
        ("Host: evil.example:$PORT", JSON, TAKES),
        ("Host: 127.0.0.1.evil.example", JSON, TAKES),
        ("Host: 127.0.0.1", JSON, TAKES),  # another port's page
        ("Host: [::ffff:127.0.0.1]:$PORT", JSON, TAKES),
        ("Host: ", JSON, TAKES),
        (JSON, TAKES),
        (HOST, "Host: evil.example", JSON, TAKES),
        ("Host: evil.example", HOST, JSON, TAKES),
        (HOST, "Origin: https://evil.example", JSON, TAKES),
        (HOST, "Origin: null", JSON, TAKES),
        (HOST, "Origin: http://127.0.0.1.evil.example", JSON, TAKES),
        (HOST, "Content-Type: text/plain", TAKES),
        (HOST, "Content-Type: application/x-www-form-urlencoded", TAKES),
    )
    for headers in foreign:
        assert not 200 <= status_of(port, request(port, key, *headers)) < 400, headers
    preflight = (
        "Origin: https://evil.example",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Private-Network: true",
    )
    assert not 200 <= status_of(port, request(port, HOST, *preflight, method="OPTIONS", body=b"")) < 400
    assert status_of(port, request(port, HOST, key, method="GET", target="/..%2f..%2fetc%2fpasswd", body=b"")) == 404
    assert status_of(port, request(port, HOST, key, JSON, TAKES)) == 200
    assert told(capsys, "list", "--all") == before


def test_the_shared_attacks_on_a_port_are_refused(shared, port):
    rows = json.loads((shared / "hostile" / "http" / "attacks.json").read_text(encoding="utf-8"))
    for row in rows:
        raw = row["req"].replace("/api/memory", "/mcp").replace("127.0.0.1:8765", f"127.0.0.1:{port}").replace("$T", "token")
        if "Content-Length: 99999999999" not in raw:
            assert not 200 <= status_of(port, raw.encode()) < 400, row["why"]
    assert status_of(port, request(port, HOST, load_key(), JSON, TAKES)) == 200
