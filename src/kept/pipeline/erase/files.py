"""Files as holders of words: the small text files below the state folder, those that never hold words, and the bundled sample's
home.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kept.core.erasure import Place, Words
from kept.local import files
from kept.store.erasing import json_without
from kept.store.traces import is_database, traces


@dataclass(frozen=True, kw_only=True)
class TextFiles:
    """Text files below a folder, by patterns: whole JSON values, JSON lines or plain text, as their endings say.

    Where ``removable``, a file that holds the words goes as a whole: kept makes it anew.
    """

    name: str
    folder: Path
    claims: tuple[str, ...]
    root: Path
    removable: bool = False

    def find(self, words: Words) -> Iterator[Place]:
        """The files that hold the words."""
        for path in self._paths():
            text = files.read_text(path)
            if words.stand_in(text):
                yield Place(holder=self.name, where=str(path), text=words.excerpt(text))

    def erase(self, words: Words) -> int:
        """Take the words out of the files. Raises KeptError where a file changes meanwhile or cannot be written."""
        count = 0
        for path in self._paths():
            content = files.read(path)
            text = content.data.decode("utf-8", "replace")
            if not words.stand_in(text):
                continue
            if self.removable:
                files.remove(path, expect=content.stamp, root=self.root)
            else:
                files.write(path, _erase_words(path, text, words).encode("utf-8", "replace"), expect=content.stamp, root=self.root)
            count += 1
        return count

    def _paths(self) -> list[Path]:
        found = {path for pattern in self.claims for path in self.folder.glob(pattern) if path.is_file() and not path.is_symlink()}
        return sorted(path for path in found if not is_database(path))


@dataclass(frozen=True, kw_only=True)
class Wordless:
    """Files that hold no words of anybody's: locks, keys, ports, sockets, vectors."""

    name: str
    claims: tuple[str, ...]

    def find(self, words: Words) -> Iterator[Place]:  # noqa: ARG002 - the protocol's
        """Nothing: the proof at the end of erasing reads these files as well."""
        return iter(())

    def erase(self, words: Words) -> int:  # noqa: ARG002 - the protocol's
        """Nothing."""
        return 0


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The home of the bundled sample: it is made anew whenever it is shown, so it goes whole where it holds the words."""

    folder: Path
    name: str = "the bundled sample"
    claims: tuple[str, ...] = ("sample-home/**/*",)

    def find(self, words: Words) -> Iterator[Place]:
        """The sample's home, once, where any of its files holds the words."""
        if self._holds(words):
            yield Place(holder=self.name, where=str(self.folder), text="")

    def erase(self, words: Words) -> int:
        """Remove the sample's home where it holds the words."""
        if not self._holds(words):
            return 0
        shutil.rmtree(self.folder)
        return 1

    def _holds(self, words: Words) -> bool:
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        return any(next(traces(path, words), None) is not None for path in paths)


def _erase_words(path: Path, text: str, words: Words) -> str:
    """A file's text without the words: JSON stays JSON, so that whoever reads it can go on."""
    match path.suffix:
        case ".json":
            return _json(text, words)
        case ".jsonl":
            return "\n".join(_json(line, words) for line in text.split("\n"))
    return words.taken_out(text)


def _json(text: str, words: Words) -> str:
    try:
        return json_without(text, words)
    except (ValueError, RecursionError):
        return words.taken_out(text)
