"""Workers: other processes, of this machine or of a cluster, that do a part of the work which needs nothing but its values."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True, slots=True)
class Workers:
    """Where work is done, and how many pieces of it are under way at once: so much waits in memory for whoever takes it."""

    executor: Executor
    ahead: int


def map_ahead(
    workers: Workers | None, function: Callable[[A], R], items: Iterable[tuple[T, A | None]]
) -> Iterator[tuple[T, R | None]]:
    """Each item, in order, with what ``function`` makes of its argument; None where that is left to whoever asks: there are no
    workers, or it has no argument.
    """
    if workers is None:
        yield from ((item, None) for item, _ in items)
        return
    waiting: deque[tuple[T, Future[R] | None]] = deque()
    try:
        for item, argument in items:
            waiting.append((item, None if argument is None else workers.executor.submit(function, argument)))
            if len(waiting) >= workers.ahead:
                first, future = waiting.popleft()
                yield first, None if future is None else future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, None if future is None else future.result()
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()
