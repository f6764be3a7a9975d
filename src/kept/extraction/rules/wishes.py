"""Standing wishes: sentences that want something always, never, or in general, whatever they are said of.

Said once such a sentence tells nothing about later sessions. It is noted, and counts once three sessions say it, in other words too
(:func:`find_similar_wishes`). Reads sentences alone.
"""

from collections.abc import Iterator, Sequence

from kept.core.lexicon import TellingPatterns
from kept.core.memory import WISH
from kept.core.sentences import SentenceSpan
from kept.extraction.rules.patterns import count_mass, has_match
from kept.extraction.rules.tellings import Telling

_LEAST, _MOST = 4, 40


def wishes(
    text: str, spans: Sequence[tuple[int, SentenceSpan]], patterns: Sequence[TellingPatterns]
) -> Iterator[tuple[int, Telling]]:
    """The sentences, numbered, that are standing wishes in one of the languages spoken."""
    for place, span in spans:
        words = text[span.start : span.end]
        if not _LEAST <= count_mass(words) <= _MOST or words.rstrip().endswith(("?", "？", ":", "：")):
            continue
        for pattern in patterns:
            if has_match(pattern.wish, words) and not has_match(pattern.occasion, words) and not has_match(pattern.reported, words):
                yield place, Telling(start=span.start, end=span.end, trigger=WISH, language=pattern.language)
                break
