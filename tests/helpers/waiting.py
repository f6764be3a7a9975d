"""Waiting for what another process, thread or coroutine does.

Nothing here has a limit of its own, so that a busy machine fails no test; what never comes ends with the time limit of the test.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def until(holds: Callable[[], T]) -> T:
    """Wait until something holds; what it gave then."""
    while not (found := holds()):
        time.sleep(0.005)
    return found


def run_apart(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns, run in a thread of its own: the browser of another test may have left a loop running in this
    one.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
