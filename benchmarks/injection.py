"""Print the lines that hooks would have added to the prompts of real sessions: all of them, or a sample for a reader to judge.

    kept --home DIR run TRANSCRIPTS… && python benchmarks/injection.py DIR --sample 60 --seed 12 > judged.tsv

Each prompt of a person gets the context that its hook would have returned: from what was known before it and from other sessions,
without what always applies. ``--days`` adds the work of the days before to a session's first prompt. ``--meaning`` also looks up
facts by meaning, as with an embedding server. A reader judges the lines by writing yes or no into the first column. One thing
differs from a real hook: the rarity of words is that of the whole store, including later texts.
"""

import argparse
import json
import os
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from kept.core.event import Event
from kept.core.fence import CORE, ContextPiece
from kept.core.project import fallback_project_folder
from kept.core.times import format_instant, from_milliseconds
from kept.local import queue
from kept.local.recall_settings import RecallSettings
from kept.recall import context
from kept.recall.context import ContextRequest, RecallEnvironment, assemble_context, failure_marks
from kept.recall.embed import LOCAL, create_embedder
from kept.recall.embed_server.query import make_query_context, memories_in_process
from kept.store.packing import unpack
from kept.store.reader import RecallMemory, RecallNote, StoreReader

PROMPTS = """
SELECT e.at, t.session, t.project, f.path, (SELECT max(id) FROM blocks WHERE id <= e.id), e.id
FROM events AS e JOIN thread_events AS te ON te.event <= e.id AND te.event + te.events > e.id
JOIN threads AS t ON t.id = te.thread JOIN files AS f ON f.id = t.file
WHERE e.voice = 'ph' AND NOT te.abandoned AND e.at IS NOT NULL GROUP BY e.id ORDER BY e.at
"""


class Prompt(NamedTuple):
    """A prompt of a person, with its time, session, directory and transcript."""

    at: str
    session: str
    project: str
    path: str
    text: str


class Earlier(StoreReader):
    """A store reader that returns only what the store knew before the time ``until``."""

    until = ""
    first: dict[str, str] = {}  # noqa: RUF012 - a run reads one store

    def memories(self, rows: list[int]) -> list[RecallMemory]:
        """The memories first seen before that time."""
        return [each for each in super().memories(rows) if self.first.get(each.id, "") < self.until]

    def notes(self, rows: list[int]) -> list[RecallNote]:
        """The notes before that time."""
        return [each for each in super().notes(rows) if each.at < self.until]


def prompts(connection: sqlite3.Connection) -> Iterator[Prompt]:
    blocks: dict[int, tuple[Event, ...]] = {}
    for at, session, project, path, block, event in connection.execute(PROMPTS):
        if block not in blocks:
            blocks[block] = unpack(connection.execute("SELECT body FROM blocks WHERE id = ?", (block,)).fetchone()[0])
        yield Prompt(format_instant(from_milliseconds(at)), session, project, path, blocks[block][event - block].text)


def injected(home: str, *, meaning: bool, days: bool = False) -> Iterator[tuple[Prompt, ContextPiece]]:
    state = queue.state_folder(home)
    path = f"{state}/kept.db"
    connection = sqlite3.connect(path)
    scopes = dict(connection.execute("SELECT directory, scope FROM projects"))
    Earlier.first = {
        each: json.loads(body).get("first_seen") or "" for each, body in connection.execute("SELECT id, body FROM memories")
    }
    context.StoreReader = Earlier  # type: ignore[misc] # hide what became known later
    place = make_query_context(state, RecallSettings(most=100), os.environ)
    if meaning:
        create_embedder(LOCAL, stays=True)
    begun: set[str] = set()
    for each in prompts(connection):
        Earlier.until = each.at
        first = days and each.session not in begun
        begun.add(each.session)
        asked = ContextRequest(
            message=each.text,
            directory=each.project,
            session=each.session,
            core=False,
            days=first,
            marks=failure_marks(each.text),
            client="codex",
        )
        found = assemble_context(
            RecallEnvironment(path, "/", seconds=60.0),
            asked,
            now=datetime.fromisoformat(each.at),
            scope=scopes.get(each.project) or scopes.get(fallback_project_folder(each.path)) or "",
            nearest=memories_in_process(place, each.text) if meaning else None,
        )
        yield from ((each, piece) for piece in found.pieces if piece.layer != CORE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home")
    parser.add_argument("--sample", type=int, default=0, help="so many lines at random; all of them without it")
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--meaning", action="store_true")
    parser.add_argument(
        "--days", action="store_true", help="before the first prompt of a session also what was worked on in the days before"
    )
    given = parser.parse_args()
    lines = list(injected(given.home, meaning=given.meaning, days=given.days))
    sys.stderr.write(f"{len(lines)} lines: {dict(Counter(piece.layer for _, piece in lines))}\n")
    if given.sample:
        lines = random.Random(given.seed).sample(lines, min(given.sample, len(lines)))
    print("relevant\tlayer\tnear\twhy\tline\tprompt")
    for prompt, piece in sorted(lines, key=lambda each: (each[1].layer, -each[1].near)):
        words = " ".join(prompt.text.split())
        print(f"?\t{piece.layer}\t{piece.near:.2f}\t{piece.reason}\t{piece.text[:240]}\t{words[:240]}")


if __name__ == "__main__":
    main()
