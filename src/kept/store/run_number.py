"""The number of a run, which the log assigns on first use."""

from collections.abc import Callable
from datetime import datetime

from kept.store.log import Log


class RunNumber:
    """Returns the run's number when called. The first call starts the run, so a run that changes nothing leaves no trace."""

    def __init__(self, log: Log, clock: Callable[[], datetime], command: str = "run") -> None:
        self._log = log
        self._clock = clock
        self._command = command
        self._number = 0

    @property
    def started(self) -> bool:
        """True if the run was started."""
        return self._number > 0

    def __call__(self) -> int:
        """The number of the run."""
        self._number = self._number or self._log.start_run(self._command, self._clock())
        return self._number
