"""Holder for the files that kept writes: its own files, and its sections and blocks in files of a person or an agent."""

from collections.abc import Iterator
from pathlib import Path

from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.value import dataclass
from kept.local import files
from kept.outputs.section import replace_inside
from kept.outputs.targets import Target, list_editable_targets, section_bytes
from kept.outputs.view_file import is_as_written, list_views
from kept.pipeline.erase.files import erase_from_file_text
from kept.pipeline.erase.store import erase_from_outputs
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class OutputFiles:
    """Memory files, cards, day notes, pages, sections, rules and views.

    The store is erased before them, and they are rewritten after. So a line removed here is neither taken for a hand edit nor
    written again.
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
        """Remove every line that holds the words, even a person's own. Raises KeptError if a file cannot be written."""
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
            # A view in the state kept wrote is simply rewritten later.
            if words.is_in_text(text) and not is_as_written(self.workspace, path, content):
                self._replace_file(path, content, erase_from_file_text(path, text, words).encode())
                count += 1
        return count + erase_from_outputs(self.workspace.store, words)

    def _replace_file(self, path: Path, content: files.FileContent, data: bytes) -> None:
        files.write_if_unchanged(path, data, expect=content.stamp, root=self.workspace.paths.boundary(path))

    def _own_parts(self) -> Iterator[tuple[Target, files.FileContent, bytes]]:
        """Yield each existing Markdown file, its content, and the part of it that is kept's."""
        for target in list_editable_targets(self.workspace):
            content = files.read_file(target.path)
            inside = section_bytes(target, content)
            if inside:
                yield target, content, inside

    def _view_files(self) -> Iterator[tuple[Path, files.FileContent]]:
        for path, _ in list_views(self.workspace):
            yield path, files.read_file(path)
