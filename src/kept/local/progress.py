"""The callbacks by which long use cases report progress and ask whether their time is used up. The defaults do nothing."""

from collections.abc import Callable
from typing import Protocol

Late = Callable[[], bool]  # returns True if a use case has used up its time; it then stops where it can be continued later
Tell = Callable[[str], None]  # shows a sentence to a person while something is in progress


def never_late() -> bool:
    """No time limit: always False."""
    return False


class Progress(Protocol):
    """A callback for each step of a stage: ``done`` of ``total`` (0: unknown), in the stage's own unit."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report a step."""
        ...


def ignore_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def say_nothing(sentence: str) -> None:
    """Show nothing."""
