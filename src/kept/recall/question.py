"""What a question asks for: its telling words, without those that every text has. Knows nothing of what there is to find."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from kept.core.text import index_words, query_words

MOST_WORDS = 40  # words of a question that are looked for; a long paste has its subject at its ends
_COMPOUND = 5  # letters of a word that is made of two
_FIRST = 3  # letters of the first of them; the second may be as short as in "login"
_LONGEST = 30
_APART = 0.5  # share of the texts with the rarer of two words in which both may stand beside each other and still say something
_SHORT = 12  # telling words of a question whose words are also looked for in two parts
_ENDS = 4_900  # characters looked at, from each end of a long question

# Words that say how a sentence is built, not what it is about, as `index_words` writes them. Where a word of one language means
# something in English (German `die`, French `son`), it is not among them.
_STOP_TEXT = """
    a about above after again all also am an and any are arent as at be because been before being below between both but by can cant
        could couldnt did didnt do does doesnt doing dont down during each few for from further had hadnt has hasnt have havent
    having he
        her here hers herself him himself his how i id if im in into is isnt it its itself ive just lets me more most my myself no
    nor not
        now of off on once only or other our ours ourselves out over own please same she should shouldnt so some such than that
    thats the
        their theirs them themselves then there theres these they this those through to too under until up us very was wasnt we were
    werent
    what whats when where which while who whom why will with wont would wouldnt you your youre yours yourself yourselves
    s t d ll m o re ve
    aber als am an auch auf aus bei bis das dass dem den der dies dieser doch du ein eine einem einen einer er es für
    habe haben ich ihr im in ist ja kann mit nach nicht noch nur oder sein sich sie sind so um und uns von vom was wenn wer wie
    wir wird zu zum zur
    au avec ce ces dans de du en et il je la le les leur lui mais ne nous on ou où par pas qu que qui sa ses
    sont un une vous
    al como del el ella en es esta este la las lo los muy más no nos o para pero por que si su sus un una y ya
    ao da das do dos e em foi isso mais mas na nas não no nos os ou para pela pelo por quando que sem seu sua são também um uma
"""
_STOP = frozenset(_STOP_TEXT.split())
_EMPTY_TEXT = """
        happen happened happening work worked working going went tell told show everything anything done decide decided deciding
    decisions
    discuss discussed talk talked say said learn learned learnt finish finished
"""
_EMPTY = frozenset(_EMPTY_TEXT.split())


def is_telling(text: str) -> bool:
    """Whether a text has any word that tells what it is about."""
    return any(word not in _STOP and word not in _EMPTY for word in query_words(text))


def telling_words(text: str) -> tuple[str, ...]:
    """The words of a question to look for: at most :data:`MOST_WORDS`, each once; all where none tells more than another."""
    whole = text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}"
    words = query_words(whole, most=10 * MOST_WORDS)
    telling = tuple(word for word in words if word not in _STOP)
    return (telling or words)[:MOST_WORDS]


def find_compounds(text: str) -> tuple[tuple[str, str, str], ...]:
    """Words beside each other in a text, and what they are as one ("change log": changelog), unless grammar is all they have."""
    words = index_words(text[:_ENDS]).split()
    pairs = dict.fromkeys(pair for pair in pairwise(words) if not _STOP.issuperset(pair))
    return tuple((*pair, "".join(pair)) for pair in pairs if all(map(_is_compound_part, pair)) and len("".join(pair)) >= _COMPOUND)


def build_phrases(words: Sequence[str], compounds: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """What may be looked for beside telling words: two of them beside each other, ``compounds`` (of :func:`find_compounds`) as
    one word, and in a short question the two words that each may be made of ("changelog": "change log" among them). Most of it
    nobody says.
    """
    found = [f"{first} {second}" for first, second in pairwise(words)]
    found += [whole for *_, whole in compounds]
    found += [phrase for word in words for phrase in _split_compound(word)] if len(words) <= _SHORT else []
    return tuple(dict.fromkeys(found))


def select_search_terms(
    words: Sequence[str], phrases: Iterable[str], counts: Mapping[str, int], most: int | None = None
) -> tuple[str, ...]:
    """Which words and phrases are looked for, by how many texts have each (``counts``).

    A phrase of two of the words counts where they also stand apart: a name of two words says no more than one of them. With
    ``most`` only the rarest words are taken, as many as are together in so many texts; one of them at least.
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
