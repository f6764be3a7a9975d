"""Find decisions that end an earlier one: the later decision names the option it abandons ("we decided against Postgres, SQLite it
is").

Two such decisions share that name and often nothing else. The earlier one ends only if its words include all that the later clause
says: "against Postgres for the search" does not end a decision for Postgres in the orders. Knows no memories.
"""

import re
from functools import cache, lru_cache

from kept.core.pattern import compile_late
from kept.core.statement import find_content, is_form, stem_word
from kept.core.text import is_cjk
from kept.core.value import dataclass
from kept.extraction.rules.patterns import compile_pattern, find_languages
from kept.profiles.lexicons import join_alternatives, word_list

_TEXT_CHARS = 600  # read at most this many characters of a text
_TOKEN = compile_late(r"[^\W_]+(?:['’_./@+#-]*[^\W_]+)*[+#]*")
_NAME = compile_late(r"(?<=\s)\S*[A-ZÀ-ÞА-Я]")
_EDGE = compile_late(r"[,;()\n]|[.!?](?:\s|$)|\s[—–-]\s")


@cache
def _words_pattern(*names: tuple[str, str]) -> re.Pattern[str]:
    spaced = "|".join(join_alternatives(table, name, spaced=True) for table, name in names)
    return re.compile(rf"(?i)(?<![\w-])(?:{spaced})(?![\w-])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The options that a decision chooses or abandons: their names, and all content words of the clauses that say so."""

    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


_NONE = Choice()


@lru_cache(maxsize=20_000)
def find_left(text: str) -> Choice:
    """The abandoned option in the first clause of a text that abandons a name; empty if there is none."""
    text = text[:_TEXT_CHARS]
    if _leaves().search(text):
        for clause in _split_clauses(text):
            if _leaves().search(clause):
                found = _read_clause(clause, text)
                if found.names:
                    return found
    return _NONE


@lru_cache(maxsize=20_000)
def find_taken(text: str) -> Choice:
    """The chosen options, from all clauses that abandon nothing; empty if a text is not a decision."""
    text = text[:_TEXT_CHARS]
    if not find_languages("decided", text):
        return _NONE
    found = [_read_clause(clause, text, takes=True) for clause in _split_clauses(text) if not _leaves().search(clause)]
    return Choice(
        names=frozenset[str]().union(*(each.names for each in found)), words=frozenset[str]().union(*(each.words for each in found))
    )


def ends_choice(earlier: str, later: str) -> bool:
    """True if a later text abandons the option that an earlier decision chose, without a limit that the earlier decision does not
    name.
    """
    left = find_left(later)
    taken = find_taken(earlier) if left.names else _NONE
    return not left.names.isdisjoint(taken.names) and all(
        word in taken.words or any(is_form(word, other) for other in taken.words) for word in left.words
    )


def strip_reasons(text: str) -> str:
    """A text without its reasons."""
    return " ".join(_split_clauses(text[:_TEXT_CHARS]))


def _leaves() -> re.Pattern[str]:
    return _words_pattern(("polarity", "denies"), ("polarity", "denies_back"), ("change", "gone"), ("change", "leaves"))


def _split_clauses(text: str) -> list[str]:
    """The clauses of a text, without reasons."""
    clauses = [each for part in _EDGE.split(text) for each in _words_pattern(("polarity", "clause")).split(part)]
    return [_cut_reason(clause) for clause in clauses]


def _cut_reason(clause: str) -> str:
    for patterns in find_languages("reason", clause):
        match = compile_pattern(patterns.reason).search(clause)
        clause = clause[: match.start()] if match and not _words_pattern(("change", "instead")).search(match[0]) else clause
    return clause


def _read_clause(clause: str, text: str, *, takes: bool = False) -> Choice:
    """The names and content words of a clause. The words after a name and "to" or "with" are the option chosen instead of it.

    A capital letter at the beginning of a text does not indicate the name of a chosen option.
    """
    for patterns in find_languages("decided", clause):
        clause = compile_pattern(patterns.decided).sub(_keep_names, clause)
    clause = _words_pattern(("change", "turned")).sub(" ", _leaves().sub(" ", clause))
    content, dull, toward = find_content(clause), word_list("change", "plans"), word_list("change", "toward")
    names: set[str] = set()
    words: set[str] = set()
    for token in map(str, _TOKEN.findall(clause)):
        if names and not takes and token.casefold() in toward:
            break
        word = stem_word(token.casefold())
        if word not in content or token in dull or any(map(is_cjk, token)):
            continue
        words.add(word)
        if not (token.islower() or (takes and text.startswith(token))):
            names.add(word)
    return Choice(names=frozenset(names), words=frozenset(words))


def _keep_names(decided: "re.Match[str]") -> str:
    """The part of the words of a decision from its first name on: "we've switched from Heroku to"."""
    name = _NAME.search(decided[0])
    return f" {decided[0][name.start() :]} " if name else " "
