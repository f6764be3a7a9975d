"""How near a memory is to what was just said, by words alone, and its score. Pure; knows neither store nor model.

Nearness asks how telling the shared words are in this person's own texts, and how much of the memory and of the message they make
up. A word that is everywhere says nothing, so a message that shares only such words with a memory is not near it.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from math import exp, log, log1p
from typing import NamedTuple

from kept.core.text import tokenize

_MANNER = frozenset(
    {"always", "never", "ask", "asks", "asked", "asking", "prefer", "prefers", "preferred", "want", "wants", "please"}
)
_EVERYDAY_TEXT = """
    able across add added again already another anything around away back bad base based best better big bit button call called case
        cases change changed changes check clean clear close code come comes complete copy correct could create created current
    data day
        days default delete detail details different do done easy edit empty end entire every everything example exist existing
    explain explains fast field
        file files find first fix fixed follow found full function get give given go goes going good great group half hand happen
    hard
        have head help high hold idea implement important instead issue item items job just keep kind know large last later leave
    left
        less let level like line lines list little load local long look looks lot main make makes making man many match mean means
    method middle might missing module move must name names near need needed needs new next nice night note nothing number
        often ok old one open option options order page pages part parts people perhaps place plain plan plans point possible
    probably problem problems project put question questions quick quite read ready real really reason remove rename replace reply
    report result results return right rule rules run same save say second section see seem seems send sends set sets short should
    show shows side simple single size small something sort start starts state step steps still stop story style such sure system
        table take takes talk task tell ten text than thing things think third time times title today together told top total
    try turn two type types understand update use used user users uses value values variable version very view wait walk way ways
    week well went whole word words work works world write writes written wrong year yearly years yes yesterday
    alle alles andere anderen bitte danke datei dazu den des die diese diesen durch einmal erkläre ersten etwas für geht ganz gibt
    gut hier immer jetzt keine kleine machen mehr mein muss neue neuen noch ohne passt satz schon schreib sehr seine über und unter
    viel war warum welche weiter werden wie wieder wo zwei
    aussi autre bien cela cette chaque comme comment deux donc elle être faire fait merci même moi oui petit peu plus pourquoi
    quelle sans ses tous tout très
    así bien cada como cuál cuando desde dos donde ella está gracias hacer hasta mismo muy otra otro porque qué quiero ser sobre
    también tiene toda todo
    aqui assim até bem cada com como depois ela está fazer isso mesmo meu muito obrigado outra outro porque qual quero ser sobre tem
    toda todo você
