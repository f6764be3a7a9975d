"""The embedding server: a daemon thread of a long-lived process. Hooks ask it which memories and turns are near a message.

If several processes run it, one answers and the others wait for its lock. When that process ends, another one takes over.
"""

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from socket import AF_UNIX, SHUT_RDWR, SOCK_STREAM, socket

from kept.core.errors import KeptError
from kept.local import settings
from kept.paths import Paths
from kept.recall.embed import create_embedder
from kept.recall.embed_server import peer_user, read_line, socket_path
from kept.recall.embed_server.query import find_near_turns, make_query_context
from kept.recall.search import find_near_memories

Answer = Callable[[str, tuple[str, ...], str | None], Mapping[str, float]]  # takes message, scopes and session: see the client
_SECONDS = 0.5  # time limit for reading a question, answering it and sending the answer
_QUEUE = 8  # maximum number of connections that wait
_SCOPES = 50  # only this many scopes of a question are used


@contextmanager
def run_server(state: str, prepare: Callable[[], Answer]) -> Iterator[None]:
    """Answer the hooks of a state folder while the body runs. ``prepare`` runs in the thread once this process holds the lock.

    No hook is answered if the folder does not exist, the socket cannot be bound, or ``prepare`` fails. The body runs in any case.
    """
    path = socket_path(state)
    done = threading.Event()
    listening: list[socket] = []
    thread = threading.Thread(target=_serve, args=(path, prepare, done, listening), name="kept-embed-server", daemon=True)
    if path and os.path.isdir(state):  # noqa: PTH112 - the path is a text on both sides
        thread.start()
    try:
        yield
    finally:
        done.set()
        for item in listening:
            with suppress(OSError):
                item.shutdown(SHUT_RDWR)
        if listening:
            thread.join(timeout=2 * _SECONDS)


def _serve(path: str, prepare: Callable[[], Answer], done: threading.Event, listening: list[socket]) -> None:
    with suppress(OSError, KeptError), open(f"{path}.lock", "ab", opener=_open_private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.is_set():
            return
        answer = prepare()
        with suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108 - no process listens on an old socket, because this one holds the lock
        with socket(AF_UNIX, SOCK_STREAM) as listener:
            listener.bind(path)
            os.chmod(path, 0o600)  # noqa: PTH101 - before anybody can connect
            listener.listen(_QUEUE)
            listening.append(listener)
            try:
                while not done.is_set():
                    _answer_request(listener, answer)
            finally:
                os.unlink(path)  # noqa: PTH108 - as above


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _answer_request(listener: socket, answer: Answer) -> None:
    """Answer the next question. A question that is invalid, slow or from another user gets no answer."""
    connection, _ = listener.accept()
    with closing(connection), suppress(Exception):  # an error in one question must not end the thread
        until = time.monotonic() + _SECONDS
        if peer_user(connection) != os.geteuid():
            return
        body = json.loads(read_line(connection, until))
        message, scopes = (body.get("message"), body.get("scopes")) if isinstance(body, dict) else (None, None)
        if not isinstance(message, str) or not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
            return
        session = body.get("session")
        numbers = answer(message, tuple(scopes[:_SCOPES]), session if isinstance(session, str) else None)
        connection.settimeout(max(0.001, until - time.monotonic()))
        connection.sendall(json.dumps(dict(numbers)).encode() + b"\n")


@contextmanager
def run_embed_server(home: Paths, env: Mapping[str, str]) -> Iterator[None]:
    """Answer the hooks of this home while the body runs, over a socket that only its user can connect to."""
    with run_server(str(home.state), lambda: _prepare_answer(home, env)):
        yield


def _prepare_answer(home: Paths, env: Mapping[str, str]) -> Answer:
    """Load the model and return the function that answers questions. It reads the settings for each question. Raises KeptError."""
    config = home.config / "config.toml"
    recall = settings.load_settings(config).recall
    model = None
    if home.vectors.exists():
        model = create_embedder(recall.embeddings, recall.embeddings_model, env, local=recall.model, stays=True, requests=True)
    if model is not None:
        model.embed(["kept"])  # load the weights now, so that the first question does not wait for them

    def answer_hook(message: str, scopes: tuple[str, ...], session: str | None) -> Mapping[str, float]:
        place = make_query_context(home.state, settings.load_settings(config).recall, env)
        if session is None:
            return find_near_memories(place, message, scopes)
        return find_near_turns(place, message, scopes[0], session) if scopes else {}

    return answer_hook
