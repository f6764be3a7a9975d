"""Score the context for judged prompts of invented projects: precision and recall by kind, and how many prompts get no context.

    python benchmarks/judged.py [--data FOLDER] [--needs FILE] [--held | --work] [--words] [--session] [--show]

memories.tsv has project, id, category, text and, for a fix, its error. prompts.tsv has project, kind, language, the wanted
memories, the harmless ones, and the prompt. Prompts on even lines are for work on the ranking (``--work``); those on odd lines
(``--held``) are held out. With another folder (``--data``), all prompts are used if neither is given. ``--needs`` names a file of
requests (id, request) by somebody who knew only the memories, like the agent of a session; ``written.tsv`` of ``judged`` and
``requests`` are such files, written as a model was asked to. ``--words`` leaves meaning out, like a hook without an embedding
server. With ``--session``, a session starts before each prompt: what its start shows counts as found, and precision is that of what
the prompt adds. Prompts of the kind ``days`` want the notes of the last days, of which each project has one. In brackets: 95 %
intervals.
"""

import argparse
import os
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from kept.core.artifact import find_artifacts
from kept.core.digest import text_hash
from kept.core.error_fingerprint import message_fingerprints
from kept.core.event import Origin
from kept.core.fence import CORE, DAYS, ContextPiece
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import Add
from kept.core.project import Project
from kept.evaluation.retrieval import bootstrap_interval
from kept.local.recall_settings import RecallSettings
from kept.paths import find_paths
from kept.recall import context
from kept.recall.context import ContextRequest, RecallEnvironment, assemble_context, failure_marks
from kept.recall.embed import create_embedder
from kept.recall.embed_server.query import make_query_context, memories_in_process
from kept.recall.index import UnitKind
from kept.recall.index.vectors import VectorEntry, update_vectors
from kept.recall.relevance import DEFAULT_WEIGHTS, RecallWeights
from kept.store.reader import RecallNote, StoreReader
from kept.store.sqlite import SqliteStore
from kept.store.values import Draft

HERE = Path(__file__).with_name("judged")
SAID = "said"  # prompts that only a turn answers; benchmarks/said.py measures them
NOW = datetime(2026, 3, 12, 10, tzinfo=UTC)
START = 2_400  # token budget at the start of a session
NOTE = RecallNote(
    row=1,
    key="note",
    at="2026-03-11T15:00:00.000Z",
    session="earlier",
    text="moved the parser to its own module",
    weight=5,
    ended=True,
    asked="",
    result="x",
)


class WithNotes(StoreReader):
    """A store reader that returns a note of yesterday's work for every project."""

    def notes_between(self, start: str, stop: str, scopes: list[str]) -> list[RecallNote]:
        """The note, if it is in the span."""
        return [NOTE] if scopes and start <= NOTE.at < stop else []


class Prompt(NamedTuple):
    """A prompt, with the wanted memories and the harmless ones."""

    project: str
    kind: str
    language: str
    wanted: frozenset[str]
    harmless: frozenset[str]
    text: str


