"""The command line. A command's module is imported only when the command is called.

Hooks are answered before anything else is imported, because an agent waits for the answer at every prompt.
"""

import atexit
import gc
import os
import sys
from collections.abc import Sequence

TYPE_CHECKING = False  # as in typing, which hooks must not import
if TYPE_CHECKING:
    from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> "NoReturn":
    """Run a command and exit: 0 done, 1 partly done, 2 nothing done, 130 interrupted; a hook always exits with 0."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # the caller closed it; the next file that is opened would get its number
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: PTH123, SIM115 - hooks import no pathlib
    if os.name == "nt":  # kept locks files and opens files relative to an open folder, and Windows can do neither
        if "hook" in words:
            sys.exit()
        sys.stderr.write("kept: Windows itself is not supported: run kept in WSL\n")
        sys.exit(2)
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # numpy's idle threads spin, so without this a short question takes ten times the CPU time
    if words[:1] == ["--home"] and words[2:3] == ["hook"]:  # setup installs hooks for another home with the words in this order
        words = [*words[2:], *words[:2]]
    if len(words) > 1 and words[0] == "hook" and not words[1].startswith("-"):
        gc.disable()  # the process lives only for milliseconds
        from kept.cli.hook import answer_event  # noqa: PLC0415 - hooks start in milliseconds because nothing else is imported

        code = answer_event(words[1:])
        try:  # noqa: SIM105 - hooks import no contextlib
            sys.stdout.flush()
        except OSError:  # nobody reads the answer, or the disk is full; the log says so already
            pass
        os._exit(code)  # all output is written, and the interpreter's regular shutdown takes as long as a search
    # Imported modules stay in memory anyway. Collecting them repeatedly, and again at exit, took a quarter of a run without news.
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)
    from kept.cli.dispatch import main as run_command_line  # noqa: PLC0415 - as above

    run_command_line(words)


__all__ = ["main"]
