"""Recognises lines that programs print and people do not type, by shape: logs, stack traces, diffs, tables, code, shell prompts."""

from collections.abc import Iterator
from functools import lru_cache

from kept.core.pattern import Pattern, compile_late
from kept.core.words import fill_pattern, has_word

# Beginnings of lines of program output, code, diffs and tables.
_SHAPES = fill_pattern(r"(?i)^\s*(?:‹shapes:output›|‹complaints›\s?[:：]\s*\S)")
# A numbered list with the margin of an agent's screen, copied below other text: the first two items begin with a capital.
_SCREEN_LIST = Pattern(
    r"(?m)^  1[.)] +[*`]{0,2}\p{Lu}.*\n(?:(?:   .*\S.*|[ \t]*)\n)*  2[.)] +[*`]{0,2}\p{Lu}.*(?:\n(?:  .*\S.*|[ \t]*)$)*"
)
# Endings of lines of code; they do not count if words of a person occur in the line.
_ENDS = Pattern(r"[)\]}\w'\"];\s*$|[^\s:]\s?\{\s*$|=>\s*\{?$|\\\s*$")
_STRONG_INSIDE = Pattern(
    r"\b[0-9a-f]*[0-9][0-9a-f]{6,}\b|\.\.\.\s*$|\b\d+ (?:files?|tests?|errors?|warnings?|insertions?) ?(?:changed|passed"
    r"|failed|\()|\(\d+\.\d+s\)|\s{8,}\S"
)
# A line with only a URL, which people add to their request.
_ADDRESS = Pattern(r"^\s*@?https?://\S+\s*$")
# An @-mention of a file, with or without line numbers, alone or before words.
_MENTION = Pattern(r"^@[\w.~-]*/(?:\S*[\w-]\.\w{1,5}(?:[:#]L?\d[\dL:-]*)?\s*$|\S+\s+\p{Ll}+ )")
# A person's sentence after a word that is also a log level: "debug: I am seeing …".
_CONFIDED = Pattern(r"^\p{Ll}+: (?:I|i|ich|je|yo|eu)(?:'\pL+)? \pL")
_INDENTED = Pattern(r"^(?: {4,}|\t)\S")
# A description of data in words: after the equals sign, outside strings, comes a run of four or more words without a keyword.
_ASSIGNED = Pattern(r"^[\w.]+\s?=\s")
_STRING = compile_late(r"\"[^\"]*\"|'[^']*'")
_WORDS = Pattern(r"\b(?:\p{Ll}+ ){3}\p{Ll}+")
_CODE_WORDS = frozenset(
    {"for", "in", "if", "is", "not", "and", "or", "else", "as", "from", "import", "await", "new", "where", "do", "end", "then"}
)
# Characters that do not occur in prose.
_MARKS = compile_late(r"[^\w\s.,:;!?'\"’“”()\-/`#@&%~…*、。，！？：；（）「」<>=¿¡«»]")
_BULLET = Pattern(r"^\s*(?:[-*•]|\d{1,2}[.)]|[a-zA-Z][.)])\s")
# Marks of an agent's screen.
_SCREEN = Pattern(r"(?m)^[ \t]*[⏺●⎿✻]\s*\S|^[ \t]*⎿")


@lru_cache(maxsize=512)  # several rules call it for each line
def is_output_line(line: str) -> bool:
    """True if a line has the shape of program output, code, a diff or a table."""
    if (line.startswith("@") and _MENTION.match(line)) or _ADDRESS.match(line) or _CONFIDED.match(line) or _is_assigned_prose(line):
        return False
    if _SHAPES.match(line) or "\t" in line.strip() or (_ENDS.search(line) and not has_word("person", line)):
        return True
    dense = sum(map(len, line.split()))
    return dense >= 8 and len(_MARKS.findall(line)) * 5 > dense


def _is_assigned_prose(line: str) -> bool:
    rows = _WORDS.finditer(_STRING.sub("", line)) if _ASSIGNED.match(line) else ()
    return any(_CODE_WORDS.isdisjoint(row[0].split()) for row in rows)


def is_list_item(line: str) -> bool:
    """True if a line is a list item."""
    return bool(_BULLET.match(line))


def is_indented(line: str) -> bool:
    """True if a line is indented like a code block."""
    return bool(_INDENTED.match(line)) and not is_list_item(line)


def has_inline_output(text: str) -> bool:
    """True if a text has signs of program output inside its lines: commit hashes, long numbers, durations, counts, padding."""
    return bool(_STRONG_INSIDE.search(text))


def find_screen_lists(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of lists copied from an agent's screen: all their lines keep its margin, and they hold no words of a person."""
    for match in _SCREEN_LIST.finditer(text):
        above = text[: match.start()].rstrip().rpartition("\n")[2]
        if above and not above[0].isspace() and not is_list_item(above) and not has_word("person", match[0]):
            yield match.span()


def is_agent_screen(text: str) -> bool:
    """True if a text was copied from the screen of an agent."""
    return bool(_SCREEN.search(text))
