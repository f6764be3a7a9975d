"""One thread for numpy's products of small matrices, in a process whose numpy is somebody else's too.

Threads of OpenBLAS spin while they wait: a short question took twenty times the processor's time. The command line says so in the
environment before numpy is imported; a program that imports kept may have imported numpy long before.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numpy as np

_NAMES = (("scipy_openblas", "64_"), ("openblas", "64_"), ("openblas", ""))  # of numpy's wheels, the present ones first


@contextmanager
def single_thread() -> Iterator[None]:
    """The body's products take one thread; what numpy took before, it takes after. Nothing where numpy has another library."""
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
    """How numpy's OpenBLAS tells and takes its number of threads."""
    package = Path(np.__file__).parent
    for file in (path for folder in (package.parent / "numpy.libs", package / ".dylibs") for path in folder.glob("*openblas*")):
        with suppress(OSError):
            library = ctypes.CDLL(str(file))
            for name, end in _NAMES:
                if hasattr(library, f"{name}_set_num_threads{end}"):
                    return getattr(library, f"{name}_get_num_threads{end}"), getattr(library, f"{name}_set_num_threads{end}")
    return None
