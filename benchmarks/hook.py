"""How long an agent waits for a hook: a fresh process of the installed console script before a prompt, over a store of many facts.

    python benchmarks/hook.py FACTS.jsonl QUERIES.jsonl --facts 10000 --rounds 60

FACTS and QUERIES are JSON lines with a ``text`` and a ``query``. Facts are taken in turn, with a number added when they come round again, until there
are enough. Each round runs, in turn: a bare interpreter, the hook with a query as its prompt (each in a session of its own), the hook
with a failure, the hook at the start of a session. What counts are the ratios to the bare interpreter of the same run, by the clock
and by processor time (user and system, the least of all rounds: what a busy machine adds is not the hook's).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import quantiles
from typing import NamedTuple

from kept.adapters.store import Draft, SqliteStore
from kept.app.desk import find_home
from kept.model.artifact import artifacts
from kept.model.codec import digest
from kept.model.event import Origin
from kept.model.memory import Actor, Memory, Status
from kept.model.operation import Add
from kept.model.project import Project

KEPT = Path(sys.executable).with_name("kept")
DIRECTORY, SCOPE = "/work/harbor", "project:harbor-000000"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
FAILURE = "the build fails again\n\nTraceback (most recent call last):\n  File \"/work/harbor/a.py\", line 3, in <module>\nModuleNotFoundError: No module named 'yaml'\n"


def texts(path: Path, name: str) -> list[str]:
    return [json.loads(line)[name] for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def facts(lines: list[str], count: int) -> Iterator[str]:
    for number, text in zip(range(count), cycle(lines), strict=False):
        yield text if number < len(lines) else f"{text} (variant {number // len(lines)})"


def fill(home: Path, lines: list[str], count: int) -> int:
    """A store with so many active facts of a project, in passes of a thousand. Returns its bytes."""
    path = find_home(str(home), {"HOME": str(home)}).store
    with SqliteStore(path) as store:
        store.archive.put_project(Project(directory=DIRECTORY, identity="dir:/work/harbor", name="harbor", scope=SCOPE))
        run = store.log.start_run("benchmark", NOW)
        rest = list(facts(lines, count))
        for start in range(0, count, 1_000):
            added = tuple(
                Add(memory=(made := fact(text, start + place)).id, at=NOW, reason="benchmark", value=made)
                for place, text in enumerate(rest[start : start + 1_000])
            )
            store.log.commit(
                Draft(run=run, stage="import", subject="benchmark", actor=Actor.PERSON, recorded_at=NOW, operations=added)
            )
        store.log.end_run(run, NOW, {})
    return path.stat().st_size


def fact(text: str, number: int) -> Memory:
    seen = NOW - timedelta(hours=number)
    return Memory(
        id=digest(text, str(number), size=5), profile="coding", category="project_fact", scope=SCOPE, status=Status.ACTIVE, content=text,
        confidence=0.8, origin=Origin.USER, first_seen=seen, last_seen=seen, artifacts=artifacts(text),
    )  # fmt: skip


class Took(NamedTuple):
    """Milliseconds that a process took, by the clock and of the processor."""

    clock: float
    processor: float


def measure(home: Path, prompts: list[str], rounds: int) -> dict[str, list[Took]]:
    """What each way took, by its name."""
    env = {**os.environ, "HOME": str(home), "KEPT_HOME": str(home), "PYTHONPYCACHEPREFIX": str(home / "bytecode")}
    for name in ("KEPT_GUARD", "PYTHONDONTWRITEBYTECODE"):
        env.pop(name, None)
    answered = 0

    def timed(command: list[str], body: bytes) -> Took:
        nonlocal answered
        before, began = getrusage(RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, input=body, env=env, capture_output=True, check=True)
        clock, after = time.perf_counter() - began, getrusage(RUSAGE_CHILDREN)
        answered += bool(done.stdout)
        return Took(clock * 1000, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)

    def payload(number: int, **fields: str) -> bytes:
        return json.dumps(
            {"session_id": f"s{number}", "transcript_path": "/x/.codex/sessions/a.jsonl", "cwd": DIRECTORY, **fields}
        ).encode()

    ways: dict[str, Callable[[int, str], Took]] = {
        "python -c pass": lambda _, __: timed([sys.executable, "-c", "pass"], b""),
        "prompt": lambda number, words: timed([str(KEPT), "hook", "user-prompt"], payload(number, prompt=words)),
        "prompt that tells of a failure": lambda number, _: timed(
            [str(KEPT), "hook", "user-prompt"], payload(number + 10**6, prompt=FAILURE)
        ),
        "start of a session": lambda number, _: timed(
            [str(KEPT), "hook", "session-start"], payload(number + 10**7, source="startup")
        ),
        "kept --version": lambda _, __: timed([str(KEPT), "--version"], b""),
    }
    found: dict[str, list[Took]] = {name: [] for name in ways}
    for number, words in zip(range(rounds + 3), cycle(prompts), strict=False):
        for name, way in ways.items():
            took = way(number, words)
            if number >= 3:  # the first rounds warm the disk's cache and write the byte code
                found[name].append(took)
    sys.stderr.write(f"{answered} answers with context\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts_file", type=Path)
    parser.add_argument("queries_file", type=Path)
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    lines, prompts = texts(given.facts_file, "text"), texts(given.queries_file, "query")
    with tempfile.TemporaryDirectory() as folder:
        size = fill(Path(folder), lines, given.facts)
        found = measure(Path(folder), prompts, given.rounds)
    bare = found["python -c pass"]
    floor, least = quantiles([each.clock for each in bare], n=20)[9], min(each.processor for each in bare)
    print(f"{given.facts:,} facts, store of {size / 2**20:.0f} MB, {given.rounds} rounds")
    print(
        "| way | p50 ms | p95 ms | times the bare interpreter | processor ms | times the bare interpreter |\n|---|---|---|---|---|---|"
    )
    for name, took in found.items():
        parts, spent = quantiles([each.clock for each in took], n=20), min(each.processor for each in took)
        print(f"| {name} | {parts[9]:.1f} | {parts[18]:.1f} | {parts[9] / floor:.2f} | {spent:.1f} | {spent / least:.2f} |")


if __name__ == "__main__":
    main()
