"""The page behind a reverse proxy with single sign-on, by the very rules that the documentation gives the proxy."""

import json
import re
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

DOCUMENT = (Path(__file__).parents[2] / "docs" / "team.md").read_text()
COMPOSE, CADDYFILE = re.findall(r"^```(?:yaml|text)\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
IDENTITY, ANNA, SITE = "X-Auth-Request-Email", "anna@example.org", "https://memory.example"


def proxied(sent, signed_on, served):
    """The headers that reach the page, by the rules of the document; None where the request is turned away."""
    headers = {name.title(): value for name, value in sent.items()}
    removed = re.findall(r"request_header -(\S+)", CADDYFILE)
    headers = {name: value for name, value in headers.items() if name not in removed} | {IDENTITY: signed_on}
    if headers.get("Sec-Fetch-Mode") == "navigate" and "@arriving -Sec-Fetch-Site" in CADDYFILE:
        headers.pop("Sec-Fetch-Site", None)
    if f"@anna header {IDENTITY} {headers[IDENTITY]}\n" not in CADDYFILE:
        return None
    for name, written in re.findall(r"header_up (\S+) (.+)", CADDYFILE):
        rule = written.strip('"').replace("8420", str(served.port)).replace("{file./run/kept/anna}", served.key)
        pattern, _, instead = rule.partition(" ")
        if not pattern.startswith("^"):
            headers[name] = rule
        elif name in headers:
            headers[name] = re.sub(pattern, instead, headers[name])
    return headers


@pytest.fixture
def ask(served):
    """Asks the page through a proxy on this machine, as somebody whom the organisation knows; the status."""

    class Proxy(BaseHTTPRequestHandler):
        def handle_one(self):
            headers = proxied(dict(self.headers.items()), self.headers.get("Signed-On", ""), served)
            if headers is None:
                self.answer(403)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            headers = {name: value for name, value in headers.items() if name not in ("Signed-On", "Connection")}
            try:
                asked = urllib.request.Request(served.url + self.path, data=body, method=self.command, headers=headers)
                with urllib.request.urlopen(asked) as found:
                    self.answer(found.status)
            except urllib.error.HTTPError as error:
                with error:
                    self.answer(error.code)

        do_GET = do_POST = handle_one  # noqa: N815

        def answer(self, status):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = Thread(target=proxy.serve_forever, daemon=True)
    thread.start()

    def ask(method, path, body=None, *, by=ANNA, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()} | {"Signed-On": by}
        headers |= {"Content-Type": "application/json"} if body else {}
        data = json.dumps(body).encode() if body else None
        url = f"http://127.0.0.1:{proxy.server_port}{path}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data=data, method=method, headers=headers)) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    yield ask
    proxy.shutdown()
    proxy.server_close()
    thread.join()


def test_who_is_signed_on_reads_and_changes_their_own_page_and_nobody_else_does(ask, served):
    fact = {"text": "The harbor crane is served twice a day.", "category": "decision"}
    assert ask("GET", "/overview", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate") == 200  # sent here by the sign-on
    assert ask("POST", "/api/memories", fact, Origin=SITE, Sec_Fetch_Site="same-origin") in (200, 201)
    assert served.memory("served twice a day").content == fact["text"]
    for by in ("", "ben@example.org"):
        assert ask("GET", "/overview", by=by) == 403
        assert ask("GET", "/overview", by=by, **{IDENTITY: ANNA}) == 403  # a forged name
    other = fact | {"text": "Anybody may paint the harbor crane."}
    assert ask("POST", "/api/memories", other, Origin="https://evil.example") == 403
    assert ask("POST", "/api/memories", other, Origin=SITE, Sec_Fetch_Site="cross-site") == 403


def test_the_compose_file_names_what_it_uses_and_opens_the_proxy_alone():
    found = pytest.importorskip("yaml").safe_load(COMPOSE)
    services = found["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    for service in services.values():
        assert service["image"]
        assert set(service.get("secrets", ())) <= set(found["secrets"])
        assert set(service.get("depends_on", ())) <= set(services)
        named = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        assert {name for name in named if not name.startswith("./")} <= set(found["volumes"])
        network = service.get("network_mode", "")
        assert network.removeprefix("service:") in ("", *services)
    keys = {volume for name in ("anna", "proxy") for volume in services[name]["volumes"] if volume.startswith("keys:")}
    assert keys == {"keys:/run/kept", "keys:/run/kept:ro"}
