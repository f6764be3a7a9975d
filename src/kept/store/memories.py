"""The memories in SQLite: a projection of the log, with queries by id, group, time and words.

Also has an index of the texts of large groups (:class:`GroupTexts`), so that curation reads only texts related to a change.
Curation fills the index, on this machine only. It is cleared when the history of the store changes.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

from kept.core.codec import dump, to_canonical_json
from kept.core.errors import DamagedError
from kept.core.memory import WAS_SO, Memory, Status
from kept.core.text import index_words
from kept.core.times import format_instant
from kept.store.database import Database, checksum, match_any_word
from kept.store.records import read_memory
from kept.store.rows import UNREADABLE, named_fields
from kept.store.values import Outline

_HINT = "run `kept check`; `kept rebuild` recreates memories from the log"


_MEMORY = "m"
NO_LIMIT = -1  # no limit, as the LIMIT of a query


class Memories:
    """The memories that result from a log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def memory(self, number: str) -> Memory | None:
        """The memory with this id, or None."""
        row = self._database.fetch_one("memory", id=number)
        return memory_of_row(row) if row else None

    def memories(self, *, group: tuple[str, str] | None = None) -> tuple[Memory, ...]:
        """All memories, or those of a (profile, scope), by id."""
        if group is None:
            return self._query_memories("memories")
        return self._query_memories("memories_of", profile=group[0], scope=group[1])

    def outdated_memories(self, retired: Iterable[str], *, verbatim: Iterable[str]) -> tuple[Memory, ...]:
        """The memories with a retired trigger, and those with a ``verbatim`` trigger whose content is in none of their quotes."""
        return self._query_memories("outdated_memories", retired=json_list(retired), verbatim=json_list(verbatim))

    def outlines(self, moment: datetime, scope: str | None = None) -> list[Outline]:
        """The outline of every memory, or of those in ``scope``. Lists are filtered and sorted by it without loading memories."""
        return list(
            map(Outline._make, self._database.run("memory_outlines", moment=format_instant(moment), scope=scope).fetchall())
        )

    def scopes(self) -> frozenset[str]:
        """The scopes that have a memory."""
        return frozenset(row["scope"] for row in self._database.run("memory_scopes"))

    def some(self, ids: Sequence[str]) -> tuple[Memory, ...]:
        """The memories with these ids, in this order. Unknown ids are skipped."""
        found = {row["id"]: row for row in self._database.run("memories_with", ids=json_list(ids))}
        return tuple(memory_of_row(found[item]) for item in ids if item in found)

    def _query_memories(self, name: str, **values: Any) -> tuple[Memory, ...]:
        return tuple(memory_of_row(row) for row in self._database.run(name, **values))

    def held(self) -> tuple[Memory, ...]:
        """The held memories, by id, including expired ones."""
        return self._query_memories("memories_held")

    def active_counts(self, group: tuple[str, str]) -> Mapping[str, int]:
        """The number of active memories of a (profile, scope), by category."""
        rows = self._database.run("count_active", profile=group[0], scope=group[1])
        return {row["category"]: int(row["number"]) for row in rows}

    def ended_memories(self, group: tuple[str, str], categories: Iterable[str], since: datetime) -> tuple[Memory, ...]:
        """The memories of a (profile, scope) in these categories that ended at ``since`` or later, by id."""
        values = {"categories": json_list(categories), "since": format_instant(since)}
        return self._query_memories("ended_memories", profile=group[0], scope=group[1], **values)

    def memories_between(self, start: datetime, stop: datetime) -> tuple[Memory, ...]:
        """The memories first seen before ``stop`` and last seen at ``start`` or later, by id."""
        return self._query_memories("memories_between", start=format_instant(start), stop=format_instant(stop))

    def memory_ids(self) -> frozenset[str]:
        """The ids of all memories."""
        return frozenset(row["id"] for row in self._database.run("memory_ids"))

    def memory_ids_with_prefix(self, prefix: str) -> tuple[str, ...]:
        """At most nine ids that begin with a prefix, in order."""
        return tuple(row["id"] for row in self._database.run("memory_ids_like", prefix=prefix))

    def count_memories(self, moment: datetime) -> Mapping[tuple[str, str, str], int]:
        """The number of memories by (outcome at ``moment``, profile, category). The outcome is a status or "was so"."""
        rows, known = (
            self._database.run("count_memories", moment=format_instant(moment), was_so=WAS_SO),
            {each.value: each for each in Status},
        )
        return Counter({(known.get(row["state"], row["state"]), row["profile"], row["category"]): row["memories"] for row in rows})

    def search(self, words: Iterable[str], limit: int) -> tuple[tuple[Memory, float], ...]:
        """The memories with any of the words (from :func:`kept.core.text.query_words`), each with its score, highest first."""
        rows = self._database.run("search_memories", query=match_any_word(words), limit=limit)
        return tuple((memory_of_row(row), -row["rank"]) for row in rows)

    def _update_memories(self, after: Mapping[str, Memory | None]) -> None:
        """Set memories by id (None deletes one), and update the full-text index and the queue for embedding."""
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
            self._unsettle(memory_id, _parse_memory(old) if old else None, memory)
            if old and (memory is None or before != words):  # a forgotten memory has an entry without words
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
        # A memory whose words did not change keeps its vector. Deleted rows are queued too, because their numbers may be used
        # again.
        changed = {row["rowid"] for rows in (stale, drops, entries) for row in rows}
        self._database.execute_many("queue_embedding", ({"kind": "memory", "item": item} for item in sorted(changed)))

    def _unsettle(self, memory_id: str, old: Memory | None, new: Memory | None) -> None:
        """Mark a changed memory in its settled groups. If a person decided on it, mark it in those of other profiles too."""
        versions = [memory for memory in (old, new) if memory is not None]
        decided = {(memory.content, memory.owned or memory.pinned) for memory in versions}
        theirs = any(own for _, own in decided) and (len(decided) > 1 or len(versions) == 1)
        for profile, scope in sorted({(memory.profile, memory.scope) for memory in versions}):
            for name in ("unsettle", *(("unsettle_others",) if theirs else ())):
                self._database.run(name, profile=profile, scope=scope, item=f"{_MEMORY}{memory_id}")

    def _is_stored(self, memory_id: str, body: str) -> bool:
        row = self._database.fetch_one("memory", id=memory_id)
        return row["body"] == body and is_undamaged(row) if row else not body

    def load_readable_memories(self) -> tuple[dict[str, Memory], tuple[str, ...]]:
        """The readable memories by id, and the ids of damaged ones."""
        found: dict[str, Memory] = {}
        unreadable: list[str] = []
        for row in self._database.run("memories"):
            try:
                found[row["id"]] = memory_of_row(row)
            except DamagedError:
                unreadable.append(row["id"])
        return found, tuple(unreadable)

    def _last_number(self, name: str) -> int:
        return int(self._database.fetch_one(name)["number"])


