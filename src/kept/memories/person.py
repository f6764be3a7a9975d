"""A person's own operations (add, edit, retire, resolve, pin, approve, reject), and suggestions of agents.

Each is one pass in a run of its own, so that ``kept undo`` without an argument reverts it. Only words that the person types later
can change its result.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from datetime import datetime

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.errors import MissingError, StaleError, UsageError
from kept.core.event import Origin
from kept.core.memory import APPROVED, MOVED, REDACTED, SPLIT, SUGGESTED, USER_SCOPE, WAS_SO, Actor, Memory, Refused, Status
from kept.core.operation import (
    FORGOTTEN,
    Add,
    Approve,
    Merge,
    Operation,
    Pin,
    Reaffirm,
    Reject,
    Retire,
    Revise,
    Supersede,
    to_facts,
)
from kept.core.text import normal_form
from kept.core.value import replace
from kept.extraction.sensitive import is_redacted
from kept.intake.projects import record_directory
from kept.memories.browse import find_scopes, memory_revision
from kept.memories.new_memory import answer_question, make_memory
from kept.memories.waiting import accepted_memory_id, find_refused, record_judgement, to_held_memory
from kept.memories.wording import clean_memory_text, find_new_end
from kept.profiles.profile import find_kind
from kept.workspace import RunNumber, Workspace

_SHARED_RUN: ContextVar[RunNumber | None] = ContextVar("shared_run", default=None)
_STANDING = (Status.ACTIVE, Status.HELD)  # the stored statuses of memories that have not ended
_LISTED, _SHORT = 8, 40  # for an ambiguous id: maximum number of memories listed, and characters shown of each


def find_memory(workspace: Workspace, memory_id: str) -> Memory:
    """The memory with this id or unambiguous prefix. Raises MissingError; if several ids match, its hint lists them.

    The id of a refused candidate that a person has decided on gives the memory that it became.
    """
    if (exact := workspace.store.log.memory(memory_id)) is not None:
        return exact
    ids = workspace.store.log.memory_ids_with_prefix(memory_id) if memory_id.isalnum() else ()
    if len(ids) == 1 and (found := workspace.store.log.memory(ids[0])) is not None:
        return found
    if not ids:
        missing = MissingError(f"no memory {memory_id!r}", hint="see `kept list` for ids")
        try:  # it may be the id of a proposal that a person has decided on
            became = workspace.store.log.memory(accepted_memory_id(find_refused(workspace, memory_id).candidate.id))
        except MissingError:
            raise missing from None
        if became is None:
            raise missing
        return became
    named = [memory for item in ids[:_LISTED] if (memory := workspace.store.log.memory(item)) is not None]
    could = ", ".join(f"{item.id} “{item.content[:_SHORT]}”" for item in named)
    raise MissingError(f"several ids begin with {memory_id!r}", hint=could + (", …" if len(ids) > _LISTED else ""))


def create_memory(
    workspace: Workspace,
    text: str,
    category: str,
    *,
    project: str = "",
    scope: str = "",
    until: datetime | None = None,
    agent: bool = False,
    told_by: str = "the user",
) -> Memory:
    """Add a memory with the person's sentence. It is active, or held if an ``agent`` suggests it or a secret was taken out of it.

    Its scope is that of the directory ``project`` if given, else ``scope`` if given, else the user's scope. A held or expired
    memory that says it becomes active, with this category and end. Raises UsageError if the category is unknown, the text is
    unusable, or an active memory (for an agent, also a held one) already says it.
    """
    now = workspace.clock()
    content = clean_memory_text(workspace, text)
    profile, kind = workspace.kind(category)
    if project:
        record_directory(workspace, project)
    scope = workspace.scope(project) if project else scope or USER_SCOPE
    stored = (memory for memory in workspace.store.log.memories(group=(profile.id, scope)) if memory.status in _STANDING)
    same = [memory for memory in stored if normal_form(memory.content) == normal_form(content)]
    for memory in sorted(same, key=lambda memory: memory.status_at(now) is not Status.ACTIVE)[:1]:
        if agent or memory.status_at(now) is Status.ACTIVE:
            raise UsageError("that is remembered already", where=memory.id, hint=f"see `kept show {memory.id}`")
        facts = replace(to_facts(memory), content=content, category=kind.id, last_seen=now, valid_until=until)
        revised = Revise(memory=memory.id, at=now, reason=f"told by {told_by}", facts=facts)
        waits = memory.status is Status.HELD and not is_redacted(content)
        approved = [Approve(memory=memory.id, at=now, reason=APPROVED)] if waits else []
        _commit_operations(workspace, "add", revised, *approved)
        return find_memory(workspace, memory.id)
    value = make_memory(
        digest(profile.id, scope, kind.id, content, now.isoformat(), size=5),
        content,
        now,
        profile=profile.id,
        category=kind.id,
        scope=scope,
        trusted=not agent and not is_redacted(content),
        origin=Origin.ASSISTANT if agent else Origin.USER,
        trigger=SUGGESTED if agent else "told",
        until=until,
    )
    told = f"held: {REDACTED}" if value.status is Status.HELD else f"told by {told_by}"
    actor, reason = (Actor.AGENT, "held: suggested by an agent") if agent else (Actor.PERSON, told)
    added = Add(memory=value.id, at=now, reason=reason, value=value)
    _commit_operations(workspace, "suggest" if agent else "add", added, actor=actor)
    return find_memory(workspace, value.id)


def _own_category(workspace: Workspace, memory: Memory, category: str) -> str:
    """The id of a category in the profile of ``memory``. Raises UsageError if the profile does not have it."""
    profile = workspace.profile_of(memory) or workspace.profile
    wanted = find_kind((profile,), category.removeprefix(f"{memory.profile}."))[1]
    if profile.category(wanted) is None:
        known = ", ".join(category.id for category in profile.categories)
        raise UsageError(f"no category {category!r} in profile {profile.id!r}", hint=f"categories: {known}")
    return wanted


@contextmanager
def _locked_memory(workspace: Workspace, memory_id: str, if_match: str, *allowed: Status) -> Iterator[Memory]:
    """A context with a memory in a transaction, so that no other process can change it. Raises StaleError, UsageError.

    ``if_match`` is the revision that the memory must have; empty accepts any. Its status must be in ``allowed``, if any are given.
    """
    with workspace.store.transaction():
        memory = find_memory(workspace, memory_id)
        now = memory_revision(memory)
        if if_match not in ("", now):
            state = f"it is now {memory.status.value}: “{memory.content}”"
            raise StaleError(
                f"this memory was changed meanwhile; {state}", where=memory.id, hint="nothing was changed; look at it, then retry"
            )
        if allowed and memory.status not in allowed:
            raise UsageError(
                f"it is {memory.status.value}",
                where=memory.id,
                hint=f"only {' or '.join(allowed)} memories can be changed like this",
            )
        yield memory


def edit(
    workspace: Workspace, memory_id: str, text: str, *, category: str | None = None, if_match: str = "", agent: bool = False
) -> Memory:
    """Change the words or category of a memory. Untrusted agents may change held ones only. Raises UsageError, StaleError."""
    allowed = (Status.HELD,) if agent and not workspace.settings.trust_agents else ()
    with _locked_memory(workspace, memory_id, if_match, *allowed) as memory:
        _refuse_forgotten(memory)
        content, now = clean_memory_text(workspace, text), workspace.clock()
        facts = replace(
            to_facts(memory),
            content=content,
            category=memory.category if category is None else _own_category(workspace, memory, category),
            artifacts=find_artifacts(content),
            last_seen=now,
            valid_until=find_new_end(workspace, memory, content),
        )
        reason = WAS_SO if memory.reason == WAS_SO else f"edited by {_who(agent=agent)}"  # "was so" stays true after rewording
        return _commit_one(workspace, "edit", Revise(memory=memory.id, at=now, reason=reason, facts=facts), agent=agent)


def move(workspace: Workspace, memory_id: str, project: str, *, if_match: str = "") -> Memory:
    """Move a memory to the project with this scope, name or folder, or to "everywhere".

    A new memory there supersedes it. The old one stays in the store, so reading the transcripts again does not bring it back.
    Raises UsageError, StaleError.
    """
    with _locked_memory(workspace, memory_id, if_match, *_STANDING) as memory:
        names = workspace.scope_names() | {USER_SCOPE: "everywhere"}
        scopes = [*find_scopes(workspace, project)]
        if len(scopes) != 1:
            known = ", ".join(names[scope] for scope in sorted(scopes)[:_LISTED])
            raise UsageError(
                f"{project!r} is {'no project' if not scopes else 'several'}", hint=known or "kept projects lists them"
            )
        if scopes[0] == memory.scope:
            return memory
        reason = f"{MOVED} {names[scopes[0]]} by the user"
        return _give_way(workspace, "edit", memory, [replace(memory, scope=scopes[0])], reason)[0]


def _give_way(workspace: Workspace, command: str, memory: Memory, parts: Sequence[Memory], reason: str) -> list[Memory]:
    """Add new memories with the content and scope of ``parts``, and supersede ``memory`` by the first of them.

    Returns the new memories. The person owns them. The change is dated to when ``memory`` was first seen.
    """
    names = [digest(memory.id, part.scope, part.content, workspace.clock().isoformat(), size=5) for part in parts]
    pairs, at = zip(names, parts, strict=True), memory.first_seen
    own = [replace(part, id=name, candidates=(), supersedes=(), owned=True) for name, part in pairs]
    added = (Add(memory=part.id, at=at, reason=reason, value=part) for part in own)
    _commit_operations(workspace, command, *added, Supersede(memory=memory.id, at=at, reason=reason, by=own[0].id))
    return [find_memory(workspace, part.id) for part in own]


def retire(workspace: Workspace, memory_id: str, reason: str = "", *, if_match: str = "", agent: bool = False) -> Memory:
    """Retire a memory that is no longer true. The same candidate does not bring it back. Raises UsageError, StaleError."""
    with _locked_memory(workspace, memory_id, if_match, *_STANDING) as memory:
        operation = Retire(memory=memory.id, at=workspace.clock(), reason=reason or f"retired by {_who(agent=agent)}")
        if reason and not agent:
            record_judgement(workspace, memory, reason)
        return _commit_one(workspace, "retire", operation, agent=agent)


def split(workspace: Workspace, memory_id: str, first: str, second: str, *, if_match: str = "") -> list[Memory]:
    """Split a memory into two with the given words. The first of them supersedes it. Raises UsageError, StaleError.

    Each part gets the evidence whose quotes contain its words. If there is none, it gets all evidence of the memory.
    """
    with _locked_memory(workspace, memory_id, if_match, *_STANDING) as memory:
        contents, parts = [clean_memory_text(workspace, text) for text in (first, second)], []
        if normal_form(contents[0]) == normal_form(contents[1]):
            raise UsageError("both parts say the same", where=memory.id, hint="give each its own words")
        for content in contents:
            saying = tuple(quote for quote in memory.evidence if normal_form(content) in normal_form(quote.quote))
            end = find_new_end(workspace, memory, content)
            part = replace(
                memory, content=content, evidence=saying or memory.evidence, artifacts=find_artifacts(content), valid_until=end
            )
            parts.append(replace(part, status=Status.ACTIVE, superseded_by=""))
        return _give_way(workspace, "split", memory, parts, SPLIT)


def _who(*, agent: bool) -> str:
    return "an agent" if agent else "the user"


def keep(workspace: Workspace, memory_id: str, *, if_match: str = "") -> Memory:
    """Confirm that an active or expired memory is still true. The end of an expired one is removed. Raises UsageError, StaleError.

    The person owns the memory from then on.
    """
    with _locked_memory(workspace, memory_id, if_match, Status.ACTIVE) as memory:
        now = workspace.clock()
        expired = memory.status_at(now) is Status.EXPIRED
        facts = replace(to_facts(memory), last_seen=now, valid_until=None if expired else memory.valid_until)
        return _commit_one(workspace, "keep", Reaffirm(memory=memory.id, at=now, reason="confirmed by the user", facts=facts))


def approve(workspace: Workspace, memory_id: str, *, if_match: str = "") -> Memory:
    """Make a held, retired or rejected memory active. Raises UsageError, StaleError."""
    with _locked_memory(workspace, memory_id, if_match, Status.HELD, Status.RETIRED, Status.REJECTED) as memory:
        _refuse_forgotten(memory)
        return _commit_one(workspace, "approve", Approve(memory=memory.id, at=workspace.clock(), reason=APPROVED))


def _refuse_forgotten(memory: Memory) -> None:
    if not memory.content:
        raise UsageError("this memory was forgotten; nothing can bring it back", where=memory.id)


def reject(
    workspace: Workspace, memory_id: str, *, past: bool = False, until: datetime | None = None, if_match: str = ""
) -> Memory:
    """Reject a held memory, so that it is not proposed again. Raises UsageError, StaleError.

    ``past`` means that it used to be true, until the time ``until``. It is then stored as a memory that has ended.
    """
    with _locked_memory(workspace, memory_id, if_match, Status.HELD) as memory:
        _commit_operations(workspace, "past" if past else "reject", *_decline(workspace, memory, past=past, until=until))
        return find_memory(workspace, memory.id)


def _decline(workspace: Workspace, memory: Memory, *, past: bool, until: datetime | None) -> Sequence[Operation]:
    """The operations that reject a held memory. If ``past``, they approve it and end it instead.

    Its end is ``until`` if given, else the time at which the memory that contradicts it was first seen, else now.
    """
    now = workspace.clock()
    if not past:
        return (Reject(memory=memory.id, at=now, reason="rejected by the user"),)
    then = Approve(memory=memory.id, at=memory.first_seen, reason=WAS_SO)
    later = workspace.store.log.memory(memory.superseded_by) if memory.superseded_by else None
    if later is None:
        return then, Retire(memory=memory.id, at=until or now, reason=WAS_SO)
    return then, Supersede(memory=memory.id, at=until or later.first_seen or now, reason=WAS_SO, by=later.id)


def pin(workspace: Workspace, memory_id: str, *, on: bool = True, if_match: str = "") -> Memory:
    """Pin a memory, or unpin it if ``on`` is False. A pinned memory is always shown, and kept never changes it.

    Raises UsageError, StaleError.
    """
    with _locked_memory(workspace, memory_id, if_match, *_STANDING) as memory:
        if memory.pinned == on:
            return memory
        operation = Pin(memory=memory.id, at=workspace.clock(), reason="pinned by the user", on=on)
        return _commit_one(workspace, "pin" if on else "unpin", operation)


def resolve(
    workspace: Workspace, memory_id: str, category: str, text: str = "", *, agent: bool = False, if_match: str = ""
) -> tuple[Memory, Memory]:
    """Resolve a memory (an open question) with a new memory that answers it. Returns both memories. Raises UsageError, StaleError.

    The answer is ``text``, or the question's own text if that is empty. ``agent`` means that a trusted agent gives the answer.
    """
    with _locked_memory(workspace, memory_id, if_match, *_STANDING) as memory:
        category, now = _own_category(workspace, memory, category), workspace.clock()
        content = clean_memory_text(workspace, text or memory.content)
        operations = answer_question(memory, category, content, now, reason=f"answered by {_who(agent=agent)}", agent=agent)
        _commit_operations(workspace, "resolve", *operations, actor=Actor.AGENT if agent else Actor.PERSON)
        return find_memory(workspace, memory.id), find_memory(workspace, operations[0].memory)


def merge(
    workspace: Workspace, numbers: Sequence[str], text: str = "", *, category: str | None = None, if_match: Sequence[str] = ()
) -> Memory:
    """Merge several memories into the first, which gets all their evidence.

    If ``text`` is given, it replaces the words of the first. ``if_match`` has the expected revisions in the same order. Raises
    UsageError if the memories have different scopes or profiles, and StaleError.
    """
    seen = (*if_match, *("" for _ in range(len(numbers) - len(if_match))))
    with ExitStack() as held:
        pairs = zip(numbers, seen, strict=True)
        locked = [held.enter_context(_locked_memory(workspace, *pair, *_STANDING)) for pair in pairs]
        first, *others = every = list({memory.id: memory for memory in locked}.values())
        if not others:
            raise UsageError("a merge needs two memories or more", hint="give another id")
        for entry in others:
            if (entry.profile, entry.scope) != (first.profile, first.scope):
                raise UsageError("memories of different projects or profiles stay apart", where=entry.id)
        now = workspace.clock()
        content = clean_memory_text(workspace, text or first.content)
        sessions = {item.session for memory in every for item in memory.evidence}
        facts = replace(
            to_facts(first),
            content=content,
            category=_own_category(workspace, first, category) if category else first.category,
            confidence=max(memory.confidence for memory in every),
            artifacts=find_artifacts(content),
            added=tuple(item for memory in others for item in memory.evidence),
            first_seen=min((memory.first_seen for memory in every if memory.first_seen), default=None),
            last_seen=max((memory.last_seen for memory in every if memory.last_seen), default=None),
            observations=max(len(sessions), *(memory.observations for memory in every)),
            candidates=tuple(dict.fromkeys(candidate for memory in every for candidate in memory.candidates)),
            fingerprint=next((memory.fingerprint for memory in every if memory.fingerprint), ""),
            subject=next((memory.subject for memory in every if memory.subject), ""),
        )
        losers = tuple(memory.id for memory in others)
        operations: list[Operation] = [Merge(memory=first.id, at=now, reason="merged by the user", losers=losers, facts=facts)]
        if first.status is Status.HELD:
            operations.append(Approve(memory=first.id, at=now, reason="merged by the user"))
        _commit_operations(workspace, "merge", *operations)
        return find_memory(workspace, first.id)


def accept_refused(workspace: Workspace, candidate: str, reason: str = "refused by kept, right after all by the user") -> Memory:
    """Add a refused candidate as an active memory. Raises MissingError, and UsageError if it is already a memory."""
    with workspace.store.transaction():
        value = _memory_of_refused(workspace, candidate, Status.ACTIVE)
        _commit_operations(workspace, "admit", Add(memory=value.id, at=workspace.clock(), reason=reason, value=value))
        return find_memory(workspace, value.id)


def reject_refused(workspace: Workspace, candidate: str, *, past: bool = False, until: datetime | None = None) -> Memory:
    """Reject a wish said once, as :func:`reject` does for a held memory.

    Raises MissingError, and UsageError if it is already a memory.
    """
    with workspace.store.transaction():
        value = _memory_of_refused(workspace, candidate, Status.HELD)
        added = Add(memory=value.id, at=value.first_seen if past else workspace.clock(), reason=value.trigger, value=value)
        _commit_operations(workspace, "past" if past else "reject", added, *_decline(workspace, value, past=past, until=until))
        return find_memory(workspace, value.id)


def _memory_of_refused(workspace: Workspace, candidate: str, status: Status) -> Memory:
    """The memory that a refused candidate becomes, with ``status``. Raises MissingError if there is no such candidate.

    Raises UsageError if it is already a memory or was forgotten.
    """
    judged = find_refused(workspace, candidate)
    found = judged.candidate
    if isinstance(judged.verdict, Refused) and judged.verdict.reason == FORGOTTEN:
        raise UsageError("this was forgotten; nothing can bring it back", where=candidate)
    content = clean_memory_text(workspace, found.content)
    for memory in workspace.store.log.memories(group=(found.profile, found.scope)):
        same = normal_form(memory.content) == normal_form(content)
        if found.id in memory.candidates or (same and memory.status in _STANDING):
            raise UsageError("that is remembered already", where=memory.id, hint=f"see `kept show {memory.id}`")
    return replace(to_held_memory(found), id=accepted_memory_id(found.id), status=status, content=content, owned=True, reason="")


@contextmanager
def one_run(workspace: Workspace, command: str) -> Iterator[RunNumber]:
    """A context in which all changes by the person form one run and one transaction. A single undo then reverts all of them."""
    run = RunNumber(workspace, command)
    with workspace.store.transaction():
        token = _SHARED_RUN.set(run)
        try:
            yield run
        finally:
            _SHARED_RUN.reset(token)
        run.end()


def _commit_one(workspace: Workspace, command: str, operation: Operation, *, agent: bool = False) -> Memory:
    _commit_operations(workspace, command, operation, actor=Actor.AGENT if agent else Actor.PERSON)
    return find_memory(workspace, operation.memory)


def _commit_operations(workspace: Workspace, command: str, *operations: Operation, actor: Actor = Actor.PERSON) -> None:
    with workspace.store.transaction():
        shared = _SHARED_RUN.get()
        run = shared or RunNumber(workspace, command)
        run.commit("person", operations, subject=operations[0].memory, actor=actor)
        if not shared:
            run.end()
