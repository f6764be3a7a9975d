"""The archive of a store in memory."""
# ruff: noqa: D102 - the protocol says what each of them does

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime

from kept.core.erasure import Words
from kept.core.event import FORGOTTEN_MARK, Account, Author, Cursor, Event, Kind
from kept.core.project import Project
from kept.core.spans import is_copy, passages_of
from kept.core.text import index_words, phrase_words
from kept.store.erasing import event_without, has_words, json_without, said_in
from kept.store.in_memory_state import Now, State
from kept.store.records import likeness_of, retold, withheld
from kept.store.threads import Tree, abandoned, tree_of
from kept.store.values import EventRow, FileRow, FileState, Mention, OptedOut, Sitting, Thread, ThreadRow

Transaction = Callable[[], AbstractContextManager[None]]


class InMemoryArchive:
    """Cleaned turns, each event once, however many files tell it."""

    def __init__(self, now: Now, transaction: Transaction) -> None:
        self._now = now
        self._transaction = transaction

    @property
    def _state(self) -> State:
        return self._now()

    def cursor(self, source: str, path: str) -> Cursor | None:
        row = self._state.files.get((source, path))
        return row.cursor if row else None

    def files(self) -> Iterator[FileState]:
        for _, row in sorted(self._state.files.items()):
            yield FileState(source=row.source, path=row.path, offset=row.cursor.offset, line=row.cursor.line, account=row.account)

    def looked(self, path: str) -> tuple[str, str] | None:
        return self._state.looks.get(path)

    def put_look(self, source: str, path: str, stamp: str) -> None:
        self._state.looks[path] = (source, stamp)

    def add(self, source: str, path: str, events: Sequence[Event], account: Account, cursor: Cursor, *, anew: bool) -> int:
        with self._transaction():
            known = self._state.files.get((source, path))
            total = account if anew or known is None else known.account + account
            self._state.files[source, path] = FileRow(source=source, path=path, cursor=cursor, account=total)
            self._state.looks.pop(path, None)
            before = len(self._state.events)
            told: dict[str, list[tuple[Event, str]]] = {}
            again: list[str] = []
            for event in events:
                key = self._known(event)
                better = retold(self._state.events[key].event, event) if key else None
                if key is None:
                    self.put(EventRow(event=event, twin=event.twin))
                elif better is not None:
                    again.append(key)
                    self.put(EventRow(event=better, twin=better.twin))
                told.setdefault(event.session, []).append((event, key or event.key))
            for session, members in told.items():
                self._join(source, path, session, members)
            said = [event for event in events if event.key in self._state.events and passages_of(event)]
            self._retold([*again, *(key for event in said for key in self._elsewhere(event))])
            return len(self._state.events) - before

    def _known(self, event: Event) -> str | None:
        state = self._state
        if event.key in state.events:
            return event.key
        if event.twin in state.twins:
            return state.twins[event.twin]
        like = state.likenesses.get(likeness_of(event))
        return like if like is not None and state.events[like].event.pointer.path != event.pointer.path else None

    def _retold(self, keys: Sequence[str]) -> None:
        for place, row in enumerate(self._state.threads):
            if changed := [n for n, key in enumerate(row.events) if key in keys]:
                self._state.threads[place] = replace(row, seen=0, extracted=min(row.extracted, changed[0]), closed=0, heard=0)

    def put(self, row: EventRow) -> None:
        """Keep an event under its key."""
        self._state.events[row.event.key] = row
        if row.twin:
            self._state.twins.setdefault(row.twin, row.event.key)
        if mark := likeness_of(row.event):
            self._state.likenesses.setdefault(mark, row.event.key)

    def _join(self, source: str, path: str, session: str, members: Sequence[tuple[Event, str]]) -> None:
        threads = self._state.threads
        place = next(
            (n for n, each in enumerate(threads) if (each.source, each.path, each.session) == (source, path, session)), None
        )
        if place is None:
            place = len(threads)
            threads.append(
                ThreadRow(id=place + 1, source=source, path=path, session=session, project="", extracted=0, seen=0, events=())
            )
        thread = threads[place]
        project = thread.project or next((event.project for event, _ in members if event.project), "")
        keys = dict.fromkeys((*thread.events, *(key for _, key in members)))
        threads[place] = replace(thread, events=tuple(keys), project=project)

    def threads(self, *, pending: bool = False) -> Iterator[Thread]:
        found = (self._thread(each) for each in self._state.threads if not pending or len(each.events) > each.seen)
        yield from sorted(found, key=lambda each: (each.first_at is not None, each.first_at, each.path, each.session))

    def each(self, threads: Iterable[int]) -> Iterator[Thread]:
        return (self._thread(self._state.threads[number - 1]) for number in threads)

    def _thread(self, row: ThreadRow) -> Thread:
        times = [at for key in row.events if (at := self._state.events[key].event.at) is not None]
        return Thread(
            id=row.id, session=row.session, source=row.source, path=row.path, project=row.project, events=len(row.events),
            extracted=row.extracted, first_at=min(times, default=None), last_at=max(times, default=None),
        )  # fmt: skip

    def ended(self, projects: Iterable[str], start: datetime, stop: datetime, limit: int) -> tuple[Thread, ...]:
        """The threads of these working directories whose last event lies in [start, stop), at most so many, the latest first."""
        named = frozenset(projects)
        found = (each for each in self.threads() if each.project in named and each.last_at and start <= each.last_at < stop)
        return tuple(sorted(found, key=lambda each: (each.last_at, each.path, each.session), reverse=True)[:limit])

    def begun(self, projects: Iterable[str], start: datetime, stop: datetime) -> Iterator[Thread]:
        """The threads of these working directories whose first event lies in (start, stop], in its order."""
        named = frozenset(projects)
        return (each for each in self.threads() if each.project in named and each.first_at and start < each.first_at <= stop)

    def tree(self, thread: int) -> tuple[Tree, bytearray]:
        row = self._state.threads[thread - 1]
        tree = tree_of(self._state.events[key].event for key in row.events)
        return tree, bytearray(order in row.abandoned for order in range(len(row.events)))

    def forks(self, thread: int) -> bool:
        return bool(self._state.threads[thread - 1].abandoned) or any(abandoned(self.tree(thread)[0]))

    def mark_abandoned(self, thread: int, changes: Iterable[tuple[int, bool]]) -> None:
        row = self._state.threads[thread - 1]
        marked = set(row.abandoned)
        for ordinal, value in changes:
            (marked.add if value else marked.discard)(ordinal)
            if ordinal < row.heard:
                row = replace(row, closed=0, heard=0)
        self._state.threads[thread - 1] = replace(row, abandoned=tuple(sorted(marked)))

    def events(self, thread: int, start: int, stop: int) -> tuple[Event, ...]:
        row = self._state.threads[thread - 1]
        return tuple(
            replace(event, author=Author.ABANDONED, label_reason="a later rewind replaced it")
            if ordinal in row.abandoned
            else self._with_repeats(event)
            for ordinal in range(max(0, start), min(stop, len(row.events)))
            for event in (self._state.events[row.events[ordinal]].event,)
        )

    def event(self, key: str) -> Event | None:
        row = self._state.events.get(key)
        return self._with_repeats(row.event) if row else None

    def _elsewhere(self, event: Event) -> dict[str, set[int]]:
        """The events of other sessions that have long passages of this one, and which."""
        said = {each.hash for each in passages_of(event)}
        others = (row.event for row in self._state.events.values() if said and row.event.session != event.session)
        return {
            each.key: shared
            for each in others
            if not is_copy(each.at, event.at) and (shared := said & {passage.hash for passage in passages_of(each)})
        }

    def _with_repeats(self, event: Event) -> Event:
        shared = set[int]().union(*self._elsewhere(event).values())
        return replace(event, repeated=tuple(sorted(shared))) if shared else event

    def around(self, key: str, before: int, after: int) -> tuple[Event, ...]:
        row = next((each for each in self._state.threads if key in each.events), None)
        place = row.events.index(key) if row else 0
        return self.events(row.id, place - before, place + after + 1) if row else ()

    def progressed(self, thread: int, *, extracted: int, seen: int) -> None:
        self._state.threads[thread - 1] = replace(self._state.threads[thread - 1], extracted=extracted, seen=seen)

    def unheard(self) -> tuple[tuple[Thread, int], ...]:
        rows = {each.id: each for each in self._state.threads}
        return tuple((each, rows[each.id].closed) for each in self.threads() if each.events > rows[each.id].heard)

    def heard(self, thread: int, *, closed: int, seen: int) -> None:
        self._state.threads[thread - 1] = replace(self._state.threads[thread - 1], closed=closed, heard=seen)

    def sittings(self, start: datetime, stop: datetime) -> tuple[Sitting, ...]:
        found = (self._sitting(each, start, stop) for each in self._state.threads)
        return tuple(sorted((each for each in found if each is not None), key=lambda each: (each.first_at, each.session)))

    def _sitting(self, row: ThreadRow, start: datetime, stop: datetime) -> Sitting | None:
        before = {key for each in self._state.threads[: row.id - 1] for key in each.events}
        events = [self._state.events[key].event for key in row.events if key not in before]
        inside = [(each.at, each) for each in events if each.at is not None and start <= each.at < stop]
        if not inside:
            return None
        return Sitting(
            source=row.source, path=row.path, session=row.session, project=row.project, events=len(inside),
            prompts=sum(each.kind is Kind.PROMPT and each.author is Author.HUMAN for _, each in inside),
            first_at=min(at for at, _ in inside), last_at=max(at for at, _ in inside),
        )  # fmt: skip

    def minutes(self) -> Iterator[datetime]:
        times = {each.event.at for each in self._state.events.values() if each.event.at is not None}
        yield from sorted({each.replace(second=0, microsecond=0) for each in times})

    def directories(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted({(each.project, "" if each.project else each.path) for each in self._state.threads}))

    def project(self, directory: str) -> Project | None:
        return self._state.projects.get(directory)

    def put_project(self, project: Project) -> None:
        self._state.projects[project.directory] = project

    def projects(self) -> tuple[Project, ...]:
        return tuple(each for _, each in sorted(self._state.projects.items()))

    def opted_out(self) -> tuple[OptedOut, ...]:
        return tuple(each for _, each in sorted(self._state.opted_out.items()))

    def opt_out(self, session: str, path: str) -> int:
        state = self._state
        state.opted_out.setdefault(session, OptedOut(session=session, path=path))
        elsewhere = {key for each in state.threads if each.session not in state.opted_out for key in each.events}
        keys = [key for each in state.threads if each.session == session for key in each.events if key not in elsewhere]
        for key in dict.fromkeys(keys):
            row = state.events[key]
            state.events[key] = replace(row, event=withheld(row.event, FORGOTTEN_MARK))
        for mark in [mark for mark, key in state.likenesses.items() if key in keys]:
            del state.likenesses[mark]
        self._retold(keys)
        return len(set(keys))

    def undated(self) -> int:
        return sum(each.event.at is None for each in self._state.events.values())

    def mentions(self, name: str, since: datetime) -> tuple[Mention, ...]:
        wanted, last = f" {phrase_words(name)} ", dict[tuple[str, str], datetime]()
        for row in self._state.threads:
            for event in (self._state.events[key].event for key in row.events):
                spoken = event.author in (Author.HUMAN, Author.ASSISTANT) and event.kind in (Kind.PROMPT, Kind.RESPONSE)
                if wanted.strip() and spoken and event.at and event.at > since and wanted in f" {index_words(event.text)} ":
                    last[row.project, row.path] = max(event.at, last.get((row.project, row.path), event.at))
        return tuple(Mention(project=project, path=path, at=at) for (project, path), at in sorted(last.items()))

    def holding(self, words: Words, *, near: bool = False) -> Iterator[Event]:
        for row in self._state.events.values():
            if has_words(row.event, words) or (near and any(map(words.may_be_near, said_in(row.event)))):
                yield row.event

    def erase_words(self, words: Words) -> frozenset[str]:
        state, changed = self._state, {event.key: event_without(event, words) for event in self.holding(words)}
        for key, event in changed.items():
            state.events[key] = replace(state.events[key], event=event)
        for place, file in state.files.items():
            state.files[place] = replace(file, cursor=replace(file.cursor, carry=json_without(file.cursor.carry, words)))
        return frozenset(changed)

    def reindex(self) -> None:
        """Nothing is derived."""
