"""Read-only queries about memories and conversations: lists, origin, timeline, status, and look-up by id or name."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from kept.core.codec import json_fields, load_table
from kept.core.digest import digest
from kept.core.errors import MissingError, UsageError
from kept.core.event import Author, Event, Origin
from kept.core.memory import UNDERSTOOD, USER_SCOPE, Candidate, CandidateVerdict, Evidence, Memory, Refused, Status
from kept.core.operation import Add, Anticipate, Merge, Operation, Pass, Resolve, Supersede, find_undone_passes, stated_facts
from kept.core.text import jaccard_similarity, tokenize
from kept.core.times import format_instant, format_optional_instant
from kept.core.value import dataclass, replace
from kept.profiles.profile import find_kind
from kept.profiles.prompts import Prompt
from kept.store.sqlite import SqliteStore
from kept.store.values import Outline, Run, Thread
from kept.workspace import Workspace

TRUST = {Origin.USER: "your own words", Origin.ASSISTANT: "the assistant's words", Origin.TOOL: "what tools and files said"}
WORDS = load_table(Path(__file__).with_name("words.toml"))
"""How commands and the page call what kept stores by a short name, in tables."""

WHOSE: Mapping[str, str] = WORDS["authors"]
"""The display name of each author, addressed to the person."""


def find_main_evidence(source: Memory | Candidate) -> Evidence | None:
    """The evidence whose quote is most similar to the sentence of a memory or candidate. None if there is no evidence."""
    words = tokenize(source.content)
    return max(source.evidence, key=lambda item: jaccard_similarity(tokenize(item.quote), words), default=None)


def list_evidence(memory: Memory) -> tuple[Evidence, ...]:
    """The evidence of a memory for display. What a session says in the same words several times is included once."""
    first = {(item.session, item.path, item.author, item.quote): item for item in reversed(memory.evidence)}
    return tuple(reversed(first.values()))


def format_author(evidence: Evidence) -> str:
    """The author of a piece of evidence, in words addressed to the person."""
    pasted = evidence.author == Author.HUMAN.value and evidence.origin is Origin.TOOL
    return "pasted by you" if pasted else WHOSE.get(evidence.author, evidence.author)


def address_person(reason: str) -> str:
    """A recorded reason, with "the user" replaced by "you"."""
    for theirs, yours in (("the user said themselves", "you said yourself"), ("the user's", "your"), ("the user", "you")):
        reason = reason.replace(theirs, yours)
    return reason


def memory_revision(memory: Memory) -> str:
    """A hash of the visible parts of a memory, as twelve hex digits. It does not change if the memory is only confirmed."""
    ends = format_instant(memory.valid_until) if memory.valid_until else ""
    seen = (memory.content, memory.category, memory.scope, memory.status, str(memory.pinned), ends)
    return digest(memory.id, *seen, memory.superseded_by, memory.resolved_by, size=6)


_LOADED = 200  # memories loaded at a time for a list
_LEAST_NAME = 8  # minimum characters of a session prefix or file name


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryFilter:
    """A filter for lists of memories. A memory must meet all conditions that are set.

    ``project`` is a scope, or a project's name or part of it. ``words`` are substrings, all of which must occur. ``since``
    (inclusive) and ``before`` (exclusive) bound the time at which a memory was last seen; an unknown time is before all others.
    ``pinned`` selects pinned memories only. ``everything`` allows any status.
    """

    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    category: str = ""
    project: str = ""
    everything: bool = False
    words: str = ""
    origin: Origin | None = None
    since: datetime | None = None
    before: datetime | None = None
    pinned: bool = False


Value = TypeVar("Value")
Listed = TypeVar("Listed", bound=Memory | Outline)


def compile_filter(workspace: Workspace, which: MemoryFilter, moment: datetime) -> Callable[[Memory | Outline], bool]:
    """A function that tells whether a memory or outline passes a filter. The condition on words does not apply to outlines."""
    since, before = (format_optional_instant(bound) or "" for bound in (which.since, which.before))
    profile, category = find_kind(workspace.profiles, which.category)
    words, scopes = which.words.casefold().split(), matching_scopes(workspace.scope_names(), which.project) if which.project else ()

    def fits(memory: Memory | Outline) -> bool:
        status = memory.status_at(moment) if isinstance(memory, Memory) else memory.status
        return (
            (which.everything or status in which.statuses)
            and (not category or memory.category == category)
            and profile in ("", memory.profile)
            and (not which.project or memory.scope in scopes)
            and which.origin in (None, memory.origin)
            and (memory.pinned or not which.pinned)
            and (not since or _seen_text(memory) >= since)
            and (not before or _seen_text(memory) < before)
            and (isinstance(memory, Outline) or not words or has_words(memory, words))
        )

    return fits


def filter_memories(workspace: Workspace, memories: Iterable[Listed], which: MemoryFilter, moment: datetime) -> tuple[Listed, ...]:
    """The memories or outlines that pass a filter, sorted by project and category, newest first."""
    found = sorted(filter(compile_filter(workspace, which, moment), memories), key=lambda each: each.id)
    found.sort(key=_seen_text, reverse=True)
    return tuple(sorted(found, key=list_order(workspace)))


def list_order(workspace: Workspace) -> Callable[[Memory | Outline], tuple[bool, str, int, str, str]]:
    """The sort key of lists: the user's scope first, then the projects; within each, profiles and categories in their configured
    order.
    """
    kinds = [(profile.id, category.id) for profile in workspace.profiles for category in profile.categories]
    order = {kind: number for number, kind in enumerate(kinds)}

    def sort_key(memory: Memory | Outline) -> tuple[bool, str, int, str, str]:
        kind = (memory.profile, memory.category)
        return (memory.scope != USER_SCOPE, memory.scope, order.get(kind, len(order)), *kind)

    return sort_key


def _seen_text(item: Memory | Outline) -> str:
    return item.last_seen if isinstance(item, Outline) else format_optional_instant(item.last_seen) or ""


def list_active(workspace: Workspace, which: MemoryFilter, moment: datetime) -> Iterator[Memory]:
    """The memories that are active at ``moment`` and pass a filter, in list order. They are loaded lazily, ``_LOADED`` at a time.

    A filter with words, ``since`` or ``before`` is not supported: those conditions are ignored. Raises UsageError for an unknown
    project.
    """
    log, chosen = workspace.store.log, find_scopes(workspace, which.project)
    for scope in sorted(log.scopes() & chosen if which.project else log.scopes(), key=lambda scope: (scope != USER_SCOPE, scope)):
        found = filter_memories(workspace, log.outlines(moment, scope), replace(which, project=""), moment)
        for start in range(0, len(found), _LOADED):
            yield from log.some([item.id for item in found[start : start + _LOADED]])


def find_project(workspace: Workspace, project: str) -> str:
    """The scope of a project that is given by its folder. The name of a project, or part of one, is returned unchanged.

    An empty ``project`` means all projects and is also returned unchanged. Raises UsageError if there is no such project.
    """
    named = not project.startswith(("/", "~", ".")) and matching_scopes(workspace.scope_names(), project)
    return project if named or not project else workspace.find_scope(project)


def find_directory(workspace: Workspace, project: str) -> str:
    """The absolute path of a folder if it exists, else a folder of the project with that name. Raises UsageError."""
    folder = os.path.abspath(os.path.expanduser(project))  # noqa: PTH100, PTH111 - links must not be resolved
    if os.path.isdir(folder):  # noqa: PTH112 - as above
        return folder
    names = workspace.scope_names()
    scopes = matching_scopes(names, find_project(workspace, project))
    found = [item.directory for item in workspace.store.archive.projects() if workspace.scope(item.directory) in scopes]
    if len(scopes) > 1 or not found:
        problem = f"could be {', '.join(sorted(names[scope] for scope in scopes)[:3])}" if found else "has no folder here"
        raise UsageError(f"the project {project!r} {problem}", hint="name one of its folders; kept projects lists them")
    return found[0]


def matching_scopes(names: Mapping[str, str], project: str) -> frozenset[str]:
    """The scopes with the id or name ``project``. If there are none, the scopes whose names contain it.

    The user's scope is called "everywhere", as lists call it; its id is no name, since it may be part of a project's.
    """
    part = project.casefold()
    exact = {USER_SCOPE} if project == "everywhere" else {scope for scope, name in names.items() if project in (scope, name)}
    return frozenset(exact or {scope for scope, name in names.items() if part in name.casefold()})


def find_scopes(workspace: Workspace, project: str) -> frozenset[str]:
    """The scopes of the projects that ``project`` names. If ``project`` is empty, so is the result. Raises UsageError."""
    return matching_scopes(workspace.scope_names(), find_project(workspace, project)) if project else frozenset()


def has_words(memory: Memory, words: Iterable[str]) -> bool:
    """True if all words occur in a memory's id, content or subject. Parts of words count too."""
    text = f"{memory.id} {memory.content} {memory.subject}".casefold()
    return all(word in text for word in words)


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryTrace:
    """The origin of a memory: its evidence, each piece with the archived events around it, and all operations on it.

    ``models`` has the name and the reasoning of each model that proposed the memory. ``requests_by`` is the model that wrote the
    requests for which the memory should be found; empty if the agent that handed over the memory wrote them.
    """

    memory: Memory
    evidence: tuple[tuple[Evidence, tuple[Event, ...]], ...]
    history: tuple[tuple[Pass, Operation], ...]
    models: tuple[tuple[str, str], ...] = ()
    requests_by: str = ""


