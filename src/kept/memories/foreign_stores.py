"""Read the notes of other tools from a file or folder that a person names. Nothing is written.

Supported are memories exported from mem0 and ChatGPT, the databases of claude-mem and mem0, notes of Basic Memory, rules of Cursor
and Copilot, and instruction files of agents.
"""

import json
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from kept.core.errors import KeptError, UsageError
from kept.core.pattern import Pattern
from kept.core.times import parse_instant
from kept.core.value import dataclass
from kept.local.files.walking import find_files
from kept.memories.foreign import INSTRUCTIONS, ForeignNote, markdown_notes
from kept.sources.databases import MAGIC, open_copy, table_names
from kept.sources.records import replace_surrogates

_FILES = 2_000  # maximum number of files read in a folder
_NOTES = 50_000  # maximum number of notes
_BYTES = 64 * 2**20  # maximum size of a JSON file
_LINE = 2**20  # maximum bytes read of the first line
_TEXTS = (".md", ".mdc", ".txt", ".mdx", ".markdown")
_HEAD = 2**16  # bytes read of a file's beginning
_MARKED = Pattern(r"(?m)^\s*(?:#{1,6}|[-*]|\d{1,3}[.)])\s+\S")  # a heading or an item of a list
_RULES = (".cursorrules", ".windsurfrules", ".clinerules")
_LISTS = ("results", "memories", "items")  # keys of the list of memories in an export
_WORDS = ("memory", "content", "text", "fact")  # keys of a memory's text
_TALKS = ("mapping", "chat_messages")  # keys of a conversation in an export of ChatGPT or Claude.ai
_TIMES = ("updated_at", "created_at", "timestamp", "date")


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignNotes:
    """The notes that were found, and the files of a folder that could not be read."""

    notes: tuple[ForeignNote, ...]
    unread: tuple[Path, ...] = ()


def read_stored_notes(path: Path) -> ForeignNotes:
    """Read the notes in a file, or in all files of a folder. Raises UsageError if a file cannot be read or there are no notes."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError("it is neither a file nor a folder", where=str(path))  # reading a pipe would block
    found = _notes_below(path) if path.is_dir() else ForeignNotes(notes=_notes_in(path))
    if not found.notes:
        hint = "give memories exported from mem0 or ChatGPT, claude-mem's database, or files of notes or rules in Markdown"
        if found.unread:
            hint = f"{len(found.unread)} files cannot be read, {found.unread[0]} first"
        raise UsageError("it contains no note of another tool in a known format", where=str(path), hint=hint)
    return found


def is_export_by_rows(path: Path) -> bool:
    """True if the first line of a file is a memory in an export of another tool.

    In kept's own export, a memory has the key ``content``. Raises OSError.
    """
    with path.open("rb") as file:
        first = file.readline(_LINE)
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and "content" not in row and bool(_first_value(row, _WORDS))


def _notes_below(folder: Path) -> ForeignNotes:
    notes: list[ForeignNote] = []
    unread: list[Path] = []
    for path in islice(_note_files(folder), _FILES):
        try:
            notes += _notes_in(path, named=False)
        except KeptError:
            unread.append(path)
    return ForeignNotes(notes=tuple(notes[:_NOTES]), unread=tuple(unread))


def _note_files(folder: Path) -> Iterator[Path]:
    """The files of a folder whose names suggest that they have notes. Symbolic links are skipped."""
    for path in sorted(find_files(folder)):
        known = path.suffix.lower() in (*_TEXTS, ".db", ".sqlite", ".json") or path.name in _RULES
        if known and path.is_file() and not path.is_symlink():
            yield path


def _notes_in(path: Path, *, named: bool = True) -> tuple[ForeignNote, ...]:
    """Read the notes in a file. ``named`` means that a person named this file itself, not its folder. Raises KeptError."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if head.startswith(MAGIC):
            notes = _database_notes(path)
        elif path.suffix.lower() in (".json", ".jsonl"):
            notes = _export_notes(path, named=named)
        elif path.suffix.lower() in _TEXTS or path.name in _RULES or (named and not path.suffix and _is_markdown(head)):
            notes = markdown_notes(_tool_of(path), path)
        else:
            notes = iter(())
        return tuple(islice(notes, _NOTES))
    except OSError as error:
        raise UsageError(
            f"the file cannot be read: {error.strerror}", where=str(path), hint="look at the path and its permissions"
        ) from error
    except RecursionError as error:
        raise UsageError("its values are nested too deeply for an export", where=str(path), hint="export it again") from error
    except ValueError as error:
        raise UsageError(f"it is not valid JSON: {error}", where=str(path), hint="export it again") from error


