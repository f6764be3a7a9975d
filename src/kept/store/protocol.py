"""The protocols of a store and its parts, independent of how it is implemented: no table, file or query language."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kept.core.event import Cursor, Event, RecordAccount
from kept.core.memory import CandidateVerdict, Memory
from kept.core.operation import Operation, Pass
from kept.core.project import Project
from kept.store.day_protocol import Days
from kept.store.threads import Tree
from kept.store.values import (
    EXTRACT,
    Draft,
    FileState,
    Mention,
    OptedOut,
    Outline,
    Output,
    Proposal,
    Row,
    Run,
    SessionActivity,
    Thread,
)

if TYPE_CHECKING:
    from kept.core.erasure import ErasureWords
    from kept.store.memories import GroupTexts


class Archive(Protocol):
    """The archive of cleaned events. Each event is stored once, however many files contain it. Append-only, except for erasure."""

    def cursor(self, source: str, path: str) -> Cursor | None:
        """How far a file was read; None if it never was."""
        ...

    def files(self) -> Iterator[FileState]:
        """Every file ever read, by source and path. An iterator over a cursor: do not write before it is exhausted."""
        ...

    def stat_cache_below(self, folder: str) -> dict[str, tuple[str, str]]:
        """The :meth:`stat_cache_entry` of the files directly in a folder, by path; files whose path holds a secret are missing."""
        ...

    def stat_cache_entry(self, path: str) -> tuple[str, str] | None:
        """The source of a file and the stamp recorded when it was read to its end; None if there is no stamp."""
        ...

    def save_stat_cache_entry(self, source: str, path: str, stamp: str) -> None:
        """Record the stamp of a file that was read to its end; :meth:`add` drops it. Local to this machine, not part of backups."""
        ...

    def add(self, source: str, path: str, events: Sequence[Event], account: RecordAccount, cursor: Cursor, *, anew: bool) -> int:
        """Archive a slice of a file and move its cursor, in one transaction. Returns the number of new events.

        An event is known if an archived one has the same key or twin, or if another file has the same words in the same second of
        the same session. A copy with a better time (:class:`Precision`), with a place in the conversation that the archived event
        lacks, or that confirms that the person typed it replaces that event under the same key, and the threads with the event are
        queued for extraction again.

        ``account`` is that of the slice. ``anew`` means that it is the first slice of a file, or of a file read again from its
        start.
        """
        ...

    def known_keys(self, keys: Iterable[str]) -> frozenset[str]:
        """Those of the keys that belong to an archived event."""
        ...

    def threads(self, *, pending: bool = False, path: str = "") -> Iterator[Thread]:
        """All threads in the order of their first event; only those pending extraction, or only those of the file at ``path``.

        An iterator over a cursor, because there may be hundreds of thousands: do not write before it is exhausted.
        """
        ...

    def threads_by_id(self, threads: Iterable[int]) -> Iterator[Thread]:
        """The threads with these numbers, in this order, each read when the iterator reaches it; writing in between is allowed."""
        ...

    def threads_ended_between(self, projects: Iterable[str], start: datetime, stop: datetime, limit: int) -> tuple[Thread, ...]:
        """The threads of these working directories whose last event is in [start, stop), latest first; at most ``limit``."""
        ...

    def threads_started_between(self, projects: Iterable[str], start: datetime, stop: datetime) -> Iterator[Thread]:
        """The threads of these working directories whose first event is in (start, stop], in its order.

        An iterator over a cursor: do not write before it is exhausted.
        """
        ...

    def tree(self, thread: int) -> tuple[Tree, bytearray]:
        """The tree of a thread, and for each of its events whether it is marked as abandoned."""
        ...

    def has_rewinds(self, thread: int) -> bool:
        """True if an event of a thread may have been replaced by a rewind, or is marked so."""
        ...

    def mark_abandoned(self, thread: int, changes: Iterable[tuple[int, bool]]) -> None:
        """Set or clear the abandoned mark of events (by ordinal), which says that a later rewind replaced them."""
        ...

    def events(self, thread: int, start: int, stop: int) -> tuple[Event, ...]:
        """The events of a thread with ordinals in [start, stop); abandoned ones are labelled so. Raises DamagedError."""
        ...

    def event(self, key: str) -> Event | None:
        """The event of that key, or None. Raises DamagedError."""
        ...

    def events_around(self, key: str, before: int, after: int) -> tuple[Event, ...]:
        """An event with ``before`` events before and ``after`` events after it in its thread; empty if the key is unknown."""
        ...

    def save_extraction_progress(self, thread: int, *, extracted: int, seen: int) -> None:
        """Record that ``seen`` events of a thread were processed and that its episodes before ordinal ``extracted`` are closed."""
        ...

    def list_threads_pending_llm(self) -> tuple[tuple[Thread, int], ...]:
        """The threads with events that no model has read, in the order of :meth:`threads`.

        Each comes with the ordinal from which its chunks are open. A whole thread counts as unread again after a better copy, a
        rewind or an opt-out changed it, or when a long passage of it occurs in another session.
        """
        ...

    def save_llm_progress(self, thread: int, *, closed: int, seen: int) -> None:
        """Record that a model has read ``seen`` events of a thread and that its chunks before ordinal ``closed`` are closed."""
        ...

    def session_activity(self, start: datetime, stop: datetime) -> tuple[SessionActivity, ...]:
        """The sessions with events in [start, stop), by the events' own times; an event counts only in the first thread with it."""
        ...

    def active_minutes(self) -> Iterator[datetime]:
        """Every minute with an event, in order; some time zones are offset by quarters of an hour, so hours would be too coarse."""
        ...

    def directories(self) -> tuple[tuple[str, str], ...]:
        """Pairs (directory, path) for all threads, in order, without duplicates.

        The raw working directory with an empty path; for threads without one, an empty directory with the path of the file.
        """
        ...

    def project(self, directory: str) -> Project | None:
        """The recorded project of a directory; None if there is none."""
        ...

    def save_project(self, project: Project) -> None:
        """Record the project of a directory."""
        ...

    def projects(self) -> tuple[Project, ...]:
        """The recorded project of every directory, by directory."""
        ...

    def opted_out_sessions(self) -> tuple[OptedOut, ...]:
        """The conversations that opted out of being remembered, by session."""
        ...

    def opt_out(self, session: str, path: str) -> int:
        """Record that a conversation opted out; ``path`` is the file that says so.

        Erases the words of its events, except events that another conversation contains too, and queues its threads for extraction.
        Returns the number of erased events.
        """
        ...

    def count_undated_events(self) -> int:
        """The number of undated events."""
        ...

    def find_mentions(self, name: str, since: datetime) -> tuple[Mention, ...]:
        """When the person or the assistant last mentioned a name after ``since``: one entry per working directory and file, in
        their order.
        """
        ...

    def events_with_words(self, words: "ErasureWords") -> Iterator[Event]:
        """Every archived event that holds the words. Raises DamagedError."""
        ...

    def events_with_similar_words(self, words: "ErasureWords") -> Iterator[Event]:
        """The prompts and replies (not tool outputs) that may be near copies of the words. Raises DamagedError."""
        ...

    def erase_words(self, words: "ErasureWords") -> frozenset[str]:
        """Remove words from every archived event and from the readers' carried state; returns the keys of the changed events."""
        ...

    def reindex(self) -> None:
        """Rebuild everything that is derived from the archive, such as its full-text indexes."""
        ...


