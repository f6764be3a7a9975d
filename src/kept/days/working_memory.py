"""Working memory: the conversation itself, its older part as notes, its latest part word for word (K1)."""

from dataclasses import dataclass

from kept.core.event import Event
from kept.core.summary import WorkNote

MOST, KEEP = 50, 20  # entries: past 50 the older ones are summarised, the latest 20 stay verbatim


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """What an agent is actively thinking about: ``notes`` of what is past, ``entries`` verbatim, the latest last.

    ``told`` is how many entries the notes stand for.
    """

    notes: tuple[WorkNote, ...] = ()
    entries: tuple[Event, ...] = ()
    told: int = 0
