"""The queue of texts whose vectors must be made or deleted, and how often each memory was used."""

from collections.abc import Iterable, Mapping

from kept.core.codec import to_canonical_json
from kept.store.database import Database


class VectorQueue:
    """The queue of units, each a pair of its kind ("memory", "summary" or "turn") and its row. Methods raise StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count_pending(self) -> dict[str, int]:
        """The number of queued units of each kind."""
        return {row["kind"]: row["units"] for row in self._database.run("count_unembedded")}

    def pending_units(self) -> tuple[tuple[str, int], ...]:
        """The queued units: memories, then summaries, then turns. Within a kind, the latest is first."""
        return tuple((row["kind"], row["item"]) for row in self._database.run("unembedded"))

    def remove(self, units: Iterable[tuple[str, int]]) -> None:
        """Remove units from the queue."""
        self._database.run("drop_unembedded", units=to_canonical_json(list(units)))

    def requeue_all(self) -> None:
        """Queue all memories, summaries and turns."""
        for name in ("queue_embedding_memories", "queue_embedding_summaries", "queue_embedding_turns"):
            self._database.run(name)

    def add_uses(self, times: Mapping[str, int]) -> None:
        """Add to the use counts of memories. ``times`` maps ids to numbers of uses. Unknown ids are ignored."""
        self._database.run("add_uses", times=to_canonical_json(times))
