"""Measure the journal over months of diaries: entries, time, recalled memories, and the shares of the context with 0, 1, 2 and 4
external sources.

``python benchmarks/journal.py FOLDER [GIT-LOG]``. FOLDER contains diaries or transcripts; GIT-LOG is a saved ``git log``. The other
external sources are generated here. No model is called: a scripted writer answers from the prompt alone, so the measured time is
kept's own (processor seconds).
"""

import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from kept.core.memory import Status
from kept.journal.feed_reading import collect_feeds
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.ask import Ask
from kept.llm.client import LlmClient
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.sleep import run_sleep
from kept.pipeline.write_journal import EntryOutcome, backfill_entries, load_entry_heads, make_entry_options, plan_backfill
from kept.workspace import Workspace, open_workspace

SPAN = date(2000, 1, 1), date(2100, 1, 1)
MONTHS, DAYS = range(1, 8), range(1, 29)
FEW, NIGHTS = 18, 5  # days
MOST_WORDS, MOST_MEMORIES = 40, 4


def feeds(folder: Path, log: str) -> list[tuple[str, str]]:
    """Write four external sources; returns the kind and path of each."""
    moments = [(month, day) for month in MONTHS for day in DAYS]
    items = "".join(
        f"<item><title>Reading {day} about providers</title><guid>{month}-{day}</guid>"
        f"<updated>2026-{month:02}-{day:02}T08:00:00Z</updated></item>"
        for month, day in moments
    )
    events = "".join(
        f"BEGIN:VEVENT\nUID:{month}-{day}\nDTSTART;VALUE=DATE:2026{month:02}{day:02}\nSUMMARY:Review of package {day}\nEND:VEVENT\n"
        for month, day in moments
    )
    marks = [
        {
            "title": f"Page {day} on tools",
            "url": f"https://example.org/{month}/{day}",
            "time": f"2026-{month:02}-{day:02}T09:00:00Z",
        }
        for month, day in moments
    ]
    (folder / "feed.xml").write_text(f"<rss><channel>{items}</channel></rss>")
    (folder / "calendar.ics").write_text(f"BEGIN:VCALENDAR\n{events}END:VCALENDAR\n")
    (folder / "marks.json").write_text(json.dumps(marks))
    own = [("rss", "feed.xml"), ("calendar", "calendar.ics"), ("bookmarks", "marks.json")]
    return ([("git", log)] if log else []) + [(kind, str(folder / name)) for kind, name in own]


NOTE = re.compile(r"(?m)^(s\d+) \((\w+)[^)]*\): (.+)$")
EVENT = re.compile(r"(?m)^\[(e\d+)\] (?:person|assistant): ?")
ENTRY = re.compile(r"(?m)^(\d+) \(([^)]*)\): (.+)$")
ASKING = ("Investigate", "Clarify", "Why", "Check", "Analyze", "Question")  # beginnings of headings that ask
SPECIFIC = re.compile(r"`[^`]+`|\b[\w-]+/[\w./-]+|\b[A-Z]{2,}-\d+|\b\w+[A-Z]\w+|\w+\.\w{2,4}\b")
PARTS = {"decided": "decisions", "learnt": "insights", "open": "open_questions"}
HEADINGS = {"Decisions": "decisions", "Lessons": "insights", "Open questions": "open_questions", "Worked on": "themes"}


class Writer:
    """A scripted model that uses only the prompt: it writes an entry from the notes, and extracts memories from an entry's
    headings.

    ``prompts`` contains, for each entry, the number of characters of its prompt, and of the memories in it.
    """

    def __init__(self) -> None:
        self.prompts: list[tuple[int, int]] = []

    def __call__(self, ask: Ask) -> Mapping[str, Any]:
        """Reply to a question."""
        match ask.purpose:
            case "journal":
                return self._entry(ask)
            case "curate":
                return {"operations": list(self._changes(ask))}
            case "summary":
                return {each: [] for each in ask.schema["properties"]}
            case _:
                return self._memories(ask)

    def _changes(self, ask: Ask) -> Iterator[Mapping[str, Any]]:
        """Changes of memories: a question is answered by what was learnt later about a thing that it names, and a theme is
        superseded by a later one about the same things.
        """
        entries = [(int(number), marks, text) for number, marks, text in ENTRY.findall(ask.prompt)]
        for number, marks, text in entries:
            names = set(SPECIFIC.findall(text))
            later = [
                other
                for other, more, words in entries
                if other != number and more[:10] > marks[:10] and names & set(SPECIFIC.findall(words))
            ]
            if later and "theirs" not in marks and "only to be named" not in marks:
                op = "resolve" if text.startswith(ASKING) else "supersede"
                yield {"id": number, "op": op, "with": later[-1], "content": "", "reason": "later of the same thing"}

    def _entry(self, ask: Ask) -> Mapping[str, Any]:
        notes = NOTE.findall(ask.prompt)
        before = [(name, text) for name, part, text in notes if part == "before"]
        self.prompts.append((len(ask.system) + len(ask.prompt), sum(len(text) for _, text in before)))
        paragraphs = [
            {"part": part, "text": text[:800], "sources": [name]}
            for name, part, text in notes
            if part in (*PARTS, "solved", "outside")
        ]
        worked = [(name, text) for name, part, text in notes if part == "worked"]
        for place in range(0, len(worked), 3):
            some = worked[place : place + 3]
            recalled = before[:1] if not place else []
            text = ". ".join(each.rstrip(".") for _, each in (*some, *recalled))
            paragraphs.append({"part": "worked", "text": text[:880], "sources": [name for name, _ in (*some, *recalled)]})
        return {"paragraphs": paragraphs}

    def _memories(self, ask: Ask) -> Mapping[str, Any]:
        part = ask.prompt.partition("<conversation>\n")[2].partition("\n</conversation>")[0]
        heads = list(EVENT.finditer(part))
        found = []
        for head, stop in zip(heads, (*(each.start() for each in heads[1:]), len(part)), strict=False):
            lines = part[head.end() : stop].strip().splitlines()
            category = HEADINGS.get(lines[0].lstrip("# ")) if lines else None
            if category:
                for line in lines[1:]:
                    for said in re.split(r"(?<=[.!?])\s+", line.lstrip("- ")):
                        if len(said.split()) >= MOST_WORDS // 10 and SPECIFIC.search(said):
                            quote = " ".join(said.split()[:MOST_WORDS])
                            kind = "open_questions" if said.startswith(ASKING) else category
                            found.append({"category": kind, "event": head[1], "passage": quote, "rewording": said[:200]})
        return {
            "hints": [],
            "memories": found[:MOST_MEMORIES],
            "notes": {each: [] for each in ("problems", "solutions", "decisions", "questions")},
        }


