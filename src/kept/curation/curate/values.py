"""The same thing with another value: which later statement leaves no room for an earlier one, by plain forms alone.

A month, a weekday, a number or a place in an otherwise like sentence about a state; a value that the later one says to be gone;
an earlier one that tells of itself how it was at first. Built to be sure rather than complete: what several things can be at once,
what holds in a narrower place, examples and lists are none. The words of all languages are read side by side. Knows no memories.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kept.core.pattern import Pattern
from kept.core.statement import OPPOSING, VERSIONED, Statement, find_content, has_opposites, parse_statement, stem_word
from kept.curation.curate.frames import (
    EDGE,
    HOME_AND_MORE,
    ChangeLexicon,
    ValueFrame,
    choice_matter,
    find_frames,
    find_new_home,
    load_change_lexicon,
)

_READ = 600
_GONE_WORDS = 6  # words that name what is gone
_SHARED = 0.5  # share of the rest of an earlier statement that one which takes its value back speaks of too
_NAMED = (0.33, 2)  # the same, and the words, where what is gone is an identifier
_REST = 3  # words that are gone for one more that the earlier statement may have
_WHOLE = 0.25  # share of its own words that a statement which takes something back has from the earlier one
_OVERTAKEN = (0.5, 5)  # share and number of words of how it was at first that the later one speaks of too
_NEW = 2  # words beside what is gone: that it changed, and to what
_PART = 2  # words that an earlier statement says beside what is gone: it may be gone with it, or hold still
_DENIED = 3  # content words of a clause that another one denies
_REVERSED = 2  # words beside a pair of opposites that two statements share
_SENTENCE = re.compile(r"[.!?](?:\s|$)|[\n。！？]")
_CONTRAST = re.compile(r"(?i),\s*(?:and |und |et |y |e )?(?:not|nicht|non|no|não|не)\b")  # what follows is what it was
_SINGLE = frozenset(("<time>", "<thing>"))  # values of which versions have none beside each other
_ANY_MORE = re.compile(r"(?i) any ?more\b")  # says of a denial only that it was otherwise
_IDENTIFIER = Pattern(r"[\pL\pM\pN_]*[\d/_.-][\pL\pM\pN_/.-]*[\pL\pM\pN_]")


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedFact:
    """What a statement says no longer to be so, the words of the place or occasion to which it limits that, and whether it is a
    value that another one was chosen for, not a thing.
    """

    words: frozenset[str]
    limits: frozenset[str]
    is_value: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueStatement:
    """What of a text tells of values.

    ``once`` says that it tells how it was at first, ``turned`` that it speaks of a change; ``first`` is its first clause where it
    has others.
    """

    says: Statement
    frames: tuple[ValueFrame, ...] = ()
    gone: tuple[EndedFact, ...] = ()
    once: bool = False
    turned: bool = False
    first: Statement | None = None

    @property
    def tells_change(self) -> bool:
        """Whether it says in plain form that something is not as it was."""
        return self.turned or bool(self.gone)


def parse_value_statement(text: str, says: Statement) -> ValueStatement:
    """What a text tells of values; ``says`` is what of it is compared."""
    text, forms = text[:_READ], load_change_lexicon()
    once, turned = bool(forms.once.search(text)), bool(forms.turned.search(text))
    clause = EDGE.split(text, maxsplit=1)[0]  # "it is in May, not in July" says that it is in May
    affirmed = text if not says.denials else clause if clause != text and not parse_statement(clause).denials else ""
    turned = turned or (affirmed == clause and _CONTRAST.match(text, len(clause)) is not None)
    open_ended = once or says.asks or forms.depends.search(text) or forms.adds.search(text)
    frames = () if open_ended else (*find_new_home(text, forms), *find_frames(affirmed, says, forms))
    gone = () if says.asks else tuple(_find_ended_facts(text, forms))
    whole = _ANY_MORE.sub("", clause)
    first = parse_statement(whole) if whole != text and not open_ended else None
    return ValueStatement(says=says, frames=frames, gone=gone, once=once, turned=turned, first=first)


def _find_ended_facts(text: str, forms: ChangeLexicon) -> Iterator[EndedFact]:
    for form, is_value in ((forms.gone, False), (forms.instead, True)):
        for search_match in form.finditer(text):
            if forms.depends.search(_SENTENCE.split(text[: search_match.start()])[-1]):
                continue
            rest = EDGE.split(text[search_match.end() :], maxsplit=1)[0]
            if search_match[0].casefold().endswith(" from"):
                rest = rest.split(" to ", 1)[0]
            yield from _parse_ended_fact(rest.split()[:_GONE_WORDS], _clause_before(text, search_match), forms, is_value=is_value)
    for search_match in forms.gone_back.finditer(text):
        yield from _parse_ended_fact(_clause_before(text, search_match).split()[-_GONE_WORDS:], "", forms, is_value=False)


def _clause_before(text: str, found: re.Match[str]) -> str:
    begin = max((search_match.end() for search_match in EDGE.finditer(text, 0, found.start())), default=0)
    return text[begin : found.start()]


def _parse_ended_fact(words: Sequence[str], before: str, forms: ChangeLexicon, *, is_value: bool) -> Iterator[EndedFact]:
    old = find_content(" ".join(words))
    limits = [part.casefold().strip("`.,") for part in before.split()]
    narrow = next((place for place, word in enumerate(limits) if word in forms.narrow), len(limits))
    if any(len(word) > 1 or not word.isascii() for word in old if not word.isdecimal()):
        yield EndedFact(words=old, limits=find_content(" ".join(limits[narrow:])), is_value=is_value)


def find_supersessions(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """The pairs (earlier, later) of sayings, which are in the order of time, of which the later leaves no room for the earlier."""
    filed: dict[tuple[str, ...], list[tuple[int, ValueFrame]]] = {}
    for later, value_statement in enumerate(sayings):
        for frame in value_statement.frames:
            others = filed.setdefault(frame.words, [])
            yield from (
                (earlier, later)
                for earlier, other in others
                if earlier != later
                and other.value != frame.value
                and ((other.is_state and frame.is_state) or _is_value_changed(value_statement, frame))
            )
            others.append((later, frame))
    yield from _find_denied(sayings)
    yield from _find_retractions(sayings)
    yield from _find_outdated(sayings)


def _find_denied(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """Those of which the later one begins by saying the same with the reverse of "always", or of whether it is so."""
    filed: dict[frozenset[str], list[int]] = {}
    for later, value_statement in enumerate(sayings):
        says = value_statement.first or value_statement.says
        if len(says.content) < _DENIED or says.asks or "instead" in says.words:
            continue
        others = filed.setdefault(says.content, [])
        for earlier in others[-_COMPARED:]:
            before = sayings[earlier].first or sayings[earlier].says
            if (says.denials > 0) != (before.denials > 0) and max(says.denials, before.denials) == 1:
                yield earlier, later
        others.append(later)


_COMPARED = 60  # of those that choose something for one matter, the latest: what more of them chose tells nothing


def find_contradictions(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """The pairs (earlier, later) of sayings, in the order of time, that may leave no room for each other: a person should say.

    One value of a state in an otherwise like sentence, where several could hold, another thing chosen for the same, or the reverse
    of a word of it.
    """
    yield from _find_half_gone(sayings)
    filed: dict[tuple[str, ...], list[tuple[int, ValueFrame]]] = {}
    reversible: dict[frozenset[str], list[int]] = {}
    choices: dict[frozenset[str], list[int]] = {}
    for later, value_statement in enumerate(sayings):
        if matter := choice_matter(value_statement.says):
            same_matter = choices.setdefault(matter, [])
            yield from (
                (place, later)
                for place in same_matter[-_COMPARED:]
                if sayings[place].says.chosen.isdisjoint(value_statement.says.chosen)
            )
            same_matter.append(later)
        for frame in value_statement.frames:
            others = filed.setdefault(frame.words, [])
            if frame.is_choice and not VERSIONED & set(frame.words):
                yield from (
                    (place, later) for place, other in others[-_COMPARED:] if other.is_choice and other.value != frame.value
                )
            others.append((later, frame))
        rest = value_statement.says.content - OPPOSING
        if len(rest) < len(value_statement.says.content) and len(rest) >= _REVERSED:
            others_ = reversible.setdefault(rest, [])
            yield from ((place, later) for place in others_[-_COMPARED:] if _is_reverse(value_statement.says, sayings[place].says))
            others_.append(later)


def _is_reverse(later: Statement, earlier: Statement) -> bool:
    """Whether two statements of the same matter differ in a word and its reverse, and in nothing else that tells."""
    if later.artifacts != earlier.artifacts or later.numbers != earlier.numbers or later.asks or earlier.asks:
        return False
    return later.denials == earlier.denials and has_opposites(later.words - earlier.words, earlier.words - later.words)


def _is_value_changed(later: ValueStatement, frame: ValueFrame) -> bool:
    """Whether a statement speaks of a change of its value: not of what is so of one version among several."""
    return later.turned and frame.words[0] != HOME_AND_MORE and (frame.words[0] in _SINGLE or not VERSIONED & set(frame.words))


def _find_half_gone(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """Those of which the later one says that most of what the earlier says is gone, and little of it may hold still."""
    wanted = {word for saying in sayings for gone in saying.gone for word in gone.words}
    having: dict[str, list[int]] = {}
    for later, value_statement in enumerate(sayings):
        for gone in value_statement.gone:
            rarest = min(gone.words, key=lambda word: (len(having.get(word, ())), word))
            for earlier in having.get(rarest, ())[-_COMPARED:]:
                says = sayings[earlier].says
                whole = len(gone.words) >= _PART and gone.words | gone.limits <= says.content and not (says.denials or says.asks)
                if whole and value_statement.says.denials and len(says.content - gone.words) <= _PART and not gone.is_value:
                    yield earlier, later
        for word in value_statement.says.content & wanted:
            having.setdefault(word, []).append(later)


def _find_retractions(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """Those of which the later one says that the value of the earlier is gone."""
    wanted = {word for saying in sayings for gone in saying.gone for word in gone.words}
    having: dict[str, list[int]] = {}
    for later, value_statement in enumerate(sayings):
        for gone in value_statement.gone:
            rarest = min(gone.words, key=lambda word: (len(having.get(word, ())), word))
            yield from (
                (earlier, later) for earlier in having.get(rarest, ()) if _is_retracted(value_statement, gone, sayings[earlier])
            )
        for word in value_statement.says.content & wanted:
            having.setdefault(word, []).append(later)


def _is_only_value(later: ValueStatement, gone: EndedFact, earlier: ValueStatement) -> bool:
    """Whether what is gone is all that an earlier statement says of its thing, and the later one is about nothing else."""
    values = {stem_word(word) for frame in earlier.frames if frame.words[0] == "<thing>" for word in frame.value.split()}
    return values == gone.words and len(later.says.content - gone.words) <= _NEW


def _is_retracted(later: ValueStatement, gone: EndedFact, earlier: ValueStatement) -> bool:
    """Whether an earlier statement says of the same matter what the later one says to be gone."""
    statement, matter = earlier.says, later.says.content
    if _is_only_value(later, gone, earlier) and not gone.limits and not earlier.once:
        return True
    if (
        not gone.words | gone.limits <= statement.content
        or statement.denials
        or statement.asks
        or statement.form == later.says.form
    ):
        return False
    if any(gone.words & other.words for other in earlier.gone) or len(statement.content & matter) < _WHOLE * len(matter):
        return False
    if (
        gone.is_value
        and next((stem_word(word) for word in statement.form.split() if stem_word(word) in statement.content), "") in gone.words
    ):
        return False
    rest = statement.content - gone.words
    shared = rest & matter
    named = any(_IDENTIFIER.fullmatch(word) for word in gone.words) or bool(shared & later.says.artifacts & statement.artifacts)
    least, words = _NAMED if named else (_SHARED, 1)
    return len(rest) <= len(gone.words) // _REST or (len(shared) >= words and len(shared) >= least * len(rest))


def _find_outdated(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """Those of which the earlier one tells how it was at first, and the later how it is."""
    having: dict[str, list[int]] = {}
    share, least = _OVERTAKEN
    for later, value_statement in enumerate(sayings):
        if value_statement.once:
            for word in value_statement.says.content:
                having.setdefault(word, []).append(later)
        elif having and not value_statement.says.asks:
            shared = Counter(place for word in value_statement.says.content for place in having.get(word, ()))
            yield from (
                (earlier, later)
                for earlier, count in sorted(shared.items())
                if count >= least and count >= share * len(sayings[earlier].says.content)
            )
