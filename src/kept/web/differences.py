"""What changed between two texts, word by word, for people to see. Pure."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import groupby

Change = tuple[str, str]  # "same", "ins" or "del", and the words


def changed_words(before: str, after: str) -> tuple[Change, ...]:
    """The words of both texts in order: those that stayed, went and came. What went stands before what came in its place."""
    old, new = _pieces(before), _pieces(after)
    found: list[Change] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(("same", "".join(old[i:j])))
            continue
        found += [(kind, text) for kind, text in (("del", "".join(old[i:j])), ("ins", "".join(new[k:m]))) if text]
    return tuple(found)


def _pieces(text: str) -> list[str]:
    """Words and what stands between them, so that joined they are the text."""
    return list(_split_runs(text))


def _split_runs(text: str) -> Iterator[str]:
    for _, run in groupby(text, key=lambda char: (char.isalnum(), char.isspace())):
        yield "".join(run)
