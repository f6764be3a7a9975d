"""One SQLite connection with durable settings, named queries and explicit transactions. Knows nothing of what the rows mean.

Rollback journal and ``synchronous=EXTRA``: the SQLite that ships with many Pythons predates the fix of the WAL-reset bug, and a
power cut after a commit must lose nothing. The file is opened once in a process; a second open and close would drop its locks.
"""

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from kept.model.errors import StoreError

FORMAT = 1  # PRAGMA user_version of the newest schema
_BUSY_MS = 30_000


@cache
def statements() -> Mapping[str, str]:
    """The named statements of queries.sql."""
    text = (files("kept.adapters.store") / "queries.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}


class Database:
    """A connection to a store file, created with the newest schema where there is none.

    Raises StoreError where the file cannot be opened, is no store, or is newer than this program.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pid = os.getpid()
        self._depth = 0
        self._connection = _open(path)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise _explained(error, path) from error
        except StoreError:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        pragma = self._connection.execute
        pragma(f"PRAGMA busy_timeout = {_BUSY_MS}")
        pragma("PRAGMA journal_mode = DELETE")
        pragma("PRAGMA synchronous = EXTRA")
        pragma("PRAGMA foreign_keys = ON")
        pragma("PRAGMA secure_delete = ON")
        pragma("PRAGMA trusted_schema = OFF")
        pragma("PRAGMA cache_size = -16384")
        version = pragma("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise StoreError(
                f"this store has format {version}, this program knows {FORMAT}", where=str(self.path), hint="install a newer kept"
            )
        if version == 0:
            self._create()

    def _create(self) -> None:
        with self.transaction():
            if self._connection.execute("PRAGMA user_version").fetchone()[0]:
                return  # another process created it while this one waited
            if self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise StoreError("this file is a database, but not kept's", where=str(self.path), hint="choose another --home")
            for statement in schema_statements():
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    def close(self) -> None:
        """Close the connection; open transactions are rolled back by SQLite."""
        self._connection.close()

    def run(self, name: str, /, **values: Any) -> sqlite3.Cursor:
        """Execute a named statement. Raises StoreError where SQLite cannot."""
        return self._execute(statements()[name], values)

    def raw(self, sql: str, values: Mapping[str, Any] | None = None) -> sqlite3.Cursor:
        """Execute a statement of the store's own maintenance (never text from outside). Raises StoreError where SQLite cannot."""
        return self._execute(sql, values or {})

    def one(self, name: str, /, **values: Any) -> Any:
        """The first row of a named statement, or None."""
        return self.run(name, **values).fetchone()

    def _execute(self, sql: str, values: Mapping[str, Any]) -> sqlite3.Cursor:
        if os.getpid() != self._pid:
            raise StoreError("a forked process must open the store itself", where=str(self.path))
        try:
            return self._connection.execute(sql, values)
        except sqlite3.Error as error:
            raise _explained(error, self.path) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside commits together or not at all; an inner transaction belongs to the outer one.

        Raises StoreError where the commit fails; nothing is changed then.
        """
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        self._execute("BEGIN IMMEDIATE", {})
        self._depth = 1
        try:
            yield
            self._execute("COMMIT", {})
        except BaseException:
            with suppress(sqlite3.Error):  # a failed COMMIT may have rolled back by itself
                self._connection.execute("ROLLBACK")
            raise
        finally:
            self._depth = 0

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Everything inside, transactions too, is rolled back at the end."""
        self._execute("BEGIN IMMEDIATE", {})
        self._depth = 1
        try:
            yield
        finally:
            self._depth = 0
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside is of one moment."""
        if self._depth:
            yield
            return
        self._execute("BEGIN", {})
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def backup_to(self, path: Path) -> None:
        """Copy the whole store, as of one moment, into a new file."""
        with sqlite3.connect(path, isolation_level=None) as target:
            self._connection.backup(target)
        target.close()


def schema_statements() -> tuple[str, ...]:
    """The statements of schema.sql, one by one."""
    text = (files("kept.adapters.store") / "schema.sql").read_text(encoding="utf-8")
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return tuple(each.strip() for each in bare.split(";") if each.strip())


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):  # created by hand so that it is never readable by others, not even for a moment
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"the store cannot be opened: {error}", where=str(path), hint="check the permissions and the disk"
        ) from error
    connection.row_factory = sqlite3.Row
    return connection


def _explained(error: sqlite3.Error, path: Path) -> StoreError:
    text = str(error)
    match text:
        case _ if "full" in text:
            what, hint = "the disk is full", "free some space and run again; nothing was changed"
        case _ if "readonly" in text or "read-only" in text:
            what, hint = "the store is read-only", "make its folder writable, or choose another --home"
        case _ if "locked" in text:
            what, hint = "another process kept the store locked for 30 seconds", "run again when it has finished"
        case _ if "malformed" in text or "not a database" in text:
            what, hint = "the store file is damaged", "restore a backup: kept restore FILE"
        case _ if "unable to open" in text:
            what, hint = "the store cannot be opened", "check the permissions and the disk"
        case _:
            what, hint = f"the store answered: {text}", "run `kept check`"
    return StoreError(what, where=str(path), hint=hint)