def trace_memory(workspace: Workspace, memory: Memory, *, context: int) -> MemoryTrace:
    """Load the origin of a memory, main evidence first, with ``context`` events before and after each piece of evidence."""
    source = find_main_evidence(memory)
    ordered = sorted(list_evidence(memory), key=lambda item: item is not source)
    evidence = tuple((item, workspace.store.archive.events_around(item.event, context, context)) for item in ordered)
    proposed = [
        proposal
        for proposal in workspace.store.log.proposals_with(memory.profile, memory.scope, memory.candidates)
        if proposal.judged.candidate.trigger == UNDERSTOOD and not isinstance(proposal.judged.verdict, Refused)
    ]
    notes = {pass_.id: pass_.note for pass_ in workspace.store.log.passes(only=[proposal.pass_id for proposal in proposed])}
    models = dict.fromkeys((notes[proposal.pass_id], proposal.judged.candidate.reasoning) for proposal in proposed)
    history = workspace.store.log.operations_on(memory.id)
    wrote = (
        made.note
        for made, operation in reversed(history)
        if isinstance(operation, Anticipate) and operation.needed_for == memory.needed_for
    )
    return MemoryTrace(memory=memory, evidence=evidence, history=history, models=tuple(models), requests_by=next(wrote, ""))


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreStatus:
    """The state of a home.

    ``categories`` counts active memories. ``of_inactive_profiles`` counts active memories of inactive profiles, which no output
    shows. ``unread`` is the number of threads that are pending extraction, ``not_asked`` of those pending extraction by a model (0
    if no model is set). ``prompts`` are the extraction prompts of the active profiles.
    """

    statuses: Counter[str]
    categories: Counter[str]
    of_inactive_profiles: Counter[str]
    files: int
    undated: int
    last_runs: tuple[Run, ...]
    unread: int
    outputs: tuple[str, ...]
    prompts: tuple[Prompt, ...] = ()
    not_asked: int = 0


