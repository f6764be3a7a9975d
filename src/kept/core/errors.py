"""One tree of errors; the front doors map it to exit codes.

Every error says what happened, where, and what to do next, in one line.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class KeptError(Exception):
    """Something kept could not do.

    Args:
        what: what happened, as a clause without a full stop.
        where: file, file and line, memory id or setting; empty when there is no place to name.
        hint: what the person can do next; empty when nothing can be done.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        advice = f" → {self.hint}" if self.hint else ""
        return f"{self.what}{place}{advice}"


class UsageError(KeptError):
    """The call itself was wrong: an unknown id, category, date or option value."""


class MissingError(UsageError):
    """What was named is not there: a memory, a run, a conversation."""


class ConfigError(KeptError):
    """A configuration file or profile says something that cannot be followed."""


class SourceError(KeptError):
    """A whole input file could not be read; the run goes on without it and ends as partly done."""

    exit_code = 1


class StoreError(KeptError):
    """The store could not be opened, read or written; nothing was changed."""


class UnreachableError(StoreError):
    """The server of a store is not there, or not to be reached from here."""


class DamagedError(StoreError):
    """The store holds something its own hashes contradict."""


class BusyError(KeptError):
    """Another run holds the lock. Not a failure: that run does the work."""

    exit_code = 0


class ChangedError(KeptError):
    """A file changed between our read and our write; it was not overwritten."""

    exit_code = 1


class StaleError(KeptError):
    """A memory is no longer what it was when a person looked at it; nothing was changed."""


class RefusedPathError(KeptError):
    """An output path leads outside the home it belongs to, or through a link that does."""


class TerminalOnlyError(KeptError):
    """A page or an agent asks for what only a person at the terminal may do."""


class GuardError(KeptError):
    """What a person asks for looks like damage rather than like a decision; nothing was changed until they say that they mean
    it.
    """


# Programming errors of a format (readers may be plugins) and of a rule; never what the store or a person's settings raise.
_BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)


@contextmanager
def isolate_errors(what: str, where: str) -> Iterator[None]:
    """Turn a fault into a SourceError that says ``what`` failed and ``where``, by the kind of the fault alone: its text may quote a
    transcript.
    """
    import sqlite3  # noqa: PLC0415 - hooks wait for this module

    try:
        yield
    except (*_BROKEN, sqlite3.Error) as error:
        raise SourceError(f"{what} ({type(error).__name__})", where=where, hint="report it; the rest goes on") from error