class Log(Protocol):
    """The append-only history of runs, passes, operations and candidates, and the memories that result from it."""

    def start_run(self, command: str, now: datetime) -> int:
        """Begin a run and return its number."""
        ...

    def end_run(self, run: int, now: datetime, report: Mapping[str, Any]) -> None:
        """Record the end of a run and its report."""
        ...

    def runs(self, limit: int = 1000, *, command: str = "") -> tuple[Run, ...]:
        """The last runs, or those of one command, newest first."""
        ...

    def commit(self, draft: Draft) -> Pass:
        """Append a pass and apply it to the memories, in one transaction.

        Raises StoreError, with nothing changed, if the pass does not fit the memories: it names one that does not exist, or would
        make memories supersede each other in a cycle.
        """
        ...

    def undo_redo_passes(self) -> tuple[Pass, ...]:
        """The passes that undo or redo other passes, without operations."""
        ...

    def passes(self, only: Iterable[int] | None = None) -> Iterator[Pass]:
        """The whole log in order, or only the passes with these ids, with their operations."""
        ...

    def passes_after(self, number: int) -> Iterator[Pass]:
        """The passes after the given one, in order, with their operations."""
        ...

    def pass_heads(self) -> Iterator[Pass]:
        """The whole log in order, without operations."""
        ...

    def related_passes(self, passes: Iterable[int]) -> tuple[Pass, ...]:
        """All that is needed to fold the memories that the given passes affect, and all memories linked to those, transitively.

        The passes, in order and including the given ones, each with only the operations on these memories.
        """
        ...

    def operations_on(self, memory: str) -> tuple[tuple[Pass, Operation], ...]:
        """All operations that affect a memory, in order, including merges into others; each with the head of its pass."""
        ...

    def memory(self, number: str) -> Memory | None:
        """The memory with this id, or None."""
        ...

    def memories(self, *, group: tuple[str, str] | None = None) -> tuple[Memory, ...]:
        """All memories, or those of a (profile, scope), by id."""
        ...

    def outdated_memories(self, retired: Iterable[str], *, verbatim: Iterable[str]) -> tuple[Memory, ...]:
        """The memories with a retired trigger, and those with a ``verbatim`` trigger whose content is in none of their quotes.

        In the order of their ids.
        """
        ...

    def outlines(self, moment: datetime, scope: str | None = None) -> list[Outline]:
        """The outline of every memory (of one scope), by which a list is filtered and sorted without loading memories."""
        ...

    def scopes(self) -> frozenset[str]:
        """The scopes that have a memory."""
        ...

    def some(self, ids: Sequence[str]) -> tuple[Memory, ...]:
        """The memories with these ids, in this order; unknown ids are skipped."""
        ...

    def held(self) -> tuple[Memory, ...]:
        """The held memories, by id, including expired ones."""
        ...

    def memories_between(self, start: datetime, stop: datetime) -> tuple[Memory, ...]:
        """The memories first seen before ``stop`` and last seen at ``start`` or later, by id."""
        ...

    def memory_ids(self) -> frozenset[str]:
        """The ids of all memories."""
        ...

    def memory_ids_with_prefix(self, prefix: str) -> tuple[str, ...]:
        """At most nine ids that begin with a prefix, in order."""
        ...

    def count_memories(self, moment: datetime) -> Mapping[tuple[str, str, str], int]:
        """How many memories there are by (word at a moment, which is a status where it is one, profile, category)."""
        ...

    def search(self, words: Sequence[str], limit: int) -> tuple[tuple[Memory, float], ...]:
        """Memories with any of the words (of :func:`kept.core.text.query_words`), each with its score, best (highest) first."""
        ...

    def proposals(self, profile: str, scope: str) -> tuple[Proposal, ...]:
        """The live candidates of a group, whatever their verdict."""
        ...

    def thread_proposals(self, thread: int, start: int, stage: str = EXTRACT, *, stop: int | None = None) -> tuple[Proposal, ...]:
        """The live candidates of a thread with ordinals in [start, stop) that passes of one stage proposed; None: no upper end."""
        ...

    def refused(self, reason: str = "") -> tuple[Proposal, ...]:
        """The live candidates that were refused, or only those refused for ``reason``."""
        ...

    def all_judged_candidates(self) -> tuple[CandidateVerdict, ...]:
        """Every candidate ever proposed, live or not, unless its words were erased."""
        ...

    def blocked_candidates(self) -> frozenset[str]:
        """The candidates that only undone operations rest on. Curation does not bring them back, unless a model proposes one of
        them that had not proposed it before the undo.
        """
        ...

    def groups_to_curate(self) -> tuple[tuple[str, str], ...]:
        """The groups (profile, scope) that are queued for curation."""
        ...

    def mark_group_curated(self, profile: str, scope: str) -> None:
        """Record that a group has been curated."""
        ...

    def proposals_with(self, profile: str, scope: str, ids: Iterable[str]) -> tuple[Proposal, ...]:
        """The live candidates of a group that have these ids."""
        ...

    def texts(self, profile: str, scope: str) -> "GroupTexts":
        """The index of the texts of a group's candidates and memories, as far as curation has filled it."""
        ...

    def active_counts(self, group: tuple[str, str]) -> Mapping[str, int]:
        """The number of active memories of a (profile, scope), by category."""
        ...

    def ended_memories(self, group: tuple[str, str], categories: Iterable[str], since: datetime) -> tuple[Memory, ...]:
        """The memories of a (profile, scope) in these categories that ended at ``since`` or later, by id."""
        ...

    def erase_memory(self, memory: str, candidates: Iterable[str], fingerprints: Iterable[str], made: Pass) -> None:
        """Erase the words of all operations on a memory and of the candidates it rests on, and store the fingerprints."""
        ...

    def stored_texts(self) -> Iterator[tuple[str, str]]:
        """All texts in the log and the run reports, piece by piece, as pairs (label, text)."""
        ...

    def erase_words(self, words: "ErasureWords", *, spared: Collection[str] = ()) -> int:
        """Remove words from all rows and reports, and recompute the hashes and memories that depend on them.

        Returns the number of rows. This erases rows that repeat the words of a forgotten memory. Pass that memory and its
        candidates as ``spared``, because :meth:`erase_memory` erases their rows whole.
        """
        ...

    def forgotten_fingerprints(self) -> frozenset[str]:
        """The fingerprints of forgotten statements, which must not be extracted again."""
        ...

    def rebuild(self) -> None:
        """Rebuild the memories and everything else that is derived from the log."""
        ...