def json_list(values: Iterable[Any]) -> str:
    """Values as a JSON list for ``json_each``, sorted and without duplicates."""
    return to_canonical_json(sorted(set(values)))


def memory_of_row(row: Any) -> Memory:
    """The memory in a row with ``id``, ``body`` and ``checksum``. Raises DamagedError if the row differs from what was written."""
    return _parse_memory(checked_body(row))


def checked_body(row: Any) -> str:
    """The body of a row. Raises DamagedError if the row differs from what was written."""
    body: str = row["body"]
    if not is_undamaged(row):
        raise DamagedError(f"memory {row['id']} is damaged", hint=_HINT)
    return body


def is_undamaged(row: Any) -> bool:
    """True if a row with ``id``, ``body`` and ``checksum`` has the right checksum."""
    return bool(checksum(row["id"], row["body"]) == row["checksum"])


@lru_cache(maxsize=20_000)
def _parse_memory(body: str) -> Memory:
    try:
        memory = read_memory(json.loads(body))
    except UNREADABLE as error:
        raise DamagedError("a memory cannot be read", hint=_HINT) from error
    return memory


def _index_words_of_body(body: str) -> str:
    return memory_index_words(_parse_memory(body)) if body else ""


def memory_index_words(memory: Memory) -> str:
    """The words by which a memory is indexed. They include the words of the requests before which it should be shown."""
    return index_words(" ".join((memory.content, *memory.artifacts, *memory.needed_for)))


class StoredText(NamedTuple):
    """A text of a group. ``place`` is its position in the order in which texts were first said, ``body`` has its words and
    artifacts, ``tokens`` are the search tokens that find it.
    """

    place: int
    body: str
    tokens: str


def clear_texts(database: Database) -> None:
    """Clear the text index of all groups. Call it when the history changed. Each group is then curated as a whole again."""
    for name in ("clear_texts", "clear_tellings", "clear_rests", "clear_settled", "clear_unsettled", "clear_text_index"):
        database.run(name)


