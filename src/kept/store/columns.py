"""The column encoding of a block's bytes, and the marks by which events are found. Hooks import it, so it imports little."""

import json
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from kept.core.digest import digest

DAMAGE = (ValueError, LookupError, TypeError, StopIteration, zlib.error)  # errors of reading damaged bytes
# The letters for an event's kind and author in the database column `voice`.
KINDS = {"prompt": "p", "response": "r", "tool_call": "c", "tool_output": "o"}
AUTHORS = {"human": "h", "assistant": "a", "tool": "t", "injected": "i", "subagent": "s", "compaction": "c", "abandoned": "x"}
_TEXT = 2  # index of the column with the texts in the second part of a block (kept.store.packing)


def decompress(body: bytes) -> Iterator[bytes]:
    """The parts of a block: places, then words. Each is decompressed when it is needed. Raises zlib.error for damaged bytes."""
    while body:
        state = zlib.decompressobj()
        yield state.decompress(body)
        if not state.eof:
            raise zlib.error("the end is missing")
        body = state.unused_data


def refer_up(values: Sequence[Any], named: Sequence[Any] | None = None) -> list[Any]:
    """Encode a column. A repeated value becomes the distance to the last row in which ``named`` (default: the column) has it."""
    last: dict[Any, int] = {}
    column = []
    for row, (value, name) in enumerate(zip(values, named or values, strict=True)):
        column.append(row - last[value] if value in last else value)
        last[name] = row
    return column


def follow_up(column: Sequence[Any], named: Sequence[Any] | None = None) -> list[Any]:
    """Decode a column that :func:`refer_up` encoded."""
    values: list[Any] = []
    named = values if named is None else named
    for row, value in enumerate(column):
        values.append(named[row - value] if type(value) is int else value)
    return values


def keys_of(body: bytes) -> list[str]:
    """The keys of a block's events. Raises one of DAMAGE if its bytes are damaged."""
    keys, records, *_ = json.loads(next(decompress(body)))
    return join_keys(keys, follow_up(records))


def join_keys(keys: Sequence[Any], records: Sequence[str]) -> list[str]:
    """Decode keys. A key given as a list with one suffix is its record's id followed by that suffix."""
    return [key if isinstance(key, str) else record + key[0] for key, record in zip(keys, records, strict=True)]


def texts_of(body: bytes) -> list[str]:
    """The texts of a block's events. Raises one of DAMAGE if its bytes are damaged."""
    _, words = decompress(body)
    texts: list[str] = json.loads(words)[_TEXT]
    return texts


@lru_cache(maxsize=8192)  # each value is hashed when it is searched and when it is stored; a slice has up to two thousand events
def mark_of(kind: str, value: str) -> int:
    """A 32-bit hash of a value that identifies an event. ``kind`` is ``key``, ``twin`` or ``likeness``."""
    return int(digest(kind, value, size=4), 16) - 2**31
