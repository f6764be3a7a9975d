"""Detect the topics that a short prompt asks for ("create a PR", "run the tests"), and find the memories about them.

The words of each topic are in ``profiles/topics.json``, in all languages together. The topics of a memory are not stored, but
derived from its text. A hook waits for this, so it imports very little.
"""

import os
from collections.abc import Iterable
from functools import cache

from kept.core.light import NamedTuple, parse_json
from kept.core.text import index_words, is_cjk
from kept.recall.question import telling_words

LONGEST = 240  # maximum length of a short prompt in characters
_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "profiles", "topics.json")  # noqa: PTH118, PTH120
_REST = 2  # a prompt with more other words than this asks for more than a topic
_BESIDE = 1  # the same for a clause of a longer prompt
_MARKS, _MARKS_SPACELESS = ".,;:!?", "\n、。，！？；："  # the first end a clause only before a space, the others anywhere
_JOINING = frozenset({"and", "then", "und", "dann", "danach", "et", "puis", "y", "luego", "e", "depois"})
_JOINING_SPACELESS = ("然后", "并且", "再")
_OPENINGS = frozenset([*_MARKS, *_MARKS_SPACELESS, *(word[0] for word in (*_JOINING, *_JOINING_SPACELESS))])
_REST_SPACELESS = 3  # the same in characters, for scripts without spaces


class Topic(NamedTuple):
    """A topic. The words of a phrase are joined by ``+``.

    ``ask`` has the phrases of prompts that ask for the topic. ``about`` has the phrases of which a memory on the topic contains at
    least one. ``more`` has related phrases, which only add to a memory's count.
    """

    name: str
    ask: tuple[str, ...]
    about: tuple[str, ...]
    more: tuple[str, ...]


class Intent(NamedTuple):
    """The request of a prompt. ``recent`` is True if it asks for recent work.

    ``rest`` is the number of its content words that belong to no topic. It is 0 if the topics come from single clauses.
    """

    topics: tuple[Topic, ...] = ()
    recent: bool = False
    rest: int = 0

    @property
    def bare(self) -> bool:
        """True if it asks for a topic and almost nothing else."""
        return bool(self.topics) and self.rest <= _REST


NO_INTENT = Intent()


class _Phrases(NamedTuple):
    """Phrases, grouped by how they are compared with a text.

    They are single words, sets of words, and strings to search for in a script without spaces.
    """

    words: frozenset[str]
    sets: tuple[frozenset[str], ...]
    spaceless: tuple[str, ...]


class _TextWords(NamedTuple):
    """A text as a set of words and, for scripts without spaces, as a string."""

    spaced: frozenset[str]
    text: str

    def has_phrase(self, phrase: str) -> bool:
        """True if the text contains all words of a phrase."""
        if not phrase.isascii() and is_cjk(phrase[0]):
            return phrase in self.text
        return all(word in self.spaced for word in phrase.split("+"))

    def has_any(self, phrases: _Phrases) -> bool:
        """True if the text contains at least one of the phrases."""
        if not phrases.words.isdisjoint(self.spaced) or any(words <= self.spaced for words in phrases.sets):
            return True
        return not self.text.isascii() and any(phrase in self.text for phrase in phrases.spaceless)


def detect_intent(message: str) -> Intent:
    """The topics that a message asks for.

    If it also asks for other things, only the clauses that ask for nothing but a topic count ("…, and commit it"). If there are no
    such clauses, the whole message counts.
    """
    intent = NO_INTENT if len(message) > LONGEST else _detect_in_clause(message)
    if intent.bare or intent.recent:
        return intent
    parts = (_detect_in_clause(part) for part in _split_clauses(message[-LONGEST:])[len(message) > LONGEST :])
    asked = dict.fromkeys(topic for part in parts if part.rest <= _BESIDE for topic in part.topics)
    return Intent(tuple(asked)) if asked else intent


def _split_clauses(text: str) -> list[str]:
    """Split a text at punctuation that ends a clause, and at words that join clauses."""
    clauses, start = [], 0
    for place, char in enumerate(text):
        length = _separator_length(text, place) if place >= start and char in _OPENINGS else 0
        if length:
            clauses.append(text[start:place])
            start = place + length
    return [*clauses, text[start:]]


