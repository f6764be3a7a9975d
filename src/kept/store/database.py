"""An SQLite connection with durable settings, named queries and explicit transactions. It does not interpret the rows.

It uses a rollback journal, because the SQLite of many Pythons lacks the fix of the WAL-reset bug. It uses ``synchronous=EXTRA``,
because a power cut after a commit must lose nothing. A process opens the file only once, because closing a second connection would
drop the locks of the first. A file that contains a trigger or view is not opened, because these could change or hide data.
"""

import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from kept.core.errors import DamagedError, StoreError
from kept.store.columns import compress, mark_of, unpack_value
from kept.store.reader import parse_queries
from kept.store.redaction import Safe

FORMAT = 9  # PRAGMA user_version of the newest schema
ERASING = "erasing"  # setting that exists from the erasure of words until the file was rewritten without them
BINDING = "replica"  # setting with the id and version of the server's store of which this file is a replica
AWAY = "away"  # setting that exists while the server lacks changes of this file; its value is the last pass on the server
# The rows of these tables are counted, so that missing rows are noticed.
TALLIED = ("settings", "files", "projects", "opted_out", "runs", "dirty", "outputs", "notes", "summaries")
_BUSY_MS = 30_000
_BEFORE_STORE = frozenset({"hooks", "plugin.since", "run.lock"})  # a plugin's first session and run create these before a store
_HERE = Path(__file__).parent


@cache
def _queries() -> Mapping[str, str]:
    """The queries of queries.sql, by name."""
    return parse_queries((_HERE / "queries.sql").read_text(encoding="utf-8"))


@cache
def _tally_triggers() -> str:
    """The SQL of temporary triggers that count the rows of tables. Each connection creates them."""
    text = (_HERE / "tallies.sql").read_text(encoding="utf-8")
    return "".join(text.replace("TABLE", item) for item in TALLIED)


# One entry for each fork that led to this process. Calling os.getpid() for each statement would cost a tenth of the writing time.
_forks: list[None] = []
os.register_at_fork(after_in_child=lambda: _forks.append(None))


class _CheckedCursor(sqlite3.Cursor):
    """A cursor that converts SQLite errors to StoreError. Many of them occur only while rows are read."""

    path = Path()

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except sqlite3.Error as error:
            raise _to_store_error(error, self.path) from error

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except sqlite3.Error as error:
            raise _to_store_error(error, self.path) from error

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except sqlite3.Error as error:
            raise _to_store_error(error, self.path) from error


