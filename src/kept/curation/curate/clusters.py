"""Which statements say the same: clusters, found without comparing every pair. Knows nothing of memories."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import ceil

from kept.core.statement import CLOSE, NEAR, Statement, is_same_statement


def find_clusters(statements: Sequence[Statement], linked: Iterable[tuple[int, int]] = ()) -> tuple[tuple[int, ...], ...]:
    """Indices of statements that say the same, transitively; each cluster sorted, clusters by their first member.

    ``linked`` pairs belong together whatever they say.

    Equal texts are one from the start. Of the others only pairs that share two rare words are compared (the prefix filter of an
    exact Jaccard join: Bayardo, Ma, Srikant 2007), so the cost stays near linear for statements about different things.
    """
    parent = list(range(len(statements)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, j in linked:
        a, b = root(i), root(j)
        parent[max(a, b)] = min(a, b)
    first: dict[tuple[object, ...], int] = {}
    for i, each in enumerate(statements):
        for key in ((each.form,), *(((each.fingerprint, each.remedy),) if each.fingerprint and each.remedy else ())):
            a, b = root(first.setdefault(key, i)), root(i)
            parent[max(a, b)] = min(a, b)
    distinct = {
        (statement.form, statement.artifacts, statement.fingerprint): i for i, statement in reversed([*enumerate(statements)])
    }
    for i, j in _comparable_pairs(statements, sorted(distinct.values())):
        a, b = root(i), root(j)
        if a != b and is_same_statement(statements[i], statements[j]):
            parent[max(a, b)] = min(a, b)
    begun: list[int] = []  # statements that the next one, in the order of their words, may go on from
    for i in sorted(distinct.values(), key=lambda place: (statements[place].form, place)):
        while begun and not statements[i].form.startswith(f"{statements[begun[-1]].form} "):
            begun.pop()
        a, b = root(i), root(begun[-1] if begun else i)
        if a != b and is_same_statement(statements[i], statements[begun[-1]]):
            parent[max(a, b)] = min(a, b)
        begun.append(i)
    found: dict[int, list[int]] = {}
    for i in range(len(statements)):
        found.setdefault(root(i), []).append(i)
    return tuple(tuple(each) for _, each in sorted(found.items()))


def _comparable_pairs(statements: Sequence[Statement], places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The pairs that can say the same: they share two rare words of their content and are of like length."""
    frequency = Counter(word for statement in statements for word in statement.content)
    index: dict[tuple[object, tuple[str, str]], list[int]] = {}
    for i in places:
        each = statements[i]
        size = len(each.content)
        rare = sorted(each.content, key=lambda word: (frequency[word], word))
        least = NEAR
        keys: list[tuple[object, tuple[str, str]]] = [("", pair) for pair in _rare_word_pairs(rare, NEAR)]
        if each.artifacts:
            least = CLOSE
            keys += [(each.artifacts, pair) for pair in _rare_word_pairs(rare, CLOSE)]
        if each.fingerprint and not each.remedy:
            least = NEAR / 2
            keys += [(each.fingerprint, pair) for pair in _rare_word_pairs(rare, NEAR / 2)]
        seen: set[int] = set()
        for key in keys:
            others = index.setdefault(key, [])
            for j in others:
                if j not in seen and least * size <= len(statements[j].content) <= size / least:
                    seen.add(j)
                    yield j, i
            others.append(i)


def _rare_word_pairs(rare: Sequence[str], least: float) -> Iterator[tuple[str, str]]:
    """The pairs of rare words of which two sets as alike as ``least`` share at least one; both sets have two words or more."""
    return combinations(rare[: len(rare) - ceil(least * len(rare)) + 2], 2)
