"""An embedder without a model: feature hashing (Weinberger et al. 2009) of the first five letters of each word.

Its vectors do not represent meaning, but texts with the same words get similar vectors. The result is the same on every machine.
It is meant for tests and trials.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kept.core.text import index_words

_DIMENSIONS = 256


class HashingEmbedder:
    """The hashing embedder."""

    name = "hashing/1"

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:  # noqa: ARG002 - a shared signature
        """One unit vector per text, shape (texts, 256). The vector of a text without words is zero."""
        vectors = np.zeros((len(texts), _DIMENSIONS), np.float32)
        for place, text in enumerate(texts):
            for word in index_words(text[:10_000]).split():
                code = int.from_bytes(blake2b(word[:5].encode("utf-8", "replace"), digest_size=8).digest(), "big")
                vectors[place, code % _DIMENSIONS] += 1 if code & 2**32 else -1
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
        return vectors
