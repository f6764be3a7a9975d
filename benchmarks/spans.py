"""How well the words a person typed are told from foreign ones in their prompts, against labels of readers.

Usage: python benchmarks/spans.py sample FOLDER OUT     draw prompts labelled human, without any prediction
       python benchmarks/spans.py score SAMPLE LABELS   compare labels with the rules; prints the confusion table

A unit is a line, or a sentence where a line has several. The draw is seeded, stratified by source and by length, and knows no rule
about spans. Labels are rows ``{"id", "unit": n, "label": "typed" | "foreign"}``.
"""

import argparse
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from kept.core.event import Author, Cursor, Kind, is_note
from kept.core.spans import spans
from kept.sources.files import Skipped, examine, find_files

SEED = 20261122
UNITS = 8  # units of one prompt, so that a few long ones do not make up the sample
CHARACTERS = 6_000  # of a prompt that are shown: a reader has to read them
# How many prompts of a source are drawn: of one line, of up to nine, and longer.
QUOTAS = {"claude-code": (14, 18, 16), "specstory": (14, 20, 26), "vault": (8, 10, 10), "other": (8, 10, 6)}
_SENTENCE = re.compile(r".+?(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+|$)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("sample")
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("out", type=Path)
    drawing.add_argument("--seed", type=int, default=SEED)
    scoring = commands.add_parser("score")
    scoring.add_argument("sample", type=Path)
    scoring.add_argument("labels", type=Path)
    scoring.add_argument("--show", type=int, default=0, help="print so many units of each kind of error")
    options = parser.parse_args()
    if options.command == "sample":
        sample(options.folder, options.out, options.seed)
    else:
        score(options.sample, options.labels, options.show)


def score(drawn: Path, labels: Path, show: int) -> None:
    """Print the confusion table of labels and rules; a unit is typed where most of its visible characters are."""
    prompts_by_id = {row["id"]: row for row in map(json.loads, drawn.read_text(encoding="utf-8").splitlines())}
    table = Counter[tuple[str, str]]()
    wrong: dict[tuple[str, str], list[str]] = defaultdict(list)
    for label in map(json.loads, labels.read_text(encoding="utf-8").splitlines()):
        row = prompts_by_id[label["id"]]
        start, end = row["units"][label["unit"]]
        pair = (label["label"], predicted(row["text"], start, end))
        table[pair] += 1
        if pair[0] != pair[1]:
            wrong[pair].append(f"{row['id']} {row['source']}: {row['text'][start:end][:160]!r}")
    print(f"{'':10} {'typed':>8} {'foreign':>8}   (rules)")
    for own in ("typed", "foreign"):
        total = sum(table[own, found] for found in ("typed", "foreign"))
        other = "foreign" if own == "typed" else "typed"
        print(
            f"{own:10} {table[own, 'typed']:8} {table[own, 'foreign']:8}   taken for {other}: "
            f"{table[own, other] / max(1, total):.1%}"
        )
    for pair, found in sorted(wrong.items()):
        for words in found[:show]:
            print(f"{pair[0]} taken for {pair[1]}: {words}")


def predicted(text: str, start: int, end: int) -> str:
    typed = sum(
        1
        for span in spans(text)
        if span.is_typed
        for place in range(max(span.start, start), min(span.end, end))
        if not text[place].isspace()
    )
    visible = sum(1 for char in text[start:end] if not char.isspace())
    return "typed" if typed * 2 > visible else "foreign"


def sample(folder: Path, out: Path, seed: int) -> None:
    """Write the sample, one prompt a line."""
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
    """A prompt with at most UNITS of its units, drawn evenly, in order."""
    found = list(units(text[:CHARACTERS]))
    drawn = sorted(rng.sample(found, min(UNITS, len(found))))
    return {"id": key, "source": source, "text": text[:CHARACTERS], "units": [list(unit) for unit in drawn]}


def prompts(folder: Path) -> Iterator[tuple[str, str]]:
    """The prompts below a folder that are labelled human, with their format; entries of journals are none."""
    for path in find_files(folder):
        source = examine(path)
        if isinstance(source, Skipped):
            continue
        for piece in source.read(path, Cursor()):
            for event in piece.events:
                if event.kind is Kind.PROMPT and event.author is Author.HUMAN and not is_note(event) and event.text.strip():
                    yield source.name, event.text


def units(text: str) -> Iterator[tuple[int, int]]:
    """Lines, or the sentences of a line that has several, without outer white space; empty ones and bare punctuation left out."""
    at = 0
    for line in text.splitlines(keepends=True):
        for match in _SENTENCE.finditer(line.rstrip()):
            words = match[0].strip()
            if any(char.isalnum() for char in words):
                start = at + match.start() + match[0].index(words)
                yield start, start + len(words)
        at += len(line)


def length_class(text: str) -> int:
    """0 for one line, 1 for up to nine, 2 for more."""
    lines = text.strip().count("\n") + 1
    return 0 if lines == 1 else 1 if lines < 10 else 2


def name_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


if __name__ == "__main__":
    main()
