"""Decides whether a value is a secret, from the rank of its name, its setting and its shape. Does not read the text around it."""

import base64
import binascii
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from kept.core.pattern import compile_late
from kept.core.redact.shape import count_word_letters, list_words, looks_path, looks_placeholder, looks_random, split_runs


class Setting(StrEnum):
    """The test that a matched value must pass, which depends on the context (``setting`` in ``secrets.toml``).

    :func:`is_secret_value` has the tests from ``LITERAL`` to ``WORDS``. :mod:`kept.core.redact.places` calls the others.
    """

    SHAPE = "shape"  # a token of a known shape, unless it is a placeholder
    LITERAL = "literal"  # certainly a value: any value whose name is that of a password, key or secret
    QUOTED = "quoted"  # in quotation marks; looks random or, if a password, has a digit or special character
    BARE = "bare"  # without quotation marks; looks random or like a password, and not like code
    PROSE = "prose"  # like BARE, in a sentence
    NEAR = "near"  # a few words from "password" or "key"; looks random or like CHOSEN, and not like code
    TOLD = "told"  # after "password for ..." or a user name; letters and two digits, or a digit and a special character
    SPOKEN = "spoken"  # like PROSE or TOLD
    JOINED = "joined"  # a passphrase of plain words joined by one sign
    REMEMBERED = "remembered"  # like SPOKEN or JOINED
    CHOSEN = "chosen"  # a password that a person chose: letters, digits and a special character
    WORDS = "words"  # a passphrase of several words, without a function word that would make it a sentence
    TOKEN = "token"  # noqa: S105 - some words after "key" or "token": a long random part, whatever comes before it
    USERPASS = "userpass"  # base64 of `user:password`
    COOKIES = "cookies"  # a cookie header with random values
    CARD = "card"  # the digits of a payment card
    GROUPED = "grouped"  # a token in groups of characters
    DIGITS = "digits"  # a PIN or door code
    CODES = "codes"  # a recovery code: like DIGITS, or like a quoted password


_TELLING_ABOUT = list_words("telling_about")
_NOT_SECRET, _STAGES = map(list_words, ("not_secret", "stages"))
_PASSWORDS, _PASS_OWNERS, _KEY_KINDS, _TOKEN_KINDS = map(list_words, ("passwords", "pass_owners", "key_kinds", "token_kinds"))
_SECRETS, _TOKENS, _PAIRS = map(list_words, ("secrets", "tokens", "pairs"))
_STOCK = list_words("stock")
_NOT_JOINED = _TELLING_ABOUT | _NOT_SECRET | _PASSWORDS | _SECRETS | _TOKENS
_PARTICIPLES = (b"ed", b"able", b"ible", b"only", b"based")
_LOOKED_AT = 128
_SIGNS = frozenset(b"!@#$%^&*+=?~")
_CODE_NAME = compile_late(rb"^[A-Za-z_$][\w$]*(?:(?:\.|::|->|-)[A-Za-z_$][\w$]*)*$")
_DOTTED = compile_late(rb"^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+[!?]?$")
_CALL = compile_late(rb"^(?:[A-Za-z_$][\w.:>$-]*[(\[]|[!*&]\w+$)")
_TOLD_SIGNS = frozenset(b"!@#$%^&*+?~-_")
_CHOSEN = compile_late(rb"^(?=(?:.*[A-Za-z]){3})(?=(?:.*\d){2})[A-Za-z0-9]+(?:[!#$%^*&][A-Za-z0-9]*){1,3}$")
_NOT_CHOSEN = compile_late(rb"^[\w-]+#(?:\d+|[a-z]+\d{0,2})$|%[0-9A-Fa-f]{2}")  # an issue number, a URL fragment, a URL escape
_KNOWN = compile_late(rb"(?i)^(?:pbkdf2|argon2|bcrypt|scrypt|sha\d|md5|hmac|base64|utf-?8|oauth|http|https|[a-z]+_[a-z_]+\d*$)")
_NAMED = compile_late(rb"^-{0,2}[A-Za-z_][A-Za-z_-]{2,}[=:]")
_KEY_HEAD = compile_late(rb"(?i)^(?:[spra]k|key|api|tok|token|secret)(?:[-_.](?:live|test|prod|proj|api|key))?[-_.]\w+$")
_DIGIT_INSIDE = compile_late(rb"[A-Za-z][0-9]{1,2}[A-Za-z]")
_MEASURE = compile_late(
    rb"^(?:v[0-9.]+|[0-9]{1,5}(?:[.-][0-9]{1,5})*(?:-?[a-z]+)?)$"
)  # a version, a date, or a number with its unit
_JOINED = compile_late(rb"[a-z\x80-\xff]+")
_WORD_AND_NUMBER = compile_late(rb"^(?:[a-z]{4,}[0-9]+|[A-Z][a-z]{3,}[0-9]{4,})$")


