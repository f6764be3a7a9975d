"""Language detection: choose which of a profile's lexicons applies to some events, by the person's own words in them."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from kept.core.event import Event, EventKind, is_note
from kept.core.pattern import Pattern
from kept.core.spans import typed_text
from kept.profiles.lexicons import LANGUAGES, Lexicon, TellingPatterns, detect_languages, load_lexicon, load_telling_patterns

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
    text, room = [], _RECENT_CHARS
    for item in _recent_texts(events):
        text.append(item[:room])
        room -= len(text[-1])
        if room <= 0:
            break
    return load_lexicon(_detect_cached("\n".join(text), languages) or languages[:1])


def _recent_texts(events: Sequence[Event]) -> Iterator[str]:
    """Yield the typed texts and the texts of notes, latest first."""
    for event in reversed(events):
        if is_note(event):
            yield event.text[:_PROMPT_CHARS]
        elif event.kind is EventKind.PROMPT and (words := typed_text(event)):
            yield words[:_PROMPT_CHARS]


def detect_spoken(text: str, local: Sequence[TellingPatterns]) -> tuple[str, ...]:
    """The languages of a text. Those of the ``local`` telling patterns count too, and their own words count for no language."""
    for patterns in local:
        text = Pattern(patterns.words).sub(" ", text)  # "not al" is Turkish
    languages = tuple(patterns.language for patterns in local)
    return detect_languages(text, (*LANGUAGES, *languages)) or languages


@lru_cache(maxsize=256)
def _detect_cached(text: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    return detect_languages(text, languages)
