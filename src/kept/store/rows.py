"""Converts passes to and from rows of the log, and applies a pass to the memories. Works for every store, without side effects.

Rows are numbered from 1 without gaps, in the order they were written.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache, lru_cache, partial
from itertools import groupby
from typing import Any, TypeVar, get_origin, get_type_hints

from kept.core.codec import dump_member, json_fields, load, to_canonical_json
from kept.core.errors import DamagedError, StoreError
from kept.core.memory import CandidateVerdict, Memory, Status
from kept.core.operation import Operation, Pass, Reword, affected_memory_ids, apply_operation
from kept.core.value import dataclass, replace
from kept.store.records import ERASED, hash_pass, judged_body, read_judged, read_operation, seal, unseal, verdict_slug
from kept.store.values import CandidateRow, Draft, OperationRow, PassRow, Proposal

T = TypeVar("T")
NOTHING_CHANGED = "nothing was changed"
UNREADABLE = (KeyError, ValueError, TypeError, AttributeError)  # errors of reading a damaged row


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftRows:
    """The pass of a draft, and its rows in the log."""

    made: Pass
    row: PassRow
    operations: tuple[OperationRow, ...]
    candidates: tuple[CandidateRow, ...]


def build_draft_rows(draft: Draft, last: PassRow | None, operations: int, candidates: int) -> DraftRows:
    """The rows of a draft that follows the pass ``last``. ``operations`` and ``candidates`` are the last used row numbers."""
    made = Pass(
        id=last.head.id + 1 if last else 1,
        run=draft.run,
        stage=draft.stage,
        subject=draft.subject,
        actor=draft.actor,
        recorded_at=draft.recorded_at,
        operations=draft.operations,
        undoes=draft.undoes,
        redoes=draft.redoes,
        note=draft.note,
    )
    written = tuple(_operation_row(number, made.id, each) for number, each in enumerate(draft.operations, operations + 1))
    judged = tuple(_candidate_rows(made.id, draft, candidates)) if draft.span else ()
    covers = ((draft.span.thread, draft.span.start),) if draft.span else ()
    return DraftRows(
        made=made,
        row=PassRow(
            head=replace(made, operations=()),
            hash=hash_pass(last.hash if last else "", made, commitments(written, judged), covers),
            covers=covers,
        ),
        operations=written,
        candidates=judged,
    )


def _operation_row(number: int, made: int, operation: Operation) -> OperationRow:
    parts = seal(dump_member(operation), secrets.token_hex(8))
    spoken = parts.words != ERASED
    return OperationRow(
        id=number,
        pass_id=made,
        memory=operation.memory,
        kind=type(operation).__name__.lower(),
        body=parts.body,
        commitment=parts.commitment,
        salt=parts.salt if spoken else None,
        words=parts.words if spoken else None,
    )


def _candidate_rows(made: int, draft: Draft, before: int) -> Iterator[CandidateRow]:
    assert draft.span is not None
    for row, (ordinal, judged) in enumerate(draft.span.judged, before + 1):
        parts, candidate = seal(judged_body(judged), secrets.token_hex(8)), judged.candidate
        yield CandidateRow(
            row=row,
            pass_id=made,
            thread=draft.span.thread,
            ordinal=ordinal,
            id=candidate.id,
            profile=candidate.profile,
            scope=candidate.scope,
            verdict=verdict_slug(judged.verdict),
            body=parts.body,
            commitment=parts.commitment,
            salt=parts.salt,
            words=parts.words,
        )


def commitments(operations: Iterable[OperationRow], candidates: Iterable[CandidateRow]) -> list[str]:
    """The parts of a pass's rows that its hash covers: commitments and bodies."""
    return [f"{row.commitment}{row.body}" for rows in (operations, candidates) for row in rows]


def operation_of(row: OperationRow) -> Operation:
    """The operation in a row. Erased words are empty. Raises DamagedError."""
    try:
        return read_operation(unseal(row.body, row.words))
    except UNREADABLE as error:
        raise DamagedError(f"operation {row.id} cannot be read", hint="run `kept check`") from error


def proposal_of(row: CandidateRow) -> Proposal:
    """The proposal in a row."""
    return Proposal(judged=_read_judged(row.body, row.words), pass_id=row.pass_id, thread=row.thread, ordinal=row.ordinal)


