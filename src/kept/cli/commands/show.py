"""``kept show``, ``kept why``: one memory, with its evidence and every later change. Read-only."""

from collections.abc import Iterator, Sequence
from typing import Any

from kept.cli.command_support import command_workspace
from kept.cli.console import Line, format_count, format_id, format_path, hanging_line, line, page_lines, write_json, write_lines
from kept.cli.lists import (
    FORGOTTEN,
    format_rank,
    memory_line,
    operation_lines,
    operations_body,
    proposer,
    scope_name,
    show_session,
    turn_line,
    turns_around,
    turns_body,
)
from kept.cli.registry import GlobalOptions
from kept.core.codec import dump, json_fields
from kept.core.errors import UsageError
from kept.core.event import Event
from kept.core.memory import Evidence, Memory, Status
from kept.core.times import format_day, format_minute
from kept.memories import waiting
from kept.memories.browse import TRUST, WHOSE, MemoryTrace, to_export, trace_memory
from kept.memories.decisions import find_explainable
from kept.memories.waiting import PendingProposal
from kept.outputs.compose.pages import OutputRoute
from kept.outputs.routing import routes_by_memory
from kept.profiles.profile import category_title
from kept.workspace import Workspace

_CHOICES = 10  # maximum number of matching memories that are listed
_REFUSED = "refused"


def show(
    call: GlobalOptions,
    asked: list[str] | None = None,
    *,
    turns: bool = False,
    session: str = "",
    history: bool = False,
    as_json: bool = False,
) -> int:
    """Show a memory in full, or the archived turns of a session."""
    if bool(asked) == bool(session):
        raise UsageError("give the id of a memory, or --session ID", hint="kept show 3fa2 --turns, or kept show --session 7f3a")
    with command_workspace(call) as workspace:
        if session:
            show_session(workspace, session, as_json=as_json)
            return 0
        memory = _find_one(workspace, asked, as_json=as_json)
        if memory is None:
            return 2
        past = workspace.store.log.operations_on(memory.id) if history else ()
        if as_json:
            extra = {"history": operations_body(past)} if history else {}
            write_json(_memory_body(workspace, memory) | extra | ({"turns": turns_body(workspace, memory)} if turns else {}))
            return 0
        write_lines(memory_card_lines(workspace, memory))
        write_lines(operation_lines(workspace, past) if history else ())
        write_lines(turns_around(workspace, memory) if turns else ())
        write_lines([line((f"{format_count(len(memory.evidence), 'piece')} of evidence → kept why {memory.id}", "dim"))])
        return 0


def why(call: GlobalOptions, asked: list[str] | None = None, *, around: int = 1, as_json: bool = False) -> int:
    """Show where a memory comes from: its words, their author, session, file and line, and every change since. For a refused
    candidate (`kept list --refused`), show why.
    """
    with command_workspace(call) as workspace:
        memory = _find_one(workspace, asked, as_json=as_json)
        if memory is None:
            return 2
        memory_trace = trace_memory(workspace, memory, context=around)
        place = _pending_rank(workspace, memory_trace.memory)
        if as_json:
            write_json(_trace_body(workspace, memory_trace, place))
        else:
            page_lines(_format_trace(workspace, memory_trace, place))
        return 0


def _find_one(workspace: Workspace, asked: Sequence[str] | None, *, as_json: bool) -> Memory | None:
    """The requested memory; if several match, print them and return None. Raises MissingError, UsageError."""
    if not asked:
        raise UsageError("give the id of a memory, or words of it", hint="kept why 3fa2, or kept why the port of the server")
    memories = find_explainable(workspace, " ".join(asked))
    if len(memories) == 1:
        return memories[0]
    if as_json:
        write_json([_memory_body(workspace, memory) for memory in memories])
    else:
        write_lines(_choice_lines(workspace, memories))
    return None


def _choice_lines(workspace: Workspace, memories: Sequence[Memory]) -> Iterator[Line]:
    yield line((f"{len(memories):,} match; which one?", "yellow"))
    names, now = workspace.scope_names(), workspace.clock()
    for memory in memories[:_CHOICES]:
        yield memory_line(memory, workspace.zone, f"{memory.outcome_at(now)}, {scope_name(memory.scope, names)}")
    if len(memories) > _CHOICES:
        yield line((f"    … and {len(memories) - _CHOICES:,} more; more words find fewer", "dim"))


def _pending_rank(workspace: Workspace, memory: Memory) -> PendingProposal | None:
    """The rank of a held memory among the proposals that await review; None if it is not held."""
    if memory.status is not Status.HELD:
        return None
    return next((item for item in waiting.list_pending_proposals(workspace) if item.memory.id == memory.id), None)


def _format_trace(workspace: Workspace, trace: MemoryTrace, place: PendingProposal | None) -> Iterator[Line]:
    yield from memory_card_lines(workspace, trace.memory)
    if trace.memory.needed_for:
        by = f"written by {trace.requests_by}" if trace.requests_by else "from the agent that handed it over"
        yield line()
        yield line(("Requests that find it: ", "bold"), "; ".join(trace.memory.needed_for), (f"  ({by})", "dim"))
    if trace.evidence:
        if trace.memory.about:
            yield line()
            yield line(("What it is about: ", "bold"), trace.memory.about)
        yield line()
        yield line(("The words it rests on", "bold"))
    for evidence, events in trace.evidence:
        yield from _format_evidence(workspace, evidence, events)
    if not trace.evidence:
        yield line()
        yield line(
            ("No source text is recorded: a person added it directly.", "dim")
            if trace.memory.content
            else ("Its words were erased.", "dim")
        )
    for model, reasoning in trace.models:
        yield line()
        yield line(("By a language model: ", "bold"), model)
        yield line((f"  {reasoning}", "dim"))
    if place is not None:
        yield line()
        yield line(("Its rank: ", "bold"), format_rank(place))
        yield from (line((f"  {value:+6.2f}  ", "cyan"), name) for name, value in place.score.terms)
    yield line()
    yield from operation_lines(workspace, trace.history)
    output_routes = routes_by_memory(workspace, [trace.memory]).get(trace.memory.id, ())
    if output_routes:
        yield line()
        yield line(("Where it is shown", "bold"))
        yield from route_lines(output_routes)


