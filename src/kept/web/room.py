"""What the pages and the API share: how a workspace is opened, how a change is made, where the page is served.

Each request opens a workspace of its own, in the thread that answers it. Changes are made one after the other.
"""

import hmac
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from secrets import token_hex
from threading import Event, Lock
from typing import Generic, TypeVar

from fastapi import Request

from kept.changes import apply_person_change
from kept.core.value import dataclass, field
from kept.outputs.write import FileState, file_states
from kept.paths import Paths, sample_home
from kept.pipeline.erase.forget import ErasureRequest
from kept.web.work import BackgroundRun, FileWriter
from kept.workspace import Workspace

OpenDesk = Callable[[], AbstractContextManager[Workspace]]
T = TypeVar("T")

_SITTINGS = 50
NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, kw_only=True, slots=True)
class WebContext:
    """``key`` lets in whoever started the page, ``port`` is where it is served.

    ``open_sample`` opens a workspace of the bundled sample, which stands in for the person's own while ``in_sample`` is set.
    ``work`` is the run that the page has under way, ``files`` writes the files of what was answered already. ``unerased`` is what
    forgetting left, by the ids of the memories: asked again, it knows the words that the store has no more. ``erasing`` is what it
    does now, in words; empty while nothing is forgotten. ``sittings`` are queues of review as they were when a page showed them
    first, the latest last: who comes back finds the order and what was decided.
    """

    open_desk: OpenDesk
    home: Paths
    key: str
    port: int
    writing: Lock = field(default_factory=Lock)
    open_sample: OpenDesk | None = None
    in_sample: Event = field(default_factory=Event)
    work: BackgroundRun = field(default_factory=BackgroundRun)
    files: FileWriter = field(default_factory=FileWriter)
    unerased: dict[tuple[str, ...], ErasureRequest] = field(default_factory=dict)
    erasing: list[str] = field(default_factory=list)
    sittings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def open_shown(self) -> OpenDesk:
        """How a workspace of what is shown is opened: the sample's while that is, else the person's own."""
        instead = self.open_sample if self.in_sample.is_set() else None
        return instead or self.open_desk

    @property
    def hosts(self) -> frozenset[str]:
        """What this machine may be called in a request."""
        return frozenset(f"{name}:{self.port}" for name in NAMES)

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers share cookies among the ports of a host."""
        return f"kept-{self.port}"

    @property
    def session(self) -> str:
        """What the cookie holds: not the key, but what only its holder can compute."""
        return hmac.new(self.key.encode(), b"session of a browser", sha256).hexdigest()

    def start_sitting(self, queue: tuple[str, ...]) -> str:
        """Keep the ids of a queue of review, and of the latest ones before. Returns its name."""
        name = token_hex(4)
        self.sittings[name] = queue
        while len(self.sittings) > _SITTINGS:
            self.sittings.pop(next(iter(self.sittings)), None)
        return name

    def is_key(self, given: str) -> bool:
        """Whether this is the key."""
        return hmac.compare_digest(given.encode(), self.key.encode())

    def is_session(self, given: str) -> bool:
        """Whether this is the session of a browser that showed the key."""
        return hmac.compare_digest(given.encode(), self.session.encode())


def web_context(request: Request) -> WebContext:
    """The room a request came into."""
    room: WebContext = request.app.state.room
    return room


def request_home(request: Request) -> Paths:
    """The home a request is about: the sample's while that is shown."""
    room = web_context(request)
    return sample_home(room.home) if room.in_sample.is_set() else room.home


@contextmanager
def request_workspace(request: Request) -> Iterator[Workspace]:
    """The workspace of a request. Open it and use it in one thread: ask for it in the body of a handler that is no coroutine."""
    with web_context(request).open_shown() as workspace:
        yield workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeResult(Generic[T]):
    """What a change came to: ``undo`` takes it back (empty where nothing does), ``problems`` are files not written."""

    result: T
    undo: str
    problems: Sequence[str]


def make_change(request: Request, workspace: Workspace, act: Callable[[], T]) -> ChangeResult[T]:
    """Make a change as every front door does: hand edits are absorbed before, files are written after. Raises what it raises.

    Where the request prefers an answer first (``Prefer: respond-async``), the files are written after it, unless one of them was
    edited by hand: that edit came before this change.
    """
    last = max((run.id for run in workspace.store.log.runs(1)), default=0)
    result, problems = change_before_write(request, workspace, act)
    made = sorted(run.id for run in workspace.store.log.runs(_RUNS) if run.id > last and run.command in _OWN)
    return ChangeResult(result=result, undo=",".join(f"r{item}" for item in made), problems=problems)


def change_before_write(request: Request, workspace: Workspace, act: Callable[[], T]) -> tuple[T, Sequence[str]]:
    """What a change returns, and what was not written to files so far. Raises what it raises."""
    later = request.headers.get("prefer") == "respond-async"
    if not later or any(state is FileState.EDITED for _, state, _ in file_states(workspace)):
        result, written = apply_person_change(workspace, act)
        return result, tuple(written.problems)
    result = act()
    room = web_context(request)
    room.files.write_soon(request_home(request), room.open_shown)
    return result, ()


_RUNS = 20  # a change makes one run, or a few
_OWN = frozenset(
    {"add", "edit", "retire", "keep", "approve", "reject", "past", "pin", "unpin", "resolve", "merge", "split", "admit"}
)
