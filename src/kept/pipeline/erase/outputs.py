"""The files that kept writes as a holder of words: its own files whole, its sections and blocks in files of a person's or an
agent's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kept.core.erasure import Place, Words
from kept.local import files
from kept.outputs.targets import written_before
from kept.outputs.view_file import is_as_written, views
from kept.outputs.write import inside_of
from kept.pipeline.erase.store import erase_written
from kept.store.erasing import json_without
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Memory files, cards, notes of days, pages, sections, rules and views.

    The store comes before them and their writing after: a line that is taken out here is neither taken for an edit nor written
    again.
    """

    workspace: Workspace
    name: str = "the files kept writes"
    claims: tuple[str, ...] = ("outputs.lock",)

    def find(self, words: Words) -> Iterator[Place]:
        """One place a file."""
        insides = [(path, inside) for path, _, inside in self._insides()]
        for path, inside in [*insides, *((path, content.data) for path, content in self._views())]:
            text = inside.decode("utf-8", "replace")
            if words.stand_in(text):
                yield Place(holder=self.name, where=str(path), text=words.excerpt(text))

    def erase(self, words: Words) -> int:
        """Take out every line that holds the words, a person's own too. Raises KeptError where a file cannot be written."""
        count = 0
        for path, content, inside in self._insides():
            text = inside.decode("utf-8", "surrogateescape")
            held = words.lines_held(text)
            if any(held):
                left = "\n".join(line for line, holds in zip(text.split("\n"), held, strict=True) if not holds)
                self._replace_file(path, content, content.data.replace(inside, left.encode("utf-8", "surrogateescape"), 1))
                count += sum(held)
        for path, content in self._views():
            data = json_without(content.data.decode("utf-8", "surrogateescape"), words).encode("utf-8", "surrogateescape")
            if data != content.data and not is_as_written(
                self.workspace, path, content
            ):  # as written, it is written anew by itself
                self._replace_file(path, content, data)
                count += 1
        return count + erase_written(self.workspace.store, words)

    def _replace_file(self, path: Path, content: files.Content, data: bytes) -> None:
        files.write(path, data, expect=content.stamp, root=self.workspace.paths.boundary(path))

    def _insides(self) -> Iterator[tuple[Path, files.Content, bytes]]:
        """Each Markdown file that is there, and the part of it that is kept's."""
        for target in written_before(self.workspace):
            content = files.read(target.path)
            inside = inside_of(target, content)
            if inside:
                yield target.path, content, inside

    def _views(self) -> Iterator[tuple[Path, files.Content]]:
        for path, _ in views(self.workspace):
            content = files.read(path)
            if content.data:
                yield path, content
