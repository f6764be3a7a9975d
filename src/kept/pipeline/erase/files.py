"""Holders for files: small text files below the state folder, files that never hold words, and the home of the bundled sample."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.value import dataclass
from kept.local import files
from kept.store.erasing import erase_from_json
from kept.store.traces import is_database, traces


@dataclass(frozen=True, kw_only=True)
class TextFiles:
    """Text files below a folder, selected by glob patterns: JSON, JSON lines or plain text, depending on their extension.

    A ``removable`` file that holds the words is deleted as a whole, because kept recreates it.
    """

    name: str
    folder: Path
    claims: tuple[str, ...]
    root: Path
    removable: bool = False

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the files that hold the words."""
        for path in self._paths():
            text = files.read_text(path)
            if words.is_in_text(text):
                yield ErasureMatch(holder=self.name, where=str(path), text=words.excerpt(text))

    def erase(self, words: ErasureWords) -> int:
        """Erase the words from the files. Raises KeptError if a file changes meanwhile or cannot be written."""
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
    """Files that hold no text of anybody: locks, keys, ports, sockets, vectors."""

    name: str
    claims: tuple[str, ...]

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:  # noqa: ARG002 - the protocol's
        """Yield nothing; the proof after erasing reads these files as well."""
        return iter(())

    def erase(self, words: ErasureWords) -> int:  # noqa: ARG002 - the protocol's
        """Erase nothing."""
        return 0


@dataclass(frozen=True, kw_only=True)
class SampleHome:
    """The home of the bundled sample. It is recreated whenever it is shown, so it is deleted whole if it holds the words."""

    folder: Path
    name: str = "the bundled sample"
    claims: tuple[str, ...] = ("sample-home/**/*",)

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the sample's home once, if any of its files holds the words."""
        if self._has_words(words):
            yield ErasureMatch(holder=self.name, where=str(self.folder), text="")

    def erase(self, words: ErasureWords) -> int:
        """Delete the sample's home if it holds the words."""
        if not self._has_words(words):
            return 0
        shutil.rmtree(self.folder)
        return 1

    def _has_words(self, words: ErasureWords) -> bool:
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        return any(next(traces(path, words), None) is not None for path in paths)


def erase_from_file_text(path: Path, text: str, words: ErasureWords) -> str:
    """A file's text without the words. Valid JSON remains valid JSON, so that its reader still works."""
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
