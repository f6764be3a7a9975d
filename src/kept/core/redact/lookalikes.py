"""Lookalikes of plain letters, and byte patterns for text that splits a token but is invisible when rendered.

Lookalikes are full-width and mathematical letters, and letters of other alphabets. Markup, escapes, joined strings and combining
marks can split a token. This module knows nothing of secrets.
"""

import unicodedata

_LATIN = "АВЕКМНОРСТУХЅІЈавекмнорстухѕіјԁһӏԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ"
_MEANT = "ABEKMHOPCTYXSIJabekmhopctyxsijdhlqwABEZHIKMNOPTYXovp"
_MATHEMATICAL = range(0x1D400, 0x1D800)
_FULL_WIDTH = range(0xFF01, 0xFF5F)

#: Maps the code point of each lookalike to the plain character that it resembles.
PLAIN = (
    dict(zip(map(ord, _LATIN), _MEANT, strict=True))
    | {code: chr(code - 0xFEE0) for code in _FULL_WIDTH}
    | {code: plain for code in _MATHEMATICAL if (plain := unicodedata.normalize("NFKC", chr(code))).isascii()}
)


def _one_of(chars: str) -> bytes:
    """A byte pattern that matches any one of the characters, each of two bytes in UTF-8."""
    tails: dict[bytes, set[bytes]] = {}
    for lead, tail in (char.encode() for char in chars):
        tails.setdefault(b"\\x%02x" % lead, set()).add(b"\\x%02x" % tail)
    return b"(?:" + b"|".join(lead + b"[" + b"".join(sorted(found)) + b"]" for lead, found in sorted(tails.items())) + b")"


_OTHER = _one_of(_LATIN)

#: Matches where a text may contain lookalikes (UTF-8 as Latin-1). Other alphabets count only next to plain letters and digits.
LOOKALIKES = (
    rb"[A-Za-z0-9_]" + _OTHER + rb"|" + _OTHER + rb"[A-Za-z0-9_]|[A-Za-z]\xef\xbc[\x9a\x9d]"
    rb"|\xef\xbc[\x90-\x99\xa1-\xba\xbf]|\xef\xbd[\x81-\x9a]|\xf0\x9d[\x90-\x9f]"
)

_UNSEEN = (
    rb"\*\*|``?|\x27\x27|\"\"|</?[A-Za-z]{1,10} ?/?>|<!--[^>\n]{0,40}-->|[\"\x27] ?\+ ?[\"\x27]"
    rb"|(?:\xcc[\x80-\xbf]|\xcd[\x80-\xaf]|\xe2\x80[\x80-\x8a]|\xe2\xa0\x80)+"
)
#: Matches a line end within a token, after a backslash, with a quotation mark, a line number or the border of a box.
LINE_BREAK = (
    rb"(?:[ \t]*(?:\||\xe2\x94\x82|\xe2\x94\x83))?\\?\r?\n[ \t]*(?:\d{1,6}(?:\t|:[ \t]?|\xe2\x86\x92))?"
    rb"(?:[ \t>]|\||\xe2\x94\x82|\xe2\x94\x83)*"
)
#: Matches a row of a hex dump (``xxd``, ``hexdump -C``): an offset, and bytes as pairs of digits. Group 1 has the bytes.
HEX_ROW = rb"\b[0-9a-f]{7,8}:? {1,3}((?:[0-9a-f]{2} {0,2}){1,16})"
#: Matches where a text may contain a hex dump.
HEX_DUMP = rb"\b[0-9a-f]{7,8}:? {1,3}(?:[0-9a-f]{2} {0,2}){16}"
_DIGITS = rb"(?:2[dD]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9aA]|5[fF])"  # the hex code of a letter, a digit, a hyphen or an underscore
_WRITTEN = (
    rb"&#[xX]"
    + _DIGITS
    + rb";|&#(?:45|4[89]|5[0-7]|6[5-9]|[78][0-9]|9[0578]|99|1[01][0-9]|12[0-2]);|&lowbar;|\\(?:u00|x)"
    + _DIGITS
)

#: Group 1 is markup to drop from a token. Group 2 is an escape of one of its characters.
JOINT = rb"(" + _UNSEEN + rb")|(" + _WRITTEN + rb"|\\_)"
#: Matches where a text may contain a split token.
SPLIT = rb"[A-Za-z0-9][_-]?(?:" + _UNSEEN + rb"|\\_)[_-]?[A-Za-z0-9]|" + _WRITTEN
