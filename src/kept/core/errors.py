"""The exception hierarchy of kept. The command line maps it to exit codes.

Every error says in one line what happened, where, and what to do next.
"""


class KeptError(Exception):
    """The base class of all errors that kept raises on purpose.

    Args:
        what: what happened, as a clause without a full stop.
        where: file, file and line, memory id or setting; empty if there is nothing to name.
        hint: what the person can do next; empty if nothing can be done.
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
    """The call was wrong: an unknown id, category, date or option value."""


class MissingError(UsageError):
    """The thing that was named does not exist: a memory, a run, a conversation."""


class ConfigError(KeptError):
    """A configuration file or profile is invalid."""


class SourceError(KeptError):
    """A whole input file cannot be read. The run continues without it and ends as partly done."""

    exit_code = 1


class StoreError(KeptError):
    """The store cannot be opened, read or written. Nothing was changed."""


class UnreachableError(StoreError):
    """The server of a store cannot be reached."""


class DamagedError(StoreError):
    """The store's data contradicts its own hashes."""


class BusyError(KeptError):
    """Another run holds the lock. This is not a failure, because that run does the work."""

    exit_code = 0


class ChangedError(KeptError):
    """A file changed between reading and writing, so kept did not overwrite it."""

    exit_code = 1


class StaleError(KeptError):
    """A memory changed since the person looked at it. Nothing was written."""


class RefusedPathError(KeptError):
    """An output path leads outside its home, directly or through a link."""


class TerminalOnlyError(KeptError):
    """The page or an agent requested an action that only a person at the terminal may take."""


class GuardError(KeptError):
    """A person's request may be a mistake. Nothing changes until they confirm it."""
