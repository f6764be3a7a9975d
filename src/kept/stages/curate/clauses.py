"""Clauses: which sentences say one thing and each add to it, and the one sentence that says it with all they add.

"We write dates in UTC, also in the log" and "we write dates in UTC, never local time" begin alike; of "keep a diary" and "keep a detailed
diary, commit as you go" one says all that the other does. Knows texts alone, and joins only what contradicts nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import re2

from kept.model.artifact import artifacts
from kept.model.statement import denies, opposed, statement, stem, unopened
from kept.model.text import NEGATIONS, normal_form, numbers

LONGEST = 300  # characters of what is joined: as many as a memory may have
_HEAD = 4  # words with matter of their own that a common beginning has at least
_LEAST, _MOST = 2, 8  # words of an order that another may contain
_SUBJECT = 4  # words before the "is" of a definition
_KIND = 3  # words of a definition that another may contain: a name, "is", and what it is
_NEAR = 50  # orders that share a word which are compared: what more of them share tells nothing
_CUT = re2.compile(r"[,;:.!?](?:\s+|$)|\s+[—–-]\s+")
_ASIDE = re2.compile(r"\([^()]*\)|\b(?:as|while) (?:you|we|i) (?:go|work)(?: along)?\b")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# A beginning that only says when or where is no common matter.
_CONDITIONS = _set(
    "if when whenever where unless before after while until for in on at with wenn falls bei vor nach si cuando quand se quando"
)
# A sentence with one of these is no plain order.
_FINITE = _set(
    "is are was were be been am has have had does did will would can could should must may might i we they it he she this that these those"
)
# Words that bind an order to a case: with another case it is another order.
_BINDING = _set("in on for with under when if unless only except from by before after during per every each any all without than")
_COPULAS = _set("is are ist sind es est son sont é são")
_GLUE = _set("a an the and or to at of your my our own some please always also then just as")
_MANNER = _set(
    "detailed frequent frequently regular regularly appropriate sensible proper properly good nice clear careful carefully often"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Clauses:
    """A text by its parts: what it begins with (empty where that is too little), what comes after, its words where it is a plain order.

    ``named`` are the words of its first clause, ``says`` those of all of it, where it says what something with a name is.
    """

    head: str
    rest: str
    order: frozenset[str]
    named: frozenset[str]
    says: frozenset[str]


def clauses(text: str) -> Clauses:
    """The parts of a text by which it is joined with others."""
    first, rest = _first(text)
    said = unopened(normal_form(first).split())
    head = " ".join(said)
    whole = bool(said) and said[0] not in _CONDITIONS and len(statement(head).content) >= _HEAD
    named, says = _definition(first), _definition(text)
    both = named and says
    return Clauses(head=head if whole else "", rest=rest, order=_order(text), named=both and named, says=both and says)


def _first(text: str) -> tuple[str, str]:
    """The first clause that says more than that it holds here, and the rest."""
    for cut in _CUT.finditer(text):
        if text[: cut.start()].count("`") % 2 == 0 and unopened(normal_form(text[: cut.start()]).split()):
            return text[: cut.start()], text[cut.end() :]
    return text, ""


def _order(text: str) -> frozenset[str]:
    words = normal_form(_ASIDE.sub(" ", text)).split()
    told = frozenset(words)
    plain = not (told & (_FINITE | _BINDING | NEGATIONS) or numbers(told) or any(map(denies, words)) or artifacts(text))
    key = frozenset(stem(word) for word in words if word not in _GLUE and word not in _MANNER)
    return key if plain and _LEAST <= len(key) <= _MOST else frozenset()


def _definition(text: str) -> frozenset[str]:
    """The words of a sentence that says what something with a name is, bound to no case; empty for any other."""
    words = normal_form(text).split()
    is_at = next((place for place, word in enumerate(words) if word in _COPULAS), 0)
    bound = frozenset(words) & _BINDING or any(map(denies, words[: is_at + 2]))
    about = artifacts(text[: text.casefold().find(f" {words[is_at]} ")]) if is_at else ()
    return (
        frozenset(stem(word) for word in words if word not in _GLUE) if about and is_at <= _SUBJECT and not bound else frozenset()
    )


def overlapping(texts: Sequence[tuple[str, str]]) -> Iterator[tuple[int, int]]:
    """The pairs of texts that say one thing and each add to it; each text with its category, beside which nothing is joined."""
    parts = [clauses(text) for _, text in texts]
    heads: dict[tuple[str, str], int] = {}
    filed: dict[tuple[str, str], list[int]] = {}
    for place, (each, (kind, _)) in enumerate(zip(parts, texts, strict=True)):
        before = heads.setdefault((kind, each.head), place) if each.head else place
        if before != place and _agree(parts[before].rest, each.rest):
            yield before, place
        for word in each.order or each.says:
            filed.setdefault((kind, word), []).append(place)
    for place, (each, (kind, _)) in enumerate(zip(parts, texts, strict=True)):
        near = min((filed[kind, word] for word in each.order), key=len, default=[])
        yield from ((min(place, other), max(place, other)) for other in near[:_NEAR] if each.order < parts[other].order)
        near = min((filed.get((kind, word), []) for word in each.named), key=len, default=[])
        yield from ((min(place, other), max(place, other)) for other in near[:_NEAR] if _defines(parts[other], each))


def _defines(one: Clauses, other: Clauses) -> bool:
    """Whether one says of the same thing all that the first clause of the other does."""
    return len(other.named) >= _KIND and other.named < one.says


def _agree(left: str, right: str) -> bool:
    """Whether what two sentences add to their common beginning can hold together: about other things, with no word against the other."""
    if normal_form(left) == normal_form(right):
        return True
    one, two = (frozenset(normal_form(each).split()) for each in (left, right))
    named = {name.casefold() for name in artifacts(left)} & {name.casefold() for name in artifacts(right)}
    return not (named or opposed(one - two, two - one) or (numbers(one) and numbers(two) and numbers(one) != numbers(two)))


def joined(text: str, others: Sequence[str]) -> str:
    """A text with what others that overlap with it add, in their order, as far as :data:`LONGEST` characters go.

    Of those that begin alike the first leads, so that a sentence grows at its end.
    """
    parts, best = clauses(text), text
    alike = [other for other in others if parts.head and clauses(other).head == parts.head]
    fuller = [other for other in others if _defines(clauses(other), parts)]
    if fuller:
        text, others = fuller[0], [*(other for other in others if other != fuller[0]), text]
        parts = clauses(text)
    elif alike:
        begun = f"{normal_form(alike[0])} "
        whole = max((each for each in (*alike, text) if f"{normal_form(each)} ".startswith(begun)), key=len)
        text, others = whole, [each for each in (*others, text) if each != whole]
    for other in others:
        theirs = clauses(other)
        if (theirs.head and theirs.head == parts.head) or _defines(parts, theirs):
            added = _pieces(theirs.rest)
        elif theirs.order and parts.order:
            added = _pieces(other)
        else:
            continue
        for piece in added:
            said, known = _words(piece), _words(text)
            longer = f"{text.rstrip('.')}, {_lowered(piece)}."
            if said - known and not _told(said, text) and len(longer) <= LONGEST:
                text = longer
    return text if _words(text) > _words(best) else best


def _pieces(text: str) -> list[str]:
    return [piece.strip(" ,;.") for piece in _CUT.split(text) if piece.strip(" ,;.")]


def _words(text: str) -> frozenset[str]:
    words = unopened(normal_form(_ASIDE.sub(" ", text)).split())
    return frozenset(stem(word) for word in words if word not in _GLUE and word not in _MANNER)


def _told(said: frozenset[str], text: str) -> bool:
    """Whether one of a text's clauses says much the same."""
    return any(2 * len(said & _words(piece)) > len(said | _words(piece)) for piece in _pieces(text))


def _lowered(piece: str) -> str:
    word = piece.split(" ", 1)[0]
    return piece[:1].lower() + piece[1:] if word[1:].islower() and word.isalpha() else piece
