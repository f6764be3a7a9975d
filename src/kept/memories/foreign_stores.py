"""What other tools remember in a file or folder that a person names: exports of mem0 and ChatGPT, claude-mem's database, notes of
Basic Memory, rules of Cursor and Copilot, instructions of agents. Reads; changes nothing, judges nothing.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from kept.core.errors import UsageError
from kept.core.times import parse_instant
from kept.memories.foreign import INSTRUCTIONS, Note, markdown_notes

_FILES = 2_000
_NOTES = 50_000
_BYTES = 64 * 2**20  # of a JSON file
_HEAD = b"SQLite format 3\x00"
_TEXTS = (".md", ".mdc", ".txt", ".mdx")
_RULES = (".cursorrules", ".windsurfrules", ".clinerules")
_LISTS = ("results", "memories", "items")  # under which an export lists its memories
_WORDS = ("memory", "content", "text", "fact")  # under which one has its words
_TIMES = ("updated_at", "created_at", "timestamp", "date")


def stored_notes(path: Path) -> tuple[Note, ...]:
    """The notes in a file, or in the files of a folder that hold any. Raises UsageError where it cannot be read or holds none."""
    try:
        found = tuple(islice(_notes_below(path) if path.is_dir() else _notes_in(path), _NOTES))
    except (OSError, ValueError, RecursionError, sqlite3.Error) as error:
        raise UsageError(f"the file cannot be read: {error}", where=str(path)) from error
    if not found:
        hint = "give an export of mem0 or ChatGPT, claude-mem's database, or files of notes or rules in Markdown"
        raise UsageError("nothing that another tool remembers is known in it", where=str(path), hint=hint)
    return found


def _notes_below(folder: Path) -> Iterator[Note]:
    for path in islice(_files(folder), _FILES):
        yield from _notes_in(path)


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder that may hold notes, by name. Follows no link."""
    for path in sorted(folder.rglob("*")):
        named = path.suffix.lower() in (*_TEXTS, ".db", ".sqlite", ".json") or path.name in _RULES
        if named and path.is_file() and not path.is_symlink() and "node_modules" not in path.parts:
            yield path


def _notes_in(path: Path) -> Iterator[Note]:
    with path.open("rb") as file:
        head = file.read(len(_HEAD))
    if head == _HEAD:
        return _database(path)
    if path.suffix.lower() == ".json":
        return _export(path)
    return markdown_notes(_tool_of(path), path)


def _tool_of(path: Path) -> str:
    """Which tool reads a file of rules, by its name and place; else the file's name."""
    if path.suffix == ".mdc" or path.name == ".cursorrules":
        return "cursor"
    if path.name == "copilot-instructions.md" or path.name.endswith(".instructions.md"):
        return "copilot"
    return path.stem.lower() if path.name in INSTRUCTIONS else path.name


def _export(path: Path) -> Iterator[Note]:
    if path.stat().st_size > _BYTES:
        raise UsageError("the file is too large for an export of memories", where=str(path))
    body = json.loads(path.read_bytes())
    rows = next((body[name] for name in _LISTS if isinstance(body.get(name), list)), []) if isinstance(body, dict) else body
    tool = "mem0" if isinstance(rows, list) and any(isinstance(row, dict) and "memory" in row for row in rows) else "chatgpt"
    for row in rows if isinstance(rows, list) else ():
        text = row if isinstance(row, str) else _first_of(row, _WORDS) if isinstance(row, dict) else ""
        if text.strip():
            yield _stored_note(tool, path, text, _first_of(row, _TIMES) if isinstance(row, dict) else "")


def _first_of(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((str(row[name]) for name in names if row.get(name) and isinstance(row[name], str | int | float)), "")


def _database(path: Path) -> Iterator[Note]:
    """The facts that claude-mem noted, of an observation that lists none its text; what mem0's history says last."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        tables = {row[0]: {each[1] for each in database.execute(f"PRAGMA table_info({row[0]})")} for row in _known_tables(database)}
        if "created_at" in tables.get("observations", ()):
            for row in database.execute("SELECT * FROM observations ORDER BY created_at"):
                for fact in _facts(dict(row)):
                    yield _stored_note("claude-mem", path, fact, str(row["created_at"]))
        elif {"memory_id", "new_memory"} <= tables.get("history", set()):
            last = {row["memory_id"]: dict(row) for row in database.execute("SELECT * FROM history ORDER BY rowid")}
            for row in last.values():
                if row.get("new_memory") and row.get("event") != "DELETE":
                    yield _stored_note("mem0", path, str(row["new_memory"]), _first_of(row, _TIMES))


def _known_tables(database: sqlite3.Connection) -> list[sqlite3.Row]:
    known = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('observations', 'history')"
    return database.execute(known).fetchall()


def _facts(row: Mapping[str, Any]) -> tuple[str, ...]:
    listed = row.get("facts")
    try:
        facts = json.loads(listed) if isinstance(listed, str) and listed.strip() else []
    except ValueError:
        facts = []
    told = tuple(fact for fact in facts if isinstance(fact, str) and fact.strip()) if isinstance(facts, list) else ()
    return told or tuple(filter(None, (_first_of(row, ("text", "title")).strip(),)))


def _stored_note(tool: str, path: Path, text: str, at: str) -> Note:
    moment = parse_instant(at) or parse_instant(f"{at}T00:00:00Z") or datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return Note(tool=tool, text=" ".join(text.split()), kind="", path=path, at=moment)
