"""Build a memory from given words, without a transcript. Pure."""

from datetime import datetime

from kept.core.artifact import find_artifacts
from kept.core.event import Origin
from kept.core.memory import Evidence, Memory, Status

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
