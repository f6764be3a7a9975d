"""Events, memories and passes to put into a store."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kept.core.event import Author, Cursor, Event, EventKind, Origin, Pointer, Precision, RecordAccount
from kept.core.memory import Accepted, Actor, Candidate, CandidateVerdict, Evidence, Memory, Status
from kept.core.operation import Add
from kept.store.sqlite import SqliteStore
from kept.store.values import Draft

AT = datetime(2026, 1, 5, 14, tzinfo=UTC)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
DAWN = datetime(1, 1, 1, tzinfo=UTC)


def event(
    key: str, *, session: str = "s", text: str = "words", twin: str = "", at: datetime | None = AT, project: str = "/p"
) -> Event:
    return Event(
        key=key,
        twin=twin,
        session=session,
        record=key,
        parent="",
        turn="",
        kind=EventKind.PROMPT,
        author=Author.HUMAN,
        label_reason="typed",
        text=text,
        at=at,
        precision=Precision.MESSAGE,
        project=project,
        branch="",
        tool=None,
        pointer=Pointer(path="f", line=1, start=0, end=1),
    )


def memory(number: str, content: str = "something") -> Memory:
    return Memory(
        id=number,
        profile="coding",
        category="decision",
        scope="user",
        status=Status.ACTIVE,
        content=content,
        confidence=0.8,
        origin=Origin.USER,
        first_seen=AT,
        last_seen=AT,
        candidates=(f"c-{number}",),
    )


ACCEPTED = Accepted()


def judged(number: str, verdict=ACCEPTED) -> CandidateVerdict:
    quote = Evidence(quote=f"quote {number}", event="e", session="s", path="f", at=AT, author="human", origin=Origin.USER)
    candidate = Candidate(
        id=number,
        profile="coding",
        category="decision",
        scope="user",
        content=f"content {number}",
        confidence=0.8,
        trigger="t",
        at=AT,
        origin=Origin.USER,
        artifacts=(),
        evidence=(quote,),
        reasoning="r",
    )
    return CandidateVerdict(candidate=candidate, verdict=verdict)


def replica(path: Path, url: str):
    """A store of an owner on PostgreSQL."""
    from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - psycopg is installed if there is a server
    from kept.store.replica.store import ReplicaStore  # noqa: PLC0415

    return ReplicaStore(path, lambda: PostgresServer(url))


def archive(store: SqliteStore, *events: Event, path: str = "f", offset: int = 10, anew: bool = True) -> int:
    return store.archive.add_slice(
        "claude-code",
        path,
        events,
        RecordAccount(records=len(events), kept=len(events), events=len(events)),
        Cursor(offset=offset),
        anew=anew,
    )


def commit(store: SqliteStore, *operations, **changes):
    run = store.log.start_run("test", NOW)
    draft = Draft(run=run, stage="person", subject="", actor=Actor.PERSON, recorded_at=NOW, operations=operations)
    return store.log.commit(replace(draft, **changes))


def add(number: str, content: str = "something") -> Add:
    return Add(memory=number, at=AT, reason="new", value=memory(number, content))
