"""Wait for another process, thread or coroutine.

There is no time limit here, so that no test fails on a busy machine; the test's own time limit ends a wait that never succeeds.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def until(holds: Callable[[], T]) -> T:
    """Wait until a function returns a true value, and return that value."""
    while not (found := holds()):
        time.sleep(0.005)
    return found


def run_apart(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new thread and return its result: the browser of another test may have left a loop running in this
    thread.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
