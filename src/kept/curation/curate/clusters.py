"""Which statements say the same: clusters, found without comparing every pair.

Statements that mean the same in other words are one where an embedding proposes it and words agree: both name the same things and
numbers, deny the same, and share a good part of what they say. Wishes of several sessions are one by their words alone, and count
only where they were said often enough. Knows no memories and no model.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil

from kept.core.memory import SAID_ONCE, TEMPLATE, UNTRIED, Candidate, CandidateVerdict, Held, Refused
from kept.core.statement import CLOSE, NEAR, STEM, Statement, find_content, has_opposites, is_form, is_same_statement
from kept.core.text import jaccard_similarity
from kept.curation.curate.plans import OFTEN, count_sessions
from kept.curation.curate.values import CROWD, Meaning, parse_value_statement
from kept.profiles.lexicons import word_list

Surroundings = Callable[[Candidate], frozenset[str]]
"""The words that a person typed around a wish."""

ONE_MEANING = 0.85  # nearness in meaning of two statements from which they are one
_LIKE = 0.37  # likeness of their content words
SHARED, _MOST = 2, 12  # content words that they share; that each has: a longer one says more than one thing
_WISH_SHARED = 3  # content words that two wishes in other words have in common
WISH_LIKE = 0.6  # likeness of their content words
_TRIED_AGAIN = 0.4  # likeness of the words around two wishes from which they are one request
_TOPIC = 2  # words of a wish that the words around it say too: it is about what is being built


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
    begun: list[int] = []  # statements that the next one, in the order of their words, goes on from
    for i in sorted(distinct.values(), key=lambda place: (statements[place].form, place)):
        while begun and not statements[i].form.startswith(f"{statements[begun[-1]].form} "):
            begun.pop()
        for j in begun:
            a, b = root(i), root(j)
            if a != b and is_same_statement(statements[i], statements[j]):
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
        likenesses = find_likenesses(each)
        least = min(likenesses.values())
        keys = [(what, pair) for what, share in likenesses.items() for pair in select_word_pairs(rare, share)]
        seen: set[int] = set()
        for key in keys:
            others = index.setdefault(key, [])
            for j in others:
                if j not in seen and least * size <= len(statements[j].content) <= size / least:
                    seen.add(j)
                    yield j, i
            others.append(i)


def find_likenesses(statement: Statement) -> dict[object, float]:
    """How alike the words of another one are at least to say the same, by what both must have beside them (empty: nothing)."""
    found: dict[object, float] = {"": NEAR}
    if statement.artifacts:
        found[statement.artifacts] = CLOSE
    if statement.fingerprint and not statement.remedy:
        found[statement.fingerprint] = NEAR / 2
    return found


def select_word_pairs(rare: Sequence[str], least: float) -> Iterator[tuple[str, str]]:
    """The pairs of words, the rarest first, of which two sets as alike as ``least`` share one; both sets have two words or more.

    Which are rare decides how many others have a pair, and not which sets are found by them.
    """
    return combinations(rare[: len(rare) - ceil(least * len(rare)) + 2], 2)


def find_pairs_by_meaning(
    texts: Sequence[str],
    statements: Sequence[Statement],
    apart: frozenset[int],
    meaning: Meaning,
    compared: Iterable[tuple[int, int]],
) -> dict[tuple[int, int], float | None] | None:
    """The pairs of statements that mean the same in other words, with their nearness, and with None those of which nothing can
    tell; None where that is so of all.

    ``apart`` are the places of those that are one with none. Only those that are ``compared`` are looked at.
    """
    pairs = [pair for pair in compared if apart.isdisjoint(pair) and can_mean_same(statements[pair[1]], statements[pair[0]])]
    change = {place for place in {place for pair in pairs for place in pair} if _is_about_change(texts[place], statements[place])}
    pairs = sorted({pair for pair in pairs if change.isdisjoint(pair)}, key=lambda pair: (pair[1], pair[0]))
    scores = meaning([(texts[left], texts[right]) for left, right in pairs]) if pairs else ()
    return (
        None
        if scores is None
        else {pair: score for pair, score in zip(pairs, scores, strict=True) if score is None or score >= ONE_MEANING}
    )


def _is_about_change(text: str, says: Statement) -> bool:
    """Whether a text tells how it was at first, or that it changed: it is no other wording of anything."""
    value_statement = parse_value_statement(text, says)
    return value_statement.once or value_statement.tells_change


def pair_by_words(statements: Iterable[Statement]) -> Iterator[tuple[int, int]]:
    """The pairs of statements, in the order of time in which they were first said, that may mean the same: they agree in what they
    name and deny, and share two words. Of those that share one only the nearest in time are compared.
    """
    having: defaultdict[object, deque[int]] = defaultdict(lambda: deque(maxlen=CROWD))
    for place, statement in enumerate(statements):
        keys = [(meaning_of(statement), word) for word in beginnings_of(statement)] if is_brief(statement) else []
        shared = Counter(other for key in keys for other in having[key])
        yield from ((other, place) for other, count in sorted(shared.items()) if count >= SHARED)
        for key in keys:
            having[key].append(place)


def is_brief(statement: Statement) -> bool:
    """Whether a statement may be another wording of one thing: it is short, and no question, fix or refusal."""
    is_short = SHARED <= len(statement.content) <= _MOST
    return is_short and not (statement.fingerprint or statement.asks or statement.refused)


def meaning_of(statement: Statement) -> tuple[frozenset[str], frozenset[str], int]:
    """What two wordings of one thing have in common whatever their words: numbers, names, and whether they deny."""
    return statement.numbers, statement.artifacts, statement.denials % 2


def beginnings_of(statement: Statement) -> frozenset[str]:
    """How the words of a statement begin: forms of one word begin alike."""
    return frozenset(word[:STEM] for word in statement.content)


def can_mean_same(left: Statement, right: Statement) -> bool:
    """Whether two statements that are not the same already may be wordings of one."""
    if len(left.content & right.content) < SHARED or is_same_statement(left, right):
        return False
    mine = {word for word in left.content if not any(is_form(word, other) for other in right.content)}
    theirs = {word for word in right.content if not any(is_form(word, other) for other in left.content)}
    own, others = left.words - right.words, right.words - left.words
    if len(mine) == len(theirs) == 1 or has_opposites(own, others):
        return False  # one word for another: as likely another value as another word
    for each in ("weekdays", "months", "languages"):
        if not (word_list("change", each).isdisjoint(own) or word_list("change", each).isdisjoint(others)):
            return False
    return 1 - len(mine | theirs) / len(left.content | right.content) >= _LIKE


def session_words(candidate: Candidate) -> frozenset[str]:
    """Words that differ from session to session: those around a wish where no conversation is at hand."""
    return frozenset(evidence.session for evidence in candidate.evidence)


def is_said_once(judged: CandidateVerdict) -> bool:
    """Whether a candidate is a wish that counts only together with others."""
    return isinstance(judged.verdict, Refused) and judged.verdict.reason == SAID_ONCE


def leave_out_untried(clusters: Iterable[tuple[int, ...]], proposals: Sequence[CandidateVerdict]) -> Iterator[tuple[int, ...]]:
    """The clusters without what a model proposed that did not pass its trial, where rules propose the same: it changes nothing.

    Beside a wish that was said once it stands by itself. What comes behind the proposals are memories.
    """
    untried = {place for place, each in enumerate(proposals) if isinstance(each.verdict, Held) and each.verdict.reason == UNTRIED}
    for cluster in clusters:
        others = tuple(place for place in cluster if place not in untried)
        if not (others and others[0] < len(proposals) and untried.intersection(cluster)):
            yield cluster
            continue
        yield others
        if all(place < len(proposals) and is_said_once(proposals[place]) for place in others):
            yield tuple(place for place in cluster if place in untried)


def is_pending_cluster(members: Sequence[CandidateVerdict], size: int, surroundings: Surroundings) -> bool:
    """Whether a cluster of ``size`` (a person's own memories included) is nothing but wishes that do not count yet.

    They are of too few sessions, or of sessions that ask for the same: a request that is tried again is no standing wish.
    """
    if len(members) != size or not all(map(is_said_once, members)):
        return False
    candidates = [member.candidate for member in members]
    return count_sessions(candidates) < OFTEN or _count_distinct_requests(candidates, surroundings) < OFTEN


def _count_distinct_requests(candidates: Sequence[Candidate], surroundings: Surroundings) -> int:
    """How many of the wishes stand among other words than those before them, and do not say what these are about."""
    different: list[frozenset[str]] = []
    for candidate in candidates:
        around = surroundings(candidate)
        names = find_content(candidate.content)
        if len(names & around) < _TOPIC and not any(_has_similar_words(around, other) for other in different):
            different.append(around)
    return len(different)


def _has_similar_words(left: frozenset[str], right: frozenset[str]) -> bool:
    return jaccard_similarity(left, right) >= _TRIED_AGAIN if left and right else left == right


def hold_template(members: Sequence[CandidateVerdict], surroundings: Surroundings) -> Sequence[CandidateVerdict]:
    """The members; where the same words stand around each of them it is a text that comes back with other values, and no wish,
    however often it comes.
    """
    if len(members) < OFTEN or not all(isinstance(member.verdict, Held) and not member.candidate.fingerprint for member in members):
        return members
    first, *others = (surroundings(member.candidate) for member in members)
    if not (first and all(other and _has_similar_words(first, other) for other in others)):
        return members
    return [replace(member, verdict=Held(reason=TEMPLATE)) for member in members]


def find_similar_wishes(proposals: Sequence[CandidateVerdict], statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    """The pairs of wishes that mean the same in other words."""
    wishes = {place: statements[place] for place, proposal in enumerate(proposals) if is_said_once(proposal)}
    frequency = Counter(word for wish in wishes.values() for word in wish.content)
    filed: dict[tuple[str, str], list[int]] = {}
    for place, wish in wishes.items():
        pairs = [*select_word_pairs(sorted(wish.content, key=lambda word: (frequency[word], word)), WISH_LIKE)]
        others = {other for pair in pairs for other in filed.get(pair, ())}
        yield from ((other, place) for other in sorted(others) if is_same_wish(wish, wishes[other]))
        for pair in pairs:
            filed.setdefault(pair, []).append(place)


def is_same_wish(left: Statement, right: Statement) -> bool:
    """Whether two wishes ask for the same in other words."""
    if len(left.content & right.content) < _WISH_SHARED or left.numbers != right.numbers or left.asks or right.asks:
        return False
    if left.denials % 2 != right.denials % 2:
        return False
    if has_opposites(left.words - right.words, right.words - left.words) or left.artifacts.isdisjoint(right.artifacts) != (
        not left.artifacts and not right.artifacts
    ):
        return False
    return jaccard_similarity(left.content, right.content) >= WISH_LIKE
