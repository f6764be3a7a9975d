"""Language detection: choose which of a profile's lexicons applies to some events, by the person's own words in them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from kept.core.event import Event, is_note, is_prompt
from kept.core.pattern import Pattern
from kept.core.spans import typed_text
from kept.profiles.lexicons import (
    LANGUAGES,
    Lexicon,
    TellingPatterns,
    choose_languages,
    detect_languages,
    load_lexicon,
    load_telling_patterns,
    sum_common_words,
)

_RECENT_CHARS = 4_000  # characters of the latest prompts that are examined
_PROMPT_CHARS = 1_500


class _LateLexicon:
    """A lexicon that detects its languages on first use, when an attribute that depends on them is read."""

    def __init__(self, events: Sequence[Event], languages: tuple[str, ...]) -> None:
        self._asked = events, languages
        self.tellings = load_telling_patterns()

    def __getattr__(self, name: str) -> Any:
        value = getattr(_choose_now(*self._asked), name)
        setattr(self, name, value)
        return value


def choose_lexicon(events: Sequence[Event], languages: tuple[str, ...]) -> Lexicon:
    """Choose the lexicon for the languages of the prompts and notes in ``events``. If none is detected, use the first language.

    The languages are detected on first use, because most events contain no word that needs them.
    """
    return load_lexicon(languages) if len(languages) < 2 else cast("Lexicon", _LateLexicon(events, languages))


def _choose_now(events: Sequence[Event], languages: tuple[str, ...]) -> Lexicon:
    """Read the latest prompts and notes, but only until the rest cannot change the result: finding typed words takes long."""
    said = [event for event in reversed(events) if is_note(event) or is_prompt(event)]
    most = sum_common_words((event.text for event in said), languages)
    texts, room = list[str](), _RECENT_CHARS
    for event in said:
        texts.append((event.text if is_note(event) else typed_text(event))[: min(room, _PROMPT_CHARS)])
        room -= len(texts[-1])
        if room <= 0 or _is_certain(texts, most, languages):
            break
    return load_lexicon(choose_languages(sum_common_words(texts, languages), languages) or languages[:1])


def _is_certain(texts: Sequence[str], most: Mapping[str, int], languages: tuple[str, ...]) -> bool:
    """True if texts have so many words of one language that no other can catch up. ``most`` bounds the words still to come."""
    own = sum_common_words(texts, languages)
    first = max(languages, key=own.__getitem__)
    return all(3 * (own[other] + most[other]) < 2 * own[first] for other in languages if other != first)


def detect_spoken(text: str, local: Sequence[TellingPatterns]) -> tuple[str, ...]:
    """The languages of a text. Those of the ``local`` telling patterns count too, and their own words count for no language."""
    for patterns in local:
        text = Pattern(patterns.words).sub(" ", text)  # "not al" is Turkish
    languages = tuple(patterns.language for patterns in local)
    return detect_languages(text, (*LANGUAGES, *languages)) or languages
