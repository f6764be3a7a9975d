"""Find clusters of statements that say the same, without comparing every pair.

Statements in different words are joined if their embeddings are similar and their words agree. They must have the same names,
numbers and negation, and enough common words. Wishes from several sessions are joined by their words alone. They count only if they
come from enough sessions.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil

from kept.core.memory import (
    BAN,
    CORRECTION,
    FROM_NOW_ON,
    NOTE,
    RULE,
    SAID_ONCE,
    SHORT,
    TEMPLATE,
    UNSURE,
    UNTRIED,
    WISH,
    Accepted,
    Candidate,
    CandidateVerdict,
    Held,
    Refused,
)
from kept.core.statement import CLOSE, NEAR, STEM, Statement, find_content, has_opposites, is_form, is_same_statement
from kept.core.text import jaccard_similarity
from kept.curation.curate.plans import OFTEN, count_sessions
from kept.curation.curate.values import CROWD, Meaning, parse_value_statement
from kept.curation.curate.wishes import Wish, find_trios, parse_wish
from kept.profiles.lexicons import word_list

Surroundings = Callable[[Candidate], frozenset[str]]
"""Returns the words that a person typed around a wish."""

# Two statements mean the same if all four of these conditions hold.
ONE_MEANING = 0.85  # minimum semantic similarity
_LIKE = 0.37  # minimum Jaccard similarity of their content words
SHARED = 2  # minimum number of shared content words
_MOST_WORDS = 12  # maximum number of content words of each, because a longer statement says more than one thing
_RULES = frozenset({FROM_NOW_ON, RULE, BAN, CORRECTION, NOTE, WISH})  # triggers of rules
_TRIED_AGAIN = 0.4  # two wishes are one repeated request if the Jaccard similarity of the words around them is at least this
_TOPIC = 2  # a wish that shares this many words with the words around it is about the current work, and not lasting


def find_clusters(statements: Sequence[Statement], linked: Iterable[tuple[int, int]] = ()) -> tuple[tuple[int, ...], ...]:
    """The clusters of statements that say the same, directly or through others.

    Each cluster has the sorted indices of its statements. Clusters are ordered by their first index. ``linked`` pairs are joined
    whatever they say. Equal texts are joined first. Of the others, only pairs that share two rare words are compared. This is the
    prefix filter of an exact Jaccard join (Bayardo, Ma, Srikant 2007). The cost is nearly linear for statements about different
    things.
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
    begun: list[int] = []  # in alphabetical order, the statements that the present one may extend
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
    """Yield the pairs of places that can say the same: they share two rare content words and are similar in length."""
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
    """The minimum Jaccard similarity at which another statement says the same.

    The keys are what the other statement must share: the artifacts, the error fingerprint, or "" for nothing.
    """
    found: dict[object, float] = {"": NEAR}
    if statement.artifacts:
        found[statement.artifacts] = CLOSE
    if statement.fingerprint and not statement.remedy:
        found[statement.fingerprint] = NEAR / 2
    return found


def select_word_pairs(rare: Sequence[str], least: float) -> Iterator[tuple[str, str]]:
    """Yield the word pairs by which a set of words is indexed.

    Two sets with a similarity of at least ``least`` share at least one such pair, if both have two words or more. ``rare`` has the
    words with the rarest first. Another order finds the same sets at a higher cost.
    """
    return combinations(rare[: len(rare) - ceil(least * len(rare)) + 2], 2)


def find_pairs_by_meaning(
    texts: Sequence[str],
    statements: Sequence[Statement],
    apart: frozenset[int],
    meaning: Meaning,
    compared: Iterable[tuple[int, int]],
) -> dict[tuple[int, int], float | None] | None:
    """The ``compared`` pairs of statements that mean the same in different words, each with its similarity.

    The similarity of a pair is None if it is unknown. The result is None if all are unknown. ``apart`` has the places of statements
    that are never joined.
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
    """True if a text says how something was at first, or that it changed. Such a text is not another wording of a statement."""
    parsed = parse_value_statement(text, says)
    return parsed.once or parsed.tells_change


def pair_by_words(statements: Iterable[Statement]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of statements that may mean the same: they agree in names, numbers and negation, and share two words.

    Statements must be in the order in which they were first said. For each of its words, a statement is compared only with the
    ``CROWD`` statements nearest in time that share the word.
    """
    having: defaultdict[object, deque[int]] = defaultdict(lambda: deque(maxlen=CROWD))
    for place, statement in enumerate(statements):
        keys = [(meaning_of(statement), word) for word in beginnings_of(statement)] if is_brief(statement) else []
        shared = Counter(other for key in keys for other in having[key])
        yield from ((other, place) for other, count in sorted(shared.items()) if count >= SHARED)
        for key in keys:
            having[key].append(place)


