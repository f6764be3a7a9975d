"""A person's decisions on pending proposals.

A proposal is a held memory, or a wish said once, which is stored only as a candidate.
"""

from dataclasses import replace
from datetime import datetime

from kept.core.errors import MissingError, StaleError
from kept.core.event import Origin
from kept.core.memory import APPROVED, NOT_TAKEN, TEAM, CandidateVerdict, Evidence, Memory, Refused, Status
from kept.core.operation import Add
from kept.core.text import tokenize
from kept.memories import browse, person, waiting
from kept.memories.new_memory import make_memory
from kept.workspace import Workspace

_FOUND = 200  # maximum number of memories considered that contain any of the words


def hold_conflict(memory_id: str, memory: Memory, content: str, at: datetime, *, path: str, by: str = "") -> Add:
    """The operation that adds a held memory with other words beside ``memory``.

    Without ``by``, the words are the person's, who wrote them at ``path`` while the memory was changed elsewhere. With ``by``, they
    are the words of that other person.
    """
    origin = Origin.ASSISTANT if by else Origin.USER
    evidence = Evidence(quote=content, event="", session="", path=path, at=at, author=by or "file", origin=origin)
    value = make_memory(
        memory_id,
        content,
        at,
        profile=memory.profile,
        category=memory.category,
        scope=memory.scope,
        trusted=False,
        origin=origin,
        trigger=TEAM if by else "written",
        evidence=(evidence,),
    )
    value = replace(value, superseded_by=memory.id)
    reason = f"held: {by} says otherwise, in {path}" if by else "held: the line was changed elsewhere meanwhile"
    return Add(memory=memory_id, at=at, reason=reason, value=value)


def find_decidable(workspace: Workspace, memory_id: str) -> Memory:
    """The memory with this id, else the pending wish with this id. If the person already decided on the wish, the memory it became.

    Raises MissingError.
    """
    try:
        return person.find_memory(workspace, memory_id)
    except MissingError as missing:
        try:
            return waiting.find_pending_wish(workspace, memory_id)
        except MissingError:
            raise missing from None


def find_explainable(workspace: Workspace, asked: str) -> tuple[Memory, ...]:
    """The memories that a person may mean by ``asked``. If :func:`find_decidable` finds one, that is the only one.

    Otherwise, these are all memories, proposals and refused candidates whose id begins with ``asked``, or that contain all of its
    words. Refused candidates are converted to memories. Raises MissingError if nothing is found.
    """
    try:
        return (find_decidable(workspace, asked),)
    except MissingError:
        words, ids = tokenize(asked), workspace.store.log.memory_ids_with_prefix(asked) if asked.isalnum() else ()
        wishes = [memory for memory, stored in waiting.collect_pending(workspace) if not stored]
        memories = (*workspace.store.log.some(ids), *(memory for memory, _ in workspace.store.log.search(sorted(words), _FOUND)))
        taken = {number for memory in (*memories, *wishes) for number in (memory.id, *memory.candidates)}
        refused = map(_explain_refused, browse.refused_candidates(workspace))
        found = {
            memory.id: memory
            for memory in (*memories, *wishes, *(memory for memory in refused if memory.id not in taken))
            if memory.id.startswith(asked) or (words and browse.has_words(memory, words))
        }
        if not found:
            raise
        return tuple(found.values())


def _explain_refused(judged: CandidateVerdict) -> Memory:
    """Convert a refused candidate to a rejected memory whose reason says why it was refused."""
    reason = ""
    if isinstance(verdict := judged.verdict, Refused):
        reason = f"{NOT_TAKEN}: {verdict.reason}{f' ({verdict.detail})' if verdict.detail else ''}"
    return replace(waiting.to_held_memory(judged.candidate), status=Status.REJECTED, reason=reason)


def approve(workspace: Workspace, memory_id: str, *, content: str = "", category: str = "", if_match: str = "") -> Memory:
    """Make a proposal active, with new words or another category if they are given. Raises MissingError, UsageError, StaleError."""
    with workspace.store.transaction():
        memory = find_decidable(workspace, memory_id)
        words, kind = content or memory.content, category or memory.category
        if not _is_stored(workspace, memory):
            _check_revision(memory, if_match)
            memory, if_match = person.accept_refused(workspace, memory.id, APPROVED), ""
        if (words, kind) != (memory.content, memory.category):
            memory = person.edit(workspace, memory.id, words, category=kind, if_match=if_match)
            if_match = ""
        return memory if memory.status is Status.ACTIVE else person.approve(workspace, memory.id, if_match=if_match)


def reject(
    workspace: Workspace, memory_id: str, *, past: bool = False, until: datetime | None = None, if_match: str = ""
) -> Memory:
    """Reject a proposal, so that it is not proposed again. ``past`` means that it used to be true, until the time ``until``.

    Raises MissingError, UsageError, StaleError.
    """
    with workspace.store.transaction():
        memory = find_decidable(workspace, memory_id)
        if _is_stored(workspace, memory):
            return person.reject(workspace, memory.id, past=past, until=until, if_match=if_match)
        _check_revision(memory, if_match)
        return person.reject_refused(workspace, memory.id, past=past, until=until)


def _is_stored(workspace: Workspace, memory: Memory) -> bool:
    return workspace.store.log.memory(memory.id) is not None


def _check_revision(memory: Memory, if_match: str) -> None:
    if if_match not in ("", browse.memory_revision(memory)):
        raise StaleError("this was changed meanwhile", where=memory.id, hint="nothing was changed; look at it, then try again")
