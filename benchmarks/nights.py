"""Simulate months of use: one nightly run per day over transcripts that were written day by day.

Usage: python benchmarks/nights.py FOLDER --profile NAME [--pairs FILE] [--idle N]

It works on a copy in a separate home. Each night, the files of one more day are added (Markdown files by the date in their names or
folders; other files are cut by ``--until``), and `kept run` and `kept sleep` are executed. Each night prints one line: active
memories, operations, seconds, and the size of each output. The end prints: pairs of similar active memories (``--pairs`` writes
them for a person to judge), pairs that contradict each other, memories about memory itself, the number of memories by status, and
what idle nights wrote.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import re2

from kept.core.statement import Statement, parse_statement
from kept.core.text import jaccard_similarity
from kept.curation.curate.texts import find_value_pairs
from kept.curation.curate.values import parse_value_statement
from kept.profiles.lexicons import load_lexicon

LISTED = 0.4  # minimum Jaccard similarity of a listed pair
_DAY = re.compile(r"(20\d\d)[-/](\d\d)[-/](\d\d)")
_TIMED = re.compile(rb'"timestamp":\s*"(20\d\d-\d\d-\d\d)')


def main() -> None:
    """Run the nights and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--profile", default="coding")
    parser.add_argument("--pairs", type=Path, help="write the pairs that are alike here, as tab separated values")
    parser.add_argument("--idle", type=int, default=10, help="nights with nothing new at the end")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        days = _by_day(given.folder)
        there = home / "transcripts" / given.folder.name
        print("day\tactive\theld\tadd\tother operations\tseconds\toutputs")
        for day, files in sorted(days.items()):
            for file in files:
                (place := there / file.relative_to(given.folder)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, place)
            print("\t".join(_night(home, there, given.profile, day)))
        found = _memories(home)
        for each in range(given.idle):
            print("\t".join((f"idle {each + 1}", *_night(home, there, given.profile, "9999-12-30")[1:])))
        print("passes after the idle nights:", "as before" if _memories(home) == found else "memories changed")
        _judge(found, given.pairs)


def _by_day(folder: Path) -> dict[str, list[Path]]:
    """The files by the day on which they are added; a file of several days is listed on each of them."""
    days: dict[str, list[Path]] = {}
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        named = _DAY.findall(str(file.relative_to(folder)))
        times = sorted({each.decode() for each in _TIMED.findall(file.read_bytes())})
        for day in times or (["-".join(named[-1])] if named else ["0000-00-00"]):
            days.setdefault(day, []).append(file)
    early = days.pop("0000-00-00", [])
    days[min(days)] += early
    return days


def _night(home: Path, there: Path, profile: str, day: str) -> tuple[str, ...]:
    kept = [str(Path(sys.executable).with_name("kept")), "--home", str(home), "--profile", profile]
    began = time.monotonic()
    run = subprocess.run(
        [*kept, "run", str(there), "--until", day, "--no-llm", "--json"], capture_output=True, text=True, check=False
    )
    sleep = subprocess.run([*kept, "sleep", "--json"], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    body = json.loads(run.stdout) if run.stdout.startswith("{") else {"operations": {}}
    slept = json.loads(sleep.stdout) if sleep.stdout.startswith("{") else {}
    operations = Counter(body["operations"])
    retired = len(slept.get("retired", ()))
    state = Counter(each["status"] for each in _memories(home))
    others = ", ".join(f"{count} {kind}" for kind, count in sorted(operations.items()) if kind != "add")
    faded = f"; {retired} faded" if retired else ""
    wrong = f"; exit {run.returncode}/{sleep.returncode}: {run.stderr.strip()[-200:]}" if run.returncode or sleep.returncode else ""
    sizes = ", ".join(f"{path} {size:,}" for path, size in _outputs(home))
    return (
        day,
        str(state["active"]),
        str(state["held"]),
        str(operations["add"]),
        f"{others}{faded}{wrong}" or "-",
        f"{seconds:.1f}",
        sizes,
    )


def _outputs(home: Path) -> Iterator[tuple[str, int]]:
    """The files written below the home with their sizes; of day notes and pages only the number and the largest size."""
    folders: dict[str, list[int]] = {}
    for file in sorted(each for each in home.rglob("*") if each.is_file()):
        place = file.relative_to(home)
        if place.parts[0] in (".local", "transcripts", ".config", ".cache"):
            continue
        folders.setdefault(str(place) if file.parent.name in ("rules", "kept", home.name) else f"{place.parent}/*", []).append(
            file.stat().st_size
        )
    for name, sizes in folders.items():
        yield (f"{name} x {len(sizes)}, most", max(sizes)) if name.endswith("*") else (name, sizes[0])


def _memories(home: Path) -> list[dict[str, Any]]:
    kept = str(Path(sys.executable).with_name("kept"))
    out = subprocess.run(
        [kept, "--home", str(home), "export", "--format", "jsonl"], capture_output=True, text=True, check=True
    ).stdout
    return [json.loads(line) for line in out.splitlines()]


def _judge(memories: list[dict[str, Any]], pairs: Path | None) -> None:
    active = [each for each in memories if each["status"] == "active"]
    says = [parse_statement(each["content"], tuple(each["artifacts"])) for each in active]
    near = sorted(_near(active, says), reverse=True)
    told = [parse_value_statement(each["content"], statement) for each, statement in zip(active, says, strict=True)]
    against = [(i, j) for i, j in _together(active) for _, _, is_sure in find_value_pairs((told[i], told[j])) if is_sure]
    words = load_lexicon(("en",))
    own = [each for each in active if re2.search(words.agent_talk, each["content"])]
    print(f"active {len(active)}; pairs alike {len(near)}; pairs of which one leaves no room for the other {len(against)}")
    print(
        f"about memory itself {len(own)} ({len(own) / max(1, len(active)):.1%}):",
        *(each["content"][:150] for each in own),
        sep="\n  ",
    )
    print("by status:", dict(Counter(each["status"] for each in memories)))
    for i, j in against:
        print(f"  against: {active[i]['content']}\n           {active[j]['content']}")
    if pairs is not None:
        rows = (f"{share:.2f}\t{active[i]['category']}\t{active[i]['content']}\t{active[j]['content']}" for share, i, j in near)
        pairs.write_text("\n".join(("likeness\tcategory\tone\tother", *rows)) + "\n", encoding="utf-8")


def _together(active: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    yield from (pair for pair in combinations(range(len(active)), 2) if active[pair[0]]["scope"] == active[pair[1]]["scope"])


def _near(active: list[dict[str, Any]], says: list[Statement]) -> Iterator[tuple[float, int, int]]:
    for i, j in _together(active):
        share = jaccard_similarity(says[i].content, says[j].content)
        if share >= LISTED:
            yield share, i, j


if __name__ == "__main__":
    main()
