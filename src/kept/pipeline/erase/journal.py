"""The journal's entries as a holder of words. An entry that a person changed stays theirs otherwise."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kept.core.erasure import Place, Words
from kept.core.event import FORGOTTEN_MARK
from kept.journal.narrate import edited, head_of, stamped
from kept.journal.narrate.page import OUTSIDE, OUTSIDE_END, clean_line
from kept.local import files
from kept.workspace import Workspace

Span = tuple[datetime | None, datetime | None]  # the first and the last moment; None where it is open


@dataclass(frozen=True, kw_only=True)
class Entries:
    """The entries that kept wrote."""

    workspace: Workspace
    name: str = "the journal"
    claims: tuple[str, ...] = ()

    def find(self, words: Words) -> Iterator[Place]:
        """The lines of entries that hold the words, or nearly."""
        for path, text, _ in _entries(self.workspace):
            held = words.lines_held(text)
            for line, holds in zip(text.split("\n"), held, strict=True):
                if holds:
                    yield Place(holder=self.name, where=str(path), text=words.excerpt(line))
                yield from (Place(holder=self.name, where=str(path), text=near, near=True) for near in words.near_in(line))

    def erase(self, words: Words) -> int:
        """Put a mark in the place of every line that holds the words. Raises KeptError where an entry cannot be written."""
        return _rewrite(self.workspace, words.lines_held)


def entries_of(workspace: Workspace, times: Sequence[Span]) -> Iterator[Path]:
    """The entries that tell of a day on which one of the spans of time lies."""
    zone = workspace.zone
    for path, text, _ in _entries(workspace):
        head = head_of(text)
        if head and any(
            (start is None or head.last >= start.astimezone(zone).date())
            and (end is None or head.first <= end.astimezone(zone).date())
            for start, end in times
        ):
            yield path


def forget_outside(workspace: Workspace, source: str, words: Words) -> int:
    """Take out of the entries what they tell of an external source: by its name or by its words, where they tell what came from
    outside.
    """

    def mark_lines(text: str) -> list[bool]:
        inside, found, held = False, [], words.lines_held(text)
        for line, holds in zip(text.split("\n"), held, strict=True):
            inside = (inside or line.strip() == OUTSIDE) and line.strip() != OUTSIDE_END
            found.append(inside and (line.startswith(f"- {clean_line(source)}: ") or holds))
        return found

    return _rewrite(workspace, mark_lines)


def _entries(workspace: Workspace) -> Iterator[tuple[Path, str, files.Stamp]]:
    for path in sorted((workspace.paths.root / workspace.settings.journal.folder).rglob("*.md")):
        content = files.read(path)
        text = content.data.decode("utf-8", "replace")
        if head_of(text) is not None:
            yield path, text, content.stamp


def notes_beside(workspace: Workspace) -> frozenset[Path]:
    """The notes in the journal's folder that kept did not write: the person's own, or another program's."""
    folder = workspace.paths.root / workspace.settings.journal.folder
    return frozenset(folder.rglob("*.md")) - {path for path, _, _ in _entries(workspace)}


def _rewrite(workspace: Workspace, told: Callable[[str], Sequence[bool]]) -> int:
    count = 0
    for path, text, stamp in _entries(workspace):
        held = told(text)
        if any(held):
            lines = zip(text.split("\n"), held, strict=True)
            left = "\n".join(f"- {FORGOTTEN_MARK}" if gone else line for line, gone in lines)
            files.write(path, (left if edited(text) else stamped(left)).encode(), expect=stamp, root=workspace.paths.root)
            count += sum(held)
    return count
