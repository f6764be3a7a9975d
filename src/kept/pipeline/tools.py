"""The tools for agents: their results, and the changes they may make. Every answer is text in the block of remembered data.

An agent only proposes. Its additions are held for the person, unless the settings trust agents. All other tools are read-only.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kept.core.errors import UsageError
from kept.core.event import Author
from kept.core.fence import frame_lines, render_block
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import Approve
from kept.core.spans import find_spans, label_text
from kept.core.text import format_count, one_line
from kept.core.times import format_instant
from kept.core.value import dataclass, field
from kept.extraction.rules.handover import category_of, find_doubt
from kept.local import queue
from kept.memories.browse import trace_memory
from kept.memories.day_view import list_active_days, load_day_view
from kept.memories.person import create_memory, find_memory, resolve
from kept.profiles.profile import format_kind
from kept.recall import search
from kept.recall.index import UnitKind
from kept.recall.preview import preview_context
from kept.workspace import RunNumber, Workspace

_QUOTE = 400  # maximum characters of a quote or a turn that are shown
_LIMIT = 50
NOTHING = "No memory is about that."


def _described(text: str) -> Any:
    """A field with a description for agents, which the MCP server puts into the tool's schema."""
    return field(metadata={"description": text})


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchMatch:
    """One result of a search."""

    id: str = _described("What get_memory_evidence takes if kind is memory")
    kind: str = _described("memory, summary or turn")
    category: str = _described("Category of a memory; author of a turn or summary")
    project: str = _described("Name of the project; empty if it applies everywhere")
    day: str = _described("YYYY-MM-DD of when it was last said; empty if unknown")
    text: str
    score: float = _described("Relevance; comparable within one answer")
    reasons: tuple[str, ...] = _described("Why it was found")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposalReply:
    """The result of an agent's proposal: the id of the memory, whether it is active, and the message for the agent."""

    id: str
    active: bool
    message: str


LAYERS = {"memories": UnitKind.MEMORY, "summaries": UnitKind.SUMMARY, "turns": UnitKind.TURN}


def search_memory(
    workspace: Workspace,
    query: str,
    *,
    within: Sequence[str] = ("memories",),
    project: str = "",
    category: str = "",
    since: str = "",
    until: str = "",
    limit: int = 10,
) -> list[SearchMatch]:
    """Search for a query, best match first. ``project`` is a part of a project's name. ``since`` and ``until`` are days. Raises
    UsageError.
    """
    unknown = [item for item in within if item not in LAYERS]
    if unknown:
        raise UsageError(f"there is no layer {unknown[0]!r}", hint=f"layers: {', '.join(LAYERS)}")
    filters = search.Filters(
        project=project,
        category=category,
        since=workspace.day_bounds(workspace.day(since))[0] if since else None,
        until=workspace.day_bounds(workspace.day(until, last=True))[1] if until else None,
        statuses=("active",),
    )
    hits = search.search(
        workspace, query, where=[LAYERS[item] for item in within], limit=max(1, min(limit, _LIMIT)), filters=filters
    )
    return [
        SearchMatch(
            id=hit.id if hit.kind is UnitKind.MEMORY else hit.id[:12],
            kind=str(hit.kind),
            category=hit.category if hit.kind is UnitKind.MEMORY else hit.author,
            project=hit.project,
            day=hit.last_at.astimezone(workspace.zone).date().isoformat() if hit.last_at else "",
            text=_shorten_text(_hit_text(hit)),
            score=hit.score,
            reasons=hit.reasons,
        )
        for hit in hits
    ]


def format_matches(matches: Sequence[SearchMatch]) -> str:
    """Format matches as lines of remembered data."""
    lines = []
    for match in matches:
        label = match.id if match.kind == UnitKind.MEMORY else f"{match.kind} {match.id}"
        head = f"[{label}] {match.category}, {match.project or 'everywhere'}, {match.day or 'undated'}"
        lines.append(f"- {head}: {match.text} ({'; '.join(match.reasons)})")
    return frame_lines(lines) if lines else NOTHING


def _hit_text(hit: search.Hit) -> str:
    """The text of a hit. In a person's prompt, passages that are not their own words are labelled."""
    if hit.kind is UnitKind.TURN and hit.author == Author.HUMAN:
        return label_text(hit.text, find_spans(hit.text), 0, len(hit.text))
    return hit.text


def get_memory(workspace: Workspace, memory_id: str) -> str:
    """Format a memory with its evidence and history. Raises UsageError."""
    memory = find_memory(workspace, memory_id)
    memory_trace = trace_memory(workspace, memory, context=0)
    queue.log_used_memories(str(workspace.paths.state), [memory.id])
    lines = [
        (
            f"[{memory.id}] {memory.category}, {_scope_name(workspace, memory)}, {memory.status_at(workspace.clock())}: "
            f"{memory.content or '(forgotten)'}"
        )
    ]
    lines += [
        f"- evidence, {format_instant(each.at) if each.at else 'undated'}, {each.author}, session {each.session or 'none'}: "
        f"“{_shorten_text(each.quote)}”"
        for each, _ in memory_trace.evidence
    ]
    lines += [
        f"- {format_instant(head.recorded_at)[:10]}, {head.actor}: {type(each).__name__.lower()}, {each.reason}"
        for head, each in memory_trace.history
    ]
    ended = "may contradict" if memory.status is Status.HELD else "superseded by"
    lines += [f"- {ended} {memory.superseded_by}"] if memory.superseded_by else []
    return frame_lines(lines)


