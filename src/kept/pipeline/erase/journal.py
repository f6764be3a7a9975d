"""Holder for journal entries. In an entry that a person edited, only the words themselves are erased."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.event import FORGOTTEN_MARK
from kept.core.value import dataclass
from kept.journal.entry_page import OUTSIDE, OUTSIDE_END, clean_line, is_entry_edited, parse_entry_head, update_digest
from kept.local import files
from kept.workspace import Workspace

Span = tuple[datetime | None, datetime | None]  # the first and the last moment; None if unbounded


@dataclass(frozen=True, kw_only=True)
class JournalEntries:
    """The entries that kept wrote."""

    workspace: Workspace
    name: str = "the journal"
    claims: tuple[str, ...] = ()

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the lines that hold the words or a near copy of them, or a sentence of a forgotten conversation."""
        mark_lines = self._line_marker(words)
        for path, text, _ in _read_entries(self.workspace):
            held = mark_lines(text)
            for line, holds in zip(text.split("\n"), held, strict=True):
                if holds:
                    yield ErasureMatch(holder=self.name, where=str(path), text=words.excerpt(line))
                yield from (
                    ErasureMatch(holder=self.name, where=str(path), text=near, near=True) for near in words.find_near_copies(line)
                )

    def erase(self, words: ErasureWords) -> int:
        """Replace every line that holds the words by a mark; in an entry that a person edited, replace only the words. Raises
        KeptError if an entry cannot be written.
        """
        return _rewrite_entries(self.workspace, self._line_marker(words), words.remove_from)

    def _line_marker(self, words: ErasureWords) -> Callable[[str], list[bool]]:
        """Return a function that flags the lines to erase. Entries quote single sentences of conversations, so the sentences of the
        forgotten ones are looked up while the store still has them. Only entries are searched for them: elsewhere, others may have
        said the same words.
        """
        archive = self.workspace.store.archive
        keys = words.events if words.lasting else frozenset()
        said = {
            event.text
            for thread in archive.threads()
            if keys or thread.session in words.sessions
            for event in archive.events(thread.id, 0, thread.events)
            if event.key in keys or event.session in words.sessions
        }
        told = ErasureWords(sentences=(), passages=tuple(said), spared=words.spared)
        return lambda text: [any(pair) for pair in zip(words.flag_lines(text), told.flag_lines(text), strict=True)]


def entries_between(workspace: Workspace, times: Sequence[Span]) -> Iterator[Path]:
    """Yield the entries that cover a day within one of the time spans."""
    zone = workspace.zone
    for path, text, _ in _read_entries(workspace):
        head = parse_entry_head(text)
        if head and any(
            (start is None or head.last >= start.astimezone(zone).date())
            and (end is None or head.first <= end.astimezone(zone).date())
            for start, end in times
        ):
            yield path


def erase_feed_from_entries(workspace: Workspace, source: str, words: ErasureWords) -> None:
    """Erase the lines about an external source from the entries: those in the section about the outside that name the source or
    hold the words.
    """

    def mark_lines(text: str) -> list[bool]:
        inside, found, held = False, [], words.flag_lines(text)
        for line, holds in zip(text.split("\n"), held, strict=True):
            inside = (inside or line.strip() == OUTSIDE) and line.strip() != OUTSIDE_END
            found.append(inside and (line.startswith(f"- {clean_line(source)}: ") or holds))
        return found

    _rewrite_entries(workspace, mark_lines)


def _read_entries(workspace: Workspace) -> Iterator[tuple[Path, str, files.FileStamp]]:
    for path in sorted((workspace.paths.root / workspace.settings.journal.folder).rglob("*.md")):
        content = files.read_file(path)
        text = content.data.decode("utf-8", "replace")
        if parse_entry_head(text) is not None:
            yield path, text, content.stamp


def list_foreign_notes(workspace: Workspace) -> frozenset[Path]:
    """The notes in the journal folder that kept did not write: the person's own, or another program's."""
    folder = workspace.paths.root / workspace.settings.journal.folder
    return frozenset(folder.rglob("*.md")) - {path for path, _, _ in _read_entries(workspace)}


def _rewrite_entries(workspace: Workspace, told: Callable[[str], Sequence[bool]], shorten: Callable[[str], str] = str) -> int:
    """Replace the lines that ``told`` flags by a mark. In an edited entry, ``shorten`` first removes only the words. Returns the
    number of lines.
    """
    count = 0
    for path, text, stamp in _read_entries(workspace):
        held = told(text)
        if any(held):
            edited = is_entry_edited(text)
            rest = shorten(text) if edited else text
            left = "\n".join(
                f"- {FORGOTTEN_MARK}" if gone else line for line, gone in zip(rest.split("\n"), told(rest), strict=True)
            )
            files.write_if_unchanged(
                path, (left if edited else update_digest(left)).encode(), expect=stamp, root=workspace.paths.root
            )
            count += sum(held)
    return count
