"""Classifies short strings as random, made of words, or a placeholder. Knows nothing of the text around them.

All functions take UTF-8 bytes, and read only the first 128. For so few bytes, plain `re` with simple classes takes bounded time,
and less than starting RE2.
"""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from kept.core.codec import load_table
from kept.core.pattern import Pattern, compile_late

_LOOKED_AT = 128
_LONGEST_TOKEN = 400


@cache
def load_words() -> Mapping[str, Any]:
    """The lists of ``words.toml`` by name."""
    return load_table(Path(__file__).with_name("words.toml"))


def list_words(name: str) -> frozenset[bytes]:
    """The words of a list in ``words.toml``; for a table, the words of all its languages."""
    found = load_words()[name]
    return frozenset(" ".join([found] if isinstance(found, str) else found.values()).encode().split())


@cache
def compile_re2(source: bytes) -> Pattern:
    """A cached RE2 pattern over bytes that treats each byte as a Latin-1 character."""
    return Pattern(source, latin1=True)


_RUNS = compile_late(rb"[A-Z]+[a-z]*|[a-z]+|[0-9]+")
_CAPITALS = ascii_uppercase.encode()
_SEGMENTS = compile_late(rb"[A-Za-z0-9]+")
_STAND_IN = compile_late(
    rb"(?i)^(?:[$#@%]?\{.*|-?\$[a-z_]\w*|\$\(.*|%\w{1,40}%|%\(\w{1,40}\)[sd]?|%[sdvq]|<.*|\[.*|\(.*|@\w+@|__\w+__|-+|\.{2,}.*"
    rb"|.*\.\.\.|.*\xe2\x80\xa6|"
    rb"(?:none|null|nil|undefined|true|false|yes|no|on|off|n/a|todo|tbd|unset|empty|\d{1,3})[.!]?)$"
)
_REPEATED = compile_late(
    rb"[xX]{5,}|\*{3,}|\.{4,}|-{6,}|_{6,}|#{4,}|\?{3,}|0{8,}|1{7,}|9{7,}|(?:\xe2\x80\xa2){3,}|(?:\xe2\x97\x8f){3,}|\xe2\x80\xa6"
)
_SPELLED = compile_late(
    rb"(?i)example|redacted|placeholder|change[-_]?(?:me|this)|replace[-_]?(?:me|with|this)|dummy|insert[-_]|your[-_]"
    rb"|[-_]here\b|<your|not[-_]?a[-_]?real|IkpvaG4gRG9l"
)
# Keys in the order of a keyboard or an alphabet: nobody's token without a vendor's prefix, but many people's password.
_IN_ORDER = compile_late(rb"(?i)123456789|0123456789|abcdefgh|deadbeef|qwerty|foobar")
_STOCK = list_words("stock")
_PARTS = compile_late(rb"[A-Za-z0-9]+")
_ID_KINDS, _SECRET_KINDS, _NOT_SECRET = map(list_words, ("id_kinds", "secret_kinds", "not_secret"))
_HEX = frozenset(b"0123456789abcdef")
_HEAD = compile_late(rb"^(?:[A-Za-z]{1,12}|[A-Za-z][A-Za-z0-9]{1,5})$")  # a word, or a mark such as "v1"
_VOWELS = frozenset(b"aeiouyAEIOUY")


def split_runs(value: bytes) -> list[bytes]:
    """Split a string into runs: a word with its capital, capitals, or digits. ``HTTPServer2`` has three runs."""
    result = []
    for run in _RUNS.findall(value[:_LOOKED_AT]):
        capitals = len(run) - len(run.lstrip(_CAPITALS))
        cut = capitals - 1 if 1 < capitals < len(run) else 0
        result += [run[:cut], run[cut:]] if cut else [run]
    return result


def looks_random(value: bytes, *, least: int = 8) -> bool:
    """True if a string has at least ``least`` letters and digits and looks generated, with short runs and not made of words."""
    runs = split_runs(value)
    length = sum(map(len, runs))
    if length < least or all(run.isdigit() for run in runs):
        return False
    if any(run.isdigit() for run in runs):
        return count_word_letters(value, 4) * 2 <= length <= len(runs) * 5
    odd = sum(not _is_pronounceable(run) for run in runs)
    return length >= 10 and (count_word_letters(value, 3) * 2 < length or (odd >= 2 and len(runs) >= 4 and value.isalpha()))


