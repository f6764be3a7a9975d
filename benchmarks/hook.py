"""Measure how long an agent waits for a hook: a new process of the installed console script, with a store of many facts.

    python benchmarks/hook.py FACTS.jsonl QUERIES.jsonl --facts 10000 --rounds 60

FACTS and QUERIES are JSON lines with a ``text`` and a ``query``. Facts are repeated, with a number added, until there are enough;
a repeated fact gets the vector of its text. Each round runs, in turn: a bare interpreter; the hook with a query as its prompt, each
in its own session, by words alone, by meaning with the model in the same process (``context_meaning``), and by meaning with the
embedding server; the hook after a failure; and the hook at the start of a session. The results to compare are the ratios to the
bare interpreter of the same run, by wall clock and by processor time (user and system; the minimum of all rounds, because a busy
machine adds time that is not the hook's).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import quantiles
from typing import NamedTuple

from kept.core.artifact import find_artifacts
from kept.core.digest import digest, text_hash
from kept.core.event import Origin
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import Add
from kept.core.project import Project
from kept.paths import find_paths
from kept.recall.embed import create_embedder
from kept.recall.embed_server import ask_for_memories
from kept.recall.index import UnitKind
from kept.recall.index.vectors import VectorEntry, update_vectors
from kept.store.sqlite import SqliteStore
from kept.store.values import Draft

KEPT = Path(sys.executable).with_name("kept")
DIRECTORY, SCOPE = "/work/harbor", "project:harbor-000000"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
FAILURE = (
    'the build fails again\n\nTraceback (most recent call last):\n  File "/work/harbor/a.py", line 3, in '
    "<module>\nModuleNotFoundError: No module named 'yaml'\n"
)


def texts(path: Path, name: str) -> list[str]:
    return [json.loads(line)[name] for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def facts(lines: list[str], count: int) -> Iterator[str]:
    for number, text in zip(range(count), cycle(lines), strict=False):
        yield text if number < len(lines) else f"{text} (variant {number // len(lines)})"


def fill(home: Path, lines: list[str], count: int) -> int:
    """Fill a store with ``count`` active facts of a project, in passes of a thousand. Returns its size in bytes."""
    path = find_paths(str(home), {"HOME": str(home)}).store
    with SqliteStore(path) as store:
        store.archive.save_project(Project(directory=DIRECTORY, identity="dir:/work/harbor", name="harbor", scope=SCOPE))
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
        id=digest(text, str(number), size=5),
        profile="coding",
        category="project_fact",
        scope=SCOPE,
        status=Status.ACTIVE,
        content=text,
        confidence=0.8,
        origin=Origin.USER,
        first_seen=seen,
        last_seen=seen,
        artifacts=find_artifacts(text),
    )


def mean(home: Path, lines: list[str], count: int) -> None:
    """Make vectors of all facts with the local model."""
    model = create_embedder("local")
    if model is None:
        raise SystemExit("the model's pack is not here: make run")
    place = find_paths(str(home), {"HOME": str(home)})
    known = model.embed(lines[:count])
    rows = {}
    with SqliteStore(place.store) as store:
        rows = dict(store._database.execute_sql("SELECT id, rowid FROM memories").fetchall())  # noqa: SLF001 - the rows the vectors are of
    entries = [
        VectorEntry(
            kind=UnitKind.MEMORY,
            item=rows[digest(text, str(number), size=5)],
            mark=text_hash(text),
            vector=known[number % len(lines)],
        )
        for number, text in enumerate(facts(lines, count))
    ]
    update_vectors(place.vectors, model.name, {}, entries)
    with SqliteStore(place.store) as store:
        store.queue.remove(store.queue.pending_units())


class Took(NamedTuple):
    """The milliseconds of a process, by wall clock and processor time."""

    clock: float
    processor: float


def environment(home: Path) -> dict[str, str]:
    """The environment for a hook in a home; byte code is written to one common folder."""
    env = {**os.environ, "HOME": str(home), "KEPT_HOME": str(home), "PYTHONPYCACHEPREFIX": str(home.parent / "bytecode")}
    for name in ("KEPT_GUARD", "PYTHONDONTWRITEBYTECODE", "OPENBLAS_NUM_THREADS"):
        env.pop(name, None)
    return env


def measure(homes: dict[str, Path], prompts: list[str], rounds: int) -> dict[str, list[Took]]:
    """The times of each variant, by its name."""
    answered: Counter[str] = Counter()

    def timed(command: list[str], body: bytes, way: str = "words") -> Took:
        env = environment(homes[way])
        before, began = getrusage(RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, input=body, env=env, capture_output=True, check=True)
        clock, after = time.perf_counter() - began, getrusage(RUSAGE_CHILDREN)
        if "user-prompt" in command and FAILURE not in json.loads(body).values():
            answered[way] += bool(done.stdout)
        return Took(clock * 1000, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)

    def payload(number: int, **fields: str) -> bytes:
        return json.dumps(
            {"session_id": f"s{number}", "transcript_path": "/x/.codex/sessions/a.jsonl", "cwd": DIRECTORY, **fields}
        ).encode()

    ways: dict[str, Callable[[int, str], Took]] = {
        "python -c pass": lambda _, __: timed([sys.executable, "-c", "pass"], b""),
        "prompt": lambda number, words: timed([str(KEPT), "hook", "user-prompt"], payload(number, prompt=words)),
        "prompt, meaning in the same process": lambda number, words: timed(
            [str(KEPT), "hook", "user-prompt"], payload(number, prompt=words), "meaning"
        ),
        "prompt, a warm process answers": lambda number, words: timed(
            [str(KEPT), "hook", "user-prompt"], payload(number, prompt=words), "warm"
        ),
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
    sys.stderr.write(f"prompts of {rounds + 3} that something was put before: {dict(answered)}\n")
    return found


@contextmanager
def warm(home: Path, known: str) -> Iterator[int]:
    """Run an embedding server for a home; yields its process id once it answers a question with known words."""
    program = (
        "import os, sys; os.environ['OPENBLAS_NUM_THREADS'] = '1'; from kept.paths import find_paths\n"
        "from kept.recall.embed_server.server import run_embed_server\n"
    )
    program += "with run_embed_server(find_paths(os.environ['HOME'], os.environ), os.environ): sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, env=environment(home)) as process:
        state = str(find_paths(str(home), {"HOME": str(home)}).state)
        while not ask_for_memories(state, known, 5.0)(["user", SCOPE])():
            if process.poll() is not None:
                raise SystemExit("the process that was to stay has ended")
            time.sleep(0.1)
        yield process.pid
        process.communicate()


def waited(home: Path, prompts: list[str], rounds: int, process: int) -> str:
    """How long a hook waits for the embedding server, by wall clock and by the server's processor time."""
    state, took = str(find_paths(str(home), {"HOME": str(home)}).state), []
    before = spent(process)
    for _, words in zip(range(rounds), cycle(prompts), strict=False):
        began = time.perf_counter()
        ask_for_memories(state, words, 5.0)(["user", SCOPE])()
        took.append((time.perf_counter() - began) * 1000)
    parts, late = quantiles(took, n=20), sum(each > 150 for each in took)
    own = (spent(process) - before) / rounds
    return (
        f"a warm process answers in {parts[9]:.1f} ms (p95 {parts[18]:.1f}; {own:.1f} of the processor); {late} of {rounds} "
        "after 150 ms"
    )


