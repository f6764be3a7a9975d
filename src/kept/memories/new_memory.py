"""Build a memory from given words, without a transcript. Pure."""

from datetime import datetime

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.event import Origin
from kept.core.memory import Evidence, Memory, Status
from kept.core.operation import Add, Resolve
from kept.core.value import replace

UNSURE = 0.6  # confidence of a memory that is held because it is not the person's words


def make_memory(
    memory_id: str,
    content: str,
    at: datetime | None,
    *,
    profile: str,
    category: str,
    scope: str,
    trusted: bool,
    origin: Origin = Origin.ASSISTANT,
    trigger: str = "",
    evidence: tuple[Evidence, ...] = (),
    artifacts: tuple[str, ...] = (),
    until: datetime | None = None,
) -> Memory:
    """A memory with the given words. If ``trusted``, it is active and owned by the person; else it is held and has ``origin``.

    ``artifacts`` are used if the words contain none.
    """
    return Memory(
        id=memory_id,
        profile=profile,
        category=category,
        scope=scope,
        status=Status.ACTIVE if trusted else Status.HELD,
        content=content,
        confidence=1.0 if trusted else UNSURE,
        origin=Origin.USER if trusted else origin,
        first_seen=at,
        last_seen=at,
        artifacts=find_artifacts(content) or artifacts,
        evidence=evidence,
        owned=trusted,
        valid_until=until,
        trigger=trigger,
    )


def answer_question(
    question: Memory, category: str, content: str, at: datetime, *, reason: str, agent: bool = False
) -> tuple[Add, Resolve]:
    """The operations that add an active memory with the answer to an open question, and resolve the question by it."""
    answer = make_memory(
        digest(question.id, category, content, at.isoformat(), size=5),
        content,
        at,
        profile=question.profile,
        category=category,
        scope=question.scope,
        trusted=not agent,
        trigger="resolved",
        evidence=question.evidence,
        artifacts=question.artifacts,
    )
    added = Add(memory=answer.id, at=at, reason=f"answers {question.id}", value=replace(answer, status=Status.ACTIVE))
    return added, Resolve(memory=question.id, at=at, reason=reason, by=answer.id)
