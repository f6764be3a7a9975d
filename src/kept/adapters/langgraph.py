"""LangGraph: a long-term store whose values are kept's memories, with search by words and meaning, history, undo and forget.

A value is one memory of the project ``langgraph``, as JSON of at most 2,000 characters. Values that a graph writes count as an
agent's. The store returns them at once, but they are part of a context only after the person has approved them.
"""

import asyncio
import json
import operator
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.base import Item as StoreItem

from kept.api import Item, Memory

_CATEGORY = "project_fact"
_FIRST = 64  # results of the first search; each further search asks for four times as many
_MATCHES: Mapping[str, Callable[[tuple[str, ...], tuple[str, ...]], bool]] = {
    "prefix": lambda namespace, path: all(wanted in ("*", part) for wanted, part in zip(path, namespace, strict=False)),
    "suffix": lambda namespace, path: _MATCHES["prefix"](namespace[::-1], path[::-1]),
}
_EQUALITIES = {"$eq": operator.eq, "$ne": operator.ne}
_ORDERINGS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}  # for numbers


class KeptStore(BaseStore):
    """A store over a memory. Any thread and task may use it. ``author`` is the author of all values. If it is ``person``, values
    become active memories at once, so put only the person's own words into the store.
    """

    def __init__(self, memory: Memory, *, author: Literal["agent", "person"] = "agent") -> None:
        self._memory, self._agent = memory, author != "person"

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in order."""
        return [self._run(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in order, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _run(self, op: Op) -> Result:
        match op:
            case GetOp(namespace=namespace, key=key):
                stored = self._load_values().get((namespace, key))
                return StoreItem(**self._fields(*stored)) if stored else None
            case PutOp():
                self._put(op)
                return None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
        raise TypeError(f"not an operation of a store: {op!r}")

    def _load_values(self) -> dict[tuple[tuple[str, ...], str], tuple[Item, dict[str, Any]]]:
        """Load the values by namespace and key. If an agent changed an approved value, the held change takes precedence, because
        it is newer.
        """
        values: dict[tuple[tuple[str, ...], str], tuple[Item, dict[str, Any]]] = {}
        for status in ("held", "active"):
            for item in self._memory.list(status=status):
                if (body := _parse_value(item.text)) is not None:
                    values.setdefault((body["namespace"], body["key"]), (item, body))
        return values

    def _fields(self, item: Item, body: dict[str, Any]) -> dict[str, Any]:
        changed = self._memory.history(item.id)[-1].at
        return body | {"created_at": item.first_seen or changed, "updated_at": changed}

    def _put(self, op: PutOp) -> None:
        while (stored := self._load_values().get((op.namespace, op.key))) and op.value is None:
            self._memory.delete(stored[0].id, agent=self._agent)
        if op.value is None:
            return
        text = _format_value(op.namespace, op.key, op.value)
        if stored is None or (self._agent and stored[0].status == "active" and stored[0].text != text):
            self._memory.add(text, _CATEGORY, agent=self._agent)
        elif stored[0].text != text:
            self._memory.update(stored[0].id, text, agent=self._agent)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        depth = len(op.namespace_prefix)
        scores: dict[str, float] = {}
        within = [(item, body) for item, body in self._load_values().values() if body["namespace"][:depth] == op.namespace_prefix]
        stored = {item.id: (item, body) for item, body in within if _matches_filter(body["value"], op.filter or {})}
        wanted = op.offset + op.limit
        most = _FIRST
        while op.query:
            hits = self._memory.search(op.query, limit=most, waiting=True)
            scores = {hit.id: hit.score for hit in hits if hit.id in stored}
            if len(scores) >= wanted or len(hits) < most:
                break
            most *= 4
        order = [*scores, *(id_ for id_ in stored if id_ not in scores)]
        return [SearchItem(**self._fields(*stored[id_]), score=scores.get(id_)) for id_ in order[op.offset : wanted]]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = [(condition.path, _MATCHES[condition.match_type]) for condition in op.match_conditions or ()]
        namespaces = {
            namespace[: op.max_depth]
            for namespace, _ in self._load_values()
            if all(len(namespace) >= len(path) and matches(namespace, path) for path, matches in conditions)
        }
        return sorted(namespaces)[op.offset : op.offset + op.limit]


def _parse_value(text: str) -> dict[str, Any] | None:
    """Parse the value in a memory's text. None if the memory does not belong to a store."""
    try:
        body = json.loads(text)
        return {"namespace": tuple(body["namespace"]), "key": body["key"], "value": body["value"]}
    except (ValueError, TypeError, KeyError):
        return None


def _format_value(namespace: tuple[str, ...], key: str, value: dict[str, Any]) -> str:
    """Format a value as the text of a memory.

    Texts that differ only in case or punctuation would become one memory, so each contains a hash of namespace and key (``mark``).
    Characters that a memory's text would lose (repeated spaces, invisible characters) are escaped.
    """
    mark = int(sha256(json.dumps([namespace, key]).encode()).hexdigest()[:8], 16)
    text = json.dumps({"namespace": list(namespace), "key": key, "value": value, "mark": mark}, ensure_ascii=False)
    kept = (char if char.isprintable() and not unicodedata.combining(char) else json.dumps(char)[1:-1] for char in text)
    return "".join(kept).replace("  ", "\\u0020\\u0020")


def _matches_filter(value: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """True if a value's fields equal those of a filter, or match the filter's operators."""
    return all(_matches(value.get(name), condition) for name, condition in wanted.items())


def _matches(value: Any, wanted: Any) -> bool:
    if not (isinstance(wanted, dict) and any(name.startswith("$") for name in wanted)):
        return bool(value == wanted)
    return all(
        _EQUALITIES[name](value, other)
        if name in _EQUALITIES
        else value is not None and _ORDERINGS[name](float(value), float(other))
        for name, other in wanted.items()
    )
