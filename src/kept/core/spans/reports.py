"""Prose that somebody else wrote, told by how it is written: reviews, reports of issues, tutorials, lines wrapped by a terminal.

Knows sentences and their style; where such prose begins and ends in a prompt decides ``prose.py``.
"""

from collections.abc import Sequence
from itertools import pairwise

from kept.core.pattern import Pattern
from kept.core.spans.output import is_list_item
from kept.core.words import has_word, opens_with

ARTICLE = 25  # words of a passage that nobody speaks in, from which on it is a text
_SENTENCE = Pattern(r"[.!?]\s+|\n+")
_NAME = Pattern(
    r"`[^`\n]+`|\b[A-Za-z]*[a-z][A-Z]\w+|\b\w+_\w+|\b\w+\.(?:\w+\(|[A-Z]\w+)"
    r"|\b[\w/-]+/[\w.-]+\.\w{1,5}\b|\b\w+\(\)"
)
# A file that somebody hands to an assistant.
_MENTION = Pattern(r"(?:^|\s)@[\w.~-]*/[\w./-]+\.\w{1,5}\b")
_NAMES = 2  # names of code in a report about it
_STEPS = 3  # lines of instructions below each other
_WRAP = 60  # characters of a line, from which on a terminal may have wrapped it


def split_passage(words: str) -> list[str]:
    """The sentences of a passage, without outer white space and the mark that ends them."""
    return [sentence for part in _SENTENCE.split(words) if (sentence := part.strip())]


def is_faultless(words: str) -> bool:
    """Whether a passage is written with care: each sentence begins with a capital or a name of code, and the last one ends."""
    parts = split_passage(words)
    return bool(parts) and words.rstrip()[-1:] in ".:。" and all(part[0].isupper() or part[0] in "`'\"(" for part in parts)


def is_report(words: str, *, alone: bool, terse: bool, answered: bool) -> bool:
    """Whether a paragraph is a reviewer's, or long faultless prose in which nobody speaks, is spoken to or gives an order.

    Such prose counts where it stands ``alone``, as one who wrote much before it goes on describing; a faultless report about code
    counts where it is all of the prompt or where the person's own words are ``terse``.
    """
    if has_word("reviews", words):
        return not any(opens_with("pleas", sentence) for sentence in split_passage(words))
    if len(words.split()) < ARTICLE or has_word("selves", words) or words.lstrip()[:1].islower() or _MENTION.search(words):
        return False
    if terse and is_code_report(words):
        return True
    if any(opens_with("pleas", sentence) for sentence in split_passage(words)) or not words.rstrip().endswith((".", "。")):
        return False
    described = answered or len(_NAME.findall(words)) >= _NAMES
    return alone and described and "?" not in words and not has_word("person", words) and not opens_with("orders", words)


def is_code_report(words: str) -> bool:
    """Whether a passage is a faultless report that names code and orders nothing."""
    parts = split_passage(words)
    return (
        len(parts) > 1
        and is_faultless(words)
        and len(_NAME.findall(words)) >= _NAMES
        and not has_word("person", words)
        and not any(_is_order(part) for part in parts)
    )


def is_statement(words: str) -> bool:
    """Whether the rest of a line is a text of its own: long and faultless, and nobody speaks, is spoken to or gives an order."""
    return (
        len(words.split()) >= ARTICLE
        and is_faultless(words)
        and not has_word("person", words)
        and not any(_is_order(part) for part in split_passage(words))
    )


def find_steps_start(lines: Sequence[str]) -> int:
    """The first line of instructions that a person pasted below their own terse words; the number of lines where there are none."""
    first = next((place for place, line in enumerate(lines) if place and line[:1].isupper()), len(lines))
    own, steps = lines[:first], [line for line in lines[first:] if line.strip()]
    terse = all(line[:1].islower() and not line.rstrip().endswith((".", ":")) for line in own)
    prose = [line for line in steps if len(line.split()) > 2 and not is_list_item(line)]
    ended = sum(1 for line in prose if line[0].isupper() and line.rstrip().endswith((".", ":")))
    if not terse or ended < _STEPS or ended < len(prose) or has_word("selves", "\n".join(steps)):
        return len(lines)
    return first if sum(len(line.split()) for line in prose) >= ARTICLE else len(lines)


def is_wrapped(lines: Sequence[str]) -> bool:
    """Whether a terminal broke the lines of a paragraph: each goes on with the sentence of the line above it, two columns in."""
    return len(lines) > 1 and not is_list_item(lines[0]) and all(_is_wrapped_pair(above, line) for above, line in pairwise(lines))


def is_long_line(line: str) -> bool:
    """Whether a terminal may have broken a sentence at the end of a line."""
    return len(line.strip()) >= _WRAP and line.rstrip()[-1] not in ".!?:"


def _is_wrapped_pair(above: str, line: str) -> bool:
    return is_long_line(above) and line.startswith("  ") and line.strip()[:1].isalnum()


def _is_order(sentence: str) -> bool:
    """Whether a sentence tells somebody what to do. A condition alone orders nothing: "When x is staged, y is read"."""
    if opens_with("pleas", sentence) or has_word("duties", sentence):
        return True
    if opens_with("conditions", sentence):
        return any(opens_with("orders", clause) and not opens_with("conditions", clause) for clause in sentence.split(", ")[1:])
    return opens_with("orders", sentence)