def _separator_length(text: str, place: int) -> int:
    """The length of the clause separator that begins at ``place``; 0 if there is none."""
    char, following = text[place], text[place + 1 : place + 2]
    if char in _MARKS_SPACELESS:
        return 1
    if char in _MARKS:
        return int(not following.strip())
    for word in _JOINING_SPACELESS:
        if text.startswith(word, place):
            return len(word)
    if place and _is_word_character(text[place - 1]):
        return 0
    end = next((end for end in range(place, len(text)) if not _is_word_character(text[end])), len(text))
    return end - place if text[place:end] in _JOINING else 0


def _is_word_character(char: str) -> bool:
    return char.isalnum() or char == "_"


def _detect_in_clause(message: str) -> Intent:
    """The request of a short message or of one clause."""
    words, (topics, recent, filler, spaceless) = _split_text(message), _load_topics()
    asking, of_recent = _index_phrases()
    named = tuple(topic for topic, phrases in zip(topics, asking, strict=True) if words.has_any(phrases))
    lately = words.has_any(of_recent)
    if not (named or lately):
        return NO_INTENT
    used = {word for phrase in (*recent, *(item for topic in named for item in topic.ask)) for word in phrase.split("+")}
    said = (word for word in telling_words(message) if not is_cjk(word[0]) and any(map(str.isalpha, word)))
    rest = sum(word not in filler and word not in used for word in said)
    left = words.text
    for phrase in sorted((*spaceless, *used), key=len, reverse=True):
        if not phrase.isascii():
            left = left.replace(phrase, "")
    beside = sum(map(is_cjk, left))
    rest += max(0, beside - _REST_SPACELESS + _REST) if beside > _REST_SPACELESS else 0
    return Intent(named, lately and rest <= _REST, rest)


def count_topic_phrases(text: str, topics: Iterable[Topic]) -> int:
    """The number of phrases of a topic in a memory's text, for the topic with the most. 0 if it does not belong to any of them."""
    words = _split_text(text)
    best = 0
    for topic in topics:
        strong = sum(map(words.has_phrase, topic.about))
        if strong:
            best = max(best, strong + sum(map(words.has_phrase, topic.more)))
    return best


def topic_phrases(topics: Iterable[Topic]) -> tuple[str, ...]:
    """The phrases by which memories about the topics are looked up, in the form in which the index stores words."""
    return tuple(dict.fromkeys(index_words(item.replace("+", " ")) for topic in topics for item in topic.about))


def _split_text(text: str) -> _TextWords:
    folded = text.casefold()
    return _TextWords(frozenset([*index_words(text).split(), *folded.split()]), folded)


@cache
def _load_topics() -> tuple[tuple[Topic, ...], tuple[str, ...], frozenset[str], tuple[str, ...]]:
    with open(_FILE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer to import than a search takes
        body = parse_json(file.read())
    topics = tuple(
        Topic(name, *(tuple(fields[part].split()) for part in ("ask", "about", "more"))) for name, fields in body["topics"].items()
    )
    return topics, tuple(body["recent"].split()), frozenset(body["filler"].split()), tuple(body["filler_spaceless"].split())


@cache
def _index_phrases() -> tuple[tuple[_Phrases, ...], _Phrases]:
    """Two results: for each topic, the phrases of prompts that ask for it, and the phrases that ask for recent work."""
    topics, recent, *_ = _load_topics()
    return tuple(_sort_phrases(topic.ask) for topic in topics), _sort_phrases(recent)


def _sort_phrases(phrases: Iterable[str]) -> _Phrases:
    spaceless = tuple(phrase for phrase in phrases if not phrase.isascii() and is_cjk(phrase[0]))
    spaced = [phrase for phrase in phrases if phrase not in spaceless]
    sets = tuple(frozenset(phrase.split("+")) for phrase in spaced if "+" in phrase)
    return _Phrases(frozenset(spaced), sets, spaceless)
