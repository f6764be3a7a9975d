"""Unwriting: what is forgotten goes out of the entries of the journal as well, and out of what was archived of them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from kept.adapters import files
from kept.adapters.sources.entries import ENTRY
from kept.app.desk import Desk
from kept.app.wording import Wording
from kept.model.event import FORGOTTEN_MARK
from kept.model.memory import Memory
from kept.model.text import normal_form
from kept.stages.narrate import edited, head_of, stamped
from kept.stages.narrate.page import OUTSIDE, OUTSIDE_END, clean_line


def unwrite(desk: Desk, said: Wording) -> tuple[Path, ...]:
    """Take every line that tells what is forgotten out of the entries. Returns the files that changed.

    An entry that a person changed stays theirs otherwise. Raises KeptError where an entry cannot be written.
    """
    _erase(desk, said)
    return _rewrite(desk, lambda lines: [said.told_by(each) for each in lines])


def unwrite_outside(desk: Desk, source: str, said: Wording) -> tuple[Path, ...]:
    """Take what entries tell of an external source out of them: by its name or its words, where they tell what came from outside."""

    def told(lines: Sequence[str]) -> list[bool]:
        inside, found = False, []
        for each in lines:
            inside = (inside or each.strip() == OUTSIDE) and each.strip() != OUTSIDE_END
            found.append(inside and (each.startswith(f"- {clean_line(source)}: ") or said.told_by(each)))
        return found

    return _rewrite(desk, told)


def _rewrite(desk: Desk, told: Callable[[Sequence[str]], list[bool]]) -> tuple[Path, ...]:
    changed = []
    for path in sorted((desk.home.root / desk.settings.journal.folder).rglob("*.md")):
        content = files.read(path)
        text = content.data.decode("utf-8", "replace")
        lines = text.split("\n")
        if head_of(text) is None or not any(goes := told(lines)):
            continue
        without = "\n".join(f"- {FORGOTTEN_MARK}" if gone else each for each, gone in zip(lines, goes, strict=True))
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


def _erase(desk: Desk, said: Wording) -> None:
    archive = desk.store.archive
    with desk.store.transaction():
        for thread in archive.threads():
            if thread.source == ENTRY:
                for event in archive.events(thread.id, 0, thread.events):
                    lines = [each for each in event.text.split("\n") if said.told_by(each)]
                    if lines:
                        archive.erase(event.key, lines, FORGOTTEN_MARK)
