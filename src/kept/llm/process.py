"""Run a program in its own process group, in an empty folder, with limits on time and output.

The call ends in time even if the program hangs, prints without end, does not read its input, or leaves child processes behind.
"""

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import IO

from kept.core.value import dataclass

_PIECE = 65_536
_MOST_ERRORS = 65_536  # maximum bytes kept of standard error; the rest is read and discarded
_GRACE = 5.0  # seconds to wait for a killed program
_AFTERMATH = 0.5  # seconds to wait for its killed children; limited, because they may never be reaped


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessResult:
    """The result of a program: its exit code, its standard output and error, and why it was stopped.

    ``stop_reason`` is ``timeout``, ``flood`` (too much output, which is discarded), or empty if the program ended by itself. The
    exit code of a stopped program is -1.
    """

    code: int
    output: bytes
    errors: bytes
    stop_reason: str = ""


class RunningPrograms:
    """The running programs, so that all of them can be stopped at once."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = Lock()
        self._closed = False

    def run(
        self, argv: Sequence[str], *, text: bytes, folder: Path, env: Mapping[str, str], timeout: float, most: int
    ) -> ProcessResult:
        """Run a program with ``text`` as its input until it ends, ``timeout`` seconds pass, or it writes more than ``most`` bytes.

        In each case its whole process group is killed afterwards. Raises OSError if the program cannot be started.
        """
        with subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(env),
            start_new_session=True,
        ) as process:
            with self._lock:
                self._running.add(process)
                closed = self._closed
            try:
                if closed:
                    return ProcessResult(code=-1, output=b"", errors=b"", stop_reason="timeout")
                return self._exchange_streams(process, text, self._clock() + timeout, most)
            finally:
                _end(process)
                with self._lock:
                    self._running.discard(process)

    def close(self) -> None:
        """Kill every running program. Programs that are started later are killed at once."""
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill(process)

    def _exchange_streams(self, process: subprocess.Popen[bytes], text: bytes, until: float, most: int) -> ProcessResult:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = bytearray(), bytearray()
        waiting = memoryview(text)

        def stop(reason: str) -> ProcessResult:
            return ProcessResult(code=-1, output=bytes(output), errors=bytes(errors), stop_reason=reason)

        with selectors.DefaultSelector() as watch:
            for stream, event, gathered in (
                (process.stdin, selectors.EVENT_WRITE, None),
                (process.stdout, selectors.EVENT_READ, (output, most + 1)),
                (process.stderr, selectors.EVENT_READ, (errors, _MOST_ERRORS)),
            ):
                os.set_blocking(stream.fileno(), False)
                watch.register(stream, event, gathered)
            while watch.get_map():
                left = until - self._clock()
                if left <= 0:
                    return stop("timeout")
                for key, _ in watch.select(min(left, 1.0)):
                    if key.data is None:
                        waiting = _write(process.stdin, waiting)
                        done = not waiting
                    else:
                        stream_bytes, limit = key.data
                        piece = os.read(key.fd, _PIECE)
                        stream_bytes += piece[: max(0, limit - len(stream_bytes))]
                        done = not piece
                    if done:
                        watch.unregister(key.fileobj)
                        _close(key.fileobj)
                if len(output) > most:
                    output.clear()
                    return stop("flood")
        try:
            code = process.wait(timeout=max(0.0, until - self._clock()))
        except subprocess.TimeoutExpired:
            return stop("timeout")
        return ProcessResult(code=code, output=bytes(output), errors=bytes(errors))


def _write(stream: IO[bytes], waiting: memoryview) -> memoryview:
    try:
        return waiting[os.write(stream.fileno(), waiting[:_PIECE]) :]
    except BrokenPipeError:
        return waiting[len(waiting) :]  # the program stopped reading, but its output may still contain a reply


def _close(stream: object) -> None:
    with suppress(OSError):
        stream.close()  # type: ignore[attr-defined]  # the selector returns the stream that was registered


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the rest of the program's group, and reap the program."""
    _kill(process)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE)
    until = monotonic() + _AFTERMATH
    while _kill(process) and monotonic() < until:
        sleep(0.01)  # a killed child of the program disappears a moment later
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            _close(stream)


def _kill(process: subprocess.Popen[bytes]) -> bool:
    """Kill the program's process group. Returns True if the group still existed."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True
