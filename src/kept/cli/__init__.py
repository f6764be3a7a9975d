"""The command line. One table of commands; the modules behind it are imported only when their command is called.

A hook is answered before anything of that is imported: an agent waits for it at every prompt.
"""

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Do what the command line says and exit: 0 done, 1 partly done, 2 nothing done, 130 interrupted; a hook always with 0."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if os.name == "nt":  # files are opened below folders that are held open, and locked: Windows has neither
        if "hook" in words:
            sys.exit()
        sys.stderr.write("kept: Windows itself is not supported: run kept in WSL\n")
        sys.exit(2)
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # numpy's threads spin while they wait: a short question takes ten times as long
    if words[:1] == ["--home"] and words[2:3] == ["hook"]:  # as setup enters hooks for another home
        words = [*words[2:], *words[:2]]
    if len(words) > 1 and words[0] == "hook" and not words[1].startswith("-"):
        gc.disable()  # a process of milliseconds has nothing to collect
        from kept.cli.hook import answer_event  # noqa: PLC0415 - hooks start in milliseconds because nothing else is imported

        code = answer_event(words[1:])
        sys.stdout.flush()
        os._exit(code)  # everything is written; taking the interpreter down in order takes as long as a search
    # What is imported stays: looking through it again and again, and once more at the end, took a quarter of a quiet run.
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)
    from kept.cli.door import main as enter  # noqa: PLC0415 - as above

    enter(words)


__all__ = ["main"]