def is_brief(statement: Statement) -> bool:
    """True if a statement may be another wording of something: it is short, and not a question, a fix or a refusal."""
    is_short = SHARED <= len(statement.content) <= _MOST_WORDS
    return is_short and not (statement.fingerprint or statement.asks or statement.refused)


def meaning_of(statement: Statement) -> tuple[frozenset[str], frozenset[str], int]:
    """The features that two wordings of one statement have in common: numbers, artifacts, and the parity of their negations."""
    return statement.numbers, statement.artifacts, statement.denials % 2


def beginnings_of(statement: Statement) -> frozenset[str]:
    """The first letters of each content word. All forms of a word begin with the same letters."""
    return frozenset(word[:STEM] for word in statement.content)


def can_mean_same(left: Statement, right: Statement) -> bool:
    """True if two statements that do not match by their words may still say the same in different words."""
    if len(left.content & right.content) < SHARED or is_same_statement(left, right):
        return False
    mine = {word for word in left.content if not any(is_form(word, other) for other in right.content)}
    theirs = {word for word in right.content if not any(is_form(word, other) for other in left.content)}
    own, others = left.words - right.words, right.words - left.words
    if len(mine) == len(theirs) == 1 or has_opposites(own, others):
        return False  # a single different word is as likely to be another value as a synonym
    for name in ("weekdays", "months", "languages"):
        if not (word_list("change", name).isdisjoint(own) or word_list("change", name).isdisjoint(others)):
            return False
    return 1 - len(mine | theirs) / len(left.content | right.content) >= _LIKE


def session_words(candidate: Candidate) -> frozenset[str]:
    """The sessions of a candidate. They stand in for the words around a wish if there is no conversation to read."""
    return frozenset(evidence.session for evidence in candidate.evidence)


def is_said_once(judged: CandidateVerdict) -> bool:
    """True if a candidate is a wish that was said once and counts only together with others."""
    return isinstance(judged.verdict, Refused) and judged.verdict.reason == SAID_ONCE


def is_wish(judged: CandidateVerdict) -> bool:
    """True if a candidate is, or may be, a rule that a person stated.

    Such a candidate is compared with others that may ask for the same thing in different words.
    """
    unsure = isinstance(judged.verdict, Held) and judged.verdict.reason in (UNSURE, SHORT)
    return is_said_once(judged) or (judged.candidate.trigger in _RULES and (unsure or isinstance(judged.verdict, Accepted)))


def leave_out_untried(clusters: Iterable[tuple[int, ...]], proposals: Sequence[CandidateVerdict]) -> Iterator[tuple[int, ...]]:
    """Yield the clusters without the proposals of an untried model, if rules propose the same.

    An untried model is one that did not pass its trial. If a cluster then has only wishes that were said once, the removed
    proposals form a cluster of their own. An index after the last proposal stands for a memory.
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
    """True if a cluster consists only of wishes that do not count yet. ``size`` is its size, including memories.

    Wishes do not count if they come from too few sessions. Sessions with the same request count once, because repeating a request
    does not make it a lasting wish.
    """
    if len(members) != size or not all(map(is_said_once, members)):
        return False
    candidates = [member.candidate for member in members]
    return count_sessions(candidates) < OFTEN or _count_distinct_requests(candidates, surroundings) < OFTEN


def _count_distinct_requests(candidates: Sequence[Candidate], surroundings: Surroundings) -> int:
    """The number of wishes that were said in different surroundings.

    A wish counts if the words around it differ from those around all earlier wishes, and are not about the wish itself.
    """
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
    """The members of a cluster. They are held as a template if similar words surround each of them.

    In that case they come from a text that recurs with other values. Its repetition does not make it a wish.
    """
    if len(members) < OFTEN or not all(isinstance(member.verdict, Held) and not member.candidate.fingerprint for member in members):
        return members
    first, *others = (surroundings(member.candidate) for member in members)
    if not (first and all(other and _has_similar_words(first, other) for other in others)):
        return members
    return [replace(member, verdict=Held(reason=TEMPLATE)) for member in members]


def find_similar_wishes(proposals: Sequence[CandidateVerdict]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of wishes that ask for the same thing in different words, if they come from enough sessions together."""
    first: dict[int, Wish] = {}
    said: dict[str, list[Candidate]] = {}
    for place, proposal in enumerate(proposals):
        wish = parse_wish(proposal.candidate.content, proposal.candidate.artifacts) if is_wish(proposal) else None
        if wish is not None:
            if wish.says.form not in said:
                first[place] = wish
            said.setdefault(wish.says.form, []).append(proposal.candidate)
    yield from find_trios(first, lambda wishes: count_sessions([item for wish in wishes for item in said[wish.says.form]]) >= OFTEN)
