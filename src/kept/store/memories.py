"""The memories in SQLite that a log adds up to: a projection, found by id, group, time and words."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from kept.core.codec import dump, load, to_canonical_json
from kept.core.errors import DamagedError
from kept.core.memory import Memory, Status
from kept.core.text import index_words
from kept.core.times import format_instant
from kept.store.database import Database, checksum, match_any_word
from kept.store.rows import UNREADABLE
from kept.store.values import Outline

_HINT = "run `kept check`; `kept rebuild` recreates memories from the log"


class SqliteMemories:
    """What a log adds up to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def memory(self, number: str) -> Memory | None:
        """The memory of that id, or None."""
        row = self._database.fetch_one("memory", id=number)
        return memory_of_row(row) if row else None

    def memories(self, *, group: tuple[str, str] | None = None) -> tuple[Memory, ...]:
        """All memories by id, or those of a (profile, scope)."""
        if group is None:
            return self._query_memories("memories")
        return self._query_memories("memories_of", profile=group[0], scope=group[1])

    def outdated_memories(self, retired: Iterable[str], *, verbatim: Iterable[str]) -> tuple[Memory, ...]:
        """The memories of retired triggers, and those of ``verbatim`` triggers that say what none of their quotes does, by id."""
        return self._query_memories("outdated_memories", retired=json_list(retired), verbatim=json_list(verbatim))

    def outlines(self, moment: datetime) -> list[Outline]:
        """What a list of memories is chosen and sorted by, without reading one."""
        return list(map(Outline._make, self._database.run("memory_outlines", moment=format_instant(moment)).fetchall()))

    def some(self, ids: Sequence[str]) -> tuple[Memory, ...]:
        """The memories of these ids that there are, in this order."""
        found = {row["id"]: row for row in self._database.run("memories_with", ids=json_list(ids))}
        return tuple(memory_of_row(found[item]) for item in ids if item in found)

    def _query_memories(self, name: str, **values: Any) -> tuple[Memory, ...]:
        return tuple(memory_of_row(row) for row in self._database.run(name, **values))

    def held(self) -> tuple[Memory, ...]:
        """The memories that wait for a decision, by id; expired ones too."""
        return self._query_memories("memories_held")

    def memories_between(self, start: datetime, stop: datetime) -> tuple[Memory, ...]:
        """The memories first seen before ``stop`` and last seen at ``start`` or later, by id."""
        return self._query_memories("memories_between", start=format_instant(start), stop=format_instant(stop))

    def memory_ids(self) -> frozenset[str]:
        """The ids of all memories."""
        return frozenset(row["id"] for row in self._database.run("memory_ids"))

    def memory_ids_with_prefix(self, prefix: str) -> tuple[str, ...]:
        """At most nine ids that begin so, in order."""
        return tuple(row["id"] for row in self._database.run("memory_ids_like", prefix=prefix))

    def count_memories(self, moment: datetime) -> Mapping[tuple[Status, str, str], int]:
        """How many memories there are by (status at a moment, profile, category)."""
        rows = self._database.run("census", moment=format_instant(moment))
        return Counter({(Status(row["state"]), row["profile"], row["category"]): row["memories"] for row in rows})

    def search(self, words: Iterable[str], limit: int) -> tuple[tuple[Memory, float], ...]:
        """Memories with any of the words, best first, with their score (higher is better)."""
        rows = self._database.run("search_memories", query=match_any_word(words), limit=limit)
        return tuple((memory_of_row(row), -row["rank"]) for row in rows)

    def _update_memories(self, after: Mapping[str, Memory | None]) -> None:
        """Make memories what ``after`` says (None: not there), and their index entries with them."""
        known = {row["id"]: (row["rowid"], checked_body(row)) for row in self._database.run("memories_with", ids=json_list(after))}
        number = self._last_number("last_memory")
        puts, drops, entries, stale = [], [], [], []
        for memory_id, memory in after.items():
            rowid, old = known.get(memory_id, (0, ""))
            body = to_canonical_json(dump(memory)) if memory is not None else ""
            if body == old:
                continue
            self._database.verify_after_commit(("memory", memory_id), partial(self._is_stored, memory_id, body))
            if not rowid:
                number = rowid = number + 1
            before, words = _index_words_of_body(old), _index_words_of_body(body)
            if old and before != words:
                stale.append({"rowid": rowid, "words": before})
            if memory is None:
                drops.append({"rowid": rowid})
                continue
            if not old or before != words:
                entries.append({"rowid": rowid, "words": words})
            values = named_fields(memory, "id", "profile", "category", "scope") | {"status": memory.status.value}
            puts.append(values | {"rowid": rowid, "body": body, "checksum": checksum(memory_id, body)})
        for name, rows in (("unindex_memory", stale), ("drop_memory", drops), ("put_memory", puts), ("index_memory", entries)):
            self._database.execute_many(name, rows)
        # A memory whose words stay has a vector already; but its row may be another's since, so what went is told as well.
        changed = {row["rowid"] for rows in (stale, drops, entries) for row in rows}
        self._database.execute_many("queue_embedding", ({"kind": "memory", "item": item} for item in sorted(changed)))

    def _is_stored(self, memory_id: str, body: str) -> bool:
        row = self._database.fetch_one("memory", id=memory_id)
        return row["body"] == body and is_undamaged(row) if row else not body

    def load_readable_memories(self) -> tuple[dict[str, Memory], tuple[str, ...]]:
        """The memories that can be read, by id, and the ids of those that cannot."""
        found: dict[str, Memory] = {}
        unreadable: list[str] = []
        for row in self._database.run("memory_bodies"):
            try:
                found[row["id"]] = memory_of_row(row)
            except DamagedError:
                unreadable.append(row["id"])
        return found, tuple(unreadable)

    def _last_number(self, name: str) -> int:
        return int(self._database.fetch_one(name)["number"])


def json_list(values: Iterable[Any]) -> str:
    """Values for ``json_each``, in order, each once."""
    return to_canonical_json(sorted(set(values)))


def named_fields(value: Any, *names: str) -> dict[str, Any]:
    """Fields of a value by their names, for a statement."""
    return {name: getattr(value, name) for name in names}


def memory_of_row(row: Any) -> Memory:
    """The memory of a row with ``id``, ``body``, ``checksum``: never one that is not what was written. Raises DamagedError."""
    return _parse_memory(checked_body(row))


def checked_body(row: Any) -> str:
    """The body of a row, where it is what was written. Raises DamagedError."""
    body: str = row["body"]
    if not is_undamaged(row):
        raise DamagedError(f"memory {row['id']} is damaged", hint=_HINT)
    return body


def is_undamaged(row: Any) -> bool:
    """Whether a row with ``id``, ``body``, ``checksum`` is what was written."""
    return bool(checksum(row["id"], row["body"]) == row["checksum"])


@lru_cache(maxsize=20_000)
def _parse_memory(body: str) -> Memory:
    try:
        memory: Memory = load(Memory, json.loads(body))
    except UNREADABLE as error:
        raise DamagedError("a memory cannot be read", hint=_HINT) from error
    return memory


def _index_words_of_body(body: str) -> str:
    return memory_index_words(_parse_memory(body)) if body else ""


def memory_index_words(memory: Memory) -> str:
    """The words under which a memory is found."""
    return index_words(" ".join((memory.content, *memory.artifacts)))
