"""Ranking: words, meanings and what was said around, as one score. One way for everything; what it was chosen on is in docs/log.md.

Scores are shares of the best one: BM25 over the best BM25 of the search, the cosine above what unrelated texts have over the best
cosine (a convex sum of such shares beats ranks on every set that was measured).
"""

from collections.abc import Iterable, Mapping, Sequence
from math import log

WORDS = 0.5  # the share of words in a score; the rest is that of meanings
REPLY = 0.3  # what the words of an assistant count: it says much, and less of it is looked for
AROUND = 0.2  # what a turn gets of the scores of the turns before and after it: an answer is found by its question
CONVERSATION = 0.2  # what a turn's conversation as a whole counts beside the turn itself
TIME = 0.25  # what a score gains where the question names a time and the item is of it
_UNRELATED = 0.2  # the cosine that texts have which have nothing to do with each other
_LEAST_BEST = 0.3  # a best cosine below this is none


_K1, _B = 1.2, 0.75  # of BM25, as usual


def fuse_scores(
    words: Mapping[int, float], meanings: Mapping[int, float], replies: frozenset[int] = frozenset()
) -> dict[int, float]:
    """The score of each item, in [0, 1], of its BM25 score and its cosine; ``replies`` are what an assistant said."""
    said = [score for item, score in words.items() if item not in replies]
    most = max(said or words.values(), default=0.0)
    near = max(max(meanings.values(), default=0.0), _LEAST_BEST) - _UNRELATED
    scores: dict[int, float] = {}
    for item in words.keys() | meanings.keys():
        spoken = min(words.get(item, 0.0) / most, 1.2) if most > 0 else 0.0
        meant = max(meanings.get(item, 0.0) - _UNRELATED, 0.0) / near
        scores[item] = REPLY * spoken if item in replies else WORDS * spoken + (1 - WORDS) * meant
    return scores


def add_surroundings(scores: Mapping[int, float], around: Mapping[int, Iterable[int]], replies: frozenset[int]) -> dict[int, float]:
    """Scores with a share of those of the turns before and after; turns that nothing else found come in by it.

    ``around`` gives the turns next to a turn. What an assistant said gives a share and gets none: its questions stand before it.
    """
    raised = dict(scores)
    for item, others in around.items():
        for other in others:
            if other not in replies and item in scores:
                raised[other] = raised.get(other, 0.0) + AROUND * scores[item]
    return raised


def conversation_scores(told: Sequence[Mapping[int, tuple[int, int]]], count: int, events: int) -> dict[int, float]:
    """How much of a question each conversation tells as a whole, as a share of the best one.

    ``told`` gives for each word the conversations that have it, in how many turns, and their lengths in events; ``count`` and
    ``events`` are those of all conversations. BM25 (Robertson and Zaragoza 2009) with a turn as the occurrence of a word.
    """
    usual = max(1.0, events / max(1, count))
    scores: dict[int, float] = {}
    for item in told:
        rarity = log(1 + (max(count - len(item), 0) + 0.5) / (len(item) + 0.5))
        for each, (turns, length) in item.items():
            share = turns * (_K1 + 1) / (turns + _K1 * (1 - _B + _B * length / usual))
            scores[each] = scores.get(each, 0.0) + rarity * share
    best = max(scores.values(), default=0.0)
    return {each: score / best for each, score in scores.items()} if best > 0 else {}


def add_conversation_score(score: float, worth: float) -> float:
    """The score of a turn with what its conversation as a whole is worth; still a share, so that turns stand beside memories."""
    return (score + CONVERSATION * worth) / (1 + CONVERSATION)
