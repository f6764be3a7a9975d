"""Measure curation for one new fact among many memories: processor seconds, and the resulting operations.

Usage: python benchmarks/one_fact.py [--memories N…] [--projects N]

It writes made-up lessons (those of ``benchmarks/curation.py``: ten per hour, each about a different file, from 4,096 made-up words)
directly into a store as curated memories, distributed over so many projects. Then it adds one lesson to the first project, three
times, and after that a value and a new value that replaces it. Reading, extraction, files and vectors are not included;
``benchmarks/curation.py`` measures a whole run.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from events import build_event

from curation import lesson
from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.event import Cursor, Origin, Pointer, RecordAccount
from kept.core.memory import Accepted, Actor, Candidate, CandidateVerdict, Evidence
from kept.core.operation import Add
from kept.curation.curate.plans import build_memory, facts_of, format_evidence_reason
from kept.curation.passes import curate_changed_groups
from kept.paths import find_paths
from kept.store.values import Draft, Span
from kept.workspace import RunNumber, Workspace, open_workspace

DAWN = datetime(2000, 1, 1, tzinfo=UTC)
AT_ONCE = 5_000
VALUES = ("The staging server listens on port 8000.", "The staging server now listens on port 8443.")


def main() -> None:
    """Measure for each number of memories."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="+", default=[3_000, 10_000])
    parser.add_argument("--projects", type=int, default=1)
    given = parser.parse_args()
    for number in given.memories:
        with tempfile.TemporaryDirectory() as home:
            env = {"HOME": home, "KEPT_EMBEDDINGS": "off"}
            with open_workspace(find_paths(home, env), zone="UTC", clock=lambda: DAWN, env=env) as workspace:
                measure(workspace, number, given.projects)


def measure(workspace: Workspace, number: int, projects: int) -> None:
    """Fill a store with so many memories, and print the cost of one more."""
    run, started = RunNumber(workspace), time.process_time()
    remember(workspace, run(), number, projects)
    for project in range(projects):
        hear(workspace, run(), told(number + project, project, f"Project {project} is on the list."))
    settled = time.process_time()
    curate_changed_groups(workspace, run)
    print(f"{number:,} memories of {projects} projects: filled in {settled - started:.1f} s, ", end="")
    print(f"curated whole in {time.process_time() - settled:.1f} s", flush=True)
    for place, text in enumerate((*map(new_lesson, range(3)), *VALUES)):
        hear(workspace, run(), told(number + projects + place, 0, text))
        started = time.process_time()
        report = curate_changed_groups(workspace, run)
        print(f"  one new fact: {time.process_time() - started:.2f} s, {dict(report.operations)}", flush=True)


def remember(workspace: Workspace, run: int, number: int, projects: int) -> None:
    """Write so many lessons as memories."""
    quote = Pointer(path="f", line=1, start=0, end=1)
    event = build_event("words", "e", "s", at=DAWN, record="e", project="/p", pointer=quote)
    account = RecordAccount(records=1, kept=1, events=1)
    workspace.store.archive.add_slice("claude-code", "f", [event], account, Cursor(offset=1), anew=True)
    lessons = list_lessons(number, projects)
    while some := [each for _, each in zip(range(AT_ONCE), lessons, strict=False)]:
        hear(workspace, run, *some)
        facts = [(each.candidate, *facts_of([each]), each) for each in some]
        adds = tuple(
            Add(
                memory=digest(candidate.id, size=5),
                at=said.first_seen,
                reason=format_evidence_reason([each], said, status),
                value=build_memory(digest(candidate.id, size=5), candidate, said, status),
            )
            for candidate, said, status, each in facts
        )
        commit(workspace, run, stage="curate", operations=adds)


def list_lessons(number: int, projects: int) -> Iterator[CandidateVerdict]:
    """Lessons for each project in turn."""
    for start in range(0, number, 10):
        chance = random.Random(start)
        for place in range(start, min(start + 10, number)):
            yield told(place, place % projects, lesson(chance, place))


def new_lesson(number: int) -> str:
    """A lesson that is similar to no other."""
    return lesson(random.Random(f"new {number}"), 10**7 + number)


def told(number: int, project: int, text: str) -> CandidateVerdict:
    """A statement of a person, as an accepted candidate."""
    at = DAWN + timedelta(hours=number // 10)
    quote = Evidence(
        quote=text, event=f"e{number}", session=f"s{number // 10}", path="f", at=at, author="human", origin=Origin.USER
    )
    candidate = Candidate(
        id=digest("lesson", str(number)),
        profile="coding",
        category="known_fix",
        scope=f"project:{project}",
        content=text,
        confidence=0.8,
        trigger="rule",
        at=at,
        origin=Origin.USER,
        artifacts=find_artifacts(text),
        evidence=(quote,),
        reasoning="told",
    )
    return CandidateVerdict(candidate=candidate, verdict=Accepted())


def hear(workspace: Workspace, run: int, *judged: CandidateVerdict) -> None:
    """Commit new candidates, as extraction does."""
    start = int(workspace.store.note("heard") or 0) + 1
    workspace.store.save_note("heard", str(start))
    span = Span(thread=1, start=start, judged=tuple((start, each) for each in judged))
    commit(workspace, run, stage="extract", span=span)


def commit(workspace: Workspace, run: int, **more: object) -> None:
    """Append a pass made by the machine."""
    draft = {"run": run, "subject": "", "actor": Actor.MACHINE, "recorded_at": DAWN, **more}
    workspace.store.log.commit(Draft(**draft))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
