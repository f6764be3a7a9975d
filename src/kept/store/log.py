"""The log in SQLite: runs, passes, operations and candidates, chained by hash, and the memories that result from them.

A pass and its effects are committed in one transaction. Memories are a projection of the log, which :meth:`Log.rebuild` recreates.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kept.core.codec import json_fields, to_canonical_json
from kept.core.errors import DamagedError
from kept.core.memory import CandidateVerdict, Memory
from kept.core.operation import Operation, Pass, affected_memory_ids, find_undone_passes, fold
from kept.core.times import format_instant
from kept.store.check import IMPORTED, check_fingerprints, check_log, check_memories, fingerprints_of
from kept.store.database import ERASING
from kept.store.erasing import erase_from_json, erase_from_rows, log_row_texts
from kept.store.memories import NO_LIMIT, GroupTexts, Memories, clear_texts, json_list
from kept.store.redaction import redact_draft, redact_value
from kept.store.rows import (
    DraftRows,
    apply_pass,
    attach_operations,
    build_draft_rows,
    candidates_of,
    named_fields,
    operation_of,
    pass_from_row,
    pass_values,
    proposal_of,
    read_row,
)
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

if TYPE_CHECKING:
    from kept.core.erasure import ErasureWords


class Log(Memories):
    """The append-only history and the memories that result from it."""

    # Runs

    def start_run(self, command: str, now: datetime) -> int:
        """Begin a run and return its number."""
        with self._database.transaction():
            (number,) = self._database.fetch_one("start_run", command=self._database.safe(command), started_at=format_instant(now))
            self._database.run("sum_run", id=number)
        return int(number)

    def end_run(self, run: int, now: datetime, report: Mapping[str, Any]) -> None:
        """Record the end of a run and its report."""
        self._database.run(
            "end_run",
            id=run,
            ended_at=format_instant(now),
            report=to_canonical_json(redact_value(dict(report), self._database.safe)),
        )

    def runs(self, limit: int | None = None, *, command: str = "") -> tuple[Run, ...]:
        """The last ``limit`` runs, or all of them, newest first. If ``command`` is given, only runs of that command."""
        return tuple(
            read_row(Run, row) for row in self._database.run("runs", limit=NO_LIMIT if limit is None else limit, command=command)
        )

    # Passes

    def commit(self, draft: Draft) -> Pass:
        """Append a pass and apply it to the memories, in one transaction.

        Raises StoreError, with nothing changed, if the pass names a memory that does not exist, or would make memories supersede
        each other in a cycle.
        """
        draft = redact_draft(draft, self._database.safe)
        with self._database.transaction():
            last = self._database.fetch_one("last_pass")
            written = build_draft_rows(
                draft,
                pass_from_row(last) if last else None,
                self._last_number("last_operation"),
                self._last_number("last_candidate"),
            )
            if draft.span:
                self._database.run("mark_span_dirty", thread=draft.span.thread, start=draft.span.start)
                self._database.run("unsettle_span", thread=draft.span.thread, start=draft.span.start)
            self._append(written)
            self._database.verify_after_commit(("pass", written.made.id), lambda: self._is_written(written))
            self._store_mentions(
                (row.id, affected_memory_ids(one)) for row, one in zip(written.operations, draft.operations, strict=True)
            )
            if draft.span:
                self._database.run(
                    "supersede_candidates",
                    thread=draft.span.thread,
                    start=draft.span.start,
                    pass_=written.made.id,
                    stage=draft.stage,
                )
                groups = sorted({(row.profile, row.scope) for row in written.candidates})
                self._database.execute_many("mark_group_dirty", ({"profile": profile, "scope": scope} for profile, scope in groups))
                self._database.execute_many(
                    "unsettle", ({"profile": row.profile, "scope": row.scope, "item": row.id} for row in written.candidates)
                )
            if draft.undoes or draft.redoes:
                self._apply_undo_redo(draft)
            else:
                self._update_memories(apply_pass(written.made, self.memory))
            return written.made

    def _is_written(self, written: DraftRows) -> bool:
        """True if the store contains a pass exactly as it was written."""
        ids = json_list([written.made.id])
        numbers = [candidate.row for candidate in written.candidates]
        candidates = self._query_candidates("candidates_between", first=min(numbers, default=0), last=max(numbers, default=-1))
        return (
            [row["hash"] for row in self._database.run("passes_of", ids=ids)] == [written.row.hash]
            and tuple(self._query_operations("operations_of", ids=ids)) == written.operations
            and tuple(replace(row, live=True) for row in candidates) == written.candidates
        )

    def _append(self, written: DraftRows) -> None:
        self._add_passes([written.row])
        self._add_operations(written.operations)
        self._add_candidates(written.candidates)

    def _add_passes(self, rows: Iterable[PassRow]) -> None:
        rows = tuple(rows)
        self._database.execute_many("add_pass", (pass_values(row) for row in rows))
        self._database.execute_many(
            "add_span", ({"pass_id": row.head.id, "thread": thread, "start": start} for row in rows for thread, start in row.covers)
        )

    def _add_operations(self, rows: Iterable[OperationRow]) -> None:
        rows = tuple(rows)
        self._database.execute_many(
            "add_operation", (named_fields(row, "id", "pass_id", "memory", "kind", "body", "commitment") for row in rows)
        )
        self._store_words((f"o{row.id}", row) for row in rows)

    def _add_candidates(self, rows: Iterable[CandidateRow]) -> None:
        rows = tuple(rows)
        names = ("row", "pass_id", "thread", "ordinal", "id", "profile", "scope", "verdict", "body", "commitment", "live")
        self._database.execute_many("add_candidate", (named_fields(row, *names) for row in rows))
        self._store_words((f"c{item.row}", item) for item in rows)

    def _store_words(self, rows: Iterable[tuple[str, OperationRow | CandidateRow]]) -> None:
        self._database.execute_many(
            "seal", ({"owner": owner, "salt": each.salt, "words": each.words} for owner, each in rows if each.words is not None)
        )

    def _store_mentions(self, operations: Iterable[tuple[int, tuple[str, ...]]]) -> None:
        self._database.execute_many(
            "add_mention", ({"operation": number, "memory": memory} for number, memories in operations for memory in memories)
        )

    def _apply_undo_redo(self, draft: Draft) -> None:
        switched, off = (*draft.undoes, *draft.redoes), find_undone_passes(self.undo_redo_passes())
        self._database.run("recompute_live", undone=json_list(off), switched=json_list(switched))
        clear_texts(self._database)
        self._refold(switched, off)

    def _refold(self, passes: Iterable[int], off: Collection[int]) -> None:
        """Compute the memories again that some passes affect, and all memories linked to them. The passes in ``off`` are undone."""
        related = self.related_passes(passes)
        after: dict[str, Memory | None] = {
            number: None for pass_ in related for operation in pass_.operations for number in affected_memory_ids(operation)
        }
        self._update_memories(after | fold(pass_ for pass_ in related if pass_.id not in off))

    def refold_undone(self) -> None:
        """Compute the memories again that undone passes affected, because earlier versions of kept let some of the undone words
        come back. Raises DamagedError.
        """
        off = find_undone_passes(self.undo_redo_passes())
        with self._database.transaction():
            self._refold(off, off)

    def undo_redo_passes(self) -> tuple[Pass, ...]:
        """The passes that undo or redo other passes, without operations."""
        return tuple(pass_from_row(row).head for row in self._database.run("undo_redo_passes"))

    def pass_heads(self) -> Iterator[Pass]:
        """The whole log in order, without operations."""
        return (pass_from_row(row).head for row in self._database.run("passes"))

    def passes(self, only: Iterable[int] | None = None) -> Iterator[Pass]:
        """The whole log in order, or only the passes with these ids, with their operations."""
        if only is None:
            return attach_operations(self.pass_heads(), self._query_operations("operations"))
        ids = json_list(only)
        heads = (pass_from_row(row).head for row in self._database.run("passes_of", ids=ids))
        return attach_operations(heads, self._query_operations("operations_of", ids=ids))

    def passes_after(self, number: int) -> Iterator[Pass]:
        """The passes after the given one, in order, with their operations."""
        last = self._database.fetch_one("last_pass")
        return self.passes(range(number + 1, last["id"] + 1 if last else 0))

    def _query_operations(self, name: str, **values: Any) -> Iterator[OperationRow]:
        return (OperationRow(**dict(row)) for row in self._database.run(name, **values))

    def _query_candidates(self, name: str, **values: Any) -> Iterator[CandidateRow]:
        return (CandidateRow(**dict(row) | {"live": bool(row["live"])}) for row in self._database.run(name, **values))

    def related_passes(self, passes: Iterable[int]) -> tuple[Pass, ...]:
        """The passes needed to fold the memories that ``passes`` affect, and all memories linked to these, directly or indirectly.

        The result is in order and includes the given passes. Each pass has only the operations on these memories.
        """
        given = set(passes)
        rows = tuple(self._query_operations("related_operations", passes=json_list(given)))
        heads = self._database.run("passes_of", ids=json_list(given.union(row.pass_id for row in rows)))
        return tuple(attach_operations((pass_from_row(row).head for row in heads), rows))

    def operations_on(self, memory: str) -> tuple[tuple[Pass, Operation], ...]:
        """All operations that affect a memory, in order, including merges into others. Each comes with the head of its pass."""
        rows = tuple(self._query_operations("operations_on", memory=memory))
        heads = self._database.run("passes_of", ids=json_list({row.pass_id for row in rows}))
        return tuple(
            (pass_, operation)
            for pass_ in attach_operations((pass_from_row(row).head for row in heads), rows)
            for operation in pass_.operations
        )

    # Candidates

    def proposals(self, profile: str, scope: str) -> tuple[Proposal, ...]:
        """The live candidates of a group, with any verdict."""
        return self._query_proposals("live_candidates", profile=profile, scope=scope)

    def thread_proposals(self, thread: int, start: int, stage: str = EXTRACT, *, stop: int | None = None) -> tuple[Proposal, ...]:
        """The live candidates of a thread with ordinals in [start, stop), proposed by passes of ``stage``. No ``stop`` means no
        end.
        """
        return self._query_proposals("span_candidates", thread=thread, start=start, stop=stop, stage=stage)

    def refused(self, reason: str = "") -> tuple[Proposal, ...]:
        """The live candidates that were refused. If ``reason`` is given, only those refused for it."""
        return self._query_proposals("refused_candidates", verdict=f'%"refused",{to_canonical_json(reason) if reason else "%"}]')

    def all_judged_candidates(self) -> tuple[CandidateVerdict, ...]:
        """Every candidate ever proposed, live or not, unless its words were erased."""
        return tuple(proposal.judged for proposal in self._query_proposals("candidates"))

    def _query_proposals(self, name: str, **values: Any) -> tuple[Proposal, ...]:
        return tuple(proposal_of(row) for row in self._query_candidates(name, **values) if row.words is not None)

    def blocked_candidates(self) -> frozenset[str]:
        """The candidates on which only undone operations are based. Curation does not bring them back, unless a model proposes one
        of them that had not proposed it before the undo.
        """
        switches = self.undo_redo_passes()
        off = find_undone_passes(switches)
        if not off:
            return frozenset()
        undone_rows = self._query_operations("operations_without_words", undone=json_list(off))
        gone = frozenset(item for row in undone_rows for item in candidates_of(row))
        standing = self._database.run("candidates_in_effect", undone=json_list(off), candidates=json_list(gone))
        last = max(made.id for made in switches if made.undoes)
        others = self._database.run("candidates_of_other_models", undo=last, candidates=json_list(gone))
        return gone - {row["id"] for rows in (standing, others) for row in rows}

    def groups_to_curate(self) -> tuple[tuple[str, str], ...]:
        """The groups (profile, scope) that are queued for curation."""
        return tuple((row["profile"], row["scope"]) for row in self._database.run("dirty_groups"))

    def mark_group_curated(self, profile: str, scope: str) -> None:
        """Record that a group has been curated."""
        self._database.run("unmark_group_dirty", profile=profile, scope=scope)

    def proposals_with(self, profile: str, scope: str, ids: Iterable[str]) -> tuple[Proposal, ...]:
        """The live candidates of a group that have these ids."""
        return self._query_proposals("candidates_with", profile=profile, scope=scope, ids=json_list(ids))

    def texts(self, profile: str, scope: str) -> GroupTexts:
        """The index of the texts of a group's candidates and memories, as far as curation has filled it."""
        return GroupTexts(self._database, (profile, scope))

    # Forget

    def erase_memory(self, memory: str, candidates: Iterable[str], fingerprints: Iterable[str], made: Pass) -> None:
        """Erase the words of all operations on a memory and of its candidates, and store the fingerprints."""
        self._database.run("put_setting", name=ERASING, value="")
        clear_texts(self._database)
        self._database.run("unseal_operations", memory=memory)
        self._database.run("unseal_candidates", ids=json_list(candidates))
        self._database.execute_many(
            "add_fingerprint", ({"fingerprint": fingerprint, "pass_id": made.id} for fingerprint in fingerprints)
        )

    def stored_texts(self) -> Iterator[tuple[str, str]]:
        """All texts in the log and the run reports, one at a time, as pairs (label, text)."""
        yield from log_row_texts(self._query_operations("operations"))
        yield from log_row_texts(self._query_candidates("candidates"))
        for row in self._database.run("passes"):
            yield f"pass {row['id']}", f"{row['subject']}\n{row['note']}"
        for row in self._database.run("all_runs"):
            yield f"the report of run {row['id']}", row["report"] or ""

    def erase_words(self, words: "ErasureWords", *, spared: Collection[str] = ()) -> int:
        """Remove words from all rows and reports, and recompute the hashes and memories that depend on them. Returns the number of
        rows.

        This changes rows that repeat the words of a forgotten memory. The memory itself and its candidates must be in ``spared``,
        because :meth:`erase_memory` erases their rows as a whole.
        """
        run = self._database.run
        with self._database.transaction():
            heads = tuple(pass_from_row(row) for row in run("passes"))
            rows = erase_from_rows(
                heads, tuple(self._query_operations("operations")), tuple(self._query_candidates("candidates")), words, spared
            )
            reports = [row for row in run("all_runs").fetchall() if words.is_in_text(row["report"] or "")]
            if not (rows.passes or reports):
                return 0
            run("put_setting", name=ERASING, value="")
            clear_texts(self._database)
            for row in reports:
                run("put_report", id=row["id"], report=erase_from_json(row["report"], words))
            self._database.execute_many("amend_pass", (pass_values(row) for row in rows.passes))
            self._database.execute_many(
                "amend_operation", (named_fields(row, "id", "body", "commitment") for row in rows.operations)
            )
            self._database.execute_many(
                "amend_candidate", (named_fields(row, "row", "body", "commitment", "verdict") for row in rows.candidates)
            )
            words_of = {f"o{row.id}": row.words for row in rows.operations} | {f"c{row.row}": row.words for row in rows.candidates}
            self._database.execute_many(
                "amend_words", ({"owner": owner, "words": left} for owner, left in words_of.items() if left)
            )
            if rows.operations:
                self.rebuild()
            return rows.places + len(reports)

    def forgotten_fingerprints(self) -> frozenset[str]:
        """The fingerprints of forgotten statements, which must not be extracted again."""
        return frozenset(row["fingerprint"] for row in self._database.run("fingerprints"))

    # Check and rebuild

    def find_damage(self, stored: Mapping[str, Memory], unreadable: Collection[str] = ()) -> Iterator[str]:
        """A message for each contradiction between the log and its hashes, or between the log and derived data.

        ``stored`` are the memories in the store by id, except the ``unreadable`` ones, which are not compared.
        """
        yield from check_log(
            (pass_from_row(row) for row in self._database.run("passes")),
            self._query_operations("operations"),
            self._query_candidates("candidates"),
            self._query_operations("operations_on_forgotten"),
        )
        try:
            yield from check_memories(fold(self.passes()), stored, unreadable)
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
        for row in self._database.run("wrong_live", undone=json_list(find_undone_passes(self.undo_redo_passes()))):
            yield f"candidate {row['id']}: its validity differs from the log"
        for row in self._database.run("stray_words"):
            yield f"words of {row['owner']}: they belong to no record of the log"
        yield from check_fingerprints(self._query_operations("forgets"), self._fingerprints())

    def _fingerprints(self) -> Iterator[FingerprintRow]:
        return (FingerprintRow(**dict(row)) for row in self._database.run("fingerprints"))

    def imported_memories(self) -> frozenset[str]:
        """The ids of memories that were imported."""
        return frozenset(row["memory"] for row in self._database.run("imported_memories", trigger=IMPORTED))

    def export_rows(self) -> Iterator[Row]:
        """The log as export rows: runs, passes, operations, candidates, fingerprints, groups queued for curation."""
        yield from (read_row(RunRow, row) for row in self._database.run("all_runs"))
        yield from (pass_from_row(row) for row in self._database.run("passes"))
        yield from self._query_operations("operations")
        yield from self._query_candidates("candidates")
        yield from self._fingerprints()
        yield from (GroupRow(profile=profile, scope=scope) for profile, scope in self.groups_to_curate())

    def load_row(self, row: Row) -> None:
        """Load a row of :meth:`export_rows`, inside the transaction that loads all rows."""
        match row:
            case RunRow():
                report = to_canonical_json(dict(row.report)) if row.report or row.ended_at else None
                values = json_fields(row, "id", "command", "started_at", "ended_at")
                self._database.run("add_run", **values, report=report)
            case PassRow():
                self._add_passes([row])
            case OperationRow():
                self._add_operations([row])
                self._store_mentions([(row.id, affected_memory_ids(operation_of(row)))])
            case CandidateRow():
                self._add_candidates([row])
            case FingerprintRow():
                self._database.execute_many("add_fingerprint", [{"fingerprint": row.fingerprint, "pass_id": row.pass_id}])
            case GroupRow():
                self._database.execute_many("mark_group_dirty", [{"profile": row.profile, "scope": row.scope}])
            case _:
                raise ValueError(f"no row of a log: {type(row).__name__}")

    def rebuild(self) -> None:
        """Rebuild the memories and everything else that is derived from the log."""
        with self._database.transaction():
            clear_texts(self._database)
            self._database.run("drop_memories")
            self._database.run("clear_memory_index")
            self._database.run("drop_mentions")
            self._database.run("fill_mentions")
            passes = tuple(self.passes())
            self._database.run("drop_fingerprints")
            rows = fingerprints_of(self._query_operations("forgets"))
            self._database.execute_many("add_fingerprint", ({"fingerprint": each, "pass_id": made} for each, made in rows.items()))
            self._database.run(
                "recompute_live", undone=json_list(find_undone_passes(passes)), switched=json_list(pass_.id for pass_ in passes)
            )
            self._update_memories(dict(sorted(fold(passes).items())))