def _is_markdown(head: bytes) -> bool:
    return not head.startswith(b"#!") and bool(_MARKED.search(head.decode(errors="replace")))


def _tool_of(path: Path) -> str:
    """The tool that reads a rule file, derived from the file's name; the name itself if no tool is known."""
    if path.suffix == ".mdc" or path.name == ".cursorrules":
        return "cursor"
    if path.name == "copilot-instructions.md" or path.name.endswith(".instructions.md"):
        return "copilot"
    return path.stem.lower() if path.name in INSTRUCTIONS else path.name


def _export_notes(path: Path, *, named: bool) -> Iterator[ForeignNote]:
    """The memories in an export.

    A list of plain strings may be anything, so it counts as an export only if a person ``named`` the file.
    """
    if path.stat().st_size > _BYTES:
        raise UsageError("the file is too large for an export of memories", where=str(path))
    by_rows = path.suffix.lower() == ".jsonl"
    body = _parse_rows(path.read_bytes()) if by_rows else json.loads(path.read_bytes())
    rows = next((body[name] for name in _LISTS if isinstance(body.get(name), list)), []) if isinstance(body, dict) else body
    if named and isinstance(rows, list) and any(isinstance(row, dict) and not row.keys().isdisjoint(_TALKS) for row in rows):
        raise UsageError("it contains conversations, not memories", where=str(path), hint=f"kept run {shlex.quote(str(path))}")
    tool = "mem0" if isinstance(rows, list) and any(isinstance(row, dict) and "memory" in row for row in rows) else "chatgpt"
    for row in rows if isinstance(rows, list) else ():
        fields = row if isinstance(row, dict) else {"text": row} if named and isinstance(row, str) else {}
        text = str(_first_value(fields, _WORDS))
        if text.strip():
            yield _stored_note(tool, path, text, _first_value(fields, _TIMES))


def _parse_rows(data: bytes) -> list[Any]:
    rows = []
    for number, row in enumerate(data.splitlines(), 1):
        try:
            rows.append(json.loads(row))
        except json.JSONDecodeError as error:
            raise ValueError(f"{error.msg}: line {number} column {error.colno}") from error
    return rows


def _first_value(row: Mapping[str, Any], names: tuple[str, ...]) -> str | float:
    return next((row[name] for name in names if row.get(name) and isinstance(row[name], str | int | float)), "")


def _database_notes(path: Path) -> Iterator[ForeignNote]:
    """The facts of claude-mem's observations, or the last state of each memory in mem0's history.

    An observation without facts is represented by its text.
    """
    known = table_names(path) & {"observations", "history"}
    if not known:
        return
    with open_copy(path) as database:
        database.row_factory = sqlite3.Row
        tables = {name: {item[1] for item in database.execute(f"PRAGMA table_info({name})")} for name in known}
        if "created_at" in tables.get("observations", ()):
            for row in database.execute("SELECT * FROM observations ORDER BY created_at"):
                for fact in _parse_facts(dict(row)):
                    yield _stored_note("claude-mem", path, fact, _first_value(dict(row), ("created_at",)))
        elif {"memory_id", "new_memory"} <= tables.get("history", set()):
            last = {row["memory_id"]: dict(row) for row in database.execute("SELECT * FROM history ORDER BY rowid")}
            for row in last.values():
                if row.get("new_memory") and row.get("event") != "DELETE":
                    yield _stored_note("mem0", path, str(row["new_memory"]), _first_value(row, _TIMES))


def _parse_facts(row: Mapping[str, Any]) -> tuple[str, ...]:
    listed = row.get("facts")
    try:
        facts = json.loads(listed) if isinstance(listed, str) and listed.strip() else []
    except ValueError:
        facts = []
    texts = tuple(fact for fact in facts if isinstance(fact, str) and fact.strip()) if isinstance(facts, list) else ()
    return texts or tuple(filter(None, (str(_first_value(row, ("text", "title"))).strip(),)))


def _stored_note(tool: str, path: Path, text: str, at: str | float) -> ForeignNote:
    return ForeignNote(tool=tool, text=replace_surrogates(" ".join(text.split())), kind="", path=path, at=_parse_moment(at))


def _parse_moment(at: str | float) -> datetime | None:
    """Parse the time of a note; None if it has none. A number means seconds or milliseconds since 1970.

    A text without a time zone is in UTC, as in mem0.
    """
    if isinstance(at, str) and at.strip().isdecimal():
        at = int(at[:20])
    return parse_instant(at) or parse_instant(f"{at}Z") or parse_instant(f"{at}T00:00:00Z")