class Database:
    """A connection to a store file. A new file gets the newest schema. An older file is backed up and migrated.

    Raises StoreError if the file cannot be opened, is not a store, or has a newer format than this program knows. If the migration
    or its backup fails, nothing has changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.safe: Safe = str  # redacts secrets in a text before it is stored; the store sets the function
        self._forks = len(_forks)
        self._depth = 0
        self._proofs: dict[Hashable, Callable[[], bool]] = {}
        self._connection, self._inode, self._made = _open(path)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise _to_store_error(error, path) from error
        except StoreError:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        pragma = self._connection.execute
        pragma(f"PRAGMA busy_timeout = {_BUSY_MS}")
        pragma("PRAGMA journal_mode = DELETE")
        pragma("PRAGMA synchronous = EXTRA")
        pragma("PRAGMA secure_delete = ON")
        pragma("PRAGMA trusted_schema = OFF")
        pragma("PRAGMA temp_store = MEMORY")
        pragma("PRAGMA cache_size = -16384")
        self._connection.create_function("checksum", -1, checksum, deterministic=True)
        self._connection.create_function("packed", 1, lambda text: compress([text.encode()]), deterministic=True)
        self._connection.create_function("unpacked", 1, unpack_value, deterministic=True)
        version = self._version()
        if programs := [f"{kind} {name}" for kind, name in _list_objects(self._connection) if kind in ("trigger", "view")]:
            raise DamagedError(
                f"the store contains triggers or views that kept did not create: {', '.join(programs)}",
                where=str(self.path),
                hint="restore a backup: kept restore FILE",
            )
        if version > FORMAT:
            raise StoreError(
                f"this store has format {version}, this program knows {FORMAT}", where=str(self.path), hint="install a newer kept"
            )
        if version == 0:
            self._create()
        elif version < FORMAT:
            self.copy_to(free_name(self.path.parent / "backups" / f"format-{version}.db"))
            self._migrate()
        pragma("PRAGMA foreign_keys = ON")  # after the migration, which replaces tables
        self._connection.executescript(_tally_triggers())

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _create(self) -> None:
        with self.transaction():
            if self._version():
                return  # another process created the store in the meantime
            if self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise StoreError("this file is a database, but not kept's", where=str(self.path), hint="choose another --home")
            others = (item.name for item in self.path.parent.iterdir() if not item.name.startswith(self.path.name))
            if not self._made and not _BEFORE_STORE.issuperset(others):
                # A process that was interrupted while creating the store leaves no other files. If there are others, there was a
                # store with content.
                raise DamagedError("the store file is empty", where=str(self.path), hint="restore a backup: kept restore FILE")
            self._migrate_to(FORMAT, schema_statements())

    def _migrate(self) -> None:
        from kept.store.packing import block_hash, repack, shorten_ids  # noqa: PLC0415 - only a migration needs them

        self._connection.create_function("mark_of", 2, mark_of, deterministic=True)
        self._connection.create_function("shorten_ids", 1, shorten_ids, deterministic=True)
        self._connection.create_function("repack", 2, repack, deterministic=True)
        self._connection.create_function("block_hash", 1, lambda body: body and block_hash(body), deterministic=True)
        for version in range(2, FORMAT + 1):
            with self.transaction():
                if self._version() < version:  # another process may have migrated it
                    self._migrate_to(version, migration_statements(version))
        self._connection.execute("VACUUM")

    def _migrate_to(self, version: int, made: tuple[str, ...]) -> None:
        for statement in made:
            self._connection.execute(statement)
        self._connection.execute(
            "INSERT INTO migrations (version, at) VALUES (?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))", (version,)
        )
        self._connection.execute(f"PRAGMA user_version = {version}")

    def close(self) -> None:
        """Close the connection. SQLite rolls back an open transaction."""
        self._connection.close()

    def run(self, name: str, /, **values: Any) -> sqlite3.Cursor:
        """Execute a named query. Raises StoreError if it fails."""
        return self._execute(_queries()[name], values)

    def execute_many(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute a named query for each row. Raises StoreError if it fails."""
        self._check_process()
        try:
            self._connection.executemany(_queries()[name], rows)
        except _REFUSED as error:
            raise _to_store_error(error, self.path) from error

    def execute_sql(self, sql: str, values: Mapping[str, Any] | None = None) -> sqlite3.Cursor:
        """Execute a maintenance statement, never text from outside. Raises StoreError if it fails."""
        return self._execute(sql, values or {})

    def fetch_one(self, name: str, /, **values: Any) -> Any:
        """The first row of a named query, or None."""
        return self.run(name, **values).fetchone()

    def _execute(self, sql: str, values: Mapping[str, Any]) -> sqlite3.Cursor:
        self._check_process()
        cursor = self._connection.cursor(_CheckedCursor)
        cursor.path = self.path
        try:
            return cursor.execute(sql, values)
        except _REFUSED as error:
            raise _to_store_error(error, self.path) from error

    def _check_process(self) -> None:
        if self._forks != len(_forks):
            raise StoreError("a forked process must open the store itself", where=str(self.path))

    def list_foreign_objects(self) -> tuple[str, ...]:
        """The tables, indexes, triggers and views in the file that kept did not create, by kind and name."""
        return tuple(f"{kind} {name}" for kind, name in _list_objects(self._connection) if (kind, name) not in _current_objects())

    def data_version(self) -> int:
        """A number that changes whenever another connection changes the store."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block that commits as a whole or not at all. An inner transaction is part of the outer one.

        Raises StoreError if the commit fails; then nothing has changed. Raises DamagedError if committed data cannot be read back
        (see :meth:`verify_after_commit`).
        """
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        self._begin_write()
        try:
            self._join()
            yield
            self._publish()
            self._execute("COMMIT", {})
        except BaseException:
            with suppress(sqlite3.Error):  # a failed COMMIT may have rolled back already
                self._connection.execute("ROLLBACK")
            self._withdraw()
            raise
        finally:
            self._depth = 0
            proofs, self._proofs = self._proofs, {}
        self._verify_written(proofs.values())

    def _join(self) -> None:
        """Called when a transaction begins. A replica fetches the server's changes here; without a server it does nothing."""

    def _publish(self) -> None:
        """Called before a transaction is committed. A replica sends its changes to the server here; without a server it does
        nothing.
        """

    def _withdraw(self) -> None:
        """Called after a transaction failed. A replica rolls it back on the server here; without a server it does nothing."""

    def verify_after_commit(self, what: Hashable, proof: Callable[[], bool]) -> None:
        """Register a ``proof`` to run after the commit. It reads ``what`` back from the file, and returns True if it is there
        unchanged.

        A later proof for the same ``what`` replaces an earlier one.
        """
        if self._depth:
            self._proofs[what] = proof

    def _verify_written(self, proofs: Collection[Callable[[], bool]]) -> None:
        """Read committed data back from the file. A disk may report writes that it never did, and SQLite cannot notice that."""
        if not proofs:
            return
        self._execute("PRAGMA shrink_memory", {})
        with self.read_transaction():
            whole = all(proof() for proof in proofs)
        if not whole:
            hint = "the disk is unreliable: run `kept check`, then restore a backup to another disk"
            raise DamagedError("what was written cannot be read back", where=str(self.path), hint=hint)

    @contextmanager
    def trial_transaction(self) -> Iterator[None]:
        """A block whose changes, including inner transactions, are rolled back at the end."""
        self._begin_write()
        try:
            yield
        finally:
            self._depth = 0
            self._proofs = {}
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        """A block in which all reads see the store at one moment."""
        if self._connection.in_transaction:
            yield
            return
        self._execute("BEGIN", {})
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _begin_write(self) -> None:
        """Begin a write transaction. Raises StoreError if the file was replaced meanwhile, because the changes would be lost."""
        self._execute("BEGIN IMMEDIATE", {})
        self._refuse_replaced()
        self._depth = 1

    def _refuse_replaced(self) -> None:
        """Roll back and raise StoreError if this is not the file at the store's path any more."""
        inode = 0
        with suppress(OSError):
            inode = self.path.stat().st_ino
        if inode != self._inode:
            self._connection.execute("ROLLBACK")
            raise StoreError("the store was replaced meanwhile", where=str(self.path), hint="run again; nothing was changed")

    def copy_to(self, path: Path) -> None:
        """Write a consistent, durable copy of the whole store to a new file (mode 0600).

        Raises StoreError if that fails, or if the store was replaced or deleted meanwhile. No file is left behind then.
        """
        with self.read_transaction(), create_file(path), closing(sqlite3.connect(path, isolation_level=None)) as target:
            self._connection.backup(target)
            pages = target.execute("PRAGMA integrity_check").fetchone()[0]
            if pages != "ok":
                raise DamagedError(f"the copy is damaged: {pages}", where=str(path), hint="run `kept check`")
            self._refuse_replaced()

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """A block in which no other process can read or write the store, so that its file can be replaced."""
        self._execute("BEGIN EXCLUSIVE", {})
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


