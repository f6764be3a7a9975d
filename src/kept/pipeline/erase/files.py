"""Holders for files: text files below the state folder, files without words, the home of the bundled sample, replies of language
models and recordings of them, journal entries, and the files that kept writes.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.event import FORGOTTEN_MARK
from kept.core.value import dataclass
from kept.journal.entry import OUTSIDE, OUTSIDE_END, clean_line, is_entry_edited, parse_entry_head, update_digest
from kept.llm.adapters.recorded import remove_recorded_replies
from kept.llm.replies import ReplyCache
from kept.local import files
from kept.outputs.section import replace_inside
from kept.outputs.targets import Target, list_editable_targets, section_bytes
from kept.outputs.view_file import is_as_written, list_views
from kept.pipeline.erase.store import erase_from_outputs, texts_said
from kept.store.erasing import erase_from_json
from kept.store.traces import is_database, traces
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class TextFiles:
    """Text files below a folder that match glob patterns. The extension decides whether they are JSON, JSON lines or plain text.

    If ``removable``, a file that contains the words is deleted as a whole, because kept creates it again.
    """

    name: str
    folder: Path
    claims: tuple[str, ...]
    root: Path
    removable: bool = False

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the files that contain the words."""
        for path in self._paths():
            text = files.read_text(path)
            if words.is_in_text(text):
                yield ErasureMatch(holder=self.name, where=str(path), text=words.excerpt(text))

    def erase(self, words: ErasureWords) -> int:
        """Erase the words from the files. Raises KeptError if a file changes during this or cannot be written."""
        count = 0
        for path in self._paths():
            content = files.read_file(path)
            text = content.data.decode("utf-8", "replace")
            if not words.is_in_text(text):
                continue
            if self.removable:
                files.delete_if_unchanged(path, expect=content.stamp, root=self.root)
            else:
                files.write_if_unchanged(
                    path, erase_from_file_text(path, text, words).encode(), expect=content.stamp, root=self.root
                )
            count += 1
        return count

    def _paths(self) -> list[Path]:
        paths = {path for pattern in self.claims for path in self.folder.glob(pattern) if path.is_file() and not path.is_symlink()}
        return sorted(path for path in paths if not is_database(path))


@dataclass(frozen=True, kw_only=True)
class WordlessFiles:
    """Files without anybody's text: locks, keys, ports, sockets, vectors."""

    name: str
    claims: tuple[str, ...]

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:  # noqa: ARG002 - the protocol's
        """Yield nothing. The proof after erasing reads these files too."""
        return iter(())

    def erase(self, words: ErasureWords) -> int:  # noqa: ARG002 - the protocol's
        """Erase nothing."""
        return 0


@dataclass(frozen=True, kw_only=True)
class SampleHome:
    """The home of the bundled sample. If it contains the words it is deleted as a whole, because kept can create it again."""

    folder: Path
    name: str = "the bundled sample"
    claims: tuple[str, ...] = ("sample-home/**/*",)

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the sample's home once, if any of its files contains the words."""
        if self._has_words(words):
            yield ErasureMatch(holder=self.name, where=str(self.folder), text="")

    def erase(self, words: ErasureWords) -> int:
        """Delete the sample's home if it contains the words."""
        if not self._has_words(words):
            return 0
        shutil.rmtree(self.folder)
        return 1

    def _has_words(self, words: ErasureWords) -> bool:
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        return any(next(traces(path, words), None) is not None for path in paths)


def erase_from_file_text(path: Path, text: str, words: ErasureWords) -> str:
    """A file's text without the words. Valid JSON stays valid JSON, so that it can still be read."""
    match path.suffix:
        case ".json":
            return _erase_from_json(text, words)
        case ".jsonl":
            return "\n".join(_erase_from_json(line, words) for line in text.split("\n"))
    return words.remove_from(text)


def _erase_from_json(text: str, words: ErasureWords) -> str:
    try:
        return erase_from_json(text, words)
    except (ValueError, RecursionError):
        return words.remove_from(text)


