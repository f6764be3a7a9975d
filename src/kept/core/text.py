"""Text functions: words, normal forms, tokens, similarity, index words, display labels, word differences. All take bounded texts.

Words are split with string methods. Hooks read a few thousand characters, and importing ``re`` and compiling patterns would take
longer than that. On long texts patterns are about a tenth faster.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_JOINTS = ".'’/_-"  # a single one joins two words to a compound, a path or an identifier
_SPACES = dict.fromkeys(map(ord, _JOINTS), " ")
_ASCII_GAPS = "".join(char if char.isalnum() or char in _JOINTS else " " for char in map(chr, range(128))).encode() + bytes(
    range(128, 256)
)
_CACHED = 20_000  # characters whose replacement is stored


class _Gaps(dict[int, str | int]):
    """Maps every character that is neither a letter, a digit nor a joint to a space."""

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        found = code if char.isalnum() or char in _JOINTS else " "
        if len(self) < _CACHED:
            self[code] = found
        return found


_GAPS = _Gaps()


def find_words(text: str) -> list[str]:
    """The words of a text. Compounds and paths are one word."""
    spaced = text.encode("utf-8", "surrogatepass").translate(_ASCII_GAPS).decode("utf-8", "surrogatepass")
    if not spaced.isascii():
        spaced = " ".join([run if run.isascii() else run.translate(_GAPS) for run in spaced.split()])
    words: list[str] = []
    for run in spaced.split():
        bare = run if run.isalnum() else run.strip(_JOINTS)
        if bare.isalnum():
            words.append(bare)
        else:
            words += _split_at_double_joints(bare)
    return words


def _split_at_double_joints(run: str) -> list[str]:
    words: list[str] = []
    start = end = 0
    for part in run.translate(_SPACES).split(" "):
        if not part and start < end:
            words.append(run[start : end - 1])
        start, end = (start if part else end + 1), end + len(part) + 1
    return [*words, run[start : end - 1]] if start < end else words


def find_pieces(word: str) -> list[str]:
    """The pieces of a word of :func:`find_words`: the parts of camelCase names, runs of digits, and runs of letters."""
    pieces: list[str] = []
    for part in word.translate(_SPACES).split():
        start = 0
        for place in range(1, 0 if part.isdecimal() or (part.isalpha() and part[1:].islower()) else len(part)):
            if _is_boundary(part[place - 1], part[place], part[place + 1 : place + 2]):
                pieces.append(part[start:place])
                start = place
        pieces.append(part[start:])
    return pieces


def _is_boundary(before: str, char: str, after: str) -> bool:
    """True if a new piece begins with ``char``: at a capital within a word, or between a digit and another character."""
    if before.isdecimal() != char.isdecimal():
        return True
    return "A" <= char <= "Z" and ("a" <= before <= "z" or ("A" <= before <= "Z" and "a" <= after <= "z"))


# Scripts written without spaces between words. Their text is compared by pairs of characters.
# These are ranges, because compiling a pattern for them would take a tenth of a hook's time.
_CJK = (
    ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0002fa1f"),
)


def word_set(words: str) -> frozenset[str]:
    """The set of words in a string."""
    return frozenset(words.split())


QUESTION_MARKS = ("?", "？", "؟")
NEGATIONS = word_set(
    "not no never don't dont doesn't cannot can't without avoid stop instead kein nicht nie ohne jamais pas nunca sin não 不 没 别"
)


def normal_form(text: str) -> str:
    """The text without differences of case and width, quotation marks, Markdown marks, outer punctuation and extra spaces."""
    return " ".join(find_words(_compose(text).casefold().replace("’", "'")))


def tokenize(text: str) -> frozenset[str]:
    """The set of words of the text's normal form. In scripts without spaces, pairs of characters are the words."""
    return split_tokens(normal_form(text))


def split_tokens(form: str) -> frozenset[str]:
    """:func:`tokenize` for a text that is already in normal form."""
    if form.isascii():
        return frozenset(form.split())
    words: set[str] = set()
    for word in form.split():
        if not word.isascii() and any(map(is_cjk, word)):
            words.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            words.add(word)
    return frozenset(words)


def is_cjk(char: str) -> bool:
    """True if a character belongs to a script that is written without spaces between words."""
    return char >= "\u3040" and any(first <= char <= last for first, last in _CJK)


