"""Measure whether a decision that ends another is found, and whether decisions that both hold stay.

    python benchmarks/ended.py [FILE]

FILE (by default ``benchmarks/ended/pairs.tsv``) has a row for each two decisions of two sessions: the half it belongs to (the rules
were made on ``a`` alone), the language, the kind (``ends`` or ``both``), the earlier and the later sentence. Prints the statuses of
the two memories, and the pairs of which one ends although both hold. "none": the sentence became no memory.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from wishes import propose, remember

from kept.core.memory import CandidateVerdict, Memory

PAIRS = Path(__file__).with_name("ended") / "pairs.tsv"


def status_of(judged: Iterable[CandidateVerdict], memories: Collection[Memory]) -> str:
    """The status of the memory that rests on a candidate, and whether it waits for, or gave way to, another one."""
    candidates = {each.candidate.id for each in judged}
    found = next((memory for memory in memories if candidates & set(memory.candidates)), None)
    return "none" if found is None else f"{found.status.value} for the other" if found.superseded_by else found.status.value


def main() -> None:
    """Print how the pairs of each half and kind end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=PAIRS)
    counts = Counter[tuple[str, ...]]()
    for row in csv.DictReader(parser.parse_args().file.open(encoding="utf-8"), delimiter="\t"):
        earlier, later = propose(row["earlier"], 0), propose(row["later"], 5)
        memories = remember([*earlier, *later]).values()
        statuses = [status_of(earlier, memories), status_of(later, memories)]
        counts[row["half"], row["kind"], *statuses] += 1
        if row["kind"] == "both" and statuses[0] != "active":
            print("ended:", row["earlier"], row["later"], sep=" | ")
    for (half, kind, *statuses), count in sorted(counts.items()):
        print(half, kind, f"{count} earlier {statuses[0]}, later {statuses[1]}")


if __name__ == "__main__":
    main()