def looks_mixed(value: bytes) -> bool:
    """True if a string mixes letters and digits as a token does, and less than two thirds of it are words."""
    runs = split_runs(value)
    return (
        any(run.isdigit() for run in runs)
        and len(set(value[:_LOOKED_AT])) >= 8
        and count_word_letters(value, 5) * 3 < 2 * sum(map(len, runs))
    )


def looks_token(value: bytes, *, named: bool) -> bool:
    """True if a string looks like a vendor's token: words or short marks, then a long random part.

    ``named`` means that text beside the string names a key or token. If so, or if its own first words do, the random part may be
    shorter. It may then also have letters of one case or only hexadecimal digits, as in ids and hashes. A string that begins like
    an id, a hash or a public key is not a token.
    """
    parts = _PARTS.findall(value)
    if len(value) > _LONGEST_TOKEN or looks_placeholder(value) or not parts:
        return False
    count = 0
    while count < len(parts) - 1 and _HEAD.search(parts[count]):
        count += 1
    words = {run.lower() for part in parts[:count] for run in (part, *split_runs(part))}
    if not (words or named) or words & (_ID_KINDS | _NOT_SECRET):
        return False
    body = b"".join(parts[count:])
    kinds = [(byte > 57) + (byte > 90) for byte in body]  # 0 for a digit, 1 for a capital, 2 for a small letter
    digits, capitals, small = (kinds.count(kind) / len(kinds) for kind in range(3))
    changes = sum(before != after for before, after in pairwise(kinds)) / len(kinds)
    certain = named or not words.isdisjoint(_SECRET_KINDS)
    if min(capitals, small) >= 1 / 8:
        wordy = count_word_letters(value, 5) * 3 >= len(value)
        return len(body) >= (16 if certain else 30) and digits > 0 and changes >= 0.4 and not wordy
    if len(body) < (20 if certain else 40) or not 0.15 <= digits <= 0.75 or changes < 0.2:
        return False
    return bool(words and certain) or not _HEX.issuperset(max(parts, key=len).lower())


def looks_placeholder(value: bytes, *, password: bool = False) -> bool:
    """True if a string is a placeholder: a variable, a template, a mask, an example, or stock words only.

    Keys in order ("qwerty") are one too, unless the string is named a ``password`` or has the shape of a vendor's token.
    """
    short = value[:_LOOKED_AT].strip()
    if _STAND_IN.search(short) or _REPEATED.search(short) or _SPELLED.search(short):
        return True
    if not password and _IN_ORDER.search(short):
        return True
    if len(set(short)) <= min(4, len(short) // 2) or short.lower() in _STOCK:
        return True
    words = [piece.lower() for piece in split_runs(short)]
    return bool(words) and all(word in _STOCK or (word.isdigit() and len(word) <= 4) for word in words)


def looks_path(value: bytes) -> bool:
    """True if a string is a file path or a URL."""
    short = value[:_LOOKED_AT]
    if b"://" in short:
        return True
    return short.startswith((b"/", b"./", b"../", b"~/", b"~\\", b"C:\\")) and not (
        looks_random(short, least=20) and b"." not in short
    )


def count_word_letters(value: bytes, least: int) -> int:
    """The number of letters in pronounceable runs of at least ``least`` letters. Capitals next to lower case do not count."""
    total = 0
    for segment in _SEGMENTS.findall(value[:_LOOKED_AT]):
        runs = split_runs(segment)
        mixed = any(run[-1:].islower() for run in runs)
        total += sum(len(run) for run in runs if len(run) >= least and not (mixed and run.isupper()) and _is_pronounceable(run))
    return total


def _is_pronounceable(word: bytes) -> bool:
    """True if vowels and consonants alternate in a word as in a language. False for digits."""
    vowels = [byte in _VOWELS for byte in word]
    run = longest = 0
    for vowel in vowels:
        run = 0 if vowel else run + 1
        longest = max(longest, run)
    return 0.2 <= sum(vowels) / len(vowels) <= 0.8 and longest <= 4
