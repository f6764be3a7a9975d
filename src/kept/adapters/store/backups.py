"""Copies of a store file: kept in a folder, rotated, put in the store's place, asked whether they hold certain words.

A kept copy has the hash of its bytes in its name, so that rot shows without opening it.
"""

import shutil
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from hashlib import file_digest
from pathlib import Path

from kept.adapters.store.database import Database, new_file
from kept.adapters.store.paths import drop, flush, free_name, make_folder
from kept.adapters.store.protocol import Store
from kept.adapters.store.records import unpack
from kept.adapters.store.sqlite import SqliteStore
from kept.model.codec import canonical
from kept.model.errors import DamagedError, StoreError, UsageError


def kept_copies(folder: Path) -> tuple[Path, ...]:
    """The kept copies in a folder, newest first by the name they were given."""
    return tuple(sorted(folder.glob("kept-*.db"), reverse=True))


def add_copy(store: Store, folder: Path, name: str) -> Path:
    """Keep a copy of a store, verified but for its indexes, as ``kept-<name>`` in a folder. Raises StoreError, with no file left behind."""
    fresh = folder / "fresh.db"
    try:
        drop(fresh)  # of a copying that was cut short
        store.copy_to(fresh, indexes=False)
        return fresh.rename(folder / f"kept-{name}.{_digest(fresh)}.db")
    except OSError as error:
        raise StoreError(f"the copy cannot be made: {error.strerror}", where=str(folder), hint="move what is in the way") from error


def rotate(folder: Path, keep: int) -> tuple[Path, ...]:
    """Delete the copies that are older than ``keep`` intact ones, and return them: no good one ever goes for a bad one."""
    intact, gone = 0, []
    for path in kept_copies(folder):
        if intact >= keep:
            path.unlink()
            gone.append(path)
        elif is_intact(path):
            intact += 1
    return tuple(gone)


def is_intact(path: Path) -> bool:
    """Whether the bytes of a kept copy are those it was made with."""
    try:
        return path.stem.rpartition(".")[2] == _digest(path)
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "blake2b").hexdigest()[:16]


def put_in_place(backup: Path, place: Path, aside: Path) -> Path | None:
    """Make a copy of a backup the store at ``place``; what was there is put aside, whole, in a folder. Returns where, if anything was.

    The copy is brought to the newest format and checked before anything is changed. Whoever waits to write to the old store is told
    that it was replaced. Raises UsageError, StoreError, and DamagedError where the backup is damaged; the old store stays then.
    """
    if not backup.is_file():
        raise UsageError("there is no such file", where=str(backup))
    staged = place.with_name(f"{place.name}.restoring")
    drop(staged)
    with new_file(staged):
        shutil.copyfile(backup, staged)
    try:
        with SqliteStore(staged) as store:
            if found := store.damage():
                raise DamagedError(
                    f"the backup is damaged: {found[0]}", where=str(backup), hint="use an older one; nothing was changed"
                )
        return _swap(staged, place, aside)
    finally:
        drop(staged)


def _swap(staged: Path, place: Path, aside: Path) -> Path | None:
    saved: Path | None = None
    with ExitStack() as held:
        if place.exists():
            with suppress(StoreError):  # one that does not even open is put aside as it is
                database = Database(place)
                held.callback(database.close)
                held.enter_context(database.alone())
            make_folder(aside)
            saved = free_name(aside / place.name)
            journal = place.with_name(f"{place.name}-journal")
            try:
                saved.hardlink_to(place)
            except OSError:
                shutil.copyfile(place, saved)
                saved.chmod(0o600)
            if journal.exists():  # without it the file put aside is not whole; beside the new one it would destroy it
                journal.rename(saved.with_name(f"{saved.name}-journal"))
        staged.replace(place)
        flush(place.parent)
    return saved


def holds_words(path: Path, memories: Iterable[str], quotes: Mapping[str, Sequence[str]]) -> bool:
    """Whether a store file holds words of memories (ids), or quotes of archived events (by key). One that cannot be read may."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as store:
            sealed = store.execute(
                "SELECT 1 FROM sealed WHERE owner IN (SELECT 'o' || id FROM operations WHERE memory IN (SELECT value FROM json_each(?)))",
                (canonical(sorted(memories)),),
            ).fetchone()
            if sealed:
                return True
            places = store.execute(
                "SELECT e.key, b.body, e.place FROM events AS e JOIN blocks AS b ON b.id = e.block"
                " WHERE e.key IN (SELECT value FROM json_each(?))",
                (canonical(sorted(quotes)),),
            )
            return any(quote in unpack(body)[place].text for key, body, place in places for quote in quotes[key])
    except (sqlite3.Error, OSError, ValueError, IndexError, zlib.error):
        return True
