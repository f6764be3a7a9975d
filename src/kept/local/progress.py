"""What long use cases share: callbacks for progress and the time limit, batches that are committed together, and the isolation of
programming errors, so that the rest of a run continues.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from kept.core.errors import SourceError

Late = Callable[[], bool]  # returns True if the time limit is reached; the use case then stops where it can continue later
Tell = Callable[[str], None]  # shows a sentence to a person while something is in progress


def never_late() -> bool:
    """No time limit: always False."""
    return False


class Progress(Protocol):
    """A callback that is called after each step of a stage. ``done`` and ``total`` (0: unknown) are in the stage's own unit."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report a step."""
        ...


def ignore_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def say_nothing(sentence: str) -> None:
    """Show nothing."""


T = TypeVar("T")


def split_batches(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Yield the items in order, in batches with a total size of at most ``most``. A larger item gets a batch of its own."""
    batch: list[T] = []
    total = 0
    for item in items:
        item_size = size(item)
        if batch and total + item_size > most:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += item_size
    if batch:
        yield batch


# Errors that bugs in readers (perhaps of a plugin) or in rules raise. The store and a person's settings raise other errors.
_BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)


@contextmanager
def isolate_errors(what: str, where: str) -> Iterator[None]:
    """Convert a programming error in a ``with`` block to a SourceError that says ``what`` failed and ``where``.

    The SourceError names only the type of the original error, because its message may quote a transcript.
    """
    try:
        yield
    except (*_BROKEN, sqlite3.Error) as error:
        raise SourceError(f"{what} ({type(error).__name__})", where=where, hint="please report it; the rest continues") from error
