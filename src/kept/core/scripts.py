"""How the name of a project or a tool is shown: as a short identifier, and saying so where it mixes letters that look alike."""

import re
import unicodedata
from functools import lru_cache

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
            return tuple(sorted(each.capitalize() for each in found))
    return ()


def with_scripts(name: str) -> str:
    """A name as people are shown it: what mixes alphabets says so."""
    mixed = mixed_scripts(name)
    return f"{name} (mixes {' and '.join(mixed)} letters)" if mixed else name


def label_of(name: str) -> str:
    """A project's name as files and agents are shown it: an identifier of at most four words, never a sentence.

    Whoever makes a folder names it, and a name that reads like an instruction must not be followed as one.
    """
    plain = "".join(char if char.isalnum() or char in "_.+#" or unicodedata.category(char)[0] == "M" else " " for char in name)
    whole = "-".join(plain.split()).strip("_.-")
    wide = any(unicodedata.east_asian_width(char) in "WF" for char in whole)
    words = _LABEL.match(whole)
    label = words[0][: _LONGEST_LABEL // (1 + wide)].rstrip("_.-") if words else ""
    return (label + "…" * (label != whole)) or "project"
