"""Measure the page with many memories: the cost of a request for the server, and when a browser shows the page.

Usage: python benchmarks/web.py [--size 10000] [--rounds 7] [--stories] [--home DIR]

The browser is Debian's headless Chromium; without it, only the server is measured. Figures are medians; CPU time is that of this
process (the server). It first measures the processor time of commands with the same memories (``--home DIR``: only this, with the
memories of that home). It last plays user stories, once each, and counts their keys and clicks (``--stories``: only this).
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

from kept.changes import apply_person_change
from kept.core.memory import Actor
from kept.core.operation import Add
from kept.memories.person import create_memory
from kept.paths import Paths
from kept.store.values import Draft
from kept.web import create_app, open_socket
from kept.web.context import WebContext
from kept.web.server import WebServer, server_config
from kept.workspace import open_workspace
from store import NOW, event, memory, sentence

CHROMIUM = "/usr/bin/chromium"
BATCH = 500
PAINT = """() => new Promise((tell) => new PerformanceObserver((list) => {
    const found = list.getEntriesByName("first-contentful-paint")[0];
    if (found) tell(found.startTime);
}).observe({ type: "paint", buffered: true }))"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--stories", action="store_true")
    parser.add_argument("--home", help="measure the commands over this home, and nothing else")
    options = parser.parse_args()
    if options.home:
        commands(options.home, options.rounds)
        return
    os.environ["KEPT_EMBEDDINGS"] = "hashing"
    with tempfile.TemporaryDirectory() as folder:
        home = Paths(root=Path(folder), user=Path(folder))
        some = fill(home, options.size)
        print(f"{options.size:,} memories, {options.rounds} rounds")
        if not options.stories:
            commands(folder, options.rounds)
        with served(home) as (port, key):
            if not options.stories:
                server(port, key, some, options.rounds)
            if Path(CHROMIUM).exists() and not options.stories:
                browser(port, key, options.rounds)
            if Path(CHROMIUM).exists():
                stories(port, key)


def fill(home: Paths, size: int) -> str:
    """Fill a store with so many memories in forty projects; returns the id of one."""
    chance = random.Random(1)
    with open_workspace(home) as workspace:
        for start in range(0, size, BATCH):
            made = [memory(number, event(number, sentence(chance)))[1] for number in range(start, min(start + BATCH, size))]
            run = workspace.store.log.start_run("run", NOW)
            operations = tuple(Add(memory=each.id, at=each.last_seen, reason="typed", value=each) for each in made)
            workspace.store.log.commit(
                Draft(run=run, stage="curate", subject="coding", actor=Actor.MACHINE, recorded_at=NOW, operations=operations)
            )
            workspace.store.log.end_run(run, NOW, {})
        for number in range(30):
            create_memory(workspace, f"Perhaps {sentence(chance)} (number {number})", "decision", agent=True)
        apply_person_change(workspace, lambda: None)  # writes the files
        home.backups.mkdir(exist_ok=True)
        for day in ("01", "02"):  # copied by hand: a backup would report that these memories have no archived turns
            shutil.copy(home.store, home.backups / f"kept-2026-01-{day}.db")
        entry = home.root / "journal" / "2026-01-01.md"
        entry.parent.mkdir(exist_ok=True)
        entry.write_text("# 2026-01-01\n\n" + "\n\n".join(sentence(chance) for _ in range(200)), encoding="utf-8")
        return next(iter(sorted(workspace.store.log.memory_ids())))


