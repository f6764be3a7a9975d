"""Tongues: which of a profile's lexicons a part of a conversation is read by, told by the words of the person (or of the notes) in it."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from kept.model.event import Event, is_note
from kept.model.lexicon import Lexicon
from kept.profiles.lexicons import lexicon, spoken
from kept.stages.extract import is_foreign, is_prompt

_READ = 4_000  # characters of the latest prompts that tell
_EACH = 1_500


def lexicon_of(events: Sequence[Event], languages: tuple[str, ...]) -> Lexicon:
    """The lexicon of the languages that the prompts and notes among some events are written in; of the first one where nothing tells."""
    if len(languages) < 2:
        return lexicon(languages)
    text, room = [], _READ
    for each in _said(events):
        text.append(each[:room])
        room -= len(text[-1])
        if room <= 0:
            break
    return lexicon(_spoken("\n".join(text), languages) or languages[:1])


def _said(events: Sequence[Event]) -> Iterator[str]:
    """What the person wrote, the latest first, without lines of code and output."""
    for event in reversed(events):
        if is_prompt(event) or is_note(event):
            yield "\n".join(line for line in event.text[:_EACH].splitlines() if not is_foreign(line))


@lru_cache(maxsize=256)
def _spoken(text: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    return spoken(text, languages)
