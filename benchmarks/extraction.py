"""Extract memories from transcripts without a model and write them, for reading and for scoring.

    python benchmarks/extraction.py TRANSCRIPTS [--out memories.jsonl] [--refused] [--profile coding]

Rows are {content, category, status, reason, confidence, trigger, reasoning, evidence: [{quote, author}]}; refused ones are written
only with ``--refused``. Prints counts by status and reason, and the throughput of extraction alone in MB of event text per second.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kept.core.event import Cursor, Event
from kept.core.memory import Accepted, Candidate, Held, Refused, Verdict
from kept.core.project import FOLDER, project_root, project_scope
from kept.extraction.gate import is_grounded, judge
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.patterns import LOOKBACK
from kept.extraction.segment import segment
from kept.local.files.walking import find_files
from kept.profiles import load_profile
from kept.profiles.language import choose_lexicon
from kept.profiles.profile import Profile
from kept.sources.registry import SkippedFile, identify_file


def sessions(root: Path) -> Iterator[list[Event]]:
    """The events of every transcript below a folder, one list per file."""
    for path in find_files(root):
        source = identify_file(path)
        if not isinstance(source, SkippedFile):
            yield [event for piece in source.read(path, Cursor()) for event in piece.events]


def judged(events: list[Event], by: Profile) -> list[tuple[Candidate, Verdict]]:
    texts = {event.key: f"{event.text}\n{event.tool.target}\n{event.tool.detail}" if event.tool else event.text for event in events}
    found: list[tuple[Candidate, Verdict]] = []
    for episode in segment(events, by.buffer):
        words = choose_lexicon(events[max(0, episode.start - LOOKBACK) : episode.stop], by.languages)
        for candidate in extract_candidates(
            events,
            episode.start,
            episode.stop,
            profile=by,
            lexicon=words,
            scope=project_scope(FOLDER + project_root(events[episode.start].project)),
        ):
            verdict = judge(candidate, by, lexicon=words)
            if isinstance(verdict, Accepted) and not is_grounded(candidate, texts):
                verdict = Refused(reason="ungrounded")
            found.append((candidate, verdict))
    return found


def row(candidate: Candidate, verdict: Verdict) -> dict[str, object]:
    status, reason = "active", ""
    if isinstance(verdict, (Held, Refused)):
        status, reason = type(verdict).__name__.lower(), verdict.reason
    return {
        "content": candidate.content,
        "category": candidate.category,
        "status": status,
        "reason": reason,
        "confidence": candidate.confidence,
        "trigger": candidate.trigger,
        "reasoning": candidate.reasoning,
        "evidence": [{"quote": each.quote, "author": each.author} for each in candidate.evidence],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--profile", default="coding")
    args = parser.parse_args()
    by = load_profile(args.profile)
    rows: list[dict[str, object]] = []
    size, seconds = 0, 0.0
    for events in sessions(args.transcripts):
        size += sum(len(event.text) for event in events)
        began = time.perf_counter()
        found = judged(events, by)
        seconds += time.perf_counter() - began
        rows += [row(*each) for each in found]
    kept = [each for each in rows if args.refused or each["status"] != "refused"]
    if args.out:
        args.out.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in kept), encoding="utf-8")
    for (status, reason), count in sorted(Counter((str(each["status"]), str(each["reason"])) for each in rows).items()):
        print(f"{status:8} {reason:24} {count:6}")
    print(f"{size / 1e6:.2f} MB of event text in {seconds:.2f} s: {size / 1e6 / max(seconds, 1e-9):.1f} MB/s", file=sys.stderr)


if __name__ == "__main__":
    main()
