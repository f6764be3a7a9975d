"""Format lists of memories by project and category, the history of a memory, and archived turns as lines.

Every memory is shown with an id that all commands accept.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from kept.cli.console import Line, format_count, format_id, format_path, hanging_line, line, write_json, write_line, write_lines
from kept.core.codec import dump, json_fields
from kept.core.event import Author, Event, EventKind
from kept.core.memory import SUGGESTED, UNDERSTOOD, USER_SCOPE, Memory, Status
from kept.core.operation import Operation, Pass, find_undone_passes, stated_facts
from kept.core.project import PROJECT
from kept.core.text import mixed_scripts
from kept.core.times import format_day, format_minute
from kept.memories.browse import WHOSE, list_order, load_conversation, trace_memory
from kept.profiles.profile import category_title
from kept.workspace import Workspace

if TYPE_CHECKING:
    from kept.memories.waiting import PendingProposal

EVERYWHERE, FORGOTTEN = "everywhere", "(forgotten)"


def grouped_lines(
    workspace: Workspace,
    memories: Iterable[Memory],
    moment: datetime | None = None,
    *,
    ordered: bool = False,
    then: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> Iterator[Line]:
    """Format memories as a list by project and category, each with its id and the day it was last seen.

    If ``moment`` is given, a memory that was not active then is marked with its status. If ``ordered``, the order of memories is
    kept. ``then`` maps ids to the text that a memory had then. ``names`` are the names of scopes, by default those of the store.
    """
    placed = memories if ordered else sorted(memories, key=list_order(workspace))
    for scope, inside in groupby(placed, key=lambda memory: memory.scope):
        yield line((scope_name(scope, workspace.scope_names() if names is None else names), "bold"))
        for (profile, category), chosen in groupby(inside, key=lambda memory: (memory.profile, memory.category)):
            yield line((f"  {category_title(workspace.profiles, profile, category)}", "cyan"))
            for memory in chosen:
                word = memory.outcome_at(moment) if moment else Status.ACTIVE.value
                yield memory_line(
                    memory, workspace.zone, "" if word == Status.ACTIVE.value else word, (then or {}).get(memory.id, "")
                )


BY = ("model", "agent", "person", "rules")


def source_of(memory: Memory) -> str:
    """Who proposed a memory, as one of :data:`BY`. A person wrote a memory without a candidate."""
    return proposer(memory) or ("rules" if memory.candidates else "person")


def proposer(memory: Memory) -> str:
    """``model`` or ``agent`` if one of these proposed the memory; empty if the rules or a person did."""
    return "model" if memory.advised else {UNDERSTOOD: "model", SUGGESTED: "agent"}.get(memory.trigger, "")


def memory_line(memory: Memory, zone: ZoneInfo, mark: str = "", then: str = "") -> Line:
    """One memory in a list. ``then`` is the text it had at the time shown, if that differs from the current text."""
    mixed = f"mixes {' and '.join(scripts)} letters" if (scripts := mixed_scripts(memory.content)) else ""
    pinned = "pinned" if memory.pinned else ""
    marks = ", ".join(filter(None, (mark, proposer(memory), pinned, mixed, format_day(memory.last_seen, zone))))
    now = memory.content or FORGOTTEN
    content = (then, (f" (now: {now})", "dim")) if then else (now,)
    return hanging_line([("    ", ""), (format_id(memory.id), "yellow"), ("  ", "")], *content, (f"  ({marks})", "dim"))


def scope_name(scope: str, names: Mapping[str, str]) -> str:
    """The display name of a scope (a project, or everywhere)."""
    return EVERYWHERE if scope == USER_SCOPE else names.get(scope, scope.removeprefix(PROJECT))


def format_rank(item: "PendingProposal") -> str:
    """The rank of a proposal among the held ones of its project."""
    return f"{item.rank} of {item.of} held in this project"


_ACTORS = {"machine": "kept", "person": "you", "agent": "an agent"}

History = Sequence[tuple[Pass, Operation]]


def operation_lines(workspace: Workspace, history: History) -> Iterator[Line]:
    """One line for each operation on a memory: time, kind, reason, new text, actor, and whether it is undone. Each undo and redo of
    these operations has a line too.
    """
    if history:
        yield line(("What happened to it", "bold"))
    switches, before = tuple(workspace.store.log.undo_redo_passes()), ""
    off, concerned = find_undone_passes(switches), {made.id for made, _ in history}
    rows: list[tuple[Pass, Operation | None]] = [*history]
    rows += [(made, None) for made in switches if not concerned.isdisjoint((*made.undoes, *made.redoes))]
    for made, operation in sorted(rows, key=lambda row: row[0].id):
        kind = made.stage if operation is None else operation_name(operation)
        head = f"  {format_minute(made.recorded_at, workspace.zone)}  {kind:<10}"
        facts = stated_facts(operation) if operation is not None else None
        words = facts.content if facts else ""
        new_text = f": “{words}”" if before and words and words != before else ""
        before = words if words and made.id not in off else before
        undone = ("  undone", "yellow") if made.id in off else ("", "")
        actor = f"  (by {_ACTORS[made.actor.value]}, in run r{made.run}, pass {made.id})"
        switched = ", ".join(str(number) for number in (*made.undoes, *made.redoes) if number in concerned)
        reason = operation.reason if operation is not None else f"pass {switched}"
        yield hanging_line([(head, "")], reason + new_text, (actor, "dim"), undone)


def changed_line(workspace: Workspace, memory: Memory, mark: str = "") -> Line:
    """The line for a memory that was just changed, with the command that undoes the change."""
    history = workspace.store.log.operations_on(memory.id)
    shown = memory_line(memory, workspace.zone, mark)
    return replace(shown, body=(*shown.body, (f" → kept undo r{history[-1][0].run}", "dim"))) if history else shown


def operations_body(history: History) -> list[dict[str, Any]]:
    """The history of a memory as JSON: each operation with its pass, its time and the evidence it added."""

    def build_evidence(operation: Operation) -> list[str]:
        stated = stated_facts(operation)
        return [evidence.event for evidence in getattr(stated, "added", ()) or getattr(stated, "evidence", ())]

    return [
        json_fields(made, "run", "stage", "actor", "recorded_at", **{"pass": "id"})
        | {"kind": operation_name(operation), "evidence": build_evidence(operation)}
        | json_fields(operation, "memory", "at", "reason")
        for made, operation in history
    ]


def operation_name(operation: Operation) -> str:
    """The kind of an operation, as in JSON and in printed lists."""
    return type(operation).__name__.lower()


_SHOWN = 240  # maximum characters of a turn in search results
_WHOLE = 40_000  # maximum characters of a turn in a conversation
_AROUND = 5  # turns shown before and after each quote


def turn_line(workspace: Workspace, turn: Event, most: int = _SHOWN) -> Line:
    """One archived turn on one line, cut to ``most`` characters, with its author and time."""
    from kept.core.spans import label_event_text  # noqa: PLC0415 - only turns need it

    text = " ".join((label_event_text(turn) or (turn.tool.target if turn.tool else ""))[: 4 * most].split())
    what = f"{turn.tool.name}: " if turn.tool is not None and turn.kind is EventKind.TOOL_CALL else ""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    entry = workspace.paths.place_now(turn.pointer.path).parent == workspace.paths.root / workspace.settings.journal.folder
    whose = "kept's journal" if entry and turn.author is Author.ASSISTANT else WHOSE.get(turn.author.value, turn.author.value)
    head = f"    {format_minute(turn.at, workspace.zone)}  {whose}: "
    return hanging_line([(head, "dim")], what, short)


def turns_around(workspace: Workspace, memory: Memory) -> Iterator[Line]:
    """The archived turns around each piece of a memory's evidence."""
    for evidence, events in trace_memory(workspace, memory, context=_AROUND).evidence:
        yield line()
        yield line((f"session {evidence.session}", "cyan"), (f"  {format_path(workspace.paths.place_now(evidence.path))}", "dim"))
        yield from (turn_line(workspace, event, _WHOLE) for event in events)
        if not events:
            yield line(("    these turns are not in the archive", "dim"))


