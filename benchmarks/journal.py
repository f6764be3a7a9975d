"""The journal over months of diaries: entries, time, what is recalled, and the shares of the context with 0, 1, 2 and 4 external sources.

``python benchmarks/journal.py FOLDER [GIT-LOG]``. FOLDER holds diaries or transcripts, GIT-LOG is a saved ``git log``. The other external
sources are made here. Knows no model: a scripted one repeats the first note, so the time is kept's own.
"""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import monotonic, process_time
from typing import Any

from kept.adapters.llm import Scripted
from kept.app.asking import Asker
from kept.app.desk import Desk, find_home, opened
from kept.app.feeding import collect
from kept.app.journaling import backfill, heads, plan, work_of
from kept.app.running import Options, run
from kept.model.ask import Ask

SPAN = date(2000, 1, 1), date(2100, 1, 1)
MONTHS, DAYS = range(1, 8), range(1, 29)
MODEL_DAYS = 18


def feeds(folder: Path, log: str) -> list[tuple[str, str]]:
    """Four external sources: kind and path."""
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


def author(ask: Ask) -> Mapping[str, Any]:
    """Repeats the first note; extracts nothing."""
    if ask.purpose != "journal":
        return {"hints": [], "memories": [], "notes": {each: [] for each in ("problems", "solutions", "decisions", "questions")}}
    first = next(line for line in ask.prompt.splitlines() if line.startswith("s1 "))
    return {"paragraphs": [{"part": "worked", "text": first.partition("): ")[2][:800], "sources": ["s1"]}]}


def measure(desk: Desk, source: Path, most: int | None) -> None:
    """Write the entries and tell what came of them."""
    run(desk, [source], Options())
    collect(desk)
    work = work_of(desk)
    days = plan(desk, work, *SPAN).days[:most]
    wall, own = monotonic(), process_time()
    found = backfill(desk, work, days, lambda _: None)
    wall, own = monotonic() - wall, process_time() - own
    written = heads(desk)
    shares = Counter[str]()
    for head in written:
        shares.update(head.shares)
    print(f"  {len(found)} entries, {Counter(each.state.name for each in found)}; {wall:.1f} s, {own:.1f} s of processor time")
    print("  mean shares:", {name: round(share / len(written), 3) for name, share in shares.items()})
    print("  memories drawn on a day: at most", max(len(each.memories) for each in written))
    memories = [each for each in desk.store.log.memories() if each.profile == "journal"]
    print("  of the journal:", dict(Counter(f"{each.category} {each.status}" for each in memories)))


def main(source: Path, log: str) -> None:
    """Measure with each number of sources by rules, and with a scripted model."""
    for count in (0, 1, 2, 4, None):
        with tempfile.TemporaryDirectory() as folder:
            chosen = feeds(Path(folder), log)[: count or 0]
            config = Path(folder) / ".config" / "kept" / "config.toml"
            config.parent.mkdir(parents=True)
            config.write_text("".join(f'[[feed]]\nkind = "{kind}"\npath = "{path}"\n' for kind, path in chosen))
            env = {**os.environ, "HOME": folder, "KEPT_EMBEDDINGS": "hashing"}
            print(f"{count} external sources" if count is not None else f"{MODEL_DAYS} days with a scripted model")
            with opened(find_home(folder, env), env=env, also=("journal",)) as desk:
                asking = Asker(lambda: Scripted(author)) if count is None else None
                measure(replace(desk, asking=asking), source, MODEL_DAYS if count is None else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve()) if len(sys.argv) > 2 else "")
