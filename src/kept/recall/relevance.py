"""Compute how near a memory is to a message, and its score. Pure: it uses neither the store nor a model.

Nearness by words depends on two things: how rare the shared words are in this person's texts, and how much of the memory and of the
message they make up. Common words carry no information, so a message that shares only such words with a memory is not near it.
:class:`Likeness` combines nearness by words with the topic and, if vectors were compared, with the meaning.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import exp, log, log1p

from kept.core.light import NamedTuple, datetime, timedelta
from kept.core.text import tokenize

_MANNER = frozenset(
    {"always", "never", "ask", "asks", "asked", "asking", "prefer", "prefers", "preferred", "want", "wants", "please"}
)
_EVERYDAY_TEXT = """
    able across add added again already another anything around away back bad base based best better big bit button call called case
    cases change changed changes check clean clear close code come comes complete copy correct could create created current data day
    days default delete detail details different do done easy edit empty end entire every everything example exist existing explain
    explains fast field file files find first fix fixed follow found full function get give given go goes going good great group
    half hand happen hard have head help high hold idea implement important instead issue item items job just keep kind know large
    last later leave left less let level like line lines list little load local long look looks lot main make makes making man many
    match mean means method middle might missing module move must name names near need needed needs new next nice night note nothing
    number often ok old one open option options order page pages part parts people perhaps place plain plan plans point possible
    probably problem problems project put question questions quick quite read ready real really reason remove rename replace reply
    report result results return right rule rules run same save say second section see seem seems send sends set sets short should
    show shows side simple single size small something sort start starts state step steps still stop story style such sure system
    table take takes talk task tell ten text than thing things think third time times title today together told top total try turn
    two type types understand update use used user users uses value values variable version very view wait walk way ways week well
    went whole word words work works world write writes written wrong year yearly years yes yesterday
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
_CROWD = 1_000  # a store counts as having at least this many texts, because in a small store every word is rare
PROJECT = 30  # a project counts as having at least this many notes, for the same reason
_UNKNOWN = 0.6  # weight of a name in a memory that the message does not share
TELLING = 0.4  # minimum weight of a telling word
FLOOR = 0.3
NEAR = 0.47  # two of three readers had no use for results below this (docs/labels)
_USUAL, _SPREAD, _SUPPOSED = 0.08, 0.1, 20  # prior for cosines: mean, deviation, and the number of memories that it counts as
_FITTED = 84  # memories per project in the data to which the weights were fitted
_FAR, _STEP = 0.2, 0.15  # a cosine of unrelated texts, and the distance above it that counts as one deviation
_SOLID = 0.53  # minimum nearness by words that suffices without nearness in meaning
# Coefficients of a logistic fit (benchmarks/asking.py). At the floor of 0.3, 95 to 98 of 100 unrelated messages get nothing.
_BASE, _APART, _SHARED, _TOPICAL, _ALWAYS = -5.0, 1.21, 1.02, 5.06, 5.21
_NEEDED = 2.0  # coefficient of the nearness by words of the best request in ``needed_for``
_CLOSE = 0.56  # minimum of that nearness that suffices without meaning. It is high because requests are short.
_WANTED, _ALIKE = 1.1, 1.8  # a request adds _WANTED deviations to its memory for each deviation of its cosine beyond _ALIKE
ACROSS = 0.65  # deviations added to a memory in another language than the message, because the two cannot share words
DOUBT = ""  # key of the doubt (see Likeness) in a mapping of memory ids
DOUBTED = 2.0  # factor for that doubt: messages that ask for something remembered hardly ever have any
_TOPIC, _TOPIC_WORD = 0.5, 0.08  # nearness of a memory about the topic, and the addition for each topic word in it
_IN_PASSING = 0.4  # factor for that nearness if the message asks for more than its topic
CLEAR = 0.93  # minimum nearness of each result after the first FEW
FEW, FURTHER = 3, 1.9  # results 2 to FEW need FURTHER times the floor, because one memory answers most requests
_LATE = 0.8  # minimum total weight that recent work shares with a message
_THREE = 1.5  # minimum total weight of three shared words
_ENOUGH = 1.5  # minimum total weight of several shared words
_NAME = 0.4  # added to that total if one of them is a name that the text is about
_SINGULAR = 0.85  # minimum weight of a single shared word
PLAIN = 0.5  # maximum weight of an everyday word, which may be rare by chance in a small store
_RARE = 0.5  # minimum weight of a word that distinguishes one task of a project from the others
_TOLD = 0.9  # minimum share of a text's words in a message that already says the text
_AGAIN = 0.8  # minimum share of a request's words in a message that repeats the request
_SENTENCE = 4  # minimum number of words of a request for that comparison
_MANY = 50  # number of uses at which the boost reaches its maximum


class RecallWeights(NamedTuple):
    """The weights and limits of the score, named as in :class:`kept.local.recall_settings.RecallSettings`."""

    floor: float = 0.3
    most: int = 15
    recent_boost: float = 0.1
    recent_days: float = 7.0
    use_boost: float = 0.05