def jaccard_similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """The Jaccard index of two token sets, in [0, 1]; 0 if both are empty."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def number_tokens(words: frozenset[str]) -> frozenset[str]:
    """The tokens with a digit: versions, sizes, dates, ids. Statements that differ in one of them are never the same."""
    return frozenset(word for word in words if any(char.isdigit() for char in word))


def one_line(text: str) -> str:
    """The text on one line, each run of white space replaced by one space."""
    return " ".join(text.split())


def _compose(text: str) -> str:
    """The NFKC form of a text."""
    if text.isascii():
        return text
    import unicodedata  # noqa: PLC0415 - hooks import this module, and most texts are ASCII

    return unicodedata.normalize("NFKC", text)


def index_words(text: str) -> str:
    """The words by which a text is indexed: its words, the pieces of identifiers and paths, and pairs of CJK characters.

    ``getUserName`` is indexed whole and as get, user, name; ``src/app/main.py`` whole and by each part.
    """
    words = find_words(_compose(text))
    return " ".join([_index_short_word(word) if len(word) <= _SHORT_WORD else _index_word(word) for word in words]).lower()


def _index_word(word: str) -> str:
    """The words by which one word is indexed."""
    if not word.isascii() and any(map(is_cjk, word)):
        return " ".join([word[i : i + 2] for i in range(max(1, len(word) - 1))])
    if word.isalpha() and (word[1:].islower() or word.isupper() or word.islower()):  # the common case, a word without pieces
        return word
    pieces = find_pieces(word)
    return " ".join([word.translate(_SEPARATORS), *(pieces if len(pieces) > 1 else ())])


_index_short_word = lru_cache(maxsize=4096)(_index_word)  # cached, because texts repeat their words


def phrase_words(name: str) -> str:
    """The index words of a name, in sequence. :func:`index_words` gives the same sequence for a text that contains the name."""
    words = index_words(name).split()
    return " ".join(words[1:] if len(words) > 1 and len(name.split()) == 1 else words)


_SHORT_WORD = 40  # maximum characters of a word that is cached
_SEPARATORS = str.maketrans("", "", ".'’/_-")


def query_words(text: str, most: int = 40) -> tuple[str, ...]:
    """The search words of a query in the form of :func:`index_words`, without duplicates, at most ``most``."""
    return tuple(dict.fromkeys(index_words(text[:10_000]).split()))[:most]


# Display of the names of projects and tools, as short identifiers. A note warns of mixed lookalike alphabets.
_LOOKALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
_LONGEST_LABEL = 32  # characters; half as many if any of them is double-width


@cache
def _label_pattern() -> "re.Pattern[str]":
    """A pattern for the first words of a name, at most four."""
    import re  # noqa: PLC0415 - hooks import this module and rarely need it

    return re.compile(r"(?:[^_.-]+[_.-]*){1,4}")


@lru_cache(maxsize=4096)
def mixed_scripts(text: str) -> tuple[str, ...]:
    """The lookalike alphabets (Latin, Cyrillic, …) in the first word that mixes several of them; empty if no word does."""
    if text.isascii():
        return ()
    import unicodedata  # noqa: PLC0415 - as above

    for word in "".join(char if char.isalpha() else " " for char in text).split():
        found = {unicodedata.name(char, "").partition(" ")[0] for char in word} & _LOOKALIKE
        if len(found) > 1:
            return tuple(sorted(item.capitalize() for item in found))
    return ()


def flag_mixed_scripts(name: str) -> str:
    """A name for display, with a note if it mixes lookalike alphabets."""
    mixed = mixed_scripts(name)
    return f"{name} (mixes {' and '.join(mixed)} letters)" if mixed else name


def project_label(name: str) -> str:
    """A project's name for files and agents: an identifier of at most four words, never a sentence.

    Anybody can name a folder. An agent must not follow its name as an instruction.
    """
    import unicodedata  # noqa: PLC0415 - as above

    plain = "".join(char if char.isalnum() or char in "_.+#" or unicodedata.category(char)[0] == "M" else " " for char in name)
    whole = "-".join(plain.split()).strip("_.-")
    wide = any(unicodedata.east_asian_width(char) in "WF" for char in whole)
    words = _label_pattern().match(whole)
    label = words[0][: _LONGEST_LABEL // (1 + wide)].rstrip("_.-") if words else ""
    return (label + "…" * (label != whole)) or "project"


def format_count(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: ``1 memory``, ``2,000 memories``. ``plural`` is only needed if it ends neither in -s nor in -ies."""
    usual = f"{singular[:-1]}ies" if singular.endswith("y") and singular[-2:-1] not in "aeiou" else f"{singular}s"
    return f"{number:,} {singular if number == 1 else plural or usual}"


Change = tuple[str, str]  # "same", "ins" or "del", and the text


def diff_words(before: str, after: str) -> tuple[Change, ...]:
    """A word diff of two texts, in order. A deletion precedes the insertion that replaces it."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - hooks import this module and need no diff

    old, new = list(_split_runs(before)), list(_split_runs(after))
    found: list[Change] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(("same", "".join(old[i:j])))
            continue
        found += [(kind, text) for kind, text in (("del", "".join(old[i:j])), ("ins", "".join(new[k:m]))) if text]
    return tuple(found)


def _split_runs(text: str) -> Iterator[str]:
    """The words and separators of a text. Joined, they are the text."""
    for _, run in groupby(text, key=lambda char: (char.isalnum(), char.isspace())):
        yield "".join(run)
