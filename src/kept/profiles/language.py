"""Language detection: choose which of a profile's lexicons reads an episode, by the person's own words."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from kept.core.event import Event, Kind, is_note
from kept.core.lexicon import Lexicon
from kept.core.spans import typed_text
from kept.profiles.lexicons import lexicon, spoken

_READ = 4_000  # characters of the latest prompts that tell
_EACH = 1_500


def lexicon_of(events: Sequence[Event], languages: tuple[str, ...]) -> Lexicon:
    """The lexicon of the languages that the prompts and notes among some events are written in; of the first one where nothing
    tells.
    """
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
    """What the person typed and what notes say, the latest first."""
    for event in reversed(events):
        if is_note(event):
            yield event.text[:_EACH]
        elif event.kind is Kind.PROMPT and (words := typed_text(event)):
            yield words[:_EACH]


@lru_cache(maxsize=256)
def _spoken(text: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    return spoken(text, languages)
