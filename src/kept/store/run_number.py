"""The number of a run, taken from the log when it is first needed."""

from collections.abc import Callable
from datetime import datetime

from kept.store.protocol import Log


class RunNumber:
    """The number of the run, which begins when it is first asked for: a run that changes nothing leaves no trace."""

    def __init__(self, log: Log, clock: Callable[[], datetime], command: str = "run") -> None:
        self._log = log
        self._clock = clock
        self._command = command
        self._number = 0

    @property
    def started(self) -> bool:
        """Whether anybody asked."""
        return self._number > 0

    def __call__(self) -> int:
        """The number."""
        self._number = self._number or self._log.start_run(self._command, self._clock())
        return self._number
