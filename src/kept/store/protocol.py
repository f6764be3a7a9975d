"""What a store must do, whatever it is made of. Knows no table, file or query language."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kept.core.event import Cursor, Event, RecordAccount
from kept.core.memory import CandidateVerdict, Memory, Status
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
    """Cleaned turns, each event once, however many files tell it. Append-only but for forget."""

    def cursor(self, source: str, path: str) -> Cursor | None:
        """How far a file was read; None where it never was."""
        ...

    def files(self) -> Iterator[FileState]:
        """Every file ever read, by source and path, one at a time: write nothing before the last."""
        ...

    def stat_cache_below(self, folder: str) -> dict[str, tuple[str, str]]:
        """What :meth:`stat_cache_entry` tells of files right below a folder, by path: not of one whose path holds a secret."""
        ...

    def stat_cache_entry(self, path: str) -> tuple[str, str] | None:
        """The source of a file that was read to its end, and the stamp noted then; None where no stamp is noted."""
        ...

    def save_stat_cache_entry(self, source: str, path: str, stamp: str) -> None:
        """Note of a file that was read to its end what it looked like; :meth:`add` forgets that. Of this machine: no
        backup needs it.
        """
        ...

    def add(self, source: str, path: str, events: Sequence[Event], account: RecordAccount, cursor: Cursor, *, anew: bool) -> int:
        """Archive a slice of a file and move its cursor, in one transaction. Returns how many of the events were new.

        An event is known by its key, by its twin, or by being the same words in the same second of the same session in another
        file. A copy that knows a better time (:class:`Precision`), or its place in the conversation where the first did not, takes
        its place under the same key, and the threads that tell it wait for extraction again.

        ``account`` is that of the slice; ``anew`` says that it is the first of the file or of a file read again from its start.
        """
        ...

    def known_keys(self, keys: Iterable[str]) -> frozenset[str]:
        """Those of some keys under which an event lies here."""
        ...

    def threads(self, *, pending: bool = False, path: str = "") -> Iterator[Thread]:
        """All threads in the order of their first event, or only those that grew since they were last extracted, or those of a
        file.

        One at a time, for there may be hundreds of thousands: write nothing before the last.
        """
        ...

    def threads_by_id(self, threads: Iterable[int]) -> Iterator[Thread]:
        """The threads of these numbers as they are when it is their turn, in this order; writing meanwhile is fine."""
        ...

    def threads_ended_between(self, projects: Iterable[str], start: datetime, stop: datetime, limit: int) -> tuple[Thread, ...]:
        """The threads of these working directories whose last event lies in [start, stop), at most so many, the latest first."""
        ...

    def threads_started_between(self, projects: Iterable[str], start: datetime, stop: datetime) -> Iterator[Thread]:
        """The threads of these working directories whose first event lies in (start, stop], in its order.

        One at a time: write nothing before the last.
        """
        ...

    def tree(self, thread: int) -> tuple[Tree, bytearray]:
        """The tree of a thread, and for each of its events whether it is marked as abandoned."""
        ...

    def has_rewinds(self, thread: int) -> bool:
        """Whether any event of a thread may have been, or is marked as, replaced by a rewind; cheap, without the tree in memory."""
        ...

    def mark_abandoned(self, thread: int, changes: Iterable[tuple[int, bool]]) -> None:
        """Set or clear the mark of events (by ordinal) that a later rewind of the conversation replaced."""
        ...

    def events(self, thread: int, start: int, stop: int) -> tuple[Event, ...]:
        """The events of a thread with ordinals in [start, stop); abandoned ones are labelled so. Raises DamagedError."""
        ...

    def event(self, key: str) -> Event | None:
        """The event of that key, or None. Raises DamagedError."""
        ...

    def events_around(self, key: str, before: int, after: int) -> tuple[Event, ...]:
        """An event in its conversation, with so many events before and after it; empty where it is unknown."""
        ...

    def save_extraction_progress(self, thread: int, *, extracted: int, seen: int) -> None:
        """Note that ``seen`` events of a thread were looked at and its episodes are closed before ordinal ``extracted``."""
        ...

    def list_threads_pending_llm(self) -> tuple[tuple[Thread, int], ...]:
        """The threads with events that no model has read, in the order of :meth:`list_threads`.

        Each with the ordinal from which its chunks are open. What changed since (a better copy, a rewind, words that were erased)
        was not read.
        """
        ...

    def save_llm_progress(self, thread: int, *, closed: int, seen: int) -> None:
        """Note that a model has read ``seen`` events of a thread, and its chunks are closed before the ordinal ``closed``."""
        ...

    def session_activity(self, start: datetime, stop: datetime) -> tuple[SessionActivity, ...]:
        """Which sessions have events in [start, stop), by the events' own times; an event counts where it was first told."""
        ...

    def active_minutes(self) -> Iterator[datetime]:
        """Every minute in which something happened, in order; fine enough for zones whose days begin at a quarter of an hour."""
        ...

    def directories(self) -> tuple[tuple[str, str], ...]:
        """The raw working directories of all threads, in order, each once, with an empty path.

        Where a thread has none: an empty directory with the path of its file.
        """
        ...

    def project(self, directory: str) -> Project | None:
        """What a directory was found to be, or None where that is not recorded."""
        ...

    def save_project(self, project: Project) -> None:
        """Record what a directory is."""
        ...

    def projects(self) -> tuple[Project, ...]:
        """What every directory was found to be, by directory."""
        ...

    def opted_out_sessions(self) -> tuple[OptedOut, ...]:
        """The conversations that are not to be remembered, by session."""
        ...

    def opt_out(self, session: str, path: str) -> int:
        """Note that a conversation is not to be remembered; ``path`` is the file that told so.

        The words of its events that no other conversation tells are erased, and its threads wait for extraction. Returns how many.
        """
        ...

    def count_undated_events(self) -> int:
        """How many events have no time."""
        ...

    def find_mentions(self, name: str, since: datetime) -> tuple[Mention, ...]:
        """When a name was said last after a moment by the person or the assistant, by working directory and file, in their
        order.
        """
        ...

    def events_with_words(self, words: "ErasureWords") -> Iterator[Event]:
        """Every archived event in which words stand. Raises DamagedError."""
        ...

    def events_with_similar_words(self, words: "ErasureWords") -> Iterator[Event]:
        """The prompts and replies (not what tools printed) that may say nearly the same in other words. Raises DamagedError."""
        ...

    def erase_words(self, words: "ErasureWords") -> frozenset[str]:
        """Take words out of every archived event and out of what readers carry along; returns the keys of the events."""
        ...

    def reindex(self) -> None:
        """Recreate what turns are found by from the archive alone."""
        ...


