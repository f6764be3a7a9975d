"""The archive in SQLite: cleaned events, the threads they form, and the position up to which each file was read."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kept.core.codec import dump, load, to_canonical_json
from kept.core.errors import DamagedError
from kept.core.event import FORGOTTEN_MARK, Author, Cursor, Event, RecordAccount, is_note
from kept.core.project import Project
from kept.core.times import format_instant, from_milliseconds, to_milliseconds
from kept.store.archive import care, rewinds
from kept.store.archive.blocks import BLOCK_EVENTS, Blocks, add_events, find_known, index, unindex
from kept.store.archive.care import add_repeats, find_events_repeated_by, list_repeated_events
from kept.store.database import ERASING, Database, checksum
from kept.store.erasing import erase_from_carry, erase_from_event
from kept.store.records import merge_event_copy, replace_content
from kept.store.redaction import redact_cursor, redact_value
from kept.store.rows import named_fields, read_row
from kept.store.threads import Tree, pack_runs, unpack_runs
from kept.store.values import (
    ArchiveCounts,
    EventRow,
    FileRow,
    FileState,
    Mention,
    OptedOut,
    Row,
    SessionActivity,
    Thread,
    ThreadRow,
)

if TYPE_CHECKING:
    from kept.core.erasure import ErasureWords


class Archive:
    """The archive of cleaned events. Each event is stored once, however many files contain it. Append-only, except for erasure."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._blocks = Blocks(database)

    def cursor(self, source: str, path: str) -> Cursor | None:
        """The position up to which a file was read; None if it was never read."""
        row = self._database.fetch_one("file", source=source, path=self._database.safe(path))
        if row is None:
            return None
        if row["wrong"]:
            where, hint = str(self._database.path), "restore a backup: kept restore FILE"
            raise DamagedError(f"the record of how far {path} was read is damaged", where=where, hint=hint)
        return read_row(Cursor, row)

    def files(self) -> Iterator[FileState]:
        """Every file ever read, by source and path. Reads from the database as it goes, so do not write before it is exhausted."""
        yield from (read_row(FileState, row) for row in self._database.run("files"))

    def file_ends(self, source: str) -> dict[str, int]:
        """The known end of each file of a source, in bytes, by path. An unfinished last record counts."""
        return {row["path"]: row["stop"] for row in self._database.run("file_ends", source=source)}

    def count(self) -> ArchiveCounts:
        """The numbers of files and threads."""
        return ArchiveCounts(**dict(self._database.fetch_one("count_archive")))

    def stat_cache_entry(self, path: str) -> tuple[str, str] | None:
        """The source of a file, and its stamp from when it was read to its end; None if there is no stamp."""
        row = self._database.fetch_one("stat_cache_entry", path=self._database.safe(path))
        return (row["source"], row["stamp"]) if row else None

    def stat_cache_below(self, folder: str) -> dict[str, tuple[str, str]]:
        """The :meth:`stat_cache_entry` of each file directly in a folder, by path. Skips files whose path contains a secret."""
        rows = self._database.run("stat_cache_below", start=f"{folder}/", stop=f"{folder}0")
        return {row["path"]: (row["source"], row["stamp"]) for row in rows}

    def save_stat_cache_entry(self, source: str, path: str, stamp: str) -> None:
        """Record the stamp of a file that was read to its end. :meth:`add_slice` drops it. Stamps are local, and in no backup."""
        self._database.run("put_stat_cache_entry", source=source, path=self._database.safe(path), stamp=stamp)

    def add_slice(
        self, source: str, path: str, events: Sequence[Event], account: RecordAccount, cursor: Cursor, *, anew: bool
    ) -> int:
        """Archive a slice of a file and move its cursor, in one transaction. Returns the number of new events.

        An event is known if an archived event has the same key or twin, or if another file has the same words in the same second of
        the same session. A copy of a known event replaces it, under the same key, in three cases: it has a better time
        (:class:`Precision`), it has a place in the conversation that the archived event lacks, or it confirms that the person typed
        it. Threads with that event are then queued for extraction again.

        ``account`` is the account of the slice. ``anew`` means that it is the first slice of a file, or of a file read again from
        its start.
        """
        path, account, cursor = (safe := self._database.safe)(path), redact_value(account, safe), redact_cursor(cursor, safe)
        with self._database.transaction():
            row = self._database.fetch_one("file", source=source, path=path)
            before = RecordAccount() if anew or row is None else load(RecordAccount, json.loads(row["account"]))
            return self._store_events(self._save_file(source, path, cursor, before + account), events)

    def _save_file(self, source: str, path: str, cursor: Cursor, account: RecordAccount) -> int:
        (file,) = self._database.fetch_one(
            "put_file",
            source=source,
            path=path,
            account=to_canonical_json(dump(account)),
            **named_fields(cursor, "inode", "offset", "prefix", "line", "carry"),
        )
        self._database.run("sum_file", id=file)
        self._database.run("drop_stat_cache_entry", path=path)
        return int(file)

    def _store_events(self, file: int, events: Sequence[Event]) -> int:
        known = find_known(self._database, self._blocks, events)
        by_twin: dict[str, Event] = {}
        for event, copy in zip(events, known, strict=True):
            if copy is None:
                by_twin.setdefault(event.twin or event.key, event)
        new = list({event.key: event for event in by_twin.values()}.values())
        numbers: dict[str, int] = {}
        with_passages: list[int] = []
        for start in range(0, len(new), BLOCK_EVENTS):
            members = new[start : start + BLOCK_EVENTS]
            first, numbers_with_passages = add_events(self._database, self._blocks, members)
            numbers |= {event.key: first + place for place, event in enumerate(members)}
            with_passages += numbers_with_passages
        twins = {event.twin: numbers[event.key] for event in new if event.twin}
        numbered = [
            (event, copy[0] if copy else numbers.get(event.key) or twins[event.twin], copy is None)
            for event, copy in zip(events, known, strict=True)
        ]
        self._join_threads(file, numbered)
        self._update_from_copies((event, *copy) for event, copy in zip(events, known, strict=True) if copy)
        if again := find_events_repeated_by(self._database, with_passages):
            self._requeue_threads(again)  # passages that counted as typed were pasted, as their repetition shows
        return len(new)

    def known_keys(self, keys: Iterable[str]) -> frozenset[str]:
        """Those of the keys that belong to an archived event."""
        return frozenset(self._blocks.find(keys))

    def _update_from_copies(self, copies: Iterable[tuple[Event, int, Event]]) -> None:
        """Replace archived events by copies with better data (:func:`merge_event_copy`).

        ``copies`` are triples: the copy, the number of the archived event, and that event.
        """
        merged = ((number, merge_event_copy(archived, copy)) for copy, number, archived in copies)
        changed = [(number, better) for number, better in merged if better is not None]
        self._replace_events(changed)
        if changed:
            self._requeue_threads([number for number, _ in changed])

    def _requeue_threads(self, events: Sequence[int]) -> None:
        """Queue the threads that contain these events (by number) for extraction, by rules and by a model."""
        threads = self._database.run("requeue_threads", events=to_canonical_json(events)).fetchall()
        self._database.run("sum_threads", ids=to_canonical_json([row["id"] for row in threads]))
        self._database.run("reset_llm_progress", events=to_canonical_json(events))

    def _replace_events(self, changed: Iterable[tuple[int, Event]]) -> None:
        """Replace the events with these numbers."""
        blocks: dict[int, list[tuple[int, Event]]] = {}
        for number, event in changed:
            blocks.setdefault(self._blocks.block_of(number), []).append((number, event))
        for block, members in blocks.items():
            events = list(self._blocks.at(block))
            for number, event in members:
                before, events[number - block] = events[number - block], event
                unindex(self._database, number, before)
                index(self._database, [(number, event)])
                self._database.run("queue_embedding", kind="turn", item=number)
            self._blocks.replace_block(block, events)
            self._database.run("queue_embedding_beside", events=to_canonical_json([number for number, _ in members]))

    def _join_threads(self, file: int, events: Iterable[tuple[Event, int, bool]]) -> None:
        """Append events to the file's threads, in this order. Each comes with its number and whether it is new.

        If a session's file moved to another folder under the same name, its existing thread is continued.
        """
        grown: dict[str, list[Any]] = {}  # by session: thread, count, first and last time, sum of the events, project
        joined: dict[int, dict[int, int]] = {}  # the appended events of each thread
        for event, number, new in events:
            if event.session not in grown:
                if not new and not is_note(event):
                    self._database.run("move_thread", file=file, session=event.session, event=number)
                row = self._database.fetch_one("thread", file=file, session=event.session)
                if row is None:
                    (thread,) = self._database.fetch_one("add_thread", file=file, session=event.session, project=event.project)
                    grown[event.session] = [thread, 0, None, None, 0, event.project]
                else:
                    grown[event.session] = list(row)
            state = grown[event.session]
            if event.project and not state[5]:
                self._database.run("name_project", thread=state[0], project=event.project)
                state[5] = event.project
            members = joined.setdefault(state[0], {})
            if number in members or (not new and self._database.fetch_one("in_thread", event=number, thread=state[0])):
                continue
            members[number] = 0
            if event.at is not None:
                at = format_instant(event.at)
                state[2], state[3] = min(state[2] or at, at), max(state[3] or at, at)
        for thread, count, first, last, total, _ in grown.values():
            runs = pack_runs(thread, count, joined[thread].items())
            self._database.execute_many("add_to_thread", runs)
            added = sum(checksum(*(run[name] for name in ("ordinal", "event", "abandoned", "events"))) for run in runs)
            values = {"events": count + len(joined[thread]), "first_at": first, "last_at": last, "members": total + added}
            self._database.run("grow_thread", id=thread, **values)
        self._database.run("sum_threads", ids=to_canonical_json([thread for thread, *_ in grown.values()]))

    def threads(self, *, pending: bool = False, path: str = "") -> Iterator[Thread]:
        """All threads, by their first event. If ``pending``, only those pending extraction; with ``path``, only those of that file.

        Reads from the database as it goes, because there may be very many threads, so do not write before it is exhausted.
        """
        if path:
            return map(care.thread_from_row, self._database.run("threads_of_file", path=self._database.safe(path)))
        return map(care.thread_from_row, self._database.run("pending_threads" if pending else "all_threads"))

    def threads_by_id(self, threads: Iterable[int]) -> Iterator[Thread]:
        """The threads with these numbers, in this order. Each is read when it is reached, so writing in between is allowed."""
        return (care.thread_from_row(self._database.fetch_one("thread_by_id", id=thread)) for thread in threads)

    def threads_ended_between(self, projects: Iterable[str], start: datetime, stop: datetime, limit: int) -> tuple[Thread, ...]:
        """The threads of these working directories whose last event is in [start, stop), latest first, at most ``limit``."""
        values = {"start": format_instant(start), "stop": format_instant(stop), "limit": limit}
        rows = self._database.run("threads_ended", projects=to_canonical_json(sorted(projects)), **values)
        return tuple(map(care.thread_from_row, rows))

    def threads_started_between(self, projects: Iterable[str], start: datetime, stop: datetime) -> Iterator[Thread]:
        """The threads of these working directories whose first event is in (start, stop], in the order of these events.

        Reads from the database as it goes, so do not write before it is exhausted.
        """
        values = {"projects": to_canonical_json(sorted(projects)), "start": format_instant(start), "stop": format_instant(stop)}
        return map(care.thread_from_row, self._database.run("threads_begun", **values))

    def tree(self, thread: int) -> tuple[Tree, bytearray]:
        """The tree of a thread, and for each of its events 1 if it is marked as abandoned, else 0. Raises DamagedError."""
        return rewinds.load_tree(self._database, self._blocks, thread)

    def has_rewinds(self, thread: int) -> bool:
        """True if a rewind may have replaced an event of a thread. Also true if an event is marked so and its records have links.

        Nothing was replaced unless a prompt of the user shares its parent with another record. Raises DamagedError.
        """
        return rewinds.has_rewinds(self._database, self._blocks, thread)

    def mark_abandoned(self, thread: int, changes: Iterable[tuple[int, bool]]) -> None:
        """Set or clear the abandoned mark of events (by ordinal). It says that a later rewind replaced the event."""
        marks = dict(changes)
        if marks:
            with self._database.transaction():
                members = enumerate(unpack_runs(self._database.run("thread_events", thread=thread).fetchall()))
                self._save_members(thread, ((event, int(marks.get(ordinal, abandoned))) for ordinal, (event, abandoned) in members))
                for ordinal in marks:
                    self._database.run("reset_thread_llm_progress", thread=thread, ordinal=ordinal)

    def _save_members(self, thread: int, members: Iterable[tuple[int, int]]) -> None:
        """Replace the events of a thread."""
        self._database.run("clear_thread", thread=thread)
        self._database.execute_many("add_to_thread", pack_runs(thread, 0, members))
        self._database.run("sum_members", thread=thread)
        self._database.run("sum_threads", ids=to_canonical_json([thread]))

    def events(self, thread: int, start: int, stop: int) -> tuple[Event, ...]:
        """The events of a thread with ordinals in [start, stop). Abandoned ones are labelled so. Raises DamagedError."""
        runs = self._database.run("thread_slice", thread=thread, start=start, stop=stop).fetchall()
        events = self._add_repeats([number for number, _ in unpack_runs(runs)])
        if not any(run["abandoned"] for run in runs):
            return events  # the usual case
        return tuple(
            replace(event, author=Author.ABANDONED, label_reason="a later rewind replaced it") if abandoned else event
            for (_, abandoned), event in zip(unpack_runs(runs), events, strict=True)
        )

    def event(self, key: str) -> Event | None:
        """The event with this key, or None. Raises DamagedError."""
        return next(iter(self._add_repeats([*self._blocks.find((key,)).values()])), None)

    def latest_prompts(self, most: int) -> tuple[Event, ...]:
        """The latest prompts of the person, latest first. Raises DamagedError."""
        return self._add_repeats([row["id"] for row in self._database.run("latest_prompts", most=most).fetchall()])

    def prompts_after(self, event: int) -> tuple[tuple[int, int, int], ...]:
        """The person's prompts that were read after an event, by number: triples of number, thread and ordinal, in order."""
        return tuple(tuple(row) for row in self._database.run("prompts_after", event=event))

    def _add_repeats(self, numbers: Sequence[int]) -> tuple[Event, ...]:
        return add_repeats(self._database, numbers, tuple(self._blocks.events(numbers)))

    def events_around(self, key: str, before: int, after: int) -> tuple[Event, ...]:
        """An event with the ``before`` events before it and the ``after`` events after it in its thread. Empty for unknown keys."""
        row = self._database.fetch_one("first_thread_of_event", event=self._blocks.find((key,)).get(key))
        return self.events(row["thread"], row["ordinal"] - before, row["ordinal"] + after + 1) if row else ()

    def save_extraction_progress(self, thread: int, *, extracted: int, seen: int) -> None:
        """Record that ``seen`` events of a thread were processed, and that its episodes before ordinal ``extracted`` are closed."""
        with self._database.transaction():
            self._database.run("save_extraction_progress", thread=thread, extracted=extracted, seen=seen)
            self._database.run("sum_threads", ids=to_canonical_json([thread]))

    def list_threads_pending_llm(self) -> tuple[tuple[Thread, int], ...]:
        """The threads with events that no model has read, in the order of :meth:`threads`.

        Each comes with the ordinal from which its chunks are open. A whole thread counts as unread again after a better copy, a
        rewind or an opt-out changed it, or when a long passage of it occurs in another session.
        """
        return tuple((care.thread_from_row(row), row["closed"]) for row in self._database.run("threads_pending_llm"))

    def save_llm_progress(self, thread: int, *, closed: int, seen: int) -> None:
        """Record that a model has read ``seen`` events of a thread, and that its chunks before ordinal ``closed`` are closed."""
        self._database.run("save_llm_progress", thread=thread, closed=closed, seen=seen)

    def session_activity(self, start: datetime, stop: datetime) -> tuple[SessionActivity, ...]:
        """The sessions with events in [start, stop), by the times of the events. An event counts only in its first thread."""
        values = {"start": to_milliseconds(start), "stop": to_milliseconds(stop)}
        rows = self._database.run("events_between", since=format_instant(start), before=format_instant(stop), **values)
        return tuple(
            SessionActivity(
                **dict(row) | {"first_at": from_milliseconds(row["first_at"]), "last_at": from_milliseconds(row["last_at"])}
            )
            for row in rows
        )

    def active_minutes(self) -> Iterator[datetime]:
        """Every minute with an event, in order. Hours would be too coarse: some time zones are offset by quarters of an hour."""
        for row in self._database.run("event_minutes"):
            yield from_milliseconds(row["minute"] * 60_000)

    def directories(self) -> tuple[tuple[str, str], ...]:
        """The directories of all threads, in order and without duplicates, as pairs (directory, path).

        The path is empty. A thread without a working directory has an empty directory and the path of its file.
        """
        return tuple((row["project"], row["path"]) for row in self._database.run("directories"))

    def project(self, directory: str) -> Project | None:
        """The recorded project of a directory; None if there is none."""
        row = self._database.fetch_one("project", directory=directory)  # the usual case, in which the path contains no secret
        row = row or self._database.fetch_one("project", directory=self._database.safe(directory))
        return Project(**dict(row)) if row else None

    def save_project(self, project: Project) -> None:
        """Record the project of a directory."""
        self._database.run("put_project", **dump(redact_value(project, self._database.safe)))

    def projects(self) -> tuple[Project, ...]:
        """The recorded project of every directory, by directory."""
        return tuple(Project(**dict(row)) for row in self._database.run("projects"))

    def opted_out_sessions(self) -> tuple[OptedOut, ...]:
        """The conversations that opted out of being remembered, by session."""
        return tuple(OptedOut(**dict(row)) for row in self._database.run("opted_out"))

    def opt_out(self, session: str, path: str) -> int:
        """Record that a conversation opted out. ``path`` is the file that says so. Returns the number of erased events.

        Erases the words of its events, except those that another conversation contains too, and queues its threads for extraction.
        """
        session = self._database.safe(session)
        with self._database.transaction():
            self._database.run("opt_out", session=session, path=self._database.safe(path))
            numbers = [row["id"] for row in self._database.run("events_of_session_alone", session=session)]
            changed = [
                (number, replace_content(event, FORGOTTEN_MARK))
                for number, event in zip(numbers, self._blocks.events(numbers), strict=True)
            ]
            if numbers:
                self._database.run("put_setting", name=ERASING, value="")
            self._replace_events(changed)
            self._requeue_threads(numbers)
            return len(numbers)

    def count_undated_events(self) -> int:
        """The number of undated events."""
        return int(self._database.fetch_one("count_undated_events")["events"])

    def find_mentions(self, name: str, since: datetime) -> tuple[Mention, ...]:
        """For each working directory and file, the last time after ``since`` when the person or the assistant mentioned a name."""
        return care.find_mentions(self._database, name, since)

    def events_with_words(self, words: "ErasureWords") -> Iterator[Event]:
        """Every archived event that contains the words. Raises DamagedError."""
        return (event for _, event in care.find_events_with_words(self._blocks, words))

    def events_with_similar_words(self, words: "ErasureWords") -> Iterator[Event]:
        """The prompts and replies (not tool outputs) that may be near copies of the words. Raises DamagedError."""
        return care.find_similar_events(self._database, self._blocks, words)

    def erase_words(self, words: "ErasureWords") -> frozenset[str]:
        """Remove words from every archived event and from the readers' stored state. Returns the keys of the changed events."""
        with self._database.transaction():
            changed = [
                (number, erase_from_event(event, words)) for number, event in care.find_events_with_words(self._blocks, words)
            ]
            files = self._database.run("files").fetchall()
            carried = [(row, left) for row in files if (left := erase_from_carry(row["carry"], words)) != row["carry"]]
            if changed or carried:
                self._database.run("put_setting", name=ERASING, value="")
            self._replace_events(changed)
            for row, left in carried:
                self._database.run("put_carry", source=row["source"], path=row["path"], carry=left)
            return frozenset(event.key for _, event in changed)

    def find_damage(self) -> Iterator[str]:
        """A message for each contradiction in the archive: of its data, or between its data and its hashes or index."""
        yield from care.find_archive_damage(self._database, self._blocks)

    def find_misquotes(self, cited: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
        """A message for each memory that quotes (:func:`kept.store.check.citations`) words which the event does not contain."""
        yield from care.find_archive_misquotes(self._blocks, cited)

    def reindex(self) -> None:
        """Rebuild all data derived from the archive, such as its full-text indexes."""
        care.reindex(self._database, self._blocks)

    def requeue_repeats(self) -> None:
        """Queue for extraction all threads that share a long passage with another session. Older formats did not record these."""
        if again := list_repeated_events(self._database):
            self._requeue_threads(again)

    def export_rows(self) -> Iterator[Row]:
        """The archive as export rows: files, events in order, threads, projects, conversations that opted out."""
        yield from care.archive_rows(self._database, self._blocks)
        yield from self.projects()
        yield from self.opted_out_sessions()

    def load_rows(self, rows: Sequence[Row]) -> None:
        """Load rows of :meth:`export_rows`, all of one kind, within the transaction for all kinds. Raises ValueError, KeyError."""
        events = [row for row in rows if isinstance(row, EventRow)]
        if events:
            add_events(self._database, self._blocks, [replace(each.event, twin=each.twin) for each in events])
        for row in rows:
            match row:
                case FileRow():
                    self._save_file(row.source, row.path, row.cursor, row.account)
                case ThreadRow():
                    self._load_thread(row)
                case Project():
                    self.save_project(row)
                case OptedOut():
                    self._database.run("opt_out", session=row.session, path=row.path)

    def _load_thread(self, row: ThreadRow) -> None:
        file = self._database.fetch_one("file", source=row.source, path=row.path)
        numbers = self._blocks.find(row.events)
        events = self._blocks.events(sorted(numbers[key] for key in row.events))
        times = [format_instant(event.at) for event in events if event.at]
        self._database.run(
            "put_thread",
            file=file["id"],
            events=len(row.events),
            first_at=min(times, default=None),
            last_at=max(times, default=None),
            **named_fields(row, "id", "session", "project", "extracted", "seen"),
        )
        abandoned = frozenset(row.abandoned)
        self._save_members(row.id, ((numbers[key], int(ordinal in abandoned)) for ordinal, key in enumerate(row.events)))
        if row.heard:
            self.save_llm_progress(row.id, closed=row.closed, seen=row.heard)
