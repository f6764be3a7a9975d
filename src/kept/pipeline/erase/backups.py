"""Holder for backups: each backup is a store and is rewritten as one. A backup that cannot be rewritten is deleted."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.errors import KeptError, StoreError
from kept.core.value import dataclass
from kept.memories.backups import find_backups
from kept.pipeline.erase.store import StoreHolder, erase_from_outputs
from kept.store.backups import make_working_copy, may_hold_turns, replace_with_copy
from kept.store.sqlite import SqliteStore
from kept.store.traces import traces
from kept.workspace import Workspace

BACKUPS = "backups"


@dataclass(frozen=True, kw_only=True)
class BackupCopies:
    """Every copy of the store that kept knows: its own backups, manual ones, those from before a migration, and stores put aside.
    With ``quick``, every copy is reported as a possible place without being read.
    """

    workspace: Workspace
    quick: bool = False
    name: str = BACKUPS
    claims: tuple[str, ...] = ("backups/*", "aside/*.db", "aside/*.db.*", "aside/*.db-journal", "erasing/**/*")

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield each copy that holds the words or cannot be read."""
        for path in find_backups(self.workspace):
            if self.quick or self._has_words(path, words):
                yield ErasureMatch(holder=self.name, where=str(path), text="")

    def erase(self, words: ErasureWords) -> int:
        """Rewrite the copies without the words; a copy in kept's own state folder that cannot be rewritten is deleted.

        Raises StoreError, after all copies were processed, if a copy that lies elsewhere could not be rewritten.
        """
        left: list[str] = []
        held = [path for path in find_backups(self.workspace) if self._has_words(path, words)]
        for path in held:
            try:
                self._rewrite_copy(path, words)
            except (KeptError, OSError) as error:
                if path.is_relative_to(self.workspace.paths.state):
                    path.unlink(missing_ok=True)
                else:
                    left.append(f"{path} ({error})")
        if left:
            done = len(held) - len(left)
            raise StoreError(f"{done} rewritten, and not: {'; '.join(left)}", hint="delete what you do not need")
        return len(held)

    def _rewrite_copy(self, path: Path, words: ErasureWords) -> None:
        """Erase in a working copy, and replace the backup by it. Raises KeptError, OSError; the backup is unchanged then."""
        stage = self.workspace.paths.state / "erasing"
        try:
            staged = make_working_copy(path, stage)
            with SqliteStore(staged) as store:
                StoreHolder(
                    store=store,
                    clock=self.workspace.clock,
                    profile=(self.workspace.profile.id, self.workspace.profile.categories[0].id),
                ).erase(words)
                erase_from_outputs(store, words)
                store.compact()
            if next(traces(staged, words), None):
                raise StoreError("the words are still in it")
            replace_with_copy(staged, path)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _has_words(self, path: Path, words: ErasureWords) -> bool:
        return next(traces(path, words), None) is not None or may_hold_turns(
            path, words.events | {event for event, _ in words.cited}, words.sessions
        )
