"""The score that ranks held proposals: a logistic model with five named features of a passage.

``benchmarks/train_score.py`` trains the weights in ``score.json`` on annotated turns. It also finds the score above which a
person's sentences are right more often than not, in projects outside the training set. The predicted odds are wrong by more than
ten percentage points there, so the score only orders the proposals shown to a person. A person sees its rank, never a probability.
It decides nothing.
"""

import json
from collections.abc import Mapping
from functools import cache
from math import log2
from pathlib import Path

from kept.core.memory import WISH
from kept.core.text import NEGATIONS, QUESTION_MARKS, tokenize
from kept.core.value import dataclass
from kept.extraction.rules.patterns import count_mass
from kept.profiles.lexicons import word_list

_WE, _WE_UNSPACED = (word_list("assertion", "we", spaced=apart) for apart in (True, False))


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The score of a passage (log-odds, higher is better), and the contribution of each feature, largest first.

    ``likely`` means that sentences with such a score are right more often than not.
    """

    value: float
    terms: tuple[tuple[str, float], ...]
    likely: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreModel:
    """The trained weight of each feature, the bias, and the smallest score that counts as likely."""

    bias: float
    floor: float
    weights: Mapping[str, float]


def compute_features(words: str, *, trigger: str) -> dict[str, float]:
    """The features of a passage. A question never counts as an explicit telling, whatever its words."""
    tokens = tokenize(words)
    asks = words.rstrip().endswith(QUESTION_MARKS)
    return {
        "length": log2(1 + count_mass(words)),
        "question": float(asks),
        "says we": float(not _WE.isdisjoint(tokens) or any(map(words.__contains__, _WE_UNSPACED))),
        "denies": float(not NEGATIONS.isdisjoint(tokens)),
        "explicit telling": float(trigger != WISH and not asks),
    }


def score(values: Mapping[str, float], model: ScoreModel | None = None) -> Score:
    """Score a passage with these features."""
    model = model or load_trained_model()
    terms = {name: model.weights[name] * value for name, value in values.items() if value}
    ordered = sorted(terms.items(), key=lambda term: (-abs(term[1]), term[0]))
    value = model.bias + sum(terms.values())
    return Score(value=value, terms=tuple(ordered), likely=value >= model.floor)


@cache
def load_trained_model() -> ScoreModel:
    """Load the model that ships with kept."""
    return ScoreModel(**json.loads(Path(__file__).with_name("score.json").read_text(encoding="utf-8")))