"""
_EVERYDAY = frozenset(_EVERYDAY_TEXT.split())
_HEX = frozenset("0123456789abcdef")
_ENDINGS = ("ings", "ing", "ers", "er", "ies", "ed", "es", "en", "s", "e", "y")
_CROWD = 1_000  # texts a store is taken to have at least: in a small one every word is rare
PROJECT = 30  # and what was worked on in a project
_UNKNOWN = 0.6  # what a word of a memory counts that the message does not share
TELLING = 0.4  # from this weight on a word tells something
FLOOR = 0.3
NEAR = 0.47  # what is less near than that was of no use to two readers out of three (docs/labels)
_USUAL, _SPREAD, _SUPPOSED = 0.08, 0.1, 20  # average and deviation that are supposed where there are few, as of so many memories
_FITTED = 84  # memories of a project of those on whose prompts the weights were fitted
_FAR, _STEP = 0.2, 0.15  # cosine of texts about different matters, and what counts as a deviation above it anywhere
_SOLID = 0.53  # a nearness by words that needs no meaning
# Of a logistic fit (benchmarks/asking.py); the floor of 0.3 lies where 98 of 100 unrelated messages get nothing.
_BASE, _APART, _SHARED, _TOPICAL, _ALWAYS = -4.72, 1.1, 1.06, 5.32, 5.43
ACROSS = 0.65  # deviations that a memory in another language counts more: no word could be shared
DOUBT = ""  # as what the doubt stands among memories' ids
_TOPIC, _TOPIC_WORD = 0.5, 0.08  # the nearness of what belongs to a topic, and what each word of the topic adds
_IN_PASSING = 0.4  # the share of that where the message asks for more
CLEAR = 0.93  # what is so near is shown beyond the first few
FEW, FURTHER = 3, 1.9  # and of these few, how many times the floor each beside the first needs: one answers most requests
_LATE = 0.8  # the weight that what was worked on in the last days must share with a message
_THREE = 1.5  # the weight that three shared words must have together
_ENOUGH = 1.5  # the weight that shared words must have together,
_NAME = 0.4  # to which it counts that one is a name the text is about
_SINGULAR = 0.85  # and the weight of one that is enough by itself
PLAIN = 0.5  # what an everyday word weighs at most: in a small store it is rare by chance
_RARE = 0.5  # from this weight on a word tells one thing of a project from the others
_TOLD = 0.9  # share of a text's words from which on a message says it itself
_AGAIN = 0.8  # share of a request's words from which on a message makes the same request
_SENTENCE = 4  # words of a request from which on that can be said
_MANY = 50  # uses at which the boost is whole


class RecallWeights(NamedTuple):
    """What the formula weighs with and what it lets through, as the settings of
    :class:`kept.local.recall_settings.RecallSettings` say it.

    A named tuple, for a hook has no time to import dataclasses.
    """

    floor: float = 0.3
    most: int = 15
    recent_boost: float = 0.1
    recent_days: float = 7.0
    use_boost: float = 0.05


SEED = RecallWeights()


def parse_weights(settings: Mapping[str, object]) -> RecallWeights:
    """The weights in a table of settings; what is not there, or no number, is as the seed has it."""
    given = {name: settings.get(name) for name in RecallWeights._fields}
    return SEED._replace(**{name: type(getattr(SEED, name))(each) for name, each in given.items() if isinstance(each, int | float)})


def fact_score(
    similarity: float, *, last_seen: datetime | None, now: datetime, uses: int, confidence: float, weights: RecallWeights
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


def is_telling_word(word: str) -> bool:
    """Whether a word (of :func:`kept.core.text.index_words`) can tell what a text is about: no number, no piece of
    an id, no single letter, and none that says how a rule or a wish is put.
    """
    if not word.isascii():
        return True
    if word in _MANNER:
        return False
    letters = sum(map(str.isalpha, word))
    return len(word) > 2 and letters > 1 and not (letters < len(word) and len(word) > 5 and set(word) <= _HEX)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without the commonest endings, so that two forms of one word count once. Not how the index finds them."""
    for _ in range(2):  # of "deployed" two, for "deploy" loses its y
        word = next((word[: -len(end)] for end in _ENDINGS if word.endswith(end) and len(word) - len(end) > 2), word)
    return word


def word_weight(count: int, texts: int, least: int = _CROWD) -> float:
    """How telling a word is that ``count`` of ``texts`` texts have (``least`` at least): 0 (all of them) to 1 (none), the logarithm
    of its rarity.
    """
    crowd = max(texts, least)
    return max(0.0, log((crowd + 1) / (count + 1)) / log(crowd + 1))


def has_enough_in_common(shared: Sequence[float], named: int) -> bool:
    """Whether shared words with these weights, ``named`` of them names that the text is about, make it near at all."""
    telling = [item for item in shared if item >= TELLING]
    common = sum(telling) + _NAME * (named > 0)
    return common >= _ENOUGH if len(telling) > 1 else max(telling, default=0.0) >= _SINGULAR


def nearness_score(shared: Sequence[float], named: int, own: int, asked: Sequence[float]) -> float:
    """How near a text is to a message: 0, or from 0.3 to 1.

    ``shared`` are the weights of what both name, ``named`` of these are names the text is about (its artifacts), ``own`` is how
    much the text names, ``asked`` are the weights of what the message names. 0 where too little is shared. Above the floor it grows
    with the geometric mean of the shares of the text and of the message (its eight most telling names) that are common to both.
    """
    if not has_enough_in_common(shared, named):
        return 0.0
    telling = [item for item in shared if item >= TELLING]
    common = sum(telling)
    of_text = common / (common + _UNKNOWN * max(0, own - len(telling)))
    of_message = min(1.0, common / sum(sorted(asked, reverse=True)[:8]))
    found = FLOOR + (1.0 - FLOOR) * float((of_text * of_message) ** 0.5)
    return found if found >= NEAR else 0.0


