"""What a sentence denies, restricts or makes general, and which numbers go with which words: so that no rewording turns it around.

Reads markers of all languages of the lexicons side by side, for a claim may be worded in another language than what it rests
on. Two texts are compared by the words that they share: those behind a marker in one must stand behind a marker of the same
kind in the other.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kept.core.pattern import compile_late
from kept.profiles.lexicons import join_alternatives, number_words, word_list

_READ = 4_000
_SCOPE = 3  # telling words behind a marker that it is said of
_ALIKE = 0.6  # share of the shorter clause's words from which two clauses say the same
_MANY = 6
_OPENING = 60  # characters
_HEADS = 2  # those that it is surely said of
_JOINED = rf"\b(?:{join_alternatives('polarity', 'clause', spaced=True)})\b|{join_alternatives('polarity', 'clause', spaced=False)}"
_CLAUSE = compile_late(rf"[,;.:!?—()\n、。，；！？]+|\s[-–]\s|{_JOINED}", re.IGNORECASE)
# A word, or a character of a script without spaces; kana bend words and name little.
_TOKEN = compile_late(r"[\u3400-\u9fff]|[\u30a0-\u30ff]{2,}|(?![\u3040-\u9fff])[^\W_](?:(?![\u3040-\u9fff])[\w'’./@+-])*")


def _marker_pattern(*names: str, end: str = r"(?![\w-])") -> str:
    spaced, unspaced = ("|".join(join_alternatives("polarity", name, spaced=apart) for name in names) for apart in (True, False))
    return rf"(?:(?<![\w-])(?:{spaced.strip('|')}){end}|{unspaced.strip('|')})"


_BACKWARD = compile_late(_marker_pattern("denies_back"), re.IGNORECASE)
_DENIES = compile_late(_marker_pattern("denies", "denies_back"), re.IGNORECASE)
_RESTRICTS = compile_late(_marker_pattern("restricts"), re.IGNORECASE)
_GENERAL = compile_late(_marker_pattern("general"), re.IGNORECASE)
_ALWAYS = compile_late(_marker_pattern("always"), re.IGNORECASE)
_SOMETIMES = compile_late(_marker_pattern("sometimes"), re.IGNORECASE)
_DEPENDS = compile_late(rf"[?？]|{_marker_pattern('depends')}", re.IGNORECASE)
# Verbs by which a person turns something down without a denial.
_REJECTS = compile_late(_marker_pattern("rejects", end=r"\w*"), re.IGNORECASE)
# Denials in form that order what they are said of.
_IDIOMS = compile_late(_marker_pattern("idioms"), re.IGNORECASE)
# Words that name nothing a marker could be said of.
_EMPTY = word_list("polarity", "empty") | word_list("polarity", "empty", spaced=False)
_UNITS = number_words()
# A clause that may hold a number: a point or a comma inside one ends none.
_COUNTED = compile_late(rf"[,;!?\n、。，；](?!\d)|\.(?=\s|$)|{_JOINED}", re.IGNORECASE)
_CODE = compile_late(r"`[^`\n]*`")
_NUMBER = compile_late(r"(?<![\w./:#-])v?(\d+(?:[.,]\d+)*)(?![\w/-]|:\d)(?:\s?(?:ms|s|m|h|d|px|kb|mb|gb|%))?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Marker:
    """What a marker is said of: the words nearest to it, those within its reach, and all telling words of its clause."""

    heads: frozenset[str]
    scope: frozenset[str]
    clause: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _MarkedText:
    """The telling words of a text clause by clause, and its markers."""

    clauses: tuple[frozenset[str], ...]
    denied: tuple[_Marker, ...]
    restricted: tuple[_Marker, ...]


def opens_with_denial(text: str) -> bool:
    """Whether a text begins by denying or rejecting something."""
    opening = text.lstrip(" \t\n-*>\"'“„«")[:_OPENING]
    return any(markers.match(opening) is not None for markers in (_DENIES, _REJECTS))


def drops_markers(claim: str, cited: Iterable[str]) -> bool:
    """Whether a claim neither denies nor restricts anything, and the words it cites do."""
    marks = (_DENIES, _RESTRICTS, _REJECTS)
    return not any(mark.search(claim) for mark in marks) and any(mark.search(text) for text in cited for mark in marks)


def find_distortion(claim: str, cited: Iterable[str], around: Iterable[str] = (), known: Iterable[str] = ()) -> str:
    """How a claim turns the sentences it cites around: its polarity, its restriction or its numbers; empty where it does not.

    A number may also stand in the texts ``around`` them, and a clause speak of what else is ``known``; what a claim denies must
    stand in the sentences themselves.
    """
    sources = tuple(text[:_READ] for text in cited)
    marked_text, rests = _parse_marked_text(claim[:_READ]), _parse_marked_text("\n".join(sources))
    whole = "\n".join(sources)
    words = frozenset[str]().union(*marked_text.clauses)
    if marked_text.denied and not (rests.denied or rests.restricted or _REJECTS.search(whole)):
        return "polarity"
    if not (marked_text.denied or marked_text.restricted or _REJECTS.search(claim)) and any(
        marker.heads & words for marker in rests.denied
    ):
        return "polarity"
    if marked_text.restricted and not (rests.restricted or rests.denied):
        return "restriction"
    if not (marked_text.restricted or marked_text.denied) and any(marker.heads & words for marker in rests.restricted):
        return "restriction"
    spoken = frozenset[str]().union(*rests.clauses)
    if any(not marker.heads & spoken for marker in marked_text.denied) and not rests.restricted:
        return "polarity"
    near = spoken.union(*(clause for text in known for clause in _parse_marked_text(text[:_READ]).clauses))
    if any(len(clause) > 2 and not clause & near for clause in marked_text.clauses):
        return "extent"
    if _is_reversed(marked_text.denied, rests, rests.denied) or _is_reversed(rests.denied, marked_text, marked_text.denied):
        return "polarity"
    if _is_reversed(marked_text.restricted, rests, rests.restricted) or _is_reversed(
        rests.restricted, marked_text, marked_text.restricted
    ):
        return "restriction"
    if _ALWAYS.search(claim) and _SOMETIMES.search(whole) and not _GENERAL.search(whole):
        return "restriction"
    return "numbers" if _has_different_numbers(claim, sources, tuple(around)) else ""


def has_other_order(claim: str, source: str) -> bool:
    """Whether the words that two texts share, each once, follow one another otherwise: which comes first may say what goes before
    what, and whose rule it is.
    """
    plain = (_ALWAYS.sub(" ", text[:_READ]) for text in (claim, source))
    words = [[word for match in _TOKEN.finditer(text) if (word := _word_stem(match[0]))] for text in plain]
    places = [{word: place for place, word in enumerate(each) if each.count(word) == 1} for each in words]
    shared = [place for word, place in places[1].items() if word in places[0]]
    ordered = [places[1][word] for word in places[0] if word in places[1]]
    return ordered != sorted(shared)


def is_qualified(rest: str) -> bool:
    """Whether the rest of a sentence may change what a passage of it says: it denies, restricts, doubts, asks or depends."""
    return any(pattern.search(rest) for pattern in (_DENIES, _RESTRICTS, _SOMETIMES, _DEPENDS))


def _is_reversed(markers: Sequence[_Marker], other: _MarkedText, others: Sequence[_Marker]) -> bool:
    """Whether a clause of the other text says without a marker, in mostly the same words, what stands behind one here."""
    theirs = frozenset[str]().union(*(marker.scope for marker in others))
    return any(
        not marker.scope & theirs and any(marker.heads & clause and _is_near(marker.clause, clause) for clause in other.clauses)
        for marker in markers
    )


def _is_near(left: frozenset[str], right: frozenset[str]) -> bool:
    common = len(left & right)
    return common >= _ALIKE * min(len(left), len(right)) and (2 * common >= min(len(left), _MANY) or (right <= left and common > 1))


@lru_cache(maxsize=256)
def _parse_marked_text(text: str) -> _MarkedText:
    clauses: list[frozenset[str]] = []
    denied: list[_Marker] = []
    restricted: list[_Marker] = []
    for clause in _clauses(_IDIOMS.sub(" ", text)):
        spans = [(match.start(), match.end(), _word_stem(match[0])) for match in _TOKEN.finditer(clause)]
        telling = [(start, end, word) for start, end, word in spans if word and not _is_marker(clause[start:end])]
        whole = frozenset(word for _, _, word in telling)
        clauses.append(whole)
        for pattern, marks in ((_DENIES, denied), (_RESTRICTS, restricted)):
            marks += [_marker(match, telling, whole) for match in pattern.finditer(clause)]
    return _MarkedText(clauses=tuple(clauses), denied=tuple(denied), restricted=tuple(restricted))


def _marker(match: "re.Match[str]", telling: list[tuple[int, int, str]], clause: frozenset[str]) -> _Marker:
    """A marker is said of the first words behind it; where the language puts it last, of those before it too."""
    behind = [word for start, _, word in telling if start >= match.end()][:_SCOPE]
    ahead = [word for _, end, word in telling if end <= match.start()][::-1][:_SCOPE]
    before = ahead if _BACKWARD.fullmatch(match[0]) or not behind else []
    heads = frozenset((*behind[:_HEADS], *before[:_HEADS]))
    return _Marker(heads=heads, scope=frozenset((*before, *behind)), clause=clause)


def _clauses(text: str) -> Iterator[str]:
    return (clause for clause in _CLAUSE.split(text) if clause and clause.strip())


def _is_marker(token: str) -> bool:
    return any(pattern.fullmatch(token) for pattern in (_DENIES, _RESTRICTS, _ALWAYS))


def _word_stem(token: str) -> str:
    """The stem of a word that names something; empty for one that does not."""
    word = token.casefold().strip(".'’-/")
    if word in _EMPTY or not word or word.isdigit():
        return ""
    for ending in ("ing", "ed", "es", "s", "en", "e"):
        if len(word) - len(ending) >= 4 and word.endswith(ending) and word.isalpha():
            return word.removesuffix(ending)
    return word


def _has_different_numbers(claim: str, sources: Iterable[str], around: Sequence[str]) -> bool:
    """Whether a claim holds a number that stands nowhere, or puts a cited one to other words than those it stands with."""
    cited = [pair for text in sources for pair in _numbers(text)]
    known = "\n".join(around)
    for number, words in _numbers(_CODE.sub(" ", claim)):  # what stands in code is a name
        near = [others for same, others in cited if same == number]
        if (
            not near
            and number not in known
            and (number not in _UNITS.values() or number in claim or any(words & others for _, others in cited))
        ):
            return True
        elsewhere = frozenset[str]().union(*(others for same, others in cited if same != number))
        if near and words & elsewhere and not any(words & others for others in near):
            return True
    return False


@lru_cache(maxsize=256)
def _numbers(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """The numbers of a text, each with the telling words of its clause."""
    found: list[tuple[str, frozenset[str]]] = []
    for clause in _COUNTED.split(text):
        tokens = [match[0] for match in _TOKEN.finditer(clause)]
        words = frozenset(word for token in tokens if (word := _word_stem(token)) and not _NUMBER.fullmatch(token))
        numbers = [match[1] for match in _NUMBER.finditer(clause)] + [
            _UNITS[word] for token in tokens if (word := token.casefold()) in _UNITS
        ]
        found += [(number.replace(",", "").rstrip("."), words) for number in numbers]
    return tuple(found)
