"""The Python API for agent builders: observe a conversation, ask for relevant memory, change memories, end the session.

Observed messages are redacted and written at once to a transcript in kept's own folder, so nothing is lost if the process dies.
:meth:`Memory.end_session` (or the next ``kept run``) reads it like any other transcript, and finds the same episodes and candidates
that :meth:`Memory.observe` returned.

Each user has a separate home below the given one, with its own store, archive and files, so no search finds another user's
memories.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from threading import RLock
from time import monotonic, sleep
from types import EllipsisType, TracebackType
from typing import Literal, Self, TypeVar
from uuid import uuid4

from kept.api.session import KEEP, MOST, Noticed, Session, Window, find_withdrawals
from kept.api.values import Change, Context, Forgotten, Item, Learnt, Recalled, make_change, make_item, make_line, make_recalled
from kept.changes import apply_person_change, update_index_after_change
from kept.core.errors import BusyError, MissingError, UsageError
from kept.core.fence import render_block
from kept.core.memory import USER_SCOPE, Status
from kept.core.memory import Memory as Stored
from kept.extraction.rules.handover import category_of
from kept.local.agents_shell import agent_variable
from kept.memories import history, person
from kept.memories.browse import MemoryFilter, build_timeline, filter_memories
from kept.paths import Paths, find_paths
from kept.pipeline.erase.forget import forget, make_erasure_request
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.tools import suggest_memory
from kept.profiles.profile import Occasion, format_kind
from kept.recall.index import UnitKind
from kept.recall.preview import preview_context
from kept.recall.search import Filters, search
from kept.sources.messages import Message, to_records
from kept.workspace import Workspace, open_workspace

T = TypeVar("T")
State = Literal["active", "held", "superseded", "resolved", "retired", "expired", "rejected"]
_SECONDS = 60.0  # maximum wait for the run of another process


class Memory:
    """The memory of a user in a project, and one session of an agent with it. Created by :meth:`open`.

    Any thread may call any method. Calls run one at a time. Other users' memories are in other files, and memories of this user's
    other projects are not shown. The memory is stored in ``folder``, which ``kept --home FOLDER`` opens too. Every method raises
    StoreError if the store cannot be read or written, and UsageError after :meth:`close`.
    """

    def __init__(self, workspace: Workspace, session: Session, close: Callable[[], None], *, shared: bool = True) -> None:
        self.session, self.folder = session.path.stem, workspace.paths.root
        self._workspace, self._session, self._close = workspace, session, close
        self._shared = shared  # true if coding agents share the memory; these agents read the output files
        self._index_is_stale = not shared  # nothing else updates the index of a user's own store
        self._lock = RLock()
        self._closed = False

    @classmethod
    def open(
        cls,
        path_or_url: str | os.PathLike[str] | None = None,
        *,
        user: str | EllipsisType = ...,
        project: str | os.PathLike[str] | None = None,
        session: str | None = None,
        profile: str | None = None,
        most: int = MOST,
        keep: int = KEEP,
    ) -> Self:
        """Open a memory. Use it as a context manager, or call :meth:`close`.

        Args:
            path_or_url: the folder of kept's home, created if missing. None means the home of the current user, whose coding
                agents then share the memory.
            user: the name of the user who owns the memory. If omitted, the memory is the folder's own, which all callers without
                a user share. None and blank names are refused.
            project: a folder or a name, or None. Memories of a project are used only there, unless they are about the user.
            session: letters, digits, - and _. An existing session continues where it ended, even after a crash. None starts a
                new session.
            profile: the way of remembering. None means the profile in the settings.
            most: the maximum number of entries in working memory. Above it, older entries become notes.
            keep: the number of entries that then stay in working memory.

        Raises ConfigError, StoreError, and UsageError for invalid arguments.
        """
        name = session if session is not None else uuid4().hex
        if not isinstance(name, str) or not name.replace("-", "").replace("_", "").isalnum() or len(name) > 100:
            raise UsageError("a session's name may hold letters, digits, - and _ only", where=str(name)[:100])
        directory, home = identify_project(project), find_user_home(path_or_url, user)
        with ExitStack() as stack:
            workspace = stack.enter_context(open_workspace(home, profile=profile))
            stem = f"{name}-{make_folder_name(directory)[-8:]}" if directory else name  # the hash tells projects of one name apart
            held = Session(workspace, home.agents / f"{stem}.jsonl", directory, most=most, keep=keep)
            return cls(workspace, held, stack.pop_all().close, shared=user is ...)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the store. Observed messages are on disk already."""
        with self._lock:
            if not self._closed:
                self._update_index()
                self._closed = True
                self._close()

    def observe(self, messages: Message | Sequence[Message]) -> Noticed:
        """Record one or several messages.

        A message may have the form of Anthropic, OpenAI (chat and responses) or LangChain, with blocks, tool calls and results. It
        may also be a model's whole reply, or have only ``role`` and ``content``, and optionally ``timestamp`` and ``id``. A plain
        text counts as the user's.

        Returns the candidates found: ``live`` are certain at once, ``closed`` are all candidates of an episode that the messages
        end. They become memories only with :meth:`end_session`. In an agent's shell, memories from the user's words are held. When
        this returns, the messages are on disk, without their secrets. Raises OSError, and UsageError for a message without a known
        role.
        """
        several = messages if isinstance(messages, Sequence) and not isinstance(messages, str) else (messages,)
        records = [record for message in several for record in to_records(message)]
        if self._shared and (sign := agent_variable(os.environ)):  # an agent calls this, so these may not be the person's words
            records = [record | {"name": sign} if record["role"] == "user" else record for record in records]
        with self._locked_workspace():
            self._session.read_new()  # read first what another process has written, because it does not belong to these messages
            self._session.append_records(records)
            return self._session.read_new()

    def recent(self) -> Window:
        """Return working memory: notes about the past, and the latest entries verbatim."""
        with self._locked_workspace():
            self._session.read_new()
            return self._session.window

    def context(self, message: str = "", *, budget: int | None = None) -> Context:
        """Return the relevant memory for a message, which may be empty.

        Memories that always apply, including the project's rules, are returned even without a message. ``budget`` is in tokens. It
        is filled with the best search results, including earlier statements that are not memories. If it is None, the setting
        ``context_tokens`` applies and only clear matches are returned, as before a prompt. Raises UsageError if it is below 1.
        """
        if budget is not None and (not isinstance(budget, int) or budget < 1):
            raise UsageError("a budget is a number of tokens, at least 1")
        with self._indexed_workspace() as workspace:
            recalled = preview_context(
                workspace,
                message,
                directory=self._session.directory,
                scope=self._session.scope,
                budget=budget or 0,
                client="none",
                others=False,
                fill=budget is not None,
            )
        return Context(text=render_block(recalled.pieces), lines=tuple(map(make_line, recalled.pieces)), tokens=recalled.tokens)

    def search(self, query: str, *, limit: int = 10, said: bool = False, waiting: bool = False) -> tuple[Recalled, ...]:
        """Search the memories of the user and this project. Returns the best result first. ``said`` adds statements from earlier
        sessions that did not become memories. ``waiting`` adds proposals that are held for review. Raises UsageError if ``limit``
        is below 1.
        """
        if not isinstance(limit, int) or limit < 1:
            raise UsageError("a search needs a limit of at least 1")
        layers = (UnitKind.MEMORY, UnitKind.TURN) if said else (UnitKind.MEMORY,)
        with self._indexed_workspace() as workspace:
            filters = Filters(scopes=self._scopes, statuses=("active", "held") if waiting else ("active",))
            hits = search(workspace, query, where=layers, limit=limit, filters=filters)
            return tuple(
                make_recalled(hit, workspace.store.log.memory(hit.id) if hit.kind is UnitKind.MEMORY else None) for hit in hits
            )

    def list(self, *, status: State | None = "active", category: str = "") -> tuple[Item, ...]:
        """List the memories of the user and this project, by scope and category, newest first. With ``status`` None, list all."""
        with self._locked_workspace() as workspace:
            now = workspace.clock()
            which = MemoryFilter(statuses=(Status(status or "active"),), category=category, everything=status is None)
            own = [memory for memory in workspace.store.log.memories() if memory.scope in self._scopes and memory.content]
            return tuple(make_item(memory, now) for memory in filter_memories(workspace, own, which, now))

    def get(self, memory_id: str) -> Item:
        """Return the memory that has an id. An id may be shortened to its first four or more characters. Raises MissingError if no
        memory of this user and project matches, or if several match.
        """
        with self._locked_workspace() as workspace:
            return make_item(self._find_in_scopes(memory_id), workspace.clock())

    def history(self, memory_id: str) -> tuple[Change, ...]:
        """Return all changes of a memory, oldest first. Raises MissingError."""
        with self._locked_workspace() as workspace:
            return tuple(map(make_change, build_timeline(workspace, self._find_in_scopes(memory_id), context=0).chapters))

    def add(self, text: str, category: str = "", *, agent: bool = False) -> Item:
        """Remember a sentence for this project. It is remembered for the user everywhere if there is no project or the category is
        user-wide. Without a ``category``, kept chooses one by the sentence's words. A sentence that an ``agent`` worded, or that is
        added in an agent's shell, is held for review unless the settings trust agents. Raises UsageError for an unknown category,
        an unusable text, or a text that is remembered already.
        """
        with self._locked_workspace() as workspace:
            profile = self._session.profile
            kind = category_of(text, "", profile)
            if category:
                profile, kind = workspace.kind(category)
            if kind is None:
                raise UsageError(f"the profile {profile.id} has no category for that", hint="name a category")
            named, project = format_kind(profile.id, kind.id), "" if kind.user_wide else self._session.directory
            if agent or agent_variable(os.environ):
                return self._apply_change(
                    lambda: person.find_memory(workspace, suggest_memory(workspace, text, kind.id, self._session.directory).id)
                )
            return self._apply_change(lambda: person.create_memory(workspace, text, named, project=project))

    def update(self, memory_id: str, text: str, *, category: str | None = None, agent: bool = False) -> Item:
        """Change the text or category of a memory. The old text stays in its history. An ``agent``, and any caller in an agent's
        shell, may only change held memories, unless the settings trust agents. Raises MissingError, UsageError.
        """
        with self._locked_workspace() as workspace:
            stored = self._find_in_scopes(memory_id)
            by_agent = agent or bool(agent_variable(os.environ))
            return self._apply_change(lambda: person.edit(workspace, stored.id, text, category=category, agent=by_agent))

    def delete(self, memory_id: str, *, agent: bool = False) -> Item:
        """Retire a memory. It no longer applies and does not come back by itself, but :meth:`undo` restores it. ``agent`` records
        that an agent did this. Raises MissingError, and UsageError for a memory that has already ended.
        """
        with self._locked_workspace() as workspace:
            stored = self._find_in_scopes(memory_id)
            return self._apply_change(lambda: person.retire(workspace, stored.id, agent=agent or bool(agent_variable(os.environ))))

    def forget(self, memory_id: str = "", *, words: str = "") -> Forgotten:
        """Erase a memory for good, or ``words`` that were said. They are erased wherever kept has them for this user, in any
        project: conversations, summaries, files, backups. This cannot be undone. If the words are said again later, they are not
        remembered, but :meth:`add` can add them. Raises MissingError, BusyError if another process's run takes too long, and
        UsageError if neither or both are given, or if an agent runs this in its shell on a memory that coding agents share.
        """
        self._refuse_agents("forget")
        if bool(memory_id) == bool(words.strip()):
            raise UsageError("forget a memory by its id, or words")
        with self._locked_workspace() as workspace:
            memories = [self._find_in_scopes(memory_id)] if memory_id else ()
            request = make_erasure_request(workspace, memories, said=(words,) if words else ())
            gone = _wait_while_busy(lambda: forget(workspace, request))
        places = {name: count for name, count in gone.places.items() if count}
        return Forgotten(ids=gone.memories, places=places, remains=gone.remains, problems=gone.problems)

    def undo(self) -> tuple[str, ...]:
        """Undo the latest change of this user's and this project's memories that is not undone yet. A change is what one call
        changed, or what one session added. Returns the ids of the changed memories. Raises UsageError if there is no such change,
        if it was a forget, or if an agent runs this in its shell on a memory that coding agents share.
        """
        self._refuse_agents("undo")
        with self._locked_workspace() as workspace:
            undone, _ = apply_person_change(workspace, lambda: history.undo_in_scopes(workspace, self._scopes))
            return tuple(undone.changed)

    def end_session(self) -> Learnt:
        """Extract memories from this session, and from earlier sessions that were not ended. The session may continue. Sessions of
        profiles that extract only at night are left to the nightly job. Raises BusyError if another process's run takes too long.
        """
        with self._locked_workspace() as workspace:
            if not (paths := self._session.find_unread()):
                return Learnt()
            report = _wait_while_busy(lambda: run_pipeline(workspace, paths, RunOptions(occasion=Occasion.SESSION_END)))
            now = workspace.clock()
            skipped = (f"{where}: {reason}" for where, reason in report.skipped)
            new = tuple(make_item(memory, now) for memory in report.new if memory.scope in self._scopes)
            withdrawn, unmet = find_withdrawals(workspace, report.run, paths, self._scopes)
            problems = (*report.written.problems, *report.curated.stopped, *skipped, *unmet)
            return Learnt(new=new, withdrawn=tuple(make_item(memory, now) for memory in withdrawn), problems=problems)

    @property
    def _scopes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((USER_SCOPE, self._session.scope)))

    @contextmanager
    def _locked_workspace(self) -> Iterator[Workspace]:
        """Provide the workspace, locked for this thread, during a ``with`` block."""
        with self._lock:
            if self._closed:
                raise UsageError("this memory is closed", hint="open it again")
            yield self._workspace

    @contextmanager
    def _indexed_workspace(self) -> Iterator[Workspace]:
        """Provide the workspace, locked for this thread, with an updated index. The index is updated only here, because one update
        for several changes is faster than one for each.
        """
        with self._locked_workspace() as workspace:
            self._update_index()
            yield workspace

    def _update_index(self) -> None:
        if self._index_is_stale:
            update_index_after_change(self._workspace)
            self._index_is_stale = False

    def _find_in_scopes(self, memory_id: str) -> Stored:
        """Find a memory of this user and project that is not forgotten. Raises MissingError. Its message does not name memories of
        other projects.
        """
        log = self._workspace.store.log
        ids = (memory_id, *(log.memory_ids_with_prefix(memory_id) if len(memory_id) >= 4 and memory_id.isalnum() else ()))
        memories = [item for item in map(log.memory, dict.fromkeys(ids)) if item and item.scope in self._scopes and item.content]
        exact = [memory for memory in memories if memory.id == memory_id] or memories
        if len(exact) != 1:
            hint = f"it could be {', '.join(memory.id for memory in exact)}" if exact else "list() shows their ids"
            raise MissingError(f"no memory {memory_id!r} here", hint=hint)
        return exact[0]

    def _refuse_agents(self, action: str) -> None:
        sign = agent_variable(os.environ)
        if sign and self._shared and not self._workspace.settings.trust_agents:
            raise UsageError(
                f"an agent runs this ({sign} is set), but only the person may {action}",
                hint="nothing was changed; run it in your own terminal",
            )

    def _apply_change(self, change: Callable[[], Stored]) -> Item:
        """Apply a change in one transaction, and return the changed memory."""

        def stored_whole() -> Stored:
            with self._workspace.store.transaction():
                return change()

        # In an agent's shell, edits of files do not count as the person's.
        files = self._shared and not agent_variable(os.environ)
        memory, _ = apply_person_change(self._workspace, stored_whole, with_files=files, with_index=False)
        self._index_is_stale = True
        return make_item(memory, self._workspace.clock())


