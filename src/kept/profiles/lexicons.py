"""The lexicons of the languages, which are read from the TOML files in ``lexicon`` and joined.

Each list of RE2 fragments becomes one case-insensitive pattern. The last group of a pattern is the matched cue. An empty pattern
never matches. In languages with spaces, a fragment must stand between word boundaries. In others it may occur anywhere. The tables
polarity, assertion, choice, change and expiry are used for all languages together. The comments of ``en.toml`` name the modules
that use them.

The lexicons in ``lexicon/tellings`` have no such tables. Each is loaded only for texts that contain one of its words in
``words.toml``, because loading takes time, and in other texts its patterns would match by mistake.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from unicodedata import normalize

from kept.core.codec import load_table, map_strings
from kept.core.errors import ConfigError
from kept.core.pattern import LARGE, PatternSet, compile_late
from kept.core.text import word_set
from kept.core.value import dataclass

_FOLDER = Path(__file__).with_name("lexicon")
_REQUIRED = ("spaced", "telling")
# The languages that have a lexicon, English first. A new file adds a language.
LANGUAGES = ("en", *sorted(path.stem for path in _FOLDER.glob("*.toml") if path.stem != "en"))
_WORDS = _FOLDER / "tellings" / "words.toml"
# The languages of which only the tellings are known. Their patterns apply only to a text in that language.
LOCAL_LANGUAGES = tuple(sorted(path.stem for path in _WORDS.parent.glob("*.toml") if path != _WORDS))

# The files write ’ for both kinds of apostrophe. \x27 is the straight one, which a TOML literal cannot contain.
_APOSTROPHE = r"[\x27’]"
# A word boundary: a character that is not a letter or digit of a script with spaces. Characters of other scripts count as
# boundaries, so that a name between them is found. Character ranges instead of classes keep RE2's automata small.
_EDGE = r"[^\w\x{AA}\x{B5}\x{BA}\x{C0}-\x{24F}\x{370}-\x{60B}\x{60D}-\x{61A}\x{620}-\x{963}\x{966}-\x{1FFF}]"
_WORD = compile_late(r"(?:[^\W\d_]++'*+)++")
_ACCENTED = compile_late(r"[^\W\d_]{5,}")
# The minimum letters of a text whose language can be told, and the minimum of common words per letter in a known language. Texts
# in known languages have at least twice as many.
_LEAST_LETTERS, _LEAST_SHARE = 200, 1 / 40
_BARE = {"ł": "l", "đ": "d", "ı": "i"}  # letters that Unicode does not decompose
_KANA = compile_late(r"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_HAN = compile_late(r"[\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")


@dataclass(frozen=True, kw_only=True, slots=True)
class TellingPatterns:
    """The telling patterns of one language. A telling is a sentence that asks an assistant to remember something. Every pattern has
    a group, which matches the words named here.

    At the start of a sentence: ``lead`` (filler before a telling), ``request`` ("can you"), ``remember`` (a memory verb),
    ``always`` and ``never`` (orders), ``no_ban`` ("never mind"), ``refuse`` (an order not to remember), ``describes`` (the subject
    of a description), ``decided``, ``correction``, ``note``, ``blames`` (the assistant ignored a telling), ``reported`` (somebody
    else's words), ``person`` (the speaker). After ``remember``: ``link`` ("that"), ``goes_on`` ("to"), or ``reminisce`` ("when"),
    which shows that it is not a telling.

    At the end of a sentence: ``remember_this``, and after a memory verb ``pointer`` (to the text before it, or to the list below:
    "that", "the following") and ``tail`` ("please"). At the end of the words before ``remember_this``: ``needs_verb`` ("how do I"),
    after which it is no order. Before a colon: ``label`` ("a rule to keep in mind").

    Anywhere: ``from_now_on``, ``later`` ("next time"), ``lasting`` (meant for later), ``must`` (somebody must, always or never),
    ``ours`` ("we always"), ``here`` (a rule of this project), ``everywhere``, ``all_projects``, ``practice`` (the work of any
    agent), ``contrast`` ("…, never …"), ``reason``, ``when`` (a decision was made), ``occasion`` (applies once), ``planned``
    (considered for the task at hand), ``errand`` (an order to note work, or to put something on a list), ``quits`` (an order that
    ends a habit of the agent), ``withdraws`` (a statement of an earlier session no longer holds; the inner group or the following
    words name that statement), ``taken_back`` (a statement was not meant, or is somebody else's), ``preference``, ``goal``,
    ``kin`` (people in the speaker's life), ``rule``, ``convention``, ``wish`` (a standing wish), ``failure`` (what does not work,
    neither a wish nor surely a rule), ``outside`` (a reference to another sentence).

    ``measured`` means that the quality of this language's patterns was measured. ``words`` matches any word of a telling.
    ``spaced`` means that the language separates words with spaces.
    """

    language: str
    spaced: bool
    measured: bool
    words: str
    lead: str = ""
    request: str = ""
    remember: str = ""
    link: str = ""
    goes_on: str = ""
    reminisce: str = ""
    remember_this: str = ""
    needs_verb: str = ""
    tail: str = ""
    pointer: str = ""
    from_now_on: str = ""
    later: str = ""
    lasting: str = ""
    always: str = ""
    never: str = ""
    no_ban: str = ""
    must: str = ""
    ours: str = ""
    here: str = ""
    everywhere: str = ""
    all_projects: str = ""
    practice: str = ""
    contrast: str = ""
    describes: str = ""
    decided: str = ""
    reason: str = ""
    correction: str = ""
    note: str = ""
    label: str = ""
    errand: str = ""
    quits: str = ""
    withdraws: str = ""
    when: str = ""
    occasion: str = ""
    planned: str = ""
    refuse: str = ""
    taken_back: str = ""
    blames: str = ""
    reported: str = ""
    person: str = ""
    preference: str = ""
    goal: str = ""
    kin: str = ""
    rule: str = ""
    convention: str = ""
    failure: str = ""
    wish: str = ""
    outside: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lexicon:
    """The words of one or several languages. ``agreement`` matches the beginning of an answer that agrees. ``agent_talk`` matches
    words about the assistant itself. ``tellings`` are the telling patterns of all languages.
    """

    languages: tuple[str, ...] = ()
    agreement: str = ""
    agent_talk: str = ""
    tellings: tuple[TellingPatterns, ...] = ()

    @property
    def spoken(self) -> tuple[TellingPatterns, ...]:
        """The telling patterns of the lexicon's own languages."""
        return tuple(telling for telling in self.tellings if telling.language in self.languages)


@cache
def load_lexicon(languages: tuple[str, ...]) -> Lexicon:
    """Load the lexicons of the languages and join them in order. Raises ConfigError for a language without a lexicon."""
    bodies = [_read_lexicon(language) for language in languages]
    agreement, agent_talk = (_join_patterns(name, bodies) for name in ("agreement", "agent_talk"))
    return Lexicon(languages=languages, agreement=agreement, agent_talk=agent_talk, tellings=load_telling_patterns())


# Telling patterns for the start of a sentence, and for its end. The others match anywhere.
_AT_START = word_set(
    "lead tail request remember link goes_on reminisce always never no_ban describes decided correction note quits refuse "
    "withdraws blames reported person"
)
_AT_END = frozenset({"remember_this", "needs_verb"})
# Patterns that begin with a punctuation mark.
_UNBOUND = frozenset({"contrast"})
# A text without a word of these lists contains no telling.
_TELL = (
    *("remember", "remember_this", "from_now_on", "later", "lasting", "always", "never", "must"),
    *("ours", "contrast", "decided", "correction", "note", "label", "errand", "quits", "withdraws"),
)


@cache
def load_telling_patterns() -> tuple[TellingPatterns, ...]:
    """Load the telling patterns of all languages, because a telling counts even in another language than the rest of the
    session.
    """
    return tuple(map(build_telling_patterns, LANGUAGES))


def find_local_patterns(text: str) -> tuple[TellingPatterns, ...]:
    """The telling patterns in ``lexicon/tellings`` of each language that ``words.toml`` finds in the text."""
    return tuple(build_telling_patterns(LOCAL_LANGUAGES[place]) for place in _local_words().find(text))


@cache
def _local_words() -> PatternSet:
    table = load_table(_WORDS)
    rows = ("|".join(table[item].split()).replace("_", " ") for item in LOCAL_LANGUAGES)
    return PatternSet(list(map(_allow_bare_letters, rows)), memory=LARGE)


@cache
def build_telling_patterns(language: str) -> TellingPatterns:
    """Read the lexicon of a language and build its telling patterns. Raises ConfigError."""
    body = _read_lexicon(language)
    table: Mapping[str, list[str]] = body["telling"]
    spaced = bool(body["spaced"])
    sources = {name: _allow_bare_letters("|".join(cues)) for name, cues in table.items() if name != "measured"}
    cues = {name: _build_pattern(name, source, spaced=spaced) for name, source in sources.items()}
    words = _build_pattern("words", "|".join(filter(None, map(sources.get, _TELL))), spaced=spaced)
    return TellingPatterns(language=language, spaced=spaced, measured=bool(table.get("measured")), words=words, **cues)


def _build_pattern(name: str, source: str, *, spaced: bool) -> str:
    """Make a pattern of joined fragments. Its name determines where in a sentence it matches. If the language has spaces
    (``spaced``), it matches only whole words.
    """
    if not source:
        return ""
    before, after = (rf"(?:^|{_EDGE})", rf"(?:$|{_EDGE})") if spaced else ("", "")
    before = "" if name in _UNBOUND else before
    if name in _AT_START:
        return rf"(?i)^[\s\"'“«「(*_>¡-]*({source}){after}"
    if name in _AT_END:
        return rf"(?i){before}({source})[\s\"'”»」)!.。！]*$"
    return rf"(?i){before}({source}){after}"


def _allow_bare_letters(source: str) -> str:
    """Make the accents of longer words optional ("acuerdate"). Not those of short words, which would become other words."""
    return _ACCENTED.sub(lambda word: word[0] if word[0].isascii() else "".join(map(_with_bare_letter, word[0])), source)


@cache
def _with_bare_letter(char: str) -> str:
    bare = _BARE.get(char) or normalize("NFD", char)[0]
    return f"[{char}{bare}]" if bare != char and bare.isascii() else char


def detect_languages(text: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """Detect the languages of a text by counting the common words of each language.

    Returns the language with the highest count and those with at least two thirds of it, the highest first. Empty if no common word
    occurs. Languages without spaces, and those whose lexicon names a ``script``, are recognized by their script.
    """
    return choose_languages(count_common_words(text, languages), languages)


def choose_languages(counts: Mapping[str, int], languages: tuple[str, ...]) -> tuple[str, ...]:
    """The result of :func:`detect_languages`, given the numbers of common words."""
    ranked = sorted(((counts[each], -place, each) for place, each in enumerate(languages)), reverse=True)
    most = ranked[0][0] if ranked else 0
    return tuple(each for count, _, each in ranked if count and count * 3 >= most * 2)


def count_common_words(text: str, languages: tuple[str, ...]) -> dict[str, int]:
    """The number of common words of each language in a text."""
    return sum_common_words((text,), languages)


def sum_common_words(texts: Iterable[str], languages: tuple[str, ...]) -> dict[str, int]:
    """The number of common words of each language in some texts, as if each were a line of one text."""
    # Each text is counted once, although several episodes read it.
    none = (0,) * (3 + 2 * len(languages))
    wide, kana, han, *sums = map(sum, zip(none, *(_count_signs(each, languages) for each in texts), strict=True))
    counts = dict(zip(languages, sums[: len(languages)], strict=True))
    for item, chars in zip(languages, sums[len(languages) :], strict=True) if wide else ():
        if _read_lexicon(item).get("script"):
            counts[item] = (chars + 5) // 6
    # In a script without spaces, about two characters are one word, and about every third word is a common one.
    counts["ja"] = (kana + han) // 6 + 1 if kana > 1 else 0
    counts["zh"] = han // 6 + 1 if han > 1 and kana <= 1 else 0
    return counts


@lru_cache(maxsize=1024)
def _count_signs(text: str, languages: tuple[str, ...]) -> tuple[int, ...]:
    """What a text has: 1 if it is not ASCII, its kana, its other Han characters, the common words of each language, and then the
    characters of each language's script, if its lexicon names one.
    """
    common, found = _languages_of_words(languages), [0] * len(languages)
    for word in _WORD.findall(text.casefold().replace("’", "'")):
        for place in common.get(word, ()):
            found[place] += 1
    if text.isascii():
        return 0, 0, 0, *found, *(0 for _ in languages)
    scripts = [tuple(_read_lexicon(item).get("script", "\1\0")) for item in languages]
    chars = (sum(first <= char <= last for char in text) for first, last in scripts)
    return 1, len(_KANA.findall(text)), len(_HAN.findall(text)), *found, *chars


@cache
def _languages_of_words(languages: tuple[str, ...]) -> dict[str, list[int]]:
    """The places in ``languages`` of those that have a word among their common ones, by the word."""
    table: dict[str, list[int]] = {}
    for place, language in enumerate(languages):
        for word in _common_words(language):
            table.setdefault(word, []).append(place)
    return table


def is_unknown_language(text: str) -> bool:
    """True if a text is long enough to tell and in no language that has a lexicon. Few of its words are then common words of such a
    language, or more are common words of another one.
    """
    letters = sum(map(str.isalpha, text))
    if letters < _LEAST_LETTERS or count_common_words(text, LANGUAGES[:1])[LANGUAGES[0]] >= 2 * letters * _LEAST_SHARE:
        return False  # no other lexicon is read, because `kept status` waits for this
    words = Counter(_WORD.findall(text.casefold()))
    most = max(count_common_words(text, (*LANGUAGES, *LOCAL_LANGUAGES)).values())
    others = (sum(words[word] for word in row.split()) for row in load_table(_WORDS)["unknown"].values())
    return most < max(letters * _LEAST_SHARE, *others)


@cache
def common_words() -> frozenset[str]:
    """The most common words of all languages with spaces."""
    return frozenset().union(*(_common_words(language) for language in LANGUAGES if _read_lexicon(language)["spaced"]))


@cache
def _common_words(language: str) -> frozenset[str]:
    return frozenset(str(_read_lexicon(language).get("common", "")).split())


def join_alternatives(table: str, *names: str, spaced: bool | None = None) -> str:
    """Join the fragments of some lists as alternatives of one pattern: of all languages with (or without) spaces, or of both
    kinds of languages.
    """
    kinds = (True, False) if spaced is None else (spaced,)
    return "|".join(fragment for apart in kinds for name in names for fragment in list_fragments(table, name, spaced=apart))


def list_fragments(table: str, name: str, *, spaced: bool) -> tuple[str, ...]:
    """Return the fragments of a list separately, for use if one pattern of all would be too large."""
    return tuple(fragment for body in _list_tables(table, spaced=spaced) for fragment in body.get(name, ()))


@cache
def word_list(table: str, name: str, *, spaced: bool = True) -> frozenset[str]:
    """Return the plain words of a list, of all languages with (or without) spaces."""
    return frozenset(word for body in _list_tables(table, spaced=spaced) for word in body.get(name, "").split())


def _list_tables(table: str, *, spaced: bool) -> list[Mapping[str, Any]]:
    bodies = (body for body in map(_read_lexicon, LANGUAGES) if bool(body["spaced"]) is spaced)
    return [body.get(table, {}) if table else body for body in bodies]


@cache
def number_words(name: str = "numbers") -> Mapping[str, str]:
    """Map the number words (or ``ordinals``) of all languages to their digits."""
    tables = (_read_lexicon(language).get("polarity", {}).get(name, {}) for language in LANGUAGES)
    return {word: digits for table in tables for digits, words in table.items() for word in words.split()}


def calendar_words(name: str) -> dict[str, int]:
    """Map the weekdays (Monday is 0) or months (January is 1) of all languages, in lower case, to their numbers."""
    tables = (str(_read_lexicon(language).get("change", {}).get(name, "")).split() for language in LANGUAGES)
    count, first = (7, 0) if name == "weekdays" else (12, 1)
    return {word: place % count + first for words in tables for place, word in enumerate(words)}


@cache
def _read_lexicon(language: str) -> Mapping[str, Any]:
    place = next((path for path in _FOLDER.rglob("*.toml") if path.stem == language), None)
    if place is None:
        raise ConfigError(
            f"no lexicon for the language {language[:40]!r}",
            where="`languages` of a profile",
            hint=f"there are: {', '.join(LANGUAGES)}",
        )
    try:
        body = load_table(place)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{place.name}: {error}") from None
    if missing := [key for key in _REQUIRED if key not in body]:
        raise ConfigError(f"{place.name} has no `{missing[0]}`, which every lexicon needs")
    accepted: Mapping[str, Any] = map_strings(body, lambda text: text.replace("’", _APOSTROPHE))
    return accepted


def _join_patterns(name: str, bodies: list[Mapping[str, Any]]) -> str:
    sources = (
        _build_pattern(name, _allow_bare_letters("|".join(body.get(name, ()))), spaced=bool(body["spaced"])) for body in bodies
    )
    return "|".join(f"(?:{source})" for source in sources if source)


@cache
def load_machinery_pattern() -> str:
    """Return an RE2 pattern of words for the memory system itself."""
    body = load_table(Path(__file__).with_name("machinery").joinpath("words.toml"))
    return rf"(?i)\b(?:{'|'.join(body['words'])})\b"