def rank_name(name: bytes) -> int:
    """The kind of value that a name suggests: 3 a password, 2 a key, secret or known token, 1 perhaps a key or token, 0 none."""
    return _rank_short_name(name[-80:])


@lru_cache(maxsize=4096)
def _rank_short_name(name: bytes) -> int:
    words = [piece.lower() for piece in split_runs(name)]
    while words and (words[-1].isdigit() or words[-1] in _STAGES):
        words.pop()
    if not words or not _NOT_SECRET.isdisjoint(words):
        return 0
    last, before = words[-1], words[-2] if len(words) > 1 else b""
    if last in (b"pass", b"pw") and before in _PASS_OWNERS:
        return 3
    if last in _PASSWORDS or (last in (b"word", b"phrase") and before == b"pass") or last.endswith(b"password"):
        return 3
    if last in _SECRETS or last.endswith((b"secret", b"apikey")) or (last == b"key" and before in _KEY_KINDS):
        return 2
    if last == b"token" and before in _TOKEN_KINDS:
        return 2
    return 1 if last in _TOKENS or last.endswith(b"token") or (last == b"key" and before and name.isupper()) else 0


def names_no_secret(words: bytes) -> bool:
    """True if the words before a value say that it is not a secret, such as "cache key"."""
    return not _NOT_SECRET.isdisjoint(run.lower() for run in split_runs(words))


def is_secret_value(setting: Setting, rank: int, value: bytes) -> bool:
    """True if a value with a name of this rank (:func:`rank_name`) is a secret in this setting."""
    if (
        len(value) < (4 if rank == 3 else 8)
        or looks_placeholder(value, password=rank == 3 or setting is Setting.PROSE)
        or looks_path(value)
    ):
        return False
    if value.startswith((b"pk_", b"arn:", b"sha256:", b"sha512-", b"ssh-")):
        return False
    value = value[:_LOOKED_AT]
    digits = sum(48 <= byte <= 57 for byte in value)
    telling = bool(digits) or not _SIGNS.isdisjoint(value)
    letters = any(byte > 64 for byte in value)
    match setting:
        case Setting.LITERAL:
            return rank >= 2 or looks_random(value, least=12)
        case Setting.QUOTED if b" " in value.strip():
            return False
        case Setting.QUOTED if rank == 3:
            return looks_random(value) or (letters and telling) or digits >= 6
        case Setting.QUOTED:
            return looks_random(value, least=8 if rank == 2 else 16)
        case Setting.BARE | Setting.PROSE if rank == 3:
            return len(value) >= 6 and letters and not _is_code(value) and (telling or looks_random(value))
        case Setting.PROSE if digits and len(value) >= 20 and _KEY_HEAD.search(value):
            return True
        case Setting.BARE | Setting.PROSE:
            return not _is_code(value) and (digits > 0 or len(value) >= 24) and looks_random(value, least=12 if rank == 2 else 16)
        case Setting.NEAR:
            if _NAMED.search(value):
                return False
            mixed = digits > 0 or value not in (value.lower(), value.upper())
            return mixed and not _is_code(value) and (looks_random(value) or _is_chosen(value))
        case Setting.TOLD:
            signs = sum(byte in _TOLD_SIGNS for byte in value)
            named = _NAMED.search(value) or _CALL.search(value) or _DOTTED.search(value) or _KNOWN.search(value)
            odd = digits >= 2 or (digits > 0 and (signs > 0 or bool(_DIGIT_INSIDE.search(value))))
            return letters and odd and not named and not _MEASURE.search(value)
        case Setting.SPOKEN | Setting.REMEMBERED:
            parts = (Setting.PROSE, Setting.TOLD, *((Setting.JOINED,) if setting is Setting.REMEMBERED else ()))
            return any(is_secret_value(part, rank, value) for part in parts)
        case Setting.JOINED:
            return _is_joined(value)
        case Setting.WORDS:
            return _TELLING_ABOUT.isdisjoint(value.lower().split())
        case Setting.CHOSEN:
            return _is_chosen(value)
        case _:
            return False


