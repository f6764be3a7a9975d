"""Isolate errors: an input that a reader or a rule fails on is named and skipped, and the rest goes on."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from kept.core.errors import SourceError

# Programming errors of a format (readers may be plugins) and of a rule; never what the store or a person's settings raise.
_BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    sqlite3.Error,
)


@contextmanager
def isolate_errors(what: str, where: str) -> Iterator[None]:
    """Turn a fault into a SourceError that says ``what`` failed and ``where``, by the kind of the fault alone: its text may quote a
    transcript.
    """
    try:
        yield
    except _BROKEN as error:
        raise SourceError(f"{what} ({type(error).__name__})", where=where, hint="report it; the rest goes on") from error
