"""Splits items into batches to commit together, because a commit costs as much as reading a megabyte."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def split_batches(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """The items, in order, in batches of a total size of at most ``most``; a larger item is a separate batch."""
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
