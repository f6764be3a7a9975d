"""What a person decides on what waits, whether the store has it (held) or has the proposal alone (a wish that was said once)."""

from dataclasses import replace
from datetime import datetime

from kept.core.errors import MissingError, StaleError
from kept.core.event import Origin
from kept.core.memory import TEAM, Evidence, Memory, Refused, Status
from kept.core.operation import APPROVED, Add
from kept.memories import browse, person, waiting
from kept.workspace import Workspace


def hold_clash(number: str, memory: Memory, content: str, at: datetime, *, path: str, by: str = "") -> Add:
    """What a person said at ``path`` of a memory that was changed elsewhere meanwhile, or what somebody else (``by``) says: it
    waits beside what that says now.
    """
    origin = Origin.ASSISTANT if by else Origin.USER
    evidence = Evidence(quote=content, event="", session="", path=path, at=at, author=by or "file", origin=origin)
    value = person.make_memory(
        number,
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
    return Add(memory=number, at=at, reason=reason, value=value)


def find_decidable(workspace: Workspace, number: str) -> Memory:
    """The memory of an id; else the proposal of that id, or the memory it became. Raises MissingError."""
    try:
        return person.find_memory(workspace, number)
    except MissingError as missing:
        try:
            return waiting.find_pending_wish(workspace, number)
        except MissingError:
            raise missing from None


def find_explainable(workspace: Workspace, number: str) -> Memory:
    """What :func:`find_decidable` finds; else the candidate of that id that kept refused, with the reason. Raises MissingError."""
    try:
        return find_decidable(workspace, number)
    except MissingError:
        try:
            judged = waiting.find_refused(workspace, number)
        except MissingError:
            judged = None
        if judged is None or not isinstance(judged.verdict, Refused) or not judged.candidate.content:
            raise  # nothing has this id, or what it said was forgotten
        verdict = judged.verdict
        reason = f"kept refused it: {verdict.reason}{f' ({verdict.detail})' if verdict.detail else ''}"
        return replace(waiting.to_held_memory(judged.candidate), status=Status.REJECTED, reason=reason)


def approve(workspace: Workspace, number: str, *, content: str = "", category: str = "", if_match: str = "") -> Memory:
    """Make it active, in other words or another category where some are given. Raises MissingError, UsageError, StaleError."""
    with workspace.store.transaction():
        memory = find_decidable(workspace, number)
        words, kind = content or memory.content, category or memory.category
        if not _is_stored(workspace, memory):
            _check_revision(memory, if_match)
            memory, if_match = person.accept_refused(workspace, memory.id, APPROVED), ""
        if (words, kind) != (memory.content, memory.category):
            memory = person.edit(workspace, memory.id, words, category=kind, if_match=if_match)
            if_match = ""
        return memory if memory.status is Status.ACTIVE else person.approve(workspace, memory.id, if_match=if_match)


def reject(workspace: Workspace, number: str, *, if_match: str = "") -> Memory:
    """Turn it down: the same proposal does not come back. Raises MissingError, UsageError, StaleError."""
    with workspace.store.transaction():
        memory = find_decidable(workspace, number)
        if _is_stored(workspace, memory):
            return person.reject(workspace, memory.id, if_match=if_match)
        _check_revision(memory, if_match)
        return person.reject_refused(workspace, memory.id)


def _is_stored(workspace: Workspace, memory: Memory) -> bool:
    return workspace.store.log.memory(memory.id) is not None


def _check_revision(memory: Memory, if_match: str) -> None:
    if if_match not in ("", browse.memory_revision(memory)):
        raise StaleError("this was changed meanwhile", where=memory.id, hint="nothing was changed; look, then say again")