class Log(Protocol):
    """The append-only history of runs, passes, operations and candidates, and the memories it adds up to."""

    def start_run(self, command: str, now: datetime) -> int:
        """Begin a run and return its number."""
        ...

    def end_run(self, run: int, now: datetime, report: Mapping[str, Any]) -> None:
        """Note that a run came to its end, and its report."""
        ...

    def runs(self, limit: int = 1000) -> tuple[Run, ...]:
        """The last runs, newest first."""
        ...

    def commit(self, draft: Draft) -> Pass:
        """Append a pass and apply it to the memories, in one transaction.

        Raises StoreError, with nothing changed, where the pass does not fit the memories (it names one that does not exist, or
        would make two memories supersede each other).
        """
        ...

    def undo_redo_passes(self) -> tuple[Pass, ...]:
        """The passes that undo or redo others, without operations."""
        ...

    def passes(self, only: Iterable[int] | None = None) -> Iterator[Pass]:
        """The whole log in order, or only those passes, with their operations."""
        ...

    def passes_after(self, number: int) -> Iterator[Pass]:
        """The passes after one, in order, with their operations."""
        ...

    def pass_heads(self) -> Iterator[Pass]:
        """The whole log in order, without operations."""
        ...

    def related_passes(self, passes: Iterable[int]) -> tuple[Pass, ...]:
        """What folds to the memories that the given passes concern, and to all that are tied to those, however indirectly.

        Their passes in order, each with only the operations on such memories; the given ones are among them.
        """
        ...

    def operations_on(self, memory: str) -> tuple[tuple[Pass, Operation], ...]:
        """Everything that happened to a memory, in order, merges into others included; each with the head of its pass."""
        ...

    def memory(self, number: str) -> Memory | None:
        """The memory of that id, or None."""
        ...

    def memories(self, *, group: tuple[str, str] | None = None) -> tuple[Memory, ...]:
        """All memories by id, or those of a (profile, scope)."""
        ...

    def outdated_memories(self, retired: Iterable[str], *, verbatim: Iterable[str]) -> tuple[Memory, ...]:
        """The memories of retired triggers, and those of ``verbatim`` triggers that say what none of their quotes does, by id."""
        ...

    def outlines(self, moment: datetime, scope: str | None = None) -> list[Outline]:
        """What a list of memories (of one scope) is chosen and sorted by, without reading one."""
        ...

    def scopes(self) -> frozenset[str]:
        """The scopes of which there is a memory."""
        ...

    def some(self, ids: Sequence[str]) -> tuple[Memory, ...]:
        """The memories of these ids that there are, in this order."""
        ...

    def held(self) -> tuple[Memory, ...]:
        """The memories that wait for a decision, by id; expired ones too."""
        ...

    def memories_between(self, start: datetime, stop: datetime) -> tuple[Memory, ...]:
        """The memories first seen before ``stop`` and last seen at ``start`` or later, by id."""
        ...

    def memory_ids(self) -> frozenset[str]:
        """The ids of all memories."""
        ...

    def memory_ids_with_prefix(self, prefix: str) -> tuple[str, ...]:
        """At most nine ids that begin so, in order."""
        ...

    def count_memories(self, moment: datetime) -> Mapping[tuple[Status, str, str], int]:
        """How many memories there are by (status at a moment, profile, category)."""
        ...

    def search(self, words: Sequence[str], limit: int) -> tuple[tuple[Memory, float], ...]:
        """Memories with any of the words (of :func:`kept.core.text.query_words`), best first, with their score (higher is
        better).
        """
        ...

    def proposals(self, profile: str, scope: str) -> tuple[Proposal, ...]:
        """The live candidates of a group, whatever their verdict."""
        ...

    def thread_proposals(self, thread: int, start: int, stage: str = EXTRACT, *, stop: int | None = None) -> tuple[Proposal, ...]:
        """The live candidates of a thread that passes of one stage proposed, from ``start`` on: those with ordinals in [start,
        stop).
        """
        ...

    def refused(self, reason: str = "") -> tuple[Proposal, ...]:
        """The live candidates that were refused, or only those refused for one reason."""
        ...

    def all_judged_candidates(self) -> tuple[CandidateVerdict, ...]:
        """Every candidate ever proposed whose words are still there, live or not."""
        ...

    def blocked_candidates(self) -> frozenset[str]:
        """The candidates that only undone operations rest on: they do not come back by curation, unless a model proposes them that
        had not proposed them before.
        """
        ...

    def groups_to_curate(self) -> tuple[tuple[str, str], ...]:
        """The groups (profile, scope) to curate."""
        ...

    def mark_group_curated(self, profile: str, scope: str) -> None:
        """Note that a group is curated."""
        ...

    def proposals_with(self, profile: str, scope: str, ids: Iterable[str]) -> tuple[Proposal, ...]:
        """Those live candidates of a group that have these ids."""
        ...

    def texts(self, profile: str, scope: str) -> "GroupTexts":
        """What the candidates and memories of a group say, where curation has filed it."""
        ...

    def active_counts(self, group: tuple[str, str]) -> Mapping[str, int]:
        """How many memories of a (profile, scope) are active, by category."""
        ...

    def ended_memories(self, group: tuple[str, str], categories: Iterable[str], since: datetime) -> tuple[Memory, ...]:
        """The memories of a (profile, scope) in some categories that ended since then, by id."""
        ...

    def erase_memory(self, memory: str, candidates: Iterable[str], fingerprints: Iterable[str], made: Pass) -> None:
        """Erase the words of every operation on a memory and of every candidate it rests on; keep the fingerprints."""
        ...

    def stored_texts(self) -> Iterator[tuple[str, str]]:
        """Everything that the log and the runs hold as text, in pieces; each with what it is called."""
        ...

    def erase_words(self, words: "ErasureWords", *, spared: Collection[str] = ()) -> int:
        """Take words out of all rows and reports, and make the hashes and memories that follow from them anew.

        Returns the number of rows. For what repeats the words of a memory that is to be forgotten; it and its candidates are
        ``spared``, for their rows are erased whole.
        """
        ...

    def forgotten_fingerprints(self) -> frozenset[str]:
        """The fingerprints of what must not come back."""
        ...

    def rebuild(self) -> None:
        """Recreate the memories and all that is derived from the log alone."""
        ...


