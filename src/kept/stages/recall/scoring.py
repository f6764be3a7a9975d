"""The score of a fact for a message: the formula of the seed article, as a pure function."""

from datetime import datetime, timedelta
from math import log1p
from typing import Protocol

_MANY = 50  # uses at which the boost is whole


class Weights(Protocol):
    """What the formula weighs with: the settings of :class:`kept.model.recall.Recall`, or a hook's few of them."""

    @property
    def recent_boost(self) -> float:
        """Added to what was seen just now."""

    @property
    def recent_days(self) -> float:
        """Days over which that fades to nothing."""

    @property
    def use_boost(self) -> float:
        """What much use adds at most."""


def fact_score(
    similarity: float, *, last_seen: datetime | None, now: datetime, uses: int, confidence: float, weights: Weights
) -> float:
    """(similarity + recency + use) x confidence.

    Recency is ``recent_boost`` for what was seen now and falls in a straight line to 0 at ``recent_days``; what lies in the future
    counts as now. Use is ``use_boost`` times log(1 + uses) / log(51), at most ``use_boost``: small, and slower with every use.
    """
    recency = 0.0
    if last_seen is not None and weights.recent_days > 0:
        age = max(now - last_seen, timedelta()) / timedelta(days=weights.recent_days)
        recency = weights.recent_boost * max(0.0, 1 - age)
    used = weights.use_boost * min(1.0, log1p(max(uses, 0)) / log1p(_MANY))
    return (similarity + recency + used) * confidence
