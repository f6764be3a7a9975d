"""Measure the store as it grows: opening and reading, durable appends, undo, check, and size.

Usage: python benchmarks/store.py [--sizes 1000 10000 100000] [--transcript MB]

Prints one table. Absolute figures are this machine's; compare the rows.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from events import build_event

from kept.core.event import Cursor, Event, Origin, Pointer, RecordAccount
from kept.core.memory import Accepted, Actor, Candidate, CandidateVerdict, Evidence, Memory, Status
from kept.core.operation import Add, Pin
from kept.store.sqlite import SqliteStore
from kept.store.values import Draft, Span

WORDS = [
    f"{stem}{end}" for stem in ("build", "deploy", "cache", "token", "parser", "branch", "index", "queue") for end in range(250)
]
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
BATCH = 500
APPENDS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--transcript", type=int, default=20, help="MB of cleaned turns to archive")
    options = parser.parse_args()
    columns = (
        "memories",
        "build s",
        "open+read s",
        "open+count ms",
        "append/s",
        "pass/s of 500",
        "undo one ms",
        "search ms",
        "check s",
        "rebuild s",
        "kB/1,000",
    )
    print(" ".join(f"{each:>14}" for each in columns))
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(" ".join(f"{each:>14}" for each in measure(Path(folder) / "kept.db", size)), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        transcript(Path(folder) / "kept.db", options.transcript)


def sentence(chance: random.Random) -> str:
    return "In this project we always " + " ".join(chance.choice(WORDS) for _ in range(12)) + "."


def event(number: int, text: str) -> Event:
    return build_event(
        text,
        f"event-{number:026}",
        f"session-{number // 50}",
        at=START + timedelta(minutes=number),
        record=f"r{number}",
        label_reason="typed",
        project=f"/home/u/project-{number % 40}",
        pointer=Pointer(path="f", line=number, start=0, end=1),
    )


def memory(number: int, said: Event) -> tuple[CandidateVerdict, Memory]:
    quote = Evidence(
        quote=said.text, event=said.key, session=said.session, path="f", at=said.at, author="human", origin=Origin.USER
    )
    scope = f"project:p-{number % 40}"
    candidate = Candidate(
        id=f"{number:032x}",
        profile="coding",
        category="decision",
        scope=scope,
        content=said.text,
        confidence=0.8,
        trigger="rule",
        at=said.at,
        origin=Origin.USER,
        artifacts=(),
        evidence=(quote,),
        reasoning="typed by the user",
    )
    value = Memory(
        id=f"{number:010x}",
        profile="coding",
        category="decision",
        scope=scope,
        status=Status.ACTIVE,
        content=said.text,
        confidence=0.8,
        origin=Origin.USER,
        first_seen=said.at,
        last_seen=said.at,
        evidence=(quote,),
        candidates=(candidate.id,),
        trigger="rule",
    )
    return CandidateVerdict(candidate=candidate, verdict=Accepted()), value


def fill(store: SqliteStore, size: int) -> None:
    chance = random.Random(7)
    run = store.log.start_run("benchmark", NOW)
    for first in range(0, size, BATCH):
        numbers = range(first, min(first + BATCH, size))
        events = [event(number, sentence(chance)) for number in numbers]
        made = [memory(number, each) for number, each in zip(numbers, events, strict=True)]
        with store.transaction():
            path = f"f{first}"
            store.archive.add_slice(
                "benchmark",
                path,
                events,
                RecordAccount(records=len(events), kept=len(events), events=len(events)),
                Cursor(),
                anew=True,
            )
            threads = {each.session: each for each in store.archive.threads(pending=True) if each.path == path}
            for session, thread in threads.items():
                judged = tuple((0, each) for each, value in made if value.evidence[0].session == session)
                store.log.commit(draft(run, "extract", span=Span(thread=thread.id, start=0, judged=judged)))
                store.archive.save_extraction_progress(thread.id, extracted=thread.events, seen=thread.events)
            adds = tuple(Add(memory=value.id, at=value.first_seen, reason="accepted", value=value) for _, value in made)
            store.log.commit(draft(run, "curate", operations=adds))
    store.log.end_run(run, NOW, {})


def draft(run: int, stage: str, **changes: Any) -> Draft:
    return Draft(run=run, stage=stage, subject="", actor=Actor.MACHINE, recorded_at=NOW, **changes)


def measure(path: Path, size: int) -> tuple[str, ...]:
    with SqliteStore(path) as store:
        build = seconds(lambda: fill(store, size))
    stored = path.stat().st_size
    reading = fresh(path, "store.log.memories()")
    counting = fresh(path, "store.log.count_memories(datetime.now(UTC))")
    with SqliteStore(path) as store:
        run = store.log.start_run("benchmark", NOW)
        chance = random.Random(11)
        ids = [f"{chance.randrange(size):010x}" for _ in range(APPENDS)]
        single = seconds(lambda: [store.log.commit(draft(run, "person", operations=(pin(each),))) for each in ids])
        many = tuple(pin(f"{number:010x}") for number in range(BATCH))
        batch = seconds(lambda: store.log.commit(draft(run, "curate", operations=many)))
        last = store.log.commit(draft(run, "person", operations=(pin(ids[0]),)))
        undo = seconds(lambda: store.log.commit(draft(run, "undo", undoes=(last.id,))))
        search = seconds(lambda: [store.log.search((chance.choice(WORDS), chance.choice(WORDS)), 10) for _ in range(20)]) / 20
        check = seconds(store.find_damage)
        assert store.find_damage() == () if size < 5_000 else True
        rebuild = seconds(store.log.rebuild)
    return (
        f"{size:,}",
        f"{build:.1f}",
        f"{reading:.2f}",
        f"{counting * 1e3:.1f}",
        f"{APPENDS / single:.0f}",
        f"{1 / batch:.1f}",
        f"{undo * 1e3:.1f}",
        f"{search * 1e3:.1f}",
        f"{check:.1f}",
        f"{rebuild:.1f}",
        f"{stored / size:.0f}",
    )


def pin(number: str) -> Pin:
    return Pin(memory=number, at=NOW, reason="benchmark")


def fresh(path: Path, act: str) -> float:
    """The seconds of opening the store and executing ``act``, in a new process."""
    code = (
        "import sys, time; from datetime import UTC, datetime; from pathlib import Path\n"
        "from kept.store.sqlite import SqliteStore\n"
        "started = time.perf_counter()\n"
        f"with SqliteStore(Path(sys.argv[1])) as store: {act}\n"
        "print(time.perf_counter() - started)"
    )
    return float(subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True).stdout)


def transcript(path: Path, megabytes: int) -> None:
    chance, size, number = random.Random(3), 0, 0
    with SqliteStore(path) as store:
        started = time.perf_counter()
        while size < megabytes * 1e6:
            events = []
            for _ in range(BATCH):
                text = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(5, 150)))
                events.append(event(number, text))
                size, number = size + len(text), number + 1
            store.archive.add_slice(
                "benchmark", "f", events, RecordAccount(records=BATCH, kept=BATCH, events=BATCH), Cursor(), anew=False
            )
        passed = time.perf_counter() - started
    print(
        f"archive: {size / 1e6:.0f} MB of cleaned turns in {passed:.1f} s, {path.stat().st_size / size:.2f} MB of store for each MB"
    )


def seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