class Store(Protocol):
    """An open store. ``archive`` holds what was said, ``log`` what is remembered of it, ``days`` what was worked on when.

    Closed at the end of a ``with`` block.
    """

    @property
    def archive(self) -> Archive:
        """What was said."""
        ...

    @property
    def log(self) -> Log:
        """What is remembered of it, and how that came about."""
        ...

    @property
    def days(self) -> Days:
        """What was worked on when."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside commits together or not at all; an inner transaction belongs to the outer one.

        Raises StoreError where the commit fails; nothing is changed then.
        """
        ...

    def trial_transaction(self) -> AbstractContextManager[None]:
        """Everything inside, transactions too, is taken back at the end."""
        ...

    def read_transaction(self) -> AbstractContextManager[None]:
        """Everything read inside is of one moment."""
        ...

    def refresh(self) -> None:
        """Take up what other machines wrote to the server of this store, where it has one. Raises StoreError."""
        ...

    @property
    def away_since(self) -> int | None:
        """The last pass that the server has, where this machine was changed without it since; else None."""
        ...

    def return_to_server(self) -> None:
        """Have this store hold what the server does and nothing else. Raises UnreachableError, StoreError."""
        ...

    def publish(self) -> None:
        """Have the server of this store, where it has one, hold what the store does, whatever it held: after a backup was put back.

        Raises StoreError.
        """
        ...

    def key(self, name: str) -> bytes:
        """A random secret of this store (32 bytes), made when it is first asked for."""
        ...

    def note(self, name: str) -> str:
        """What was noted in this store, on this machine alone, under a name; empty where nothing was."""
        ...

    def save_note(self, name: str, text: str) -> None:
        """Note something in this store, on this machine alone."""
        ...

    def output_states(self, path: str) -> tuple[Output, ...]:
        """What was last written to a file, and after it what is being written where a write was cut short; empty where nothing
        was.
        """
        ...

    def save_pending_output(self, path: str, output: Output) -> None:
        """Note what is about to be written to a file."""
        ...

    def save_output(self, path: str, output: Output) -> None:
        """Note what was written to a file."""
        ...

    def drop_output(self, path: str) -> None:
        """Note that a file is no longer kept's."""
        ...

    def outputs(self) -> tuple[str, ...]:
        """The paths of all files written, in order."""
        ...

    def digest_content(self) -> str:
        """A digest of what the store holds that files are composed of: equal where nothing of it changed."""
        ...

    def find_damage(self) -> tuple[str, ...]:
        """Everything that is wrong with the store, in words; empty where nothing is."""
        ...

    def compact(self) -> None:
        """Leave no trace of erased words."""
        ...

    def copy_to(self, path: Path, *, indexes: bool = True) -> None:
        """Write the whole store, as of one moment, durably into a new file (mode 0600) that opens as a store and has no damage.

        ``indexes`` says whether what words are found by is proven too: it takes as long as all the rest, and can be made anew.

        Raises StoreError, with no file left behind, where that cannot be done; DamagedError where the copy has damage.
        """
        ...

    def export_rows(self) -> Iterator[Row]:
        """The whole store, as of one moment, in a form that any store can load: equal stores give equal rows.

        Not among them: what a store keeps for the machine it is on (outputs, the key that marks secrets) and what it can derive.
        """
        ...

    def load_rows(self, rows: Iterable[Row]) -> None:
        """Take up what :meth:`export_rows` gave, into a store that holds nothing, in one transaction; derive the rest.

        Raises UsageError where this store holds something already, DamagedError where the rows contradict their own hashes or each
        other. Nothing is changed then.
        """
        ...
