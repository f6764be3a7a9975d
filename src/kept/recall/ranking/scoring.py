"""The score of a fact for a message: the formula of the seed article, as a pure function."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import log1p
from typing import NamedTuple

_MANY = 50  # uses at which the boost is whole


class Weights(NamedTuple):
    """What the formula weighs with and what it lets through, as the settings of :class:`kept.local.recall_settings.Recall` say it.

    A named tuple, for a hook has no time to import dataclasses.
    """

    floor: float = 0.3
    most: int = 15
    recent_boost: float = 0.1
    recent_days: float = 7.0
    use_boost: float = 0.05


SEED = Weights()


def weights_of(settings: Mapping[str, object]) -> Weights:
    """The weights in a table of settings; what is not there, or no number, is as the seed has it."""
    given = {name: settings.get(name) for name in Weights._fields}
    return SEED._replace(**{name: type(getattr(SEED, name))(each) for name, each in given.items() if isinstance(each, int | float)})


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
