"""Checks the rows of a store for damage. Works for every store, repairs nothing, and has no side effects."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from kept.core.event import FORGOTTEN_MARK, Event
from kept.core.memory import Memory
from kept.core.text import one_line
from kept.store.records import commitment_of, hash_pass
from kept.store.rows import UNREADABLE, candidates_of, commitments
from kept.store.values import CandidateRow, FingerprintRow, OperationRow, PassRow

IMPORTED = "imported"  # trigger of imported memories whose evidence is in another archive
_SPEAKING = frozenset({"add", "revise", "reaffirm", "merge", "anticipate"})


def check_log(
    passes: Iterable[PassRow],
    operations: Iterable[OperationRow],
    candidates: Iterable[CandidateRow],
    forgotten: Iterable[OperationRow],
) -> Iterator[str]:
    """A message for each contradiction between the log and its hashes or numbering.

    All rows come in the order of passes, then numbers. ``forgotten`` are all operations on forgotten memories; they show whose
    words may be missing. Only one pass at a time is in memory.
    """
    gone = tuple(forgotten)
    forgets = frozenset(row.memory for row in gone)
    explained = frozenset(item for row in gone for item in candidates_of(row))
    rows: Iterable[tuple[int, int, Any]] = merge(
        ((row.head.id, 0, row) for row in passes),
        ((row.pass_id, 1, row) for row in operations),
        ((row.pass_id, 2, row) for row in candidates),
        key=itemgetter(0, 1),
    )
    previous, expected, operation_number, candidate_number = "", 1, 1, 1
    for number, group in groupby(rows, key=itemgetter(0)):
        parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for _, kind, row in group:
            parts[kind].append(row)
        heads, done, told = parts
        yield from _check_numbering("pass", expected, number)
        expected = number + 1
        for operation in done:
            yield from _check_numbering("operation", operation_number, operation.id)
            operation_number = operation.id + 1
            yield from _check_operation(operation, forgets)
        for candidate in told:
            yield from _check_numbering("candidate", candidate_number, candidate.row)
            candidate_number = candidate.row + 1
            if candidate.words is None and candidate.id not in explained:
                yield f"candidate {candidate.id}: its words are missing, although they were not forgotten"
            yield from _check_words(f"candidate {candidate.id}", candidate)
        if not heads:
            yield f"pass {number}: missing from the log, but some of its rows are there"
            continue
        if hash_pass(previous, heads[0].head, commitments(done, told), heads[0].covers) != heads[0].hash:
            yield f"pass {number}: its content does not match the hash chain"
        previous = heads[0].hash


def _check_numbering(what: str, expected: int, found: int) -> Iterator[str]:
    if found > expected:
        last = "" if found == expected + 1 else f" to {found - 1}"
        yield f"{what} {expected}{last}: missing from the log"


def _check_operation(row: OperationRow, forgets: frozenset[str]) -> Iterator[str]:
    name = f"operation {row.id} of pass {row.pass_id}"
    if row.words is None and row.kind in _SPEAKING and row.memory not in forgets:
        yield f"{name}: its words are missing, although they were not forgotten"
    yield from _check_words(name, row)
    try:
        body = json.loads(row.body)
        if (body["memory"], body["is"]) != (row.memory, row.kind):
            yield f"{name}: its columns differ from its body"
    except UNREADABLE:
        yield f"{name}: it cannot be read"


def _check_words(name: str, row: OperationRow | CandidateRow) -> Iterator[str]:
    if row.words is not None and commitment_of(row.words, row.salt or "") != row.commitment:
        yield f"{name}: its words do not match their commitment"


def fingerprints_of(forgets: Iterable[OperationRow]) -> dict[str, int]:
    """The fingerprints of forgotten statements, each with the first pass that names it. ``forgets`` are all Forgets, in order."""
    found: dict[str, int] = {}
    for row in forgets:
        for item in json.loads(row.body)["fingerprints"]:
            found.setdefault(item, row.pass_id)
    return found


def check_fingerprints(forgets: Iterable[OperationRow], rows: Iterable[FingerprintRow]) -> Iterator[str]:
    """A message for each difference between the stored fingerprints and those in the log."""
    expected, found = fingerprints_of(forgets), {row.fingerprint: row.pass_id for row in rows}
    for key in sorted(expected.keys() | found.keys()):
        if key not in found:
            yield f"pass {expected[key]}: the forgotten words may come back, because a fingerprint is missing"
        elif expected.get(key) != found[key]:
            yield f"a fingerprint of forgotten words (pass {found[key]}) is not the log's"


def check_memories(derived: Mapping[str, Memory], stored: Mapping[str, Memory], unreadable: Collection[str] = ()) -> Iterator[str]:
    """A message for each difference between the memories derived from the log and the stored ones. Skips ``unreadable`` memories,
    which are ids of stored memories that cannot be read.
    """
    for number in sorted((derived.keys() | stored.keys()).difference(unreadable)):
        if number not in stored:
            yield f"memory {number}: in the log, but not among the memories"
        elif number not in derived:
            yield f"memory {number}: among the memories, but not in the log"
        elif derived[number] != stored[number]:
            yield f"memory {number}: differs from the result of the log"


def citations(memories: Iterable[Memory], imported: frozenset[str]) -> dict[str, list[tuple[str, str]]]:
    """The citations of memories as pairs (memory id, quote), by event key. Skips ``imported`` ones, which cite other archives."""
    found: dict[str, list[tuple[str, str]]] = {}
    for memory in memories:
        if memory.id not in imported:
            for item in memory.evidence:
                if item.event:
                    found.setdefault(item.event, []).append((memory.id, item.quote))
    return found


def check_quotes(key: str, event: Event | None, cited: Sequence[tuple[str, str]]) -> Iterator[str]:
    """A message for each memory that quotes words which the event does not contain. None if words of the event were erased."""
    if event is None:
        yield from (f"memory {number}: cites event {key}, which is not in the archive" for number, _ in dict(cited).items())
        return
    tool = (event.tool.target, event.tool.detail) if event.tool else ()
    said = one_line("\n".join((event.text, *tool)))
    if FORGOTTEN_MARK not in said:
        yield from (
            f"memory {number}: its words are not those of event {key}" for number, quote in cited if one_line(quote) not in said
        )
