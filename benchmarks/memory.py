"""Measure a run over one conversation as it grows: CPU seconds and peak memory of the run, and of each of its stages.

Usage: python benchmarks/memory.py [--events N…] [--topics N]

It writes one Claude Code session of so many events and runs `kept run` over it in a separate process. The peak is that of the whole
process; each stage shows by how much it raised the peak, and its time. Linux only: the peak is read from /proc/self/status.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from corpus import conversation

from kept.cli import main as kept
from kept.pipeline import run

STAGES = (
    "discover",
    "archive_files",
    "record_projects",
    "extract_pending",
    "curate_changed_groups",
    "summarize_threads",
    "write_outputs",
    "_update_vectors",
    "_fill_report_counts",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[30_000, 300_000])
    parser.add_argument("--topics", type=int, default=200, help="how many different rules the conversation gives")
    parser.add_argument("--inside", nargs=2, metavar=("FILE", "HOME"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        run_measured(*options.inside)
        return
    with tempfile.TemporaryDirectory() as folder:
        for number in options.events:
            path = Path(folder) / f"{number}.jsonl"
            size = conversation(path, number, topics=options.topics)
            print(f"{number} events, {size / 1e6:.0f} MB", flush=True)
            subprocess.run([sys.executable, __file__, "--inside", str(path), str(Path(folder) / f"home-{number}")], check=True)


def run_measured(path: str, home: str) -> None:
    for name in STAGES:
        setattr(run, name, measured(name, getattr(run, name)))
    started = time.process_time()
    try:
        kept(["run", path, "--quiet", "--home", home])
    finally:
        print(f"  {'all':16} {time.process_time() - started:8.1f} s  {peak() / 1024:8.1f} MB", flush=True)


def measured(name: str, stage: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(stage)
    def call(*args: Any, **options: Any) -> Any:
        started = time.process_time()
        result = stage(*args, **options)
        print(f"  {name:16} {time.process_time() - started:8.1f} s  {peak() / 1024:8.1f} MB so far", flush=True)
        return result

    return call


def peak() -> int:
    """The peak memory of this process in kB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) if found else 0


if __name__ == "__main__":
    main()
