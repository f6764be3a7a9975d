"""The page behind a reverse proxy with single sign-on, by the very rules that the documentation gives the proxy."""

import json
import os
import re
import shutil
import socket
import subprocess
import tomllib
import urllib.error
import urllib.request
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from kept.cli.registry import GROUPS

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "team.md").read_text()
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
        rule = written.strip('"').replace("8420", str(served.port)).replace("{file./run/kept/anna/key}", served.key)
        pattern, _, instead = rule.partition(" ")
        if not pattern.startswith("^"):
            headers[name] = rule
        elif name in headers:
            headers[name] = re.sub(pattern, instead, headers[name])
    return headers


@contextmanager
def listening(handler):
    """The port of a server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, args=(0.005,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


class Quiet(BaseHTTPRequestHandler):
    def answer(self, status, **headers):
        self.send_response(status)
        for name, value in ({"Content-Length": "0"} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def by_the_rules(served, _):
    """A proxy that does what the document's rules say."""

    class Proxy(Quiet):
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

    with listening(Proxy) as port:
        yield port


@contextmanager
def by_caddy(served, folder):
    """Caddy itself, where it is on the PATH, with the document's file; a sign-on that knows everybody by a header of theirs."""
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("caddy is not on the PATH")

    class SignOn(Quiet):
        def do_GET(self):
            by = self.headers.get("Signed-On", "") if self.path.startswith("/oauth2/auth") else ""
            self.answer(202 if by else 401, **{IDENTITY: by})

    with listening(SignOn) as sign_on, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        written = CADDYFILE.replace("memory.example {", f"http://127.0.0.1:{port} {{", 1).replace(
            "sign-on:4180", f"127.0.0.1:{sign_on}"
        )
        written = written.replace("{file./run/kept/anna/key}", served.key).replace("127.0.0.1:8420", f"127.0.0.1:{served.port}")
        (folder / "Caddyfile").write_text(f"{{\n    admin off\n}}\n{written}")
        call = [caddy, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
        process = subprocess.Popen(call, env={"HOME": str(folder), "PATH": os.environ["PATH"]}, stderr=subprocess.PIPE)
        try:
            while b"serving initial configuration" not in (line := process.stderr.readline()):
                assert line, "caddy ended"
            yield port
        finally:
            process.kill()
            process.communicate()


@pytest.fixture(params=[by_the_rules, by_caddy])
def ask(request, served, tmp_path):
    """Asks the page through a proxy on this machine, as somebody whom the organisation knows; the status."""
    with request.param(served, tmp_path) as port:
        yield partial(ask_by, port)


def ask_by(port, method, path, body=None, *, by=ANNA, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()} | {"Signed-On": by}
    headers |= {"Content-Type": "application/json"} if body else {}
    data = json.dumps(body).encode() if body else None
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(asked) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_who_is_signed_on_reads_and_changes_their_own_page_and_nobody_else_does(ask, served):
    fact = {"text": "The harbor crane is served twice a day.", "category": "decision"}
    assert ask("GET", "/overview", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate") == 200  # sent here by the sign-on
    assert ask("POST", "/api/memories", fact, Origin=SITE, Sec_Fetch_Site="same-origin") in (200, 201)
    assert served.memory("served twice a day").content == fact["text"]
    for by in ("", "ben@example.org"):  # Caddy sends nobody to the sign-on, which here knows nobody
        assert ask("GET", "/overview", by=by) in (401, 403)
        assert ask("GET", "/overview", by=by, **{IDENTITY: ANNA}) in (401, 403)  # a forged name
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


def test_only_the_page_of_a_person_and_the_proxy_mount_the_volume_with_the_key():
    services = pytest.importorskip("yaml").safe_load(COMPOSE)["services"]
    mounted = {name: [each for each in service.get("volumes", ()) if "/run/kept" in each] for name, service in services.items()}
    assert mounted.pop("anna") == ["anna-key:/run/kept"]
    assert mounted.pop("proxy") == ["anna-key:/run/kept/anna:ro"]
    assert not any(mounted.values())


def test_the_images_have_versions_and_what_they_are_told_is_what_they_know():
    services = pytest.importorskip("yaml").safe_load(COMPOSE)["services"]
    assert all(re.fullmatch(r"[a-z0-9./-]+:[\w.-]+", service["image"]) for service in services.values())
    assert services["database"]["image"].startswith("pgvector/pgvector:pg")  # without pgvector the server finds words alone
    known = {"HTTP_ADDRESS", "REVERSE_PROXY", "SET_XAUTHREQUEST", "COOKIE_SAMESITE", "UPSTREAMS"}
    assert {name.removeprefix("OAUTH2_PROXY_") for name in services["sign-on"]["environment"]} <= known
    assert services["database"]["environment"] == {"POSTGRES_DB": "kept", "POSTGRES_PASSWORD_FILE": "/run/secrets/admin"}
    script = services["anna"]["command"][-1]
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
    assert set(re.findall(r"\bkept (\w+)", script)) <= {command.name for group in GROUPS.values() for command in group}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.search(r"kept\[(.+?)\]", script)[1].split(",")) <= extras.keys()
    (setting,) = re.findall(r"config set (\S+) postgresql://anna@(database/kept)", script)
    assert setting == ("store.url", "database/kept")


def test_the_proxy_is_given_the_key_that_the_page_prints():
    script = pytest.importorskip("yaml").safe_load(COMPOSE)["services"]["anna"]["command"][-1]
    (line,) = re.findall(r"kept web .*\| (sed .*) > /run/kept/key", script)
    told = "Open http://127.0.0.1:8420/overview#the-key_of-1start\n"
    assert (
        subprocess.run(["sh", "-c", line], input=told, capture_output=True, text=True, check=True).stdout == "the-key_of-1start\n"
    )