def route_lines(routes: Sequence[OutputRoute]) -> Iterator[Line]:
    """The outputs of a memory, each with its reason."""
    for route in routes:
        yield hanging_line(
            [(f"      {route.place.value:<7} ", "cyan"), (route.where or "not shown", "" if route.where else "dim")],
            "",
            (f"  {route.why}", "dim"),
        )


def _format_evidence(workspace: Workspace, evidence: Evidence, events: tuple[Event, ...]) -> Iterator[Line]:
    own = next((item for item in events if item.key == evidence.event), None)
    place = format_path(workspace.paths.place_now(evidence.path))
    place += f":{own.pointer.line}" if own is not None else ""
    who = WHOSE.get(evidence.author, evidence.author or evidence.origin.value)
    yield line(
        f"  {format_minute(evidence.at, workspace.zone)}  ", (who, "cyan"), (f"  session {evidence.session}  {place}", "dim")
    )
    quote = hanging_line([("    > ", "dim")], (f"“{evidence.quote}”", "bold"))
    yield from [quote if event is own else _dimmed_turn_line(workspace, event) for event in events] if own is not None else [quote]


def _dimmed_turn_line(workspace: Workspace, event: Event) -> Line:
    shown_line = turn_line(workspace, event, 160)
    return Line(head=shown_line.head, body=tuple((words, "dim") for words, _ in shown_line.body))


def _memory_body(workspace: Workspace, memory: Memory) -> dict[str, Any]:
    """A memory as ``kept export`` writes it. An export leaves out refused proposals; here they have the status refused."""
    return to_export(workspace, memory) | ({"status": _REFUSED} if memory.outcome == _REFUSED else {})


def _trace_body(workspace: Workspace, trace: MemoryTrace, place: PendingProposal | None) -> dict[str, Any]:
    score = {"rank": place.rank, "of": place.of, "terms": dict(place.score.terms)} if place else None
    return {
        "waiting": score,
        "memory": _memory_body(workspace, trace.memory),
        "evidence": [
            dump(evidence)
            | {
                "whose": WHOSE.get(evidence.author, evidence.author),
                "line": next((item.pointer.line for item in events if item.key == evidence.event), None),
                "context": [json_fields(event, "author", "kind", "at", "text") for event in events],
            }
            for evidence, events in trace.evidence
        ],
        "requests_by": trace.requests_by,
        "models": [{"model": model, "reasoning": reasoning} for model, reasoning in trace.models],
        "history": operations_body(trace.history),
        "routes": [dump(route) for route in routes_by_memory(workspace, [trace.memory]).get(trace.memory.id, ())],
    }


def memory_card_lines(workspace: Workspace, memory: Memory) -> Iterator[Line]:
    """A memory with all its details."""
    status, zone = memory.status_at(workspace.clock()), workspace.zone
    marks = (
        memory.outcome_at(workspace.clock()),
        proposer(memory),
        "pinned" if memory.pinned else "",
        "yours" if memory.owned else "",
    )
    place = (
        f"  {category_title(workspace.profiles, memory.profile, memory.category)} · "
        f"{scope_name(memory.scope, workspace.scope_names())} · "
        f"{', '.join(filter(None, marks))}"
    )
    yield line((format_id(memory.id), "yellow"), (place, "dim"))
    yield line((memory.content or FORGOTTEN, "bold"))
    seen = (
        f"first seen {format_day(memory.first_seen, zone)}, last seen {format_day(memory.last_seen, zone)}, in "
        f"{format_count(memory.observations, 'session')}"
    )
    yield line((f"{seen}; rests on {TRUST[memory.origin]}", "dim"))
    if memory.artifacts:
        yield line((f"names: {', '.join(memory.artifacts)}", "dim"))
    if memory.valid_until:
        yield line((f"valid until {format_minute(memory.valid_until, zone)}", "dim"))
    for words, ids in (
        ("may contradict" if status is Status.HELD else "superseded by", memory.superseded_by),
        ("resolved by", memory.resolved_by),
        ("supersedes", ", ".join(memory.supersedes)),
    ):
        if ids:
            yield line((f"{words} {ids}", "dim"))
    if memory.reason and status is not Status.ACTIVE:
        ended = f", since {format_day(memory.ended_at, zone)}" if memory.ended_at else ""
        yield line((f"because: {memory.reason}{ended}", "dim"))
    yield from _succession_lines(workspace, memory)


def _succession_lines(workspace: Workspace, memory: Memory) -> Iterator[Line]:
    """The memory that superseded this one, and the memories that this one superseded."""
    now = workspace.store.log.memory(memory.superseded_by) if memory.superseded_by else None
    if now is not None:
        label = "said later: " if memory.status is Status.HELD else "now: "
        yield line((label, "dim"), now.content or FORGOTTEN)
    for number in memory.supersedes:
        old = workspace.store.log.memory(number)
        if old is not None and old.superseded_by == memory.id and old.content != memory.content:
            since = f" {old.reason}" if old.reason.startswith("it was so until") else ""
            yield line(("before: ", "dim"), old.content or FORGOTTEN, (since, "dim"))