def measure(workspace: Workspace, source: Path, writer: Writer | None) -> None:
    """Write the entries and print the results."""
    run_pipeline(workspace, [source], RunOptions(model=False))
    collect_feeds(workspace)
    work = make_entry_options(workspace)
    days = plan_backfill(workspace, work, *SPAN).days
    own, nights, sizes = list[float](), list[float](), list[tuple[int, int]]()
    mark = process_time()

    def told(_: EntryOutcome) -> None:
        nonlocal mark
        own.append(process_time() - mark)
        mark = process_time()
        if len(own) % NIGHTS == 0:
            run_sleep(workspace)  # part of the nightly job; not every night, because it takes longer than everything else
        nights.append(process_time() - mark)
        active = [each for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
        sizes.append((sum(each.profile == "journal" for each in active), sum(len(each.content) for each in active)))
        mark = process_time()

    found = backfill_entries(workspace, work, days, told)
    written = load_entry_heads(workspace)
    shares = Counter[str]()
    for head in written:
        shares.update(head.shares)
    print(
        f"  {len(found)} entries, {dict(Counter(each.state.value for each in found))}, {sum(each.refused for each in found)} "
        "paragraphs refused"
    )
    print(
        f"  own time: {sum(own):.1f} s, {median(own):.2f} s a day (most {max(own):.2f}); the first {FEW} days "
        f"{sum(own[:FEW]):.1f} s; nights {sum(nights):.1f} s"
    )
    print("  mean shares:", {name: f"{share / len(written):.1%}" for name, share in shares.items()})
    print(
        "  largest share from outside:",
        f"{max(sum(v for k, v in each.shares.items() if k not in ('sessions', 'memory')) for each in written):.0%}",
    )
    print(
        "  memories drawn on:",
        sum(len(each.memories) for each in written),
        "at most",
        max(len(each.memories) for each in written),
        "a day",
    )
    print("  active of the journal, characters of all active:", sizes[:: max(1, len(sizes) // 8)], "at the end", sizes[-1])
    if writer and writer.prompts:
        whole, memory = zip(*writer.prompts, strict=True)
        print(
            f"  questions: {median(whole):,.0f} characters (most {max(whole):,}), memory in them {median(memory):,.0f} (most "
            f"{max(memory):,})"
        )
    memories = [each for each in workspace.store.log.memories() if each.profile == "journal"]
    print("  of the journal:", dict(Counter(f"{each.category} {each.status}" for each in memories)))


def main(source: Path, log: str) -> None:
    """Measure each number of sources, with rules only and with the scripted writer."""
    for count, writer in ((count, made) for made in (None, Writer) for count in (0, 1, 2, 4)):
        with tempfile.TemporaryDirectory() as folder:
            chosen = feeds(Path(folder), log)[:count]
            config = Path(folder) / ".config" / "kept" / "config.toml"
            config.parent.mkdir(parents=True)
            config.write_text("".join(f'[[feed]]\nkind = "{kind}"\npath = "{path}"\n' for kind, path in chosen))
            env = {**os.environ, "HOME": folder, "KEPT_EMBEDDINGS": "hashing"}
            print(f"{count} external sources, {'with a scripted writer' if writer else 'by rules'}")
            with open_workspace(find_paths(folder, env), env=env, also=("journal",)) as workspace:
                made = writer() if writer else None
                asking = LlmClient(lambda made=made: ScriptedModel(made)) if made else None
                measure(replace(workspace, llm=asking), source, made)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve()) if len(sys.argv) > 2 else "")
