"""A block's columns as they lie in its bytes, and the marks by which events are found. Hooks wait for it: it imports little."""

import json
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from kept.core.digest import digest

DAMAGE = (ValueError, LookupError, TypeError, StopIteration, zlib.error)  # what reading damaged bytes raises
# The letters of a `voice`: an event's kind and its author.
KINDS = {"prompt": "p", "response": "r", "tool_call": "c", "tool_output": "o"}
AUTHORS = {"human": "h", "assistant": "a", "tool": "t", "injected": "i", "subagent": "s", "compaction": "c", "abandoned": "x"}
_TEXT = 2  # among the columns of words (kept.store.packing)


def decompress(body: bytes) -> Iterator[bytes]:
    """The parts of a block, each when it is asked for: places, then words. Raises zlib.error where the bytes are damaged."""
    while body:
        state = zlib.decompressobj()
        yield state.decompress(body)
        if not state.eof:
            raise zlib.error("the end is missing")
        body = state.unused_data


def refer_up(values: Sequence[Any], named: Sequence[Any] | None = None) -> list[Any]:
    """A column: each value, or how many rows above ``named`` (without one, the column itself) has it last."""
    last: dict[Any, int] = {}
    column = []
    for row, value in enumerate(values):
        column.append(row - last[value] if value in last else value)
        last[named[row] if named else value] = row
    return column


def follow_up(column: Sequence[Any], named: Sequence[Any] | None = None) -> list[Any]:
    """The values of a column of :func:`refer_up`."""
    values: list[Any] = []
    named = values if named is None else named
    for row, value in enumerate(column):
        values.append(named[row - value] if type(value) is int else value)
    return values


def keys_of(body: bytes) -> list[str]:
    """The keys of a block's events. Raises one of DAMAGE where its bytes are damaged."""
    keys, records, *_ = json.loads(next(decompress(body)))
    return join_keys(keys, follow_up(records))


def join_keys(keys: Sequence[Any], records: Sequence[str]) -> list[str]:
    """Keys as they are: those of which a list tells only how they go on begin as their records are called."""
    return [key if isinstance(key, str) else record + key[0] for key, record in zip(keys, records, strict=True)]


def texts_of(body: bytes) -> list[str]:
    """The texts of a block's events. Raises one of DAMAGE where its bytes are damaged."""
    _, words = decompress(body)
    texts: list[str] = json.loads(words)[_TEXT]
    return texts


@lru_cache(maxsize=8192)  # looked for, then noted: those of the two thousand events of a slice
def mark_of(kind: str, value: str) -> int:
    """32 bits of a hash of what recognises an event: its ``key``, its ``twin`` or its ``likeness``."""
    return int(digest(kind, value, size=4), 16) - 2**31