@contextmanager
def create_file(path: Path) -> Iterator[None]:
    """A block that fills a new file (mode 0600). At its end, file and folder are flushed to disk. On an error, the file is removed.

    Raises StoreError.
    """
    try:
        make_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreError(f"the file cannot be written: {error.strerror}", where=str(path), hint="choose another place") from error
    try:
        try:
            yield
            flush(path)
            flush(path.parent)
        except sqlite3.Error as error:
            raise _to_store_error(error, path) from error
        except OSError as error:
            raise StoreError(f"the file cannot be written: {error.strerror}", where=str(path), hint="check the disk") from error
    except BaseException:
        for item in (path, path.with_name(f"{path.name}-journal")):
            with suppress(OSError):
                item.unlink()
        raise


def checksum(*values: str | bytes | int | None) -> int:
    """The CRC-32 of the columns of a row. It detects accidental damage, not tampering."""
    text = "\x1f".join(["\x00" if value is None else str(value) for value in values])
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def match_any_word(words: Iterable[str]) -> str:
    """A full-text query for any of the words. Each word is quoted, so that no character acts as an operator."""
    return " OR ".join(_quote_words(words)) or '""'


def match_all_words(words: Iterable[str]) -> str:
    """A full-text query for all of the words."""
    return " AND ".join(_quote_words(words)) or '""'


