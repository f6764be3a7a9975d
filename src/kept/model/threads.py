"""The tree of a conversation: which branches were given up when the user went back and wrote something else.

Knows records by their links and order only, no text and no format.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One event as a point of the tree.

    ``record`` and ``parent`` are native record ids (empty: none); the events of one record share them. ``order`` is the place in
    the file. ``human`` says that it is a prompt of the user, ``output`` that it is a tool's output; ``turn`` groups the pieces
    of one assistant message, empty elsewhere.
    """

    key: str
    record: str
    parent: str
    order: int
    human: bool = False
    output: bool = False
    turn: str = ""


def abandoned(nodes: Sequence[Node]) -> frozenset[str]:
    """The keys of the events that the user went back behind.

    Where a human prompt has an older sibling (another prompt, or an answer that is not part of the parent's own message), the
    older one and all that hangs on it was replaced, unless its branch went on after the prompt. Parallel tool calls and their
    outputs are siblings by nature and replace nothing. Ends on cycles; a dangling parent is an ordinary parent nobody knows.
    """
    records: dict[str, list[Node]] = {}
    for node in nodes:
        if node.record:
            records.setdefault(node.record, []).append(node)
    children: dict[str, list[str]] = {}
    for record, events in records.items():
        if events[0].parent:
            children.setdefault(events[0].parent, []).append(record)
    last = _last_orders(records, children)
    turn_of = {record: events[0].turn for record, events in records.items()}
    standing = _line(nodes)
    replaced = [
        older
        for parent, siblings in children.items()
        for older in _replaced(parent, siblings, records, last, turn_of)
        if older not in standing
    ]
    return frozenset(node.key for record in _reach(replaced, children) for node in records[record])


def _line(nodes: Sequence[Node]) -> frozenset[str]:
    """The records the newest event hangs on: it stands, so they do, whatever a cycle of links says."""
    parents: dict[str, str] = {}
    for node in nodes:
        parents.setdefault(node.record, node.parent)
    line: set[str] = set()
    record = max(nodes, key=lambda node: node.order).record if nodes else ""
    while record and record not in line:
        line.add(record)
        record = parents.get(record, "")
    return frozenset(line)


def _replaced(
    parent: str,
    siblings: Sequence[str],
    records: Mapping[str, Sequence[Node]],
    last: Mapping[str, int],
    turn_of: Mapping[str, str],
) -> Iterable[str]:
    prompts = [records[record][0].order for record in siblings if any(node.human for node in records[record])]
    if not prompts or len(siblings) == 1:
        return
    newest = max(prompts)
    for record in siblings:
        node = records[record][0]
        parallel = node.output or (node.turn and node.turn == turn_of.get(parent, ""))
        if node.order < newest and last[record] < newest and not parallel:
            yield record


def _last_orders(records: Mapping[str, Sequence[Node]], children: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """For every record the greatest order of itself and what hangs on it; each is visited once, so cycles end."""
    last = {record: max(node.order for node in events) for record, events in records.items()}
    seen: set[str] = set()
    for root in records:
        path = [root] if root not in seen else []
        visited: list[tuple[str, str]] = []
        while path:
            record = path.pop()
            if record in seen:
                continue
            seen.add(record)
            for child in children.get(record, ()):
                visited.append((record, child))
                path.append(child)
        for record, child in reversed(visited):
            last[record] = max(last[record], last[child])
    return last


def _reach(roots: Iterable[str], children: Mapping[str, Sequence[str]]) -> set[str]:
    seen: set[str] = set()
    path = list(roots)
    while path:
        record = path.pop()
        if record not in seen:
            seen.add(record)
            path.extend(children.get(record, ()))
    return seen
