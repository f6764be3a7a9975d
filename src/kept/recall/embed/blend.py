"""Two models side by side: one that knows many languages, and beside it, for English, one that knows English better.

A text's vector holds both; the question weighs them. A question in another language asks the first alone, of texts in any language;
a text in another language is not known to the second.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kept.recall.embed.levels import detect_language
from kept.recall.embed.minilm import MiniLM
from kept.recall.embed.universal import UniversalEncoder

_ENGLISH = 0.7  # the share of the English model in what an English question is near to


class BlendedEmbedder:
    """Both models."""

    def __init__(self, english: MiniLM, many: UniversalEncoder) -> None:
        self._english = english
        self._many = many
        self.name = f"{english.name} + {many.name}"
        self.dimensions = english.dimensions + many.dimensions

    def widen_weights(self) -> None:
        """As :meth:`MiniLM.widen_weights`."""
        self._english.widen_weights()

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:
        """The vectors of texts, whose two halves have length one each (the first none, where it knows nothing of the text); those
        of questions, so that the product with a text's is a cosine.
        """
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        half = self._english.dimensions
        vectors[:, half:] = self._many.embed(texts)
        known = [place for place, text in enumerate(texts) if detect_language(text) == "english"]
        if known:
            vectors[known, :half] = self._english.embed([texts[place] for place in known])
            if question:
                vectors[known, :half] *= _ENGLISH
                vectors[known, half:] *= 1 - _ENGLISH
        return vectors
