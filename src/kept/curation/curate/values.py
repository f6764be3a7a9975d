"""The same thing with another value: which later statement leaves no room for an earlier one, by plain forms alone.

A month, a weekday, a number or a place in an otherwise like sentence about a state; a value that the later one says to be gone;
an earlier one that tells of itself how it was at first. Built to be sure rather than complete: what several things can be at once,
what holds in a narrower place, examples and lists are none. The words of all languages are read side by side. Knows no memories.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import re2

from kept.core.statement import COUNTED, OPPOSING, VERSIONED, Statement, has_opposites, parse_statement, stem_word
from kept.profiles.lexicons import join_alternatives, word_list

_READ = 600
_GONE_WORDS = 6  # words that name what is gone
_SHARED = 0.5  # share of the rest of an earlier statement that one which takes its value back speaks of too
_NAMED = (0.33, 2)  # the same, and the words, where what is gone is an identifier
_REST = 3  # words that are gone for one more that the earlier statement may have
_WHOLE = 0.25  # share of its own words that a statement which takes something back has from the earlier one
_OVERTAKEN = (0.5, 5)  # share and number of words of how it was at first that the later one speaks of too
_REVERSED = 2  # words beside a pair of opposites that two statements share
_FRAME = 2  # telling words around a value
_TOKEN = re.compile(r"[$€£]?[^\W_]+(?:[.,:'’/_@-]+[^\W_]+)*%?", re.UNICODE)
_NUMBER = re.compile(r"^[$€£]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Z]{1,3})?$")
_DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
_PLACE = re2.compile(r"[^\pL\pN_]*(\pL[\pL\pM\pN_'’-]*(?: [A-ZÀ-Þ][\pL\pM\pN_'’-]+)?)\s*(?:$|[.;,!。，])")
_BOTH_MONTH_AND_WORD = frozenset(("may", "march", "mars", "mai", "marzo"))
_EDGE = re.compile(r"[,;:()\[\]\n。，；、：（）]|[.!?](?:\s|$)|\s[—–-]\s")
_SENTENCE = re.compile(r"[.!?](?:\s|$)|[\n。！？]")
_IDENTIFIER = re2.compile(r"[\pL\pM\pN_]*[\d/_.-][\pL\pM\pN_/.-]*[\pL\pM\pN_]")


def _word_set(name: str) -> frozenset[str]:
    return word_list("change", name)


def _form_pattern(name: str) -> re.Pattern[str]:
    """The forms of all languages under a name."""
    spaced, unspaced = join_alternatives("change", name, spaced=True), join_alternatives("change", name, spaced=False)
    return re.compile(rf"(?i)(?<![\w-])(?:{spaced})(?![\w-])" + (f"|{unspaced}" if unspaced else ""))


@dataclass(frozen=True, kw_only=True, slots=True)
class _ChangeLexicon:
    """The words and forms of all languages."""

    months: frozenset[str]
    weekdays: frozenset[str]
    states: frozenset[str]
    between: frozenset[str]
    narrow: frozenset[str]
    toward: frozenset[str]
    empty: frozenset[str]
    gone: re.Pattern[str]
    instead: re.Pattern[str]
    gone_back: re.Pattern[str]
    turned: re.Pattern[str]
    adds: re.Pattern[str]
    once: re.Pattern[str]
    home: re.Pattern[str]
    depends: re.Pattern[str]
    several: re.Pattern[str]


@cache
def _load_change_lexicon() -> _ChangeLexicon:
    return _ChangeLexicon(
        months=_word_set("months"),
        weekdays=_word_set("weekdays"),
        states=_word_set("states"),
        between=_word_set("between"),
        narrow=_word_set("narrow"),
        toward=_word_set("toward"),
        empty=_word_set("empty"),
        gone=_form_pattern("gone"),
        instead=_form_pattern("instead"),
        gone_back=_form_pattern("gone_back"),
        turned=_form_pattern("turned"),
        adds=_form_pattern("adds"),
        once=_form_pattern("once"),
        home=_form_pattern("home"),
        depends=_form_pattern("depends"),
        several=_form_pattern("several"),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueFrame:
    """The telling words of a statement with one value left out, and that value: equal words are about the same thing.

    ``is_state`` says that it has one such value at a time by its own words; any other only where a later one speaks of a change.
    ``is_choice`` says that it may have one at a time, which a person should say.
    """

    words: tuple[str, ...]
    value: str
    is_state: bool = True
    is_choice: bool = False


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

    ``once`` says that it tells how it was at first, ``turned`` that it speaks of a change.
    """

    says: Statement
    frames: tuple[ValueFrame, ...] = ()
    gone: tuple[EndedFact, ...] = ()
    once: bool = False
    turned: bool = False

    @property
    def tells_change(self) -> bool:
        """Whether it says in plain form that something is not as it was."""
        return self.turned or bool(self.gone)


