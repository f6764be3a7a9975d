"""Statements that mean the same in other words: which pairs are worth comparing, and which of them rules let be one.

An embedding proposes, words decide: both name the same things and numbers, deny the same, and share a good part of what they say.
Knows no model.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from kept.core.statement import Statement, has_opposites, is_form, is_same_statement
from kept.curation.curate.value_statements import parse_value_statement
from kept.curation.curate.values import Meaning

NEAR = 0.85  # nearness of two statements from which they are one
_LIKE = 0.37  # likeness of their content words
_SHARED, _MOST = 2, 12  # content words that they share; that each has: a longer one says more than one thing
_COMMON = 60  # statements that share a word; what more of them have tells nothing


def find_pairs_by_meaning(
    texts: Sequence[str], statements: Sequence[Statement], apart: frozenset[int], meaning: Meaning
) -> dict[tuple[int, int], float | None] | None:
    """The pairs of statements that mean the same in other words, with their nearness, and with None those of which nothing can
    tell; None where that is so of all.

    ``apart`` are the places of those that are one with none.
    """
    pairs = [pair for pair in _find_comparable_pairs(statements) if apart.isdisjoint(pair)]
    change = {place for place in {place for pair in pairs for place in pair} if _is_about_change(texts[place], statements[place])}
    pairs = [pair for pair in pairs if change.isdisjoint(pair)]
    scores = meaning([(texts[left], texts[right]) for left, right in pairs]) if pairs else ()
    return (
        None
        if scores is None
        else {pair: score for pair, score in zip(pairs, scores, strict=True) if score is None or score >= NEAR}
    )


def _is_about_change(text: str, says: Statement) -> bool:
    """Whether a text tells how it was at first, or that it changed: it is no other wording of anything."""
    value_statement = parse_value_statement(text, says)
    return value_statement.once or value_statement.tells_change


def _find_comparable_pairs(statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    """The pairs of statements that may mean the same and are not the same already."""
    having: dict[tuple[object, str], list[int]] = {}
    forms: set[str] = set()
    for place, statement in enumerate(statements):
        if (
            statement.form in forms
            or not _SHARED <= len(statement.content) <= _MOST
            or statement.fingerprint
            or statement.asks
            or statement.refused
        ):
            continue
        forms.add(statement.form)
        agrees = (statement.numbers, statement.artifacts, statement.denials % 2)
        near = Counter(other for word in statement.content for other in having.get((agrees, word), ())[-_COMMON:])
        for other, shared in sorted(near.items()):
            if shared >= _SHARED and _can_mean_same(statement, statements[other]):
                yield other, place
        for word in statement.content:
            having.setdefault((agrees, word), []).append(place)


def _can_mean_same(left: Statement, right: Statement) -> bool:
    if is_same_statement(left, right):
        return False
    mine = {word for word in left.content if not any(is_form(word, other) for other in right.content)}
    theirs = {word for word in right.content if not any(is_form(word, other) for other in left.content)}
    if len(mine) == len(theirs) == 1 or has_opposites(left.words - right.words, right.words - left.words):
        return False  # one word for another: as likely another value as another word
    return 1 - len(mine | theirs) / len(left.content | right.content) >= _LIKE
