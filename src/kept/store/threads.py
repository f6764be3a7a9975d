"""The events of a conversation as runs of numbers; its tree, and the branches that the user abandoned by a rewind.

The tree is built only from the links and the order of records, without texts or formats. It is stored in arrays of numbers, so a
conversation of a million events takes tens of megabytes.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from kept.core.value import dataclass, field

_NONE = -1
_RUN = 512  # a run of events ends before each multiple of this number; the queries know it


def pack_runs(thread: int, ordinal: int, members: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
    """The runs of a thread's events from an ordinal on. ``members`` are the events' numbers, each with 1 if it is abandoned."""
    runs: list[dict[str, int]] = []
    for place, (event, abandoned) in enumerate(members, ordinal):
        run = runs[-1] if runs else {}
        if run and event % _RUN and event == run["event"] + run["events"] and abandoned == run["abandoned"]:
            run["events"] += 1
        else:
            runs.append({"thread": thread, "ordinal": place, "event": event, "abandoned": abandoned, "events": 1})
    return runs


def unpack_runs(runs: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """The numbers of the events in runs, each with 1 if it is abandoned."""
    return ((event, run["abandoned"]) for run in runs for event in range(run["event"], run["event"] + run["events"]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """The events of a thread, in order, as nodes of a tree. Each field is one array.

    ``record`` and ``parent`` are hashes of native record ids, which differ between processes; 0 means none. The events of one
    record share them. ``turn`` groups the pieces of one assistant message; elsewhere it is 0. ``human`` is 1 for prompts of the
    user, ``output`` is 1 for outputs of tools.
    """

    record: "array[int]" = field(default_factory=lambda: array("q"))
    parent: "array[int]" = field(default_factory=lambda: array("q"))
    turn: "array[int]" = field(default_factory=lambda: array("q"))
    human: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)

    def append(self, record: str, parent: str, turn: str, *, human: bool, output: bool) -> None:
        """Append the next event, given the ids of its native records."""
        self.record.append(hash(record))
        self.parent.append(hash(parent))
        self.turn.append(hash(turn))
        self.human.append(human)
        self.output.append(output)


@dataclass(frozen=True, kw_only=True, slots=True)
class _RecordTree:
    """The tree of records. For each record it has: first and last event, parent, first child, next sibling, and 1 if it has a
    prompt.

    ``by_event`` maps each event to its record. A record that is only named as a parent has no events. Siblings are in file order.
    """

    by_event: "array[int]"
    first: "array[int]"
    last: "array[int]"
    parent: "array[int]"
    child: "array[int]"
    sibling: "array[int]"
    human: bytearray

    def children(self, record: int) -> Iterator[int]:
        child = self.child[record]
        while child != _NONE:
            yield child
            child = self.sibling[child]


def find_abandoned(tree: Tree) -> bytearray:
    """For each event, 1 if a rewind of the user replaced it, else 0.

    If a human prompt has an older sibling, that sibling and all its descendants were replaced, unless their branch continued after
    the prompt. The sibling may be another prompt, or an answer outside the parent's own message. Parallel tool calls and
    their outputs are always siblings, and replace nothing. Terminates on cycles. An unknown parent is treated like any other.
    """
    records = _build_record_tree(tree)
    last = _last_orders(records)
    ancestors = _mark_ancestors(records)
    replaced = [
        record
        for parent, child in enumerate(records.child)
        if child != _NONE and records.sibling[child] != _NONE
        for record in _replaced_records(tree, records, parent, last)
        if not ancestors[record]
    ]
    abandoned = _mark_descendants(replaced, records)
    return bytearray(record != _NONE and abandoned[record] for record in records.by_event)


def has_siblings(links: Callable[[], Iterable[tuple[str, str, bool]]]) -> bool:
    """True if a prompt of the user shares its parent with another record. Otherwise no event was replaced. ``links`` returns for
    each event its record, its parent, and whether it is a prompt.
    """
    prompts = {parent for _, parent, human in links() if human and parent}
    first: dict[str, str] = {}
    return bool(prompts) and any(first.setdefault(parent, record) != record for record, parent, _ in links() if parent in prompts)


def _build_record_tree(tree: Tree) -> _RecordTree:
    known = _sort_unique(tree.record)
    dangling = _sort_unique(item for item in tree.parent if item and _index_of(known, item) == _NONE)
    ids = array("q", sorted((*known, *dangling))) if dangling else known
    blank = array("q", [_NONE]) * len(ids)
    records = _RecordTree(
        by_event=array("q", (_index_of(ids, item) if item else _NONE for item in tree.record)),
        first=blank[:],
        last=blank[:],
        parent=blank[:],
        child=blank[:],
        sibling=blank[:],
        human=bytearray(len(ids)),
    )
    last_child = blank
    for order, record in enumerate(records.by_event):
        if record == _NONE:
            continue
        records.last[record] = order
        records.human[record] |= tree.human[order]
        if records.first[record] != _NONE:
            continue
        records.first[record] = order
        if tree.parent[order]:
            parent = records.parent[record] = _index_of(ids, tree.parent[order])
            if last_child[parent] == _NONE:
                records.child[parent] = record
            else:
                records.sibling[last_child[parent]] = record
            last_child[parent] = record
    return records


def _sort_unique(ids: Iterable[int]) -> "array[int]":
    return array("q", (item for item, _ in groupby(sorted(ids)) if item))


def _index_of(ids: Sequence[int], wanted: int) -> int:
    found = bisect_left(ids, wanted)
    return found if found < len(ids) and ids[found] == wanted else _NONE


def _mark_ancestors(records: _RecordTree) -> bytearray:
    """For each record, 1 if the newest event descends from it. Such a record is never abandoned, even if the links form a cycle."""
    ancestors = bytearray(len(records.parent))
    record = records.by_event[-1] if records.by_event else _NONE
    while record != _NONE and not ancestors[record]:
        ancestors[record] = 1
        record = records.parent[record]
    return ancestors


def _replaced_records(tree: Tree, records: _RecordTree, parent: int, last: Sequence[int]) -> Iterator[int]:
    """Yield the children of a record that precede its newest prompt and did not continue after it. Parallel pieces are left out."""
    newest = max((records.first[child] for child in records.children(parent) if records.human[child]), default=_NONE)
    origin = records.first[parent]
    turn = tree.turn[origin] if origin != _NONE else 0
    for child in records.children(parent):
        order = records.first[child]
        parallel = tree.output[order] or (tree.turn[order] and tree.turn[order] == turn)
        if order < newest and last[child] < newest and not parallel:
            yield child


def _last_orders(records: _RecordTree) -> "array[int]":
    """For each record, the last event of itself and its descendants. Each record is visited once, so cycles terminate."""
    last = records.last[:]
    seen = bytearray(len(last))
    path, visited = array("q"), array("q")
    for root in records.by_event:
        if root == _NONE or seen[root]:
            continue
        path.append(root)
        del visited[:]
        while path:
            record = path.pop()
            if seen[record]:
                continue
            seen[record] = 1
            for child in records.children(record):
                visited.append(child)
                path.append(child)
        for child in reversed(visited):
            parent = records.parent[child]
            last[parent] = max(last[parent], last[child])
    return last


def _mark_descendants(roots: Iterable[int], records: _RecordTree) -> bytearray:
    seen = bytearray(len(records.parent))
    path = array("q", roots)
    while path:
        record = path.pop()
        if not seen[record]:
            seen[record] = 1
            path.extend(records.children(record))
    return seen
