"""The lock of the output files."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

from kept.core.errors import BusyError
from kept.local import files
from kept.workspace import Workspace

_PATIENCE = 30.0  # seconds to wait for another process that is writing the outputs


@contextmanager
def hold_outputs_lock(workspace: Workspace) -> Iterator[None]:
    """Hold the lock of the output files while the body runs. Raises BusyError if another process holds it for 30 seconds."""
    until = monotonic() + _PATIENCE
    while True:
        try:
            with files.hold_lock(workspace.paths.state / "outputs.lock"):
                yield
                return
        except BusyError:
            if monotonic() > until:
                raise
            sleep(0.02)