def load_status(workspace: Workspace) -> StoreStatus:
    """Load the state of this home from the store and the settings."""
    statuses, categories, of_inactive_profiles = Counter[str](), Counter[str](), Counter[str]()
    active_profiles = {profile.id for profile in workspace.profiles}
    for (status, profile, category), count in workspace.store.log.count_memories(workspace.clock()).items():
        statuses[status] += count
        if status is Status.ACTIVE:
            categories[category] += count
            if profile not in active_profiles:
                of_inactive_profiles[profile] += count
    counts = workspace.store.archive.count()
    return StoreStatus(
        statuses=statuses,
        categories=categories,
        of_inactive_profiles=of_inactive_profiles,
        files=counts.files,
        undated=workspace.store.archive.count_undated_events(),
        last_runs=workspace.store.log.runs(5),
        unread=counts.pending,
        outputs=tuple(workspace.store.outputs()),
        prompts=tuple(workspace.extraction_prompt(profile) for profile in workspace.profiles),
        not_asked=counts.pending_llm if workspace.llm is not None else 0,
    )


def refused_candidates(workspace: Workspace) -> tuple[CandidateVerdict, ...]:
    """All refused candidates with their verdicts, except those whose words were forgotten."""
    return tuple(proposal.judged for proposal in workspace.store.log.refused() if proposal.judged.candidate.content)