def _is_chosen(value: bytes) -> bool:
    """True if a bare word has the form of passwords that people choose: letters, digits and a special character."""
    return len(value) >= 8 and bool(_CHOSEN.search(value)) and not _NOT_CHOSEN.search(value)


def _is_joined(value: bytes) -> bool:
    """True if a value is a passphrase: three plain words or more, none of which makes it a name in code or a part of a sentence."""
    lower = value.lower()
    words = _JOINED.findall(lower)
    if value.isupper() or sum(map(len, words)) < 10 or len(set(words)) < len(words):
        return False
    told = not _NOT_JOINED.isdisjoint(words) or len(_STOCK.intersection(words)) > 1
    return not told and not (len(words[-1]) > 4 and words[-1].endswith(_PARTICIPLES))


def _is_code(value: bytes) -> bool:
    """True if a bare word is code: a call, a subscript, a YAML tag or a name."""
    if _CALL.search(value) or (_DOTTED.search(value) and count_word_letters(value, 4)):
        return True
    return bool(_CODE_NAME.search(value)) and not looks_random(value) and not _WORD_AND_NUMBER.search(value)


def is_userpass(value: bytes) -> bool:
    """True if a value is the base64 of ``user:password``."""
    user, _, word = decode_base64(value).partition(b":")
    plain = user + word
    return bool(user and plain.isascii() and plain.decode("ascii").isprintable()) and not looks_placeholder(word)


def find_cookie_values(value: bytes) -> Iterator[tuple[int, int]]:
    """The ranges of the random values in a cookie header."""
    at = 0
    for part in value.split(b";"):
        pair, _, crumb = part.partition(b"=")
        if b" " not in crumb and looks_random(crumb, least=16) and not looks_placeholder(crumb):
            low = at + len(pair) + 1
            yield low, low + len(crumb.rstrip())
        at += len(part) + 1


def decode_base64(value: bytes) -> bytes:
    """Decode base64 in either alphabet. Empty if the value is not base64."""
    body = value.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    body = body[:-1] if len(body) % 4 == 1 else body
    try:
        return base64.b64decode(body + b"=" * (-len(body) % 4), validate=True)
    except binascii.Error:
        return b""


def is_card(value: bytes) -> bool:
    """True if a value has the digits of a payment card: 13 to 19 digits, not all equal, with a valid check digit (Luhn)."""
    digits = [int(chr(byte)) for byte in value if chr(byte).isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) if place % 2 else digit for place, digit in enumerate(reversed(digits)))
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and sum(doubled) % 10 == 0


def is_grouped(value: bytes, *, letters: bool) -> bool:
    """True if a value in groups, separated by spaces or hyphens, looks like a token.

    At least half of the groups must mix digits with other characters. If ``letters``, it also suffices that fewer than half of the
    letter pairs are common in words.
    """
    groups = value.replace(b"-", b" ").split()
    if letters:
        pairs = [group[at : at + 2].lower() for group in groups for at in range(len(group) - 1)]
        return sum(pair in _PAIRS for pair in pairs) * 2 < len(pairs)
    mixed = sum(1 for group in groups if any(48 <= byte <= 57 for byte in group) and not group.isdigit())
    return mixed * 2 >= len(groups)


def is_code(value: bytes) -> bool:
    """True if a value is a PIN or door code: at least four digits, not all equal."""
    digits = [byte for byte in value if 48 <= byte <= 57]
    return len(digits) >= 4 and len(set(digits)) > 1


def is_recovery_code(value: bytes) -> bool:
    """True if a value is a recovery code: a code as in :func:`is_code`, or like a password in quotation marks."""
    return is_code(value) or is_secret_value(Setting.QUOTED, 3, value)
