"""How a long use case tells what it is doing. The default says nothing."""

from typing import Protocol


class Progress(Protocol):
    """Told about each step of a stage: ``done`` of ``total`` (0: unknown), in the stage's own unit."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note of a step."""
        ...


def silent(stage: str, done: int, total: int) -> None:
    """Say nothing."""
