"""Backups and exports of a store.

A backup is a copy of the store file. Its name contains the hash of its bytes, so damage is detected without opening it. An export
can be loaded by any store: gzipped JSON lines, one row per line, with the row's kind under ``"is"``.

Of the random keys, only that of the fingerprints is exported. Without it the fingerprints are useless, and an import could bring
forgotten statements back. With the file, anybody can test guesses against the fingerprints, so it must be as private as a backup.
"""

import errno
import gzip
import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from hashlib import file_digest
from pathlib import Path
from typing import Any

from kept.core.codec import dump_member, load, to_canonical_json
from kept.core.errors import DamagedError, StoreError, UsageError
from kept.local.files.walking import explain_os_errors
from kept.store.columns import mark_of
from kept.store.database import Database, create_file, delete_database, flush, free_name, make_folder
from kept.store.sqlite import SqliteStore
from kept.store.traces import is_database
from kept.store.values import Row, StoreRow


def list_backups(folder: Path) -> tuple[Path, ...]:
    """The backups in a folder, newest first by name."""
    return tuple(sorted(folder.glob("kept-*.db"), reverse=True))


def add_backup(store: SqliteStore, folder: Path, name: str) -> Path:
    """Write a backup of a store as ``kept-<name>.<hash>.db``. Checks everything in it except the indexes. Raises StoreError. If a
    call fails, the next one deletes the files it left behind.
    """
    fresh = folder / "fresh.db"
    try:
        delete_database(fresh)  # an interrupted copy left this
        store.copy_to(fresh, indexes=False)
        return fresh.rename(folder / f"kept-{name}.{_digest(fresh)}.db")
    except OSError as error:
        raise StoreError(f"the copy cannot be made: {error.strerror}", where=str(folder), hint="move what is in the way") from error


def rotate(folder: Path, keep: int, today: str) -> tuple[Path, ...]:
    """Delete the backups older than the newest ``keep`` intact ones, and return the deleted ones. Damaged backups do not count.

    Backups of days after ``today`` were made while the clock was wrong, and count as the oldest.
    """
    intact, gone = 0, []
    for path in sorted(list_backups(folder), key=lambda path: path.name.removeprefix("kept-")[: len(today)] > today):
        if intact >= keep:
            path.unlink()
            gone.append(path)
        elif is_intact(path):
            intact += 1
    return tuple(gone)


def is_intact(path: Path) -> bool:
    """True if the bytes of a backup have the hash in its name."""
    try:
        return path.stem.rpartition(".")[2] == _digest(path)
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "blake2b").hexdigest()[:16]


def restore_backup(backup: Path, place: Path, aside: Path, prepare: Callable[[SqliteStore], None] = lambda _: None) -> Path | None:
    """Replace the store at ``place`` by a copy of a backup. The old store moves to the folder ``aside``; returns its new path, or
    None.

    The copy is migrated to the newest format, checked, and changed by ``prepare`` before it replaces the store. A process that
    waits to write to the old store gets an error. Raises UsageError, StoreError, and DamagedError if the backup is damaged. Then
    the old store stays.
    """
    if not os.path.isfile(backup):  # noqa: PTH113 - Path raises where a folder is closed to us
        raise UsageError("there is no such file", where=str(backup), hint="look at the path and its permissions")
    hint = "give a file that `kept backup` wrote; `kept import` reads exports"
    foreign = UsageError("it is no backup of kept; nothing was changed", where=str(backup), hint=hint)
    with explain_os_errors(backup, "the backup cannot be read"):
        if not is_database(backup):
            raise foreign
    staged = place.with_name(f"{place.name}.restoring")
    delete_database(staged)
    with create_file(staged), explain_os_errors(backup, "the backup cannot be copied"):
        shutil.copyfile(backup, staged)
    try:
        if not _has_candidates(staged):
            raise foreign
        with SqliteStore(staged) as store:
            if found := store.find_damage():
                raise DamagedError(
                    f"the backup is damaged: {found[0]}", where=str(backup), hint="use an older one; nothing was changed"
                )
            store.unbind()  # otherwise the newer rows of the server would be fetched again
            prepare(store)
        return _swap_in(staged, place, aside)
    finally:
        delete_database(staged)


def _has_candidates(path: Path) -> bool:
    """True if a database has the table of candidates, as every store of kept has, or cannot be read: opening it says why."""
    with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.DatabaseError):
        return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'candidates'").fetchone() is not None
    return True