def commands(home: str, rounds: int) -> None:
    """Print the processor time of each command in a new process, with byte code cached; the first status counts what is held."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "KEPT_EMBEDDINGS")}
    for words in (["--help"], ["list", "--help"], ["status"], ["list"], ["log"], ["review", "--list"]):
        taken = []
        for _ in range(rounds):
            before = getrusage(RUSAGE_CHILDREN)
            asked = [sys.executable, "-m", "kept", *words, "--home", home]
            subprocess.run(asked, env=environment, check=True, stdout=subprocess.DEVNULL)
            after = getrusage(RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        print(f"kept {' '.join(words):15} {1000 * statistics.median(taken):6.0f} ms CPU, the first {1000 * taken[0]:6.0f}")


@contextmanager
def served(home: Paths) -> Iterator[tuple[int, str]]:
    own = open_socket(0)
    web = WebContext(open_own=partial(open_workspace, home), home=home, key="k" * 43, port=own.getsockname()[1])
    ready = threading.Event()
    running = WebServer(server_config(create_app(web)), ready.set)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [own]}, daemon=True)
    thread.start()
    ready.wait()
    yield web.port, web.key
    running.should_exit = True
    thread.join()


def server(port: int, key: str, some: str, rounds: int) -> None:
    paths = {
        "the list": "/",
        "a search": "/?q=deploy1",
        "a filter": "/?project=project-7&category=coding.decision",
        "a row": f"/memories/{some}/row",
        "a story": f"/memories/{some}",
        "review": "/review",
        "as JSON": "/api/memories?limit=100",
        "knowledge": "/graph",
        "drawn of it": "/api/graph",
        "days": "/days",
        "before": "/context?message=deploy1+fails",
        "files": "/files",
        "one file": "/files/edit?name=.claude/rules/memory.md",
        "the prompt": "/prompt",
    }
    print(f"{'server':<14}{'CPU ms':>10}{'first ms':>10}{'kB':>8}")
    for name, path in paths.items():
        costs, size = [], 0
        for _ in range(rounds + 1):
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {key}"})
            before = time.process_time()
            with urllib.request.urlopen(request) as answer:
                size = len(answer.read())
            costs.append(1000 * (time.process_time() - before))
        print(f"{name:<14}{statistics.median(costs[1:]):>10.0f}{costs[0]:>10.0f}{size / 1000:>8.0f}")


def browser(port: int, key: str, rounds: int) -> None:
    from playwright.sync_api import Page, sync_playwright  # noqa: PLC0415 - only if there is a browser

    def timed(act: Callable[[], object]) -> float:
        before = time.perf_counter()
        act()
        return 1000 * (time.perf_counter() - before)

    def typed(page: Page, letter: str) -> None:
        page.keyboard.type(letter)
        page.wait_for_url(f"**/?q=*{letter}")

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{port}/#{key}")
        page.wait_for_selector(".row")
        paints, filters, keys = [], [], []
        for number in range(rounds):
            page.goto(f"http://127.0.0.1:{port}/")
            paints.append(page.evaluate(PAINT))
            page.locator("#q").focus()
            filters.append(timed(partial(typed, page, "bcdtp"[number % 5])))
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_load_state()
            keys.append(timed(lambda: (page.keyboard.press("j"), page.locator(".row:focus").wait_for())))
        chromium.close()
    print(f"{'browser':<38}{'ms':>6}")
    print(f"{'first contentful paint':<38}{statistics.median(paints):>6.0f}")
    print(
        f"{'a letter typed until the list is there':<38}{statistics.median(filters):>6.0f}  (120 of them waiting for the "
        "next letter)"
    )
    print(f"{'j until the row has the focus':<38}{statistics.median(keys):>6.0f}")


class Hand:
    """Uses a page like a person, and counts keys and clicks."""

    def __init__(self, page: Any) -> None:
        self.page, self.keys, self.clicks = page, 0, 0

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)
            self.keys += 1

    def write(self, text: str) -> None:
        """Type a text, one key per character."""
        self.page.keyboard.type(text)
        self.keys += len(text)

    def click(self, role: str, name: str) -> None:
        """Click the first element with a role and a name."""
        self.page.get_by_role(role, name=name).first.click()
        self.clicks += 1


def correct(hand: Hand) -> None:
    hand.press("/")
    hand.write("deploy1")
    hand.page.locator("mark").first.wait_for()
    hand.press("Escape", "j", "Enter")
    hand.page.locator("h1.says").wait_for()
    hand.press("e")
    hand.page.get_by_label("What it says").wait_for()
    hand.press("End")
    hand.write(" Always.")
    hand.press("Enter")
    hand.page.get_by_text("Changed.").wait_for()
    hand.press("u")
    hand.page.get_by_text("Undone:").wait_for()


def decide(hand: Hand) -> None:
    hand.press("g", "v")
    hand.page.locator(".decide:focus").wait_for()
    hand.click("link", "others")
    hand.page.locator(".decide").nth(29).wait_for()
    hand.page.locator(".decide:focus").wait_for()
    hand.press(*("yn" * 10))
    hand.page.locator("#place", has_text="10 proposals left").wait_for()
    hand.page.wait_for_load_state("networkidle")


def last_night(hand: Hand) -> None:
    hand.press("g", "h")
    hand.page.locator("#runs .row:visible").first.wait_for()
    hand.press("j", "Enter")
    hand.page.locator("#runs .changes:visible").first.wait_for()


def span(hand: Hand) -> None:
    hand.page.get_by_text("More filters").click()
    hand.clicks += 1
    for label in ("Said from", "Said to"):
        hand.page.get_by_label(label).fill("2026-01-05")
        hand.keys += 8
    hand.page.wait_for_url("**until=2026-01-05**")


def forget(hand: Hand) -> None:
    hand.press("j")
    hand.page.locator(".row:focus").wait_for()
    hand.press("Enter")
    hand.page.locator("h1.says").wait_for()
    hand.click("button", "Forget …")
    hand.click("button", "Erase for good")
    hand.page.get_by_text("Forgotten for good.").wait_for()


def model(hand: Hand) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "claude"  # found as a model, but not called
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        hand.press("g", "s")
        hand.click("button", "Ask this one")
        hand.click("button", "Ask it from now on")
        hand.page.get_by_text("Runs ask").wait_for()
        hand.click("button", "Ask none")
        hand.page.get_by_text("No language model is asked.").wait_for()


STORIES: tuple[tuple[str, Callable[[Hand], None]], ...] = (
    ("find, correct and undo a memory", correct),
    ("decide on twenty", decide),
    ("what did last night change", last_night),
    ("what was said between two days", span),
    ("forget a memory everywhere", forget),
    ("choose a model, and have none asked again", model),
)


def stories(port: int, key: str) -> None:
    """Play the stories (find, correct and undo; decide on twenty; last night; a span of days; forget; the model) and print keys,
    clicks and CPU time of the server.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only if there is a browser

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page()
        page.context.grant_permissions(["clipboard-write"])
        page.set_default_timeout(1_800_000)  # forgetting reads everything, and the machine may be busy
        page.goto(f"http://127.0.0.1:{port}/#{key}")
        page.wait_for_selector(".row")
        print(f"{'story':<38}{'CPU ms':>8}{'keys':>6}{'clicks':>8}")
        for title, act in STORIES:
            hand, before = Hand(page), time.process_time()
            act(hand)
            print(f"{title:<38}{1000 * (time.process_time() - before):>8.0f}{hand.keys:>6}{hand.clicks:>8}")
            page.goto(f"http://127.0.0.1:{port}/")
        chromium.close()


if __name__ == "__main__":
    main()