def _wait_while_busy(work: Callable[[], T]) -> T:
    """Retry work that needs the run lock until the lock is free. Raises BusyError after _SECONDS."""
    end = monotonic() + _SECONDS
    while True:
        try:
            return work()
        except BusyError:
            if monotonic() >= end:
                raise
            sleep(0.05)


_SHOWN = 40  # maximum number of a name's characters in its folder name


def find_user_home(path: str | os.PathLike[str] | None, user: str | EllipsisType) -> Paths:
    """Return the home of a user's memory below the folder ``path`` (None: the current user's home). With ``user=...``, the folder
    is itself the home.

    The settings are those of the folder. Raises UsageError for a URL, a file, or an empty or missing name, because a missing user
    id must not fall back to somebody's memory.
    """
    if not (path is None or isinstance(path, (str, os.PathLike))):
        raise UsageError(f"a folder is a path or its text, not {path!r}")
    given = None if path is None else os.fspath(path)
    if given is not None and "://" in given:
        raise UsageError(
            f"no store can be reached at {given!r}", hint="give a folder whose setting store.url names the PostgreSQL server"
        )
    if given == "" or not (user is ... or (isinstance(user, str) and user.strip())):
        raise UsageError("that is nobody's memory", hint="give a name; without the argument, all share the memory of the folder")
    if given is not None and Path(given).is_file():
        raise UsageError("kept needs a folder, this is a file", where=given, hint="name a folder; the store is one file in it")
    home = find_paths(given, os.environ)
    if user is ...:
        return home
    # not in the state folder, so that erasing and checking the folder's own memory do not affect it
    own = home.state.with_name("kept-users") / make_folder_name(user)
    return replace(home, root=own, user=own, variables=(), settings_folder=home.config)


def identify_project(project: str | os.PathLike[str] | None) -> str:
    """Return the identifier of a project. For a path object or a text with a path separator, it is the absolute path of the folder.
    Any other text is a name, even if a folder of that name exists. Empty for None. Raises UsageError for an empty name.
    """
    if project is None:
        return ""
    given = os.fspath(project) if isinstance(project, (str, os.PathLike)) else ""
    if not given.strip():
        raise UsageError("an empty name is not a project", hint="leave it out, or give a folder or a name")
    is_path = not isinstance(project, str) or given.startswith((".", "~")) or os.sep in given
    return str(Path(given).expanduser().resolve()) if is_path else f"{os.sep}{given}"


def make_folder_name(name: str) -> str:
    """Make a folder name from the plain characters of a name and a hash. The hash makes it unique on any file system."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in name[:_SHOWN]).strip("-")
    suffix = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{plain or 'x'}-{suffix}"
