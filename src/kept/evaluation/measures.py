"""Measures of a ranking against what should have been found, and of memories against facts that should be among them. Pure."""

from collections.abc import Iterable, Sequence
from math import log2
from random import Random

from kept.core.text import tokenize

RANKS = (1, 5, 10)
_RESAMPLES = 1_000


def ranking_measures(ranked: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    """R@k (share of the gold among the first k), all@5 (whether all of it is), NDCG@10 (binary), MRR. Raises ValueError without
    gold.

    NDCG after Järvelin and Kekäläinen 2002; MRR is one over the place of the first gold anywhere in the ranking.
    """
    if not gold:
        raise ValueError("no gold")
    places = [place for place, each in enumerate(dict.fromkeys(ranked), 1) if each in gold]
    found = {f"R@{k}": sum(place <= k for place in places) / len(gold) for k in RANKS}
    gain = sum(1 / log2(place + 1) for place in places if place <= 10)
    best = sum(1 / log2(place + 1) for place in range(1, min(len(gold), 10) + 1))
    return found | {
        "all@5": float(sum(place <= 5 for place in places) == len(gold)),
        "NDCG@10": gain / best,
        "MRR": 1 / places[0] if places else 0.0,
    }


def mean(rows: Iterable[dict[str, float]]) -> dict[str, float]:
    """The mean of each measure; empty where there are no rows."""
    given = list(rows)
    return {name: sum(row[name] for row in given) / len(given) for name in given[0]} if given else {}


def bootstrap_interval(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The 95 % interval of the sum of the first by that of the second (1 each: a mean), from samples of the pairs with replacement;
    (0, 0) where there is nothing to divide. The same pairs give the same interval.
    """
    drawing = Random(len(pairs))  # noqa: S311 - statistics, not secrets
    shares = []
    for _ in range(_RESAMPLES if pairs else 0):
        sample = drawing.choices(pairs, k=len(pairs))
        total = sum(of for _, of in sample)
        shares.append(sum(part for part, _ in sample) / total if total else 0.0)
    shares.sort()
    return (shares[int(0.025 * _RESAMPLES)], shares[int(0.975 * _RESAMPLES)]) if shares else (0.0, 0.0)


def covered_share(fact: str, memories: Sequence[frozenset[str]]) -> float:
    """The largest share of a fact's words that one memory (as its words) has, in [0, 1]."""
    words = content_words(fact)
    return max((len(words & item) / len(words) for item in memories), default=0.0) if words else 0.0


def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry its content, roughly without their endings."""
    return frozenset(item[:6] for item in tokenize(text) if len(item) > 3 or any(map(str.isdigit, item)))
