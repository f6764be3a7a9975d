"""The head of a file of vectors: which model made them, how long they are, how many rows count. Reads without numpy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MAGIC = b"keptvec1"
SIZE = 4096  # bytes before the first row


def format_head(head: Mapping[str, Any]) -> bytes:
    """A head as bytes."""
    return (MAGIC + json.dumps(head).encode()).ljust(SIZE, b" ")


def parse_head(raw: bytes) -> dict[str, Any] | None:
    """The head in the first bytes of a file: ``model``, ``dimensions``, ``count``; None where it is none."""
    if len(raw) < SIZE or not raw.startswith(MAGIC):
        return None
    try:
        head: dict[str, Any] = json.loads(raw[len(MAGIC) : SIZE])
    except ValueError:
        return None
    return head if {"model", "dimensions", "count"} <= head.keys() else None


def vector_model(path: Path) -> str:
    """The model that made a file's vectors; empty where there is none."""
    try:
        with path.open("rb") as file:
            head = parse_head(file.read(SIZE))
    except OSError:
        return ""
    return str(head["model"]) if head else ""
