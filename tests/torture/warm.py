"""Commands as processes of their own that need not start: forked from one that has imported everything and has run once.

What a command writes is the same as from a cold start (`test_kill_points.py` compares the calls); only the half second in which
Python starts and reads its modules is not spent again at each of some thousand faults. A process that is to be hurt stops itself
before its first step and goes on when strace has it. Where only calls are to fail, a library that is loaded before that of C
(`failing.c`) lets them fail inside of the process, which spares it a stop of strace at each of its calls.

Run as a program, this file is the process that forks. It knows nothing of pytest.
"""

import atexit
import ctypes
import gc
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

_SPELL = 0.002  # seconds between two looks at a process that is about to stop
_UNSAID = 120  # Python's exit code where its last words could not be written
_STOPPED = re.compile(rb"^\d+ +(\w+)\(.*\n\d+ +--- SIGSTOP \{.*si_code=SI_KERNEL\} ---\n\d+ +--- stopped by SIGSTOP", re.MULTILINE)


class Warm:
    """The process that forks, and the way to ask it for commands."""

    def __init__(self, folder: Path, environment: Mapping[str, str], library: Path | None = None) -> None:
        self.out, self._err, self._log = folder / "out", folder / "err", folder / "stops"
        self.trail = folder / "trail"
        environment = {**environment, **({"LD_PRELOAD": str(library)} if library else {})}
        command = [sys.executable, __file__, str(folder / "scratch")]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environment), bufsize=0)
        self._read_result = b""

    def run(
        self,
        home: Path,
        arguments: Sequence[object],
        prefix: Sequence[str] = (),
        limits: Mapping[int, int] | None = None,
        fault: tuple[int, int, bool] | None = None,
    ) -> tuple[int, str, str]:
        """Run a command in a home, under the options of a ``prefix`` (that of strace) and resource limits; its exit code and what
        it said.

        A ``fault`` (which writing call, from 1; the error number; whether all later ones fail as well) needs the library. Call 0 is
        none; ``trail`` holds the names of all calls then.
        """
        number = self._begin(home, arguments, held=bool(prefix), limits=limits, fault=fault)
        tracer = _held(number, prefix) if prefix else None
        return self._end(tracer)

    def step(
        self, home: Path, arguments: Sequence[object], strace: str, calls: str, at: Callable[[], None]
    ) -> tuple[int, str, str]:
        """Run a command that stands still after each call of some names (those that one system has are enough), and look at it
        then.
        """
        self._log.write_bytes(b"")
        number = self._begin(home, arguments, held=True)
        names = ",".join(f"?{each}" for each in calls.split(","))
        how = ["-e", f"trace={names}", "-e", f"inject={names}:signal=SIGSTOP"]
        tracer = _held(number, [strace, "-f", "-qq", "-o", str(self._log), *how])
        told = 0
        with self._log.open("rb") as log:
            while not self._ended(_SPELL):
                log.seek(told)
                if (found := _STOPPED.search(log.read())) is not None:
                    told += found.end()
                    at(found[1].decode())
                    os.kill(number, signal.SIGCONT)
        return self._end(tracer)

    def _begin(
        self,
        home: Path,
        arguments: Sequence[object],
        *,
        held: bool,
        limits: Mapping[int, int] | None = None,
        fault: tuple[int, int, bool] | None = None,
    ) -> int:
        words = [*map(str, arguments), "--home", str(home)]
        asked = {"home": str(home), "arguments": words, "out": str(self.out), "err": str(self._err), "held": held}
        asked |= {"limits": list((limits or {}).items()), "fault": fault, "trail": str(self.trail)}
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(asked).encode() + b"\n")
        return self._answer()

    def _end(self, tracer: "subprocess.Popen[bytes] | None") -> tuple[int, str, str]:
        code = self._answer()
        if tracer is not None:
            tracer.wait()
        said = [each.read_bytes().decode("utf-8", "replace") for each in (self.out, self._err)]
        return code, said[0], said[1]

    def _answer(self) -> int:
        while not self._ended(1):
            pass
        line, _, self._read_result = self._read_result.partition(b"\n")
        return int(line)

    def _ended(self, wait: float) -> bool:
        """Whether the process that forks has told another number."""
        assert self._server.stdout is not None
        if b"\n" not in self._read_result and select.select([self._server.stdout], [], [], wait)[0]:
            told = os.read(self._server.stdout.fileno(), 100)
            assert told, "the process that forks has ended"
            self._read_result += told
        return b"\n" in self._read_result

    def close(self) -> None:
        """End the process."""
        self._server.communicate()


def _held(number: int, prefix: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Let strace take a process that stops itself, then let it go on."""
    while _status(number)["State"][0] not in "Tt":
        time.sleep(_SPELL)
    tracer = subprocess.Popen([*prefix, "-p", str(number)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while _status(number)["TracerPid"] == "0":
        assert tracer.poll() is None, "strace did not take the process"
        time.sleep(_SPELL)
    os.kill(number, signal.SIGCONT)
    return tracer


def _status(number: int) -> dict[str, str]:
    lines = Path(f"/proc/{number}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def serve(scratch: str) -> None:
    """Run each command once, so that what it needs is there, then fork a process for each line of the input until it ends.

    A forked process ends as any other, but for taking the interpreter down object by object, of which nothing is written.
    """
    import kept  # noqa: PLC0415 - only the process that forks needs it
    from kept.cli import main  # noqa: PLC0415 - as above

    real = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sample = str(Path(kept.__file__).parent / "sample" / "projects")
    rule = ("add", "Wombats sleep in crate 5.", "--type", "constraint")
    for words in (("run", sample), rule, ("undo",), ("redo",), ("export", "--output", f"{scratch}/out"), ("rebuild",), ("check",)):
        with suppress(SystemExit):
            main([*words, "--home", scratch])
    os.dup2(real, 1)
    os.close(real)
    gc.collect()
    gc.freeze()  # what is there by now is never looked through again, so that its memory stays shared
    for line in sys.stdin:
        asked = json.loads(line)
        number = os.fork()
        if not number:
            _become(asked)
            _do(main, asked)
        os.write(1, b"%d\n" % number)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))


def _become(asked: Mapping[str, Any]) -> None:
    made = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for stream, place, flags in ((0, os.devnull, os.O_RDONLY), (1, asked["out"], made), (2, asked["err"], made)):
        opened = os.open(place, flags)
        os.dup2(opened, stream)
        os.close(opened)
    os.environ["HOME"] = asked["home"]
    sys.argv = ["kept", *asked["arguments"]]
    for which, value in asked["limits"]:
        resource.setrlimit(which, (value, value))
    if asked["held"]:
        os.kill(os.getpid(), signal.SIGSTOP)
    if asked["fault"]:
        ctypes.CDLL(None).arm(*asked["fault"])


def _do(main: Callable[[Sequence[str]], NoReturn], asked: Mapping[str, Any]) -> NoReturn:
    try:
        main(asked["arguments"])
    except SystemExit as done:  # whatever else gets here ends the process as it would end any
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = _UNSAID
    if asked["fault"] and not asked["fault"][0]:
        _leave_trail(Path(asked["trail"]))
    os._exit(code)


def _leave_trail(place: Path) -> None:
    library = ctypes.CDLL(None)
    library.disarm()
    library.called.restype = ctypes.c_char_p
    place.write_bytes(b"\n".join(library.called(number) for number in range(library.made())))


if __name__ == "__main__":
    serve(sys.argv[1])
