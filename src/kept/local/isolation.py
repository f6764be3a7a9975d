"""Turn a programming error into an error that names what failed, so that the rest of a run goes on."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from kept.core.errors import SourceError

# Errors that a bug in a reader (perhaps a plugin) or in a rule raises; none that the store or a person's settings raise.
_BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)


@contextmanager
def isolate_errors(what: str, where: str) -> Iterator[None]:
    """A block in which a programming error becomes a SourceError with ``what`` failed and ``where``.

    It names only the type of the original error, whose message may quote a transcript.
    """
    try:
        yield
    except (*_BROKEN, sqlite3.Error) as error:
        raise SourceError(f"{what} ({type(error).__name__})", where=where, hint="please report it; the rest continues") from error