def parse_value_statement(text: str, says: Statement) -> ValueStatement:
    """What a text tells of values; ``says`` is what of it is compared."""
    text, forms = text[:_READ], _load_change_lexicon()
    once, turned = bool(forms.once.search(text)), bool(forms.turned.search(text))
    clause = _EDGE.split(text, maxsplit=1)[0]  # "it is in May, not in July" says that it is in May
    affirmed = text if not says.denials else clause if clause != text and not parse_statement(clause).denials else ""
    open_ended = once or says.asks or forms.depends.search(text) or forms.adds.search(text)
    frames = () if open_ended else tuple(_find_frames(affirmed, forms)) or tuple(_find_new_home(text, forms))
    gone = () if says.asks else tuple(_find_ended_facts(text, forms))
    return ValueStatement(says=says, frames=frames, gone=gone, once=once, turned=turned)


def _find_frames(text: str, forms: _ChangeLexicon) -> Iterator[ValueFrame]:
    home = forms.home.search(text)
    if home is not None:
        place = _PLACE.match(forms.turned.sub("", text[home.end() :]))
        if place is not None and (place[1][:1].isupper() or not place[1].isascii()):
            yield ValueFrame(words=("home",), value=place[1].casefold())
        return
    raw = _TOKEN.findall(text)
    plain = [item.casefold() for item in raw]
    kinds = [_value_kind(each, place, forms) for place, each in enumerate(raw)]
    kept = [place for place, word in enumerate(plain) if kinds[place] or word not in forms.empty]
    verb = next((place for place, word in enumerate(plain) if word in forms.states), len(plain))
    is_state = any(place < verb for place in kept) and not forms.several.search(" ".join(plain[:verb]))
    for at in kept:
        if not kinds[at] or (at and plain[at - 1] in COUNTED):
            continue
        words = tuple(f"<{kinds[at]}>" if place == at else stem_word(plain[place]) for place in kept if place != verb)
        near = at > verb and all(plain[place] in forms.between for place in range(verb + 1, at))
        is_choice = is_state and at > verb
        if kinds[at] == "name":
            # One before the verb names the subject, and any other may be one of several that somebody owns or uses.
            if at < verb < len(plain) or not (near or plain[at - 1] in forms.narrow | forms.toward):
                continue
            near = False
        if len(words) > _FRAME or (is_state and near and len(words) == _FRAME and kinds[at] != "number"):
            yield ValueFrame(words=words, value=plain[at], is_state=is_state and near, is_choice=is_choice)


def _find_new_home(text: str, forms: _ChangeLexicon) -> Iterator[ValueFrame]:
    """Where somebody lives who moved there and says that they live elsewhere no longer."""
    if forms.home.search(" ".join(forms.gone.sub(" ", text).split())) is None:
        return
    for search_match in forms.turned.finditer(text):
        toward, _, rest = text[search_match.end() :].lstrip().partition(" ")
        place = _PLACE.match(rest) if toward.casefold() in forms.toward else None
        if place is not None and (place[1][:1].isupper() or not place[1].isascii()):
            yield ValueFrame(words=("home",), value=place[1].casefold())
            return


def _value_kind(raw: str, place: int, forms: _ChangeLexicon) -> str:
    """What kind of value a word is; empty where it is none."""
    word = raw.casefold()
    if _NUMBER.match(raw):
        return "number"
    if _DATE.match(raw):
        return "date"
    if word in forms.weekdays:
        return "weekday"
    if word in forms.months and (word not in _BOTH_MONTH_AND_WORD or (place and raw[:1].isupper())):
        return "month"
    return "name" if place and raw[:1].isupper() and len(raw) > 1 else ""


