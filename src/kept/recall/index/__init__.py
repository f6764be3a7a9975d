"""Full-text search in the store file, read-only and concurrent with its writer. Hooks wait for it, so it imports little."""

from kept.recall.index.reader import Index, SearchLimits, SearchUnit, UnitKind, open_index

__all__ = ["Index", "SearchLimits", "SearchUnit", "UnitKind", "open_index"]
