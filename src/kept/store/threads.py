"""The events of a conversation as runs of numbers; its tree, and the branches that the user abandoned by a rewind.

The tree is built only from the links and the order of records, without texts or formats.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from kept.core.value import dataclass, field

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
    for run in runs:
        first, abandoned = run["event"], run["abandoned"]
        yield from zip(range(first, first + run["events"]), repeat(abandoned))


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


def find_abandoned(tree: Tree) -> bytearray:
    """For each event, 1 if a rewind of the user replaced it, else 0.

    If a human prompt has an older sibling, that sibling and all its descendants were replaced, unless their branch continued after
    the prompt. The sibling may be another prompt, or an answer outside the parent's own message. Parallel tool calls and
    their outputs are always siblings, and replace nothing. Terminates on cycles. An unknown parent is treated like any other.
    """
    first: dict[int, int] = {}  # the first event of each record
    children: dict[int, list[int]] = defaultdict(list)  # in the order of the file
    prompts: set[int] = set()
    for order, record in enumerate(tree.record):
        if tree.human[order]:
            prompts.add(record)
        if record and first.setdefault(record, order) == order and tree.parent[order]:
            children[tree.parent[order]].append(record)
    last, replaced = _find_branch_ends(tree, first), list[int]()
    for parent, records in children.items():
        newest = max((first[record] for record in records if record in prompts), default=0)
        turn = tree.turn[first[parent]] if parent in first else 0
        older = (record for record in records if first[record] < newest and last[record] < newest)
        replaced += (record for record in older if not _is_parallel(tree, first[record], turn))
    abandoned: set[int] = set()
    while replaced:
        if (record := replaced.pop()) not in abandoned:
            abandoned.add(record)
            replaced += children.get(record, ())
    return bytearray(record in abandoned for record in tree.record)


def _find_branch_ends(tree: Tree, first: Mapping[int, int]) -> Mapping[int, int]:
    """For each record, the last event of it and its descendants."""
    last: dict[int, int] = {}
    for order in range(len(tree.record) - 1, -1, -1):
        record = tree.record[order]
        while record and record not in last:  # what a later event has reached ends later
            last[record] = order
            record = tree.parent[first[record]] if record in first else 0
    return last


def _is_parallel(tree: Tree, order: int, turn: int) -> bool:
    """True if an event is an output of a tool, or a piece of the assistant message ``turn``."""
    return bool(tree.output[order] or (turn and tree.turn[order] == turn))


def has_siblings(links: Callable[[], Iterable[tuple[Sequence[str], Sequence[str], Iterable[str]]]]) -> bool:
    """True if a prompt of the user shares its parent with another record. Otherwise no event was replaced. ``links`` returns for
    the events of each block their records, the parents of these records, and the parents of those that are prompts.
    """
    prompts = {parent for _, _, asked in links() for parent in asked if parent}
    pairs = {pair for records, parents, _ in links() for pair in zip(parents, records, strict=True) if pair[0] in prompts}
    return len(pairs) > len({parent for parent, _ in pairs})
