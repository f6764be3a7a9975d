"""kept's own backups as holders of words: each is a store, and is rewritten as one. One that cannot be rewritten is removed."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kept.core.erasure import Place, Words
from kept.core.errors import KeptError, StoreError
from kept.memories.backups import backups
from kept.pipeline.erase.store import StoreHolder, erase_written
from kept.store.backups import copy_in, copy_over, has_turns
from kept.store.sqlite import SqliteStore
from kept.store.traces import traces
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Backups:
    """Every copy of the store that kept knows of: made by itself, by hand, before a migration, put aside."""

    workspace: Workspace
    name: str = "backups"
    claims: tuple[str, ...] = ("backups/*", "aside/*.db", "aside/*.db.*", "aside/*.db-journal", "erasing/**/*")

    def find(self, words: Words) -> Iterator[Place]:
        """One place a copy that holds the words, or cannot be read."""
        for path in backups(self.workspace):
            if self._holds(path, words):
                yield Place(holder=self.name, where=str(path), text="")

    def erase(self, words: Words) -> int:
        """Rewrite the copies without the words.

        Raises StoreError, after all of them were seen to, where one that a person made could be neither rewritten nor read.
        """
        left: list[str] = []
        held = [path for path in backups(self.workspace) if self._holds(path, words)]
        for path in held:
            try:
                self._rewrite(path, words)
            except (KeptError, OSError) as error:
                if path.is_relative_to(self.workspace.paths.state):
                    path.unlink(missing_ok=True)
                else:
                    left.append(f"{path} ({error})")
        if left:
            raise StoreError(f"could not be rewritten: {'; '.join(left)}", hint="delete what you do not need")
        return len(held)

    def _rewrite(self, path: Path, words: Words) -> None:
        """Erase in a copy of the copy, and put that in its place. Raises KeptError, OSError; the copy is as it was then."""
        stage = self.workspace.paths.state / "erasing"
        try:
            staged = copy_in(path, stage)
            with SqliteStore(staged) as store:
                StoreHolder(
                    store=store,
                    clock=self.workspace.clock,
                    profile=(self.workspace.profile.id, self.workspace.profile.categories[0].id),
                ).erase(words)
                erase_written(store, words)
                store.compact()
            if next(traces(staged, words), None):
                raise StoreError("the words are still in it", where=str(path))
            copy_over(staged, path)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _holds(self, path: Path, words: Words) -> bool:
        return next(traces(path, words), None) is not None or has_turns(
            path, words.events | {event for event, _ in words.cited}, words.sessions
        )