def to_export(workspace: Workspace, memory: Memory, moment: datetime | None = None) -> dict[str, Any]:
    """A memory as a JSON object for ``kept export``, with its status at ``moment`` (default: now). No key is omitted."""
    same = ("id", "content", "about", "category", "scope", "origin", "pinned", "first_seen", "last_seen", "valid_until")
    body = json_fields(memory, *same, "observations", "artifacts", "needed_for", "supersedes", "profile", "trigger", "reason")
    return body | {
        "status": memory.status_at(moment or workspace.clock()).value,
        "confidence": None,  # the confidence is not a calibrated probability, so it is not exported
        "evidence": [
            json_fields(evidence, "quote", "session", "event", "at", "origin", "author", source="path")
            for evidence in memory.evidence
        ],
        "superseded_by": memory.superseded_by or None,
        "resolved_by": memory.resolved_by or None,
        "forgotten": not memory.content,
        "revision": memory_revision(memory),
    }


def find_by_prefix(values: Mapping[str, Value], prefix: str, missing: str, hint: str) -> Value:
    """The value with the key ``prefix``, or the only value whose key begins with it. Raises MissingError."""
    ids = [prefix] if prefix in values else [key for key in sorted(values) if prefix and key.startswith(prefix)]
    if len({id(values[key]) for key in ids}) != 1:
        raise MissingError(f"several ids begin with {prefix!r}" if ids else missing, hint=_join_first(ids) or hint)
    return values[ids[0]]


def _join_first(names: Sequence[str]) -> str:
    """Join the first three names, and add an ellipsis if there are more."""
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def find_session(workspace: Workspace, session: str, *, private: bool = False) -> str:
    """The id of the session with this id or unambiguous prefix. ``private`` includes opted-out sessions. Raises MissingError."""
    archive = workspace.store.archive
    known = {thread.session: thread.session for thread in archive.threads()}
    known |= {item.session: item.session for item in archive.opted_out_sessions() if private}
    return find_by_prefix(known, session, f"no session {session!r} is archived", "see `kept day`, or `kept why ID`, for sessions")


def load_conversation(workspace: Workspace, session: str) -> tuple[tuple[Thread, tuple[Event, ...]], ...]:
    """The threads of a session, each with its archived events.

    An event that several threads contain appears in the first of them only. ``session`` is an id or an unambiguous prefix. Raises
    MissingError.
    """
    session_id = find_session(workspace, session)
    seen: set[str] = set()
    result: list[tuple[Thread, tuple[Event, ...]]] = []
    for thread in [thread for thread in workspace.store.archive.threads() if thread.session == session_id]:
        events = tuple(event for event in workspace.store.archive.events(thread.id, 0, thread.events) if event.key not in seen)
        seen.update(event.key for event in events)
        if events:
            result.append((thread, events))
    return tuple(result)


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineEntry:
    """An operation in the timeline of a memory, with its pass and the words before and after it.

    ``off`` means that the pass is undone. ``other`` is the other memory that the operation involves: one that this memory was
    merged into, or that answers or supersedes it.
    """

    made: Pass
    operation: Operation
    off: bool
    before: str
    after: str
    other: Memory | None = None

    @property
    def kind(self) -> str:
        """The operation's class name in lower case."""
        return type(self.operation).__name__.lower()

    @property
    def changed(self) -> bool:
        """True if the operation changed the words."""
        return bool(self.before) and self.before != self.after


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """The timeline of a memory: its operations in order (``chapters``), the memories that it superseded (``before``), and the
    memory that superseded or resolved it (``now``).
    """

    trace: MemoryTrace
    chapters: tuple[TimelineEntry, ...]
    before: tuple[Memory, ...]
    now: Memory | None

    @property
    def memory(self) -> Memory:
        """The memory whose timeline this is."""
        return self.trace.memory


def build_timeline(workspace: Workspace, memory: Memory, *, context: int) -> Timeline:
    """Load the timeline of a memory, with ``context`` events before and after each piece of evidence. Raises StoreError."""
    memory_trace = trace_memory(workspace, memory, context=context)
    log = workspace.store.log
    now = log.memory(memory.superseded_by or memory.resolved_by) if memory.superseded_by or memory.resolved_by else None
    before = tuple(each for number in memory.supersedes if (each := log.memory(number)) is not None)
    return Timeline(trace=memory_trace, chapters=tuple(_timeline_entries(workspace, memory_trace)), before=before, now=now)


