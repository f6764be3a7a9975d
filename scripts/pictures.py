"""Make the pictures of the documentation from real runs on the bundled sample: ``python scripts/pictures.py``.

Terminal sessions become SVG. Each screenshot of the page has a file with its text and structure (``NAME.yml``), which a test
compares with the present page. A picture whose content has not changed is not rewritten.
"""

import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "screens"
CHROMIUM = "/usr/bin/chromium"
WIDTH = 100
# The commands for each picture, executed in this order in one home.
SESSIONS: Mapping[str, Sequence[str]] = {
    "run": ("kept run src/kept/sample/projects",),
    "why": ("kept why 1437",),
    "search": ('kept search "station code"',),
    "correct": ('kept edit 6f8f "Rows without a station code go to rejected.csv."', "kept list --category constraint", "kept undo"),
}
PAGES: Mapping[str, str] = {"memories": "/", "story": "/memories/1437e92408"}  # in the home after these sessions
_CHANGING = (
    (r"\d+(?:\.\d+)? s\b", "N s"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "TIME"),
    (r"/[^ ]*/src/kept", "src/kept"),
    (r"127\.0\.0\.1:\d+", "HOST"),
    (r"\b(?!2026-09)20\d\d-\d\d-\d\d\b", "DAY"),  # dates of the sample are in September 2026; others are those of today's run
)
_THEME = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [(36, 41, 47), (207, 34, 46), (17, 99, 41), (125, 78, 0), (9, 105, 218), (130, 80, 223), (27, 124, 131), (110, 119, 129)],
)
_FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px
}}
{styles}
</style>
<defs>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})"><g class="{unique_id}-matrix">
{matrix}
</g></g>
</svg>
"""


def normalize(text: str) -> str:
    """Replace what differs in every run: durations, present dates and times, and folders of this machine."""
    for pattern, name in _CHANGING:
        text = re.sub(pattern, name, text)
    return text


def run_in_terminal(command: str, home: Path) -> str:
    """The output of a command on a terminal, with colours. Raises RuntimeError if it fails."""
    master, terminal = pty.openpty()
    env = {**os.environ, "HOME": str(home), "KEPT_HOME": "", "KEPT_EMBEDDINGS": "hashing", "COLUMNS": str(WIDTH), "TERM": "xterm"}
    words = [sys.executable, "-m", "kept", *shlex.split(command)[1:]]
    with subprocess.Popen(words, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE) as process:
        os.close(terminal)
        parts = []
        while True:
            try:
                part = os.read(master, 65_536)
            except OSError:  # the process has closed the terminal
                break
            if not part:
                break
            parts.append(part)
        code = process.wait()
    os.close(master)
    text = b"".join(parts).decode().replace("\r\n", "\n")
    if code:
        raise RuntimeError(f"{command}: {text}")
    return text.replace(str(home), "~").replace(f"{ROOT}/", "")


def draw_session(name: str, calls: Sequence[tuple[str, str]]) -> str:
    """A terminal session as SVG: each command with its output."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"), force_terminal=True)  # noqa: SIM115, PTH123
    for command, printed in calls:
        console.print(Text.assemble(("$ ", "dim"), (command, "bold")))
        console.print(Text.from_ansi(printed.rstrip("\n")))
    drawn = console.export_svg(title="", theme=_THEME, code_format=_FORMAT, unique_id=f"kept-{name}")
    return re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE)


def read_drawn(svg: str) -> str:
    """The text of a drawn session, line by line."""
    rows: dict[float, list[tuple[float, str]]] = defaultdict(list)
    for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314 - drawn here
        if each.get("clip-path"):  # part of a line of text
            rows[float(each.get("y", 0))].append((float(each.get("x", 0)), (each.text or "").replace("\xa0", " ")))
    return "\n".join(" ".join(piece for _, piece in sorted(pieces)) for _, pieces in sorted(rows.items()))


@contextmanager
def serve_page(home: Path) -> Iterator[tuple[str, str]]:
    """Serve the page for a home in this process; yields its address and key."""
    from kept.paths import find_paths  # noqa: PLC0415 - the home is set before
    from kept.web import create_app, open_socket  # noqa: PLC0415 - as above
    from kept.web.context import WebContext  # noqa: PLC0415 - as above
    from kept.web.server import WebServer, server_config  # noqa: PLC0415 - as above
    from kept.workspace import open_workspace  # noqa: PLC0415 - as above

    paths = find_paths(str(home), {"HOME": str(home)})
    own, ready = open_socket(0), threading.Event()
    key = "k" * 43
    context = WebContext(open_own=partial(open_workspace, paths), home=paths, key=key, port=own.getsockname()[1])
    server = WebServer(server_config(create_app(context)), ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]}, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{context.port}", key
    finally:
        server.should_exit = True
        thread.join()
        own.close()


def open_page(browser: Any, address: str, key: str, name: str) -> Any:
    """Open a page in the browser as its picture shows it."""
    context = browser.new_context(viewport={"width": 1100, "height": 760}, color_scheme="light", reduced_motion="reduce")
    context.request.post(f"{address}/api/session", data={"key": key})
    page = context.new_page()
    page.goto(address + PAGES[name])
    page.wait_for_load_state("networkidle")
    return page


def describe_page(page: Any) -> str:
    """The text and structure of a page."""
    return normalize(f"{page.locator('main').aria_snapshot()}\n")


def play_sessions(home: Path) -> dict[str, list[tuple[str, str]]]:
    """The commands and their output for each picture."""
    return {name: [(command, run_in_terminal(command, home)) for command in commands] for name, commands in SESSIONS.items()}


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    print(path.relative_to(ROOT))


def main() -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a test needs only the rest of this module

    os.environ["KEPT_EMBEDDINGS"] = "hashing"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name, calls in play_sessions(home).items():
            path, drawn = FOLDER / f"{name}.svg", draw_session(name, calls)
            if not path.exists() or normalize(read_drawn(path.read_text(encoding="utf-8"))) != normalize(read_drawn(drawn)):
                _write(path, drawn)
        os.environ["HOME"] = folder
        with serve_page(home) as (address, key), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            for name in PAGES:
                page = open_page(browser, address, key, name)
                described, known = describe_page(page), FOLDER / f"{name}.yml"
                if not known.exists() or known.read_text(encoding="utf-8") != described:
                    page.screenshot(path=known.with_suffix(".png"))
                    _write(known, described)
            browser.close()


if __name__ == "__main__":
    main()
