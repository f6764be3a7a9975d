"""Records that carry an identity which another record with other content has already: both are kept, under keys of their own.

Knows events and the archive; knows no format.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kept.core.event import FORGOTTEN_MARK, Event
from kept.sources.pieces import hash_texts
from kept.store.protocol import Archive

_MARK = 12  # characters of a hash that tell contents apart


def distinguish(archive: Archive, events: Sequence[Event], *, rewritten: bool) -> Iterator[Event]:
    """The events of a slice of a file; one whose key stands for other content gets a key of its own, the same at every reading.

    ``rewritten`` tells that the file was rewritten since it was archived: a record may then say something new under its old
    identity, which is no second record.
    """
    seen: dict[str, Event] = {}
    known = archive.known_keys(event.key for event in events)
    for event in events:
        earlier = seen.get(event.key) or (archive.event(event.key) if event.key in known else None)
        if earlier is not None and _has_other_content(earlier, event):
            own = replace(event, key=f"{event.key}~{(event.twin or hash_texts(event.kind, event.text))[:_MARK]}")
            if not (_is_same_record(earlier, event, rewritten=rewritten) and archive.event(own.key) is None):
                event = own  # noqa: PLW2901 - the event goes on under its own key
        seen.setdefault(event.key, event)
        yield event


def _has_other_content(earlier: Event, event: Event) -> bool:
    """Whether two events say different things. A copy that is cleaned otherwise has the same twin; what was forgotten is no
    content.
    """
    if FORGOTTEN_MARK in earlier.text or bool(earlier.twin) != bool(event.twin):
        return False
    if earlier.twin:
        return earlier.twin != event.twin and earlier.text != event.text
    return (earlier.kind, earlier.text) != (event.kind, event.text)


def _is_same_record(earlier: Event, event: Event, *, rewritten: bool) -> bool:
    """Whether both are the same place of the same file, or two states of a file that was rewritten."""
    before, now = earlier.pointer, event.pointer
    return before.path == now.path and (rewritten or (before.line, before.start, before.end) == (now.line, now.start, now.end))
