"""The tree of a conversation, and the branches that the user abandoned by a rewind.

Uses only the links and order of records, no text and no format. The tree is stored in arrays of numbers, so a conversation of a
million events takes some tens of megabytes.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from kept.core.value import dataclass, field

_NONE = -1


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """The events of a thread, in order, as nodes of a tree; one array per field.

    ``record`` and ``parent`` are hashes of native record ids (different in each process; 0: none); the events of one record share
    them. ``turn`` groups the pieces of one assistant message and is 0 elsewhere. ``human`` is 1 for prompts of the user, ``output``
    for outputs of tools.
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
    """The tree of records, by number: first and last event of each, parent, first child, next sibling, and 1 if it holds a prompt.

    ``of`` maps each event to its record. A record that is only referenced as a parent has no events. Siblings are in file order.
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
    """For each event 1 if a rewind of the user replaced it, else 0.

    If a human prompt has an older sibling (another prompt, or an answer that is not part of the parent's own message), the older
    one and all its descendants were replaced, unless that branch continued after the prompt. Parallel tool calls and their outputs
    are always siblings and replace nothing. Terminates on cycles; an unknown parent is treated like any other.
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


def has_siblings(links: Callable[[], Iterable[tuple[str, str, bool]]]) -> bool:
    """True if a prompt of the user shares its parent with another record; otherwise nothing was replaced. ``links`` returns the
    record, the parent and "is a prompt" of each event.
    """
    prompts = {parent for _, parent, human in links() if human and parent}
    first: dict[str, str] = {}
    return bool(prompts) and any(first.setdefault(parent, record) != record for record, parent, _ in links() if parent in prompts)


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
    """The records that the newest event descends from. They are never abandoned, even if the links form a cycle."""
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
    """For each record the last event of itself and its descendants. Each record is visited once, so cycles terminate."""
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
