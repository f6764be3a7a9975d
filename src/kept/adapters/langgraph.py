"""LangGraph: a long-term store whose values are memories of kept's: searched by words and meaning, with history, undone, forgotten.

A value is one memory of the project ``langgraph``, as JSON of at most 2,000 characters. What a graph writes is an agent's: the
store gives it back at once, but it waits for the person's approval before any context holds it.
"""

import asyncio
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Literal

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.base import Item as StoreItem

from kept.api import Item, Memory

_CATEGORY = "project_fact"
_FIRST = 64  # results that are looked at first; four times as many each time they are not enough
_MATCHES: Mapping[str, Callable[[tuple[str, ...], tuple[str, ...]], bool]] = {
    "prefix": lambda namespace, path: all(each in ("*", part) for each, part in zip(path, namespace, strict=False)),
    "suffix": lambda namespace, path: all(
        each in ("*", part) for each, part in zip(reversed(path), reversed(namespace), strict=False)
    ),
}


class KeptStore(BaseStore):
    """A store over a memory. Any thread and task may use it. ``author`` says whose words are put into it: ``person`` where nothing
    but the person's own words is, which then are memories at once.
    """

    def __init__(self, memory: Memory, *, author: Literal["agent", "person"] = "agent") -> None:
        self._memory, self._agent = memory, author != "person"

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations in their order."""
        return [self._do(item) for item in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations in their order, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        match op:
            case GetOp(namespace=namespace, key=key):
                return next((self._item(*pair) for pair in self._stored() if _place(pair[1]) == (namespace, key)), None)
            case PutOp():
                self._put(op)
                return None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
        raise TypeError(f"no operation of a store: {op!r}")

    def _stored(self) -> Iterator[tuple[Item, dict[str, Any]]]:
        """The values; of one place what an agent changed since the person approved it, for that is what the agent put last."""
        seen: set[tuple[tuple[str, ...], str]] = set()
        for status in ("held", "active"):
            for item in self._memory.list(status=status):
                if (body := self._value(item.text)) is not None and _place(body) not in seen:
                    seen.add(_place(body))
                    yield item, body

    def _item(self, item: Item, body: dict[str, Any]) -> StoreItem:
        changed = self._memory.history(item.id)[-1].at
        return StoreItem(**body, created_at=item.first_seen or changed, updated_at=changed)

    def _value(self, text: str) -> dict[str, Any] | None:
        """What a memory holds of a store; None where it is another's."""
        try:
            body = json.loads(text)
            return {"namespace": tuple(body["namespace"]), "key": body["key"], "value": body["value"]}
        except (ValueError, TypeError, KeyError):
            return None

    def _put(self, op: PutOp) -> None:
        before = next((item for item, body in self._stored() if _place(body) == (op.namespace, op.key)), None)
        if op.value is None:
            while before is not None:
                self._memory.delete(before.id, agent=self._agent)
                before = next((item for item, body in self._stored() if _place(body) == (op.namespace, op.key)), None)
            return
        text = _text_of(op.namespace, op.key, op.value)
        if before is None or (self._agent and before.status == "active" and before.text != text):
            self._memory.add(text, _CATEGORY, agent=self._agent)
        elif before.text != text:
            self._memory.update(before.id, text, agent=self._agent)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        depth = len(op.namespace_prefix)
        scores: dict[str, float] = {}
        stored = {item.id: (item, body) for item, body in self._stored() if body["namespace"][:depth] == op.namespace_prefix}
        stored = {number: pair for number, pair in stored.items() if _fits(pair[1]["value"], op.filter or {})}
        wanted = op.offset + op.limit
        if op.query:
            most = _FIRST
            while True:
                hits = self._memory.search(op.query, limit=most, waiting=True)
                scores = {hit.id: hit.score for hit in hits if hit.id in stored}
                if len(scores) >= wanted or len(hits) < most:
                    break
                most *= 4
        order = [*scores, *(number for number in stored if number not in scores)]
        found = [(self._item(*stored[number]), scores.get(number)) for number in order[op.offset : wanted]]
        return [
            SearchItem(
                namespace=each.namespace,
                key=each.key,
                value=each.value,
                created_at=each.created_at,
                updated_at=each.updated_at,
                score=score,
            )
            for each, score in found
        ]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {body["namespace"] for _, body in self._stored()}
        for item in op.match_conditions or ():
            found = {
                namespace
                for namespace in found
                if len(namespace) >= len(item.path) and _MATCHES[item.match_type](namespace, item.path)
            }
        short = {namespace[: op.max_depth] for namespace in found}
        return sorted(short)[op.offset : op.offset + op.limit]


def _place(body: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    return body["namespace"], body["key"]


def _text_of(namespace: tuple[str, ...], key: str, value: dict[str, Any]) -> str:
    """A value as the text of a memory. The mark keeps keys apart that differ in case or signs alone, for memories do not; what a
    memory's text would lose (spaces in a row, signs that do not show) is escaped.
    """
    mark = int(sha256(json.dumps([namespace, key]).encode()).hexdigest()[:8], 16)
    text = json.dumps({"namespace": list(namespace), "key": key, "value": value, "mark": mark}, ensure_ascii=False)
    shown = (item if item.isprintable() and not unicodedata.combining(item) else json.dumps(item)[1:-1] for item in text)
    return "".join(shown).replace("  ", "\\u0020\\u0020")


def _fits(value: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a value has the fields that a filter wants: equal, or as its operators say."""
    return all(_compares(value.get(name), each) for name, each in wanted.items())


def _compares(value: Any, wanted: Any) -> bool:
    if not (isinstance(wanted, dict) and any(name.startswith("$") for name in wanted)):
        return bool(value == wanted)
    tests = {
        "$eq": lambda other: value == other,
        "$ne": lambda other: value != other,
        "$gt": lambda other: value is not None and float(value) > float(other),
        "$gte": lambda other: value is not None and float(value) >= float(other),
        "$lt": lambda other: value is not None and float(value) < float(other),
        "$lte": lambda other: value is not None and float(value) <= float(other),
    }
    return all(tests[name](other) for name, other in wanted.items())
