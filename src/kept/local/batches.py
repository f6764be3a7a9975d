"""Split items into batches that are committed together, because a commit costs as much as reading a megabyte."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

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
