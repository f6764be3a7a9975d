"""Measure whether a turn that a later one ended is shown unasked without the later one.

    python benchmarks/later.py [--show]

``later/situations.tsv`` has sixty situations in six invented projects: the kind of the later turn (``like``: about a like thing, so
that both turns hold), whether it was said in the ``same`` session or in an ``other`` one, the two turns, and a prompt of weeks
later. The sessions are written into a temporary home, between requests of other invented projects, and read without a language
model.
Prints for each kind how many prompts show the earlier turn, and how many show it alone.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from train_said import list_turns, normal

from kept.local import queue
from kept.local.recall_settings import RecallSettings
from kept.recall.embed_server.query import find_near_turns, make_query_context

HERE = Path(__file__).parent
SITUATIONS = HERE / "later" / "situations.tsv"
BETWEEN = {"shop": "w1-07", "pipe": "w2-05", "firm": "w4-11", "spiel": "w3-09", "infra": "w5-14", "buch": "w6-06"}
SESSIONS, DAYS_APART, FIRST = 8, 9, datetime(2026, 6, 1, 9, tzinfo=UTC)


def spread(rows: list[dict[str, str]], between: list[str]) -> list[list[str]]:
    """The prompts of each session: earlier turns in the first half of the sessions, later ones behind them or in the other half."""
    sessions: list[list[str]] = [[] for _ in range(SESSIONS)]
    for number, row in enumerate(rows):
        sessions[number % 4].append(row["earlier"])
        if row["session"] == "same":
            sessions[number % 4] += [*([between.pop()] if between else []), row["later"]]
        else:
            sessions[4 + 3 * number % 4].append(row["later"])
    for number, text in enumerate(between):
        session = sessions[number % SESSIONS]
        session.insert(number * 7 % (len(session) + 1), text)
    return sessions


def write_session(path: Path, folder: str, prompts: list[str], at: datetime) -> None:
    records, parent = [], None
    for number, text in enumerate(text for prompt in prompts for text in (prompt, "")):
        key, at = f"{path.stem}-{number}", at + timedelta(minutes=3)
        record = {"parentUuid": parent, "uuid": key, "sessionId": path.stem, "cwd": folder, "timestamp": at.isoformat()}
        role, content = (
            ("user", text) if text else ("assistant", [{"type": "text", "text": "That is in place now; the tests pass."}])
        )
        message = {"role": role, "content": content} | ({} if text else {"id": key})
        common = {"isSidechain": False, "userType": "external", "version": "2.1.0"}
        records.append(json.dumps({"type": role, "message": message, **record, **common}))
        parent = key
    path.write_text("\n".join(records) + "\n", encoding="utf-8")


def main() -> None:
    """Write the sessions, read them, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print the prompts that show the earlier turn alone")
    given = parser.parse_args()
    projects = defaultdict[str, list[dict[str, str]]](list)
    for row in csv.DictReader(SITUATIONS.open(encoding="utf-8"), delimiter="\t"):
        projects[row["project"]].append(row)
    counts = Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory() as home:
        for name, rows in projects.items():
            lines = (HERE / "projects" / f"{BETWEEN[name]}.tsv").read_text(encoding="utf-8").splitlines()
            between = [line.split("\t")[2] for line in lines if line.startswith("t\t")]
            random.Random(name).shuffle(between)
            folder = Path(home, ".claude", "projects", f"-home-u-{name}")
            folder.mkdir(parents=True)
            for number, prompts in enumerate(spread(rows, between)):
                path = folder / f"{name.encode().hex():0<8.8}-0000-4000-8000-{number:012}.jsonl"
                write_session(path, f"/home/u/{name}", prompts, FIRST + timedelta(days=DAYS_APART * number))
        for command in (["run", "--quiet"], ["schedule", "run"]):
            run = [sys.executable, "-m", "kept", *command]
            subprocess.run(run, env={**os.environ, "HOME": home}, check=True, stdout=subprocess.DEVNULL)
        place = make_query_context(queue.state_folder(home), RecallSettings(), os.environ)
        turns = list_turns(place.paths.store)
        for name, rows in projects.items():
            scope = next(scope for scope, _ in turns.values() if name in scope)
            for row in rows:
                keys = " ".join(find_near_turns(place, row["prompt"], scope, "")).split()
                shown = {normal(turns[key][1]) for key in keys}
                earlier, later = normal(row["earlier"]) in shown, normal(row["later"]) in shown
                counts[row["kind"], "shown"] += earlier
                counts[row["kind"], "alone"] += earlier and not later
                if given.show and earlier and not later:
                    print(row["kind"], row["prompt"], row["earlier"], row["later"], sep=" | ")
    for kind in dict.fromkeys(row["kind"] for rows in projects.values() for row in rows):
        print(f"{kind}: {counts[kind, 'shown']} show the earlier turn, {counts[kind, 'alone']} without the later one")


if __name__ == "__main__":
    main()
