"""Looks for a lexicon's patterns in text, each compiled once, and counts words."""

from functools import cache

from kept.core.lexicon import TellingPatterns
from kept.core.pattern import Pattern
from kept.core.text import is_cjk
from kept.profiles.lexicons import join_alternatives

SPACE = " \t\r\n,;:.!…–—-*_>\"'“”«»「」，、：；。！"
EDGE = r"[^\w\x{80}-\x{1FFF}]"  # letters of every script that writes words apart lie in this range
_LEADS = 6
_BYTES = 1 << 26  # at most; the Russian words of a telling need more than the usual eighth


@cache
def compile_pattern(source: str) -> Pattern:
    """A compiled pattern, with memory for its automaton: without that long patterns are slow, and complain on standard error."""
    return Pattern(source, memory=_BYTES)


def list_words(table: str, *names: str) -> tuple[str, str]:
    """The fragments of some lists: those of languages that write words apart, and those of the others."""
    spaced, dense = (
        "|".join(filter(None, (join_alternatives(table, name, spaced=apart) for name in names))) for apart in (True, False)
    )
    return spaced, dense


def match_words(table: str, *names: str) -> Pattern:
    """A pattern of the words of some lists, wherever they stand as words."""
    spaced, dense = list_words(table, *names)
    return compile_pattern(rf"(?i)(?:^|{EDGE})(?:{spaced})(?:$|{EDGE})" + (f"|{dense}" if dense else ""))


def has_match(source: str, text: str) -> bool:
    """Whether a pattern occurs in the text; an empty one never does."""
    return bool(source) and compile_pattern(source).search(text) is not None


def skip_filler(words: str, patterns: TellingPatterns) -> int:
    """Where a sentence begins behind its filler."""
    head = 0
    for _ in range(_LEADS):
        match = compile_pattern(patterns.lead).match(words[head:]) if patterns.lead else None
        if match is None:
            break
        head += match.end(1)
        head += len(words[head:]) - len(words[head:].lstrip(SPACE))
    return head if words[head:].strip() else 0


def count_mass(words: str) -> int:
    """The words of a text; two characters of a script without spaces count as one."""
    dense = 0 if words.isascii() else sum(map(is_cjk, words))
    return len(words.split()) + dense // 2 - (1 if dense else 0)
