"""A read-only reader of the store for hooks. It works within a deadline and imports little.

It queries the store's tables directly, never writes or creates anything, and waits at most 0.2 seconds for a lock. Tests check that
it returns the same data as the store itself.
"""

import os
import time
from collections.abc import Callable, Sequence

from kept.core.errors import StoreError
from kept.core.light import TYPE_CHECKING, Any, NamedTuple, format_json, parse_json

if TYPE_CHECKING:
    import sqlite3
    from typing import Self
else:
    try:
        import _sqlite3 as sqlite3  # without the adapters of the public module, which import datetime
    except ImportError:
        import sqlite3

_HERE = os.path.dirname(__file__)  # noqa: PTH120 - pathlib takes longer to import than a search takes
_STEPS = 2_000  # steps of SQLite's virtual machine between two checks of the deadline
_LONG_WORD = 64
_APPROVED = "approved by the user"  # as in kept.core.memory, which takes longer to import than a search takes


class RecallMemory(NamedTuple):
    """An active memory with the fields that recall needs. Instants are ISO texts; unknown ones are empty."""

    row: int
    id: str
    category: str
    scope: str
    content: str
    confidence: float
    pinned: bool
    last_seen: str
    valid_until: str
    observations: int
    fingerprint: str
    sessions: frozenset[str]
    artifacts: tuple[str, ...]
    uses: int
    about: str = ""
    needed_for: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The content, followed by what it is about if that is known."""
        return f"{self.content} (about: {self.about})" if self.about else self.content


class RecallNote(NamedTuple):
    """A task of a session: its line of text, its time and its weight. ``ended`` means that an outcome or commit is recorded.

    ``key`` is the key of its first event. ``asked`` is the request. ``result`` is the outcome, commits and files as one text.
    """

    row: int
    key: str
    at: str
    session: str
    text: str
    weight: int
    ended: bool
    asked: str
    result: str


class RecallPassage(NamedTuple):
    """A passage about a day in a project, which is a model's summary line or, if ``own``, a person's words. These replace the line
    ``instead``; if they are empty, the person deleted it. ``sessions`` are the sessions it is based on.
    """

    id: str
    day: str
    text: str
    own: bool
    instead: str
    sessions: frozenset[str]
    kind: str


class RecallTurn(NamedTuple):
    """A prompt of a person, and the assistant's last ``reply`` to it. ``repeated`` are hashes of its long passages that occur in
    other sessions too.

    ``ended`` means that a memory based on the prompt was edited or is no longer active. ``instead`` is the content that replaced
    it. ``then`` is the person's next prompt.
    """

    text: str
    at: str
    session: str
    reply: str
    repeated: tuple[int, ...]
    ended: bool
    instead: str
    then: str = ""


class StoreReader:
    """An open store file that can be read until ``seconds`` have passed.

    Every method raises StoreError if the store is missing, damaged or locked, or if the deadline has passed.
    """

    def __init__(self, path: str, seconds: float) -> None:
        if os.path.islink(path) or not os.path.isfile(path):  # noqa: PTH113, PTH114 - as above
            raise StoreError("there is no store")
        self._until = time.monotonic() + seconds
        try:
            self._connection = sqlite3.connect(path, timeout=min(seconds, 0.2), isolation_level=None)
            self._connection.set_progress_handler(self._late, _STEPS)
            for pragma in ("query_only = ON", "trusted_schema = OFF", "temp_store = MEMORY"):
                self._connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            raise StoreError(str(error)) from error
        self._queries = _load_queries()

    def extend_deadline(self, seconds: float) -> None:
        """Extend the deadline by the seconds spent waiting for another process, which do not count."""
        self._until += seconds

    def _late(self) -> bool:
        return time.monotonic() > self._until

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def scope(self, directory: str) -> str:
        """The recorded scope of a directory or of its nearest recorded ancestor; empty if there is none."""
        place = directory.rstrip("/\\") or directory
        for _ in range(40):
            rows = self._fetch_all("scope", directory=place)
            if rows:
                return str(rows[0][0])
            above = os.path.dirname(place)  # noqa: PTH120 - as above
            if above == place:
                break
            place = above
        return ""

    def project_names(self, scopes: list[str]) -> dict[str, str]:
        """The names of projects, by scope."""
        return {row[0]: row[1] for row in self._fetch_all("project_names", scopes=format_json(scopes))}

    def count_texts(self) -> int:
        """The number of indexed memories and turns."""
        return sum(_parse_varint(row[0]) for row in self._fetch_all("index_heads"))

    def count_turns_with_word(self, word: str) -> int:
        """The number of indexed prompts and replies that contain a word."""
        return int(self._fetch_all("count_turns_with", word=_quote_word(word))[0][0])

    def memory_rows_with_word(self, word: str) -> list[int]:
        """The rows of the indexed memories that contain a word, of any status and scope."""
        return [row for (row,) in self._fetch_all("memories_with_word", word=_quote_word(word))]

    def active_rows(self, rows: Sequence[int], scopes: list[str], profiles: list[str]) -> list[int]:
        """The rows among ``rows``, in their order, that have active memories in these scopes and profiles."""
        lists = {"rows": format_json(rows), "scopes": format_json(scopes), "profiles": format_json(profiles)}
        active = {row for (row,) in self._fetch_all("active_memories", **lists)} if rows else set()
        return [row for row in rows if row in active]

    def memory_rows_with_phrases(self, phrases: Sequence[str], scopes: list[str], profiles: list[str], most: int) -> list[int]:
        """The best ``most`` rows of active memories in these scopes and profiles that contain any of the phrases."""
        words = " OR ".join(map(_quote_word, phrases))
        rows = self._fetch_all(
            "memories_with_phrases", words=words, scopes=format_json(scopes), profiles=format_json(profiles), most=most
        )
        return [row[0] for row in rows]

    def memory_rows_by_id(self, ids: list[str], scopes: list[str], profiles: list[str]) -> list[int]:
        """The rows of the memories with these ids that are active and in these scopes and profiles."""
        found = (
            self._fetch_all("memories_by_id", ids=format_json(ids), scopes=format_json(scopes), profiles=format_json(profiles))
            if ids
            else []
        )
        return [row[0] for row in found]

    def note_rows_with_word(self, word: str, scopes: list[str]) -> list[int]:
        """The rows of the notes in these scopes that contain a word."""
        return [row[0] for row in self._fetch_all("notes_with_word", word=_quote_word(word), scopes=format_json(scopes))]

    def count_notes(self, scopes: list[str]) -> int:
        """The number of notes in these scopes."""
        return int(self._fetch_all("count_notes", scopes=format_json(scopes))[0][0])

    def memories(self, rows: list[int]) -> list[RecallMemory]:
        """The memories in these rows."""
        return [_memory_from_row(row) for row in self._fetch_all("memories", rows=format_json(rows))]

    def always_shown_memories(
        self, scopes: list[str], categories: list[str], profiles: list[str], rules: Sequence[str] | None = ()
    ) -> list[RecallMemory]:
        """The active memories that are always shown: memories of the user in these categories, pinned ones, and memories of a
        project in the categories ``rules`` (None: all).
        """
        lists = {"scopes": scopes, "categories": categories, "profiles": profiles, "rules": rules}
        found = self._fetch_all(
            "always_shown", **{name: None if values is None else format_json(values) for name, values in lists.items()}
        )
        return [_memory_from_row(row) for row in found]

    def memories_by_fingerprint(self, marks: list[str]) -> list[RecallMemory]:
        """The active memories with one of these error fingerprints, in any scope."""
        return (
            [_memory_from_row(row) for row in self._fetch_all("memories_by_fingerprint", marks=format_json(marks))] if marks else []
        )

    def notes(self, rows: list[int]) -> list[RecallNote]:
        """The notes in these rows."""
        return [_note_from_row(row) for row in self._fetch_all("notes", rows=format_json(rows))]

    def notes_between(self, start: str, stop: str, scopes: list[str]) -> list[RecallNote]:
        """The notes in these scopes with times in [start, stop) (instants as text), latest first."""
        return [_note_from_row(row) for row in self._fetch_all("notes_between", start=start, stop=stop, scopes=format_json(scopes))]

    def passages_of_days(self, first: str, last: str, scopes: list[str]) -> list[RecallPassage]:
        """The passages about the days from ``first`` to ``last`` (ISO dates) in these scopes, latest first."""
        return [_passage_from_row(row) for row in self._fetch_all("passages", first=first, last=last, scopes=format_json(scopes))]

    def turn(self, key: str) -> RecallTurn | None:
        """The prompt with this event key; None if it is gone or its session opted out."""
        from kept.store.columns import keys_of, mark_of, texts_of  # noqa: PLC0415 - few prompts bring a turn

        marked = self._fetch_all("events_with_mark", mark=mark_of("key", key))
        event = next((number for (number,) in marked if self._archived(number, keys_of) == key), 0)
        rows = self._fetch_all("prompt", event=event)
        if not rows:
            return None
        at, thread, ordinal, session = rows[0]
        replies = self._fetch_all("reply", thread=thread, ordinal=ordinal)
        following = self._fetch_all("next_prompt", thread=thread, ordinal=ordinal)
        text = self._archived(event, texts_of)
        resting = self._fetch_all("memories_based_on", key=key)
        # If a memory based on the prompt was edited, its content replaces the prompt's words.
        ended = [
            instead if status != "active" else content
            for status, content, instead in resting
            if status != "active" or content not in text
        ]
        return RecallTurn(
            text=text,
            at=str(at),
            session=str(session),
            reply=self._archived(replies[0][0], texts_of) if replies else "",
            repeated=tuple(int(row[0]) for row in self._fetch_all("repeated_passages", event=event)),
            ended=bool(ended),
            instead=next(filter(None, ended), ""),
            then=self._archived(following[0][0], texts_of) if following else "",
        )

    def ended_memories(self, scopes: Sequence[str], after: str) -> list[tuple[str, str]]:
        """The contents of the latest memories that ended after an instant, each with what replaced it, or an empty text."""
        return [(str(row[0]), str(row[1])) for row in self._fetch_all("ended_memories", scopes=format_json(scopes), after=after)]

    def _archived(self, event: int, find: Callable[[bytes], list[str]]) -> str:
        from kept.store.columns import DAMAGE  # noqa: PLC0415 - as above

        try:
            ((block, body),) = self._fetch_all("block", event=event)
            return str(find(body)[event - block])
        except DAMAGE as error:
            raise StoreError(f"the archive block of event {event} is damaged", hint="run `kept check`") from error

    def outputs(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The last written content of each file: its path, and key and text of every line (:class:`kept.core.document.Line`)."""
        return [
            (path, [(load.get("key", ""), load.get("text", "")) for load in parse_json(lines)])
            for path, lines in self._fetch_all("outputs")
        ]

    def _fetch_all(self, name: str, /, **values: Any) -> list[Any]:
        try:
            return self._connection.execute(self._queries[name], values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(str(error)) from error


def _memory_from_row(row: Any) -> RecallMemory:
    try:
        body = parse_json(row[4])
        approved = str(body.get("reason", "")).startswith(_APPROVED)
        return RecallMemory(
            row[0],
            row[1],
            row[2],
            row[3],
            str(body["content"]),
            1.0 if approved else float(body["confidence"]),  # a person approved it
            bool(body.get("pinned", False)),
            str(body.get("last_seen") or ""),
            str(body.get("valid_until") or ""),
            int(body.get("observations", 1)),
            str(body.get("fingerprint", "")),
            frozenset(item.get("session", "") for item in body.get("evidence", ())),
            tuple(map(str, body.get("artifacts", ()))),
            int(row[5]),
            str(body.get("about", "")),
            tuple(map(str, body.get("needed_for", ()))),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"memory {row[1]}") from error


def _note_from_row(row: Any) -> RecallNote:
    import zlib  # noqa: PLC0415 - few prompts have notes

    try:
        text, body = parse_json(zlib.decompress(row[4]).decode("utf-8", "surrogatepass"))
        told = [str(body.get("outcome", "")), *map(str, body.get("commits", ()))]
        result = " ".join([*told, *map(str, body.get("names", ()))])
        return RecallNote(
            row[0], row[1], row[2], row[3], str(text), int(body.get("weight", 1)), any(told), str(body.get("asked", "")), result
        )
    except (ValueError, TypeError, AttributeError, zlib.error) as error:
        raise StoreError("a note about work is damaged", hint="run `kept check`") from error


def _passage_from_row(row: Any) -> RecallPassage:
    try:
        body = parse_json(row[3])
        sessions = frozenset(map(str, body.get("sessions", ())))
        return RecallPassage(
            row[0],
            row[1],
            str(body["text"]),
            body["form"] == "own",
            str(body.get("instead", "")),
            sessions,
            str(body.get("kind", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError("a summary of a day is damaged", hint="run `kept check`") from error


def _parse_varint(record: bytes) -> int:
    """The variable-length integer at the start of a record of the full-text index. It has seven bits per byte, highest first, and
    ends at the first byte below 128.
    """
    number = 0
    for byte in record[:9]:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return number


def _quote_word(word: str) -> str:
    return '"' + word[:_LONG_WORD].replace('"', '""').replace("\0", "") + '"'


def _load_queries() -> dict[str, str]:
    with open(os.path.join(_HERE, "reader.sql"), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - as above
        parts = file.read().split("-- name: ")[1:]  # comments stay, because removing them as in parse_queries takes longer
    return {name: query for name, _, query in (part.partition("\n") for part in parts)}


def parse_queries(text: str) -> dict[str, str]:
    """The queries of an SQL file by name, without comments.

    A line ``-- name: NAME`` begins a query. A line ``-- part: NAME`` begins a text, which later parts and all queries
    insert with ``{NAME}``.
    """
    queries: dict[str, list[str]] = {}
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(("-- name: ", "-- part: ")):
            named = queries if line.startswith("-- name: ") else parts
            lines = named.setdefault(line[9:], [])
        elif line and not line.startswith("--"):
            lines.append(line)
    texts: dict[str, str] = {}
    for name, body in parts.items():
        texts[name] = "\n".join(body).format(**texts)
    return {name: "\n".join(body).format(**texts) if texts else "\n".join(body) for name, body in queries.items()}
