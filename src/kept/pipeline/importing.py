"""Adopting: what other tools remember, taken up once where a person asks for it. All of it waits for their decision, its file
named.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kept.core.errors import UsageError
from kept.core.memory import Status
from kept.core.times import to_text
from kept.memories.client_memory import CONFIDENCE, placed
from kept.memories.foreign import TOOLS
from kept.pipeline.safety import Imported, take_up, untaken
from kept.workspace import Workspace


def adopt(workspace: Workspace, tool: str) -> Imported:
    """Take up what a tool remembers (``all``: every tool), as held, in one pass that can be undone; what was taken up before is
    left out.

    Raises UsageError for a tool that is unknown, StoreError.
    """
    if tool not in (*TOOLS, "all"):
        raise UsageError(f"nothing is known of what {tool!r} remembers", hint=f"one of: {', '.join(TOOLS)}, all")
    return take_up(workspace, _bodies(workspace, TOOLS if tool == "all" else (tool,)), f"what {tool} remembers")


def on_offer(workspace: Workspace) -> dict[str, int]:
    """How many notes of each tool could be taken up that were not so far."""
    counts = {tool: untaken(workspace, _bodies(workspace, (tool,))) for tool in TOOLS}
    return {tool: count for tool, count in counts.items() if count}


def _bodies(workspace: Workspace, tools: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The notes as :func:`take_up` reads them: proposed by an assistant, resting on the file they stand in."""
    for each in placed(workspace, tools):
        note = each.note
        yield {
            "content": note.text,
            "profile": workspace.profile.id,
            "category": each.category,
            "scope": each.scope,
            "status": Status.HELD.value,
            "origin": "assistant",
            "confidence": CONFIDENCE,
            "first_seen": to_text(note.at),
            "evidence": [
                {"quote": note.text, "source": str(note.path), "at": to_text(note.at), "author": note.tool, "origin": "assistant"}
            ],
        }