DEFAULT_WEIGHTS = RecallWeights()


def parse_weights(settings: Mapping[str, object]) -> RecallWeights:
    """The weights in a table of settings. A value that is missing or not a number is taken from ``DEFAULT_WEIGHTS``."""
    given = {name: settings.get(name) for name in RecallWeights._fields}
    return DEFAULT_WEIGHTS._replace(
        **{name: type(getattr(DEFAULT_WEIGHTS, name))(each) for name, each in given.items() if isinstance(each, int | float)}
    )


def fact_score(
    similarity: float, *, last_seen: datetime | None, now: datetime, uses: int, confidence: float, weights: RecallWeights
) -> float:
    """(similarity + recency + use) x confidence.

    Recency is ``recent_boost`` for a fact seen just now and falls linearly to 0 at an age of ``recent_days``. A time in the future
    counts as now. Use is ``use_boost`` times log(1 + uses) / log(51), at most ``use_boost``, so each further use adds less.
    """
    recency = 0.0
    if last_seen is not None and weights.recent_days > 0:
        age = max(now - last_seen, timedelta()) / timedelta(days=weights.recent_days)
        recency = weights.recent_boost * max(0.0, 1 - age)
    used = weights.use_boost * min(1.0, log1p(max(uses, 0)) / log1p(_MANY))
    return (similarity + recency + used) * confidence


def is_telling_word(word: str) -> bool:
    """True if a word (of :func:`kept.core.text.index_words`) can show the topic of a text.

    Four kinds of words cannot: numbers, parts of hexadecimal ids, words of one or two letters, and words that only phrase a rule or
    a wish ("always").
    """
    if not word.isascii():
        return True
    if word in _MANNER:
        return False
    if word.isalpha():
        return len(word) > 2
    letters = sum(map(str.isalpha, word))
    return len(word) > 2 and letters > 1 and not (letters < len(word) and len(word) > 5 and set(word) <= _HEX)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without the commonest English endings, so that two forms of a word count once. The index does not use stems."""
    for _ in range(2):  # "deployed" loses two endings, because "deploy" loses its y
        word = next((word[: -len(end)] for end in _ENDINGS if word.endswith(end) and len(word) - len(end) > 2), word)
    return word


def word_weight(count: int, texts: int, least: int = _CROWD) -> float:
    """The weight of a word that occurs in ``count`` of ``texts`` texts.

    It falls with the logarithm of ``count``, from 1 for a word in no text to 0 for a word in all. Fewer texts than ``least`` count
    as ``least``.
    """
    crowd = max(texts, least)
    return max(0.0, log((crowd + 1) / (count + 1)) / log(crowd + 1))


def has_enough_in_common(shared: Sequence[float], named: int) -> bool:
    """True if a text that shares words with these weights is near. ``named`` is how many of them are artifacts of the text."""
    telling = [item for item in shared if item >= TELLING]
    common = sum(telling) + _NAME * (named > 0)
    return common >= _ENOUGH if len(telling) > 1 else max(telling, default=0.0) >= _SINGULAR


def nearness_score(shared: Sequence[float], named: int, own: int, asked: Sequence[float]) -> float:
    """How near a text is to a message by words: 0, or from :data:`NEAR` to 1.

    ``shared`` contains the weights of the names in both. ``named`` is how many of them are artifacts of the text. ``own`` is the
    number of names in the text. ``asked`` contains the weights of the names in the message.

    The result is 0 if :func:`has_enough_in_common` is false. Otherwise it grows from :data:`FLOOR` to 1 with the geometric mean of
    two shares: the shared part of the text's names, and the shared part of the message's eight heaviest names. A result below
    :data:`NEAR` becomes 0.
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
    """The mean and standard deviation of a message's cosines with the memories of its scopes, and the number of these memories."""

    usual: float
    deviation: float
    memories: int

    def deviations_above(self, cosine: float) -> float:
        """The number of deviations by which a cosine is above the mean.

        A high cosine counts even if it is not above the mean, because all memories may be near the message. The result is lower if
        there are many memories and higher if there are few. A message needs about as many memories of a large project as of a small
        one, so each memory of a large project is less likely to be needed.
        """
        crowd = log((self.memories + _SUPPOSED) / (_FITTED + _SUPPOSED)) / _APART
        return max((cosine - self.usual) / self.deviation, (cosine - _FAR) / _STEP) - crowd


def cosine_spread(cosines: Collection[float], memories: int) -> Spread:
    """The spread of a message's cosines, given its cosines with a sample of the ``memories`` memories.

    A prior is added to the sample. It matters only if the sample is small. The memories of a project are about related matters, so
    any message in the project is near all of them. Absolute cosines therefore say little.
    """
    count = len(cosines) + _SUPPOSED
    usual = (sum(cosines) + _SUPPOSED * _USUAL) / count
    squares = sum((cosine - usual) ** 2 for cosine in cosines) + _SUPPOSED * (_SPREAD**2 + (_USUAL - usual) ** 2)
    return Spread(usual, float((squares / count) ** 0.5), memories)


