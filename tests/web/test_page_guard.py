"""The door: who gets in, and what every answer leaves with. Over a real socket, as an attacker would."""

import json
import os
import select
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from kept.cli.serve import announce_page, find_running_page
from kept.core.errors import BusyError, UsageError
from kept.paths import find_paths
from kept.web import open_socket
from kept.web.guard import HEADERS, MAX_BODY_BYTES

HOST = "127.0.0.1:{port}"
WRITE = "{method} /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"


def request(served, text, body=b""):
    return text.replace("{port}", str(served.port)).replace("{key}", served.key).encode() + body


def test_every_attack_of_the_shared_list_gets_the_status_it_should(served, raw, shared):
    for each in json.loads((shared / "hostile" / "http" / "attacks.json").read_text()):
        wanted = each["status"] if isinstance(each["status"], list) else [each["status"]]
        status, answer = raw(each["req"].replace("$T", served.key).replace("8765", str(served.port)).encode())
        assert status in wanted, (each["id"], each["why"], answer[:300])
        assert each.get("no_header", "\x00").encode() not in answer.lower(), each["id"]


ATTACKS = {
    "a name of the web that points here": (
        "GET /api/memories HTTP/1.1\r\nHost: rebound.example:{port}\r\nAuthorization: Bearer {key}\r\n\r\n",
        403,
    ),
    "another port": ("GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer {key}\r\n\r\n", 403),
    "a host without a port": ("GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n", 403),
    "a host in other letters": ("GET / HTTP/1.1\r\nHost: LOCALHOST:{port}\r\n\r\n", 403),
    "an address that is this machine as well": ("GET / HTTP/1.1\r\nHost: 0.0.0.0:{port}\r\n\r\n", 403),
    "a user in the host": ("GET / HTTP/1.1\r\nHost: x@127.0.0.1:{port}\r\n\r\n", 403),
    "the page of another server on this machine": (
        WRITE.replace("{method}", "POST")
        + "Origin: http://127.0.0.1:1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        403,
    ),
    "this page under another of its names": (
        WRITE.replace("{method}", "POST")
        + "Origin: http://localhost:{port}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        403,
    ),
    "a page elsewhere that reads": (WRITE.replace("{method}", "GET") + "Origin: https://evil.example\r\n\r\n", 403),
    "a page elsewhere, as the browser tells": (WRITE.replace("{method}", "GET") + "Sec-Fetch-Site: cross-site\r\n\r\n", 403),
    "a page of another port, as the browser tells": (WRITE.replace("{method}", "GET") + "Sec-Fetch-Site: same-site\r\n\r\n", 403),
    "no key": ("GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n", 401),
    "a wrong key": ("GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer wrong\r\n\r\n", 401),
    "the beginning of the key": ("GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer kkkk\r\n\r\n", 401),
    "the key by another scheme": (
        "GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Basic {key}\r\n\r\n",
        401,
    ),
    "the key as the cookie": ("GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: kept-{port}={key}\r\n\r\n", 401),
    "the key in the address": ("GET /api/memories?key={key} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n", 401),
    "a key that is no ASCII": ("GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer \u00e9\r\n\r\n", 401),
    "a write by nobody": ("DELETE /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n", 401),
    "a form by nobody": (
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
        403,
    ),
    "a form": (
        WRITE.replace("{method}", "POST") + "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n\r\n{}",
        415,
    ),
    "a body of no kind": (WRITE.replace("{method}", "POST") + "Content-Length: 2\r\n\r\n{}", 415),
    "JSON only in name": (
        WRITE.replace("{method}", "POST") + "Content-Type: text/plain; a=application/json\r\nContent-Length: 2\r\n\r\n{}",
        415,
    ),
    "too long, as it says itself": (
        WRITE.replace("{method}", "POST") + "Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n",
        413,
    ),
    "longer than a number may be": (
        WRITE.replace("{method}", "POST") + "Content-Type: application/json\r\nContent-Length: 18446744073709551617\r\n\r\n",
        413,
    ),
    "two lengths": (
        WRITE.replace("{method}", "POST") + "Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        400,
    ),
    "less than it says": (
        WRITE.replace("{method}", "POST") + "Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{}",
        400,
    ),
    "no JSON": (WRITE.replace("{method}", "POST") + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{x", 422),
    "a method by a header": (WRITE.replace("{method}", "GET") + "X-HTTP-Method-Override: DELETE\r\n\r\n", 400),
    "a websocket of this page": (
        (
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
            "x\r\nSec-WebSocket-Version: 13\r\n\r\n"
        ),
        403,
    ),
    "a way out of the folder": ("GET /static/%2e%2e/server.py HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n", 404),
    "a way out of the folder, twice encoded": ("GET /static/..%252fserver.py HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n", 404),
    "a file that is there but not served": ("GET /static/vendored.txt HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n", 404),
    "a method nobody knows": (
        (
            "BREW /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: "
            "application/json\r\n\r\n"
        ),
        405,
    ),
    "a head without end": ("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: " + "x" * 70_000, 400),
    "no HTTP": ("\x16\x03\x01\r\n\r\n", 400),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_turned_away(served, raw, name):
    text, wanted = ATTACKS[name]
    status, answer = raw(text.replace("{port}", str(served.port)).replace("{key}", served.key).encode())
    assert status == wanted, answer[:400]
    assert b"access-control-allow" not in answer.lower()
    assert b"Traceback" not in answer
    for each, value in HEADERS.items():
        assert f"\r\n{each}: {value}\r\n".encode() in answer, each


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_this_machine_may_be_called_by_its_own_names(served, raw, name):
    status, _ = raw(
        request(
            served,
            f"GET /api/memories HTTP/1.1\r\nHost: {name}:{{port}}\r\nAuthorization: Bearer {{key}}\r\nConnection: close\r\n\r\n",
        )
    )
    assert status == 200


def test_a_body_larger_than_it_may_be_is_refused_though_it_hides_its_length(served, raw):
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    head = WRITE.replace("{method}", "POST") + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    status, _ = raw(request(served, head, chunk * (MAX_BODY_BYTES // 0x10000 + 2) + b"0\r\n\r\n"))
    assert status in (413, 0)  # 0: it was answered and closed while this side still wrote


def test_a_browser_shows_the_key_once_and_gets_a_cookie_no_script_reads(served):
    status, headers, _ = served.ask("POST", "/api/session", {"key": served.key}, key=False)
    assert status == 204
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert served.key not in cookie
    own = cookie.partition(";")[0]
    assert served.ask("GET", "/api/memories", key=False, headers={"Cookie": own})[0] == 200
    assert served.ask("GET", "/api/memories", key=False, headers={"Cookie": own + "x"})[0] == 401
    assert served.ask("POST", "/api/session", {"key": "x"}, key=False)[0] == 403


def test_nobody_sees_a_page_before_showing_the_key(served):
    served.add("The walnut harvest is on Tuesday.")
    status, headers, text = served.ask("GET", "/", key=False)
    assert (status, headers["cache-control"]) == (200, "no-store")
    assert "walnut" not in text
    assert served.ask("GET", "/review", key=False)[0] == 401


def test_what_goes_wrong_is_one_line_and_no_traceback(served):
    status, _, body = served.ask("GET", "/api/memories/zzzz")
    assert (status, body["error"]) == (404, "no memory 'zzzz'")
    status, _, body = served.ask("POST", "/api/memories", {"text": "x", "category": "nonsense"})
    assert status == 409
    assert body["error"].startswith("no category 'nonsense'")
    status, _, text = served.ask("GET", "/nowhere")
    assert status == 404
    assert "There is no such page" in text


def test_a_store_that_is_gone_is_told_in_one_line(served):
    served.add("The walnut harvest is on Tuesday.")
    store = find_paths(str(served.home), os.environ).store
    store.write_bytes(b"x" * 5000)
    status, _, body = served.ask("GET", "/api/memories")
    assert status == 503
    assert body["error"] == "the store file is damaged"
    status, _, text = served.ask("GET", "/")
    assert status == 503
    assert "Traceback" not in text


def test_it_listens_on_this_machine_only(served):
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    places = {row[1].partition(":")[0] for row in rows if row[3] == "0A" and int(row[1].partition(":")[2], 16) == served.port}
    assert places == {"0100007F"}


def test_the_key_is_new_with_every_start_and_lies_in_no_file_that_an_agent_could_read(home):
    found, keys = find_paths(str(home), os.environ), []
    for port in (1111, 2222):
        with announce_page(found, port) as key:
            assert not [path for path in home.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
            assert find_running_page(found) == port
            with pytest.raises(BusyError), announce_page(found, 3333):
                pass
            keys.append(key)
        assert find_running_page(found) is None
    assert len(set(keys)) == 2
    assert all(len(each) >= 43 for each in keys)


def test_a_port_that_is_taken_is_told(served):
    with pytest.raises(UsageError, match="cannot be taken"):
        open_socket(served.port)


@pytest.mark.slow
def test_two_hundred_clients_that_send_a_byte_a_second_are_cut_off_and_others_are_served_meanwhile(served):
    slow = {socket.create_connection(("127.0.0.1", served.port)) for _ in range(200)}
    words = request(served, "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: " + "x" * 100_000)
    for byte in words:
        if not slow:
            break
        for each in slow:
            with suppress(OSError):
                each.send(bytes((byte,)))
        assert served.ask("GET", "/")[0] == 200
        for each in select.select(list(slow), [], [], 1.0)[0]:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""
            each.close()
            slow.discard(each)
    assert not slow


def test_who_sends_too_much_gets_to_read_that_it_was(served, monkeypatch):
    monkeypatch.setattr("kept.web.guard._DRAIN_SECONDS", 600.0)
    for _ in range(5):
        status, _, body = served.ask("POST", "/api/memories", {"text": "x" * 3_000_000, "category": "decision"})
        assert (status, body["error"]) == (413, "the request is too large")


def test_who_is_refused_before_the_body_arrived_may_send_it_and_is_not_cut_off(served, monkeypatch):
    monkeypatch.setattr("kept.web.guard._DRAIN_SECONDS", 600.0)
    head = (
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", served.port)) as own:
        own.sendall(request(served, head))
        answer = own.recv(65_536)
        own.sendall(b"x" * 1_000_000)
        while own.recv(65_536):  # would raise ConnectionResetError
            pass
    assert answer.startswith(b"HTTP/1.1 401 ")


def test_an_unexpected_error_leaves_a_line_and_a_trace_without_words(served, monkeypatch, capfd):
    def broken(*_, **__):
        raise LookupError("the harbour master said so")

    monkeypatch.setattr("kept.web.pages.review.list_lingering", broken)
    status, _, told = served.ask("GET", "/review/lingering?q=harbour")
    log = served.home / ".local" / "share" / "kept" / "errors.log"
    assert status == 500
    assert "LookupError (review.py:" in told
    assert str(log) in told
    assert "kept web: GET /review/lingering: something unexpected went wrong: LookupError" in capfd.readouterr().err
    entry = log.read_text()
    assert "GET /review/lingering" in entry
    assert "in broken" in entry
    assert "harbour" not in entry
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
