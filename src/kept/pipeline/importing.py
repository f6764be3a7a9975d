"""Import what other tools remember, once, when a person asks for it. Imported memories are held for review and name their file."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kept.core.errors import UsageError
from kept.core.memory import Status
from kept.core.times import format_instant
from kept.memories.client_memory import ScopedNote, assign_scopes, load_scoped_notes
from kept.memories.foreign import TOOLS
from kept.memories.foreign_stores import is_export_by_rows, read_stored_notes
from kept.memories.person import UNSURE
from kept.pipeline.safety import ImportReport, count_new_memories, import_file, import_memories
from kept.store.portable import is_portable
from kept.workspace import Workspace

_OWN = (".jsonl", ".gz")  # extensions of what kept export writes


def import_from_tool(workspace: Workspace, tool: str) -> ImportReport:
    """Import the memories of ``tool`` (``all``: every tool) as held, in one pass that can be undone; memories that were imported
    before are left out.

    Raises UsageError for an unknown tool, StoreError.
    """
    if tool not in (*TOOLS, "all"):
        raise UsageError(f"kept does not know the memory of {tool!r}", hint=f"one of: {', '.join(TOOLS)}, all")
    scoped_notes = load_scoped_notes(workspace, TOOLS if tool == "all" else (tool,))
    return import_memories(workspace, _to_import_rows(workspace, scoped_notes), f"what {tool} remembers")


def import_path(workspace: Workspace, path: Path) -> ImportReport:
    """Import what ``kept export`` or another tool wrote; another tool's memories are held, as in :func:`import_from_tool`.

    Raises UsageError if it is neither, StoreError, DamagedError. Nothing is changed then.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError("it is no file and no folder", where=str(path))  # reading a pipe would block
    if path.is_file() and (is_portable(path) or (path.suffix.lower() in _OWN and not is_export_by_rows(path))):
        return import_file(workspace, path)
    stored = read_stored_notes(path)
    taken = import_memories(workspace, _to_import_rows(workspace, assign_scopes(workspace, stored.notes)), path.name)
    taken.left_out.update({"files that cannot be read": len(stored.unread)} if stored.unread else {})
    return taken


def count_importable_notes(workspace: Workspace) -> dict[str, int]:
    """The number of notes of each tool that could be imported and have not been yet."""
    counts = {
        tool: count_new_memories(workspace, _to_import_rows(workspace, load_scoped_notes(workspace, (tool,)))) for tool in TOOLS
    }
    return {tool: count for tool, count in counts.items() if count}


def _to_import_rows(workspace: Workspace, found: Iterable[ScopedNote]) -> Iterator[Mapping[str, Any]]:
    """Yield the notes in the form of :func:`import_memories`: proposed by an assistant, with the file as evidence."""
    for scoped_note in found:
        note = scoped_note.note
        at = format_instant(note.at) if note.at else None
        yield {
            "content": note.text,
            "profile": workspace.profile.id,
            "category": scoped_note.category,
            "scope": scoped_note.scope,
            "status": Status.HELD.value,
            "origin": "assistant",
            "confidence": UNSURE,
            "first_seen": at,
            "evidence": [{"quote": note.text, "source": str(note.path), "at": at, "author": note.tool, "origin": "assistant"}],
        }