def _quote_words(words: Iterable[str]) -> list[str]:
    return ['"' + word.replace('"', '""') + '"' for word in words]


def _open(path: Path) -> tuple[sqlite3.Connection, int, bool]:
    """A connection, the inode of its file, and True if this call created the file."""
    made = False
    if path.is_symlink():
        raise StoreError("the store is a link", where=str(path), hint="replace the link by the file it leads to")
    try:
        make_folder(path.parent)
        with suppress(FileExistsError):  # SQLite would create the file readable for others
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            made = True
        # Callers that share a store between threads must use it from one thread at a time (kept.api).
        connection = sqlite3.connect(path, isolation_level=None, cached_statements=256, check_same_thread=False)
        inode = path.stat().st_ino
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"the store cannot be opened: {getattr(error, 'strerror', None) or error}",
            where=str(path),
            hint="check the permissions and the disk",
        ) from error
    connection.row_factory = sqlite3.Row
    return connection, inode, made


_REFUSED = (sqlite3.Error, OverflowError)  # a number beyond 64 bits overflows before SQLite sees it


# What SQLite says, what is wrong, and what helps.
_FAULTS = (
    ("full", "the disk is full", "free some space and run again; nothing was changed"),
    ("readonly", "the store is read-only", "make its folder writable, or choose another --home"),
    ("read-only", "the store is read-only", "make its folder writable, or choose another --home"),
    ("locked", "another process kept the store locked for 30 seconds", "run again when it has finished"),
    ("malformed", "the store file is damaged", "restore a backup: kept restore FILE"),
    ("not a database", "the store file is damaged", "restore a backup: kept restore FILE"),
    ("I/O error", "the disk refused", "look at the free space, the quota, the limits (`ulimit -f`) and the disk, then run again"),
    ("unable to open", "the store cannot be opened", "check the permissions and the disk"),
)


def _to_store_error(error: Exception, path: Path) -> StoreError:
    text = str(error)
    faults = ((what, hint) for said, what, hint in _FAULTS if said in text)
    what, hint = next(faults, (f"the store answered: {text}", "run `kept check`"))
    return StoreError(what, where=str(path), hint=hint)


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, accessible to the owner only (mode 0700). Raises OSError."""
    for missing in [item for item in (path, *path.parents) if not item.exists()][::-1]:
        missing.mkdir(mode=0o700, exist_ok=True)


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk (fsync). Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def delete_database(path: Path) -> None:
    """Delete a database file and its journal, if they exist. Raises OSError."""
    for item in (path, path.with_name(f"{path.name}-journal")):
        item.unlink(missing_ok=True)


def free_name(path: Path) -> Path:
    """The path if no file has it, else the first free path with a number before the suffix."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}.{number}{path.suffix}")
    return free


_OBJECTS = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name"


def schema_statements() -> tuple[str, ...]:
    """The statements of schema.sql."""
    return _statements("schema.sql")


def migration_statements(version: int) -> tuple[str, ...]:
    """The statements that migrate a store to ``version`` from the format before it."""
    return _statements("migrations", f"{version}.sql")


def _list_objects(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return [(str(row[0]), str(row[1])) for row in connection.execute(_OBJECTS)]


@cache
def _current_objects() -> frozenset[tuple[str, str]]:
    """The kind and name of every object in a new store."""
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in schema_statements():
            made.execute(statement)
        return frozenset(_list_objects(made))


def _statements(*place: str) -> tuple[str, ...]:
    text = _HERE.joinpath(*place).read_text(encoding="utf-8")
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return tuple(part.strip() for part in bare.split(";") if part.strip())
