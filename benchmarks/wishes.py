"""Measure whether a wish that three sessions state in other words becomes one memory, and whether different wishes stay apart.

    python benchmarks/wishes.py [FILE]

FILE (by default ``benchmarks/wishes/wishes.tsv``) has a row for each three sentences of three sessions: the half it belongs to (the
rules were made on ``a`` alone), the language, the kind, and the sentences. The kind ``same`` means one wish in three wordings; all
others are different wishes, values, objects, or orders for the task at hand. A row counts as joined if one memory rests on all of
its sessions. A sentence that is an explicit telling is a memory by itself.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from events import build_event

from kept.core.memory import Actor, CandidateVerdict, Memory
from kept.core.operation import apply_operation
from kept.curation.curate import curate
from kept.curation.lifecycle import rules_of
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import propose_prompt_tellings
from kept.profiles import load_profile
from kept.profiles.language import choose_lexicon

SETS = Path(__file__).with_name("wishes") / "wishes.tsv"
PROFILE = load_profile("coding")
DAWN = datetime(2026, 1, 1, tzinfo=UTC)


def propose(text: str, day: int) -> list[CandidateVerdict]:
    """The judged candidates of a sentence that is a prompt of a session."""
    event = build_event(text, f"{day} {text}", str(day), at=DAWN + timedelta(days=day))
    lexicon = choose_lexicon([event], PROFILE.languages)
    found = propose_prompt_tellings([event], 0, 1, profile=PROFILE, lexicon=lexicon, scope="project:measured")
    return [CandidateVerdict(candidate=each, verdict=judge(each, PROFILE, lexicon=lexicon)) for each in found]


def remember(judged: Sequence[CandidateVerdict]) -> Mapping[str, Memory]:
    """The memories of all candidates together."""
    found: dict[str, Memory] = {}
    for operation in curate(judged, (), rules=rules_of(PROFILE)):
        found.update(apply_operation(found, operation, Actor.MACHINE))
    return found


def main() -> None:
    """Count joined rows by half and kind, and print those of different wishes that are joined."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=SETS)
    rows = list(csv.DictReader(parser.parse_args().file.open(encoding="utf-8"), delimiter="\t"))
    of, joined, told = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows:
        kind = (row["half"], "same" if row["kind"] == "same" else "different")
        judged = [each for day, name in enumerate(("first", "second", "third")) for each in propose(row[name], day)]
        sessions = [{item.session for item in memory.evidence} for memory in remember(judged).values()]
        of[kind] += 1
        told[kind] += any(each.candidate.doubt == "" for each in judged)
        joined[kind] += any(len(each) > 2 for each in sessions)
        if kind[1] == "different" and any(len(each) > 2 for each in sessions):
            print("joined:", row["language"], row["kind"], row["first"], row["second"], row["third"], sep=" | ")
    for kind in sorted(of):
        print(*kind, f"{joined[kind]} of {of[kind]} joined, in {told[kind]} a wording is told outright")


if __name__ == "__main__":
    main()
