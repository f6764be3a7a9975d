"""The log: runs, passes, operations and candidates, chained by hash; and the memories they add up to.

Everything here commits in one transaction. Memories are a projection that :meth:`Log.rebuild` recreates from the log.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kept.adapters.store.database import Database
from kept.adapters.store.records import (
    ERASED,
    Sealed,
    chain,
    commitment_of,
    judged_body,
    operation_body,
    read_judged,
    read_operation,
    seal,
    unseal,
    verdict_slug,
)
from kept.model.codec import canonical, dump, load
from kept.model.errors import StoreError
from kept.model.fold import apply, fold, undone
from kept.model.memory import Actor, Judged, Memory, Status
from kept.model.operation import Forget, Operation, Pass
from kept.model.text import index_words
from kept.model.times import from_text, to_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """What an extraction pass covers: a thread from the ordinal ``start`` on, with the candidates found, by episode start."""

    thread: int
    start: int
    judged: tuple[tuple[int, Judged], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A pass that is not in the log yet."""

    run: int
    stage: str
    subject: str
    actor: Actor
    recorded_at: datetime
    operations: tuple[Operation, ...] = ()
    undoes: tuple[int, ...] = ()
    redoes: tuple[int, ...] = ()
    note: str = ""
    span: Span | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run: its command, its times of processing (``ended_at`` is None where it was cut short), its report as JSON."""

    id: int
    command: str
    started_at: datetime
    ended_at: datetime | None
    report: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A judged candidate as the log holds it: in which pass, of which episode (thread and ordinal of its first event)."""

    judged: Judged
    pass_id: int
    thread: int
    ordinal: int


