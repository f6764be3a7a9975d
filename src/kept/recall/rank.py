"""Rank search results: combine words, meanings and neighbouring turns into one score. docs/log.md says how the weights were chosen.

Scores are relative to the best of the search. The word score is BM25 divided by the best BM25. The meaning score is the cosine
minus the cosine of unrelated texts, divided by the best such difference. A weighted mean of the two was better than a fusion of
ranks on every data set that was measured.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

WORDS = 0.5  # weight of words in a score; the rest is the weight of meanings
REPLY = 0.3  # weight of an assistant's words, because it writes a lot and people search for little of it
AROUND = 0.2  # share of its score that a turn passes to its neighbours, so that a question leads to its answer
CONVERSATION = 0.2  # weight of the whole conversation beside the turn's own score
TIME = 0.25  # added to the score of an item if its time is named in the question
_UNRELATED = 0.2  # cosine of unrelated texts
_LEAST_BEST = 0.3  # lower bound for the best cosine, so that a search without near texts does not inflate the others
_K1, _B = 1.2, 0.75  # the usual parameters of BM25


class SaidTurn(NamedTuple):
    """A turn that the person typed, and how near it is to a message.

    ``meant`` is the mean of two cosines: of the turn, and of the turn with the turns beside it. It is None if meanings cannot be
    compared. ``shared`` is the share of the message's telling words that the turn contains. ``worded`` is its score by words alone.
    ``item`` is its row, and ``at`` its time in the store's format.
    """

    key: str
    text: str
    session: str
    meant: float | None
    shared: float
    worded: float
    item: int = 0
    at: str = ""


def fuse_scores(
    words: Mapping[int, float], meanings: Mapping[int, float], replies: frozenset[int] = frozenset()
) -> dict[int, float]:
    """The score of each item, in [0, 1], from its BM25 score (``words``) and its cosine (``meanings``).

    ``replies`` are the items that an assistant said. BM25 scores are divided by the best one that is not from a reply, if there is
    one.
    """
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
    """Add a share of each turn's score to the turns before and after it, including turns that the search did not find.

    ``around`` maps a turn to its neighbours. A reply passes on a share but does not get one.
    """
    raised = dict(scores)
    for item, others in around.items():
        for other in others:
            if other not in replies and item in scores:
                raised[other] = raised.get(other, 0.0) + AROUND * scores[item]
    return raised


def conversation_scores(turns_with: Sequence[Mapping[int, tuple[int, int]]], count: int, events: int) -> dict[int, float]:
    """How well each conversation as a whole matches a question, in [0, 1], relative to the best one.

    ``turns_with`` has a mapping for each word of the question, from a conversation to the number of its turns with the word and its
    length in events. ``count`` is the number of all conversations and ``events`` the number of their events. The score is BM25
    (Robertson and Zaragoza 2009). Each turn with a word counts as one occurrence.
    """
    usual = max(1.0, events / max(1, count))
    scores: dict[int, float] = {}
    for by_conversation in turns_with:
        rarity = log(1 + (max(count - len(by_conversation), 0) + 0.5) / (len(by_conversation) + 0.5))
        for conversation, (turns, length) in by_conversation.items():
            share = turns * (_K1 + 1) / (turns + _K1 * (1 - _B + _B * length / usual))
            scores[conversation] = scores.get(conversation, 0.0) + rarity * share
    best = max(scores.values(), default=0.0)
    return {conversation: score / best for conversation, score in scores.items()} if best > 0 else {}


def add_conversation_score(score: float, worth: float) -> float:
    """The score of a turn combined with its conversation's score, scaled so that it stays comparable with scores of memories."""
    return (score + CONVERSATION * worth) / (1 + CONVERSATION)
