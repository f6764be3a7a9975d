"""Statements: the features by which two texts are compared, and rules for when they say the same or reverse each other.

The rules compare words of bounded texts. They prefer precision to recall, because a wrong match loses a memory. This module knows
nothing of candidates or memories.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from kept.core.pattern import compile_late
from kept.core.text import NEGATIONS, jaccard_similarity, normal_form, number_tokens, split_tokens
from kept.core.value import dataclass
from kept.core.words import list_phrases, plain_words

NEAR = 0.82  # minimum Jaccard similarity of the content words of statements that say the same
CLOSE = 0.67  # the same, if both name the same artifacts and the content words of one include the other's
STEM = 4  # first letters that two forms of a word share
_ROOT = 6  # letters of a word by which a withdrawal is matched
_ENDING = 4  # maximum letters by which one form of a word is longer than another
_WHOLE = 4  # content words from which a statement may be extended by any words
_LEAST = 2  # statements with fewer content words are the same only if their words are identical
# Words without content. They do not change what a statement means.
EMPTY = plain_words("empty")
_DENIALS = NEGATIONS | plain_words("denials")
_UNSPACED = list_phrases("denial_marks")
# Pairs of opposites, as ``word/word``. Two statements that differ by such a pair are never the same.
_OPPOSED = plain_words("opposed")
_CHOOSING, _LEAVING, _REFUSING, _SKIPPED = map(plain_words, ("choosing", "leaving", "refusing", "skipped"))
ATTRIBUTES = plain_words("attributes")  # attributes that have one value at a time
VERSIONED = plain_words("versioned")  # a statement about one version does not replace one about another version
_JOINTS = compile_late(r"[|&;]+")
_ACTION = compile_late(r"\b(?:use|run|write|set|add) `([^`]{1,200})`", re.IGNORECASE)
# First words that say who speaks and where the statement applies. They do not change its meaning.
_OPENINGS = tuple(tuple(phrase.split()) for phrase in list_phrases("openings"))
_OPENING = frozenset(item[0] for item in _OPENINGS)
_AND, _REASONS, COPULAS = map(plain_words, ("joining", "reasons", "copulas"))
_WORDS_READ = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """The features of a text for comparison.

    ``form`` is its normal form, ``words`` its tokens, ``content`` the stems of its content words. ``denials`` counts words of
    negation. ``chosen`` and ``refused`` are the things to use and not to use. ``remedy`` has the programs and options that a fix
    runs. ``fingerprint`` identifies the error that the fix is for. ``asks`` means that the text is a question.
    """

    form: str
    words: frozenset[str]
    content: frozenset[str]
    artifacts: frozenset[str]
    numbers: frozenset[str]
    denials: int
    chosen: frozenset[str]
    refused: frozenset[str]
    fingerprint: str = ""
    remedy: frozenset[str] = frozenset()
    asks: bool = False


def parse_statement(text: str, artifacts: Iterable[str] = (), fingerprint: str = "") -> Statement:
    """The statement that a text makes."""
    form = normal_form(text)
    words = _strip_opening_words(split_tokens(form), form)
    chosen, refused = _parse_choices(form.split()[:_WORDS_READ])
    return Statement(
        form=form,
        words=words,
        content=_stem_words(words),
        artifacts=frozenset(artifact.casefold() for artifact in artifacts),
        numbers=frozenset(word for word in words if not word.isalpha() and number_tokens(frozenset((word,)))),
        denials=sum(is_denial_word(word) for word in words) + sum(form.count(item) for item in _UNSPACED if item in form),
        chosen=chosen,
        refused=refused,
        fingerprint=fingerprint,
        remedy=_parse_remedy(text) if fingerprint else frozenset(),
        asks=text.rstrip().endswith(("?", "？")),
    )


def find_content(text: str) -> frozenset[str]:
    """The ``content`` of a text's statement, without the rest. Cheaper than :func:`parse_statement`."""
    form = normal_form(text)
    return _stem_words(_strip_opening_words(split_tokens(form), form))


def roots_of(words: Iterable[str]) -> frozenset[str]:
    """The first letters of words, by which a withdrawal is matched to a memory: "allergy" matches "allergic"."""
    return frozenset(word[:_ROOT] for word in words)


def _stem_words(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(_stem_matter, words)) - {""}


@lru_cache(maxsize=8_192)  # as fast as 50,000, because rare words seldom repeat
def _stem_matter(word: str) -> str:
    """The stem of a content word; empty for any other word."""
    return "" if word in EMPTY or is_denial_word(word) else stem_word(word)


def _strip_opening_words(words: frozenset[str], form: str) -> frozenset[str]:
    """The words without those of the opening, unless the rest of the sentence repeats them."""
    sentence = form.split()
    rest = strip_opening(sentence)
    return words - {word for word in sentence[: len(sentence) - len(rest)] if word not in rest}


def strip_opening(words: list[str]) -> list[str]:
    """The words of a normal form without first words that name the speaker or say that it applies here."""
    for _ in range(2):
        if not words or words[0] not in _OPENING:
            break
        words = words[len(next((item for item in _OPENINGS if tuple(words[: len(item)]) == item), ())) :]
    return words


@lru_cache(maxsize=8_192)  # as fast as 50,000, because rare words seldom repeat
def stem_word(word: str) -> str:
    """A word without English endings. Unchanged if it is not made of plain ASCII letters."""
    if not (word.isascii() and word.isalpha() and len(word) > 3):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    for ending, least in (("ing", 7), ("ed", 6), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)]
            if ending != "s" and word[-1:] == word[-2:-1] and word[-1] not in "sl":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


