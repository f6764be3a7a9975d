"""Measure reading: speed per format, redaction, reduction by cleaning, and peak memory.

Usage: python benchmarks/readers.py FOLDER… [--secrets FOLDER] [--seconds S]

For each format, it prints the MB/s of its reader and those of a plain ``json.loads`` loop over the same lines (for files that are
not JSON Lines: of reading them as text and, if they are JSON, parsing them as a whole), measured alternately in one run. The
secrets folder contains ``positives.jsonl`` and ``negatives.jsonl``: rows with the ``parts`` of a value and its ``context``.
Absolute figures are processor times of this machine; compare the ratios.
"""

import argparse
import json
import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from pathlib import Path

from kept.core.event import Cursor, Event
from kept.core.redact import RedactionResult, redact
from kept.intake.clean import Limits, clean
from kept.local.files.walking import find_files
from kept.sources.base import Source
from kept.sources.registry import SkippedFile, identify_file

KEY = b"benchmark"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--secrets", type=Path)
    parser.add_argument("--seconds", type=float, default=1.0, help="at least so long for each format and way")
    options = parser.parse_args()
    files: dict[str, list[tuple[Source, Path]]] = defaultdict(list)
    for folder in options.folders:
        for path in find_files(folder):
            found = identify_file(path)
            if not isinstance(found, SkippedFile):
                files[found.name].append((found, path))
    print(
        f"{'format':14} {'files':>5} {'MB':>6} {'reader MB/s':>12} {'plain MB/s':>11} {'reader/plain':>12} {'text':>8} "
        f"{'clean':>8} {'less':>6} {'clean MB/s':>11}"
    )
    total = [0, 0]
    for name in sorted(files):
        before, after = measure(name, files[name], options.seconds)
        total[0] += before
        total[1] += after
    print(
        f"reduction over all: {total[0] / 1e6:.1f} MB of text → {total[1] / 1e6:.1f} MB "
        f"({1 - total[1] / max(1, total[0]):.0%} less)"
    )
    texts = [event.text for several in files.values() for event in every_event(several)]
    size = sum(len(each.encode("utf-8", "replace")) for each in texts)
    seconds = fastest(lambda: [redact(each, key=KEY) for each in texts], options.seconds)
    print(f"redaction: {size / 1e6 / seconds:.1f} MB/s over {size / 1e6:.1f} MB of transcript text")
    if options.secrets:
        secrets(options.secrets)
    print(f"peak memory of the whole benchmark, all events held: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


def measure(name: str, several: list[tuple[Source, Path]], least: float) -> tuple[int, int]:
    size = sum(path.stat().st_size for _, path in several)
    reading = fastest(lambda: sum(1 for _ in every_event(several)), least)
    parsing = fastest(lambda: [plain(path) for _, path in several], least)
    events = list(every_event(several))
    plainly = partial(redact, key=KEY)
    short = lru_cache(maxsize=1024)(plainly)  # as in a run, because many events name the same directory, branch and tool

    def cleaning(text: str) -> RedactionResult:
        return short(text) if len(text) <= 200 else plainly(text)

    started = time.process_time()
    done = [clean(each, redact=cleaning, limits=Limits()).event for each in events]
    seconds = time.process_time() - started
    before, after = words(events), words(done)
    less = 1 - after / before if before else 0.0
    print(
        f"{name:14} {len(several):5} {size / 1e6:6.2f} {size / 1e6 / reading:12.1f} {size / 1e6 / parsing:11.1f} "
        f"{parsing / reading:12.2f} "
        f"{before / 1e6:7.2f}M {after / 1e6:7.2f}M {less:6.0%} {before / 1e6 / seconds:11.1f}",
        flush=True,
    )
    return before, after


def every_event(several: Iterable[tuple[Source, Path]]) -> Iterable[Event]:
    return (event for source, path in several for part in source.read(path, Cursor()) for event in part.events)


def plain(path: Path) -> None:
    data = path.read_bytes()
    if path.suffix in (".jsonl", ".ndjson"):
        for line in data.splitlines():
            parsed(line)
    elif path.suffix == ".json":
        parsed(data)
    else:
        data.decode("utf-8", "replace")


def parsed(data: bytes) -> None:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return


def words(events: list[Event]) -> int:
    return sum(len(part) for each in events for part in (each.text, *((each.tool.target, each.tool.detail) if each.tool else ())))


def fastest(act: Callable[[], object], least: float) -> float:
    """The median seconds of a call, over at least three calls and ``least`` seconds."""
    found: list[float] = []
    while len(found) < 3 or sum(found) < least:
        started = time.process_time()
        act()
        found.append(time.process_time() - started)
        if found[0] > 5 * least:
            break
    return statistics.median(found)


def secrets(folder: Path) -> None:
    kinds: dict[str, list[bool]] = defaultdict(list)
    alarms, negatives = 0, 0
    for row in rows(folder / "positives.jsonl"):
        value = "".join(row["parts"])
        text = redact(row["context"].replace("{s}", value), key=KEY).text
        kinds[row["kind"]].append(not any(value[i : i + 8] in text for i in range(max(1, len(value) - 7))))
    for row in rows(folder / "negatives.jsonl"):
        text = row["context"].replace("{s}", "".join(row["parts"]))
        negatives += 1
        alarms += redact(text, key=KEY).text != text
    found = [each for several in kinds.values() for each in several]
    whole = sum(all(several) for several in kinds.values())
    print(f"secrets: {sum(found)} of {len(found)} fully gone ({sum(found) / len(found):.1%}), {whole} of {len(kinds)} kinds whole")
    print(f"false alarms: {alarms} of {negatives} ({alarms / negatives:.1%})")


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
