"""Measure how many annotated memories that ended do end if a model is asked about changes, with recorded replies.

    python benchmarks/superseded.py prepare GOLD --out FOLDER
    python benchmarks/superseded.py score GOLD [--out FOLDER --reader READER]

GOLD contains folders, each with a ``gold.jsonl`` of annotated memories, some of which are superseded or resolved by a later one.
They are curated by rules as if each had been stated once, all memories of a scope at once; the questions about changes are those of
a run. ``prepare`` writes each question to FOLDER/questions/ID.md; a reader writes each reply to FOLDER/replies/READER/ID.json.
FOLDER/manifest.json says which memories the numbers in a question mean, so that a reply stays valid as long as both memories that
it names exist. The recorded replies are in ``benchmarks/superseded``. ``score`` prints how many of the memories that ended do end,
by rules and with replies, and which others end too.
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.event import Origin
from kept.core.memory import Accepted, Actor, Candidate, CandidateVerdict, Evidence, Memory, Status
from kept.core.operation import MAY_CONTRADICT, Operation, apply_operation
from kept.curation.advice import (
    SCHEMA,
    MemoryTable,
    build_curation_ask,
    build_tables,
    fill_curation_prompt,
    read_curation_reply,
    select_applicable,
    should_ask_about,
)
from kept.curation.curate import curate
from kept.curation.lifecycle import rules_of
from kept.llm.reply import InvalidReply, parse_reply
from kept.profiles import load_profile
from kept.profiles.prompts import question_text

FORM = "{system}\n\n# The entries\n\n{prompt}\n"
PROFILE = load_profile("coding")
LIKE = {"known_issue": "project_fact", "workflow": "convention", "person": "project_fact", "identity": "preference"}

Row = Mapping[str, Any]


def load_rows(gold: Path) -> list[Row]:
    """All annotated memories."""
    return [
        json.loads(line) for path in sorted(gold.glob("*/gold.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()
    ]


def to_candidate(row: Row) -> CandidateVerdict:
    """An annotated memory as a candidate that was stated once, in the annotator's words."""
    at, origin = datetime.fromisoformat(row["at"]), Origin(row["origin"])
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    quote = Evidence(quote=row["text"], event=row["id"], session=row["id"], path="f", at=at, author="x", origin=origin)
    candidate = Candidate(
        id=row["id"],
        profile=PROFILE.id,
        category=LIKE.get(row["category"], row["category"]),
        scope=row["scope"],
        content=row["text"],
        confidence=0.8,
        trigger="gold",
        at=at,
        origin=origin,
        artifacts=find_artifacts(row["text"]),
        evidence=(quote,),
        reasoning="annotated",
    )
    return CandidateVerdict(candidate=candidate, verdict=Accepted())


def apply(operations: Sequence[Operation], memories: Mapping[str, Memory]) -> dict[str, Memory]:
    """The memories after the operations."""
    found = dict(memories)
    for operation in operations:
        found.update(apply_operation(found, operation, Actor.MACHINE))
    return found


def ask(memories: Mapping[str, Memory]) -> Iterator[tuple[MemoryTable, str]]:
    """The questions about the memories of a scope: each with its table and its text."""
    text, version = question_text("curation")
    active = [memory for memory in memories.values() if should_ask_about(memory)]
    for category in PROFILE.categories:
        for table in build_tables(category, active, frozenset(memory.id for memory in active)):
            made = build_curation_ask(table, system=fill_curation_prompt(text, category), version=version)
            yield table, FORM.format(system=made.system, prompt=made.prompt)


def prepare(gold: Path, out: Path) -> None:
    """Write all questions, and the annotated memories that the numbers in each mean."""
    (out / "questions").mkdir(parents=True, exist_ok=True)
    rows, rules, asked = load_rows(gold), rules_of(PROFILE), {}
    for scope in sorted({row["scope"] for row in rows}):
        told = [to_candidate(row) for row in rows if row["scope"] == scope]
        for table, text in ask(apply(curate(told, (), rules=rules), {})):
            number = hashlib.sha256(text.encode()).hexdigest()[:10]
            (out / "questions" / f"{number}.md").write_text(text, encoding="utf-8")
            entries, named = ([memory.candidates[0] for memory in part] for part in (table.entries, table.named))
            asked[number] = {"scope": scope, "category": table.category.id, "entries": entries, "named": named}
    (out / "schema.json").write_text(json.dumps(SCHEMA, indent=1) + "\n", encoding="utf-8")
    (out / "manifest.json").write_text(json.dumps(asked, indent=1) + "\n", encoding="utf-8")
    print(f"{len(asked)} questions in {out}")


