"""Fixtures: a page served over loopback for the test's home, a signed-in client, and a real browser (Debian's Chromium)."""

import asyncio
import json
import os
import socket
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import crowd

pytest.importorskip("fastapi")

from kept.core.memory import Status
from kept.install import schedule
from kept.memories import person
from kept.paths import find_paths, sample_home
from kept.web.background import BackgroundRun, FileWriter
from kept.web.context import WebContext
from kept.web.server import WebServer, create_app, open_socket, server_config
from kept.workspace import open_workspace

CHROMIUM = "/usr/bin/chromium"
NOTHING = "<link rel=icon href=data:,>"  # else it asks for one
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
KEY = "k" * 43
PATIENCE = 300  # seconds that a browser waits; only a failing test takes this long
# Timers of a second or more run 100 times longer, so that what disappears by itself (a note, a pending key) stays visible on a busy
# machine.
LINGER = "{ const after = setTimeout; window.setTimeout = (act, wait) => after(act, wait < 1000 ? wait : wait * 100); }"


@dataclass(frozen=True)
class Served:
    """A served page: its port, key and home, its background run, and its file writer."""

    port: int
    key: str
    home: Path
    background_run: BackgroundRun
    file_writer: FileWriter

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def workspace(self):
        """Open a workspace of the served home."""
        return open_workspace(find_paths(str(self.home), os.environ))

    def ask(self, method, path, body=None, *, headers=None, key=True):
        """Send a request; returns status, headers and body (parsed if it is JSON)."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if body is not None else {}
        sent |= {"Authorization": f"Bearer {self.key}"} if key else {}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=sent | (headers or {}))
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, dict(answer.headers), _read(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), _read(error)

    def memory(self, words):
        """The memory that contains these words."""
        with self.workspace() as workspace:
            return next(each for each in workspace.store.log.memories() if words in each.content)

    def add(self, text, category="decision", **more):
        """Add a memory as a person."""
        with self.workspace() as workspace:
            return person.create_memory(workspace, text, category, **more)

    def hold(self, text, category="constraint"):
        """Add a memory that is held for a decision."""
        with self.workspace() as workspace:
            made = person.create_memory(workspace, text, category, agent=True)
        assert made.status is Status.HELD
        return made


def _read(answer):
    text = answer.read().decode()
    return json.loads(text) if answer.headers.get("content-type", "").startswith("application/json") else text


@contextmanager
def serving(home, own=None):
    """Serve a home in a thread of this process, on a new socket or a copy of the given one."""
    own = own.dup() if own else open_socket(0)
    found = find_paths(str(home), os.environ)
    ready = threading.Event()
    there = sample_home(found)
    open_sample = partial(open_workspace, there, env={"HOME": str(there.root), "KEPT_EMBEDDINGS": "hashing"})
    web = WebContext(
        open_own=partial(open_workspace, found), home=found, key=KEY, port=own.getsockname()[1], open_sample=open_sample
    )
    server = WebServer(server_config(create_app(web)), ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]}, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield Served(web.port, KEY, home, web.background_run, web.file_writer)
    finally:
        server.should_exit = True
        thread.join()
        own.close()
        assert web.file_writer.wait(PATIENCE)


@pytest.fixture(autouse=True)
def soon_stopped(monkeypatch):
    """Let servers check every 5 ms whether to stop, instead of every 100 ms, because the tests start about two hundred of them."""
    hasty = SimpleNamespace(**vars(asyncio) | {"sleep": lambda seconds: asyncio.sleep(seconds / 20)})
    monkeypatch.setattr("uvicorn.server.asyncio", hasty)


@pytest.fixture(autouse=True)
def no_scheduler(monkeypatch):
    """Replace the system's schedulers, so that no test changes them; returns the recorded calls."""
    told = []
    monkeypatch.setattr(
        schedule,
        "enable_job",
        lambda *given: told.append(("enable", given[0])) or schedule.CommandResult(code=0, out="entered"),
    )
    monkeypatch.setattr(schedule, "disable_job", lambda *given: told.append(("disable", given[0])))
    monkeypatch.setattr(schedule, "query_job_state", lambda *_: schedule.CommandResult(code=0, out="active"))
    monkeypatch.setattr(schedule, "find_crontab_line", lambda *_: "")
    monkeypatch.setattr(schedule, "available_schedulers", lambda *_: (schedule.SchedulerKind.SYSTEMD,))
    return told


