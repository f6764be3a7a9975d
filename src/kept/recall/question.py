"""Extract search terms from a question: its words without stop words, and phrases. Pure: it does not use the index."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from kept.core.text import index_words, query_words

MOST_WORDS = 40  # maximum number of words that are searched for
_COMPOUND = 5  # minimum length of a compound word
_FIRST = 3  # minimum length of the first part of a compound. The second part may be shorter, as in "login".
_LONGEST = 30
_APART = 0.5  # a phrase is searched for only if at most this share of the texts with its rarer word contain it
_SHORT = 12  # in a question of at most this many words, each word is also split in two ("changelog": "change log")
_ENDS = 4_900  # characters read at each end of a long question, because a long paste has its subject at its ends

# Stop words build a sentence but do not show its topic. They are written as `index_words` writes them. A word of another language
# that means something in English (German `die`, French `son`) is not in the list.
_STOP_TEXT = """
    a about above after again all also am an and any are arent as at be because been before being below between both but by can cant
    could couldnt did didnt do does doesnt doing dont down during each few for from further had hadnt has hasnt have havent having
    he her here hers herself him himself his how i id if im in into is isnt it its itself ive just lets me more most my myself no
    nor not now of off on once only or other our ours ourselves out over own please same she should shouldnt so some such than that
    thats the their theirs them themselves then there theres these they this those through to too under until up us very was wasnt
    we were werent what whats when where which while who whom why will with wont would wouldnt you your youre yours yourself
    yourselves
    s t d ll m o re ve
    aber als am an auch auf aus bei bis das dass dem den der dies dieser doch du ein eine einem einen einer er es für habe haben ich
    ihr im in ist ja kann mit nach nicht noch nur oder sein sich sie sind so um und uns von vom was wenn wer wie wir wird zu zum zur
    au avec ce ces dans de du en et il je la le les leur lui mais ne nous on ou où par pas qu que qui sa ses sont un une vous
    al como del el ella en es esta este la las lo los muy más no nos o para pero por que si su sus un una y ya
    ao da das do dos e em foi isso mais mas na nas não no nos os ou para pela pelo por quando que sem seu sua são também um uma
"""
_STOP = frozenset(_STOP_TEXT.split())
_EMPTY_TEXT = """
    happen happened happening work worked working going went tell told show everything anything done decide decided deciding
    decisions discuss discussed talk talked say said learn learned learnt finish finished
"""
_EMPTY = frozenset(_EMPTY_TEXT.split())


def is_telling(text: str) -> bool:
    """True if a text contains a word that shows its topic."""
    return any(word not in _STOP and word not in _EMPTY for word in query_words(text))


def telling_words(text: str) -> tuple[str, ...]:
    """At most :data:`MOST_WORDS` distinct words of a question. Stop words are left out if the question has other words."""
    whole = text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}"
    words = query_words(whole, most=10 * MOST_WORDS)
    telling = tuple(word for word in words if word not in _STOP)
    return (telling or words)[:MOST_WORDS]


def find_compounds(text: str) -> tuple[tuple[str, str, str], ...]:
    """Each pair of adjacent words with its compound: ("change", "log", "changelog"). Pairs of two stop words are left out."""
    words = index_words(text[:_ENDS]).split()
    pairs = dict.fromkeys(pair for pair in pairwise(words) if not _STOP.issuperset(pair))
    return tuple((*pair, "".join(pair)) for pair in pairs if all(map(_is_compound_part, pair)) and len("".join(pair)) >= _COMPOUND)


def build_phrases(words: Sequence[str], compounds: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """The phrases to search for in addition to the words.

    They are the pairs of adjacent ``words`` and the compounds from :func:`find_compounds`. For a short question, they also include
    every split of a word into two ("changelog": "change log" and others). Most of these splits occur in no text.
    """
    found = [f"{first} {second}" for first, second in pairwise(words)]
    found += [whole for *_, whole in compounds]
    found += [phrase for word in words for phrase in _split_compound(word)] if len(words) <= _SHORT else []
    return tuple(dict.fromkeys(found))


def select_search_terms(
    words: Sequence[str], phrases: Iterable[str], counts: Mapping[str, int], most: int | None = None
) -> tuple[str, ...]:
    """The words and phrases to search for. ``counts`` maps each of them to the number of texts that contain it.

    A phrase of two words is used only if the words often occur apart. If they mostly occur together, the phrase says no more than
    one of them. With ``most``, only the rarest words are used. Their counts add up to at most ``most``, but at least one word is
    used.
    """
    taken = words if most is None else _rarest_words(words, counts, most)
    pairs = {f"{first} {second}": min(counts[first], counts[second]) for first, second in pairwise(words)}
    return (*taken, *(phrase for phrase in phrases if 0 < counts[phrase] <= _APART * pairs.get(phrase, counts[phrase] / _APART)))


def _rarest_words(words: Sequence[str], counts: Mapping[str, int], most: int) -> list[str]:
    total, found = 0, list[str]()
    for word in sorted(words, key=lambda each: counts[each]):
        total += counts[word]
        if found and total > most:
            break
        found.append(word)
    return found


def _split_compound(word: str) -> Iterator[str]:
    if _COMPOUND <= len(word) <= _LONGEST and _is_compound_part(word):
        for cut in range(_FIRST, len(word) - 1):
            if word[:cut] not in _STOP:
                yield f"{word[:cut]} {word[cut:]}"


def _is_compound_part(word: str) -> bool:
    return len(word) > 1 and word.isascii() and word.isalpha()
