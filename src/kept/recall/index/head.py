"""The header of the vector file: the model that made the vectors, their dimensions, and the number of rows.

This module does not import numpy, because that takes long.
"""

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MAGIC = b"keptvec2"  # a file of the first form has no vectors of turns with the turns beside them
SIZE = 4096  # bytes before the first row


def format_head(head: Mapping[str, Any]) -> bytes:
    """Encode a header as :data:`SIZE` bytes."""
    return (MAGIC + json.dumps(head).encode()).ljust(SIZE, b" ")


def parse_head(raw: bytes) -> dict[str, Any] | None:
    """Parse the header in the first bytes of a file: ``model``, ``dimensions``, ``count``. None if there is no valid header."""
    if len(raw) < SIZE or not raw.startswith(MAGIC):
        return None
    try:
        head: dict[str, Any] = json.loads(raw[len(MAGIC) : SIZE])
    except ValueError:
        return None
    return head if {"model", "dimensions", "count"} <= head.keys() else None


def vector_model(path: Path) -> str:
    """The name of the model that made a file's vectors. Empty if there is no valid file."""
    try:
        with path.open("rb") as file:
            head = parse_head(file.read(SIZE))
    except OSError:
        return ""
    return str(head["model"]) if head else ""


def row_size(dimensions: int) -> int:
    """The size of a row in bytes: item, mark, kind, spare, scale, signs and body, as in :mod:`kept.recall.index.vectors`."""
    return 24 + 8 * -(-dimensions // 64) + 8 * -(-dimensions // 8)


def count_units(path: Path, model: str) -> int:
    """The number of units that have a vector of this model. It is 0 if the file cannot be read."""
    try:
        with path.open("rb") as file:
            head = parse_head(file.read(SIZE))
            if head is None or head["model"] != model or not head["count"]:
                return 0
            size = row_size(head["dimensions"])
            end = SIZE + size * head["count"]
            with mmap.mmap(file.fileno(), end, access=mmap.ACCESS_READ) as held:
                kinds, *items = (held[SIZE + place : end : size] for place in (16, *range(8)))
    except (OSError, ValueError):
        return 0
    return len({unit for unit in zip(kinds, *items, strict=True) if unit[0]})
