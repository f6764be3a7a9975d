"""The words of the languages, a table for each in ``words.toml``; what no language is needed for stands in ``shapes.toml``.

All languages are read side by side: whose words a span is made of must not depend on which language a prompt was taken for. A list
holds fragments of patterns, a text plain words. Words of time, of choices and of denials are told where they are read.

``person``: somebody speaks or is spoken to; ``selves``: those of them that name the speaker or ask. ``resumes``: how a person goes
on after a paste. ``orders``: how they open what they want done, and ``pleas`` a further sentence of it; ``conditions``: openings
that order nothing by themselves; ``duties``: what must be done. ``sources``: who or what may be quoted. ``speakers``: those of them
that a label names. ``says``: verbs of saying. ``according``: what makes a sentence that of a source; ``taken``: the same where a
colon follows. ``material``: nouns that announce a paste when a colon follows. ``digests``: orders that announce a text to work on.
``restatements``: how a person brings an earlier prompt of their own again. ``standing``: openings of rules that are to last.
``reviews``: phrases of a review. ``polite``, ``examples``, ``contrasts``, ``wanted``: what may stand before an order, an example,
another thought, the text that something is to show. ``roles`` and ``scripted``: how a program tells a model who it is and what to
give; ``questions``, ``contexts`` and ``supplies``: what its templates call a question and what they retrieved. ``complaints``: what
programs call an error. ``people`` and ``assistants`` head the turns of a conversation. ``forwarded``, ``mail_…``, ``wrote``,
``greetings``, ``closings``: the parts of a mail.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from typing import Any

from kept.core.pattern import Pattern

_UNSPACED = frozenset({"zh", "ja", "ko"})  # languages that write no spaces between words
# Neither a letter nor a digit of the scripts that write words apart: ranges instead of classes keep the automata small.
_EDGE = r"[^\w\x{AA}\x{B5}\x{BA}\x{C0}-\x{24F}\x{370}-\x{1FFF}]"


_NAMED = re.compile(r"‹(\w+)(?::([\w.]+))?›")


@cache
def _load_tables(name: str = "words") -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def language_tables(name: str) -> list[Mapping[str, str]]:
    """The tables of a name, of each language that has one."""
    return [table[name] for table in _load_tables().values() if name in table]


@cache
def plain_words(purpose: str) -> frozenset[str]:
    """The plain words of a purpose in all languages."""
    return frozenset(word for table in _load_tables().values() for word in table.get(purpose, "").split())


def list_phrases(purpose: str) -> tuple[str, ...]:
    """The phrases, or fragments, of a purpose in all languages."""
    return tuple(phrase for table in _load_tables().values() for phrase in table.get(purpose, ()))


def list_shapes(table: str, name: str = "") -> tuple[str, ...]:
    """The shapes under a name of a table of ``shapes.toml``, or under all of its names."""
    lists = _load_tables("shapes")[table]
    return tuple(shape for each in ([name] if name else lists) for shape in lists[each])


@cache
def _load_openings(client: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((reason, tuple(texts)) for reason, texts in _load_tables("shapes")["openings"][client].items())


def match_opening(client: str, text: str) -> str:
    """Why a text in the person's name is a client's own, by how it begins; empty where it may be the person's."""
    return next((reason for reason, texts in _load_openings(client) if text.startswith(texts)), "")


def fill_pattern(template: str) -> Pattern:
    """A pattern in which ``‹polite›`` stands for the words of a purpose in all languages (``‹polite:spaced›``: of languages that
    write words apart, ``‹polite:unspaced›`` for the others), and ``‹shapes:clients.tags›`` for the shapes of a list.
    """
    return Pattern(partial(_NAMED.sub, _fill_name, template))


def _fill_name(named: "re.Match[str]") -> str:
    if named[1] == "shapes":
        return "|".join(list_shapes(*named[2].split(".")))
    kinds = (named[2] == "unspaced",) if named[2] else (False, True)
    return f"(?:{'|'.join(filter(None, (_join_words(named[1], unspaced=kind) for kind in kinds)))})"


def _join_words(purpose: str, *, unspaced: bool) -> str:
    tables = [table for language, table in _load_tables().items() if (language in _UNSPACED) == unspaced]
    return "|".join(fragment for table in tables for fragment in table.get(purpose, ()))


@cache
def spaced_pattern(purpose: str) -> str:
    """The words of a purpose in languages with spaces, as the source of one group without word borders."""
    return f"(?:{_join_words(purpose, unspaced=False)})".replace("'", "['’]")


@cache
def unspaced_pattern(purpose: str) -> str:
    """The words of a purpose in languages without spaces, as the source of one group."""
    return f"(?:{_join_words(purpose, unspaced=True)})"


@cache
def _compile_words(purpose: str, start: str) -> Pattern:
    anywhere = f"|{unspaced_pattern(purpose)}" if _join_words(purpose, unspaced=True) else ""
    return Pattern(rf"(?i){start}(?:(?:^|{_EDGE}){spaced_pattern(purpose)}(?:$|{_EDGE}){anywhere})")


def has_word(purpose: str, text: str) -> bool:
    """Whether one of the words of a purpose stands in the text."""
    return _compile_words(purpose, "").search(text) is not None


def find_words(purpose: str, text: str) -> list[str]:
    """The words of a purpose that stand in the text, in lower case."""
    return [match[0].strip().casefold() for match in _compile_words(purpose, "").finditer(text)]


def opens_with(purpose: str, text: str) -> bool:
    """Whether the text begins with one of the words, the mark of a list item aside."""
    return _compile_words(purpose, r"^(?:[-*•]|\d{1,2}[.)])?\s{0,4}").search(text) is not None
