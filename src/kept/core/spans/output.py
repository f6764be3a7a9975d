"""Lines that programs print and people do not type: logs, stacks, diffs, tables, code, prompts and marks of tools. Judged by shape
alone.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from kept.core.pattern import Pattern
from kept.core.words import fill_pattern, has_word

# How a line begins that a program printed, or that is code, a diff or a table.
_SHAPES = fill_pattern(r"(?i)^\s*(?:‹shapes:output›|‹complaints›\s?[:：]\s*\S)")
# A list with the margin that an agent's screen gives it, as it was copied below something: each item begins with a capital.
_SCREEN_LIST = Pattern(
    r"(?m)^  1[.)] +[*`]{0,2}\p{Lu}.*\n(?:(?:   .*\S.*|[ \t]*)\n)*  2[.)] +[*`]{0,2}\p{Lu}.*(?:\n(?:  .*\S.*|[ \t]*)$)*"
)
# How lines of code end, unless somebody speaks in them.
_ENDS = Pattern(r"[)\]}\w'\"];\s*$|[^\s:]\s?\{\s*$|=>\s*\{?$|\\\s*$")
_STRONG_INSIDE = Pattern(
    r"\b[0-9a-f]*[0-9][0-9a-f]{6,}\b|\.\.\.\s*$|\b\d+ (?:files?|tests?|errors?|warnings?|insertions?) ?(?:changed|passed"
    r"|failed|\()|\(\d+\.\d+s\)|\s{8,}\S"
)
# An address alone, which a person puts beside their request.
_ADDRESS = Pattern(r"^\s*@?https?://\S+\s*$")
# A file that somebody hands to an assistant, its lines named or not, alone or before words.
_MENTION = Pattern(r"^@[\w.~-]*/(?:\S*[\w-]\.\w{1,5}(?:[:#]L?\d[\dL:-]*)?\s*$|\S+\s+\p{Ll}+ )")
# Somebody who speaks of themselves behind the name of a level: "debug: I am seeing …".
_CONFIDED = Pattern(r"^\p{Ll}+: (?:I|i|ich|je|yo|eu)(?:'\pL+)? \pL")
_INDENTED = Pattern(r"^(?: {4,}|\t)\S")
# Data that somebody describes: behind an equals sign and outside of strings stand words in a row, none of them of code.
_ASSIGNED = Pattern(r"^[\w.]+\s?=\s")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_WORDS = Pattern(r"\b(?:\p{Ll}+ ){3}\p{Ll}+")
_CODE_WORDS = frozenset(
    {"for", "in", "if", "is", "not", "and", "or", "else", "as", "from", "import", "await", "new", "where", "do", "end", "then"}
)
# Characters that prose does without.
_MARKS = re.compile(r"[^\w\s.,:;!?'\"’“”()\-/`#@&%~…*、。，！？：；（）「」<>=¿¡«»]")
_BULLET = Pattern(r"^\s*(?:[-*•]|\d{1,2}[.)]|[a-zA-Z][.)])\s")
# After these marks of an agent's screen, indented and wrapped lines go on with what was shown.
_SCREEN = Pattern(r"(?m)^[ \t]*[⏺●⎿✻]\s*\S|^[ \t]*⎿")


@lru_cache(maxsize=512)  # several rules ask this of each line
def is_output_line(line: str) -> bool:
    """Whether a line has the shape of something a program printed, of code, of a diff or of a table."""
    if (line.startswith("@") and _MENTION.match(line)) or _ADDRESS.match(line) or _CONFIDED.match(line) or _is_described(line):
        return False
    if _SHAPES.match(line) or "\t" in line.strip() or (_ENDS.search(line) and not has_word("person", line)):
        return True
    dense = sum(map(len, line.split()))
    return dense >= 8 and len(_MARKS.findall(line)) * 5 > dense


def _is_described(line: str) -> bool:
    rows = _WORDS.finditer(_STRING.sub("", line)) if _ASSIGNED.match(line) else ()
    return any(_CODE_WORDS.isdisjoint(row[0].split()) for row in rows)


def is_list_item(line: str) -> bool:
    """Whether a line is an item of a list."""
    return bool(_BULLET.match(line))


def is_indented(line: str) -> bool:
    """Whether a line is set off as a block of code is."""
    return bool(_INDENTED.match(line)) and not is_list_item(line)


def has_inline_output(text: str) -> bool:
    """Whether a text holds what programs print inside lines: object names, counts of things done, padding."""
    return bool(_STRONG_INSIDE.search(text))


def find_screen_lists(text: str) -> Iterator[tuple[int, int]]:
    """Where lists stand that were copied off an agent's screen: all of their lines keep its margin and nobody speaks in them."""
    for match in _SCREEN_LIST.finditer(text):
        above = text[: match.start()].rstrip().rpartition("\n")[2]
        if above and not above[0].isspace() and not is_list_item(above) and not has_word("person", match[0]):
            yield match.span()


def is_agent_screen(text: str) -> bool:
    """Whether a text was copied from the screen of an agent."""
    return bool(_SCREEN.search(text))