@lru_cache(maxsize=50_000)
def is_form(word: str, other: str) -> bool:
    """True if two words begin alike, as forms of one word do."""
    short, long = sorted((word, other), key=len)
    stem = short[: max(STEM, len(short) - 2)]
    return word == other or (
        len(short) >= STEM and short.isalpha() and long.isalpha() and long.startswith(stem) and len(long) - len(short) <= _ENDING
    )


def is_same_statement(left: Statement, right: Statement) -> bool:
    """True if two statements say the same: equal words, or nearly equal with compatible numbers, denials, choices and artifacts."""
    if left.form == right.form:
        return True
    if left.fingerprint and left.fingerprint == right.fingerprint and left.remedy and right.remedy:
        return left.remedy == right.remedy
    extends = is_extension(left, right) or is_extension(right, left)
    if (
        (left.numbers != right.numbers and not extends)
        or left.denials != right.denials
        or left.asks != right.asks
        or _has_crossed_choices(left, right)
    ):
        return False
    if not (left.artifacts <= right.artifacts or right.artifacts <= left.artifacts):
        return False
    if has_opposites(left.words - right.words, right.words - left.words):
        return False
    if min(len(left.content), len(right.content)) < _LEAST:
        return False
    if extends:
        return True
    alike = jaccard_similarity(left.content, right.content)
    if left.fingerprint and left.fingerprint == right.fingerprint and not (left.remedy or right.remedy):
        return alike >= NEAR / 2
    contained = left.content <= right.content or right.content <= left.content
    return alike >= NEAR or (alike >= CLOSE and contained and bool(left.artifacts) and left.artifacts == right.artifacts)


def is_extension(longer: Statement, shorter: Statement) -> bool:
    """True if ``longer`` repeats ``shorter`` word for word and continues, for example a rule with its reason.

    A short statement may continue only with "and" or a word that introduces a reason.
    """
    if not longer.form.startswith(f"{shorter.form} "):
        return False
    return len(shorter.content) >= _WHOLE or longer.form[len(shorter.form) :].split(maxsplit=1)[0] in _REASONS | _AND


def is_choice_reversed(later: Statement, earlier: Statement) -> bool:
    """True if one statement refuses what the other chose.

    Their other content must be the same, except that the refusal may be broader, with fewer content words.
    """
    names = later.chosen | later.refused | earlier.chosen | earlier.refused
    left = {stem_word(item) for item in names | _LEAVING}
    others = {artifact for artifact in later.artifacts if not any(name in artifact for name in names)}
    new, old = later.content - left, earlier.content - left
    if not others <= earlier.artifacts:
        return False
    refused = (later.refused & earlier.chosen) - earlier.refused - later.chosen
    taken = (later.chosen & earlier.refused) - earlier.chosen - later.refused
    return bool((refused and new <= old) or (taken and new == old))


def _parse_choices(words: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The words that a sentence says to use, and those that it says not to use."""
    chosen: set[str] = set()
    refused: set[str] = set()
    leaving = False
    for place, word in enumerate(words):
        after = words[place + 1 : place + 2]
        if word in _REFUSING or (word in ("instead", "rather") and after in (["of"], ["than"])):
            refused.update(_find_object(words, place + 1 + (word in ("instead", "rather"))))
        elif word in _LEAVING:
            leaving = True
        elif leaving and word == "from":
            refused.update(_find_object(words, place + 1))
        elif (leaving and word == "to") or (
            word in _CHOOSING
            and not any(is_denial_word(item) or item in ("longer", "stop") for item in words[max(0, place - 2) : place])
        ):
            chosen.update(_find_object(words, place + 1))
    return frozenset(chosen), frozenset(refused)


def _find_object(words: list[str], place: int) -> list[str]:
    named = (word for word in words[place : place + 4] if word not in _SKIPPED)
    return [word for word in [next(named, "")] if word and word not in EMPTY]


def _has_crossed_choices(left: Statement, right: Statement) -> bool:
    """True if each statement refuses something and one uses what the other refuses: ``a instead of b`` and ``b instead of a``."""
    if not left.refused or not right.refused:
        return False
    return bool(left.refused & (right.words - right.refused) or right.refused & (left.words - left.refused))


def has_opposites(left: frozenset[str], right: frozenset[str]) -> bool:
    """True if a word of ``left`` is the opposite of a word of ``right``."""
    return any(f"{word}/{other}" in _OPPOSED or f"{other}/{word}" in _OPPOSED for word in left for other in right)


def pairs_of_opposites(words: frozenset[str]) -> frozenset[str]:
    """The pairs of opposites, as ``word/word``, of which one is among the words."""
    return frozenset(pair for pair in _OPPOSED if words and not words.isdisjoint(pair.split("/")))


def is_denial_word(word: str) -> bool:
    """True if a word of a normal form is a negation."""
    return word in _DENIALS or word.endswith("n't")


def _parse_remedy(text: str) -> frozenset[str]:
    """The programs and options that a fix says to run or write."""
    steps = (step for piece in _ACTION.findall(text) for step in _JOINTS.split(piece))
    return frozenset(word for step in steps for word in _program_and_options(step))


def _program_and_options(step: str) -> list[str]:
    words = step.split()
    return words[:1] + [word.split("=", 1)[0] for word in words[1:] if word.startswith("-")]
