"""The column encoding of a block's bytes, and the marks by which events are found. Hooks import it, so it imports little."""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from struct import iter_unpack
from typing import Any

from kept.core.digest import digest

DAMAGE = (ValueError, LookupError, TypeError, StopIteration, zlib.error)  # errors of reading damaged bytes
# The letters for an event's kind and author in the database column `voice`.
KINDS = {"prompt": "p", "response": "r", "tool_call": "c", "tool_output": "o"}
AUTHORS = {"human": "h", "assistant": "a", "tool": "t", "injected": "i", "subagent": "s", "compaction": "c", "abandoned": "x"}
_IDS = b"ids\n"  # begins a block whose ids are bytes; older blocks begin with a part
_UUID, _DIGEST = b"\xff", b"\xfe"  # stand for ids in a part, a digest after the mark of a UUID; UTF-8 has neither of these bytes
_ID = b'"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})"'
_DIGITS = 32  # of a digest; a UUID also has hyphens
_TEXT = 2  # index of the column with the texts in the second part of a block (kept.store.packing)


def compress(parts: Iterable[bytes]) -> bytes:
    """The bytes of a block with these parts of JSON. Ids of 32 hexadecimal digits become 16 bytes, as digits compress badly."""
    ids: list[bytes] = []
    compressed: list[bytes] = []
    for part in parts:
        pieces = re.split(_ID, part)  # every second piece is an id
        ids += pieces[1::2]
        pieces[1::2] = [_UUID + _DIGEST if len(each) == _DIGITS else _UUID for each in pieces[1::2]]
        compressed.append(zlib.compress(b"".join(pieces), 6))
    digits = bytes.fromhex(b"".join(ids).replace(b"-", b"").decode())
    return b"".join((_IDS, len(ids).to_bytes(4, "big"), digits, *compressed))


def decompress(body: bytes, *, skip: int = 0) -> Iterator[bytes]:
    """The parts of a block: places, then words. Each is decompressed when it is needed. The first ``skip`` parts, which the caller
    does not read, are empty. Raises zlib.error for damaged bytes.
    """
    digits = b""
    if body.startswith(_IDS):
        start = len(_IDS) + 4
        stop = start + 16 * int.from_bytes(body[len(_IDS) : start], "big")
        if len(body) <= stop:
            raise zlib.error("the parts are missing")
        digits, body = body[start:stop].hex().encode(), body[stop:]
    while body:
        state = zlib.decompressobj()
        first, *others = state.decompress(body).split(_UUID)
        ids, digits = digits[: 32 * len(others)], digits[32 * len(others) :]
        skip -= 1
        yield first + b"".join(map(_restore_id, others, iter_unpack("8s4s4s4s12s", ids))) if skip < 0 else b""
        if not state.eof:
            raise zlib.error("the end is missing")
        body = state.unused_data


def unpack_value(body: bytes) -> str:
    """The text of a compressed value; empty if its bytes are damaged, which the checksum of the row shows."""
    try:
        return b"".join(decompress(body)).decode()
    except (ValueError, zlib.error):
        return ""


def _restore_id(rest: bytes, digits: tuple[bytes, ...]) -> bytes:
    """An id, given its groups of digits, and what follows it in a part."""
    return b'"%b"%b' % (b"".join(digits), rest[1:]) if rest.startswith(_DIGEST) else b'"%b"%b' % (b"-".join(digits), rest)


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
    if named is None and column.count(1) == len(column) - 1 and type(column[0]) is not int:
        return [column[0]] * len(column)  # one value in all rows, the usual case
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
    _, words = decompress(body, skip=1)
    texts: list[str] = json.loads(words)[_TEXT]
    return texts


@lru_cache(maxsize=8192)  # each value is hashed when it is searched and when it is stored; a slice has up to two thousand events
def mark_of(kind: str, value: str) -> int:
    """A 32-bit hash of a value that identifies an event, or of a ``session``. ``kind`` is ``key``, ``twin``, ``likeness`` or so."""
    return int(digest(kind, value, size=4), 16) - 2**31
