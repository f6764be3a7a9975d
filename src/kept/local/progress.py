"""How a long use case tells what it is doing. The default says nothing."""

from collections.abc import Callable
from typing import Protocol

Late = Callable[[], bool]  # whether the time that a long use case may take is up; it then stops where it can go on another time
Tell = Callable[[str], None]  # says a sentence to a person while something goes on


def never_late() -> bool:
    """There is no hurry."""
    return False


class Progress(Protocol):
    """Told about each step of a stage: ``done`` of ``total`` (0: unknown), in the stage's own unit."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note of a step."""
        ...


def ignore_progress(stage: str, done: int, total: int) -> None:
    """Say nothing."""


def say_nothing(sentence: str) -> None:
    """Say nothing."""
