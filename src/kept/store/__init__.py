"""Stores: what they must do (:class:`Store`), and the one in SQLite."""

from kept.store.check import IMPORTED
from kept.store.protocol import Archive, Log, Store
from kept.store.sqlite import SqliteStore
from kept.store.values import (
    EXTRACT,
    MODEL,
    SEQUEL,
    Draft,
    FileState,
    Noted,
    OptedOut,
    Output,
    Pointed,
    Proposal,
    Row,
    Run,
    Sitting,
    Span,
    Thread,
)

__all__ = [
    "EXTRACT",
    "IMPORTED",
    "MODEL",
    "SEQUEL",
    "Archive",
    "Draft",
    "FileState",
    "Log",
    "Noted",
    "OptedOut",
    "Output",
    "Pointed",
    "Proposal",
    "Row",
    "Run",
    "Sitting",
    "Span",
    "SqliteStore",
    "Store",
    "Thread",
]