class GroupTexts:
    """The text index of one (profile, scope): its texts, the candidates and memories with each text, and the candidates of each
    memory.

    A group is settled when the index has all of its texts.
    """

    def __init__(self, database: Database, group: tuple[str, str]) -> None:
        self._database = database
        self._names = {"profile": group[0], "scope": group[1]}

    @property
    def rules(self) -> str | None:
        """The version of the rules with which the settled group was curated; None if it is not settled."""
        row = self._database.fetch_one("settled_rules", **self._names)
        return row["rules"] if row else None

    def settle(self, rules: str) -> None:
        """Mark the group as settled, curated with this version of the rules. An empty ``rules`` marks it as not settled."""
        self._database.run("drop_unsettled", **self._names)
        if rules:
            self._database.run("settle", rules=rules, **self._names)
        else:
            self._database.run("drop_settled", **self._names)

    def changed_items(self) -> tuple[Sequence[str], Sequence[str]]:
        """The ids of the candidates and of the memories of the group that changed since it was settled."""
        items = [row["item"] for row in self._database.run("unsettled", **self._names)]
        return _split(items)

    def count_candidates(self) -> int:
        """The number of live candidates of the group."""
        return int(self._database.fetch_one("count_live", **self._names)["number"])

    # Texts

    def put(self, text: StoredText, form: str, old: StoredText | None) -> None:
        """Add a text, or replace its ``old`` version."""
        if old == text:
            return
        if old is not None:
            self.drop(old)
        self._database.run("put_text", form=form, **text._asdict(), **self._names)
        self._database.run("index_text", place=text.place, tokens=text.tokens)

    def drop(self, text: StoredText) -> None:
        """Remove a text."""
        self._database.run("drop_places_at", place=text.place)
        self._database.run("unindex_text", place=text.place, tokens=text.tokens)
        self._database.run("drop_text", place=text.place)

    def every(self) -> Sequence[StoredText]:
        """All texts of the group."""
        return [StoredText(*row) for row in self._database.run("texts_of_group", **self._names)]

    def at(self, places: Iterable[int]) -> Mapping[int, StoredText]:
        """The texts at these places."""
        return {row["place"]: StoredText(*row) for row in self._database.run("texts_at", places=json_list(places))}

    def of_forms(self, forms: Iterable[str]) -> Sequence[StoredText]:
        """The texts with these normal forms."""
        return [StoredText(*row) for row in self._database.run("texts_of_form", forms=json_list(forms), **self._names)]

    def continuing(self, form: str) -> Sequence[int]:
        """The places of texts whose normal form begins with ``form`` and continues with further words."""
        rows = self._database.run("texts_continuing", start=f"{form} ", stop=f"{form}!", **self._names)
        return [row["place"] for row in rows]

    def find(
        self, tokens: Iterable[str], any_of: Iterable[str] = (), *, before: int = 0, after: int = 0, most: int = NO_LIMIT
    ) -> Sequence[int]:
        """The places of texts with all ``tokens`` and one of ``any_of``. Returns the nearest before or after a place, or all in
        order.
        """
        choice = " OR ".join(any_of)
        query = " AND ".join((*tokens, *((f"({choice})",) if choice else ())))
        if before:
            rows = self._database.run("texts_before", query=query, place=before, most=most)
        elif after:
            rows = self._database.run("texts_after", query=query, place=after, most=most)
        else:
            rows = self._database.run("texts_with", query=query, most=most)
        return [row["place"] for row in rows]

    def count_texts(self, token: str, most: int) -> int:
        """The number of texts with a token. Counting stops at ``most``."""
        return int(self._database.fetch_one("count_texts_with", query=token, most=most)["number"])

    # Candidates and memories of the texts

    def put_places(self, candidates: Mapping[str, int], memories: Mapping[str, int]) -> None:
        """Record the place of the text of each candidate and memory."""
        items = {**candidates, **{f"{_MEMORY}{memory}": place for memory, place in memories.items()}}
        self._database.execute_many("put_place", ({"item": item, "place": place} for item, place in items.items()))

    def drop_places(self, candidates: Iterable[str] = (), memories: Iterable[str] = ()) -> None:
        """Drop the places of these candidates and memories."""
        items = (*candidates, *(f"{_MEMORY}{memory}" for memory in memories))
        self._database.execute_many("drop_place", ({"item": item} for item in items))

    def places_of(self, candidates: Iterable[str] = (), memories: Iterable[str] = ()) -> frozenset[int]:
        """The places of the texts of these candidates and memories."""
        items = json_list((*candidates, *(f"{_MEMORY}{memory}" for memory in memories)))
        return frozenset(row["place"] for row in self._database.run("places_of", items=items))

    def items_at(self, places: Iterable[int]) -> tuple[Sequence[str], Sequence[str]]:
        """The ids of the candidates and of the memories whose texts are at these places."""
        return _split([row["item"] for row in self._database.run("items_at", places=json_list(places))])

    def put_candidates(self, memory: str, candidates: Iterable[str]) -> None:
        """Record the candidates that a memory is based on."""
        self._database.run("drop_rests", memory=memory)
        self._database.execute_many("put_rest", ({"candidate": item, "memory": memory} for item in candidates))

    def memories_based_on(self, candidates: Iterable[str]) -> Sequence[str]:
        """The memories that are based on any of these candidates, also those of other groups."""
        return [row["memory"] for row in self._database.run("memories_based_on", candidates=json_list(candidates))]


def _split(items: Iterable[str]) -> tuple[Sequence[str], Sequence[str]]:
    found: tuple[list[str], list[str]] = [], []
    for item in items:
        found[item.startswith(_MEMORY)].append(item.removeprefix(_MEMORY))
    return found
