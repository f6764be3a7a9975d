"""Code that pages and API share: the state of a running ``kept web``, opening the workspace of a request, and making a change.

Each request opens its own workspace in the thread that answers it. Changes are serialized by a lock.
"""

import hmac
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from kept.web.background import BackgroundRun, FileWriter, OpenWorkspace
from kept.workspace import Workspace

T = TypeVar("T")

NAMES = ("127.0.0.1", "localhost", "[::1]")
_QUEUES = 50  # review queues that are remembered
_RUNS = 20  # latest runs that are searched for those of a change, which makes one or a few
_OWN = frozenset(
    {"add", "edit", "retire", "keep", "approve", "reject", "past", "pin", "unpin", "resolve", "merge", "split", "admit"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class WebContext:
    """The state of a running ``kept web``. ``key`` signs in the person who started it; ``port`` is where it is served.

    ``open_own`` opens the person's workspace, ``open_sample`` the bundled sample's workspace, which is shown instead while
    ``sample_shown`` is set. ``background_run`` executes the runs that the page starts; ``file_writer`` writes files after changes
    that were already answered. ``unerased`` holds, by the ids of the memories, the erasure requests that could not be completed: a
    repeated request needs their words, which the store no longer has. ``erasure_progress`` is the progress of a forget request
    (empty: none is running). ``queues`` are review queues as first shown, the latest last, so that a returning person finds the
    same order, including decided memories.
    """

    open_own: OpenWorkspace
    home: Paths
    key: str
    port: int
    change_lock: Lock = field(default_factory=Lock)
    open_sample: OpenWorkspace | None = None
    sample_shown: Event = field(default_factory=Event)
    background_run: BackgroundRun = field(default_factory=BackgroundRun)
    file_writer: FileWriter = field(default_factory=FileWriter)
    unerased: dict[tuple[str, ...], ErasureRequest] = field(default_factory=dict)
    erasure_progress: list[str] = field(default_factory=list)
    queues: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def open_shown(self) -> OpenWorkspace:
        """The function that opens the shown workspace: the sample's while it is shown, else the person's own."""
        sample = self.open_sample if self.sample_shown.is_set() else None
        return sample or self.open_own

    @property
    def hosts(self) -> frozenset[str]:
        """The values of the ``Host`` header that are accepted."""
        return frozenset(f"{name}:{self.port}" for name in NAMES)

    @property
    def cookie(self) -> str:
        """The name of the cookie. It contains the port, because browsers share cookies among the ports of a host."""
        return f"kept-{self.port}"

    @property
    def session(self) -> str:
        """The value of the cookie: an HMAC that only a holder of the key can compute, not the key itself."""
        return hmac.new(self.key.encode(), b"session of a browser", sha256).hexdigest()

    def store_queue(self, memories: tuple[str, ...]) -> str:
        """Store the ids of a review queue and return a name for it. Only the latest queues are kept."""
        name = token_hex(4)
        self.queues[name] = memories
        while len(self.queues) > _QUEUES:
            self.queues.pop(next(iter(self.queues)), None)
        return name

    def is_key(self, given: str) -> bool:
        """Whether this is the key."""
        return hmac.compare_digest(given.encode(), self.key.encode())

    def is_session(self, given: str) -> bool:
        """Whether this is the cookie value of a browser that has signed in."""
        return hmac.compare_digest(given.encode(), self.session.encode())


def web_context(request: Request) -> WebContext:
    """The web context of a request."""
    web: WebContext = request.state.web
    return web


def request_home(request: Request) -> Paths:
    """The home for a request: the sample's while it is shown, else the person's own."""
    web = web_context(request)
    return sample_home(web.home) if web.sample_shown.is_set() else web.home


@contextmanager
def request_workspace(request: Request) -> Iterator[Workspace]:
    """The workspace for a request. It must be opened and used in one thread: open it in the body of a handler that is not async."""
    with web_context(request).open_shown() as workspace:
        yield workspace


@contextmanager
def locked_workspace(request: Request) -> Iterator[Workspace]:
    """The workspace for a request that changes something; no other request can change anything meanwhile."""
    with web_context(request).change_lock, request_workspace(request) as workspace:
        yield workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeResult(Generic[T]):
    """The result of a change. ``undo`` names the runs to undo to revert it (empty: none); ``problems`` are files not written."""

    result: T
    undo: str
    problems: Sequence[str]


def make_change(request: Request, workspace: Workspace, act: Callable[[], T]) -> ChangeResult[T]:
    """Make a change as the command line does: hand edits of files are merged before it, and files are written after it.

    If the request asks for it (``Prefer: respond-async``), the files are written after the response, unless one of them was edited
    by hand: that edit must be merged before this change. Raises what ``act`` raises.
    """
    last = max((run.id for run in workspace.store.log.runs(1)), default=0)
    result, problems = change_before_write(request, workspace, act)
    made = sorted(run.id for run in workspace.store.log.runs(_RUNS) if run.id > last and run.command in _OWN)
    return ChangeResult(result=result, undo=",".join(f"r{item}" for item in made), problems=problems)


def change_before_write(request: Request, workspace: Workspace, act: Callable[[], T]) -> tuple[T, Sequence[str]]:
    """Make a change; returns its result and the files that could not be written. Raises what ``act`` raises."""
    later = request.headers.get("prefer") == "respond-async"
    if not later or any(state is FileState.EDITED for _, state, _ in file_states(workspace)):
        result, written = apply_person_change(workspace, act)
        return result, tuple(written.problems)
    result = act()
    web = web_context(request)
    web.file_writer.write_soon(request_home(request), web.open_shown)
    return result, ()
