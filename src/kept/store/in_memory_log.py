"""The log of a store in memory."""
# ruff: noqa: D102 - the protocol says what each of them does

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kept.core.codec import canonical
from kept.core.erasure import Words
from kept.core.fold import fold, undone
from kept.core.memory import Judged, Memory, Refused, Status
from kept.core.operation import Operation, Pass, mentioned
from kept.core.text import index_words
from kept.store.erasing import amended, json_without, texts_of
from kept.store.in_memory_archive import Transaction
from kept.store.in_memory_state import Now, State, best
from kept.store.rows import appended, candidates_of, effects, operation_of, proposal_of, put_together, relived
from kept.store.values import EXTRACT, CandidateRow, Draft, FingerprintRow, GroupRow, Proposal, Run, RunRow


class InMemoryLog:
    """The append-only history of runs, passes, operations and candidates, and the memories it adds up to."""

    def __init__(self, now: Now, transaction: Transaction) -> None:
        self._now = now
        self._transaction = transaction

    @property
    def _state(self) -> State:
        return self._now()

    def start_run(self, command: str, now: datetime) -> int:
        self._state.runs.append(RunRow(id=len(self._state.runs) + 1, command=command, started_at=now))
        return len(self._state.runs)

    def end_run(self, run: int, now: datetime, report: Mapping[str, Any]) -> None:
        self._state.runs[run - 1] = replace(self._state.runs[run - 1], ended_at=now, report=dict(report))

    def runs(self, limit: int = 1000) -> tuple[Run, ...]:
        return tuple(
            Run(id=each.id, command=each.command, started_at=each.started_at, ended_at=each.ended_at, report=each.report)
            for each in self._state.runs[::-1][:limit]
        )

    def commit(self, draft: Draft) -> Pass:
        with self._transaction():
            state = self._state
            last = state.passes[-1] if state.passes else None
            written = appended(draft, last, len(state.operations), len(state.candidates))
            state.passes.append(written.row)
            state.operations.extend(written.operations)
            if draft.span:
                self._cover(draft.span.thread, draft.span.start, draft.stage, written.candidates)
            if draft.undoes or draft.redoes:
                self._derive()
            else:
                state.memories.update(effects(written.made, self.memory))
            return written.made

    def _cover(self, thread: int, start: int, stage: str, fresh: Sequence[CandidateRow]) -> None:
        covered = [
            each.live and each.thread == thread and each.ordinal >= start and self._stage(each) == stage
            for each in self._state.candidates
        ]
        touched = [each for each, inside in zip(self._state.candidates, covered, strict=True) if inside]
        for each in (*touched, *fresh):
            self._state.groups[each.profile, each.scope] = GroupRow(profile=each.profile, scope=each.scope)
        self._state.candidates = [
            replace(each, live=False) if inside else each for each, inside in zip(self._state.candidates, covered, strict=True)
        ]
        self._state.candidates.extend(fresh)

    def _stage(self, row: CandidateRow) -> str:
        return self._state.passes[row.pass_id - 1].head.stage

    def _derive(self) -> None:
        self._state.candidates = list(relived(self._state.passes, self._state.candidates))
        self._state.memories = fold(self.passes())

    def switches(self) -> tuple[Pass, ...]:
        return tuple(each for each in self.heads() if each.undoes or each.redoes)

    def heads(self) -> Iterator[Pass]:
        return (each.head for each in self._state.passes)

    def passes(self, only: Iterable[int] | None = None) -> Iterator[Pass]:
        wanted = None if only is None else set(only)
        heads = (each for each in self.heads() if wanted is None or each.id in wanted)
        return put_together(heads, (each for each in self._state.operations if wanted is None or each.pass_id in wanted))

    def related(self, passes: Iterable[int]) -> tuple[Pass, ...]:
        given, tied = set(passes), set[str]()
        named = [(each, set(mentioned(operation_of(each)))) for each in self._state.operations]
        grown = {number for each, numbers in named if each.pass_id in given for number in numbers}
        while grown != tied:
            tied = grown
            grown = tied.union(*(numbers for _, numbers in named if not tied.isdisjoint(numbers)))
        rows = [each for each, numbers in named if not tied.isdisjoint(numbers)]
        wanted = given.union(each.pass_id for each in rows)
        return tuple(put_together((each for each in self.heads() if each.id in wanted), rows))

    def operations_on(self, memory: str) -> tuple[tuple[Pass, Operation], ...]:
        return tuple((each, one) for each in self.passes() for one in each.operations if memory in mentioned(one))

    def memory(self, number: str) -> Memory | None:
        return self._state.memories.get(number)

    def memories(self, *, group: tuple[str, str] | None = None) -> tuple[Memory, ...]:
        found = (self._state.memories[each] for each in sorted(self._state.memories))
        return tuple(each for each in found if group in (None, (each.profile, each.scope)))

    def memories_between(self, start: datetime, stop: datetime) -> tuple[Memory, ...]:
        return tuple(
            each
            for each in self.memories()
            if each.first_seen is not None and each.last_seen is not None and each.first_seen < stop and each.last_seen >= start
        )

    def ids(self) -> frozenset[str]:
        return frozenset(self._state.memories)

    def ids_like(self, prefix: str) -> tuple[str, ...]:
        return tuple(each for each in sorted(self._state.memories) if each.startswith(prefix))[:3]

    def census(self, moment: datetime) -> Mapping[tuple[Status, str, str], int]:
        return Counter((each.status_at(moment), each.profile, each.category) for each in self._state.memories.values())

    def search(self, words: Sequence[str], limit: int) -> tuple[tuple[Memory, float], ...]:
        texts = ((each, index_words(" ".join((each.content, *each.artifacts)))) for each in self.memories())
        return tuple(best(texts, words)[:limit])

    def proposals(self, profile: str, scope: str) -> tuple[Proposal, ...]:
        return self._proposals(
            each for each in self._state.candidates if each.live and (each.profile, each.scope) == (profile, scope)
        )

    def proposals_from(self, thread: int, start: int, stage: str = EXTRACT, *, stop: int | None = None) -> tuple[Proposal, ...]:
        return self._proposals(
            each
            for each in self._state.candidates
            if each.live and each.thread == thread and start <= each.ordinal and (stop is None or each.ordinal < stop)
            if self._stage(each) == stage
        )

    def refused(self) -> tuple[Proposal, ...]:
        found = self._proposals(each for each in self._state.candidates if each.live)
        return tuple(each for each in found if isinstance(each.judged.verdict, Refused))

    def every_proposal(self) -> tuple[Judged, ...]:
        return tuple(each.judged for each in self._proposals(self._state.candidates))

    def _proposals(self, rows: Iterable[CandidateRow]) -> tuple[Proposal, ...]:
        return tuple(proposal_of(row) for row in rows if row.words is not None)

    def blocked(self) -> frozenset[str]:
        off = undone(self.switches())
        gone = {each for row in self._state.operations if row.pass_id in off for each in candidates_of(row)}
        standing = {each for row in self._state.operations if row.pass_id not in off for each in candidates_of(row)}
        return frozenset(gone - standing)

    def dirty(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self._state.groups))

    def cleaned(self, profile: str, scope: str) -> None:
        self._state.groups.pop((profile, scope), None)

    def erase(self, memory: str, candidates: Iterable[str], fingerprints: Iterable[str], made: Pass) -> None:
        state, gone = self._state, set(candidates)
        state.operations = [replace(each, salt=None, words=None) if each.memory == memory else each for each in state.operations]
        state.candidates = [replace(each, salt=None, words=None) if each.id in gone else each for each in state.candidates]
        for each in fingerprints:
            state.fingerprints.setdefault(each, FingerprintRow(fingerprint=each, pass_id=made.id))

    def texts(self) -> Iterator[tuple[str, str]]:
        yield from texts_of(self._state.operations)
        yield from texts_of(self._state.candidates)
        for head in self.heads():
            yield f"pass {head.id}", f"{head.subject}\n{head.note}"
        for row in self._state.runs:
            yield f"the report of run {row.id}", canonical(dict(row.report))

    def amend(self, words: Words, *, spared: Collection[str] = ()) -> int:
        with self._transaction():
            state = self._state
            rows = amended(state.passes, state.operations, state.candidates, words, spared)
            reports = [json.loads(json_without(canonical(dict(row.report)), words)) for row in state.runs]
            changed: int = sum(report != dict(row.report) for row, report in zip(state.runs, reports, strict=True))
            state.runs = [replace(row, report=report) for row, report in zip(state.runs, reports, strict=True)]
            passes, operations = {row.head.id: row for row in rows.passes}, {row.id: row for row in rows.operations}
            candidates = {row.row: row for row in rows.candidates}
            state.passes = [passes.get(row.head.id, row) for row in state.passes]
            state.operations = [operations.get(row.id, row) for row in state.operations]
            state.candidates = [candidates.get(row.row, row) for row in state.candidates]
            self._derive()
            return rows.places + changed

    def forgotten(self) -> frozenset[str]:
        return frozenset(self._state.fingerprints)

    def rebuild(self) -> None:
        with self._transaction():
            self._derive()