def _find_ended_facts(text: str, forms: _ChangeLexicon) -> Iterator[EndedFact]:
    for form, is_value in ((forms.gone, False), (forms.instead, True)):
        for search_match in form.finditer(text):
            if forms.depends.search(_SENTENCE.split(text[: search_match.start()])[-1]):
                continue
            rest = _EDGE.split(text[search_match.end() :], maxsplit=1)[0]
            if search_match[0].casefold().endswith(" from"):
                rest = rest.split(" to ", 1)[0]
            yield from _parse_ended_fact(rest.split()[:_GONE_WORDS], _clause_before(text, search_match), forms, is_value=is_value)
    for search_match in forms.gone_back.finditer(text):
        yield from _parse_ended_fact(_clause_before(text, search_match).split()[-_GONE_WORDS:], "", forms, is_value=False)


def _clause_before(text: str, found: re.Match[str]) -> str:
    begin = max((search_match.end() for search_match in _EDGE.finditer(text, 0, found.start())), default=0)
    return text[begin : found.start()]


def _parse_ended_fact(words: Sequence[str], before: str, forms: _ChangeLexicon, *, is_value: bool) -> Iterator[EndedFact]:
    old = parse_statement(" ".join(words)).content
    limits = [part.casefold().strip("`.,") for part in before.split()]
    narrow = next((place for place, word in enumerate(limits) if word in forms.narrow), len(limits))
    if any(len(word) > 2 or not word.isascii() for word in old if not word.isdecimal()):
        yield EndedFact(words=old, limits=parse_statement(" ".join(limits[narrow:])).content, is_value=is_value)


def find_supersessions(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """The pairs (earlier, later) of sayings, which are in the order of time, of which the later leaves no room for the earlier."""
    filed: dict[tuple[str, ...], list[tuple[int, ValueFrame]]] = {}
    for later, value_statement in enumerate(sayings):
        for frame in value_statement.frames:
            others = filed.setdefault(frame.words, [])
            yield from (
                (earlier, later)
                for earlier, other in others
                if other.value != frame.value and ((other.is_state and frame.is_state) or _is_value_changed(value_statement, frame))
            )
            others.append((later, frame))
    yield from _find_retractions(sayings)
    yield from _find_outdated(sayings)


_COMPARED = 60  # of those that choose something for one matter, the latest: what more of them chose tells nothing


def find_contradictions(sayings: Sequence[ValueStatement]) -> Iterator[tuple[int, int]]:
    """The pairs (earlier, later) of sayings, in the order of time, that may leave no room for each other: a person should say.

    One value of a state in an otherwise like sentence, where several could hold, another thing chosen for the same, or the reverse
    of a word of it.
    """
    filed: dict[tuple[str, ...], list[tuple[int, ValueFrame]]] = {}
    reversible: dict[frozenset[str], list[int]] = {}
    choices: dict[frozenset[str], list[int]] = {}
    for later, value_statement in enumerate(sayings):
        if matter := _choice_matter(value_statement.says):
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


def _choice_matter(says: Statement) -> frozenset[str]:
    """For what a statement chooses one thing; empty where it chooses none or several, or is about nothing else."""
    matter = says.content - {stem_word(word) for word in says.chosen}
    open_ended = says.denials or says.asks or says.refused or len(says.chosen) != 1 or says.numbers
    return frozenset() if open_ended or len(matter) < _REVERSED else matter


def _is_reverse(later: Statement, earlier: Statement) -> bool:
    """Whether two statements of the same matter differ in a word and its reverse, and in nothing else that tells."""
    if later.artifacts != earlier.artifacts or later.numbers != earlier.numbers or later.asks or earlier.asks:
        return False
    return later.denials == earlier.denials and has_opposites(later.words - earlier.words, earlier.words - later.words)


def _is_value_changed(later: ValueStatement, frame: ValueFrame) -> bool:
    """Whether a statement speaks of a change of its value: not of what is so of one version among several."""
    return later.turned and not VERSIONED & set(frame.words)


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


def _is_retracted(later: ValueStatement, gone: EndedFact, earlier: ValueStatement) -> bool:
    """Whether an earlier statement says of the same matter what the later one says to be gone."""
    statement, matter = earlier.says, later.says.content
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