def turns_body(workspace: Workspace, memory: Memory) -> list[Any]:
    """The turns around each piece of evidence as JSON: session, path of the transcript, and turns."""
    pieces = trace_memory(workspace, memory, context=_AROUND).evidence
    return [{"session": evidence.session, "path": evidence.path, "turns": dump(events)} for evidence, events in pieces]


def show_session(workspace: Workspace, session: str, *, as_json: bool) -> None:
    """Print the archived turns of a session. Raises UsageError."""
    conversation = load_conversation(workspace, session)
    if as_json:
        names = ("session", "source", "path")
        write_json([json_fields(thread, *names) | {"turns": dump(events)} for thread, events in conversation])
        return
    for thread, events in conversation:
        write_line((thread.session, "bold"), (f"  {thread.source}  {format_path(workspace.paths.place_now(thread.path))}", "dim"))
        write_lines(turn_line(workspace, event, _WHOLE) for event in events)


def step_line(name: str, detail: str, *, done: bool) -> Line:
    """The result of a step of the nightly job."""
    return hanging_line([(f"  {name:<10}", "cyan"), ("done    " if done else "FAILED  ", "green" if done else "red")], detail)


def pending_line(every: int, chosen: int) -> Line:
    """How many proposals a person is asked about (the same number as on the page), and how many are less likely to be right."""
    if not chosen:
        text = format_count(every, "less likely proposal is held", "less likely proposals are held")
        return line((f"{text} for your decision", "yellow"), (" → kept review --all", "dim"))
    rest = f"; {every - chosen:,} less likely: kept review --all" if chosen < every else ""
    text = format_count(chosen, "proposal is held", "proposals are held")
    return line((f"{text} for your decision", "yellow"), (f" → kept review{rest}", "dim"))
