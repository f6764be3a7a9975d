"""Adopting: what other tools remember, taken up once where a person asks for it. All of it waits for their decision, its file named."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kept.adapters.foreign import TOOLS, Note, notes
from kept.app.desk import Desk
from kept.app.safety import Imported, take_up, untaken
from kept.model.errors import UsageError
from kept.model.memory import USER_SCOPE, Status
from kept.model.project import root_of
from kept.model.times import to_text

# What tools call their notes, and the category of the default profile that is nearest; the person decides in review.
_KINDS = {"user": "preference", "feedback": "preference", "project": "project_fact", "reference": "project_fact"}
_CONFIDENCE = 0.6


def adopt(desk: Desk, tool: str) -> Imported:
    """Take up what a tool remembers (``all``: every tool), as held, in one pass that can be undone; what was taken up before is left out.

    Raises UsageError for a tool that is unknown, StoreError.
    """
    if tool not in (*TOOLS, "all"):
        raise UsageError(f"nothing is known of what {tool!r} remembers", hint=f"one of: {', '.join(TOOLS)}, all")
    return take_up(desk, _bodies(desk, TOOLS if tool == "all" else (tool,)), f"what {tool} remembers")


def on_offer(desk: Desk) -> dict[str, int]:
    """How many notes of each tool could be taken up that were not so far."""
    counts = {tool: untaken(desk, _bodies(desk, (tool,))) for tool in TOOLS}
    return {tool: count for tool, count in counts.items() if count}


def _bodies(desk: Desk, tools: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The notes as :func:`take_up` reads them: proposed by an assistant, resting on the file they stand in."""
    threads = [(str(Path(each.path).parent), each.project) for each in desk.store.archive.threads() if each.project]
    beside = dict(reversed(threads))
    folders = tuple(dict.fromkeys(Path(root_of(project)) for _, project in threads))
    for each in notes(desk.home.root, folders, tools):
        yield {
            "content": each.text,
            "profile": desk.profile.id,
            "category": _category(desk, each.kind),
            "scope": _scope(desk, each, beside),
            "status": Status.HELD.value,
            "origin": "assistant",
            "confidence": _CONFIDENCE,
            "first_seen": to_text(each.at),
            "evidence": [
                {"quote": each.text, "source": str(each.path), "at": to_text(each.at), "author": each.tool, "origin": "assistant"}
            ],
        }


def _category(desk: Desk, kind: str) -> str:
    wanted = _KINDS.get(kind, "project_fact")
    return wanted if desk.profile.category(wanted) else desk.profile.categories[0].id


def _scope(desk: Desk, note: Note, beside: Mapping[str, str]) -> str:
    if note.kind == "user":
        return USER_SCOPE
    if note.folder:
        return desk.scope(note.folder)
    if note.beside:
        return desk.scope(beside.get(note.beside, ""), str(note.path.parent))
    return USER_SCOPE
