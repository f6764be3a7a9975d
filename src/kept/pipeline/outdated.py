"""Which memories only rules of earlier versions made; ``kept upgrade`` replaces them."""

from kept.core.memory import TOLD, Memory, Status
from kept.core.text import word_set
from kept.workspace import Workspace

#: What made a memory in earlier versions and makes none today.
RETIRED_TRIGGERS = word_set(
    "agreement aim behaviour cause constraint correction decision fact goal identity lesson noted_decision noted_question "
    "noted_rule person practice preference question stack statement taste teaching theme"
)


def find_outdated_memories(workspace: Workspace) -> tuple[Memory, ...]:
    """The memories that only rules of earlier versions made or reworded, and nobody confirmed since. Raises StoreError."""
    return tuple(
        memory
        for memory in workspace.store.log.outdated_memories(RETIRED_TRIGGERS, verbatim=TOLD)
        if memory.status in (Status.ACTIVE, Status.HELD) and not (memory.owned or memory.pinned or memory.advised)
    )
