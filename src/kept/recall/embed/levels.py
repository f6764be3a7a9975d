"""What a cosine says. Those of texts that have nothing to do with each other lie around .03 for one model and language, around .8
for another, so each is told on one scale: that of MiniLM among English texts, on which floors and shares were chosen.

``levels.json`` gives for each model and language the cosine that unrelated texts have on average, and the one that one in 200 pairs
reaches (``benchmarks/levels.py`` makes it). A model that is not in it tells its own cosines.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kept.recall.embed.language import detect_language

_USUAL, _SELDOM = 0.05, 0.31  # of the scale


class SimilarityScale(NamedTuple):
    """A straight line from cosines to the common scale."""

    gain: float = 1.0
    shift: float = 0.0

    def to_common_scale(self, cosine: float) -> float:
        """A cosine on the common scale, 1 at most."""
        return min(1.0, self.gain * cosine + self.shift)


def find_scale(model: str, question: str) -> SimilarityScale | None:
    """The line for a question's language; None where the model does not know it, and cosines say nothing."""
    languages = _load_scales().get(model)
    if languages is None:
        return SimilarityScale()
    known = languages.get(detect_language(question))
    if known is None:
        return None
    usual, seldom = known
    gain = (_SELDOM - _USUAL) / (seldom - usual)
    return SimilarityScale(gain, _USUAL - gain * usual)


@lru_cache(1)
def _load_scales() -> dict[str, dict[str, tuple[float, float]]]:
    found: dict[str, dict[str, tuple[float, float]]] = json.loads(
        Path(__file__).with_name("levels.json").read_text(encoding="utf-8")
    )
    return found