def _swap_in(staged: Path, place: Path, aside: Path) -> Path | None:
    saved: Path | None = None
    with ExitStack() as held:
        if place.exists():
            with suppress(StoreError):  # a store that cannot be opened is moved as it is
                database = Database(place)
                held.callback(database.close)
                held.enter_context(database.exclusive_lock())
            make_folder(aside)
            saved = free_name(aside / place.name)
            journal = place.with_name(f"{place.name}-journal")
            try:
                saved.hardlink_to(place)
            except OSError:
                shutil.copyfile(place, saved)
                saved.chmod(0o600)
            if journal.exists():  # the journal belongs to the old file; applied to the new one it would destroy it
                journal.rename(saved.with_name(f"{saved.name}-journal"))
        staged.replace(place)
        flush(place.parent)
    return saved


def is_copy(path: Path, store: SqliteStore) -> bool:
    """True if a file is a copy of this store of any age, because it has the same key."""
    query = "SELECT EXISTS (SELECT 1 FROM settings WHERE name = 'key:redaction' AND value = ?)"
    return _ask_file(path, query, store.key("redaction").hex(), unreadable=False)


def may_hold_turns(path: Path, keys: Collection[str], sessions: Collection[str]) -> bool:
    """True if a store file may contain any of these events or sessions, or cannot be read."""
    query = (
        "SELECT EXISTS (SELECT 1 FROM marks WHERE mark IN (SELECT value FROM json_each(?)))"
        " OR EXISTS (SELECT 1 FROM threads WHERE session IN (SELECT value FROM json_each(?)))"
    )
    marks = to_canonical_json([mark_of("key", key) for key in keys])
    return _ask_file(path, query, marks, to_canonical_json(sorted(sessions)), unreadable=True)


def _ask_file(path: Path, query: str, *values: str, unreadable: bool) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as store:
            return bool(store.execute(query, values).fetchone()[0])
    except (sqlite3.Error, OSError):
        return unreadable


def make_working_copy(path: Path, folder: Path) -> Path:
    """Make a working copy of a store file in ``folder``, after emptying the folder. Raises StoreError, OSError."""
    shutil.rmtree(folder, ignore_errors=True)
    copy = folder / "copy.db"
    with create_file(copy):
        shutil.copyfile(path, copy)
    journal = path.with_name(f"{path.name}-journal")
    if journal.exists():  # without the journal, the copy is incomplete
        shutil.copyfile(journal, copy.with_name(f"{copy.name}-journal"))
    return copy


def replace_with_copy(copy: Path, path: Path) -> Path:
    """Replace a store file by its working copy. Updates a hash in the file's name, and leaves a name that a person chose.

    Raises OSError.
    """
    place = path.with_name(f"{path.stem.rpartition('.')[0]}.{_digest(copy)}.db") if is_intact(path) else path
    flush(copy)
    try:
        copy.replace(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_beside(copy, place)  # backups are often on another disk than the state folder
    if place != path:
        path.unlink()
    delete_database(path.with_name(f"{path.name}-journal"))
    flush(path.parent)
    return place


def _copy_beside(copy: Path, place: Path) -> None:
    fresh = place.with_name(f".{place.name}.new")
    try:
        delete_database(fresh)  # an interrupted copy left this
        with create_file(fresh):
            shutil.copyfile(copy, fresh)
        flush(fresh)
        fresh.replace(place)
    finally:
        delete_database(fresh)


_MAGIC = b"\x1f\x8b"
_LONGEST = 64 * 2**20  # maximum bytes of a row


def is_portable(path: Path) -> bool:
    """True if a file begins like an export. Raises UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(2) == _MAGIC
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror}", where=str(path)) from error


def write_rows(rows: Iterable[Row], path: Path) -> int:
    """Write rows durably to a new file (mode 0600). Returns their number. Raises StoreError; no file is left behind then."""
    count = 0
    with (
        create_file(path),
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as file,
    ):
        for row in rows:
            file.write(f"{to_canonical_json(dump_member(row))}\n".encode())
            count += 1
    return count


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of an export file, one at a time. Raises StoreError if it is truncated, damaged or of a newer format."""
    number = 0
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(_LONGEST):
                number += 1
                yield _parse_row(line, first=number == 1)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"row {number} cannot be read: {error}", where=str(path), hint="nothing was changed") from error


def _parse_row(line: bytes, *, first: bool) -> Row:
    row: Row = load(Row, json.loads(line, parse_constant=_reject_constant))
    if first != isinstance(row, StoreRow):
        raise ValueError("only the first row may be the header")
    return row


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
