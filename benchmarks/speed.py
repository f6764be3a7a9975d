"""Measure the speed of kept as throughput and ratios: first run, a run with nothing new, growth, memory, stages of a first run.

Usage: python benchmarks/speed.py [--transcripts FOLDER] [--large MB]

Prints one table. Absolute figures are this machine's; compare the ratios. Each figure is the median of the runs named.
"""

import argparse
import gc
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from corpus import repeat

from kept.paths import Paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import open_workspace

KEPT = [sys.executable, "-m", "kept"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, help="a folder of Claude Code sessions; the bundled sample without it")
    parser.add_argument("--large", type=int, default=100, help="MB of the large corpus")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    source = options.transcripts or Path(str(files("kept.sample") / "projects"))
    with tempfile.TemporaryDirectory() as folder:
        measure(source, Path(folder), options.runs, options.large)


def measure(source: Path, work: Path, runs: int, large: int) -> None:
    one = repeat(source, work / "one", 1)
    single = statistics.median(first_run(work / "one", work / f"home-{n}")[0] for n in range(runs))
    row("first run", f"{one / 1e6:.1f} MB", f"{single:.2f} s", f"{one / 1e6 / single:.2f} MB/s")
    row(
        "json.loads over the same lines",
        "",
        f"{plain_json(work / 'one'):.2f} s",
        f"run / json = {single / plain_json(work / 'one'):.0f}",
    )
    stages(work / "one", work / "stages", one)
    before = digest(work / "home-0")
    again = statistics.median(timed(work / "one", work / "home-0")[0] for _ in range(runs * 2))
    bare = statistics.median(elapsed([sys.executable, "-c", "pass"]) for _ in range(runs * 2))
    row(
        "nothing new",
        "",
        f"{again:.3f} s",
        f"{again / bare:.0f} × bare interpreter; wrote {'nothing' if digest(work / 'home-0') == before else 'SOMETHING'}",
    )
    repeat(source, work / "two", 2)
    double = statistics.median(first_run(work / "two", work / f"double-{n}")[0] for n in range(runs))
    row("twice the transcripts", f"{2 * one / 1e6:.1f} MB", f"{double:.2f} s", f"{double / single:.2f} × once")
    times = max(1, round(large * 1e6 / one))
    size = repeat(source, work / "large", times)
    seconds, peak = first_run(work / "large", work / "home-large")
    stored = (work / "home-large/.local/share/kept/kept.db").stat().st_size
    row(
        "large corpus",
        f"{size / 1e6:.0f} MB",
        f"{seconds:.1f} s",
        f"{size / 1e6 / seconds:.2f} MB/s, peak {peak / 1e3:.0f} MB, store {stored / 1e6:.1f} MB",
    )


def stages(transcripts: Path, home: Path, size: int) -> None:
    """Print a row for each stage of a first run: processor time, bytes of transcripts per second, share of the run, and how many
    times the processor time of `json.loads` over the same lines (before and after the run) it takes.
    """
    spent: Counter[str] = Counter()
    before = plain_json(transcripts, time.process_time)
    stage, since = "starting", time.process_time()

    def note(name: str, *_: int) -> None:
        nonlocal stage, since
        spent[stage] += (now := time.process_time()) - since
        stage, since = name, now

    gc.set_threshold(50_000, 20, 20)  # as the command line does
    with open_workspace(Paths(root=home, user=home), zone="UTC") as workspace:
        run_pipeline(workspace, [transcripts], RunOptions(model=False), progress=note)
    note("")
    unit = (before + plain_json(transcripts, time.process_time)) / 2
    for name, seconds in spent.most_common():
        share = f"{size / 1e6 / seconds:.0f} MB/s, {100 * seconds / spent.total():.0f} %"
        row(f"  {name}", "", f"{seconds:.2f} s", f"{share}, {seconds / unit:.1f} × json.loads")


def row(*cells: str) -> None:
    print(f"{cells[0]:32} {cells[1]:>10} {cells[2]:>10}  {cells[3]}", flush=True)


def first_run(transcripts: Path, home: Path) -> tuple[float, int]:
    shutil.rmtree(home, ignore_errors=True)
    return timed(transcripts, home)


def timed(transcripts: Path, home: Path) -> tuple[float, int]:
    """The seconds of one run, and the largest peak memory (kB) of any child process so far."""
    seconds = elapsed([*KEPT, "run", str(transcripts), "--no-llm", "--quiet", "--home", str(home)])
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def elapsed(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def plain_json(folder: Path, clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds that `json.loads` takes for all lines, by a clock."""
    start = clock()
    for path in folder.rglob("*.jsonl"):
        for line in path.open("rb"):
            try:
                json.loads(line)
            except ValueError:
                continue
    return clock() - start


def digest(home: Path) -> str:
    state = [
        (str(path), sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(home.rglob("*"))
        if path.is_file()
    ]
    return sha256(repr(state).encode()).hexdigest()


if __name__ == "__main__":
    main()
