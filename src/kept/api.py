"""The Python API for agent builders: observe what is said, ask for relevant memory, end the session.

What is observed is written at once, redacted, as a transcript of kept's own folder, so nothing is lost when the process dies; the
end of the session (or the next ``kept run``) reads it like any other transcript. Working memory is a fold over that file, and so is
what is noticed while the session goes on: the same episodes and candidates as those of the run that reads it later.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self
from uuid import uuid4

from kept.changes import settle
from kept.core.errors import MissingError, UsageError
from kept.core.event import Cursor, Event
from kept.core.memory import USER_SCOPE, Candidate
from kept.core.redact import redact
from kept.core.summary import Note
from kept.core.times import to_text
from kept.days.summaries import notes
from kept.days.working_memory import KEEP, MOST, Window
from kept.extraction.coverage import topics
from kept.extraction.rules.handover import category_of
from kept.intake.clean import Limits, clean
from kept.memories.person import add, find, retire
from kept.paths import find_paths
from kept.pipeline.observe import Engine, Noticed, Watched, observe
from kept.pipeline.run import Options, Report, run
from kept.pipeline.tools import NOTHING, get_context
from kept.profiles.language import lexicon_of
from kept.profiles.profile import Occasion, kind_of
from kept.recall.index import Kind
from kept.recall.search import Filters, search
from kept.sources.files import Skipped, examine
from kept.sources.messages import Message, records_of
from kept.workspace import Workspace, opened

GENERIC = "generic"  # the format of what is observed
_LONGEST = 200_000  # characters of one entry


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """A memory that answers a search. ``score`` orders the answers to one search; ``reasons`` say why it is among them."""

    id: str
    text: str
    category: str
    score: float
    reasons: tuple[str, ...]
    last_seen: datetime | None


class Memory:
    """The memory of one session of an agent. Made by :meth:`open`; see the example in ``examples/agent.py``.

    ``most`` and ``keep`` are the thresholds of working memory, in entries.
    """

    def __init__(self, workspace: Workspace, session: str, project: str, *, most: int = MOST, keep: int = KEEP) -> None:
        if not 0 < keep <= most:
            raise UsageError("working memory needs 0 < keep <= most", hint=f"the usual is keep={KEEP}, most={MOST}")
        self.session = session
        self._desk, self._project, self._most, self._keep = workspace, project, most, keep
        self._path = workspace.paths.agents / f"{session}.jsonl"
        self._cursor, self._window, self._watched = Cursor(), Window(), Watched()
        profile = workspace.profile_for(GENERIC, self._project, str(self._path))
        self._scope = workspace.scope(self._project, str(self._path))
        self._engine = Engine(profile=profile, scope=lambda _: self._scope)
        self._clean = partial(clean, redact=partial(redact, key=workspace.store.key("redaction")), limits=Limits())
        self._take()

    @classmethod
    @contextmanager
    def open(
        cls,
        home: str | None = None,
        *,
        project: str = "",
        session: str = "",
        profile: str | None = None,
        most: int = MOST,
        keep: int = KEEP,
    ) -> Iterator[Self]:
        """Open the memory of a session; the name of an earlier one goes on where it ended, a crash included.

        ``home`` is where kept lives (the user's home where None), ``project`` the directory the agent works in. Raises ConfigError,
        StoreError, UsageError for a session name that is no plain word.
        """
        name = session or uuid4().hex
        if not name.replace("-", "").replace("_", "").isalnum() or len(name) > 100:
            raise UsageError("a session's name may hold letters, digits, - and _ only", where=name[:100])
        with opened(find_paths(home, os.environ), profile=profile) as workspace:
            yield cls(workspace, name, str(Path(project).resolve()) if project else "", most=most, keep=keep)

    def observe(self, messages: Message | Sequence[Message]) -> Noticed:
        """Note a message or several, as Anthropic or OpenAI (chat and responses) write them, with blocks, tool calls and
        results, or plain ones of ``role`` and ``content``; where there are such with ``timestamp`` and ``id``.

        Returns what they brought to light: ``live`` is what is sure at once, ``closed`` all that the episode proposes which they
        ended; nothing of it is a memory before a run has judged it. They are on the disk when this returns, their secrets taken
        out. Raises UsageError for a message without a known role, OSError.
        """
        several = messages if isinstance(messages, Sequence) else (messages,)
        key = self._desk.store.key("redaction")
        for record in [record for message in several for record in records_of(message)]:
            defaults = {"timestamp": to_text(self._desk.clock()), "id": uuid4().hex}
            own = {"content": str(record["content"])[:_LONGEST], "session_id": self.session, "cwd": self._project}
            self._append(_redacted_fields(defaults | record | own, key))
        return self._take()

    def _append(self, body: Mapping[str, object]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(handle, (json.dumps(body, ensure_ascii=False, default=str) + "\n").encode("utf-8", "replace"))
            os.fsync(handle)
        finally:
            os.close(handle)

    def recent(self) -> Window:
        """Working memory: notes of what is past, the latest entries verbatim."""
        return self._window

    def context(self, message: str = "", *, budget: int = 0) -> str:
        """What is worth knowing before a message, as a block of text for the prompt; empty where nothing is. The rules of
        the project always belong to it. ``budget`` is in tokens.
        """
        found = get_context(self._desk, message, self._project, budget, rules=True)
        return "" if found == NOTHING else found

    def search(self, query: str, *, limit: int = 10) -> tuple[Recalled, ...]:
        """The memories of the user and of this project that answer a question, best first. Raises StoreError."""
        filters = Filters(scopes=tuple(dict.fromkeys((USER_SCOPE, self._scope))), statuses=("active",))
        return tuple(
            Recalled(id=hit.id, text=hit.text, category=hit.category, score=hit.score, reasons=hit.reasons, last_seen=hit.last_at)
            for hit in search(self._desk, query, where=(Kind.MEMORY,), limit=limit, filters=filters)
        )

    def add(self, text: str, category: str = "") -> str:
        """Remember a sentence for this project, or for the user everywhere where there is none or the category is the user's.
        Returns its id. Raises UsageError for an unknown category, an unusable text, or one that is remembered already.
        """
        profile = self._engine.profile
        found = category_of(text, "", profile)
        if category:
            profile, found = self._desk.kind(category)
        if found is None:
            raise UsageError(f"the profile {profile.id} remembers nothing of that kind", hint="name a category")
        project = "" if found.user_wide else self._project
        named = kind_of(profile.id, found.id)
        memory, _ = settle(self._desk, lambda: add(self._desk, text, named, project=project))
        return memory.id

    def delete(self, number: str) -> None:
        """Retire a memory of the user or of this project: it no longer holds, and does not come back by itself. Raises
        MissingError for any other, UsageError for one that holds no more.
        """
        if find(self._desk, number).scope not in (USER_SCOPE, self._scope):
            raise MissingError(f"no memory {number!r} of this project")
        settle(self._desk, lambda: retire(self._desk, number))

    def end_session(self) -> Report:
        """Remember what matters of the session. Profiles that wait for the night wait. Raises BusyError, StoreError."""
        if not self._path.exists():
            return Report()
        return run(self._desk, [self._path], Options(occasion=Occasion.SESSION_END))

    def _take(self) -> Noticed:
        """Take what the transcript has beyond what was taken into working memory; what of it is to be noticed."""
        live: list[Candidate] = []
        closed: list[Candidate] = []
        source = examine(self._path) if self._path.exists() else None
        if source is None or isinstance(source, Skipped):
            return Noticed()
        for piece in source.read(self._path, self._cursor):
            self._cursor = piece.cursor
            for event in piece.events:
                self._window = rolled(self._desk, self._window, event, most=self._most, keep=self._keep)
                self._watched, noticed = observe(self._watched, self._clean(event).event, self._engine)
                live += noticed.live
                closed += noticed.closed
        return Noticed(live=tuple(live), closed=tuple(closed))


def rolled(workspace: Workspace, window: Window, event: Event, *, most: int = MOST, keep: int = KEEP) -> Window:
    """Working memory with one entry more: past ``most`` entries the older ones become notes and the latest ``keep`` stay."""
    entries = (*window.entries, event)
    if len(entries) <= most:
        return Window(notes=window.notes, entries=entries, told=window.told)
    older = entries[:-keep]
    return Window(
        notes=(*window.notes, *_notes(workspace, older, window.told)), entries=entries[-keep:], told=window.told + len(older)
    )


def _notes(workspace: Workspace, events: Sequence[Event], base: int) -> Iterator[Note]:
    runs = [(each.start, each.stop) for each in topics(events, lexicon=lexicon_of(events, workspace.languages))]
    return notes(events, runs, lambda at: at.astimezone(workspace.zone).date(), base=base)


def _redacted_fields(fields: Mapping[str, object], key: bytes) -> dict[str, object]:
    return {redact(str(name), key=key).text: _redacted(value, key) for name, value in fields.items()}


def _redacted(value: object, key: bytes) -> object:
    """The value with every text in it redacted."""
    match value:
        case str():
            return redact(value, key=key).text
        case Mapping():
            return _redacted_fields(value, key)
        case list() | tuple():
            return [_redacted(item, key) for item in value]
    return value
