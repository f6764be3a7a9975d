"""Find wishes from several sessions that ask for the same thing in different words. Only their words are compared.

Two such wishes share at least two content words and 40 % of the words of each, and negate the same words. They must not have
different words between the same shared words ("never edit the generated files", "never edit the vendored files"), because these
may be two objects and not synonyms.

At least three wishes from several sessions must agree pairwise. Similar rules from one session do not count, because they are
probably a list. Texts in scripts without spaces are not compared. Embeddings found as many wrong groups as right ones
(docs/log.md).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import combinations

from kept.core.pattern import compile_late
from kept.core.statement import STEM, Statement, has_opposites, is_form, parse_statement, stem_word
from kept.core.text import is_cjk
from kept.core.value import dataclass
from kept.extraction.rules.patterns import compile_pattern, find_languages
from kept.profiles.lexicons import join_alternatives, word_list

LEAST_SHARED = 2  # two wishes share at least this many content words
_SHARE = 0.4  # two wishes share at least this share of the content words of each
_MOST_WORDS = 14  # a wish with more words says more than one thing and is not compared
_TOKEN = compile_late(r"[^\W_]+(?:['_./@-]+[^\W_]+)*")
_NAMED = ("weekdays", "months", "languages")


_marker = partial(join_alternatives, "polarity", spaced=True)
# A clause ends at punctuation, at a conjunction, and at a word that excludes something ("without", "instead of").
_CLAUSE = compile_late(rf"[,;:.!?()\n]|\s[-–—]\s|(?<![\w'-])(?:{_marker('clause', 'excludes')})(?![\w'-])", re.IGNORECASE)
_EXCLUDES = compile_late(rf"(?:{_marker('excludes')})", re.IGNORECASE)
_DENIES = compile_late(rf"(?<![\w-])(?:{_marker('denies', 'denies_back')})(?![\w-])", re.IGNORECASE)
_SEQUENCE, _EMPTY = (word_list("polarity", name) for name in ("sequence", "empty"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """The features by which wishes are compared: content words in order, the negated words among them, and the parsed statement.

    ``keys`` are the first letters of each word. ``tells_order`` is True if the wish has a word such as "before". Then the order of
    its words matters.
    """

    says: Statement
    words: tuple[str, ...]
    content: frozenset[str]
    keys: frozenset[str]
    denied: frozenset[str]
    tells_order: bool


@lru_cache(maxsize=20_000)
def parse_wish(text: str, artifacts: tuple[str, ...] | frozenset[str] = ()) -> Wish | None:
    """The features of a wish. Returns None if it is a question, too long, or in a script without spaces."""
    says = parse_statement(text, artifacts)
    if says.asks or any(map(is_cjk, text)):
        return None
    words: list[str] = []
    denied: set[str] = set()
    affirmed: set[str] = set()
    plain = text.casefold().replace("’", "'")
    for clause, is_denied in _split_clauses(plain):
        for token in map(str, _TOKEN.findall(_strip_marks(clause))):
            if (word := stem_word(token)) in says.content and token not in _EMPTY:
                words.append(word)
                (denied if is_denied else affirmed).add(word)
    content = frozenset(words)
    if not LEAST_SHARED <= len(content) <= _MOST_WORDS:
        return None
    return Wish(
        says=says,
        words=tuple(words),
        content=content,
        keys=frozenset(word[:STEM] for word in content),
        denied=frozenset(denied - affirmed),
        tells_order=not _SEQUENCE.isdisjoint(_TOKEN.findall(plain)),
    )


def _split_clauses(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the clauses of a text, each with True if it is negated. "Without" reverses the negation of the clause before it."""
    begin, before, mark = 0, False, ""
    for end in (*_CLAUSE.finditer(text), None):
        clause = text[begin : end.start() if end else len(text)]
        is_denied = not before if mark and _EXCLUDES.fullmatch(mark) else _DENIES.search(clause) is not None
        yield clause, is_denied
        before = is_denied if clause.strip() else before
        begin, mark = (end.end(), end[0]) if end else (begin, "")


