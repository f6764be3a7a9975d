"""The index: what is stored, found by words. Reads the store's file beside its writer; a hook waits, so it imports little."""

from kept.recall.index.reader import Index, SearchLimits, SearchUnit, UnitKind, open_index

__all__ = ["Index", "SearchLimits", "SearchUnit", "UnitKind", "open_index"]
