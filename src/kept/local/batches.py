"""Batches: small things that are committed together, for a commit costs as much as reading a megabyte. Large ones stand alone."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def split_batches(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """The items in their order, in runs whose sizes add up to ``most`` at most; one that is larger is a run of its own."""
    gathered: list[T] = []
    total = 0
    for item in items:
        each = size(item)
        if gathered and total + each > most:
            yield gathered
            gathered, total = [], 0
        gathered.append(item)
        total += each
    if gathered:
        yield gathered
