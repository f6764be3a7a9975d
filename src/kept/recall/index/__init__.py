"""Read the store file for search: find units by their words, and load them. Writes nothing.

This module knows the store's tables and the format of archive blocks. It does not know how results are ranked.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from kept.core.errors import StoreError
from kept.core.times import parse_stored_instant, to_milliseconds
from kept.core.value import dataclass
from kept.store.columns import AUTHORS, DAMAGE, keys_of, texts_of
from kept.store.reader import parse_queries

_BUSY_MS = 2_000  # a hook must not wait for a long run
_AUTHORS = {letter: author for author, letter in AUTHORS.items()}
_REACH = 40  # events before and after a turn that are searched for its neighbours; `queue_embedding_beside` reaches as far


class UnitKind(StrEnum):
    """The kinds of units that can be found."""

    MEMORY = "memory"
    SUMMARY = "summary"
    TURN = "turn"


_TABLES = {UnitKind.MEMORY: "memories", UnitKind.SUMMARY: "summaries", UnitKind.TURN: "turns"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchLimits:
    """Which units to search; None means no limit. Instants are texts in the store's format."""

    now: str
    statuses: tuple[str, ...] = ("active", "held")
    scopes: tuple[str, ...] | None = None
    threads: tuple[int, ...] | None = None
    category: str = ""
    since: str | None = None
    until: str | None = None

    def values(self) -> dict[str, Any]:
        """The limits as parameters of an SQL statement."""
        return {
            "now": self.now,
            "statuses": json.dumps(self.statuses),
            "scopes": _json_list(self.scopes),
            "threads": _json_list(self.threads),
            "category": self.category,
            "since": self.since,
            "until": self.until,
            "since_ms": to_milliseconds(parse_stored_instant(self.since)) if self.since else None,
            "until_ms": to_milliseconds(parse_stored_instant(self.until)) if self.until else None,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchUnit:
    """Something that can be found. ``item`` is the number of its row.

    A field that is unknown is empty. ``directory`` and ``path`` are those of the session that contains a turn or a note.
    ``needed_for`` is a JSON list of the requests for which a memory is needed.
    """

    kind: UnitKind
    item: int
    id: str
    text: str
    first_at: str
    last_at: str
    scope: str = ""
    category: str = ""
    status: str = ""
    confidence: float = 1.0
    uses: int = 0
    author: str = ""
    session: str = ""
    directory: str = ""
    path: str = ""
    needed_for: str = "[]"


class Index:
    """An open index. Its methods raise StoreError if the file cannot be read."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def search_words(
        self, kind: UnitKind, words: Sequence[str], limits: SearchLimits, most: int
    ) -> tuple[tuple[int, float, bool], ...]:
        """The units of a kind that contain any of the words, at most ``most``, best first.

        Each has its row, its BM25 score (higher is better), and whether it is an assistant's reply.
        """
        if not words:
            return ()
        values = limits.values() | {"words": _match_any_word(words), "limit": most}
        ranked = 3 * most
        rows = self._fetch_all(f"{_TABLES[kind]}_by_words", **values, ranked=ranked)
        if len(rows) < most:  # the limits excluded many of the best rows, or few rows match
            rows = self._fetch_all(f"{_TABLES[kind]}_by_words", **values, ranked=-1)
        return tuple((row["item"], row["score"], row["author"] == AUTHORS["assistant"]) for row in rows)

    def count_matches(self, kind: UnitKind, phrases: Iterable[str], most: int) -> dict[str, int]:
        """Word or phrase → the number of units of a kind that contain it, at most ``most`` (for turns, at most twice that)."""
        wanted = tuple(dict.fromkeys(phrases))
        rows = self._fetch_all(
            f"{_TABLES[kind]}_counted", phrases=json.dumps([_match_any_word([item]) for item in wanted]), most=most
        )
        return {wanted[row["place"]]: row["found"] for row in rows}

    def complete_word(self, start: str) -> str:
        """The most frequent indexed word that begins with ``start``, empty if there is none. Words in memories come first."""
        for table in ("memory", "turn"):
            self._fetch_all(f"{table}_terms_table")
            for row in self._fetch_all(f"{table}_terms", start=start, end=f"{start}\U0010ffff"):
                return str(row["term"])
        return ""

    def items_within(self, kind: UnitKind, limits: SearchLimits) -> frozenset[int]:
        """The rows of a kind within the limits."""
        rows = self._fetch_all(f"{_TABLES[kind]}_among", **limits.values())
        return frozenset(row["item"] for row in rows)

    def latest_items(self, kind: UnitKind, limits: SearchLimits, most: int) -> tuple[int, ...]:
        """The ``most`` latest rows of a kind within the limits, the latest first."""
        rows = self._fetch_all(f"{_TABLES[kind]}_latest", **limits.values(), limit=most)
        return tuple(row["item"] for row in rows)

    def surrounding_turns(self, items: Iterable[int]) -> dict[int, tuple[tuple[int, bool], ...]]:
        """Turn → the turns directly before and after it in its conversation. Each has its row, and whether an assistant said it."""
        rows = self._fetch_all("around", items=json.dumps(list(items)), reach=_REACH)
        return {
            row["item"]: tuple((item // 2, bool(item % 2)) for item in (row["before"], row["after"]) if item is not None)
            for row in rows
        }

    def count_said_by_thread(self, word: str, most: int) -> dict[int, tuple[int, int]]:
        """Thread → two numbers: its turns in which a person said the word, and all its events.

        The result is empty if more than ``most`` turns contain the word.
        """
        items = [row["item"] for row in self._fetch_all("turns_with", word=_match_any_word([word]), most=most + 1)]
        if len(items) > most:
            return {}
        return {row["thread"]: (row["turns"], row["events"]) for row in self._fetch_all("told_in", items=json.dumps(items))}

    def count_conversations(self) -> tuple[int, int]:
        """The approximate numbers of conversations and events. Forgotten ones may still be counted."""
        (row,) = self._fetch_all("conversations")
        return row["conversations"] or 0, row["events"] or 0

    def threads_of(self, items: Iterable[int]) -> dict[int, int]:
        """Turn → its thread. A turn in several threads gets the one with the lowest number."""
        return {row["item"]: row["thread"] for row in self._fetch_all("threads_of", items=json.dumps(list(items)))}

    def load_units(self, kind: UnitKind, items: Iterable[int]) -> Mapping[int, SearchUnit]:
        """Row → its unit. Missing rows are left out. Raises StoreError for a damaged block or note."""
        wanted = json.dumps(list(items))
        match kind:
            case UnitKind.MEMORY:
                return {row["item"]: SearchUnit(kind=kind, **row) for row in self._fetch_all("memories", items=wanted)}
            case UnitKind.TURN:
                return {unit.item: unit for unit in self._turn_units(self._fetch_all("turns", items=wanted))}
            case UnitKind.SUMMARY:
                notes = {row["item"]: self._summary_unit(row) for row in self._fetch_all("summaries", items=wanted)}
                return notes | {row["item"]: SearchUnit(kind=kind, **row) for row in self._fetch_all("passages", items=wanted)}

    def _turn_units(self, rows: Iterable[Any]) -> Iterator[SearchUnit]:
        block, keys, texts = 0, list[str](), list[str]()
        for row in rows:
            if row["block"] != block:
                block = row["block"]
                keys, texts = self._load_block(block)
            place = row["item"] - block
            yield SearchUnit(
                kind=UnitKind.TURN,
                item=row["item"],
                id=keys[place],
                text=texts[place],
                first_at=row["at"],
                last_at=row["at"],
                author=_AUTHORS[row["author"]],
                session=row["session"],
                directory=row["project"],
                path=row["path"],
            )

    def _summary_unit(self, row: Any) -> SearchUnit:
        try:
            text, _ = json.loads(zlib.decompress(row["body"]))
        except (ValueError, TypeError, zlib.error) as error:
            raise StoreError("a note cannot be read", where=str(self._path), hint="run `kept rebuild`") from error
        return SearchUnit(
            kind=UnitKind.SUMMARY,
            item=row["item"],
            id=row["id"],
            text=text,
            first_at=row["at"],
            last_at=row["at"],
            session=row["session"],
            directory=row["project"],
            path=row["path"],
        )

    def _load_block(self, number: int) -> tuple[list[str], list[str]]:
        (row,) = self._fetch_all("block", id=number)
        try:
            return keys_of(row["body"]), texts_of(row["body"])
        except DAMAGE as error:
            raise StoreError(f"archive block {number} is damaged", where=str(self._path), hint="run `kept check`") from error

    def list_threads(self) -> tuple[tuple[int, str, str], ...]:
        """The row, working directory and transcript path of every thread."""
        return tuple((row["id"], row["project"], row["path"]) for row in self._fetch_all("threads"))

    def list_projects(self) -> tuple[tuple[str, str, str], ...]:
        """Every known directory, with its scope and its project's name."""
        return tuple((row["directory"], row["scope"], row["name"]) for row in self._fetch_all("projects"))

    def _fetch_all(self, name: str, /, **values: Any) -> list[sqlite3.Row]:
        try:
            return self._connection.execute(_load_queries()[name], values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be searched: {error}", where=str(self._path), hint="run `kept check`") from error


@contextmanager
def open_index(path: Path) -> Iterator[Index]:
    """Open the index of a store file, read-only. Raises StoreError if there is no such file."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise StoreError(f"the store cannot be read: {error}", where=str(path), hint="run `kept run`") from error
    with closing(connection):
        connection.row_factory = sqlite3.Row
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        connection.execute("PRAGMA trusted_schema = OFF")
        yield Index(connection, path)


def _json_list(values: Sequence[Any] | None) -> str | None:
    return None if values is None else json.dumps(values)


def _match_any_word(words: Iterable[str]) -> str:
    """A full-text query that matches any of the words. Each word is quoted, so that nothing in it is read as an operator."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)


@cache
def _load_queries() -> Mapping[str, str]:
    """The queries in queries.sql, by name."""
    return parse_queries(Path(__file__).with_name("queries.sql").read_text(encoding="utf-8"))
