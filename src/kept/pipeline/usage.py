"""Model usage and cost: money spent, questions pending in batches, and quarantined sessions."""

from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, time

from kept.core.value import dataclass, field
from kept.llm.ask import Usage
from kept.llm.replies import TRIES, ReplyCache, UsageSum
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """The cost of today (a local day) and of all time, by purpose and model. ``awaited`` counts questions pending in batches."""

    today: Usage = field(default_factory=Usage)
    ever: tuple[UsageSum, ...] = ()
    awaited: int = 0

    @property
    def total(self) -> Usage:
        """The usage of all time. Unknown costs count as zero."""
        return sum((usage_sum.usage for usage_sum in self.ever), Usage())


def load_costs(workspace: Workspace) -> Costs:
    """Load the costs from the reply file, which includes interrupted runs. Raises StoreError."""
    start = datetime.combine(workspace.clock().astimezone(workspace.zone).date(), time(), workspace.zone).astimezone(UTC)
    with closing(ReplyCache(workspace.paths.replies)) as replies:
        return Costs(
            today=sum((usage_sum.usage for usage_sum in replies.usage_between(start)), Usage()),
            ever=replies.usage_between(datetime(1, 1, 1, tzinfo=UTC)),
            awaited=sum(len(batch.items) for batch in replies.pending_batches()),
        )


def load_quarantined(workspace: Workspace) -> Mapping[str, str]:
    """The sessions that no model has read, because its replies were unusable in several runs; with the fault. Raises StoreError."""
    with closing(ReplyCache(workspace.paths.replies)) as replies:
        found = replies.quarantined_sessions(TRIES)
    not_asked = {thread.session for thread, _ in workspace.store.archive.list_threads_pending_llm()} if found else set()
    return {session: fault for session, fault in sorted(found.items()) if session in not_asked}
