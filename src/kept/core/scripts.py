"""Which alphabets a word is written in: a name that mixes lookalikes of two is not what it seems to be."""

import unicodedata
from functools import lru_cache

_LOOKALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})


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