def load_asked(folder: Path, memories: Mapping[str, Memory], scope: str) -> Iterator[tuple[MemoryTable, Path]]:
    """The answered questions about a scope, with today's memories, and the path of each reply."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    categories = {category.id: category for category in PROFILE.categories}
    for number, asked in manifest.items():
        if asked["scope"] == scope:
            entries, named = (tuple(find_memory(memories, each) for each in asked[part]) for part in ("entries", "named"))
            yield MemoryTable(category=categories[asked["category"]], entries=entries, named=named), Path(f"{number}.json")


def score(gold: Path, folder: Path | None, reader: str) -> dict[str, Counter[str]]:
    """Count how many of the memories that ended do end, and which others do, by rules and with replies. Without a folder, the
    annotator's own answers are used, which give an upper bound.
    """
    rows, rules = load_rows(gold), rules_of(PROFILE)
    ended = {row["id"]: row["final"] for row in rows if row["final"] != "active"}
    print(f"{len(ended)} of {len(rows)} annotated memories ended")
    counts: dict[str, Counter[str]] = {"rules": Counter(), "replies": Counter()}
    refused: Counter[str] = Counter()
    answered = several = 0
    for scope in sorted({row["scope"] for row in rows}):
        told = [to_candidate(row) for row in rows if row["scope"] == scope]
        memories = apply(curate(told, (), rules=rules), {})
        count_ended(memories, ended, counts["rules"], tell=False)
        found: list[Operation] = []
        shown: set[tuple[str, str]] = set()
        tables = load_asked(folder, memories, scope) if folder else ((table, None) for table, _ in ask(memories))
        for table, name in tables:
            several += 1
            shown |= show_pairs(table, ended)
            path = folder / "replies" / reader / name if folder and name else None
            if path is not None and not path.exists():
                continue
            answered += 1
            body = parse_reply(path.read_text(encoding="utf-8"), SCHEMA) if path else answer(table, ended)
            if isinstance(body, InvalidReply):
                print(f"{name}: {body.reason}")
                continue
            made = read_curation_reply(body, table)
            refused.update(made.refused)
            found += made.operations
        for old in (row["id"] for row in rows if row["scope"] == scope and row["id"] in ended):
            memory = find_memory(memories, old)
            if memory.status is Status.ACTIVE and old not in {each for each, _ in shown}:
                print(f"never asked about beside what it gave way to: {old} ({memory.content[:90]})")
        memories = apply(select_applicable(found, tuple(memories.values())), memories)
        memories = apply(curate(told, tuple(memories.values()), rules=rules), memories)
        count_ended(memories, ended, counts["replies"], tell=True)
    print(f"{answered} of {several} questions answered; not taken: {dict(refused)}")
    for name, made in counts.items():
        print(f"with {name}: {dict(made)}")
    return counts


def find_memory(memories: Mapping[str, Memory], number: str) -> Memory:
    """The memory made from an annotated one; if there are several, preferably one that is not superseded."""
    resting = [memory for memory in memories.values() if number in memory.candidates]
    return min(resting, key=lambda memory: (memory.status is Status.SUPERSEDED, -len(memory.candidates), memory.id))


def show_pairs(table: MemoryTable, ended: Mapping[str, str]) -> set[tuple[str, str]]:
    """The annotated memories that ended and that are in the same question as their successor: (old, new)."""
    mine = {number for memory in table.entries for number in memory.candidates}
    named = mine | {number for memory in table.named for number in memory.candidates}
    return {(old, new) for old, final in ended.items() if old in mine and (new := final.partition(":")[2]) in named}


def answer(table: MemoryTable, ended: Mapping[str, str]) -> dict[str, Any]:
    """The answer that the annotator would give."""
    places = {number: place for place, memory in enumerate((*table.entries, *table.named), 1) for number in memory.candidates}
    pairs = sorted(show_pairs(table, ended))
    changes = [
        {"id": places[old], "op": ended[old].partition("d_by")[0], "with": places[new], "reason": "annotated"} for old, new in pairs
    ]
    return {"operations": changes}


def count_ended(memories: Mapping[str, Memory], ended: Mapping[str, str], counts: Counter[str], *, tell: bool) -> None:
    """Count the final status of each annotated memory."""
    for number in sorted({number for memory in memories.values() for number in memory.candidates}):
        memory = find_memory(memories, number)
        over = memory.status in (Status.SUPERSEDED, Status.RESOLVED, Status.RETIRED)
        waits = memory.status is Status.HELD and memory.reason == MAY_CONTRADICT
        right = number in ended
        kind = "ended" if over else "waits as a contradiction" if waits else "active" if memory.status is Status.ACTIVE else "waits"
        counts[f"{kind}, {'rightly' if right == over else 'wrongly'}" if over or right else kind] += 1
        if tell and (right or over):
            by = memory.superseded_by or memory.resolved_by
            print(f"{'right' if right == over else 'WRONG'} {number} {kind}, {memory.reason} | {memory.content[:110]}")
            if over and by:
                print(f"      by {memories[by].content[:110]}")


def main() -> None:
    """Prepare questions, or score replies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "score"))
    parser.add_argument("gold", type=Path)
    parser.add_argument("--out", type=Path, help="the folder of questions and replies; without, the annotator's own answers count")
    parser.add_argument("--reader", default="careful")
    given = parser.parse_args()
    if given.what == "prepare":
        prepare(given.gold, given.out)
    else:
        score(given.gold, given.out, given.reader)


if __name__ == "__main__":
    main()
