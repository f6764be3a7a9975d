"""What the models learnt about requests: low-rank changes to their weights (LoRA, Hu et al. 2021).

Somebody who types a request does not name what an agent needs to know for it, so the text is far from the memories and from what
was said earlier. With these changes, the vector of a request is nearer to the vectors of what helps. The vectors of memories and
turns, and those of questions to a search, are made without them. ``benchmarks/train_requests.py`` makes the file.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kept.recall.embed.pack import Pack

Floats = NDArray[np.float32]


class Adapter:
    """The changes for one model, in a pack. Raises DamagedError if the file is not a pack."""

    def __init__(self, path: Path, model: str) -> None:
        self._pack = Pack(path)
        self._model = model
        self.find_change = lru_cache(None)(self._load_change)

    def _load_change(self, name: str) -> tuple[Floats, Floats] | None:
        """The two factors, shapes (in, rank) and (rank, out), of what to add to a matrix; None if it does not change."""
        place = f"{self._model}.{name}"
        if place not in self._pack:
            return None
        left, right = (self._pack.tensor(f"{place}{part}").astype(np.float32) for part in ("", ".right"))
        return left * self._pack.tensor(f"{place}.scale"), right
