"""What holds words to be erased in a store and its backups: memories and their history, proposals, archived turns, days, reports.

Each backup is a store and is rewritten like one. A backup that cannot be rewritten is deleted.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from kept.core.digest import digest
from kept.core.document import Line
from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.errors import KeptError, StoreError
from kept.core.event import Author, Event, Origin
from kept.core.fingerprint import fingerprint_statement, is_known_statement
from kept.core.memory import USER_SCOPE, WITHDRAWAL, Actor, Memory, Status
from kept.core.operation import Add, Forget
from kept.core.text import one_line
from kept.core.times import ALWAYS
from kept.core.value import dataclass, replace
from kept.memories.backups import find_backups
from kept.store.backups import make_working_copy, may_hold_turns, replace_with_copy
from kept.store.erasing import cites_erased, texts_of_event
from kept.store.sqlite import SqliteStore
from kept.store.traces import traces
from kept.store.values import Draft
from kept.workspace import Workspace

_WHOSE = {Author.HUMAN: "you", Author.ASSISTANT: "the assistant", Author.TOOL: "a tool"}
_BEGINNING = 50  # events of a session that may contain the person's first words
_NAMED = 20  # memories that a pass's subject names; its operations name all of them
_UNNAMED = "what was said"  # the content of a placeholder memory, from the pass that adds it to the pass that forgets it
_REASON = "forgotten by the user"


@dataclass(frozen=True, kw_only=True, slots=True)
class _EraseTarget:
    """The records to erase as a whole: the ids of memories and candidates, and the fingerprints that keep them from coming back."""

    memories: frozenset[str]
    candidates: frozenset[str]
    prints: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StoreHolder:
    """Everything in one store. ``profile`` is the (profile, category) of placeholder memories, which are for words that were never
    a memory. If ``quick``, the full-text index finds turns, and the archive is not scanned as a whole.
    """

    store: SqliteStore
    clock: Callable[[], datetime]
    profile: tuple[str, str]
    quick: bool = False
    name: str = "the store"
    claims: tuple[str, ...] = ("kept.db", "kept.db-journal")

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield every place in the store that contains the words or a near copy."""
        yield from self._memory_places(words)
        yield from self._turn_places(words)
        named = dict.fromkeys(name for name, text in self.store.log.stored_texts() if words.is_in_text(text))
        yield from (self._place_at(name, "") for name in named)
        for passage in self.store.days.passages():
            yield from self._search_text(words, f"the summary of {passage.at.date()}", passage.text)
        for thread_note in self.store.days.notes_between(*ALWAYS):
            if any(
                words.is_in_text(text) for text in (thread_note.note.asked, thread_note.note.outcome, *thread_note.note.commits)
            ):
                yield self._place_at(f"what was worked on, {thread_note.note.at.date()}", "")
        for path in self.store.outputs():
            if any(words.is_in_text(_join_lines(output.lines)) for output in self.store.output_states(path)):
                yield self._place_at(f"what was last written to {path}", "")

    def _memory_places(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        for memory in self.store.log.memories():
            if memory.id in words.memories and memory.content:
                yield self._place_at(f"memory {memory.id}", memory.content)
            elif memory.content:
                yield from self._search_text(words, f"memory {memory.id}", memory.content)
                cited = dict.fromkeys(quote.quote for quote in memory.evidence if cites_erased(quote, words))
                yield from (self._place_at(f"what memory {memory.id} rests on", one_line(quote)[:200]) for quote in cited)
        for judged in self.store.log.all_judged_candidates():
            yield from self._search_text(words, f"proposal {judged.candidate.id}", judged.candidate.content)

    def _turn_places(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        similar = tuple(self.store.archive.events_with_similar_words(words))
        for event in similar if self.quick else self.store.archive.events_with_words(words):
            where = _event_label(event)
            if event.key in words.events:
                yield self._place_at(where, words.excerpt(event.text))
            yield from (self._place_at(where, words.excerpt(text)) for text in texts_of_event(event) if words.is_in_text(text))
        for event in similar:
            yield from self._near_copies(words, _event_label(event), event.text)
        for session in sorted(words.sessions):
            said = (event for thread, _ in self._threads_of(session) for event in self.store.archive.events(thread, 0, _BEGINNING))
            first = next((event.text for event in said if event.author is Author.HUMAN), "")
            yield self._place_at(f"the whole session {session}", words.excerpt(first))

    def _search_text(self, words: ErasureWords, where: str, text: str) -> Iterator[ErasureMatch]:
        if words.is_in_text(text):
            yield self._place_at(where, words.excerpt(text))
        yield from self._near_copies(words, where, text)

    def _near_copies(self, words: ErasureWords, where: str, text: str) -> Iterator[ErasureMatch]:
        return (ErasureMatch(holder=self.name, where=where, text=near, near=True) for near in words.find_near_copies(text))

    def _place_at(self, where: str, text: str) -> ErasureMatch:
        return ErasureMatch(holder=self.name, where=where, text=text)

    def erase(self, words: ErasureWords) -> int:
        """Forget every memory that contains the words, and erase the words from everything else. Returns the number of places.

        The memories come last, because an interrupted call needs their words when it is repeated.
        """
        log, archive = self.store.log, self.store.archive
        target = self._find_target(words)
        with self.store.transaction():
            events = archive.erase_words(words)
            for session in sorted(words.sessions):
                for path in dict.fromkeys(path for _, path in self._threads_of(session)):
                    archive.opt_out(session, path)
            days = self._erase_from_days(words, events)
        amended = log.erase_words(words, spared=target.memories | target.candidates)
        forgotten = self._forget_target(target)
        places = len(events) + days + amended + forgotten
        if places or words.sessions:
            self.store.compact()
        return places

    def _threads_of(self, session: str) -> list[tuple[int, str]]:
        """The threads of a session, as (id, path)."""
        return [(thread.id, thread.path) for thread in self.store.archive.threads() if thread.session == session]

    def _find_target(self, words: ErasureWords) -> _EraseTarget:
        """Find the memories and proposals to erase as a whole, and the fingerprints that keep them from coming back."""
        key = self.store.key("forget")
        prints = {fingerprint_statement(sentence, key) for sentence in words.sentences} - {""}
        proposals = [judged.candidate for judged in self.store.log.all_judged_candidates()]
        proposals = [
            candidate
            for candidate in proposals
            if words.is_in_text(candidate.content)
            or any(
                quote.event in words.events or quote.session in words.sessions or words.is_echo(quote.event, quote.quote)
                for quote in candidate.evidence
            )
            or (candidate.trigger == WITHDRAWAL and any((each.event, each.quote) in words.cited for each in candidate.evidence))
        ]
        found = [memory for memory in self.store.log.memories() if memory.content]
        found = [
            memory
            for memory in found
            if memory.id in words.memories
            or words.is_in_text(memory.content)
            or (memory.evidence and all(words.is_echo(quote.event, quote.quote) for quote in memory.evidence))
        ]
        contents = [*(candidate.content for candidate in proposals), *(memory.content for memory in found)]
        return _EraseTarget(
            memories=frozenset(memory.id for memory in found),
            candidates=frozenset({candidate.id for candidate in proposals}.union(*(memory.candidates for memory in found))),
            prints=tuple(sorted(prints | {fingerprint_statement(text, key) for text in contents} - {""})) if words.lasting else (),
        )

    def _forget_target(self, target: _EraseTarget) -> int:
        """Forget the memories and proposals. Returns their number."""
        log, memories = self.store.log, sorted(target.memories)
        if not memories:
            if not (target.candidates or set(target.prints) - log.forgotten_fingerprints()):
                return 0
            memories = [self._add_placeholder(target)]
        now = self.clock()
        operations = tuple(
            Forget(memory=number, at=now, reason=_REASON, fingerprints=target.prints, candidates=tuple(sorted(target.candidates)))
            for number in memories
        )
        with self.store.transaction():
            run = log.start_run("forget", now)
            draft = Draft(
                run=run,
                stage="forget",
                subject=", ".join(memories[:_NAMED]),
                actor=Actor.PERSON,
                recorded_at=now,
                operations=operations,
            )
            made = log.commit(draft)
            for number in memories:
                log.erase_memory(number, target.candidates, target.prints, made)
            log.end_run(run, now, {"forgotten": memories})
        return len(target.memories) + len(target.candidates)

    def _add_placeholder(self, target: _EraseTarget) -> str:
        """Add a placeholder memory without the words and forget it at once. Its fingerprints keep the words from coming back."""
        now = self.clock()
        profile, category = self.profile
        value = Memory(
            id=digest("forgotten", *target.prints, *sorted(target.candidates), now.isoformat(), size=5),
            profile=profile,
            category=category,
            scope=USER_SCOPE,
            status=Status.RETIRED,
            content=_UNNAMED,
            confidence=1.0,
            origin=Origin.USER,
            first_seen=now,
            last_seen=now,
            owned=True,
            trigger="told",
        )
        with self.store.transaction():  # in a transaction of its own, because the row is read back after the commit
            run = self.store.log.start_run("forget", now)
            add = Add(memory=value.id, at=now, reason=_REASON, value=value)
            draft = Draft(run=run, stage="forget", subject=value.id, actor=Actor.PERSON, recorded_at=now, operations=(add,))
            self.store.log.commit(draft)
            self.store.log.end_run(run, now, {})
        return value.id

    def _erase_from_days(self, words: ErasureWords, events: frozenset[str] | set[str]) -> int:
        """Erase the lines of day summaries that contain the words, and drop notes made from erased text, which are made again."""
        key = self.store.key("forget")
        prints = {fingerprint_statement(sentence, key) for sentence in words.sentences} - {""}
        lines = [
            passage.id
            for passage in self.store.days.passages()
            if words.is_in_text(passage.text) or is_known_statement(passage.text, prints, key)
        ]
        self.store.days.erase_passages(lines)
        self.store.days.drop_notes(events=events, sessions=words.sessions)
        return len(lines)


def texts_said(store: SqliteStore, sessions: Collection[str], events: Collection[str]) -> frozenset[str]:
    """The texts of conversations that are forgotten as a whole, and of single events (keys), while the store still has them."""
    archive = store.archive
    return frozenset(
        event.text
        for thread in archive.threads()
        if events or thread.session in sessions
        for event in archive.events(thread.id, 0, thread.events)
        if event.key in events or event.session in sessions
    )


def _event_label(event: Event) -> str:
    """The label of an event for people: its time and its author."""
    return f"a conversation, {event.at.date() if event.at else 'undated'}, {_WHOSE.get(event.author, event.author.value)}"


def erase_from_outputs(store: SqliteStore, words: ErasureWords) -> int:
    """Erase the words from the record of the last written file contents. This is for files that no longer contain the words, or are
    elsewhere. Returns the number of files.
    """
    count = 0
    for path in store.outputs():
        outputs = store.output_states(path)
        if any(words.is_in_text(_join_lines(output.lines)) for output in outputs):
            store.save_output(path, replace(outputs[0], lines=tuple(_drop_lines_with(outputs[0].lines, words))))
            count += 1
    return count


def _drop_lines_with(lines: Sequence[Line], words: ErasureWords) -> Iterator[Line]:
    """Yield the lines without the words. A line of a view may contain several lines of text."""
    held = iter(words.flag_lines(_join_lines(lines)))
    for line in lines:
        if not any(list(islice(held, line.text.count("\n") + 1))):  # consumes the flags of all its lines
            yield line


def _join_lines(lines: Iterable[Line]) -> str:
    return "\n".join(line.text for line in lines)


BACKUPS = "backups"


@dataclass(frozen=True, kw_only=True)
class BackupCopies:
    """Every known copy of the store: automatic and manual backups, copies from before a migration, and stores that were moved
    aside. If ``quick``, reports each copy as a possible place without reading it.
    """

    workspace: Workspace
    quick: bool = False
    name: str = BACKUPS
    claims: tuple[str, ...] = ("backups/*", "aside/*.db", "aside/*.db.*", "aside/*.db-journal", "erasing/**/*")

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield each copy that contains the words or cannot be read."""
        for path in find_backups(self.workspace):
            if self.quick or self._has_words(path, words):
                yield ErasureMatch(holder=self.name, where=str(path), text="")

    def erase(self, words: ErasureWords) -> int:
        """Rewrite the copies without the words. A copy in kept's own state folder that cannot be rewritten is deleted.

        Processes all copies. Then raises StoreError if a copy in another folder could not be rewritten.
        """
        left: list[str] = []
        held = [path for path in find_backups(self.workspace) if self._has_words(path, words)]
        for path in held:
            try:
                self._rewrite_copy(path, words)
            except (KeptError, OSError) as error:
                if path.is_relative_to(self.workspace.paths.state):
                    path.unlink(missing_ok=True)
                else:
                    left.append(f"{path} ({error})")
        if left:
            done = len(held) - len(left)
            raise StoreError(f"{done} rewritten, and not: {'; '.join(left)}", hint="delete what you do not need")
        return len(held)

    def _rewrite_copy(self, path: Path, words: ErasureWords) -> None:
        """Erase in a working copy, and replace the backup by it. Raises KeptError, OSError. The backup is unchanged then."""
        stage = self.workspace.paths.state / "erasing"
        try:
            staged = make_working_copy(path, stage)
            with SqliteStore(staged) as store:
                StoreHolder(
                    store=store,
                    clock=self.workspace.clock,
                    profile=(self.workspace.profile.id, self.workspace.profile.categories[0].id),
                ).erase(words)
                erase_from_outputs(store, words)
                store.compact()
            if next(traces(staged, words), None):
                raise StoreError("the words are still in it")
            replace_with_copy(staged, path)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _has_words(self, path: Path, words: ErasureWords) -> bool:
        return next(traces(path, words), None) is not None or may_hold_turns(
            path, words.events | {event for event, _ in words.cited}, words.sessions
        )
