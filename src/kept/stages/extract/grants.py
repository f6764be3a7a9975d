"""What the assistant grants: a reply that begins by confirming what the person said makes a claim of theirs surer."""

from collections.abc import Sequence
from itertools import islice

from kept.model.event import Author, Event, Kind
from kept.model.lexicon import Lexicon
from kept.model.text import tokens
from kept.stages.extract.cues import has

_READ = 600  # characters of a reply in which it says what it confirms
_LONG = 4  # letters from which a word tells


def confirmation(events: Sequence[Event], index: int, stop: int, lexicon: Lexicon) -> Event | None:
    """The assistant's first message after the prompt at ``index``, before ``stop``, if it begins by confirming what was said."""
    for event in islice(events, index + 1, stop):
        if event.kind is Kind.PROMPT:
            return None
        if event.kind is Kind.RESPONSE and event.author is Author.ASSISTANT and event.text.strip():
            return event if has(lexicon.confirms, _head(event)) else None
    return None


def speaks_of(confirming: Event, sentence: str) -> bool:
    """Whether a confirmation is about a sentence: it has at least a third of its telling words, and two of them."""
    said, mine = _words(_head(confirming)), _words(sentence)
    return len(mine & said) >= max(2, len(mine) / 3)


def _head(event: Event) -> str:
    return event.text.lstrip(" *_#")[:_READ]


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in tokens(text) if len(word) >= _LONG or not word.isascii())
