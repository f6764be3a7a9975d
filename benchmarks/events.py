"""Events as readers make them, for measurements that begin with texts."""

from datetime import datetime
from typing import Any

from kept.core.event import Author, Event, EventKind, Pointer, Precision


def build_event(text: str, key: str, session: str, *, at: datetime | None = None, **others: Any) -> Event:
    """An event that is a person's prompt unless ``others``, further fields of the event, say otherwise."""
    given: dict[str, Any] = {
        **dict.fromkeys(("twin", "record", "parent", "turn", "label_reason", "project", "branch"), ""),
        "kind": EventKind.PROMPT,
        "author": Author.HUMAN,
        "precision": Precision.MESSAGE if at else Precision.NONE,
        "tool": None,
        "pointer": Pointer(path="", line=0, start=0, end=0),
    }
    return Event(key=key, session=session, text=text, at=at, **(given | others))
