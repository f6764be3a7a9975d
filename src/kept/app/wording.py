"""Wording: what is to be forgotten, as it may stand in other texts: in the same words, or a sentence of its own in nearly the same.

To be made of memories as they were before they were forgotten. Knows texts, not where they lie.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import re2

from kept.app.desk import Desk
from kept.model.fingerprint import fingerprint, recognised
from kept.model.memory import Memory
from kept.model.text import normal_form

_SHORTEST = 12  # characters; less is said by chance
_END = re2.compile(r"[.!?]\s+|[。！？]|\n+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """What is to be forgotten: the normal forms of its words, and keyed fingerprints of its statements."""

    forms: tuple[str, ...]
    prints: frozenset[str]
    key: bytes

    def __bool__(self) -> bool:
        """Whether there is anything that a text could tell."""
        return bool(self.forms or self.prints)

    def told_by(self, text: str) -> bool:
        """Whether a text tells it, somewhere in it."""
        form = normal_form(text)
        if any(each in form for each in self.forms):
            return True
        return bool(self.prints) and any(recognised(each, self.prints, self.key) for each in (text, *_END.split(text)))


def wording(desk: Desk, memories: Iterable[Memory]) -> Wording:
    """The words of memories and of what they rest on. Raises StoreError."""
    known = [each for each in memories if each.content]
    said = words_of(desk, (text for each in known for text in (each.content, *(one.quote for one in each.evidence))))
    return replace(said, prints=frozenset(fingerprint(each.content, said.key) for each in known) - {""})


def words_of(desk: Desk, texts: Iterable[str]) -> Wording:
    """Texts as such, but for those that are too short to tell anything. Raises StoreError."""
    forms = {normal_form(each) for each in texts}
    return Wording(
        forms=tuple(sorted(each for each in forms if len(each) >= _SHORTEST)), prints=frozenset(), key=desk.store.key("forget")
    )


def forgotten(desk: Desk) -> Wording:
    """What was forgotten so far: fingerprints alone, for its words are gone. Raises StoreError."""
    return Wording(forms=(), prints=desk.store.log.forgotten(), key=desk.store.key("forget"))