class Log:
    """The append-only history and what it adds up to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Runs

    def start_run(self, command: str, now: datetime) -> int:
        """Begin a run and return its number."""
        (number,) = self._database.one("start_run", command=command, started_at=to_text(now))
        return int(number)

    def end_run(self, run: int, now: datetime, report: Mapping[str, Any]) -> None:
        """Note that a run came to its end, and its report."""
        self._database.run("end_run", id=run, ended_at=to_text(now), report=canonical(dict(report)))

    def runs(self, limit: int = 1000) -> tuple[Run, ...]:
        """The last runs, newest first."""
        return tuple(
            Run(
                id=row["id"], command=row["command"], started_at=from_text(row["started_at"]),
                ended_at=from_text(row["ended_at"]) if row["ended_at"] else None, report=json.loads(row["report"] or "{}"),
            )
            for row in self._database.run("runs", limit=limit)
        )  # fmt: skip

    # Passes

    def commit(self, draft: Draft) -> Pass:
        """Append a pass and apply it to the memories, in one transaction.

        Raises StoreError, with nothing changed, where the pass does not fit the memories (it names one that does not exist, or
        would make two memories supersede each other).
        """
        with self._database.transaction():
            last = self._database.one("last_hash")
            made = Pass(
                id=last["id"] + 1 if last else 1, run=draft.run, stage=draft.stage, subject=draft.subject, actor=draft.actor,
                recorded_at=draft.recorded_at, operations=draft.operations, undoes=draft.undoes, redoes=draft.redoes, note=draft.note,
            )  # fmt: skip
            sealed_operations = [seal(operation_body(each), secrets.token_hex(8)) for each in draft.operations]
            judged = draft.span.judged if draft.span else ()
            sealed_judged = [seal(judged_body(each), secrets.token_hex(8)) for _, each in judged]
            self._append(made, sealed_operations, sealed_judged, draft.span, last["hash"] if last else "")
            for operation, sealed in zip(draft.operations, sealed_operations, strict=True):
                (number,) = self._database.one(
                    "add_operation", pass_=made.id, memory=operation.memory, kind=type(operation).__name__.lower(),
                    body=sealed.body, commitment=sealed.commitment,
                )  # fmt: skip
                self._seal(f"o{number}", sealed)
            if draft.span:
                self._put_span(made.id, draft.span, sealed_judged)
            if draft.undoes or draft.redoes:
                self._switch()
            else:
                self._apply(made)
            return made

    def _append(self, made: Pass, operations: Sequence[Sealed], judged: Sequence[Sealed], span: Span | None, previous: str) -> None:
        commitments = [f"{each.commitment}{each.body}" for each in (*operations, *judged)]
        covers = [(span.thread, span.start)] if span else []
        self._database.run(
            "add_pass", id=made.id, run=made.run, stage=made.stage, subject=made.subject, actor=made.actor.value,
            recorded_at=to_text(made.recorded_at), undoes=canonical(list(made.undoes)), redoes=canonical(list(made.redoes)),
            note=made.note, hash=chain(previous, made, commitments, covers),
        )  # fmt: skip

    def _put_span(self, number: int, span: Span, sealed: Sequence[Sealed]) -> None:
        for proposal in self._proposals("span_candidates", thread=span.thread, start=span.start):
            self._soil(proposal.judged)
        self._database.run("add_span", pass_=number, thread=span.thread, start=span.start)
        self._database.run("retire_candidates", thread=span.thread, start=span.start, pass_=number)
        for (ordinal, judged), parts in zip(span.judged, sealed, strict=True):
            candidate = judged.candidate
            (row,) = self._database.one(
                "add_candidate", pass_=number, thread=span.thread, ordinal=ordinal, id=candidate.id, profile=candidate.profile,
                scope=candidate.scope, verdict=verdict_slug(judged.verdict), body=parts.body, commitment=parts.commitment,
            )  # fmt: skip
            self._seal(f"c{row}", parts)
            self._soil(judged)

    def _seal(self, owner: str, sealed: Sealed) -> None:
        if sealed.words != ERASED:
            self._database.run("seal", owner=owner, salt=sealed.salt, words=sealed.words)

    def _soil(self, judged: Judged) -> None:
        self._database.run("soil", profile=judged.candidate.profile, scope=judged.candidate.scope)

    def _apply(self, made: Pass) -> None:
        for operation in made.operations:
            named = (operation.memory, *_named(operation))
            before = {each: memory for each in named if (memory := self.memory(each)) is not None}
            after = apply(before, operation, made.actor)
            if operation.memory in _named(operation):
                raise StoreError(f"a memory cannot supersede itself: {operation.memory}", hint="nothing was changed")
            if not after:
                raise StoreError(f"an operation names a memory that does not exist: {operation.memory}", hint="nothing was changed")
            for memory in after.values():
                self._check_chain(memory, after)
                self._put(memory)

    def _check_chain(self, memory: Memory, after: Mapping[str, Memory]) -> None:
        seen, each = {memory.id}, memory
        while each.status is Status.SUPERSEDED and each.superseded_by:
            found = after.get(each.superseded_by) or self.memory(each.superseded_by)
            if found is None:
                return
            if found.id in seen:
                raise StoreError(f"memories would supersede each other: {', '.join(sorted(seen))}", hint="nothing was changed")
            seen.add(found.id)
            each = found

    def _switch(self) -> None:
        off = canonical(sorted(undone(self.switches())))
        self._database.run("relive_candidates", undone=off)
        self._project(fold(self.passes()))

    def switches(self) -> tuple[Pass, ...]:
        """The passes that undo or redo others, without operations."""
        return tuple(self._head(row) for row in self._database.run("passes") if row["undoes"] != "[]" or row["redoes"] != "[]")

    def passes(self) -> Iterator[Pass]:
        """The whole log in order, with its operations."""
        operations: dict[int, list[Operation]] = {}
        for row in self._database.run("operations"):
            operations.setdefault(row["pass"], []).append(read_operation(unseal(row["body"], row["words"])))
        for row in self._database.run("passes").fetchall():
            yield replace(self._head(row), operations=tuple(operations.pop(row["id"], ())))

    def _head(self, row: Any) -> Pass:
        return Pass(
            id=row["id"], run=row["run"], stage=row["stage"], subject=row["subject"], actor=Actor(row["actor"]),
            recorded_at=from_text(row["recorded_at"]), operations=(), undoes=tuple(json.loads(row["undoes"])),
            redoes=tuple(json.loads(row["redoes"])), note=row["note"],
        )  # fmt: skip

    # Memories

    def memory(self, number: str) -> Memory | None:
        """The memory of that id, or None."""
        row = self._database.one("memory", id=number)
        return _memory(row["body"]) if row else None

    def memories(self, *, group: tuple[str, str] | None = None) -> tuple[Memory, ...]:
        """All memories by id, or those of a (profile, scope)."""
        if group is None:
            rows = self._database.run("memories")
        else:
            rows = self._database.run("memories_of", profile=group[0], scope=group[1])
        return tuple(_memory(row["body"]) for row in rows)

    def ids_like(self, prefix: str) -> tuple[str, ...]:
        """At most three ids that begin so."""
        return tuple(row["id"] for row in self._database.run("memory_ids_like", prefix=prefix))

    def search(self, query: str, limit: int) -> tuple[tuple[Memory, float], ...]:
        """Memories that match a prepared full-text query, best first, with their score (higher is better)."""
        return tuple(
            (_memory(row["body"]), -row["rank"]) for row in self._database.run("search_memories", query=query, limit=limit)
        )

    def _put(self, memory: Memory) -> None:
        row = self._database.one("memory", id=memory.id)
        if row:
            self._database.run("unindex_memory", rowid=row["rowid"], words=_indexed(_memory(row["body"])))
        (rowid,) = self._database.one(
            "put_memory", id=memory.id, profile=memory.profile, category=memory.category, scope=memory.scope,
            status=memory.status.value, body=canonical(dump(memory)),
        )  # fmt: skip
        self._database.run("index_memory", rowid=rowid, words=_indexed(memory))

    def _project(self, memories: Mapping[str, Memory]) -> None:
        for memory in self.memories():
            if memory.id not in memories:
                row = self._database.one("memory", id=memory.id)
                self._database.run("unindex_memory", rowid=row["rowid"], words=_indexed(memory))
                self._database.run("drop_memory", id=memory.id)
            elif memories[memory.id] != memory:
                self._put(memories[memory.id])
        known = {memory.id for memory in self.memories()}
        for memory in memories.values():
            if memory.id not in known:
                self._put(memory)

    # Candidates

    def proposals(self, profile: str, scope: str) -> tuple[Proposal, ...]:
        """The live candidates of a group, whatever their verdict."""
        return self._proposals("live_candidates", profile=profile, scope=scope)

    def proposals_from(self, thread: int, start: int) -> tuple[Proposal, ...]:
        """The live candidates of a thread's episodes from the ordinal ``start`` on."""
        return self._proposals("span_candidates", thread=thread, start=start)

    def refused(self) -> tuple[Proposal, ...]:
        """The live candidates that were refused."""
        return self._proposals("refused_candidates")

    def every_proposal(self) -> tuple[Judged, ...]:
        """Every candidate ever proposed whose words are still there, live or not."""
        return tuple(each.judged for each in self._proposals("candidate_rows"))

    def _proposals(self, name: str, **values: Any) -> tuple[Proposal, ...]:
        return tuple(
            Proposal(
                judged=read_judged(unseal(row["body"], row["words"])),
                pass_id=row["pass"],
                thread=row["thread"],
                ordinal=row["ordinal"],
            )
            for row in self._database.run(name, **values)
            if row["words"] is not None
        )

    def blocked(self) -> frozenset[str]:
        """The candidates that only undone operations rest on: they do not come back by curation."""
        off = undone(self.switches())
        if not off:
            return frozenset()
        gone: set[str] = set()
        held: set[str] = set()
        for each in self.passes():
            for operation in each.operations:
                facts = getattr(operation, "facts", None) or getattr(operation, "value", None)
                if facts is not None:
                    (gone if each.id in off else held).update(facts.candidates)
        return frozenset(gone - held)

    def dirty(self) -> tuple[tuple[str, str], ...]:
        """The groups (profile, scope) to curate."""
        return tuple((row["profile"], row["scope"]) for row in self._database.run("dirty"))

    def cleaned(self, profile: str, scope: str) -> None:
        """Note that a group is curated."""
        self._database.run("clean", profile=profile, scope=scope)

    # Forget

    def erase(self, memory: str, candidates: Iterable[str], fingerprints: Iterable[str], made: Pass) -> None:
        """Erase the words of every operation on a memory and of every candidate it rests on; keep the fingerprints."""
        owners = [f"o{row['id']}" for row in self._rows("SELECT id FROM operations WHERE memory = :id", id=memory)]
        for candidate in candidates:
            owners += [f"c{row['row']}" for row in self._rows("SELECT row FROM candidates WHERE id = :id", id=candidate)]
        for owner in owners:
            self._database.raw("DELETE FROM sealed WHERE owner = :owner", {"owner": owner})
        for each in fingerprints:
            self._database.run("forget_fingerprint", fingerprint=each, pass_=made.id)

    def forgotten(self) -> frozenset[str]:
        """The fingerprints of what must not come back."""
        return frozenset(row["fingerprint"] for row in self._database.run("forgotten"))

    def _rows(self, sql: str, **values: Any) -> list[Any]:
        return self._database.raw(sql, values).fetchall()

    # Check and rebuild

    def damage(self) -> Iterator[str]:
        """Every way in which the log contradicts its hashes, or the memories contradict the log."""
        yield from self._broken_chain()
        derived = fold(self.passes())
        stored = {each.id: each for each in self.memories()}
        for number in sorted(derived.keys() | stored.keys()):
            if number not in stored:
                yield f"memory {number}: in the log, but not among the memories"
            elif number not in derived:
                yield f"memory {number}: among the memories, but not in the log"
            elif derived[number] != stored[number]:
                yield f"memory {number}: differs from what the log adds up to"
        for row in self._rows("SELECT m.id, m.profile, m.scope, m.status, m.category, m.body FROM memories AS m ORDER BY m.id"):
            memory = _memory(row["body"])
            if (row["profile"], row["scope"], row["status"], row["category"]) != (
                memory.profile, memory.scope, memory.status.value, memory.category,
            ):  # fmt: skip
                yield f"memory {row['id']}: its columns differ from its body"
        if self._database.raw("SELECT count(*) FROM memory_index").fetchone()[0] != len(stored):
            yield "the full-text index of memories does not have one entry for each"

    def _broken_chain(self) -> Iterator[str]:
        commitments: dict[int, list[str]] = {}
        erased = {each.memory for made in self.passes() for each in made.operations if isinstance(each, Forget)}
        for row in self._database.run("operations"):
            commitments.setdefault(row["pass"], []).append(f"{row['commitment']}{row['body']}")
            if row["words"] is None:
                if row["memory"] not in erased and json.loads(row["body"])["is"] in ("add", "revise", "reaffirm", "merge"):
                    yield f"operation {row['id']} of pass {row['pass']}: its words are gone and no forget explains it"
            elif commitment_of(row["words"], row["salt"]) != row["commitment"]:
                yield f"operation {row['id']} of pass {row['pass']}: its words do not match their commitment"
        forgotten_candidates = self._forgotten_candidates(erased)
        for row in self._database.run("candidate_rows"):
            commitments.setdefault(row["pass"], []).append(f"{row['commitment']}{row['body']}")
            if row["words"] is None:
                if row["id"] not in forgotten_candidates:
                    yield f"candidate {row['id']}: its words are gone and no forget explains it"
            elif commitment_of(row["words"], row["salt"]) != row["commitment"]:
                yield f"candidate {row['id']}: its words do not match their commitment"
        covers: dict[int, list[tuple[int, int]]] = {}
        for row in self._database.run("spans"):
            covers.setdefault(row["pass"], []).append((row["thread"], row["start"]))
        previous, expected = "", 1
        for row in self._database.run("passes"):
            if row["id"] != expected:
                yield f"pass {expected}: missing from the log"
            expected = row["id"] + 1
            if chain(previous, self._head(row), commitments.get(row["id"], ()), covers.get(row["id"], ())) != row["hash"]:
                yield f"pass {row['id']}: what it holds does not match the hash chain"
            previous = row["hash"]

    def _forgotten_candidates(self, erased: set[str]) -> frozenset[str]:
        found: set[str] = set()
        for row in self._database.run("operations"):
            if row["memory"] in erased:
                body = json.loads(row["body"])
                found.update((body.get("value") or body.get("facts") or {}).get("candidates", ()))
        return frozenset(found)

    def rebuild(self) -> None:
        """Recreate the memories and their index from the log alone."""
        with self._database.transaction():
            self._database.raw("DELETE FROM memories")
            self._database.raw("INSERT INTO memory_index (memory_index) VALUES ('delete-all')")
            self._database.run("relive_candidates", undone=canonical(sorted(undone(self.switches()))))
            for memory in sorted(fold(self.passes()).values(), key=lambda each: each.id):
                self._put(memory)


def _named(operation: Operation) -> tuple[str, ...]:
    losers = getattr(operation, "losers", ())
    by = getattr(operation, "by", "")
    return (*losers, *((by,) if by else ()))


def _memory(body: str) -> Memory:
    memory: Memory = load(Memory, json.loads(body))
    return memory


def _indexed(memory: Memory) -> str:
    return index_words(" ".join((memory.content, *memory.artifacts)))
