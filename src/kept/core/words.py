"""Word lists per language, from ``words.toml``; lists that do not depend on a language are in ``shapes.toml``.

All languages apply at once, because the author of a span must not depend on the detected language of a prompt. A TOML list holds
fragments of patterns, a TOML string plain words separated by spaces. The keys below are those that :mod:`kept.core.spans` uses to
find the author of a text; the modules that read the other keys describe them.

- ``person``: words by which a person speaks or is addressed; ``selves``: those of them that name the speaker or ask.
- ``resumes``: how a person continues after a paste.
- ``wishes``: words of a person who wants something; ``orders``: openings of an instruction; ``pleas``: openings of a further
  sentence of it; ``conditions``: openings that instruct nothing by themselves; ``duties``: verbs of obligation; ``standing``:
  openings of lasting rules.
- ``sources``: who or what may be quoted; ``speakers``: those that occur as a label; ``says``: verbs of saying;
  ``according``: phrases that attribute a sentence to a source; ``taken``: the same if a colon follows.
- ``material``: nouns that announce a paste if a colon follows; ``digests``: instructions that announce a text to work on;
  ``restatements``: words with which a person repeats an earlier prompt; ``reviews``: phrases of a review.
- ``polite``, ``examples``, ``contrasts``, ``wanted``: words before an instruction, an example, a contrasting thought, and the text
  that something is to show.
- ``roles``, ``scripted``: how a program tells a model who it is and what to output; ``questions``, ``contexts``,
  ``supplies``: words of prompt templates for a question and for retrieved material; ``complaints``: words of programs for an error.
- ``people``, ``assistants``: labels of the turns of a conversation.
- ``forwarded``, ``mail_from``, ``mail_fields``, ``mail_on``, ``wrote``, ``greetings``, ``closings``: parts of an e-mail.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from kept.core.codec import load_table
from kept.core.pattern import Pattern, compile_late

_UNSPACED = frozenset({"zh", "ja", "ko"})  # languages without spaces between words
# A word boundary: no letter or digit of a script with spaces between words. Ranges in place of classes keep the automata small.
_EDGE = r"[^\w\x{AA}\x{B5}\x{BA}\x{C0}-\x{24F}\x{370}-\x{1FFF}]"
_NAMED = compile_late(r"‹(\w+)(?::([\w.]+))?›")


@cache
def _load_tables(name: str = "words") -> Mapping[str, Any]:
    return load_table(Path(__file__).with_name(f"{name}.toml"))


def language_tables(name: str) -> list[Mapping[str, str]]:
    """The tables with this name, from each language that has one."""
    return [table[name] for table in _load_tables().values() if name in table]


@cache
def plain_words(purpose: str) -> frozenset[str]:
    """The plain words under a key, in all languages."""
    return frozenset(word for table in _load_tables().values() for word in table.get(purpose, "").split())


def list_phrases(purpose: str) -> tuple[str, ...]:
    """The phrases or pattern fragments under a key, in all languages."""
    return tuple(phrase for table in _load_tables().values() for phrase in table.get(purpose, ()))


def list_shapes(table: str, name: str = "") -> tuple[str, ...]:
    """The shapes under ``name`` in a table of ``shapes.toml``. An empty ``name`` means all of its names."""
    lists = _load_tables("shapes")[table]
    return tuple(shape for key in ([name] if name else lists) for shape in lists[key])


@cache
def _load_openings(client: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((reason, tuple(texts)) for reason, texts in _load_tables("shapes")["openings"][client].items())


def match_opening(client: str, text: str) -> str:
    """The reason why a text in the person's name is a client's own, found by its first words. Empty if it may be the person's."""
    return next((reason for reason, texts in _load_openings(client) if text.startswith(texts)), "")


def fill_pattern(template: str, *, memory: int = 0, needs: Sequence[str] = ()) -> Pattern:
    """A pattern from a template with placeholders. ``memory`` and ``needs`` are those of :class:`Pattern`.

    ``‹polite›`` becomes the fragments under that key in all languages. ``‹polite:spaced›`` becomes only those of languages with
    spaces between words, ``‹polite:unspaced›`` those of the others. ``‹shapes:clients.tags›`` becomes a list of ``shapes.toml``.
    """
    return Pattern(partial(_NAMED.sub, _fill_name, template), memory=memory, needs=needs)


def _fill_name(named: "re.Match[str]") -> str:
    if named[1] == "shapes":
        return "|".join(list_shapes(*named[2].split(".")))
    kinds = (named[2] == "unspaced",) if named[2] else (False, True)
    return f"(?:{'|'.join(filter(None, (_join_words(named[1], unspaced=kind) for kind in kinds)))})"


def _join_words(purpose: str, *, unspaced: bool) -> str:
    tables = [table for language, table in _load_tables().items() if (language in _UNSPACED) == unspaced]
    return "|".join(fragment for table in tables for fragment in table.get(purpose, ()))


@cache
def _compile_words(purpose: str, start: str) -> Pattern:
    spaced, unspaced = (_join_words(purpose, unspaced=kind) for kind in (False, True))
    spaced = spaced.replace("'", "['’]")
    anywhere = f"|(?:{unspaced})" if unspaced else ""
    return Pattern(rf"(?i){start}(?:(?:^|{_EDGE})(?:{spaced})(?:$|{_EDGE}){anywhere})")


def has_word(purpose: str, text: str) -> bool:
    """True if the text contains one of the words under a key."""
    return _compile_words(purpose, "").search(text) is not None


def find_words(purpose: str, text: str) -> list[str]:
    """The words under a key that the text contains, in lower case."""
    return [match[0].strip().casefold() for match in _compile_words(purpose, "").finditer(text)]


def opens_with(purpose: str, text: str) -> bool:
    """True if the text begins with one of the words under a key. The marker of a list item is skipped."""
    return _compile_words(purpose, r"^(?:[-*•]|\d{1,2}[.)])?\s{0,4}").search(text) is not None
