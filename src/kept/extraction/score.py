"""The score by which proposals that wait are ranked: a logistic model over seven named features of a passage.

``benchmarks/train_score.py`` trains the weights in ``score.json`` on annotated turns. Trained on one project and tried on
another, five of the ten best are right, and the odds are off by more than ten points. So the score orders what a person is
shown, is told as a rank, never as a probability, and decides nothing. Pure.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from math import log2
from pathlib import Path

from kept.core.artifact import find_artifacts
from kept.core.lexicon import TellingPatterns
from kept.core.memory import WISH
from kept.core.text import tokenize
from kept.core.value import dataclass
from kept.extraction.rules.patterns import count_mass, has_match
from kept.profiles.lexicons import word_list

NEAR = 3  # events before a prompt among which a reply counts as standing before it
_WE, _WE_UNSPACED = (word_list("assertion", "we", spaced=apart) for apart in (True, False))
_QUESTION = ("?", "？")


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """What a passage scores (higher is better, the log of its odds), and what each feature adds to it, the largest first."""

    value: float
    terms: tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreModel:
    """The trained weights, by feature, and the bias."""

    bias: float
    weights: Mapping[str, float]


def features(words: str, *, trigger: str, after_reply: bool, patterns: Sequence[TellingPatterns]) -> dict[str, float]:
    """The features of a passage: whether a reply stands before its prompt; ``patterns`` are those of the profile's languages."""
    return {
        "length": log2(1 + count_mass(words)),
        "question": float(words.rstrip().endswith(_QUESTION)),
        "says we": float(not _WE.isdisjoint(tokenize(words)) or any(map(words.__contains__, _WE_UNSPACED))),
        "after a reply": float(after_reply),
        "explicit telling": float(trigger != WISH),
        "names a file or command": float(bool(find_artifacts(words))),
        "points outside itself": float(any(has_match(language.outside, words) for language in patterns)),
    }


def score(values: Mapping[str, float], model: ScoreModel | None = None) -> Score:
    """The score of a passage with these features."""
    model = model or load_trained_model()
    terms = {name: model.weights[name] * value for name, value in values.items() if value}
    ordered = sorted(terms.items(), key=lambda term: (-abs(term[1]), term[0]))
    return Score(value=model.bias + sum(terms.values()), terms=tuple(ordered))


@cache
def load_trained_model() -> ScoreModel:
    """The model that comes with kept."""
    body = json.loads(Path(__file__).with_name("score.json").read_text(encoding="utf-8"))
    return ScoreModel(bias=body["bias"], weights=body["weights"])
