"""Whether a value is a secret, from the name it stands under, the setting it stands in, and its shape. Knows nothing of whole
texts.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from kept.core.redact.shape import count_word_letters, looks_path, looks_placeholder, looks_random, split_runs


class Setting(StrEnum):
    """How much the place where a value stands proves that it is a secret."""

    SHAPE = "shape"
    LITERAL = "literal"
    QUOTED = "quoted"
    BARE = "bare"
    PROSE = "prose"
    NEAR = "near"
    TOLD = "told"
    CHOSEN = "chosen"
    WORDS = "words"
    USERPASS = "userpass"
    COOKIES = "cookies"
    CARD = "card"
    GROUPED = "grouped"
    DIGITS = "digits"
    CODES = "codes"


# Words of a sentence about a passphrase; one of plain words has none of them.
_TELLING_ABOUT = frozenset(
    """
        the this that these your our his her its their and not never always only also now from into with without when
        where while until before after than then for but was were are has have had been being can could will would shall
        should must may might used uses stored read written kept asked needed required optional wrong missing empty set
        unset part same different one two who what which how why very too just there here still more less der die das den
        dem ein eine einen nicht nie immer und oder mit ohne für von vom zum zur aus bei wird wurde wurden sind war kann
        muss soll noch auch nur schon hier dort los las del una por para con sin que como está fue son muy más pero les
        des une pas dans avec sans sur est sont pour qui dont plus uma não com sem foi são mais
    """.encode().split()
)
_NOT_SECRET = frozenset(
    b"""
        public publishable pub hash hashed cache cached primary foreign sort partition next page continuation idempotency max min
        tokens keys count total input output prompt completion tokenizer shortcut hot index translation i18n message change request
        starting update unit lifecycle
    """.split()
)
_NOT_LAST = frozenset(
    b"""
        type name names file filename path dir url uri endpoint header headers field column label policy rule rules regex pattern
        expiry expires expire expired ttl at manager provider store service class length len limit budget usage cost id ids arn ref
        version size location source env var variable prefix suffix format algorithm alg enabled required valid present set exists
        error status mode prompt hint title text description duration lifetime timeout age date created updated count rotation
        binding loader handler generator validator parser reader writer map list array info metadata scope scopes audience issuer
        strength digest fingerprint checksum sha256 sha1 md5 function fn func method callback component input box
    """.split()
)
_STAGES = frozenset(b"base prod production dev staging new old live main".split())
_PASSWORDS = frozenset(b"password passwd pwd passphrase passcode passwort userpass".split())
_PASS_OWNERS = frozenset(
    b"become db database user admin root sudo su ssh mysql pg postgres redis smtp mail email ftp login".split()
)
_KEY_KINDS = frozenset(
    b"""
        api access secret private auth account signing sign encryption encrypt master storage shared session role service license
        licence admin app application client deploy webhook sas subscription token crypt jwt hmac aes rsa ssh root user consumer
        write integration preshared
    """.split()
)
_TOKEN_KINDS = frozenset(b"access auth refresh api bearer bot secret security session personal".split())
_SECRETS = frozenset(
    b"secret apikey accesskey secretkey authtoken accesstoken credential credentials clientsecret privatekey jwt".split()
)
_TOKENS = frozenset(b"token auth pat pass sid dsn sas".split())
_LOOKED_AT = 128
_SIGNS = frozenset(b"!@#$%^&*+=?~")
_CODE_NAME = re.compile(rb"^[A-Za-z_$][\w$]*(?:(?:\.|::|->|-)[A-Za-z_$][\w$]*)*$")
_DOTTED = re.compile(rb"^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+[!?]?$")
_CALL = re.compile(rb"^(?:[A-Za-z_$][\w.:>$-]*[(\[]|[!*&]\w+$)")
_TOLD_SIGNS = frozenset(b"!@#$%^&*+?~-_")
_CHOSEN = re.compile(rb"^(?=(?:.*[A-Za-z]){3})(?=(?:.*\d){2})[A-Za-z0-9]+(?:[!#$%^*&][A-Za-z0-9]*){1,3}$")
_NOT_CHOSEN = re.compile(rb"^[\w-]+#(?:\d+|[a-z]+\d{0,2})$|%[0-9A-Fa-f]{2}")  # an issue, a heading, an escape of an address
_KNOWN = re.compile(rb"(?i)^(?:pbkdf2|argon2|bcrypt|scrypt|sha\d|md5|hmac|base64|utf-?8|oauth|http|https|[a-z]+_[a-z_]+\d*$)")
_NAMED = re.compile(rb"^-{0,2}[A-Za-z_][A-Za-z_-]{2,}[=:]")
_WORD_AND_NUMBER = re.compile(rb"^(?:[a-z]{4,}[0-9]+|[A-Z][a-z]{3,}[0-9]{4,})$")
# The pairs of letters that words are mostly made of; a generated string has one in five of them.
_PAIRS = frozenset(
    b"""
        th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea ra
        ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee
        wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ei au sc ck ue
    """.split()
)


def rank_name(name: bytes) -> int:
    """What a name says of its value: 3 a password, 2 a key or secret, 1 perhaps a token, 0 nothing."""
    return _rank_short_name(name[-80:])


@lru_cache(maxsize=4096)
def _rank_short_name(name: bytes) -> int:
    words = [piece.lower() for piece in split_runs(name)]
    while words and (words[-1].isdigit() or words[-1] in _STAGES):
        words.pop()
    if not words or words[-1] in _NOT_LAST or not _NOT_SECRET.isdisjoint(words):
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


def is_secret_value(setting: Setting, rank: int, value: bytes) -> bool:
    """Whether a value that stands under a name of this rank in this setting is a secret."""
    if len(value) < (4 if rank == 3 else 8) or looks_placeholder(value) or looks_path(value):
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
        case Setting.BARE | Setting.PROSE:
            return not _is_code(value) and (digits > 0 or len(value) >= 24) and looks_random(value, least=12 if rank == 2 else 16)
        case Setting.NEAR:
            if _NAMED.search(value):
                return False
            mixed = letters and (digits > 0 or value not in (value.lower(), value.upper()))
            return mixed and not _is_code(value) and (looks_random(value) or _is_chosen(value))
        case Setting.TOLD:
            signs = sum(byte in _TOLD_SIGNS for byte in value)
            named = _NAMED.search(value) or _CALL.search(value) or _DOTTED.search(value) or _KNOWN.search(value)
            return letters and (digits >= 2 or (digits > 0 and signs > 0)) and not named
        case Setting.WORDS:
            return _TELLING_ABOUT.isdisjoint(value.lower().split())
        case Setting.CHOSEN:
            return _is_chosen(value)
        case _:
            return False


def _is_chosen(value: bytes) -> bool:
    """Whether a bare word is made as people make passwords."""
    return len(value) >= 8 and bool(_CHOSEN.search(value)) and not _NOT_CHOSEN.search(value)


def _is_code(value: bytes) -> bool:
    """Whether a bare word is a call, a subscript, a YAML tag or a name in a program rather than a value."""
    if _CALL.search(value) or (_DOTTED.search(value) and count_word_letters(value, 4)):
        return True
    return bool(_CODE_NAME.search(value)) and not looks_random(value) and not _WORD_AND_NUMBER.search(value)


def is_userpass(value: bytes) -> bool:
    """Whether base64 stands for ``user:password``."""
    user, colon, word = decode_base64(value).partition(b":")
    plain = user + word
    return bool(user and colon and plain.isascii() and plain.decode("ascii").isprintable()) and not looks_placeholder(word)


def find_cookie_values(value: bytes) -> Iterator[tuple[int, int]]:
    """The places of the random values in a cookie header."""
    at = 0
    for part in value.split(b";"):
        pair, equals, crumb = part.partition(b"=")
        if equals and b" " not in crumb and looks_random(crumb, least=16) and not looks_placeholder(crumb):
            low = at + len(pair) + 1
            yield low, low + len(crumb.rstrip())
        at += len(part) + 1


def decode_base64(value: bytes) -> bytes:
    """What base64 in either alphabet stands for; nothing where it is none."""
    body = value.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    body = body[:-1] if len(body) % 4 == 1 else body
    try:
        return base64.b64decode(body + b"=" * (-len(body) % 4), validate=True)
    except binascii.Error:
        return b""


def is_card(value: bytes) -> bool:
    """Whether the digits of a value are those of a payment card: their check digit fits (Luhn), and they are not one repeated."""
    digits = [int(chr(byte)) for byte in value if chr(byte).isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) if place % 2 else digit for place, digit in enumerate(reversed(digits)))
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and sum(doubled) % 10 == 0


def is_grouped(value: bytes, *, letters: bool) -> bool:
    """Whether groups of four are parts of a token: letters and digits in most of them, or letters alone that are no words."""
    groups = value.replace(b"-", b" ").split()
    if letters:
        pairs = [group[at : at + 2].lower() for group in groups for at in range(len(group) - 1)]
        return sum(pair in _PAIRS for pair in pairs) * 2 < len(pairs)
    mixed = sum(1 for group in groups if any(map(_is_digit, group)) and not group.isdigit())
    return mixed * 2 >= len(groups)


def is_code(value: bytes) -> bool:
    """Whether a value is what is typed at a door: at least four digits, not all the same."""
    digits = [byte for byte in value if _is_digit(byte)]
    return len(digits) >= 4 and len(set(digits)) > 1


def _is_digit(byte: int) -> bool:
    return chr(byte).isdigit()
