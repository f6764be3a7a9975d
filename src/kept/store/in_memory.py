"""A store in memory: plain values, nothing on disk. For trial runs and fast tests; a transaction is a copy that is put back on failure."""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from kept.core.errors import DamagedError, StoreError, UsageError
from kept.core.fold import fold
from kept.core.operation import Add, mentioned
from kept.core.project import Project
from kept.core.summary import Passage
from kept.store.check import IMPORTED, broken_log, citations, disagreements, misquoted, wrong_fingerprints
from kept.store.day_protocol import Days
from kept.store.in_memory_archive import InMemoryArchive
from kept.store.in_memory_days import InMemoryDays
from kept.store.in_memory_log import InMemoryLog
from kept.store.in_memory_state import State
from kept.store.protocol import Archive, Log
from kept.store.rows import operation_of
from kept.store.sqlite import SqliteStore
from kept.store.values import (
    VERSION,
    CandidateRow,
    EventRow,
    FileRow,
    FingerprintRow,
    GroupRow,
    OperationRow,
    OptedOut,
    Output,
    PassRow,
    Row,
    RunRow,
    StoreRow,
    ThreadRow,
)


class InMemoryStore:
    """A store that ends with its process."""

    def __init__(self) -> None:
        self._state = State()
        self._inside = False
        self._archive = InMemoryArchive(lambda: self._state, self.transaction)
        self._log = InMemoryLog(lambda: self._state, self.transaction)
        self._days = InMemoryDays(lambda: self._state)

    @property
    def archive(self) -> Archive:
        """What was said."""
        return self._archive

    @property
    def log(self) -> Log:
        """What is remembered of it, and how that came about."""
        return self._log

    @property
    def days(self) -> Days:
        """What was worked on when."""
        return self._days

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is to be closed."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside commits together or not at all."""
        if self._inside:
            yield
            return
        before, self._inside = self._state.copied(), True
        try:
            yield
        except BaseException:
            self._state = before
            raise
        finally:
            self._inside = False

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Everything inside is taken back at the end."""
        before, self._inside = self._state.copied(), True
        try:
            yield
        finally:
            self._state, self._inside = before, False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside is of one moment: nobody else has this store."""
        yield

    def key(self, name: str) -> bytes:
        """A random secret of this store (32 bytes), made when it is first asked for."""
        return self._state.keys.setdefault(name, secrets.token_bytes(32))

    def output(self, path: str) -> tuple[Output, ...]:
        """What was last written to a file, and after it what is being written where a write was cut short."""
        return tuple(self._state.outputs[path, each] for each in (0, 1) if (path, each) in self._state.outputs)

    def intend(self, path: str, output: Output) -> None:
        """Note what is about to be written to a file."""
        self._state.outputs[path, 1] = output

    def wrote(self, path: str, output: Output) -> None:
        """Note what was written to a file."""
        self.drop_output(path)
        self._state.outputs[path, 0] = output

    def drop_output(self, path: str) -> None:
        """Note that a file is no longer kept's."""
        for each in (0, 1):
            self._state.outputs.pop((path, each), None)

    def outputs(self) -> tuple[str, ...]:
        """The paths of all files written, in order."""
        return tuple(sorted({path for path, _ in self._state.outputs}))

    def damage(self) -> tuple[str, ...]:
        """Everything that is wrong with the store, in words; empty where nothing is."""
        state = self._state
        forgets = {each.memory for each in state.operations if each.kind == "forget"}
        gone = (each for each in state.operations if not forgets.isdisjoint(mentioned(operation_of(each))))
        added = (operation_of(each) for each in state.operations if each.kind == "add")
        imported = frozenset(each.memory for each in added if isinstance(each, Add) and each.value.trigger == IMPORTED)
        cited = citations(state.memories.values(), imported)
        return (
            *broken_log(state.passes, state.operations, state.candidates, gone),
            *wrong_fingerprints((each for each in state.operations if each.kind == "forget"), state.fingerprints.values()),
            *disagreements(fold(self._log.passes()), state.memories),
            *(told for key, quotes in sorted(cited.items()) for told in misquoted(key, self._archive.event(key), quotes)),
        )

    def compact(self) -> None:
        """Leave no trace of erased words: none is left anyway."""

    def copy_to(self, path: Path, *, indexes: bool = True) -> None:  # noqa: ARG002 - what it copies has none
        """Write the whole store into a new store file. The copy has its own key for marking secrets."""
        if path.exists():
            raise StoreError("the file is there already", where=str(path), hint="choose another place")
        with SqliteStore(path) as copied:
            copied.load(self.rows())
            for each in self.outputs():
                copied.wrote(each, self.output(each)[0])

    def rows(self) -> Iterator[Row]:
        """The whole store in a form that any store can load."""
        state = self._state
        yield StoreRow(version=VERSION, key=self.key("forget").hex())
        yield from (state.files[each] for each in sorted(state.files))
        yield from state.events.values()
        yield from state.threads
        yield from (state.projects[each] for each in sorted(state.projects))
        yield from (state.opted_out[each] for each in sorted(state.opted_out))
        for rows in (state.runs, state.passes, state.operations, state.candidates):
            yield from rows
        yield from (state.fingerprints[each] for each in sorted(state.fingerprints))
        yield from (state.groups[each] for each in sorted(state.groups))
        yield from self._days.passages()

    def load(self, rows: Iterable[Row]) -> None:
        """Take up what :meth:`rows` gave, into a store that holds nothing; derive the rest."""
        if self._state.passes or self._state.files or self._state.outputs:
            raise UsageError("this store remembers something already", hint="import into an empty one")
        with self.transaction():
            try:
                for row in rows:
                    self._take(row)
                self._log.rebuild()
            except (KeyError, ValueError, TypeError, StoreError) as error:
                raise DamagedError(f"the import contradicts itself: {error}", hint="nothing was changed") from error
            if found := self.damage():
                raise DamagedError(f"the import is damaged: {found[0]}", hint="nothing was changed")

    def _take(self, row: Row) -> None:
        state = self._state
        match row:
            case StoreRow():
                if row.version != VERSION:
                    raise ValueError(f"it has form {row.version}, this program knows {VERSION}")
                state.keys["forget"] = bytes.fromhex(row.key)
            case FileRow():
                state.files[row.source, row.path] = row
            case EventRow():
                self._archive.put(row)
            case ThreadRow():
                if missing := [each for each in row.events if each not in state.events]:
                    raise ValueError(f"event {missing[0]} is missing")
                state.threads.append(row)
            case Project():
                state.projects[row.directory] = row
            case OptedOut():
                state.opted_out[row.session] = row
            case RunRow():
                state.runs.append(row)
            case PassRow():
                state.passes.append(row)
            case OperationRow():
                state.operations.append(row)
            case CandidateRow():
                state.candidates.append(row)
            case FingerprintRow():
                state.fingerprints[row.fingerprint] = row
            case GroupRow():
                state.groups[row.profile, row.scope] = row
            case Passage():
                state.passages[row.id] = row
