"""The SQLite store: one file with the archive, the log, and the data derived from them."""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import groupby, islice
from pathlib import Path
from typing import Self

from kept.core.codec import dump, load, to_canonical_json
from kept.core.digest import digest
from kept.core.document import Line
from kept.core.errors import DamagedError, StoreError, UsageError
from kept.core.memory import Memory
from kept.core.project import Project
from kept.core.summary import Passage
from kept.store.archive.turns import Archive
from kept.store.check import citations
from kept.store.database import BINDING, ERASING, Database, delete_database, flush
from kept.store.days import Days
from kept.store.log import Log
from kept.store.memories import clear_texts, memory_index_words
from kept.store.redaction import Redact, skip_store_redaction
from kept.store.rows import UNREADABLE
from kept.store.values import VERSION, EventRow, FileRow, OptedOut, Output, Row, StoreRow, ThreadRow
from kept.store.vector_queue import VectorQueue

_REINDEXING = "reindexing"  # setting that a migration leaves if data derived from the archive must be rebuilt
_FOLD = "2"  # version of the fold of the log to memories; raise it when the result for an old log changes
_TAKEN = 500  # rows loaded at a time; such a batch of events forms an archive block


class SqliteStore:
    """An open store file, created if there is none. A ``with`` block closes it. Raises StoreError if it cannot be opened.

    ``archive`` has the conversations, ``log`` the memories and their history, ``days`` the notes and summaries,
    ``queue`` the texts that wait for vectors. ``redact`` removes
    secrets from every text that is stored (see :mod:`kept.store.redaction`).
    """

    def __init__(self, path: Path, *, redact: Redact = skip_store_redaction, database: Database | None = None) -> None:
        self._database = database or Database(path)
        if redact is not skip_store_redaction:
            # Most texts hold no secret and are returned as they are, whatever the key: it is read only for the others.
            self._database.safe = lambda text: text if redact(text, b"any") is text else redact(text, self.key("redaction"))
        self.path = path
        self.archive = Archive(self._database)
        self.log = Log(self._database)
        self.days = Days(self._database)
        self.queue = VectorQueue(self._database)
        self._remains = ""
        if self._database.fetch_one("setting", name=ERASING) is not None:  # a process died before it rewrote the file
            try:
                self.compact()
            except StoreError as error:  # the next process that opens the store tries again, and `kept check` reports it
                self._remains = f"forgotten words may still be in free pages: {error.what}"
        if reindexing := self._database.fetch_one("setting", name=_REINDEXING):
            with self._database.transaction():
                self.archive.reindex()
                if not reindexing["value"]:  # an older format did not record repeated passages
                    self.archive.requeue_repeats()
                self._database.run("drop_setting", name=_REINDEXING)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def transaction(self) -> AbstractContextManager[None]:
        """A block that commits as a whole or not at all. An inner transaction is part of the outer one.

        Raises StoreError if the commit fails. Nothing has changed then.
        """
        return self._database.transaction()

    def trial_transaction(self) -> AbstractContextManager[None]:
        """A block whose changes, including inner transactions, are rolled back at the end."""
        return self._database.trial_transaction()

    def read_transaction(self) -> AbstractContextManager[None]:
        """A block in which all reads see the store at one moment."""
        return self._database.read_transaction()

    def refresh(self) -> None:
        """Fetch the changes of other machines from the server. Without a server, this and the next three methods do nothing."""

    @property
    def away_since(self) -> int | None:
        """The last pass on the server, if this store was changed later without reaching it; else None."""
        return None

    def return_to_server(self) -> None:
        """Replace the content of this store by the server's."""

    def publish(self) -> None:
        """Replace the server's content by this store's, after a backup was restored."""

    def unbind(self) -> None:
        """Detach this store from its server, so that it does not apply that server's changes."""
        self._database.run("drop_setting", name=BINDING)

    def key(self, name: str) -> bytes:
        """A random secret of this store (32 bytes), generated on first use. Raises DamagedError."""
        row = self._database.fetch_one("setting", name=f"key:{name}")
        if row is None:
            with self._database.transaction():
                if name == "forget" and self.log.forgotten_fingerprints():
                    raise self._damage_error("the key for forgotten words is missing")
                self._database.run("add_setting", name=f"key:{name}", value=secrets.token_hex(32))
                row = self._database.fetch_one("setting", name=f"key:{name}")
        if row["wrong"]:
            raise self._damage_error(f"the key {name!r} of this store is damaged")
        return bytes.fromhex(row["value"])

    def note(self, name: str) -> str:
        """The note stored under a name on this machine; empty if there is none. Raises DamagedError."""
        row = self._database.fetch_one("setting", name=f"note:{name}")
        if row is not None and row["wrong"]:
            raise self._damage_error(f"the note {name!r} of this store is damaged")
        return str(row["value"]) if row else ""

    def save_note(self, name: str, text: str) -> None:
        """Store a note under a name on this machine."""
        self._database.run("put_setting", name=f"note:{name}", value=text)

    def upgrade_memories(self) -> None:
        """Compute the memories again, once, if an earlier version folded the log differently. Damaged rows stay."""
        if self.note("fold") != _FOLD:
            with suppress(DamagedError), self.transaction():
                self.log.refold_undone()
                self.save_note("fold", _FOLD)

    def output_states(self, path: str) -> tuple[Output, ...]:
        """The last written content of a file and, if a write was interrupted, the content of that write. Empty if kept never wrote
        the file.

        Raises DamagedError.
        """
        rows = self._database.run("output", path=path).fetchall()
        try:
            if any(row["wrong"] for row in rows):
                raise ValueError("its checksum is another")
            return tuple(Output(hash=row["hash"], lines=load(tuple[Line, ...], json.loads(row["lines"]))) for row in rows)
        except UNREADABLE as error:
            raise self._damage_error(f"the record of the last write to {path} is damaged") from error

    def _damage_error(self, what: str) -> DamagedError:
        return DamagedError(what, where=str(self.path), hint="restore a backup: kept restore FILE")

    def save_pending_output(self, path: str, output: Output) -> None:
        """Record the content that is about to be written to a file."""
        self._store_output(path, output, intended=1)

    def save_output(self, path: str, output: Output) -> None:
        """Record what was written to a file."""
        with self._database.transaction():
            self._store_output(path, output, intended=0)
            self._database.run("drop_intended", path=path)

    def _store_output(self, path: str, output: Output, *, intended: int) -> None:
        self._database.run(
            "put_output", path=path, intended=intended, hash=output.hash, lines=to_canonical_json(dump(output.lines))
        )

    def drop_output(self, path: str) -> None:
        """Record that kept no longer writes a file."""
        self._database.run("drop_output", path=path)

    def outputs(self) -> tuple[str, ...]:
        """The paths of all files written, in order."""
        return tuple(row["path"] for row in self._database.run("outputs"))

    def move_outputs(self, root: Path, memory_files: Sequence[str]) -> None:
        """Change the paths of recorded outputs from another home to ``root``, for a store that came from there.

        The other home is recognised by one of the ``memory_files``, which have the same relative path in every home. Raises
        StoreError.
        """
        stray = [output for output in self.outputs() if not Path(output).is_relative_to(root)]
        names = [f"/{memory_file}" for memory_file in memory_files if memory_file]
        roots = {path.removesuffix(name) for path in stray for name in names if path.endswith(name)}
        with self.transaction() if roots else nullcontext():
            for path in stray:
                old = next((root for root in roots if path.startswith(f"{root}/")), None)
                if old is not None:
                    self._move_output(path, f"{root}{path.removeprefix(old)}")

    def _move_output(self, path: str, here: str) -> None:
        outputs = () if self.output_states(here) else self.output_states(path)
        for output in outputs[:1]:
            self.save_output(here, output)
        for output in outputs[1:]:
            self.save_pending_output(here, output)
        self.drop_output(path)

    def digest_content(self) -> str:
        """A hash of the content from which output files are composed. It changes only if that content changes."""
        return digest(*(str(value) for row in self._database.run("content_sums") for value in row))

    def find_damage(self) -> tuple[str, ...]:
        """A description of each defect of the store; empty if there are none."""
        return self._find_damage(indexes=True)

    def _find_damage(self, *, indexes: bool) -> tuple[str, ...]:
        with self._database.read_transaction():
            pages = [str(row[0]) for row in self._database.execute_sql("PRAGMA integrity_check").fetchall() if row[0] != "ok"]
            if pages:
                return tuple(f"database pages: {page}" for page in pages)
            links = [
                f"row {row[1]} of {row[0]} points nowhere"
                for row in self._database.execute_sql("PRAGMA foreign_key_check").fetchall()
            ]
            stored, unreadable = self.log.load_readable_memories()
            if unreadable:
                links += [f"memory {item}: cannot be read" for item in unreadable]
            found = (
                *(f"{item}: kept did not make it" for item in self._database.list_foreign_objects()),
                *links,
                *(f"{row['place']} {row['name']}: not what was written" for row in self._database.run("wrong_checksums")),
                *(f"{row['name']}: {_describe_miscount(row['missing'])}" for row in self._database.run("wrong_tallies")),
                *self._check_forget_key(),
                *((self._remains,) if self._remains else ()),
                *_report_unreadable("archive", self.archive.find_damage()),
                *_report_unreadable("log", self.log.find_damage(stored, unreadable)),
                *_report_unreadable("archive", self._find_misquotes(stored)),
                *_report_unreadable("notes", self.days.find_damaged_rows()),
            )
            return found if unreadable or not indexes else (*found, *self._check_memory_index(stored))

    def _find_misquotes(self, stored: Mapping[str, Memory]) -> Iterator[str]:
        yield from self.archive.find_misquotes(citations(stored.values(), self.log.imported_memories()))

    def _check_forget_key(self) -> Iterator[str]:
        if self.log.forgotten_fingerprints() and self._database.fetch_one("setting", name="key:forget") is None:
            yield "the key for forgotten words is missing, so these words may come back"

    def _check_memory_index(self, stored: Mapping[str, Memory]) -> Iterator[str]:
        """Compare the full-text index of memories with a rebuilt one, term by term."""
        raw = self._database.execute_sql
        made = (
            "CREATE VIRTUAL TABLE temp.anew USING fts5 (words, content = '', tokenize = 'porter unicode61')",
            "CREATE VIRTUAL TABLE temp.anew_terms USING fts5vocab (temp, anew, row)",
            "CREATE VIRTUAL TABLE temp.kept_terms USING fts5vocab (main, memory_index, row)",
        )
        try:
            for statement in made:
                raw(statement)
            rowids = {row["id"]: row["rowid"] for row in raw("SELECT rowid, id FROM memories")}
            for number, memory in stored.items():
                raw(
                    "INSERT INTO temp.anew (rowid, words) VALUES (:rowid, :words)",
                    {"rowid": rowids[number], "words": memory_index_words(memory)},
                )
            rows = raw(
                "SELECT (SELECT count(*) FROM (SELECT * FROM kept_terms EXCEPT SELECT * FROM anew_terms))"
                " + (SELECT count(*) FROM (SELECT * FROM anew_terms EXCEPT SELECT * FROM kept_terms)) AS terms"
            ).fetchone()
            if rows["terms"]:
                yield f"the full-text index of memories: wrong in {rows['terms']} terms"
            docs = "SELECT count(*) FROM memory_index_docsize WHERE id NOT IN (SELECT rowid FROM memories)"
            if raw(docs).fetchone()[0]:
                yield "the full-text index of memories: has entries of memories that are not there"
        finally:
            for name in ("kept_terms", "anew_terms", "anew"):
                raw(f"DROP TABLE IF EXISTS temp.{name}")

    def compact(self) -> None:
        """Rewrite the store file, so that no trace of erased words is left."""
        for name in ("memory_index", "turn_index", "reply_index", "note_index"):
            self._database.execute_sql(f"INSERT INTO {name} ({name}) VALUES ('optimize')")  # noqa: S608 - kept's own names
        clear_texts(self._database)
        self._database.execute_sql("VACUUM")
        self._database.run("drop_setting", name=ERASING)

    def copy_to(self, path: Path, *, indexes: bool = True) -> None:
        """Write a consistent, durable copy of the whole store to a new file (mode 0600), and check it for damage.

        ``indexes`` includes the full-text indexes in the check. That takes as long as the rest of it, and indexes can be rebuilt.
        The copy has a temporary name until it is complete, so an interrupted copy never has the name ``path``.

        Raises StoreError if the copy cannot be written, DamagedError if it is damaged. No file is left behind then.
        """
        fresh = path.with_name(f".{path.name}.new")
        try:
            delete_database(fresh)  # an interrupted copy left this
            self._database.copy_to(fresh)
            with SqliteStore(fresh) as copy:
                found = copy._find_damage(indexes=indexes)
            if found:
                more = f" and {len(found) - 1} more" if found[1:] else ""
                raise DamagedError(f"the store is damaged: {found[0]}{more}", where=str(self.path), hint="run `kept check`")
            if path.exists():
                raise StoreError("there is a file of that name already", where=str(path), hint="choose another name")
            fresh.rename(path)
            flush(path.parent)
        except OSError as error:
            raise StoreError(
                f"the file cannot be written: {error.strerror}", where=str(path), hint="choose another place"
            ) from error
        finally:
            with suppress(OSError):
                delete_database(fresh)

    def export_rows(self) -> Iterator[Row]:
        """A consistent export of the whole store in a form that any store can load. Equal stores give equal rows.

        Data of this machine (outputs, the key that marks secrets) and derived data are left out.
        """
        key = self.key("forget").hex()
        with self._database.read_transaction():
            yield StoreRow(version=VERSION, key=key)
            yield from self.archive.export_rows()
            yield from self.log.export_rows()
            yield from self.days.passages()

    def load_rows(self, rows: Iterable[Row]) -> None:
        """Load an export of :meth:`export_rows` into an empty store in one transaction, and derive the other data.

        Raises UsageError if this store is not empty, DamagedError if the rows contradict their own hashes or each other. Nothing
        has changed then.
        """
        with self._database.transaction():
            if not self._database.fetch_one("is_empty")["empty"]:
                raise UsageError("this home already has memories", where=str(self.path), hint="import into an empty --home")
            try:
                for kind, group in groupby(rows, key=type):
                    while some := tuple(islice(group, _TAKEN)):
                        self._load_rows_of_kind(kind, some)
                self.log.rebuild()
            except (KeyError, ValueError, TypeError, StoreError) as error:
                raise DamagedError(f"the import contradicts itself: {error}", hint="nothing was changed") from error
            if found := self._find_damage(indexes=True):
                raise DamagedError(f"the import is damaged: {found[0]}", hint="nothing was changed")

    def _load_rows_of_kind(self, kind: type[Row], rows: Sequence[Row]) -> None:
        if kind in (FileRow, EventRow, ThreadRow, Project, OptedOut):
            self.archive.load_rows(rows)
            return
        for row in rows:
            if isinstance(row, StoreRow):
                if row.version != VERSION:
                    raise ValueError(f"it has format {row.version}, but this kept reads format {VERSION}")
                self._database.run("put_setting", name="key:forget", value=bytes.fromhex(row.key).hex())
            elif isinstance(row, Passage):
                self.days.load_passage(row)
            else:
                self.log.load_row(row)


def _describe_miscount(missing: int) -> str:
    gone = f"{missing} of its rows {'is' if missing == 1 else 'are'} gone"
    return gone if missing > 0 else "its rows are not those that were counted"


def _report_unreadable(part: str, found: Iterator[str]) -> Iterator[str]:
    """The findings in a part of the store. If a row cannot be read, the last finding says that the check is incomplete."""
    try:
        yield from found
    except (*UNREADABLE, StoreError) as error:
        yield f"the {part}: a row cannot be read ({type(error).__name__}), so the rest of it was not checked"