def _timeline_entries(workspace: Workspace, trace: MemoryTrace) -> Iterator[TimelineEntry]:
    undone, words = find_undone_passes(workspace.store.log.undo_redo_passes()), ""
    for made, operation in trace.history:
        facts = stated_facts(operation) if isinstance(operation, Add) or operation.memory == trace.memory.id else None
        content = facts.content if facts else words
        other = _related_memory_id(operation, trace.memory.id)
        yield TimelineEntry(
            made=made,
            operation=operation,
            off=made.id in undone,
            before=words,
            after=content,
            other=workspace.store.log.memory(other) if other else None,
        )
        words = words if made.id in undone else content


def list_contents(store: SqliteStore, memory: Memory) -> list[str]:
    """What a memory said after each of its operations, undone ones included, the first at first."""
    stated = (stated_facts(each) for _, each in store.log.operations_on(memory.id) if each.memory == memory.id)
    return [facts.content for facts in stated if facts]


def _related_memory_id(operation: Operation, memory_id: str) -> str:
    """The id of the other memory that an operation involves; empty if there is none. ``memory_id`` is the id of the first one."""
    match operation:
        case Merge(memory=winner) if winner != memory_id:
            return winner
        case Supersede(by=by) | Resolve(by=by):
            return by if by != memory_id else operation.memory
    return ""


def select_memories(
    workspace: Workspace, *, source: str = "", project: str = "", since: datetime | None = None, until: datetime | None = None
) -> tuple[Memory, ...]:
    """The memories that meet all given conditions, without forgotten ones.

    ``source`` is a result of :func:`find_source`, ``project`` a scope. A memory must have been first seen at ``since`` or later,
    and before ``until``. Memories that a person added have no source. Raises UsageError if no condition is given.
    """
    if not (source or project or since or until):
        raise UsageError("say what to forget", hint="give ids, --source, --session, --project, --since or --words")
    named = {thread.path for thread in workspace.store.archive.threads() if thread.source == source}
    return tuple(
        memory
        for memory in workspace.store.log.memories()
        if memory.content
        and (not source or any(quote.path in named or source in (quote.path, quote.session) for quote in memory.evidence))
        and project in ("", memory.scope)
        and (since is None or (memory.first_seen is not None and memory.first_seen >= since))
        and (until is None or (memory.first_seen is not None and memory.first_seen < until))
    )


def find_source(workspace: Workspace, source: str) -> str:
    """The id of the session that ``source`` is a prefix of, or the path of the file that it names. It needs 8 characters or more.

    Anything else is returned unchanged: a complete id or path, or the name of a source. Raises MissingError if several sessions or
    files match.
    """
    places = {(thread.session, thread.path) for thread in workspace.store.archive.threads()}
    places |= {(quote.session, quote.path) for memory in workspace.store.log.memories() for quote in memory.evidence}
    if len(source) < _LEAST_NAME or any(source in place for place in places):
        return source
    found = {session for session, _ in places if session.startswith(source)}
    found |= {path for _, path in places if path.endswith(f"/{source}")}
    if len(found) > 1:
        raise MissingError(f"several sessions or files fit {source!r}", hint=_join_first(sorted(found)))
    return next(iter(found), source)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationSelection:
    """Selected conversations: their session ids and, if a time span was given, the keys of their events in it.

    ``times`` has the first and last selected moment of each conversation that has times.
    """

    sessions: frozenset[str]
    events: frozenset[str]
    times: tuple[tuple[datetime, datetime], ...]


def select_conversations(
    workspace: Workspace, *, source: str = "", project: str = "", since: datetime | None = None, until: datetime | None = None
) -> ConversationSelection:
    """Select the conversations of a source and project, and their events in a time span if one is given. Raises DamagedError."""
    archive = workspace.store.archive
    threads = [
        thread
        for thread in archive.threads()
        if source in ("", thread.source, thread.path, thread.session)
        and (not project or workspace.scope(thread.project, thread.path) == project)
        and (since is None or (thread.last_at is not None and thread.last_at >= since))
        and (until is None or (thread.first_at is not None and thread.first_at < until))
    ]
    events: set[str] = set()
    for item in threads if since or until else ():
        for event in archive.events(item.id, 0, item.events):
            if event.at is not None and (since is None or event.at >= since) and (until is None or event.at < until):
                events.add(event.key)
    times = tuple(
        (max(filter(None, (thread.first_at, since))), min(filter(None, (thread.last_at, until))))
        for thread in threads
        if thread.first_at and thread.last_at
    )
    return ConversationSelection(sessions=frozenset(thread.session for thread in threads), events=frozenset(events), times=times)
