"""Workers: other processes, of this machine or of a Dask cluster, that do the part of the work which needs nothing but its values.

What is lost with a worker, or with all of them, is done by whoever asks for it: the outcome is the same.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from typing import TypeVar

from kept.core.errors import ConfigError
from kept.core.value import dataclass

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R")
_EACH = 2  # pieces of work under way for each worker: one that is done and waits for the writer, one in hand


@dataclass(frozen=True, kw_only=True, slots=True)
class Workers:
    """Where work is done, and how many pieces of it are under way at once: so much waits in memory for whoever takes it.

    ``losses`` are what is raised where a piece of work was lost, not what it raised itself.
    """

    executor: Executor
    ahead: int
    losses: tuple[type[Exception], ...] = (BrokenExecutor, CancelledError)


def count_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def start_processes(count: int) -> Iterator[Workers]:
    """So many processes of this machine, until the end; none is started before there is work for it."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - most runs have little to read, and need none of it
    from multiprocessing import get_context  # noqa: PLC0415 - as above

    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        yield Workers(executor=pool, ahead=_EACH * count)


def _end_with_parent() -> None:
    """Have this process end when the one that started it does, killed or not: idle workers of a pool wait for ever otherwise."""
    from multiprocessing import parent_process  # noqa: PLC0415 - as above

    def wait_and_exit() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_and_exit, daemon=True).start()


@contextmanager
def join_cluster(address: str, version: Callable[[], str]) -> Iterator[Workers]:
    """The workers of a Dask scheduler. Raises ConfigError where Dask is not installed, the scheduler cannot be reached, it has no
    worker, or what reads there is of another ``version`` than here.
    """
    try:
        from distributed import Client, KilledWorker  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigError("a scheduler needs Dask, which is not installed", hint='pip install "kept[dask]"') from error
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConfigError("the scheduler cannot be reached", where=address, hint="start one: dask scheduler") from error
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise ConfigError("the scheduler has no workers", where=address, hint="start one: dask worker ADDRESS --nthreads 1")
        if {version()} != {*client.run(version).values()}:
            raise ConfigError("a worker has another kept, or other formats", where=address, hint="install the same on all of them")
        yield Workers(
            executor=client.get_executor(pure=False), ahead=_EACH * threads, losses=(KilledWorker, CancelledError, OSError)
        )


def map_ahead(
    workers: Workers | None, function: Callable[[A], R], items: Iterable[tuple[T, A | None]]
) -> Iterator[tuple[T, R | None]]:
    """Each item, in order, with what ``function`` makes of its argument; None where that is left to whoever asks: there are no
    workers, it has no argument, or it was lost.
    """
    if workers is None:
        yield from ((item, None) for item, _ in items)
        return
    waiting: deque[tuple[T, Future[R] | None]] = deque()
    try:
        for item, argument in items:
            waiting.append((item, _submit(workers, function, argument)))
            if len(waiting) >= workers.ahead:
                first, future = waiting.popleft()
                yield first, _result(workers, future)
        while waiting:
            first, future = waiting.popleft()
            yield first, _result(workers, future)
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()


def _submit(workers: Workers, function: Callable[[A], R], argument: A | None) -> Future[R] | None:
    try:
        return None if argument is None else workers.executor.submit(function, argument)
    except workers.losses:
        return None


def _result(workers: Workers, future: Future[R] | None) -> R | None:
    try:
        return None if future is None else future.result()
    except workers.losses:
        return None
