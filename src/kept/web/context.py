"""Functions that pages and API share: the state of a running ``kept web``, opening the workspace of a request, making a change.

Each request opens a workspace of its own, in the thread that handles it. A lock serializes changes.
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
_PATIENCE = 60  # maximum seconds to wait for pending file writes
_QUEUES = 50  # maximum number of review queues that are remembered
_RUNS = 20  # latest runs searched for those that a change made, which are one or a few
_OWN = frozenset(
    {"add", "edit", "retire", "keep", "approve", "reject", "past", "pin", "unpin", "resolve", "merge", "split", "admit"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class WebContext:
    """The state of a running ``kept web``. ``key`` signs in the person who started it. ``port`` is the port it listens on.

    ``open_own`` opens the person's workspace. ``open_sample`` opens that of the bundled sample, which is shown while
    ``sample_shown`` is set. ``background_run`` executes the runs that the page starts. ``file_writer`` writes files after the
    response to a change.

    ``unerased`` has the erasure requests that could not be completed, by the ids of their memories. They are stored because a
    repeated request needs the words, which the store no longer has. ``erasure_progress`` has the progress of the running erasure,
    and is empty if none is running. ``queues`` has the review queues as they were first shown, the latest last. A person who
    returns to a queue therefore finds the same order, including the memories decided on since.
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
        """The function that opens the shown workspace: that of the sample while it is shown, else the person's own."""
        sample = self.open_sample if self.sample_shown.is_set() else None
        return sample or self.open_own

    @property
    def hosts(self) -> frozenset[str]:
        """The accepted values of the ``Host`` header."""
        return frozenset(f"{name}:{self.port}" for name in NAMES)

    @property
    def cookie(self) -> str:
        """The name of the session cookie. It contains the port, because browsers share cookies between the ports of a host."""
        return f"kept-{self.port}"

    @property
    def session(self) -> str:
        """The value of the session cookie. It is an HMAC under the key, so that the cookie does not reveal the key."""
        return hmac.new(self.key.encode(), b"session of a browser", sha256).hexdigest()

    def store_queue(self, memories: tuple[str, ...]) -> str:
        """Store the ids of a review queue and return a name for it. Only the latest ``_QUEUES`` queues are stored."""
        name = token_hex(4)
        self.queues[name] = memories
        while len(self.queues) > _QUEUES:
            self.queues.pop(next(iter(self.queues)), None)
        return name

    def is_key(self, given: str) -> bool:
        """True if ``given`` is the key. The comparison takes constant time."""
        return hmac.compare_digest(given.encode(), self.key.encode())

    def is_session(self, given: str) -> bool:
        """True if ``given`` is the value of the session cookie. The comparison takes constant time."""
        return hmac.compare_digest(given.encode(), self.session.encode())


def web_context(request: Request) -> WebContext:
    """The state of the running ``kept web`` that handles a request."""
    web: WebContext = request.state.web
    return web


def request_home(request: Request) -> Paths:
    """The home of the shown workspace: that of the sample while it is shown, else the person's own."""
    web = web_context(request)
    return sample_home(web.home) if web.sample_shown.is_set() else web.home


@contextmanager
def request_workspace(request: Request) -> Iterator[Workspace]:
    """Open the shown workspace for a request.

    A workspace must be opened and used in the same thread, so a handler that opens one must not be async.
    """
    with web_context(request).open_shown() as workspace:
        yield workspace


def wait_for_files(request: Request) -> None:
    """Wait until the files show the last change, because an answer may be sent before they are written.

    After a minute they are taken as they are.
    """
    web_context(request).file_writer.wait(_PATIENCE)


@contextmanager
def locked_workspace(request: Request) -> Iterator[Workspace]:
    """Open the shown workspace for a request that changes something. No other request can make a change at the same time."""
    with web_context(request).change_lock, request_workspace(request) as workspace:
        yield workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeResult(Generic[T]):
    """The result of a change. ``undo`` names the runs to undo to revert it (empty: none).

    ``problems`` are about files not written.
    """

    result: T
    undo: str
    problems: Sequence[str]


def make_change(request: Request, workspace: Workspace, act: Callable[[], T]) -> ChangeResult[T]:
    """Make a change as the command line does: first merge hand edits of the files, then make the change, then write the files.

    If the request has the header ``Prefer: respond-async``, the files are written after the response. This is not done if a file
    was edited by hand, because that edit must be merged before the change. Raises what ``act`` raises.
    """
    last = max((run.id for run in workspace.store.log.runs(1)), default=0)
    result, problems = change_before_write(request, workspace, act)
    made = sorted(run.id for run in workspace.store.log.runs(_RUNS) if run.id > last and run.command in _OWN)
    return ChangeResult(result=result, undo=",".join(f"r{item}" for item in made), problems=problems)


def change_before_write(request: Request, workspace: Workspace, act: Callable[[], T]) -> tuple[T, Sequence[str]]:
    """Make a change as :func:`make_change` does. Returns its result, and messages about files that could not be written."""
    later = request.headers.get("prefer") == "respond-async"
    if not later or any(state is FileState.EDITED for _, state, _ in file_states(workspace)):
        result, written = apply_person_change(workspace, act)
        return result, tuple(written.problems)
    result = act()
    web = web_context(request)
    web.file_writer.write_soon(request_home(request), web.open_shown)
    return result, ()
