"""Workers: processes on this machine or in a Dask cluster that run pure functions.

If workers are lost, the caller does their work itself, with the same result.
"""

import gc
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
_TASKS_PER_WORKER = 2  # tasks in flight per worker: one is running, and one is finished but its result not fetched yet


@dataclass(frozen=True, kw_only=True, slots=True)
class Workers:
    """An executor and its limits. At most ``ahead`` tasks are in flight: submitted, and their results not fetched yet.

    ``losses`` are the exceptions with which the executor reports a lost task. Exceptions of the task itself are others.
    """

    executor: Executor
    ahead: int
    losses: tuple[type[Exception], ...] = (BrokenExecutor, CancelledError)


def count_processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def start_processes(count: int) -> Iterator[Workers]:
    """Provide ``count`` worker processes on this machine during a ``with`` block. Each is started when there is work for it."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - most runs have little to read and need no workers
    from multiprocessing import get_context  # noqa: PLC0415 - as above

    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_prepare_process) as pool:
        yield Workers(executor=pool, ahead=_TASKS_PER_WORKER * count)


def _prepare_process() -> None:
    """Collect garbage less often, and end this process when its parent ends, even if that is killed. It would wait forever."""
    from multiprocessing import parent_process  # noqa: PLC0415 - as above

    gc.set_threshold(50_000, 20, 20)  # as in kept.cli: with Python's own thresholds, collecting takes a twentieth of reading

    def wait_and_exit() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_and_exit, daemon=True).start()


@contextmanager
def join_cluster(address: str, version: Callable[[], str]) -> Iterator[Workers]:
    """Provide the workers of a Dask scheduler during a ``with`` block.

    Raises ConfigError if Dask is not installed, if the scheduler cannot be reached or has no workers, or if a worker returns
    another ``version`` than this process.
    """
    try:
        from distributed import Client, KilledWorker  # noqa: PLC0415 - needs the optional extra `dask`
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
            raise ConfigError("a worker has another kept, or other formats", where=address, hint="install the same kept everywhere")
        yield Workers(
            executor=client.get_executor(pure=False),
            ahead=_TASKS_PER_WORKER * threads,
            losses=(KilledWorker, CancelledError, OSError),
        )


def map_ahead(
    workers: Workers | None, function: Callable[[A], R], items: Iterable[tuple[T, A | None]]
) -> Iterator[tuple[T, R | None]]:
    """Apply ``function`` to the arguments on the workers, and yield pairs (item, result) in order.

    A result is None if the caller must compute it, because there are no workers, the argument is None, or the task was lost.
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
                yield first, _fetch_result(workers, future)
        while waiting:
            first, future = waiting.popleft()
            yield first, _fetch_result(workers, future)
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()


def _submit(workers: Workers, function: Callable[[A], R], argument: A | None) -> Future[R] | None:
    try:
        return None if argument is None else workers.executor.submit(function, argument)
    except workers.losses:
        return None


def _fetch_result(workers: Workers, future: Future[R] | None) -> R | None:
    try:
        return None if future is None else future.result()
    except workers.losses:
        return None
