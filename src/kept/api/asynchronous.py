"""``kept.AsyncMemory``: the methods of :class:`kept.Memory` as coroutines. One thread runs the calls in order."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from kept.api.memory import Memory
from kept.core.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")


def _open_lazily(function: Callable[P, Memory]) -> Callable[P, "AsyncMemory"]:
    """Wrap a function that opens a memory, so that the memory is opened on first use."""

    @wraps(function)
    def unopened(*args: P.args, **kwargs: P.kwargs) -> "AsyncMemory":
        return AsyncMemory(partial(function, *args, **kwargs))

    return unopened


def _run_in_thread(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate["AsyncMemory", P], Coroutine[object, object, R]]:
    @wraps(method)
    async def in_thread(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.call(lambda memory: method(memory, *args, **kwargs))

    return in_thread


class AsyncMemory:
    """:class:`kept.Memory` for asynchronous programs, with the same methods and results. Any task may call any method. Cancelling a
    task does not stop a call that has begun.

    ``open`` returns at once. Errors in its arguments are raised by ``async with``, or without it by the first call.
    """

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._opened = opened
        self._memory: Memory | None = None
        self._closed = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kept-memory")

    open = staticmethod(_open_lazily(Memory.open))
    observe = _run_in_thread(Memory.observe)
    recent = _run_in_thread(Memory.recent)
    context = _run_in_thread(Memory.context)
    search = _run_in_thread(Memory.search)
    list = _run_in_thread(Memory.list)
    get = _run_in_thread(Memory.get)
    history = _run_in_thread(Memory.history)
    add = _run_in_thread(Memory.add)
    update = _run_in_thread(Memory.update)
    delete = _run_in_thread(Memory.delete)
    forget = _run_in_thread(Memory.forget)
    undo = _run_in_thread(Memory.undo)
    end_session = _run_in_thread(Memory.end_session)

    async def call(self, work: Callable[[Memory], R]) -> R:
        """Call a function with the memory, in the memory's thread."""
        if self._closed:
            raise UsageError("this memory is closed", hint="open it again")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._open_once()))

    def _open_once(self) -> Memory:
        if self._memory is None:
            self._memory = self._opened()
        return self._memory

    async def __aenter__(self) -> Self:
        await self.call(lambda _: None)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for the calls in progress, then close the store."""
        if not self._closed:
            self._closed = True
            closing = asyncio.get_running_loop().run_in_executor(self._thread, self._close_opened)
            self._thread.shutdown(wait=False)
            await closing

    def _close_opened(self) -> None:
        if self._memory is not None:
            self._memory.close()
