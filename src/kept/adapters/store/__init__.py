"""The store: one SQLite file with the archive, the log, and what derives from them."""

import json
import secrets
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kept.adapters.store.archive import Archive, FileState, Sitting, Thread
from kept.adapters.store.database import Database
from kept.adapters.store.log import Draft, Log, Proposal, Run, Span
from kept.model.codec import canonical, dump, load
from kept.model.document import Line

__all__ = ["Archive", "Draft", "FileState", "Log", "Output", "Proposal", "Run", "Sitting", "Span", "Store", "Thread"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """The lines kept wrote to a file, and the hash of their bytes."""

    hash: str
    lines: tuple[Line, ...]


class Store:
    """An open store. ``archive`` holds what was said, ``log`` what is remembered of it.

    Raises StoreError where the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path)
        self.path = path
        self.archive = Archive(self._database)
        self.log = Log(self._database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside commits together or not at all."""
        return self._database.transaction()

    def trial(self) -> AbstractContextManager[None]:
        """Everything inside is taken back at the end."""
        return self._database.trial()

    def reading(self) -> AbstractContextManager[None]:
        """Everything read inside is of one moment."""
        return self._database.reading()

    def key(self, name: str) -> bytes:
        """A random secret of this store (32 bytes), made when it is first asked for."""
        row = self._database.one("setting", name=f"key:{name}")
        if row is None:
            with self._database.transaction():
                self._database.run("add_setting", name=f"key:{name}", value=secrets.token_hex(32))
                row = self._database.one("setting", name=f"key:{name}")
        return bytes.fromhex(row["value"])

    def output(self, path: str) -> tuple[Output, ...]:
        """What was last written to a file, and after it what is being written where a write was cut short; empty where nothing was."""
        return tuple(
            Output(hash=row["hash"], lines=load(tuple[Line, ...], json.loads(row["lines"])))
            for row in self._database.run("output", path=path)
        )

    def intend(self, path: str, output: Output) -> None:
        """Note what is about to be written to a file."""
        self._put_output(path, output, intended=1)

    def wrote(self, path: str, output: Output) -> None:
        """Note what was written to a file."""
        with self._database.transaction():
            self._put_output(path, output, intended=0)
            self._database.run("drop_intended", path=path)

    def _put_output(self, path: str, output: Output, *, intended: int) -> None:
        self._database.run("put_output", path=path, intended=intended, hash=output.hash, lines=canonical(dump(output.lines)))

    def drop_output(self, path: str) -> None:
        """Note that a file is no longer kept's."""
        self._database.run("drop_output", path=path)

    def outputs(self) -> tuple[str, ...]:
        """The paths of all files written."""
        return tuple(row["path"] for row in self._database.run("outputs"))

    def damage(self) -> tuple[str, ...]:
        """Everything that is wrong with the store, in words; empty where nothing is."""
        with self._database.reading():
            pages = [str(row[0]) for row in self._database.raw("PRAGMA integrity_check").fetchall() if row[0] != "ok"]
            if pages:
                return tuple(f"database pages: {each}" for each in pages)
            links = [
                f"row {row[1]} of {row[0]} points nowhere" for row in self._database.raw("PRAGMA foreign_key_check").fetchall()
            ]
            return (*links, *self.archive.damage(), *self.log.damage())

    def compact(self) -> None:
        """Rewrite the file without the pages of erased words."""
        self._database.raw("INSERT INTO memory_index (memory_index) VALUES ('optimize')")
        self._database.raw("INSERT INTO turn_index (turn_index) VALUES ('optimize')")
        self._database.raw("VACUUM")
