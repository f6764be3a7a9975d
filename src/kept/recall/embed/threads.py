"""Limit numpy to one thread for products of small matrices, also in a program that has already imported numpy.

Waiting OpenBLAS threads spin. This multiplied the processor time of a short question by twenty. The command line sets the number of
threads in the environment before it imports numpy. A program that imports kept may have imported numpy earlier, so the number is
set here as well.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numpy as np

_NAMES = (("scipy_openblas", "64_"), ("openblas", "64_"), ("openblas", ""))  # affixes of function names, the current first


@contextmanager
def single_thread() -> Iterator[None]:
    """Run the body with one OpenBLAS thread, then restore the number of threads. No effect if numpy uses another library."""
    found = _thread_functions()
    count = found[0]() if found else 1
    if found is None or count == 1:
        yield
        return
    found[1](1)
    try:
        yield
    finally:
        found[1](count)


@cache
def _thread_functions() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """The functions that get and set OpenBLAS's number of threads. None if numpy uses another library."""
    package = Path(np.__file__).parent
    for file in (path for folder in (package.parent / "numpy.libs", package / ".dylibs") for path in folder.glob("*openblas*")):
        with suppress(OSError):
            library = ctypes.CDLL(str(file))
            for name, end in _NAMES:
                if hasattr(library, f"{name}_set_num_threads{end}"):
                    return getattr(library, f"{name}_get_num_threads{end}"), getattr(library, f"{name}_set_num_threads{end}")
    return None