@lru_cache(maxsize=20_000)  # the web page counts held candidates after every change, and reads the same rows each time
def _read_judged(body: str, words: str | None) -> CandidateVerdict:
    return read_judged(unseal(body, words))


def candidates_of(row: OperationRow) -> tuple[str, ...]:
    """The candidates that an operation names: those of its memory or, for a Forget, the erased ones."""
    body = json.loads(row.body)
    return tuple((body.get("value") or body.get("facts") or body).get("candidates", ()))


def apply_pass(made: Pass, find: Callable[[str], Memory | None]) -> dict[str, Memory]:
    """The memories that a pass changes, by id, in their new form. ``find`` returns a memory as it was before the pass.

    Raises StoreError if the pass names a memory that does not exist, or would make memories supersede each other in a cycle.
    """
    after: dict[str, Memory] = {}

    def look(number: str) -> Memory | None:
        return after[number] if number in after else find(number)

    for operation in made.operations:
        if isinstance(operation, Reword):
            continue
        named = affected_memory_ids(operation)
        if operation.memory in (*getattr(operation, "losers", ()), getattr(operation, "by", "")):
            raise StoreError(f"a memory cannot supersede itself: {operation.memory}", hint=NOTHING_CHANGED)
        changed = apply_operation({item: memory for item in named if (memory := look(item)) is not None}, operation, made.actor)
        if not changed:
            raise StoreError(f"an operation names a memory that does not exist: {operation.memory}", hint=NOTHING_CHANGED)
        after.update(changed)
    for memory in after.values():  # checked last, because a pass may swap which memory superseded the other
        _check_order(memory, look)
    return after


def _check_order(memory: Memory, look: Callable[[str], Memory | None]) -> None:
    seen, each = {memory.id}, memory
    while each.status is Status.SUPERSEDED and each.superseded_by:
        found = look(each.superseded_by)
        if found is None:
            return
        if found.id in seen:
            raise StoreError(f"memories would supersede each other: {', '.join(sorted(seen))}", hint=NOTHING_CHANGED)
        seen.add(found.id)
        each = found


def attach_operations(heads: Iterable[Pass], rows: Iterable[OperationRow]) -> Iterator[Pass]:
    """Join passes with their operations. Both must be in order."""
    groups = groupby(rows, key=lambda each: each.pass_id)
    number, group = next(groups, (0, iter(())))
    for head in heads:
        operations: tuple[Operation, ...] = ()
        if number == head.id:
            operations = tuple(operation_of(row) for row in group)
            number, group = next(groups, (0, iter(())))
        yield replace(head, operations=operations) if operations else head


def named_fields(value: Any, *names: str) -> dict[str, Any]:
    """The named fields of a value as parameters of a statement."""
    return {name: getattr(value, name) for name in names}


def pass_values(row: PassRow) -> dict[str, Any]:
    """The parameters with which a pass is written."""
    head = row.head
    return json_fields(head, "id", "run", "stage", "subject", "note", "actor", "recorded_at") | {
        "undoes": to_canonical_json(list(head.undoes)),
        "redoes": to_canonical_json(list(head.redoes)),
        "hash": row.hash,
    }


def read_row(kind: Callable[..., T], row: Any, **others: Any) -> T:
    """A value of a dataclass from a row whose columns have the names of its fields. Values of several parts are stored as JSON.

    ``others`` are fields that do not come from the row. Raises one of UNREADABLE.
    """
    plain, readers = _split_columns(kind, tuple(row.keys()))
    values = {name: row[name] for name in plain}
    for name, read in readers:
        values[name] = read(row[name])
    return kind(**values | others)


@cache
def _split_columns(kind: Any, columns: tuple[str, ...]) -> tuple[Sequence[str], Sequence[tuple[str, Callable[[Any], Any]]]]:
    """The columns that are fields of a dataclass: those taken as they are, and the others with their readers."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in columns}

    def make_reader(hint: Any) -> Callable[[Any], Any]:
        if get_origin(hint) in (tuple, Mapping) or is_dataclass(hint):
            return lambda text: load(hint, json.loads(text or "{}"))
        return partial(load, hint)

    plain = [name for name, hint in hints.items() if hint in (str, int)]
    return plain, [(name, make_reader(hint)) for name, hint in hints.items() if name not in plain]


def pass_from_row(row: Any) -> PassRow:
    """The pass in a row of the store."""
    return read_row(PassRow, row, head=read_row(Pass, row, operations=()))
