"""The log in SQLite: runs, passes, operations and candidates, chained by hash; and the memories they add up to.

Everything here commits in one transaction. Memories are a projection that :meth:`SqliteLog.rebuild` recreates from the log.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from kept.core.codec import canonical
from kept.core.erasure import Words
from kept.core.errors import DamagedError
from kept.core.fold import fold, undone
from kept.core.memory import Actor, Judged, Memory
from kept.core.operation import Operation, Pass, mentioned
from kept.core.times import from_text, read_optional, to_text
from kept.store.check import IMPORTED, broken_log, disagreements, fingerprints_of, wrong_fingerprints
from kept.store.database import ERASING
from kept.store.door import safe_draft, safe_value
from kept.store.erasing import amended, json_without, texts_of
from kept.store.memories import SqliteMemories, fields, listed
from kept.store.rows import Appended, appended, candidates_of, effects, operation_of, proposal_of, put_together
from kept.store.values import (
    EXTRACT,
    CandidateRow,
    Draft,
    FingerprintRow,
    GroupRow,
    OperationRow,
    PassRow,
    Proposal,
    Row,
    Run,
    RunRow,
)


class SqliteLog(SqliteMemories):
    """The append-only history and what it adds up to."""

    # Runs

    def start_run(self, command: str, now: datetime) -> int:
        """Begin a run and return its number."""
        with self._database.transaction():
            (number,) = self._database.one("start_run", command=self._database.safe(command), started_at=to_text(now))
            self._database.run("sum_run", id=number)
        return int(number)

    def end_run(self, run: int, now: datetime, report: Mapping[str, Any]) -> None:
        """Note that a run came to its end, and its report."""
        self._database.run(
            "end_run", id=run, ended_at=to_text(now), report=canonical(safe_value(dict(report), self._database.safe))
        )

    def runs(self, limit: int = 1000) -> tuple[Run, ...]:
        """The last runs, newest first."""
        return tuple(
            Run(
                id=row["id"],
                command=row["command"],
                started_at=from_text(row["started_at"]),
                ended_at=read_optional(row["ended_at"]),
                report=json.loads(row["report"] or "{}"),
            )
            for row in self._database.run("runs", limit=limit)
        )

    # Passes

    def commit(self, draft: Draft) -> Pass:
        """Append a pass and apply it to the memories, in one transaction.

        Raises StoreError, with nothing changed, where the pass does not fit the memories (it names one that does not exist, or
        would make two memories supersede each other).
        """
        draft = safe_draft(draft, self._database.safe)
        with self._database.transaction():
            last = self._database.one("last_pass")
            written = appended(
                draft, _pass(last) if last else None, self._last_number("last_operation"), self._last_number("last_candidate")
            )
            if draft.span:
                self._database.run("soil_span", thread=draft.span.thread, start=draft.span.start)
            self._append(written)
            self._database.prove(("pass", written.made.id), lambda: self._is_written(written))
            self._mention((each.id, mentioned(one)) for each, one in zip(written.operations, draft.operations, strict=True))
            if draft.span:
                self._database.run(
                    "retire_candidates", thread=draft.span.thread, start=draft.span.start, pass_=written.made.id, stage=draft.stage
                )
                groups = sorted({(each.profile, each.scope) for each in written.candidates})
                self._database.many("soil", ({"profile": profile, "scope": scope} for profile, scope in groups))
            if draft.undoes or draft.redoes:
                self._switch(draft)
            else:
                self._project(effects(written.made, self.memory))
            return written.made

    def _is_written(self, written: Appended) -> bool:
        """Whether a pass is in the store as it was written."""
        ids = listed([written.made.id])
        numbers = [each.row for each in written.candidates]
        candidates = self._candidates("candidates_between", first=min(numbers, default=0), last=max(numbers, default=-1))
        return (
            [row["hash"] for row in self._database.run("passes_of", ids=ids)] == [written.row.hash]
            and tuple(self._operations("operations_of", ids=ids)) == written.operations
            and tuple(replace(each, live=True) for each in candidates) == written.candidates
        )

    def _append(self, written: Appended) -> None:
        self._add_passes([written.row])
        self._add_operations(written.operations)
        self._add_candidates(written.candidates)

    def _add_passes(self, rows: Iterable[PassRow]) -> None:
        rows = tuple(rows)
        self._database.many("add_pass", (_pass_values(each) for each in rows))
        self._database.many(
            "add_span",
            ({"pass_id": each.head.id, "thread": thread, "start": start} for each in rows for thread, start in each.covers),
        )

    def _add_operations(self, rows: Iterable[OperationRow]) -> None:
        rows = tuple(rows)
        self._database.many(
            "add_operation", (fields(each, "id", "pass_id", "memory", "kind", "body", "commitment") for each in rows)
        )
        self._seal((f"o{each.id}", each) for each in rows)

    def _add_candidates(self, rows: Iterable[CandidateRow]) -> None:
        rows = tuple(rows)
        names = ("row", "pass_id", "thread", "ordinal", "id", "profile", "scope", "verdict", "body", "commitment", "live")
        self._database.many("add_candidate", (fields(each, *names) for each in rows))
        self._seal((f"c{each.row}", each) for each in rows)

    def _seal(self, rows: Iterable[tuple[str, OperationRow | CandidateRow]]) -> None:
        self._database.many(
            "seal", ({"owner": owner, "salt": each.salt, "words": each.words} for owner, each in rows if each.words is not None)
        )

    def _mention(self, operations: Iterable[tuple[int, tuple[str, ...]]]) -> None:
        self._database.many(
            "add_mention", ({"operation": number, "memory": each} for number, memories in operations for each in memories)
        )

    def _switch(self, draft: Draft) -> None:
        switched, off = (*draft.undoes, *draft.redoes), undone(self.switches())
        self._database.run("relive_candidates", undone=listed(off), switched=listed(switched))
        related = self.related(switched)
        after: dict[str, Memory | None] = {number: None for each in related for one in each.operations for number in mentioned(one)}
        self._project(after | fold(each for each in related if each.id not in off))

    def switches(self) -> tuple[Pass, ...]:
        """The passes that undo or redo others, without operations."""
        return tuple(_pass(row).head for row in self._database.run("switches"))

    def heads(self) -> Iterator[Pass]:
        """The whole log in order, without operations."""
        return (_pass(row).head for row in self._database.run("passes"))

    def passes(self, only: Iterable[int] | None = None) -> Iterator[Pass]:
        """The whole log in order, or only those passes, with their operations."""
        if only is None:
            return put_together(self.heads(), self._operations("operations"))
        ids = listed(only)
        heads = (_pass(row).head for row in self._database.run("passes_of", ids=ids))
        return put_together(heads, self._operations("operations_of", ids=ids))

    def _operations(self, name: str, **values: Any) -> Iterator[OperationRow]:
        return (OperationRow(**dict(row)) for row in self._database.run(name, **values))

    def _candidates(self, name: str, **values: Any) -> Iterator[CandidateRow]:
        return (CandidateRow(**dict(row) | {"live": bool(row["live"])}) for row in self._database.run(name, **values))

    def related(self, passes: Iterable[int]) -> tuple[Pass, ...]:
        """What folds to the memories that the given passes concern, and to all that are tied to those, however indirectly."""
        given = set(passes)
        rows = tuple(self._operations("operations_tied", passes=listed(given)))
        heads = self._database.run("passes_of", ids=listed(given.union(each.pass_id for each in rows)))
        return tuple(put_together((_pass(row).head for row in heads), rows))

    def operations_on(self, memory: str) -> tuple[tuple[Pass, Operation], ...]:
        """Everything that happened to a memory, in order, merges into others included; each with the head of its pass."""
        rows = tuple(self._operations("operations_on", memory=memory))
        heads = self._database.run("passes_of", ids=listed({each.pass_id for each in rows}))
        return tuple((each, one) for each in put_together((_pass(row).head for row in heads), rows) for one in each.operations)

    # Candidates

    def proposals(self, profile: str, scope: str) -> tuple[Proposal, ...]:
        """The live candidates of a group, whatever their verdict."""
        return self._proposals("live_candidates", profile=profile, scope=scope)

    def proposals_from(self, thread: int, start: int, stage: str = EXTRACT, *, stop: int | None = None) -> tuple[Proposal, ...]:
        """The live candidates of a thread that passes of one stage proposed, from ``start`` on: those with ordinals in [start,
        stop).
        """
        return self._proposals("span_candidates", thread=thread, start=start, stop=stop, stage=stage)

    def refused(self) -> tuple[Proposal, ...]:
        """The live candidates that were refused."""
        return self._proposals("refused_candidates")

    def every_proposal(self) -> tuple[Judged, ...]:
        """Every candidate ever proposed whose words are still there, live or not."""
        return tuple(each.judged for each in self._proposals("candidate_rows"))

    def _proposals(self, name: str, **values: Any) -> tuple[Proposal, ...]:
        return tuple(proposal_of(row) for row in self._candidates(name, **values) if row.words is not None)

    def blocked(self) -> frozenset[str]:
        """The candidates that only undone operations rest on: they do not come back by curation."""
        off = undone(self.switches())
        if not off:
            return frozenset()
        undone_rows = self._operations("operations_undone", undone=listed(off))
        gone = frozenset(each for row in undone_rows for each in candidates_of(row))
        standing = self._database.run("rests_standing", undone=listed(off), candidates=listed(gone))
        return gone - {row["id"] for row in standing}

    def dirty(self) -> tuple[tuple[str, str], ...]:
        """The groups (profile, scope) to curate."""
        return tuple((row["profile"], row["scope"]) for row in self._database.run("dirty"))

    def cleaned(self, profile: str, scope: str) -> None:
        """Note that a group is curated."""
        self._database.run("clean", profile=profile, scope=scope)

    # Forget

    def erase(self, memory: str, candidates: Iterable[str], fingerprints: Iterable[str], made: Pass) -> None:
        """Erase the words of every operation on a memory and of every candidate it rests on; keep the fingerprints."""
        self._database.run("put_setting", name=ERASING, value="")
        self._database.run("unseal_operations", memory=memory)
        self._database.run("unseal_candidates", ids=listed(candidates))
        self._database.many("add_fingerprint", ({"fingerprint": each, "pass_id": made.id} for each in fingerprints))

    def texts(self) -> Iterator[tuple[str, str]]:
        """Everything that the log and the runs hold as text, in pieces; each with what it is called."""
        yield from texts_of(self._operations("operations"))
        yield from texts_of(self._candidates("candidate_rows"))
        for row in self._database.run("passes"):
            yield f"pass {row['id']}", f"{row['subject']}\n{row['note']}"
        for row in self._database.run("all_runs"):
            yield f"the report of run {row['id']}", row["report"] or ""

    def amend(self, words: Words, *, spared: Collection[str] = ()) -> int:
        """Take words out of all rows and reports, and make the hashes and memories that follow from them anew."""
        run = self._database.run
        with self._database.transaction():
            heads = tuple(_pass(row) for row in run("passes"))
            rows = amended(heads, tuple(self._operations("operations")), tuple(self._candidates("candidate_rows")), words, spared)
            reports = [row for row in run("all_runs").fetchall() if words.stand_in(row["report"] or "")]
            if not (rows.passes or reports):
                return 0
            run("put_setting", name=ERASING, value="")
            for row in reports:
                run("put_report", id=row["id"], report=json_without(row["report"], words))
            self._database.many("amend_pass", (_pass_values(row) for row in rows.passes))
            self._database.many("amend_operation", (fields(row, "id", "body", "commitment") for row in rows.operations))
            self._database.many("amend_candidate", (fields(row, "row", "body", "commitment", "verdict") for row in rows.candidates))
            self._database.many(
                "amend_words", ({"owner": f"o{row.id}", "words": row.words} for row in rows.operations if row.words)
            )
            self._database.many(
                "amend_words", ({"owner": f"c{row.row}", "words": row.words} for row in rows.candidates if row.words)
            )
            if rows.operations:
                self.rebuild()
            return rows.places + len(reports)

    def forgotten(self) -> frozenset[str]:
        """The fingerprints of what must not come back."""
        return frozenset(row["fingerprint"] for row in self._database.run("forgotten"))

    # Check and rebuild

    def damage(self, stored: Mapping[str, Memory]) -> Iterator[str]:
        """Every way in which the log contradicts its hashes, or what is derived (``stored``: the memories) contradicts the log."""
        yield from broken_log(
            (_pass(row) for row in self._database.run("passes")),
            self._operations("operations"),
            self._candidates("candidate_rows"),
            self._operations("operations_forgotten"),
        )
        try:
            yield from disagreements(fold(self.passes()), stored)
        except DamagedError as error:
            yield f"{error.what}, so the memories cannot be compared with the log"
        for row in self._database.run("memory_columns"):
            memory = stored.get(row["id"])
            if memory is None:
                continue
            columns = (memory.profile, memory.scope, memory.status.value, memory.category)
            if (row["profile"], row["scope"], row["status"], row["category"]) != columns:
                yield f"memory {row['id']}: its columns differ from its body"
        for row in self._database.run("wrong_mentions"):
            yield f"operation {row['operation']}: listed wrongly under memory {row['memory']}"
        for row in self._database.run("wrong_lives", undone=listed(undone(self.switches()))):
            yield f"candidate {row['id']}: whether it counts differs from what the log says"
        for row in self._database.run("stray_words"):
            yield f"words of {row['owner']}: they belong to nothing in the log"
        yield from wrong_fingerprints(self._operations("forgets"), self._fingerprints())

    def _fingerprints(self) -> Iterator[FingerprintRow]:
        return (FingerprintRow(**dict(row)) for row in self._database.run("fingerprints"))

    def imported(self) -> frozenset[str]:
        """The memories that came by an import."""
        return frozenset(row["memory"] for row in self._database.run("imported", trigger=IMPORTED))

    def rows(self) -> Iterator[Row]:
        """The log written out: runs, passes, operations, candidates, fingerprints, groups that wait."""
        for row in self._database.run("all_runs"):
            yield RunRow(
                id=row["id"],
                command=row["command"],
                started_at=from_text(row["started_at"]),
                ended_at=read_optional(row["ended_at"]),
                report=json.loads(row["report"] or "{}"),
            )
        yield from (_pass(row) for row in self._database.run("passes"))
        yield from self._operations("operations")
        yield from self._candidates("candidate_rows")
        yield from self._fingerprints()
        yield from (GroupRow(profile=profile, scope=scope) for profile, scope in self.dirty())

    def load_row(self, row: Row) -> None:
        """Take up a row of :meth:`rows`, inside the transaction that loads them all."""
        match row:
            case RunRow():
                ended = to_text(row.ended_at) if row.ended_at else None
                report = canonical(dict(row.report)) if row.report or ended else None
                self._database.run(
                    "add_run", id=row.id, command=row.command, started_at=to_text(row.started_at), ended_at=ended, report=report
                )
            case PassRow():
                self._add_passes([row])
            case OperationRow():
                self._add_operations([row])
                self._mention([(row.id, mentioned(operation_of(row)))])
            case CandidateRow():
                self._add_candidates([row])
            case FingerprintRow():
                self._database.many("add_fingerprint", [{"fingerprint": row.fingerprint, "pass_id": row.pass_id}])
            case GroupRow():
                self._database.many("soil", [{"profile": row.profile, "scope": row.scope}])
            case _:
                raise ValueError(f"no row of a log: {type(row).__name__}")

    def rebuild(self) -> None:
        """Recreate the memories and all that is derived from the log alone."""
        with self._database.transaction():
            self._database.run("drop_memories")
            self._database.run("clear_memory_index")
            self._database.run("drop_mentions")
            self._database.run("fill_mentions")
            passes = tuple(self.passes())
            self._database.run("drop_fingerprints")
            rows = fingerprints_of(self._operations("forgets"))
            self._database.many("add_fingerprint", ({"fingerprint": each, "pass_id": made} for each, made in rows.items()))
            self._database.run("relive_candidates", undone=listed(undone(passes)), switched=listed(each.id for each in passes))
            self._project(dict(sorted(fold(passes).items())))


def _pass_values(row: PassRow) -> dict[str, Any]:
    head = row.head
    return fields(head, "id", "run", "stage", "subject", "note") | {
        "actor": head.actor.value,
        "recorded_at": to_text(head.recorded_at),
        "undoes": canonical(list(head.undoes)),
        "redoes": canonical(list(head.redoes)),
        "hash": row.hash,
    }


def _pass(row: Any) -> PassRow:
    head = Pass(
        id=row["id"],
        run=row["run"],
        stage=row["stage"],
        subject=row["subject"],
        actor=Actor(row["actor"]),
        recorded_at=from_text(row["recorded_at"]),
        operations=(),
        undoes=tuple(json.loads(row["undoes"])),
        redoes=tuple(json.loads(row["redoes"])),
        note=row["note"],
    )
    covers = tuple((thread, start) for thread, start in json.loads(row["covers"]))
    return PassRow(head=head, hash=row["hash"], covers=covers)
