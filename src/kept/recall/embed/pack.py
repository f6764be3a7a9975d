"""A pack is one file with the weights and the vocabulary of a model. It is memory-mapped, so only the parts in use are read."""

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kept.core.errors import DamagedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"keptpack1\n"


class Pack:
    """An open pack. Raises DamagedError if the file is not a pack."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._bytes[: len(MAGIC)] != MAGIC:
            raise DamagedError("the file is not a model pack", where=str(path), hint="make it again: make run")
        length = int.from_bytes(self._bytes[len(MAGIC) : len(MAGIC) + 4], "little")
        self._start = len(MAGIC) + 4 + length
        head: Mapping[str, Any] = json.loads(self._bytes[len(MAGIC) + 4 : self._start])
        self.name: str = head["name"]
        self.dimensions: int = head["dimensions"]
        self._places: Mapping[str, tuple[str, tuple[int, ...], int]] = head["tensors"]

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def tensor(self, name: str) -> "NDArray[Any]":
        """The array with this name, mapped from the file without a copy."""
        import numpy as np  # noqa: PLC0415 - heavy, and not needed for the name of the model

        kind, shape, start = self._places[name]
        count = int(np.prod(shape))
        return np.frombuffer(self._bytes, np.dtype(kind), count, self._start + start).reshape(shape)
