"""Standing wishes: sentences in which a person wants something always, never, or in general."""

from collections.abc import Iterator, Sequence

from kept.core.memory import WISH
from kept.core.sentences import SentenceSpan
from kept.extraction.rules.assertion import find_unasserted_reason, is_question
from kept.extraction.rules.framing import find_frame
from kept.extraction.rules.patterns import compile_pattern, count_mass, has_match, is_in_language, refers_outside, skip_filler
from kept.extraction.rules.tellings import LEAST, Telling
from kept.profiles.lexicons import Lexicon, TellingPatterns

_LEAST_WISH, _MOST_WISH = 4, 40  # minimum and maximum content words of a standing wish


def find_wishes(
    text: str, spans: Sequence[tuple[int, SentenceSpan]], patterns: Sequence[TellingPatterns], lexicon: Lexicon
) -> Iterator[tuple[int, Telling]]:
    """Yield standing wishes: sentences that want something always, never, or in general, each with its number.

    A wish counts once three sessions contain it, because a single one says nothing about later sessions. A sentence that the person
    may not mean does not count. ``patterns`` are those with a word of a wish in the prompt.
    """
    for place, span in spans:
        words = text[span.start : span.end]
        wished = [pattern for pattern in patterns if has_match(pattern.wish, words, without=pattern.failure)]
        if not wished or count_mass(words) > _MOST_WISH or words.rstrip().endswith((":", "：")) or is_question(words):
            continue
        wished = [pattern for pattern in wished if _is_wish(words, pattern)]
        if not wished or find_unasserted_reason(text, span.start, span.end) or find_frame(text, span.start, span.end):
            continue
        own = (pattern for pattern in wished if pattern.language in lexicon.languages or is_in_language(words, pattern, wished))
        language = next((pattern.language for pattern in own), "")
        if language:
            yield place, Telling(start=span.start, end=span.end, trigger=WISH, language=language)


def _is_wish(words: str, patterns: TellingPatterns) -> bool:
    """True if a sentence with a word of a wish may be one. A short one must begin with that word and refer to nothing outside."""
    never = has_match(patterns.never, words) and has_match(patterns.no_ban, words)
    if never or any(has_match(each, words) for each in (patterns.occasion, patterns.reported)):
        return False
    if count_mass(words) >= _LEAST_WISH:
        return True
    opens = patterns.spaced and compile_pattern(patterns.wish).match(words[skip_filler(words, patterns) :]) is not None
    return opens and count_mass(words) >= LEAST and not refers_outside(words, patterns)
