"""Text as kept compares it: normal forms, tokens, likeness, artifacts. Pure string code over bounded texts."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

# Scripts written without spaces: their words are compared by pairs of characters.
# Ranges and not a pattern: compiling that one takes a tenth of the time a hook has.
_CJK = (
    ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0002fa1f"),
)

_WORD = re.compile(r"[^\W_]+(?:[.'’/_-][^\W_]+)*", re.UNICODE)


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is written as one string."""
    return frozenset(words.split())


NEGATIONS = word_set(
    "not no never don't dont doesn't cannot can't without avoid stop instead kein nicht nie ohne jamais pas nunca sin não 不 没 别"
)


def normal_form(text: str) -> str:
    """The text without what does not change its meaning: case, width, quotes, markdown marks, outer punctuation, spacing."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded.replace("’", "'")))


def tokenize(text: str) -> frozenset[str]:
    """The set of words of the normal form, words of scripts without spaces given as pairs of characters."""
    return split_tokens(normal_form(text))


def split_tokens(form: str) -> frozenset[str]:
    """The same of a text that is in its normal form already."""
    if form.isascii():
        return frozenset(form.split())
    words: set[str] = set()
    for word in form.split():
        if not word.isascii() and any(map(is_cjk, word)):
            words.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            words.add(word)
    return frozenset(words)


def is_cjk(char: str) -> bool:
    """Whether a character belongs to a script that is written without spaces between words."""
    return char >= "\u3040" and any(first <= char <= last for first, last in _CJK)


def jaccard_similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """The Jaccard index of two token sets, in [0, 1]; 0 where both are empty."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def number_tokens(words: frozenset[str]) -> frozenset[str]:
    """The tokens that hold a digit: versions, sizes, dates, ids. Two statements that differ in one are not the same statement."""
    return frozenset(word for word in words if any(char.isdigit() for char in word))


def one_line(text: str) -> str:
    """The text on one line, runs of white space as one space."""
    return " ".join(text.split())


_PIECE = re.compile(r"[^\W\d_]+|\d+", re.UNICODE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def index_words(text: str) -> str:
    """The words under which a text is found: its own, the pieces of identifiers and paths, pairs of CJK characters.

    ``getUserName`` is found as itself and as get, user, name; ``src/app/main.py`` by each part.
    """
    words: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        if not word.isascii() and any(map(is_cjk, word)):
            words.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
            continue
        if word.isalpha() and word[1:].islower():  # as most words: it has no pieces
            words.append(word)
            continue
        words.append(_SEPARATOR.sub("", word))
        pieces = [piece for part in _HUMP.split(word) for piece in _PIECE.findall(part)]
        if len(pieces) > 1:
            words.extend(pieces)
    return " ".join(words).lower()


def phrase_words(name: str) -> str:
    """The words of a name as they stand beside each other in :func:`index_words` of a text, also where a longer path has it in
    it.
    """
    words = index_words(name).split()
    return " ".join(words[1:] if len(words) > 1 and len(name.split()) == 1 else words)


_SEPARATOR = re.compile(r"[.'’/_-]")


def query_words(text: str, most: int = 40) -> tuple[str, ...]:
    """The words to look for when a person asks for a text: at most so many, each once, in the form of :func:`index_words`."""
    return tuple(dict.fromkeys(index_words(text[:10_000]).split()))[:most]


# How the name of a project or a tool is shown: as a short identifier, and saying so where it mixes letters that look alike.
_LOOKALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
_LABEL = re.compile(r"(?:[^_.-]+[_.-]*){1,4}")
_LONGEST_LABEL = 32  # characters; half as many of a script whose characters are words


@lru_cache(maxsize=4096)
def mixed_scripts(text: str) -> tuple[str, ...]:
    """The alphabets with letters that look alike of which one word of a text mixes two or more; empty where none does."""
    if text.isascii():
        return ()
    for word in "".join(char if char.isalpha() else " " for char in text).split():
        found = {unicodedata.name(char, "").partition(" ")[0] for char in word} & _LOOKALIKE
        if len(found) > 1:
            return tuple(sorted(item.capitalize() for item in found))
    return ()


def flag_mixed_scripts(name: str) -> str:
    """A name as people are shown it: what mixes alphabets says so."""
    mixed = mixed_scripts(name)
    return f"{name} (mixes {' and '.join(mixed)} letters)" if mixed else name


def project_label(name: str) -> str:
    """A project's name as files and agents are shown it: an identifier of at most four words, never a sentence.

    Whoever makes a folder names it, and a name that reads like an instruction must not be followed as one.
    """
    plain = "".join(char if char.isalnum() or char in "_.+#" or unicodedata.category(char)[0] == "M" else " " for char in name)
    whole = "-".join(plain.split()).strip("_.-")
    wide = any(unicodedata.east_asian_width(char) in "WF" for char in whole)
    words = _LABEL.match(whole)
    label = words[0][: _LONGEST_LABEL // (1 + wide)].rstrip("_.-") if words else ""
    return (label + "…" * (label != whole)) or "project"


Change = tuple[str, str]  # "same", "ins" or "del", and the words


def diff_words(before: str, after: str) -> tuple[Change, ...]:
    """The words of both texts in order: those that stayed, went and came. What went stands before what came in its place."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - hooks compare texts and tell no differences

    old, new = list(_split_runs(before)), list(_split_runs(after))
    found: list[Change] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(("same", "".join(old[i:j])))
            continue
        found += [(kind, text) for kind, text in (("del", "".join(old[i:j])), ("ins", "".join(new[k:m]))) if text]
    return tuple(found)


def _split_runs(text: str) -> Iterator[str]:
    """Words and what stands between them, so that joined they are the text."""
    for _, run in groupby(text, key=lambda char: (char.isalnum(), char.isspace())):
        yield "".join(run)