class Store(Protocol):
    """An open store: ``archive`` holds what was said, ``log`` the memories and their history, ``days`` the notes and summaries.

    It is closed at the end of a ``with`` block.
    """

    @property
    def archive(self) -> Archive:
        """The archive of what was said."""
        ...

    @property
    def log(self) -> Log:
        """The memories and their history."""
        ...

    @property
    def days(self) -> Days:
        """The notes and summaries of days."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """A block that commits as a whole or not at all; an inner transaction is part of the outer one.

        Raises StoreError if the commit fails; then nothing is changed.
        """
        ...

    def trial_transaction(self) -> AbstractContextManager[None]:
        """A block whose changes, including inner transactions, are rolled back at the end."""
        ...

    def read_transaction(self) -> AbstractContextManager[None]:
        """A block whose reads all see the store as of one moment."""
        ...

    def refresh(self) -> None:
        """Fetch what other machines wrote to this store's server, if it has one. Raises StoreError."""
        ...

    @property
    def away_since(self) -> int | None:
        """The last pass on the server if this store was changed since without reaching it; otherwise None."""
        ...

    def return_to_server(self) -> None:
        """Replace the content of this store by that of its server. Raises UnreachableError, StoreError."""
        ...

    def publish(self) -> None:
        """Replace the content of this store's server, if it has one, by that of the store, after a backup was restored.

        Raises StoreError.
        """
        ...

    def key(self, name: str) -> bytes:
        """A random secret of this store (32 bytes), generated on first use."""
        ...

    def note(self, name: str) -> str:
        """The note stored under a name, on this machine only; empty if there is none."""
        ...

    def save_note(self, name: str, text: str) -> None:
        """Store a note under a name, on this machine only."""
        ...

    def output_states(self, path: str) -> tuple[Output, ...]:
        """What was last written to a file and, if a write was interrupted, what was to be written; empty if nothing was written."""
        ...

    def save_pending_output(self, path: str, output: Output) -> None:
        """Record what is about to be written to a file."""
        ...

    def save_output(self, path: str, output: Output) -> None:
        """Record what was written to a file."""
        ...

    def drop_output(self, path: str) -> None:
        """Record that kept no longer writes a file."""
        ...

    def outputs(self) -> tuple[str, ...]:
        """The paths of all files written, in order."""
        ...

    def digest_content(self) -> str:
        """A digest of the content that output files are composed from; it is equal as long as that content does not change."""
        ...

    def find_damage(self) -> tuple[str, ...]:
        """A description of each defect of the store; empty if there are none."""
        ...

    def compact(self) -> None:
        """Rewrite the store so that no trace of erased words is left."""
        ...

    def copy_to(self, path: Path, *, indexes: bool = True) -> None:
        """Write a consistent copy of the whole store durably to a new file (mode 0600), and check it for damage.

        ``indexes`` includes the full-text indexes in the check: this takes as long as all the rest, and indexes can be rebuilt.

        Raises StoreError if the copy cannot be written, DamagedError if it is damaged; no file is left behind then.
        """
        ...

    def export_rows(self) -> Iterator[Row]:
        """A consistent export of the whole store in a form that any store can load; equal stores give equal rows.

        It leaves out data local to the machine (outputs, the key that marks secrets) and data that can be derived.
        """
        ...

    def load_rows(self, rows: Iterable[Row]) -> None:
        """Load an export of :meth:`export_rows` into an empty store, in one transaction, and derive the rest.

        Raises UsageError if this store is not empty, DamagedError if the rows contradict their own hashes or each other; then
        nothing is changed.
        """
        ...