@dataclass(frozen=True, kw_only=True)
class ReplyFile:
    """The reply file. A reply about a session with the words is erased as a whole, because it may paraphrase them."""

    path: Path
    name: str = "what models replied"
    claims: tuple[str, ...] = ("replies.db", "replies.db-journal")

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield one place per reply."""
        with closing(ReplyCache(self.path)) as replies:
            keys = replies.find_reply_keys(words.about, words.is_in_text)
        yield from (ErasureMatch(holder=self.name, where=f"reply {key[:12]}", text="") for key in keys)

    def erase(self, words: ErasureWords) -> int:
        """Erase the replies. Mark pending batches, so that their replies about the sessions are dropped. Raises StoreError."""
        with closing(ReplyCache(self.path)) as replies:
            return replies.erase_replies(words.about, words.is_in_text)


@dataclass(frozen=True, kw_only=True)
class RecordingFile:
    """The recording of a model's replies that the settings name."""

    workspace: Workspace
    name: str = "the recording of a model"
    claims: tuple[str, ...] = ()

    @property
    def path(self) -> Path | None:
        """The path of the recording; None if there is none."""
        path = Path(self.workspace.settings.llm.recording).expanduser().resolve()
        return path if path.is_file() else None

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the recording once, if any of its lines is about the words to be forgotten."""
        path = self.path
        if path is not None and remove_recorded_replies(files.read_text(path), words.about, words.is_in_text)[1]:
            yield ErasureMatch(holder=self.name, where=str(path), text="")

    def erase(self, words: ErasureWords) -> int:
        """Remove these lines. Raises KeptError if the file cannot be written."""
        path = self.path
        if path is None:
            return 0
        before = files.read_file(path)
        left, count = remove_recorded_replies(before.data.decode("utf-8", "replace"), words.about, words.is_in_text)
        if count:
            files.write_if_unchanged(path, left.encode(), expect=before.stamp, root=path.parent)
        return count


Span = tuple[datetime | None, datetime | None]  # the first and the last moment; None is unbounded


@dataclass(frozen=True, kw_only=True)
class JournalEntries:
    """The journal entries that kept wrote."""

    workspace: Workspace
    name: str = "the journal"
    claims: tuple[str, ...] = ()

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the lines with the words, with a near copy of them, or with a sentence of a forgotten conversation."""
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
        """Replace every line with the words by a mark. In an entry that a person edited, replace only the words. Raises KeptError
        if an entry cannot be written.
        """
        return _rewrite_entries(self.workspace, self._line_marker(words), words.remove_from)

    def _line_marker(self, words: ErasureWords) -> Callable[[str], list[bool]]:
        """Return a function that flags the lines to erase.

        Entries quote single sentences of conversations, so the sentences of forgotten conversations are looked up while the store
        still has them. They are searched only in entries, because in other places somebody else may have said the same words.
        """
        said = texts_said(self.workspace.store, words.sessions, words.events if words.lasting else ())
        quoted = ErasureWords(sentences=(), passages=tuple(said), spared=words.spared)
        return lambda text: [any(pair) for pair in zip(words.flag_lines(text), quoted.flag_lines(text), strict=True)]


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
    """Erase the lines about an external source from the entries. These are the lines of the section about the outside that name the
    source or contain the words.
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
    """The notes in the journal folder that kept did not write. They are the person's own or another program's."""
    folder = workspace.paths.root / workspace.settings.journal.folder
    return frozenset(folder.rglob("*.md")) - {path for path, _, _ in _read_entries(workspace)}


def _rewrite_entries(workspace: Workspace, flag: Callable[[str], Sequence[bool]], shorten: Callable[[str], str] = str) -> int:
    """Replace the lines that ``flag`` selects by a mark. In an edited entry, ``shorten`` first removes only the words. Returns the
    number of lines.
    """
    count = 0
    for path, text, stamp in _read_entries(workspace):
        held = flag(text)
        if any(held):
            edited = is_entry_edited(text)
            rest = shorten(text) if edited else text
            left = "\n".join(
                f"- {FORGOTTEN_MARK}" if gone else line for line, gone in zip(rest.split("\n"), flag(rest), strict=True)
            )
            files.write_if_unchanged(
                path, (left if edited else update_digest(left)).encode(), expect=stamp, root=workspace.paths.root
            )
            count += sum(held)
    return count


@dataclass(frozen=True, kw_only=True)
class OutputFiles:
    """Memory files, cards, day notes, pages, sections, rules and views.

    They are erased after the store, and written again afterwards. A line removed here therefore does not count as a hand edit, and
    is not written again.
    """

    workspace: Workspace
    name: str = "the files kept writes"
    claims: tuple[str, ...] = ()

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield one place per file."""
        insides = [(target.path, inside) for target, _, inside in self._own_parts()]
        for path, inside in [*insides, *((path, content.data) for path, content in self._view_files())]:
            text = inside.decode("utf-8", "replace")
            if words.is_in_text(text):
                yield ErasureMatch(holder=self.name, where=str(path), text=words.excerpt(text))

    def erase(self, words: ErasureWords) -> int:
        """Remove every line that contains the words, including a person's own. Raises KeptError if a file cannot be written."""
        count = 0
        for target, content, inside in self._own_parts():
            held = words.flag_lines(inside.decode("utf-8", "replace"))
            if any(held):
                left = b"\n".join(line for line, holds in zip(inside.split(b"\n"), held, strict=True) if not holds)
                whole = replace_inside(content.data, left, where=str(target.path)) if target.heading else left
                self._replace_file(target.path, content, whole)
                count += sum(held)
        for path, content in self._view_files():
            text = content.data.decode("utf-8", "replace")
            # A view that is still as kept wrote it is simply written again later.
            if words.is_in_text(text) and not is_as_written(self.workspace, path, content):
                self._replace_file(path, content, erase_from_file_text(path, text, words).encode())
                count += 1
        return count + erase_from_outputs(self.workspace.store, words)

    def _replace_file(self, path: Path, content: files.FileContent, data: bytes) -> None:
        files.write_if_unchanged(path, data, expect=content.stamp, root=self.workspace.paths.boundary(path))

    def _own_parts(self) -> Iterator[tuple[Target, files.FileContent, bytes]]:
        """Yield each existing Markdown file, its content, and the part of it that belongs to kept."""
        for target in list_editable_targets(self.workspace):
            content = files.read_file(target.path)
            inside = section_bytes(target, content)
            if inside:
                yield target, content, inside

    def _view_files(self) -> Iterator[tuple[Path, files.FileContent]]:
        for path, _ in list_views(self.workspace):
            yield path, files.read_file(path)