@pytest.fixture(scope="session")
def listening():
    """The socket of the pages of a worker's tests: a browser keeps the scripts and styles of an origin that it knows."""
    with open_socket(0) as own:
        yield own


@pytest.fixture
def served(home, listening):
    """A page with an empty store."""
    with serving(home, listening) as found:
        yield found


@pytest.fixture(scope="session")
def crowded(tmp_path_factory):
    """A page with a thousand memories, and some that are held."""
    home = tmp_path_factory.mktemp("crowded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("KEPT_HOME", str(home))
        with serving(home) as served:
            with served.workspace() as workspace:
                crowd.fill(workspace, 1_000, waiting=6)
            yield served


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of a worker."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no Chromium here")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE * 1000)
        yield browser
        browser.close()


class Watched:
    """Records what must not happen on a page: errors in the console, and requests to other machines. ``expected`` are parts of
    messages that a test provokes.
    """

    def __init__(self, context):
        self.forget()
        context.on("console", lambda message: self._heard(message.text) if message.type in ("error", "warning") else None)
        context.on("weberror", lambda error: self._heard(str(error.error)))
        context.on("request", lambda request: self._left(request.url))

    def forget(self):
        self.errors, self.strangers, self.expected = [], [], []

    def _heard(self, text):
        if not any(each in text for each in self.expected):
            self.errors.append(text)

    def _left(self, url):
        if not url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.strangers.append(url)


SIZES = {False: {"width": 1280, "height": 900}, True: {"width": 390, "height": 844}}  # by whether it is a phone


@pytest.fixture(scope="session")
def idle_windows(chromium):
    """The windows that tests left, by whether they are a phone's: to open a new one costs the browser more than most tests do."""
    return {}


def _open_window(chromium, *, phone):
    context = chromium.new_context(viewport=SIZES[phone], has_touch=phone, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    context.add_init_script(LINGER)
    context.watched = Watched(context)
    return context.new_page()


def _leave(page, url, *, phone):
    """Leave a window as if it were new, at an empty page of the same origin: for a blank one the browser would start a process."""
    page.unroute_all()
    page.context.set_offline(False)
    page.set_viewport_size(SIZES[phone])
    page.mouse.move(0, 0)
    page.context.clear_cookies()
    page.route(f"{url}/nothing", lambda route: route.fulfill(content_type="text/html", body=NOTHING))
    page.goto(f"{url}/nothing")
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.unroute_all()
    page.context.watched.forget()


@pytest.fixture
def browse(chromium, idle_windows, served):
    """A function that opens a page, signed in: ``browse("/path", dark=True, phone=True)``; with a ``context`` in a second tab."""
    used = []

    def opened_at(path="/", *, dark=False, phone=False, context=None):
        if context is None:
            page = idle_windows.pop(phone, None) or _open_window(chromium, phone=phone)
            used.append((phone, page))
            page.emulate_media(color_scheme="dark" if dark else "light")
            assert page.context.request.post(f"{served.url}/api/session", data={"key": served.key}).status == 204
        else:
            page = context.new_page()
        page.goto(served.url + path)
        page.watched = page.context.watched
        return page

    yield opened_at
    errors, strangers = (
        [one for _, page in used for one in getattr(page.context.watched, name)] for name in ("errors", "strangers")
    )
    for phone, page in used:
        for other in page.context.pages:
            if other != page:
                other.close()
        if phone in idle_windows or errors or strangers:
            page.context.close()
        else:
            _leave(page, served.url, phone=phone)
            idle_windows[phone] = page
    assert errors == []
    assert strangers == []


@pytest.fixture
def raw(served):
    """A function that sends raw bytes; returns the status (0 if the connection ends without one) and the whole response."""

    def ask(data):
        with socket.create_connection(("127.0.0.1", served.port)) as own:
            own.sendall(data)
            own.shutdown(socket.SHUT_WR)
            parts = []
            try:
                while part := own.recv(65_536):
                    parts.append(part)
            except ConnectionResetError:
                pass
        answer = b"".join(parts)
        return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0, answer

    return ask
