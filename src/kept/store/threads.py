"""The tree of a conversation: which branches were given up when the user went back and wrote something else.

Knows records by their links and order only, no text and no format. Held in arrays of numbers: a conversation of a million events
takes some tens of megabytes.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from kept.core.value import dataclass, field

_NONE = -1


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """The events of a thread in its order, as points of a tree.

    ``record`` and ``parent`` are links to native records (hashes of their ids, each process has its own; 0: none); the events of
    one record share them. ``turn`` groups the pieces of one assistant message, 0 elsewhere. ``human`` tells the prompts of the
    user, ``output`` the outputs of tools.
    """

    record: "array[int]" = field(default_factory=lambda: array("q"))
    parent: "array[int]" = field(default_factory=lambda: array("q"))
    turn: "array[int]" = field(default_factory=lambda: array("q"))
    human: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)

    def append(self, record: str, parent: str, turn: str, *, human: bool, output: bool) -> None:
        """Append the next event, by the ids of its native records."""
        self.record.append(hash(record))
        self.parent.append(hash(parent))
        self.turn.append(hash(turn))
        self.human.append(human)
        self.output.append(output)


@dataclass(frozen=True, kw_only=True, slots=True)
class _RecordTree:
    """The records by number: who hangs on whom, where each first and last stands in the file, and which hold a prompt of the user.

    ``of`` gives the record of each event. A record that others only point at has no place of its own. Children are chained in the
    order of the file.
    """

    of: "array[int]"
    first: "array[int]"
    last: "array[int]"
    parent: "array[int]"
    child: "array[int]"
    sibling: "array[int]"
    human: bytearray

    def children(self, record: int) -> Iterator[int]:
        each = self.child[record]
        while each != _NONE:
            yield each
            each = self.sibling[each]


def find_abandoned(tree: Tree) -> bytearray:
    """For each event 1 where the user went back behind it, else 0.

    Where a human prompt has an older sibling (another prompt, or an answer that is not part of the parent's own message), the
    older one and all that hangs on it was replaced, unless its branch went on after the prompt. Parallel tool calls and their
    outputs are siblings by nature and replace nothing. Ends on cycles; a dangling parent is an ordinary parent nobody knows.
    """
    family = _build_record_tree(tree)
    last = _last_orders(family)
    standing = _ancestors(family)
    replaced = [
        older
        for parent, eldest in enumerate(family.child)
        if eldest != _NONE and family.sibling[eldest] != _NONE
        for older in _replaced_records(tree, family, parent, last)
        if not standing[older]
    ]
    gone = _mark_descendants(replaced, family)
    return bytearray(record != _NONE and gone[record] for record in family.of)


def has_siblings(tree: Tree) -> bool:
    """Whether a prompt of the user hangs on what something else hangs on too: without, nothing was replaced."""
    prompts = {parent for parent, human in zip(tree.parent, tree.human, strict=True) if human and parent}
    first: dict[int, int] = {}
    links = zip(tree.parent, tree.record, strict=True)
    return any(first.setdefault(parent, record) != record for parent, record in links if parent in prompts)


def _build_record_tree(tree: Tree) -> _RecordTree:
    known = _sort_unique(tree.record)
    dangling = _sort_unique(item for item in tree.parent if item and _index_of(known, item) == _NONE)
    links = array("q", sorted((*known, *dangling))) if dangling else known
    blank = array("q", [_NONE]) * len(links)
    family = _RecordTree(
        of=array("q", (_index_of(links, item) if item else _NONE for item in tree.record)),
        first=blank[:],
        last=blank[:],
        parent=blank[:],
        child=blank[:],
        sibling=blank[:],
        human=bytearray(len(links)),
    )
    youngest = blank
    for order, record in enumerate(family.of):
        if record == _NONE:
            continue
        family.last[record] = order
        family.human[record] |= tree.human[order]
        if family.first[record] != _NONE:
            continue
        family.first[record] = order
        if tree.parent[order]:
            parent = family.parent[record] = _index_of(links, tree.parent[order])
            if youngest[parent] == _NONE:
                family.child[parent] = record
            else:
                family.sibling[youngest[parent]] = record
            youngest[parent] = record
    return family


def _sort_unique(links: Iterable[int]) -> "array[int]":
    return array("q", (each for each, _ in groupby(sorted(links)) if each))


def _index_of(links: Sequence[int], wanted: int) -> int:
    found = bisect_left(links, wanted)
    return found if found < len(links) and links[found] == wanted else _NONE


def _ancestors(family: _RecordTree) -> bytearray:
    """Which records the newest event hangs on: it stands, so they do, whatever a cycle of links says."""
    line = bytearray(len(family.parent))
    record = family.of[-1] if family.of else _NONE
    while record != _NONE and not line[record]:
        line[record] = 1
        record = family.parent[record]
    return line


def _replaced_records(tree: Tree, family: _RecordTree, parent: int, last: Sequence[int]) -> Iterator[int]:
    prompts = [family.first[child] for child in family.children(parent) if family.human[child]]
    if not prompts:
        return
    newest = max(prompts)
    origin = family.first[parent]
    turn = tree.turn[origin] if origin != _NONE else 0
    for item in family.children(parent):
        order = family.first[item]
        parallel = tree.output[order] or (tree.turn[order] and tree.turn[order] == turn)
        if order < newest and last[item] < newest and not parallel:
            yield item


def _last_orders(family: _RecordTree) -> "array[int]":
    """For every record the greatest order of itself and what hangs on it; each is visited once, so cycles end."""
    last = family.last[:]
    seen = bytearray(len(last))
    path, visited = array("q"), array("q")
    for root in family.of:
        if root == _NONE or seen[root]:
            continue
        path.append(root)
        del visited[:]
        while path:
            record = path.pop()
            if seen[record]:
                continue
            seen[record] = 1
            for child in family.children(record):
                visited.append(child)
                path.append(child)
        for child in reversed(visited):
            parent = family.parent[child]
            last[parent] = max(last[parent], last[child])
    return last


def _mark_descendants(roots: Iterable[int], family: _RecordTree) -> bytearray:
    seen = bytearray(len(family.parent))
    path = array("q", roots)
    while path:
        record = path.pop()
        if not seen[record]:
            seen[record] = 1
            path.extend(family.children(record))
    return seen
