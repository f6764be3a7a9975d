"""Measure how well typed words are separated from foreign ones in prompts, compared to the labels of readers.

Usage: python benchmarks/spans.py sample FOLDER OUT        draw prompts labelled human, without any prediction
       python benchmarks/spans.py sheet SAMPLE             print the sample for a reader, each unit with its number
       python benchmarks/spans.py score SAMPLE LABELS ...  compare the labels of one reader or more with the rules

A unit is a line, or a sentence if the line has several. The sample is seeded and stratified by source and length, and uses no rule
about spans. Each line of a file of labels contains the number of a unit, ``typed`` or ``foreign``, and ``sure`` or ``unsure``,
separated by tabs.
"""

import argparse
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

from kept.core.event import Author, Cursor, EventKind, is_note
from kept.core.spans import find_spans
from kept.local.files.walking import find_files
from kept.sources.registry import SkippedFile, identify_file

SEED = 20261122
UNITS = 8  # maximum units per prompt, so that a few long prompts do not dominate the sample
AROUND = 500  # characters of a prompt that are shown before and after a unit
CHARACTERS = 6_000  # maximum length of a prompt, because a reader has to read it
# The number of prompts drawn from each source: with one line, with up to nine lines, and longer.
QUOTAS = {"claude-code": (14, 18, 16), "specstory": (14, 20, 26), "vault": (8, 10, 10), "other": (8, 10, 6)}
_SENTENCE = re.compile(r".+?(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+|$)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("sample")
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("out", type=Path)
    drawing.add_argument("--seed", type=int, default=SEED)
    showing = commands.add_parser("sheet")
    showing.add_argument("sample", type=Path)
    scoring = commands.add_parser("score")
    scoring.add_argument("sample", type=Path)
    scoring.add_argument("labels", type=Path, nargs="+")
    scoring.add_argument("--show", type=int, default=0, help="print so many units of each kind of error")
    options = parser.parse_args()
    if options.command == "sample":
        sample(options.folder, options.out, options.seed)
    elif options.command == "sheet":
        for number, row in enumerate(rows_of(options.sample), 1):
            print(f"\n===== prompt {number} ({row['source']})\n{sheet(row, number)}")
    else:
        score(options.sample, options.labels, options.show)


def rows_of(drawn: Path) -> list[dict[str, Any]]:
    """The prompts of a sample."""
    return [json.loads(line) for line in drawn.read_text(encoding="utf-8").splitlines()]


def sheet(row: dict[str, Any], number: int) -> str:
    """A prompt as a reader sees it: each unit after its number; text far from all units is left out."""
    text, at, shown = row["text"], 0, ""
    for place, (start, end) in enumerate(row["units"], 1):
        between = text[at:start]
        if len(between) > 2 * AROUND:
            left = len(between) - 2 * AROUND
            between = f"{between[:AROUND]}\n[{left} characters left out]\n{between[-AROUND:]}"
        shown += f"{between}⟦{number}.{place}⟧{text[start:end]}"
        at = end
    return shown + text[at : at + AROUND]


def score(drawn: Path, labels: list[Path], show: int) -> None:
    """Print the confusion table of the rules against each reader's labels, against the sure ones, and against those that all
    readers agree on.
    """
    units = {
        f"{number}.{place}": (row, start, end)
        for number, row in enumerate(rows_of(drawn), 1)
        for place, (start, end) in enumerate(row["units"], 1)
    }
    found = {key: predicted(row["text"], start, end) for key, (row, start, end) in units.items()}
    readers = [read_labels(path) for path in labels]
    alike = set.intersection(*({(key, label) for key, (label, _) in reader.items()} for reader in readers))
    for path, reader in zip(labels, readers, strict=True):
        print_table(path.name, [(key, label) for key, (label, _) in reader.items()], found)
        print_table(f"{path.name}, sure", [(key, label) for key, (label, sure) in reader.items() if sure], found)
    if len(readers) > 1:
        print_table("all readers agree", sorted(alike), found)
        both = [(key, label) for key, label in sorted(alike) if all(reader[key][1] for reader in readers)]
        print_table("all readers agree and are sure", both, found)
    for own in ("typed", "foreign"):
        for key in [key for key in units if any(reader.get(key, ("",))[0] == own != found[key] for reader in readers)][:show]:
            row, start, end = units[key]
            print(f"{own} taken for {found[key]}: {key} {row['source']}: {row['text'][start:end][:160]!r}")


def read_labels(path: Path) -> dict[str, tuple[str, bool]]:
    """The label of each unit, and whether the reader was sure."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line[:1].isdigit())
    return {row[0]: (row[1].strip(), row[2].strip() == "sure") for row in rows}


def print_table(title: str, labels: list[tuple[str, str]], found: dict[str, str]) -> None:
    table = Counter((label, found[key]) for key, label in labels)
    print(f"{title}: {len(labels)} units\n{'':10} {'typed':>8} {'foreign':>8}   (rules)")
    for own, other in (("typed", "foreign"), ("foreign", "typed")):
        wrong, total = table[own, other], table[own, own] + table[own, other]
        low, high = interval(wrong, total)
        share = f"{wrong / max(1, total):.1%}, 95 % interval {low:.1%} to {high:.1%}"
        print(f"{own:10} {table[own, 'typed']:8} {table[own, 'foreign']:8}   taken for {other}: {share}")


def interval(wrong: int, total: int) -> tuple[float, float]:
    """The Wilson interval of a share."""
    if not total:
        return 0.0, 1.0
    share, z = wrong / total, 1.96
    middle, half = share + z * z / (2 * total), z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, (middle - half) / (1 + z * z / total)), min(1.0, (middle + half) / (1 + z * z / total))


def predicted(text: str, start: int, end: int) -> str:
    typed = sum(
        1
        for span in find_spans(text)
        if span.is_typed
        for place in range(max(span.start, start), min(span.end, end))
        if not text[place].isspace()
    )
    visible = sum(1 for char in text[start:end] if not char.isspace())
    return "typed" if typed * 2 > visible else "foreign"


def sample(folder: Path, out: Path, seed: int) -> None:
    """Write the sample, one prompt per line."""
    rng = random.Random(seed)
    strata: dict[tuple[str, int], dict[str, tuple[str, str]]] = defaultdict(dict)
    for source, text in prompts(folder):
        group = source if source in QUOTAS else "other"
        strata[group, length_class(text)][name_of(text)] = (source, text)
    rows = []
    for group, quotas in QUOTAS.items():
        for length, quota in enumerate(quotas):
            found = strata[group, length]
            rows += [row_of(key, *found[key], rng) for key in rng.sample(sorted(found), min(quota, len(found)))]
    rng.shuffle(rows)
    with out.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(rows)} prompts, {sum(len(row['units']) for row in rows)} units: {Counter(row['source'] for row in rows)}")


def row_of(key: str, source: str, text: str, rng: random.Random) -> dict[str, object]:
    """A prompt with at most UNITS of its units, drawn at random, in order."""
    found = list(units(text[:CHARACTERS]))
    drawn = sorted(rng.sample(found, min(UNITS, len(found))))
    return {"id": key, "source": source, "text": text[:CHARACTERS], "units": [list(unit) for unit in drawn]}


def prompts(folder: Path) -> Iterator[tuple[str, str]]:
    """The human prompts in the transcripts below a folder, each with its source; journal entries are left out."""
    for path in find_files(folder):
        source = identify_file(path)
        if isinstance(source, SkippedFile):
            continue
        for piece in source.read(path, Cursor()):
            for event in piece.events:
                if event.kind is EventKind.PROMPT and event.author is Author.HUMAN and not is_note(event) and event.text.strip():
                    yield source.name, event.text


def units(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the units of a text, without outer white space; empty ones and those of only punctuation are left out."""
    at = 0
    for line in text.splitlines(keepends=True):
        for match in _SENTENCE.finditer(line.rstrip()):
            words = match[0].strip()
            if any(char.isalnum() for char in words):
                start = at + match.start() + match[0].index(words)
                yield start, start + len(words)
        at += len(line)


def length_class(text: str) -> int:
    """0 for one line, 1 for up to nine lines, 2 for more."""
    lines = text.strip().count("\n") + 1
    return 0 if lines == 1 else 1 if lines < 10 else 2


def name_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


if __name__ == "__main__":
    main()