def _strip_marks(clause: str) -> str:
    """A clause without the words that express a wish in its language ("always", "make sure")."""
    for patterns in find_languages("wish", clause):
        clause = compile_pattern(patterns.wish).sub(" ", clause)
    return clause


def is_same_in_other_words(left: Wish | None, right: Wish | None) -> bool:
    """True if two wishes may ask for the same thing in different words. False if one is None and cannot be compared."""
    if left is None or right is None or left.says.numbers != right.says.numbers:
        return False
    keys = left.keys & right.keys  # forms of one word begin alike
    mine, theirs = (frozenset(word for word in wish.content if word[:STEM] in keys) for wish in (left, right))
    if not (_is_enough(left, mine) and _is_enough(right, theirs)):
        return False
    mine, theirs = _find_shared(mine, theirs), _find_shared(theirs, mine)
    if not (_is_enough(left, mine) and _is_enough(right, theirs)):
        return False
    names, others = left.says.artifacts, right.says.artifacts
    if (names or others) and names.isdisjoint(others):
        return False
    own, other = left.says.words - right.says.words, right.says.words - left.says.words
    if has_opposites(own, other) or any(
        not own.isdisjoint(word_list("change", name)) and not other.isdisjoint(word_list("change", name)) for name in _NAMED
    ):
        return False
    if _is_turned_around(left, right) or not _find_slots(left, theirs).keys().isdisjoint(_find_slots(right, mine)):
        return False
    return not (left.tells_order and right.tells_order) or _order_of(left, mine) == _order_of(right, mine)


def _is_enough(wish: Wish, shared: frozenset[str]) -> bool:
    return len(shared) >= LEAST_SHARED and len(shared) >= _SHARE * len(wish.content)


def _is_turned_around(left: Wish, right: Wish) -> bool:
    """True if two wishes neither negate nor affirm a common word, or if each negates a word that the other affirms."""
    mine, theirs = left.content - left.denied, right.content - right.denied
    alike = _find_shared(left.denied, right.denied) or _find_shared(mine, theirs)
    return not alike or bool(_find_shared(left.denied, theirs) and _find_shared(right.denied, mine))


def _find_shared(words: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """Those ``words`` of which ``others`` contain any form."""
    others = frozenset(others)
    return frozenset(word for word in words if word in others or any(is_form(word, other) for other in others))


def _find_slots(wish: Wish, shared: frozenset[str]) -> Mapping[tuple[str, str], str]:
    """The gaps between shared words in which a wish has words of its own, each with the first of these words.

    A gap is identified by the words before and after it.
    """
    found: dict[tuple[str, str], str] = {}
    before, own = "", ""
    for word in (*wish.words, ""):
        if word and not _find_shared((word,), shared):
            own = own or word
            continue
        if own:
            found[before, word[:STEM]] = own
        before, own = word[:STEM], ""
    return found


def _order_of(wish: Wish, shared: frozenset[str]) -> list[str]:
    """The shared words in the order of their first occurrence in a wish."""
    names = (next((name for name in sorted(shared) if word == name or is_form(word, name)), "") for word in wish.words)
    return list(dict.fromkeys(filter(None, names)))


def find_trios(wishes: Mapping[int, Wish], is_often: Callable[[Iterable[Wish]], bool]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of wishes that belong to a trio, as places (lower, higher).

    In a trio, each wish may ask for the same as each of the others, and ``is_often`` is true for the three together.
    """
    near = {place: set[int]() for place in wishes}
    filed: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, others in near.items():
        # Wishes that ask for the same thing share two keys, so that only wishes with a common pair of keys are compared.
        pairs = list(combinations(sorted(wishes[place].keys), 2))
        for other in {item for pair in pairs for item in filed[pair]}:
            if is_same_in_other_words(wishes[other], wishes[place]):
                others.add(other)
                near[other].add(place)
        for pair in pairs:
            filed[pair].append(place)
    for place, others in near.items():
        for other in others:
            thirds = others & near[other] if place < other else ()
            if any(is_often(wishes[each] for each in (place, other, third)) for third in thirds):
                yield place, other
