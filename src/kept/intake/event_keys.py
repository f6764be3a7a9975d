"""Give records with the same identity but different content different keys, so that the archive keeps both."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kept.core.digest import hash_texts
from kept.core.event import FORGOTTEN_MARK, Event

if TYPE_CHECKING:
    from kept.store.archive.turns import Archive
_HASH_CHARS = 12  # characters of a content hash in a key


def make_keys_unique(archive: "Archive", events: Sequence[Event], *, rewritten: bool) -> Iterator[Event]:
    """Yield the events of a slice. An event whose key already belongs to other content gets a key of its own, the same in every
    reading.

    In a ``rewritten`` file, a record may have new content under its old identity without being a second record.
    """
    seen: dict[str, Event] = {}
    known = archive.known_keys(event.key for event in events)
    for event in events:
        earlier = seen.get(event.key) or (archive.event(event.key) if event.key in known else None)
        if earlier is not None and _has_other_content(earlier, event):
            own = replace(event, key=f"{event.key}~{(event.twin or hash_texts(event.kind, event.text))[:_HASH_CHARS]}")
            if not (_is_same_record(earlier, event, rewritten=rewritten) and archive.event(own.key) is None):
                event = own  # noqa: PLW2901 - continue with the new key
        seen.setdefault(event.key, event)
        yield event


def _has_other_content(earlier: Event, event: Event) -> bool:
    """True if two events say different things. Differently cleaned copies have the same twin; forgotten text does not count."""
    if FORGOTTEN_MARK in earlier.text or bool(earlier.twin) != bool(event.twin):
        return False
    if earlier.twin:
        return earlier.twin != event.twin and earlier.text != event.text
    return (earlier.kind, earlier.text) != (event.kind, event.text)


def _is_same_record(earlier: Event, event: Event, *, rewritten: bool) -> bool:
    """True if both are the record at the same place of a file, or two versions of it in a rewritten file."""
    before, now = earlier.pointer, event.pointer
    return before.path == now.path and (rewritten or (before.line, before.start, before.end) == (now.line, now.start, now.end))
