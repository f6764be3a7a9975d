"""Extract memories from texts or chats of a public benchmark without a model, each with its own store, and write them for scoring.

    python benchmarks/facts.py TEXTS.json|CORPUS.jsonl --out memories.jsonl [--held] [--profile coding]

TEXTS is a list of {id, text}, each read as one prompt; CORPUS has rows {ns, id, ord, role, text}, where each ``ns`` is one
conversation. The written rows are {ns, text, sources}: the accepted memories and, with ``--held``, the held ones.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from events import build_event

from kept.core.event import Author, Event, EventKind, Pointer
from kept.core.memory import Accepted, Held
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.patterns import LOOKBACK
from kept.extraction.segment import segment
from kept.profiles import load_profile
from kept.profiles.language import choose_lexicon


def event(ns: str, row: dict[str, str]) -> Event:
    """A row as an event; a user's row is a prompt."""
    asks = row.get("role", "user") == "user"
    return build_event(
        row["text"],
        str(row["id"]),
        ns,
        kind=EventKind.PROMPT if asks else EventKind.RESPONSE,
        author=Author.HUMAN if asks else Author.ASSISTANT,
        label_reason="benchmark",
        pointer=Pointer(path=ns, line=0, start=0, end=0),
    )


def conversations(path: Path) -> Iterator[tuple[str, list[Event]]]:
    """The conversations in a file, each with the name of its store."""
    if path.suffix == ".json":
        for row in json.loads(path.read_text("utf-8")):
            yield row["id"], [event(row["id"], row)]
        return
    found = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        found[row["ns"]].append(row)
    for ns, rows in found.items():
        yield ns, [event(ns, row) for row in sorted(rows, key=lambda each: each.get("ord", 0))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--profile", default="coding")
    given = parser.parse_args()
    way = load_profile(given.profile)
    counts: Counter[str] = Counter()
    with given.out.open("w", encoding="utf-8") as out:
        for ns, events in conversations(given.file):
            for episode in segment(events, way.buffer):
                words = choose_lexicon(events[max(0, episode.start - LOOKBACK) : episode.stop], way.languages)
                made = extract_candidates(
                    events, episode.start, episode.stop, profile=way, lexicon=words, scope="project:benchmark"
                )
                for each in made:
                    verdict = judge(each, way, lexicon=words)
                    counts[type(verdict).__name__.lower()] += 1
                    if isinstance(verdict, Accepted) or (given.held and isinstance(verdict, Held)):
                        sources = sorted({one.event for one in each.evidence})
                        out.write(json.dumps({"ns": ns, "text": each.content, "kind": each.category, "sources": sources}) + "\n")
    print(dict(counts))


if __name__ == "__main__":
    main()