class Spread(NamedTuple):
    """What a message has in common with the memories of its scopes: average and deviation of cosines, and how many there are."""

    usual: float
    deviation: float
    memories: int

    def deviations_above(self, cosine: float) -> float:
        """By how many deviations a cosine is above the usual one; a high cosine counts also where all memories are near.

        Less by what memories are above it by chance where there are many, and more where there are few: a message needs about as
        many memories of a large project as of a small one, so each of them is needed the less.
        """
        crowd = log((self.memories + _SUPPOSED) / (_FITTED + _SUPPOSED)) / _APART
        return max((cosine - self.usual) / self.deviation, (cosine - _FAR) / _STEP) - crowd


def cosine_spread(cosines: Collection[float], memories: int) -> Spread:
    """The spread of the cosines with some of so many memories; where there are few, as of some more.

    Memories of one project are about one matter: any message in it is near to all of them, and absolute cosines tell little.
    """
    count = len(cosines) + _SUPPOSED
    usual = (sum(cosines) + _SUPPOSED * _USUAL) / count
    squares = sum((cosine - usual) ** 2 for cosine in cosines) + _SUPPOSED * (_SPREAD**2 + (_USUAL - usual) ** 2)
    return Spread(usual, float((squares / count) ** 0.5), memories)


class Likeness(NamedTuple):
    """How near a memory is to a message: by ``words`` alone (0 or a share), by the weight of the most telling word that both name,
    by the words of its ``topic``, and by ``meaning``: by how many deviations its cosine is above those of the other memories, None
    where no meanings were compared. ``doubt`` tells how little the message asks for what is remembered, ``always`` that the memory
    is shown at the start of every session.
    """

    words: float
    telling: float
    topic: float
    meaning: float | None
    doubt: float = 0.0
    always: bool = False

    def relevance(self, *, words_alone: bool = False) -> float:
        """How likely it is to help, as a share by which the floor counts. With ``words_alone`` many words in common are enough."""
        if self.meaning is None:
            return max(self.words, self.topic)
        weight = _BASE + _APART * self.meaning + _SHARED * self.telling + _TOPICAL * self.topic - self.doubt - _ALWAYS * self.always
        return max(1.0 / (1.0 + exp(-weight)), self.words if words_alone and self.words >= _SOLID else 0.0)


def topic_nearness(belonging: int, *, bare: bool) -> float:
    """How near a memory is that has so many words of the topic of a message, ``bare`` where it asks for hardly anything else."""
    return (_TOPIC + _TOPIC_WORD * min(belonging, 4)) * (1.0 if bare else _IN_PASSING) if belonging else 0.0


def is_related_work(shared: Sequence[float]) -> bool:
    """Whether what was worked on shares enough with a message: rare words of the project, several and together telling.

    Two words that name the area (a page, a layout) are shared by most of what was done there.
    """
    rare, common = sum(item >= _RARE for item in shared), sum(shared)
    return (rare >= 2 and common >= 1.9) or (rare >= 3 and common >= _THREE)


def is_related_recent_work(shared: Sequence[float]) -> bool:
    """Whether what was worked on in the last days has to do with a message: one rare word of the project, and something more."""
    return any(item >= _RARE for item in shared) and sum(shared) >= _LATE


def is_already_said(message: str, text: str) -> bool:
    """Whether a message says a text itself: nearly all of its words."""
    words = tokenize(text)
    return len(words & tokenize(message)) >= _TOLD * max(1, len(words))


def is_similar_request(message: str, request: str) -> bool:
    """Whether a request is another one of the message's kind: the same in other words' places, or about other numbers.

    "Implement task 4.9 of the plan" tells nothing of task 4.10, and neither does "continue with the plan" of the next time it is
    said.
    """
    said, asked = tokenize(message), tokenize(request)
    ours, theirs = _numeric_labels(said), _numeric_labels(asked)
    if ours and theirs and not ours & theirs:
        return True
    plain = frozenset(item for item in asked if not any(map(str.isdigit, item)))
    return len(plain) >= _SENTENCE and len(plain & said) >= _AGAIN * len(plain)


def _numeric_labels(words: frozenset[str]) -> frozenset[str]:
    """The numbers that name something (a task, an issue, a version): with a dot, or of two digits and more. Others count things."""
    return frozenset(word for word in words if word[:1].isdigit() and len(word) > 1 and not any(map(str.isalpha, word)))


def word_weights(counts: Mapping[str, int], texts: int) -> dict[str, float]:
    """The weight of every word."""
    return {word: min(word_weight(count, texts), PLAIN if word in _EVERYDAY else 1.0) for word, count in counts.items()}
