"""Forgetting everywhere: beside the store also in the journal's entries, in what external sources brought and in a recording of a model.

The store comes last, for until then its words say what to look for: a call that was cut short is simply made again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kept.adapters import files
from kept.adapters.llm import without
from kept.app import person
from kept.app.desk import Desk
from kept.app.feeding import erase_items, erase_source
from kept.app.ledger import forget_replies
from kept.app.unwriting import unwrite, unwrite_outside
from kept.app.wording import Wording, wording
from kept.model.errors import KeptError
from kept.model.memory import Memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Gone:
    """What was erased: memories by id, sessions, how many items of external sources; and what could not be, in words."""

    memories: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    items: int = 0
    problems: tuple[str, ...] = ()


def forget(desk: Desk, memories: Sequence[Memory], *, source: str = "") -> Gone:
    """Erase memories (as they are now) for good, and the turns or items of a ``source`` where one is given. There is no undo.

    Raises UsageError, StoreError; what is beside the store and refuses is told in the result.
    """
    said, problems = wording(desk, memories), list[str]()
    sessions = frozenset(one.session for each in memories for one in each.evidence)

    def tried(act: Callable[[], int]) -> int:
        try:
            return act()
        except KeptError as error:
            problems.append(f"{error} (what was to be forgotten may still be there)")
            return 0

    items = 0
    if source:
        found = erase_source(desk, source)
        items = found.items
        tried(lambda: _erase_told(desk, found.said, frozenset()))
        tried(lambda: len(unwrite_outside(desk, found.name, found.said)))
    if said:
        items += tried(lambda: erase_items(desk, said.told_by))
        tried(lambda: _erase_told(desk, said, sessions))
        tried(lambda: len(unwrite(desk, said)))
    turns = person.forget_source(desk, source) if source else ()
    if turns:
        tried(lambda: _erase_told(desk, said, frozenset(turns)))
    return Gone(memories=person.forget(desk, [each.id for each in memories]), sessions=turns, items=items, problems=tuple(problems))


def _erase_told(desk: Desk, said: Wording, sessions: frozenset[str]) -> int:
    """Take what a model replied about those sessions, or what tells it, out of the file of replies and the recording of the settings.

    Raises KeptError.
    """
    found = forget_replies(desk, sessions, said=said.told_by)
    named = desk.settings.llm.recording
    path = Path(named).expanduser().resolve() if named else None
    if path is None or not path.is_file():
        return found
    before = files.read(path)
    left, count = without(before.data.decode("utf-8", "replace"), sessions, said.told_by)
    if count:
        files.write(path, left.encode("utf-8", "replace"), expect=before.stamp, root=path.parent)
    return found + count
