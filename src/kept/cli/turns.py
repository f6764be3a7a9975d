"""Format archived turns: one line each, around a memory's evidence, or a whole session. Read-only."""

from collections.abc import Iterator
from typing import Any

from kept.cli import show
from kept.cli.show import Line, hanging_line, line
from kept.core.event import Event, EventKind
from kept.core.memory import Memory
from kept.core.spans import label_event_text
from kept.core.times import format_minute
from kept.memories.browse import WHOSE, load_conversation, to_json_value, trace_memory
from kept.workspace import Workspace

_SHOWN = 240  # characters of a turn among search results
_WHOLE = 40_000  # characters of a turn that is asked for
_AROUND = 5  # turns before and after each quote


def turn_line(workspace: Workspace, turn: Event, most: int = _SHOWN) -> Line:
    """One archived turn on one line, cut to ``most`` characters; whose it is, and when."""
    text = " ".join((label_event_text(turn) or (turn.tool.target if turn.tool else ""))[: 4 * most].split())
    what = f"{turn.tool.name}: " if turn.tool is not None and turn.kind is EventKind.TOOL_CALL else ""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    head = f"    {format_minute(turn.at, workspace.zone)}  {WHOSE.get(turn.author.value, turn.author.value)}: "
    return hanging_line([(head, "dim")], what, short)


def turns_around(workspace: Workspace, memory: Memory) -> Iterator[Line]:
    """The conversation around each piece of evidence, as the archive has it."""
    for evidence, events in trace_memory(workspace, memory, context=_AROUND).evidence:
        yield line()
        yield line((f"session {evidence.session}", "cyan"), (f"  {show.format_path(evidence.path)}", "dim"))
        yield from (turn_line(workspace, event, _WHOLE) for event in events)
        if not events:
            yield line(("    these turns are not in the archive", "dim"))


def turns_body(workspace: Workspace, memory: Memory) -> list[Any]:
    """The same as JSON: for each piece of evidence its session and the turns."""
    found = trace_memory(workspace, memory, context=_AROUND).evidence
    return [{"session": evidence.session, "path": evidence.path, "turns": to_json_value(events)} for evidence, events in found]


def show_session(workspace: Workspace, session: str, *, as_json: bool) -> None:
    """Print the archived turns of a session. Raises UsageError."""
    found = load_conversation(workspace, session)
    if as_json:
        show.write_json(
            [
                {"session": thread.session, "source": thread.source, "path": thread.path, "turns": to_json_value(events)}
                for thread, events in found
            ]
        )
        return
    for thread, events in found:
        show.write_line((thread.session, "bold"), (f"  {thread.source}  {show.format_path(thread.path)}", "dim"))
        show.write_lines(turn_line(workspace, event, _WHOLE) for event in events)