def get_day_history(workspace: Workspace, when: str) -> str:
    """Format a day: its sessions, and what the person worked on, learnt and confirmed. ``when`` is a day as a person writes it.
    Raises UsageError.
    """
    which = workspace.day(when)
    day_view = load_day_view(workspace, which)
    lines = [f"{which.isoformat()}: {format_count(len(day_view.sessions), 'session')}"]
    lines += [f"- {bullet.part}: {_shorten_text(bullet.text)}" for bullet in day_view.summary.condensed if not bullet.remembered]
    lines += [f"- session {activity.session} ({activity.source}), {activity.events} events" for activity in day_view.sessions]
    lines += [f"- learnt [{memory.id}] {memory.category}: {_shorten_text(memory.content)}" for memory in day_view.learnt]
    lines += [f"- confirmed [{memory.id}] {memory.category}: {_shorten_text(memory.content)}" for memory in day_view.confirmed]
    return (
        frame_lines(lines)
        if day_view.sessions or day_view.learnt or day_view.confirmed
        else f"Nothing is archived for {which.isoformat()}."
    )


def get_context(workspace: Workspace, message: str = "", project: str = "", budget: int = 0) -> str:
    """The context for a message in a project's directory, with the project's rules. An explicit ``budget`` is filled completely."""
    found = preview_context(workspace, message, directory=project, budget=budget, client="none", fill=bool(budget))
    return render_block(found.pieces) or NOTHING


def add_suggestion(workspace: Workspace, text: str, category: str = "", project: str = "") -> Memory:
    """Store an agent's suggestion. It is held until the transcript of its session shows whose words it contains. Raises UsageError.

    It applies to the project of a directory. If none is given, or the category is user-wide, it applies everywhere.
    """
    profile = workspace.profile_for("", project)
    kind = category_of(text, category, profile)
    if kind is None:
        raise UsageError(f"the profile {profile.id} has no category for that", hint="name a category: see `kept profiles`")
    return create_memory(workspace, text, format_kind(profile.id, kind.id), project="" if kind.user_wide else project, agent=True)


def suggest_memory(
    workspace: Workspace, text: str, category: str, project: str, *, lasts: str = "", alone: str = ""
) -> ProposalReply:
    """Store an agent's suggestion and return the reply for the agent. A suggestion that the agent itself doubts is held even if the
    settings trust agents. Raises UsageError.
    """
    doubted = bool(find_doubt(category, lasts, alone))
    with workspace.store.transaction():
        memory = add_suggestion(workspace, text, category, project)
        if workspace.settings.trust_agents and not doubted:
            _approve(workspace, memory)
            return ProposalReply(id=memory.id, active=True, message=f"Remembered as {memory.id}.")
    if workspace.settings.handover == "off" or doubted:
        return _held_reply(memory)
    message = (
        f"Noted as {memory.id}. Exact words of the user become active once this session is read; others are held for the user."
    )
    return ProposalReply(id=memory.id, active=False, message=message)


def resolve_question(workspace: Workspace, memory_id: str, answer: str, category: str) -> ProposalReply:
    """Answer an open question. The answer is a suggestion for the person. It takes effect at once if the settings trust agents.
    Raises UsageError.
    """
    question = find_memory(workspace, memory_id)
    if question.status not in (Status.ACTIVE, Status.HELD):
        raise UsageError(f"it is {question.status.value}", where=question.id, hint="only an open question can be answered")
    if workspace.settings.trust_agents:
        _, made = resolve(workspace, question.id, category, answer, agent=True)
        return ProposalReply(id=made.id, active=True, message=f"{question.id} is answered by {made.id}.")
    memory = create_memory(workspace, answer, category, project="", agent=True, scope=question.scope)
    advice = f"{question.id} stays open until the person runs `kept resolve {question.id} --as {category}`."
    return ProposalReply(id=memory.id, active=False, message=f"Held as {memory.id}; {advice}")


def _held_reply(memory: Memory) -> ProposalReply:
    return ProposalReply(id=memory.id, active=False, message=f"Held as {memory.id}: the person decides in `kept review`.")


def _approve(workspace: Workspace, memory: Memory) -> None:
    run = RunNumber(workspace, "suggest")
    operation = Approve(memory=memory.id, at=workspace.clock(), reason="the settings trust agents")
    run.commit("person", (operation,), subject=memory.id, actor=Actor.AGENT)
    run.end()


def format_memories(workspace: Workspace) -> str:
    """The memory file's lines, as remembered data. If there is no file, says where the memories are."""
    path = memory_path(workspace)
    workspace.refuse_links(path)
    try:
        return frame_lines(path.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        if not any(memory.status_at(workspace.clock()) is Status.ACTIVE for memory in workspace.store.log.memories()):
            return "Nothing is remembered yet."
        return "There is no memory file now. What applies to a project: get_task_context with its path, or search_memory."


def memory_path(workspace: Workspace) -> Path:
    """The path of the memory file."""
    return workspace.paths.output_path(workspace.profile.outputs.memory_file)


def format_known_days(workspace: Workspace) -> str:
    """All days with activity, latest first."""
    return "\n".join(day.isoformat() for day in sorted(list_active_days(workspace), reverse=True))


def _scope_name(workspace: Workspace, memory: Memory) -> str:
    return "everywhere" if memory.scope == "user" else workspace.name(memory.scope)


def _shorten_text(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _QUOTE else f"{line[: _QUOTE - 1]}…"
