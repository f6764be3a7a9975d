"""The tool calls of a session whose output has not come yet. A cursor stores only the places of their records."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kept.core.event import ToolUse
from kept.sources.drafts import hold_newest
from kept.sources.json_lines import Fetch
from kept.sources.records import Record

_MOST_CALLS = 64


class OpenCalls:
    """Open calls by id, each with the byte range of its record; of more than 64, the oldest are dropped."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[tuple[int, int], ToolUse]] = {}

    def add_call(self, tool: ToolUse, record: Record) -> None:
        """Add a call that a record contains."""
        hold_newest(self._calls, tool.call, ((record.start, record.end), tool), _MOST_CALLS)

    def close(self, call: str, name: str = "") -> ToolUse:
        """Remove a call whose output came, and return its tool; for an unknown call, a tool with only this ``name``."""
        _, tool = self._calls.pop(call, (None, ToolUse(name=name, call=call)))
        return tool

    def dump(self) -> dict[str, tuple[int, int]]:
        """The stored form."""
        return {call: place for call, (place, _) in self._calls.items()}

    def load(
        self, stored: Mapping[str, list[int]], fetch: Fetch, tools_of: Callable[[Mapping[str, Any]], Iterable[ToolUse]]
    ) -> None:
        """Load the result of :meth:`dump`; ``tools_of`` returns the calls in a record."""
        for call, place in stored.items():
            start, end = place[-2:]  # older cursors of Codex store the line before them
            for tool in tools_of(fetch(start, end)):
                if tool.call == call:
                    self._calls[call] = ((start, end), tool)
