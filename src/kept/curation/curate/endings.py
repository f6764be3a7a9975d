"""Find decisions that end an earlier decision, because they abandon its option ("we decided against Postgres, SQLite it is").

The two decisions share the name of the option, and often nothing else. The earlier one ends only if it has all words of the clause
that abandons the option. So "against Postgres for the search" does not end a decision for Postgres in the orders.
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
    """The options that a decision chooses, or those that it abandons.

    ``names`` are the options. ``words`` are the content words of the clauses about them.
    """

    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


_NONE = Choice()


@lru_cache(maxsize=20_000)
def find_left(text: str) -> Choice:
    """The options that a text abandons, from the first clause that abandons a name; empty if no clause does."""
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
    """The options that a text chooses, from all clauses that do not abandon an option; empty if the text is not a decision."""
    text = text[:_TEXT_CHARS]
    if not find_languages("decided", text):
        return _NONE
    found = [_read_clause(clause, text, takes=True) for clause in _split_clauses(text) if not _leaves().search(clause)]
    return Choice(
        names=frozenset[str]().union(*(each.names for each in found)), words=frozenset[str]().union(*(each.words for each in found))
    )


def ends_choice(earlier: str, later: str) -> bool:
    """True if the later text abandons the option that the earlier decision chose.

    False if the later text limits this to something that the earlier decision does not name.
    """
    left = find_left(later)
    taken = find_taken(earlier) if left.names else _NONE
    return not left.names.isdisjoint(taken.names) and all(
        word in taken.words or any(is_form(word, other) for other in taken.words) for word in left.words
    )


def strip_reasons(text: str) -> str:
    """A text without the clauses that give reasons."""
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
    """The names and content words of a clause. ``takes`` is True for a clause about chosen options.

    For abandoned options, reading stops before the option chosen instead: after a name and a word such as "to" or "with". Every
    text begins with a capital letter, so its first word does not count as the name of a chosen option.
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
    """The words that express a decision, from the first name on: "Heroku to" of "we've switched from Heroku to"."""
    name = _NAME.search(decided[0])
    return f" {decided[0][name.start() :]} " if name else " "
