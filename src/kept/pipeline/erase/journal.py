"""The journal's entries as a holder of words. An entry that a person changed stays theirs otherwise."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.event import FORGOTTEN_MARK
from kept.journal.narrate.page import OUTSIDE, OUTSIDE_END, clean_line, is_entry_edited, parse_entry_head, update_digest
from kept.local import files
from kept.workspace import Workspace

Span = tuple[datetime | None, datetime | None]  # the first and the last moment; None where it is open


@dataclass(frozen=True, kw_only=True)
class JournalEntries:
    """The entries that kept wrote."""

    workspace: Workspace
    name: str = "the journal"
    claims: tuple[str, ...] = ()

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """The lines of entries that hold the words, or nearly, or what was said in a conversation that is forgotten."""
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
        """Put a mark in the place of every line that holds the words; of the words alone where a person edited the entry. Raises
        KeptError where an entry cannot be written.
        """
        return _rewrite_entries(self.workspace, self._line_marker(words), words.remove_from)

    def _line_marker(self, words: ErasureWords) -> Callable[[str], list[bool]]:
        """What flags the lines to go. An entry has single sentences of the conversations it tells of, so theirs are looked for
        while the store has them; elsewhere the same words may have been said by others.
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
        told = ErasureWords(sentences=(), passages=tuple(sorted(said)), spared=words.spared)
        return lambda text: [any(pair) for pair in zip(words.flag_lines(text), told.flag_lines(text), strict=True)]


def entries_between(workspace: Workspace, times: Sequence[Span]) -> Iterator[Path]:
    """The entries that tell of a day on which one of the spans of time lies."""
    zone = workspace.zone
    for path, text, _ in _read_entries(workspace):
        head = parse_entry_head(text)
        if head and any(
            (start is None or head.last >= start.astimezone(zone).date())
            and (end is None or head.first <= end.astimezone(zone).date())
            for start, end in times
        ):
            yield path


def erase_feed_from_entries(workspace: Workspace, source: str, words: ErasureWords) -> int:
    """Take out of the entries what they tell of an external source: by its name or by its words, where they tell what came from
    outside.
    """

    def mark_lines(text: str) -> list[bool]:
        inside, found, held = False, [], words.flag_lines(text)
        for line, holds in zip(text.split("\n"), held, strict=True):
            inside = (inside or line.strip() == OUTSIDE) and line.strip() != OUTSIDE_END
            found.append(inside and (line.startswith(f"- {clean_line(source)}: ") or holds))
        return found

    return _rewrite_entries(workspace, mark_lines)


def _read_entries(workspace: Workspace) -> Iterator[tuple[Path, str, files.FileStamp]]:
    for path in sorted((workspace.paths.root / workspace.settings.journal.folder).rglob("*.md")):
        content = files.read_file(path)
        text = content.data.decode("utf-8", "replace")
        if parse_entry_head(text) is not None:
            yield path, text, content.stamp


def list_foreign_notes(workspace: Workspace) -> frozenset[Path]:
    """The notes in the journal's folder that kept did not write: the person's own, or another program's."""
    folder = workspace.paths.root / workspace.settings.journal.folder
    return frozenset(folder.rglob("*.md")) - {path for path, _, _ in _read_entries(workspace)}


def _rewrite_entries(workspace: Workspace, told: Callable[[str], Sequence[bool]], shorten: Callable[[str], str] = str) -> int:
    """Put a mark in the place of the lines that are told, once ``shorten`` has taken the words alone out of an edited entry."""
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
