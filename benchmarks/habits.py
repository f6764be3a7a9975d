"""Measure whether an order that ends a habit of the agent is active, and whether similar sentences are not.

    python benchmarks/habits.py [FILE]

FILE (by default ``benchmarks/habits/orders.tsv``) has a row for each sentence: the half it belongs to (the patterns were made on
``a``), the language, the kind and the sentence. The kind ``order`` is an order to the agent that is to hold; the others are about a
product, the task at hand, or a state.
"""

import argparse
import csv
from collections import Counter
from pathlib import Path

from wishes import propose

from kept.core.memory import Accepted

ORDERS = Path(__file__).with_name("habits") / "orders.tsv"


def main() -> None:
    """Count the sentences that are active by half and kind, and print those that are wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=ORDERS)
    of, active = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in csv.DictReader(parser.parse_args().file.open(encoding="utf-8"), delimiter="\t"):
        key = (row["half"], "order" if row["kind"] == "order" else "other")
        told = any(isinstance(each.verdict, Accepted) for each in propose(row["sentence"], 0))
        of[key] += 1
        active[key] += told
        if told != (row["kind"] == "order"):
            print("active:" if told else "not active:", row["sentence"])
    for key in sorted(of):
        print(*key, f"{active[key]} of {of[key]} active")


if __name__ == "__main__":
    main()