def spent(process: int) -> float:
    """The processor milliseconds of a process so far; 0 on a system that does not report them."""
    stat = Path(f"/proc/{process}/stat")
    parts = stat.read_text().rpartition(")")[2].split() if stat.exists() else ["0"] * 13
    return (int(parts[11]) + int(parts[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts_file", type=Path)
    parser.add_argument("queries_file", type=Path)
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    lines, prompts = texts(given.facts_file, "text"), texts(given.queries_file, "query")
    with tempfile.TemporaryDirectory() as folder:
        homes = {name: Path(folder) / name for name in ("words", "meaning", "warm")}
        size = fill(homes["words"], lines, given.facts)
        mean(homes["words"], lines, given.facts)
        for name in ("meaning", "warm"):
            shutil.copytree(homes["words"], homes[name])
        find_paths(str(homes["words"]), {"HOME": "/"}).vectors.unlink()
        config = homes["meaning"] / ".config" / "kept" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("context_meaning = true\n", encoding="utf-8")
        with warm(homes["warm"], lines[0]) as process:
            answers = waited(homes["warm"], prompts, given.rounds, process)
            found = measure(homes, prompts, given.rounds)
    bare = found["python -c pass"]
    floor, least = quantiles([each.clock for each in bare], n=20)[9], min(each.processor for each in bare)
    print(answers)
    print(f"{given.facts:,} facts, store of {size / 2**20:.0f} MB, {given.rounds} rounds")
    print(
        "| way | p50 ms | p95 ms | times the bare interpreter | processor ms | times the bare interpreter "
        "|\n|---|---|---|---|---|---|"
    )
    for name, took in found.items():
        parts, spent = quantiles([each.clock for each in took], n=20), min(each.processor for each in took)
        print(f"| {name} | {parts[9]:.1f} | {parts[18]:.1f} | {parts[9] / floor:.2f} | {spent:.1f} | {spent / least:.2f} |")


if __name__ == "__main__":
    main()
