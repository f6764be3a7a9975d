"""Measure a run that finds five new lessons among many memories of one project: CPU seconds of the run and of its parts.

Usage: python benchmarks/curation.py [--memories N…] [--profile-to FILE]

It writes made-up lessons as the journal of one project (one note with ten lessons per day), runs `kept run` over all of it, adds a
note with five lessons, runs again, and runs once more with nothing new. Each run is a separate process; ``curate`` is the time of
that stage alone.
"""

import argparse
import cProfile
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from functools import wraps
from pathlib import Path
from typing import Any

from kept.cli import main as kept
from kept.pipeline import run

PARTS = ("archive_files", "extract_pending", "curate_changed_groups", "summarize_threads", "write_outputs", "update_index")
SOUNDS = ("ba", "ko", "lu", "mi", "ren", "sta", "tor", "vel", "zan", "pri", "dox", "fen", "gal", "hub", "jin", "qua")


def main() -> None:
    """Measure for each number of memories."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--profile-to", type=Path, help="write the profile of the run with five new ones here")
    parser.add_argument("--inside", nargs=3, metavar=("FOLDER", "HOME", "PROFILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        measured_run(*given.inside)
        return
    with tempfile.TemporaryDirectory() as name:
        for number in given.memories:
            folder, home = Path(name) / f"notes-{number}", Path(name) / f"home-{number}"
            folder.mkdir()
            lessons(folder, number, first=0)
            for told, more, profile in (("all", 0, ""), ("five new", 5, str(given.profile_to or "")), ("nothing new", 0, "")):
                if more:
                    lessons(folder, more, first=number)
                print(f"{number:,} memories, {told}", flush=True)
                subprocess.run(
                    [sys.executable, __file__, "--inside", str(folder), str(home), profile],
                    check=True,
                    env={**os.environ, "KEPT_EMBEDDINGS": "off"},
                )


def lessons(folder: Path, number: int, *, first: int) -> None:
    """Write notes with ten lessons per day, each about different things."""
    for start in range(first, first + number, 10):
        chance = random.Random(start)
        day = date(2020, 1, 1) + timedelta(days=start // 10)
        lines = [f"- {lesson(chance, n)}" for n in range(start, min(start + 10, first + number))]
        (folder / f"{day}.md").write_text(f"# {day}\n\n## Lessons learned\n" + "\n".join(lines) + "\n", encoding="utf-8")


def lesson(chance: random.Random, number: int) -> str:
    """A sentence that names a file and shares common words with the others."""
    words = ["".join(chance.choices(SOUNDS, k=3)) for _ in range(4)]
    return (
        f"The {words[0]} {words[1]} in `{words[2]}_{number}.py` fails because the {words[3]} cache is never cleared before "
        f"{words[0]}."
    )


def measured_run(folder: str, home: str, profile: str) -> None:
    """Run kept in this process and time each part."""
    for name in PARTS:
        setattr(run, name, timed(name, getattr(run, name)))
    started, watch = time.process_time(), cProfile.Profile()
    if profile:
        watch.enable()
    try:
        kept(["--home", home, "--profile", "workspace", "--quiet", "run", "--no-llm", folder])
    finally:
        if profile:
            watch.disable()
            watch.dump_stats(profile)
        print(f"  {'all':22} {time.process_time() - started:8.1f} s", flush=True)


def timed(name: str, part: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a part so that it prints its processor time."""

    @wraps(part)
    def call(*args: Any, **options: Any) -> Any:
        started = time.process_time()
        try:
            return part(*args, **options)
        finally:
            print(f"  {name:22} {time.process_time() - started:8.1f} s", flush=True)

    return call


if __name__ == "__main__":
    main()
