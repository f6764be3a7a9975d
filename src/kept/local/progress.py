"""Callbacks with which long use cases report progress and check their time limit. The defaults do nothing."""

from collections.abc import Callable
from typing import Protocol

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
