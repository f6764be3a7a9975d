"""Unwriting: what is forgotten goes out of the entries of the journal as well, and out of what was archived of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from kept.adapters import files
from kept.adapters.sources.entries import ENTRY
from kept.app.desk import Desk
from kept.model.event import FORGOTTEN_MARK
from kept.model.memory import Memory
from kept.model.text import normal_form
from kept.stages.narrate import edited, head_of, stamped

_SHORTEST = 12  # characters; less is said by chance


def unwrite(desk: Desk, memories: Iterable[Memory]) -> tuple[Path, ...]:
    """Take every line that tells a memory's words, or the words it rests on, out of the entries. Returns the files that changed.

    To be called with the memories as they were before they were forgotten. An entry that a person changed stays theirs otherwise.
    Raises KeptError where an entry cannot be written.
    """
    said = {
        form for each in memories for text in (each.content, *(one.quote for one in each.evidence)) if (form := normal_form(text))
    }
    wanted = tuple(sorted(form for form in said if len(form) >= _SHORTEST))
    if not wanted:
        return ()
    _erase(desk, wanted)
    changed = []
    for path in sorted((desk.home.root / desk.settings.journal.folder).rglob("*.md")):
        content = files.read(path)
        text = content.data.decode("utf-8", "replace")
        if head_of(text) is None or not any(_tells(each, wanted) for each in text.split("\n")):
            continue
        without = "\n".join(f"- {FORGOTTEN_MARK}" if _tells(each, wanted) else each for each in text.split("\n"))
        files.write(path, (without if edited(text) else stamped(without)).encode(), expect=content.stamp, root=desk.home.root)
        changed.append(path)
    return tuple(changed)


def told_again(desk: Desk, memories: Sequence[Memory]) -> tuple[Memory, ...]:
    """The memories that say the same because an entry of the journal told it: to forget one is to forget them all."""
    own = str(desk.home.root / desk.settings.journal.folder)
    said, known = {normal_form(each.content) for each in memories if each.content}, {each.id for each in memories}
    return tuple(
        each
        for each in desk.store.log.memories()
        if each.id not in known
        and each.content
        and normal_form(each.content) in said
        and all(one.path.rpartition("/")[0] == own for one in each.evidence)
    )


def _tells(line: str, wanted: Sequence[str]) -> bool:
    form = normal_form(line)
    return any(each in form for each in wanted)


def _erase(desk: Desk, wanted: Sequence[str]) -> None:
    archive = desk.store.archive
    with desk.store.transaction():
        for thread in archive.threads():
            if thread.source == ENTRY:
                for event in archive.events(thread.id, 0, thread.events):
                    lines = [each for each in event.text.split("\n") if _tells(each, wanted)]
                    if lines:
                        archive.erase(event.key, lines, FORGOTTEN_MARK)