def weigh_requests(cosines: Mapping[int, float], usual: Collection[float], memories: int) -> dict[int, float]:
    """Memory → the deviations that its nearest request adds to it. A memory to which none are added is left out.

    ``cosines`` maps each memory to the cosine of its nearest request. ``usual`` contains such cosines for a sample of the
    ``memories`` memories.
    """
    spread = cosine_spread(usual, max(memories, _FITTED))  # a request is no more likely to match in a small project
    return {item: more for item, cosine in cosines.items() if (more := _WANTED * (spread.deviations_above(cosine) - _ALIKE)) > 0}


class Likeness(NamedTuple):
    """The features that decide how near a memory is to a message.

    ``words`` is the result of :func:`nearness_score`. ``telling`` is the weight of the heaviest shared word. ``topic`` is the
    result of :func:`topic_nearness`. ``meaning`` is the number of deviations by which the memory's cosine exceeds those of the
    other memories. It is None if meanings were not compared. ``doubt`` is taken off the log odds, because the message may ask for
    nothing remembered. ``always`` is true if the memory is shown at the start of every session. ``needed`` is the nearness by
    words of the nearest request in ``needed_for``.
    """

    words: float
    telling: float
    topic: float
    meaning: float | None
    doubt: float = 0.0
    always: bool = False
    needed: float = 0.0

    def relevance(self, *, words_alone: bool = False) -> float:
        """How likely the memory is to help, from 0 to 1, to be compared with the floor.

        With ``words_alone``, nearness by words can be enough even if the meaning is not near.
        """
        needed = self.needed if self.needed >= _CLOSE else 0.0
        if self.meaning is None:
            return max(self.words, self.topic, needed)
        near = _APART * self.meaning + _SHARED * self.telling + _TOPICAL * self.topic + _NEEDED * self.needed
        weight = _BASE + near - self.doubt - _ALWAYS * self.always
        worded = max(self.words, needed)
        return max(1.0 / (1.0 + exp(-weight)), worded if words_alone and worded >= _SOLID else 0.0)


def topic_nearness(belonging: int, *, bare: bool) -> float:
    """The nearness of a memory that contains ``belonging`` words of the message's topic.

    ``bare`` is true if the message asks for almost nothing besides its topic.
    """
    return (_TOPIC + _TOPIC_WORD * min(belonging, 4)) * (1.0 if bare else _IN_PASSING) if belonging else 0.0


def is_related_work(shared: Sequence[float]) -> bool:
    """True if earlier work shares enough with a message: several words that are rare in the project, and enough total weight.

    Two words that name an area (a page, a layout) do not suffice, because most work in that area shares them.
    """
    rare, common = sum(item >= _RARE for item in shared), sum(shared)
    return (rare >= 2 and common >= 1.9) or (rare >= 3 and common >= _THREE)


def is_related_recent_work(shared: Sequence[float]) -> bool:
    """True if recent work shares a word that is rare in the project with a message, and the total shared weight is enough."""
    return any(item >= _RARE for item in shared) and sum(shared) >= _LATE


def is_already_said(message: str, text: str) -> bool:
    """True if a message already says a text, because it contains nearly all words of the text."""
    words = tokenize(text)
    return len(words & _tokenize_message(message)) >= _TOLD * max(1, len(words))


_tokenize_message = lru_cache(maxsize=1)(tokenize)  # one message is compared with many memories


def is_similar_request(message: str, request: str) -> bool:
    """True if an earlier request repeats the message, or if both contain numbers but share none.

    In both cases the outcome of the request does not help with the message. The outcome of "implement task 4.9 of the plan" says
    nothing about task 4.10. The outcome of "continue with the plan" says nothing about the next time that someone says this.
    """
    said, asked = tokenize(message), tokenize(request)
    ours, theirs = _numeric_labels(said), _numeric_labels(asked)
    if ours and theirs and not ours & theirs:
        return True
    plain = frozenset(item for item in asked if not any(map(str.isdigit, item)))
    return len(plain) >= _SENTENCE and len(plain & said) >= _AGAIN * len(plain)


def _numeric_labels(words: frozenset[str]) -> frozenset[str]:
    """The words that are the number of a task, an issue or a version. A single digit is a count and is left out."""
    return frozenset(word for word in words if word[:1].isdigit() and len(word) > 1 and not any(map(str.isalpha, word)))


def word_weights(counts: Mapping[str, int], texts: int) -> dict[str, float]:
    """Word → its weight, given the number of texts that contain it. Everyday words weigh at most :data:`PLAIN`."""
    return {word: min(word_weight(count, texts), PLAIN if word in _EVERYDAY else 1.0) for word, count in counts.items()}
