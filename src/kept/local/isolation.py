"""Convert programming errors to a KeptError that names what failed, so that the rest of a run continues."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from kept.core.errors import SourceError

# Errors that bugs in readers (perhaps of a plugin) or in rules raise. The store and a person's settings raise other errors.
_BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)


@contextmanager
def isolate_errors(what: str, where: str) -> Iterator[None]:
    """Convert a programming error in a ``with`` block to a SourceError that says ``what`` failed and ``where``.

    The SourceError names only the type of the original error, because its message may quote a transcript.
    """
    try:
        yield
    except (*_BROKEN, sqlite3.Error) as error:
        raise SourceError(f"{what} ({type(error).__name__})", where=where, hint="please report it; the rest continues") from error
