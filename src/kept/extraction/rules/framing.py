"""Whether a telling stands free: nothing leads in to it as text for another use, takes it back, or gives it to somebody else.

Shape decides first: a telling stands free at the start of a prompt, or behind a sentence that ended. Behind a colon, a heading, a
header, a fence or an unfinished line it may be pasted. Words decide about the sentences beside it.
"""

from collections.abc import Sequence

import re2

from kept.core.lexicon import TellingPatterns
from kept.core.sentences import SentenceSpan
from kept.extraction.rules.clipped import is_request_to_explain
from kept.extraction.rules.patterns import compile_pattern, has_match, skip_filler
from kept.profiles.lexicons import join_alternatives

_ENDED = re2.compile(r"[.!?…。！？][\"'”’)\]」』»*_]?$")
# A line without a full stop that is none of a text: it begins small and has some words.
_PASSING = re2.compile(r"^\s*\p{Ll}[\pL’']*,?(?: \S+)+[\pL\d)]$")
_MARKER = re2.compile(r"(?:^|\n)[ \t]*(?:[-*•–]|\d{1,2}[.)]|[a-zA-Z][.)])[ \t]*$")
_POINTS_UP = re2.compile(r"^[\s(]*(?:\^|↑|⬆|👆|☝|<-|←)")
_COLON = re2.compile(r":\s|：")
# Patterns of which one makes the words before a colon a telling themselves.
_TELLS = (
    "remember",
    "remember_this",
    "from_now_on",
    "later",
    "always",
    "never",
    "must",
    "ours",
    "decided",
    "correction",
    "note",
    "here",
    "everywhere",
)
# Words of a sentence that brings a text of somebody else: "can you answer this mail?"
_BRINGS = re2.compile(rf"(?i)\b(?:{join_alternatives('assertion', 'brings', spaced=True)})\b")
# Quotation marks of any script, and the controls that turn a direction around, where a word may begin behind them.
_OPENED = re2.compile(r"(?:^|[\s(:>])([\p{Pi}\"'‚„「『〈《(]|[\x{202A}-\x{202E}\x{2066}-\x{2069}])")
_MARK = 40  # characters among which a marker, a greeting or an arrow stands
_QUESTION = ("?", "？")


def is_own_telling(text: str, spans: Sequence[SentenceSpan], first: int, last: int, patterns: Sequence[TellingPatterns]) -> bool:
    """Whether the sentences ``first`` to ``last`` of a prompt are the person's own telling as far as what is around them shows."""
    if is_brought(text[: spans[first].start]):
        return False
    opening = first
    while opening and spans[opening].bullet and spans[opening - 1].bullet:
        opening -= 1
    before = text[: spans[opening].start].rstrip(" \t")
    marker = _MARKER.search(before[-_MARK:])
    before = before[: len(before) - len(marker[0])] if marker else before
    before, after = before.rstrip(), before[len(before.rstrip()) :]
    if not _can_begin_after(before, patterns, next_line=after.count("\n") == 1) or _POINTS_UP.match(
        text[spans[last].end :][:_MARK]
    ):
        return False
    if any(has_match(pattern.taken_back, text[span.start : span.end]) for span in spans[first : last + 1] for pattern in patterns):
        return False
    if first and any(has_match(pattern.reported, _words(text, spans[first - 1])) for pattern in patterns):
        return False
    return last + 1 == len(spans) or not _is_taken_back(_words(text, spans[last + 1]), patterns)


def is_brought(before: str) -> bool:
    """Whether the words before a passage bring a text of somebody else, or one that is made up."""
    return _BRINGS.search(before) is not None


def is_lead_in(words: str, patterns: TellingPatterns) -> bool:
    """Whether a sentence opens with words of its own before a colon, which tell nothing: what follows may be text for any use."""
    colon = _COLON.search(words)
    lead = words[: colon.start()] if colon else ""
    return bool(lead[skip_filler(lead, patterns) :].strip()) and not _has_telling(lead, patterns)


def is_mentioned(words: str, patterns: TellingPatterns) -> bool:
    """Whether what tells stands in quotation marks behind words that tell nothing: it is spoken of, whatever the marks."""
    for opened in _OPENED.finditer(words):
        lead, inner = words[: opened.start(1)], words[opened.end(1) :].lstrip()
        aside = opened[1] == "(" and not is_request_to_explain(lead)
        if not aside and lead[skip_filler(lead, patterns) :].strip() and not _has_telling(lead, patterns):
            sources = (getattr(patterns, name) for name in _TELLS)
            if any(source and compile_pattern(source).match(inner) for source in sources):
                return True
    return False


def _has_telling(words: str, patterns: TellingPatterns) -> bool:
    return any(has_match(getattr(patterns, name), words) for name in _TELLS)


def _can_begin_after(before: str, patterns: Sequence[TellingPatterns], *, next_line: bool) -> bool:
    """Whether a telling may begin behind this text: it is empty, ends a sentence, is a line typed in passing, or only greets."""
    if not before or _ENDED.search(before[-2:]):
        return True
    if next_line and _PASSING.match(before.rsplit("\n", 1)[-1]):
        return True
    line = before.rstrip(" ,;–—-")
    return len(line) <= _MARK and "\n" not in line and any(_is_only_filler(line, pattern) for pattern in patterns)


def _is_only_filler(line: str, patterns: TellingPatterns) -> bool:
    return skip_filler(f"{line} x", patterns) == len(line) + 1


def _is_taken_back(words: str, patterns: Sequence[TellingPatterns]) -> bool:
    """Whether the sentence behind a telling takes it back, says whose it is, or asks about it."""
    asks = words.rstrip().endswith(_QUESTION)
    return any(
        has_match(pattern.taken_back, words)
        or has_match(pattern.reported, words)
        or (asks and has_match(pattern.outside, words) and not has_match(pattern.request, words[skip_filler(words, pattern) :]))
        for pattern in patterns
    )


def _words(text: str, span: SentenceSpan) -> str:
    return text[span.start : span.end]