def rows(folder: Path, name: str) -> list[list[str]]:
    return [line.split("\t") for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def read_prompts(folder: Path) -> list[Prompt]:
    return [
        Prompt(project, kind, language, frozenset(wanted.split()), frozenset(harmless.split()), text.replace("\\n", "\n"))
        for project, kind, language, wanted, harmless, text in rows(folder, "prompts.tsv")
    ]


def scope_of(project: str) -> str:
    return "user" if project == "user" else f"project:{project}-000000"


def memory_of(number: int, row: list[str], needed_for: Sequence[str] = ()) -> Memory:
    project, name, category, text, error = (*row, "")[:5]
    seen = NOW - timedelta(days=20 + number)
    return Memory(
        id=name,
        profile="coding",
        category=category,
        scope=scope_of(project),
        status=Status.ACTIVE,
        content=text,
        confidence=0.9,
        origin=Origin.USER,
        first_seen=seen,
        last_seen=seen,
        artifacts=find_artifacts(text),
        fingerprint=next(iter(message_fingerprints(error)), "") if error else "",
        needed_for=tuple(needed_for),
    )


def fill(home: Path, data: Path, needs: Path | None = None) -> None:
    paths = find_paths(str(home), {"HOME": str(home)})
    requests: dict[str, list[str]] = defaultdict(list)
    for name, request in rows(needs.parent, needs.name) if needs else ():
        requests[name].append(request)
    memories = [memory_of(number, row, requests[row[1]]) for number, row in enumerate(rows(data, "memories.tsv"))]
    with SqliteStore(paths.store) as store:
        for project in {row[0] for row in rows(data, "memories.tsv")} - {"user"}:
            store.archive.save_project(
                Project(directory=f"/work/{project}", identity=f"dir:/work/{project}", name=project, scope=scope_of(project))
            )
        run = store.log.start_run("benchmark", NOW)
        added = tuple(Add(memory=each.id, at=NOW, reason="benchmark", value=each) for each in memories)
        store.log.commit(Draft(run=run, stage="import", subject="benchmark", actor=Actor.PERSON, recorded_at=NOW, operations=added))
        store.log.end_run(run, NOW, {})
        rowids = dict(store._database.execute_sql("SELECT id, rowid FROM memories").fetchall())  # noqa: SLF001 - rows the vectors are of
    model = create_embedder(RecallSettings().embeddings)
    if model is not None:
        texts = [(each, text) for each in memories for text in (each.content, *each.needed_for)]
        vectors = model.embed([text for _, text in texts])
        entries = [
            VectorEntry(
                kind=UnitKind.MEMORY,
                item=rowids[each.id],
                mark=text_hash(each.content),
                vector=vector,
                need=text != each.content,
            )
            for (each, text), vector in zip(texts, vectors, strict=True)
        ]
        update_vectors(paths.vectors, model.name, {}, entries)
        with SqliteStore(paths.store) as store:
            store.queue.remove(store.queue.pending_units())


def started(store: Path, project: str) -> frozenset[str]:
    """The keys of the pieces that the start of a session shows."""
    asked = ContextRequest(directory=f"/work/{project}", days=False, whole=True, budget=START, client="none")
    return frozenset(each.key for each in assemble_context(RecallEnvironment(str(store), "/", seconds=60.0), asked, now=NOW).pieces)


def shown(
    store: Path,
    prompt: Prompt,
    told: frozenset[str],
    *,
    words: bool,
    weights: RecallWeights = DEFAULT_WEIGHTS,
    recall: RecallSettings | None = None,
    missed: list[ContextPiece] | None = None,
) -> list[ContextPiece]:
    context.StoreReader = WithNotes  # type: ignore[misc, attr-defined] # so that there is recent work
    nearest = (
        None
        if words
        else memories_in_process(make_query_context(store.parent, recall or RecallSettings(), os.environ), prompt.text)
    )
    asked = ContextRequest(
        message=prompt.text,
        directory=f"/work/{prompt.project}",
        core=False,
        days=False,
        marks=failure_marks(prompt.text),
        already_shown=told,
        client="none",
    )
    place = RecallEnvironment(str(store), "/", seconds=60.0, zone=UTC, weights=weights)
    found = assemble_context(place, asked, now=NOW, nearest=nearest, missed=missed)
    return [each for each in found.pieces if each.layer != CORE]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE, help="a folder with memories.tsv and prompts.tsv of the same form")
    parser.add_argument("--needs", type=Path, help="a file with requests that need memories: id and request")
    parser.add_argument("--held", action="store_true", help="the prompts that were set apart")
    parser.add_argument("--work", action="store_true", help="the others")
    parser.add_argument("--words", action="store_true", help="without meaning")
    parser.add_argument("--session", action="store_true", help="after the start of a session")
    parser.add_argument("--home", type=Path, help="a folder that keeps the store for the next time; else a temporary one")
    parser.add_argument("--show", action="store_true", help="print what is missed and what is wrong")
    given = parser.parse_args()
    prompts = read_prompts(given.data)[given.held :: 2 if given.held or given.work or given.data == HERE else 1]
    tally: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        home = given.home or Path(folder)
        store = find_paths(str(home), {"HOME": str(home)}).store
        if not store.exists():
            home.mkdir(exist_ok=True)
            fill(home, given.data, given.needs)
        for prompt in (each for each in prompts if each.kind != SAID):
            start = started(store, prompt.project) if given.session else frozenset()
            pieces = shown(store, prompt, start, words=given.words)
            keys = {"@" if each.layer == DAYS else each.key for each in pieces}
            right, wrong = keys & prompt.wanted, keys - prompt.wanted - prompt.harmless
            reached = len((keys | start) & prompt.wanted)
            numbers = (1, not keys, len(keys), len(right), len(wrong), reached, len(prompt.wanted))
            for name in (prompt.kind, f"{prompt.kind} {prompt.language}"):
                tally[name].append(numbers)
            if given.show and (wrong or prompt.wanted - keys - start):
                print(
                    prompt.kind,
                    prompt.language,
                    repr(prompt.text[:80]),
                    "missed",
                    *sorted(prompt.wanted - keys - start),
                    "wrong",
                    *sorted(wrong),
                )
    for name, each in sorted(tally.items()):
        count, empty, lines, hits, misses, reached, wanted = map(sum, zip(*each, strict=True))
        precision, recall = hits / max(1, hits + misses), reached / max(1, wanted)
        right = "{:.2f} to {:.2f}".format(*bootstrap_interval([(row[3], row[3] + row[4]) for row in each]))
        found = "{:.2f} to {:.2f}".format(*bootstrap_interval([(row[5], row[6]) for row in each]))
        told = f"{empty:3} empty, {lines / count:4.1f} lines: precision {precision:.2f} ({right}) recall {recall:.2f} ({found})"
        print(f"{name:9} {count:4} prompts, {told}")


if __name__ == "__main__":
    main()
