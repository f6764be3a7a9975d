"""Where in a statement a value stands, and what the rest of it is about: statements of equal rest speak of the same thing.

The words of all languages are read side by side. Knows no other statement.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from kept.core.pattern import Pattern
from kept.core.statement import ATTRIBUTES, COPULAS, COUNTED, Statement, find_content, stem_word
from kept.core.text import is_cjk
from kept.profiles.lexicons import join_alternatives, list_fragments, word_list

EDGE = re.compile(r"[,;:()\[\]\n。，；、：（）]|(?<!\b[DMS][rst])(?<!\bMrs)(?<!\bProf)[.!?](?:\s|$)|\s[—–-]\s")
_FRAME = 2  # telling words around a value
_SHORT = 4  # words before a value that one telling word among them is enough for
_CHOSEN = 2  # words of the matter that one thing is chosen for
_VALUE, _MEASURE = 3, 5  # words of a value that ends its sentence; of one that begins with a number
_TOKEN = re.compile(r"[$€£]?[^\W_]+(?:[.,:'’/_@-]+[^\W_]+)*%?", re.UNICODE)
_NUMBER = re.compile(r"^[$€£]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Z]{1,3})?$")
_DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
_NAMED = re.compile(r"\w[\d_.@-]+\w|\d")  # a word that is the name of something whatever its case
_PLACE = Pattern(r"[^\pL\pN_]*(\pL[\pL\pM\pN_'’-]*(?: [A-ZÀ-Þ][\pL\pM\pN_'’-]+)?)(?:\s|$|[.;,!。，])")
_AND_MORE = re.compile(r",?\s{0,3}(?:and|und|et|y|e|и|with|mit|avec|con|com)\b")  # what else is so of who lives there
HOME_AND_MORE = "home and more"
_BOTH_MONTH_AND_WORD = frozenset(("may", "march", "mars", "mai", "marzo"))
_TIMES = frozenset(("month", "weekday", "date"))


def _word_set(name: str) -> frozenset[str]:
    return word_list("change", name)


def _form_pattern(name: str) -> re.Pattern[str]:
    """The forms of all languages under a name."""
    spaced, unspaced = join_alternatives("change", name, spaced=True), join_alternatives("change", name, spaced=False)
    return re.compile(rf"(?i)(?<![\w-])(?:{spaced})(?![\w-])" + (f"|{unspaced}" if unspaced else ""))


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeLexicon:
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
    turned_to: re.Pattern[str]
    slots: tuple[re.Pattern[str], ...]
    sole: frozenset[str]
    called: frozenset[str]
    ours: frozenset[str]


@cache
def load_change_lexicon() -> ChangeLexicon:
    """The words and forms of all languages, read once."""
    return ChangeLexicon(
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
        turned_to=_form_pattern("turned_to"),
        slots=tuple(re.compile(form) for form in list_fragments("change", "slots", spaced=False)),
        sole=_word_set("sole"),
        called=_word_set("called"),
        ours=_word_set("ours"),
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


def find_frames(text: str, says: Statement, forms: ChangeLexicon) -> Iterator[ValueFrame]:
    """Where values stand in a text that denies nothing."""
    home = forms.home.search(text)
    if home is not None:
        yield from _frame_home(forms.turned.sub("", text[home.end() :]))
        return
    if any(map(is_cjk, text)):
        yield from _find_slots(text, forms)
        return
    yield from _find_last_values(text, forms)
    yield from _find_new_values(text, forms)
    yield from _find_choice(says)
    raw = _TOKEN.findall(text)
    plain = [item.casefold() for item in raw]
    kinds = [_value_kind(each, place, forms) for place, each in enumerate(raw)]
    kept = [place for place, word in enumerate(plain) if kinds[place] or word not in forms.empty]
    verb = next((place for place, word in enumerate(plain) if word in forms.states), len(plain))
    is_state = any(place < verb for place in kept) and not forms.several.search(" ".join(plain[:verb]))
    for at in kept:
        if not kinds[at] or (at and plain[at - 1] in COUNTED) or (kinds[at] == "number" and 0 < at < verb < len(plain)):
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


def _find_slots(text: str, forms: ChangeLexicon) -> Iterator[ValueFrame]:
    """The values of a sentence in a script without spaces, by the forms that its languages have for one."""
    plain = forms.turned.sub("", text).strip(" 。.！!")
    for number, form in enumerate(forms.slots):
        if found := form.match(plain):
            yield ValueFrame(words=(str(number), found[1], found[3]), value=found[2].casefold(), is_state=False)
            return


def _find_last_values(text: str, forms: ChangeLexicon) -> Iterator[ValueFrame]:
    """What a sentence ends with, behind its verb or a word such as "in": another one takes its place where a change is told; and
    who does what one does alone.
    """
    clause, *more = EDGE.split(forms.turned.sub(" ", text), maxsplit=1)
    if more and more[0].strip():
        return
    raw = _TOKEN.findall(clause)
    plain = [item.casefold() for item in raw]
    dull = forms.empty | forms.states | forms.called | forms.narrow | forms.toward
    articles = forms.empty - forms.narrow - forms.toward - forms.states - forms.called
    subject = _matter(plain[: next((place for place, word in enumerate(plain) if word in forms.states), 0)], forms)
    for at in range(max(1, len(raw) - _MEASURE), len(raw)):
        link = next((place for place in range(at - 1, 0, -1) if plain[place] not in articles), 0)
        link -= plain[link] == "a" and plain[link - 1] in forms.states  # an article in some languages, "to" in others
        before, words = plain[link], _matter(plain[:at], forms)
        if not words or forms.several.search(" ".join(plain[:link])) or before in COUNTED:
            continue
        if plain[at] in dull or not forms.states.isdisjoint(plain[at:]) or (len(words) < _FRAME and not subject and at > _SHORT):
            continue
        kind = _last_kind(raw, at, forms)
        if kind != "number" and len(raw) - at > _VALUE:
            continue
        behind = before in forms.narrow | forms.toward
        linked = before in forms.states or before in forms.called
        if kind in ("thing", "word") and not behind and not linked:
            continue
        if kind == "word" and not behind and not ATTRIBUTES & set(plain[:at]):
            continue  # "is slow" is no other value than "is cached"
        kind = kind if kind in ("time", "number") else "place" if behind else "thing"
        about = words if behind or kind != "thing" or before in COPULAS | forms.called else (before, *words)
        choice = plain[0] in forms.ours and (
            (linked and kind == "thing" and words == subject) or (kind == "number" and before not in forms.narrow)
        )
        yield ValueFrame(words=(f"<{kind}>", *about), value=" ".join(plain[at:]), is_state=False, is_choice=choice)
    verb = next((place for place, word in enumerate(plain) if word in forms.sole), 0)
    if 0 < verb <= _VALUE and len(_matter(plain[verb:], forms)) >= _FRAME:
        yield ValueFrame(words=("<who>", *_matter(plain[verb:], forms)), value=" ".join(plain[:verb]), is_state=False)


def _last_kind(raw: Sequence[str], at: int, forms: ChangeLexicon) -> str:
    kinds = [_value_kind(raw[place], place, forms) for place in range(at, len(raw))]
    if any(kind in _TIMES for kind in kinds):
        return "time"
    if kinds[0] == "number":
        return "number"
    return "thing" if kinds[0] or _NAMED.search(raw[at]) else "word"


def _find_new_values(text: str, forms: ChangeLexicon) -> Iterator[ValueFrame]:
    """The new value of what a sentence says to have been moved, raised or changed to it: "we moved the queue to Redis"."""
    for found in forms.turned_to.finditer(text):
        before = _TOKEN.findall(EDGE.split(text[: found.start()])[-1])
        behind = _TOKEN.findall(EDGE.split(text[found.end() :], maxsplit=1)[0])
        plain = [item.casefold() for item in behind]
        at = next((place for place, word in enumerate(plain) if word in forms.toward), -1)
        end = next((place for place in range(at + 1, len(plain)) if plain[place] in forms.narrow), len(plain))
        if not 0 <= at < end - 1 <= at + _MEASURE:
            continue
        about = _matter([*(item.casefold() for item in before), *plain[:at], *plain[end:]], forms)
        kind, value = _last_kind(behind[:end], at + 1, forms), " ".join(plain[at + 1 : end])
        for name in (kind,) if kind in ("time", "number") else ("thing", "place"):
            if about:
                yield ValueFrame(words=(f"<{name}>", *about), value=value, is_state=False)
        if about and kind in ("thing", "word"):
            yield ValueFrame(words=("<use>", *about), value=stem_word(plain[at + 1]), is_state=False)


def _find_choice(says: Statement) -> Iterator[ValueFrame]:
    """What a sentence says to use for a matter."""
    if about := choice_matter(says):
        yield ValueFrame(words=("<use>", *sorted(about)), value=stem_word(min(says.chosen)), is_state=False)


def choice_matter(says: Statement) -> frozenset[str]:
    """For what a statement chooses one thing; empty where it chooses none or several, or is about nothing else."""
    about = says.content - {stem_word(word) for word in says.chosen}
    open_ended = says.denials or says.asks or says.refused or len(says.chosen) != 1 or says.numbers
    return frozenset() if open_ended or len(about) < _CHOSEN else about


def _matter(words: Sequence[str], forms: ChangeLexicon) -> tuple[str, ...]:
    """The telling words among some, in one order whichever way they were put."""
    dull = forms.empty | forms.states | forms.called | forms.narrow | forms.toward
    return tuple(sorted(find_content(" ".join(word for word in words if word not in dull))))


def find_new_home(text: str, forms: ChangeLexicon) -> Iterator[ValueFrame]:
    """Where somebody lives who moved there and says that they live elsewhere no longer."""
    if forms.home.search(" ".join(forms.gone.sub(" ", text).split())) is None:
        return
    for search_match in forms.turned.finditer(text):
        toward, _, rest = text[search_match.end() :].lstrip().partition(" ")
        found = tuple(_frame_home(rest)) if toward.casefold() in forms.toward else ()
        yield from found
        if found:
            return


def _frame_home(rest: str) -> Iterator[ValueFrame]:
    """Where somebody lives; a sentence that tells more of them than that does not give way whole."""
    place = _PLACE.match(rest)
    if place is None or not (place[1][:1].isupper() or not place[1].isascii()):
        return
    value = place[1].casefold()
    if not _AND_MORE.match(rest, place.end(1)):
        yield ValueFrame(words=("home",), value=value)
    yield ValueFrame(words=(HOME_AND_MORE,), value=value, is_state=False, is_choice=True)


def _value_kind(raw: str, place: int, forms: ChangeLexicon) -> str:
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
    return "name" if place and len(raw) > 1 and not raw.islower() else ""
