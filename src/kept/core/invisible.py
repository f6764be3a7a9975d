"""Removes invisible text: characters and escape sequences that a person does not see but a program or a model does.

These are format characters (category Cf), tags, bidirectional controls, zero-width characters, Hangul fillers, variation selectors,
control characters other than newline and tab, and terminal escape sequences with the text that they conceal. Joiners stay where a
script or an emoji needs them. An emoji presentation selector stays after its base character.
"""

import unicodedata
from functools import cache

from kept.core.pattern import compile_late

_ESCAPES = compile_late(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]?|\x9b[0-9;]{1,64}[A-Za-z]"  # CSI: colours, cursor movement
    r"|\x1b[\]PX^_](?:[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c))?"  # OSC and other strings: titles, links
    r"|\x1b[ -/]{0,4}[0-~]?"
)
# Text between the SGR codes "conceal" (8) and "reveal" (28 or 0). An 8 within a colour code (38;…) does not count.
_CODE = r"(?:(?!38;|48;|58;)[0-9]{0,3};){0,16}"
_CONCEALED = compile_late(
    rf"(?s)(?:\x1b\[|\x9b){_CODE}0?8(?:;[0-9;]{{0,64}})?m.*?(?:(?:\x1b\[|\x9b){_CODE}(?:0{{0,2}}|28)(?:;[0-9;]{{0,64}})?m|\Z)"
)
_NEWLINES = compile_late(r"\r\n?|\x85")
_SUSPECT = compile_late(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PLAIN = bytes([9, 10, *range(32, 127)])  # the ASCII characters that _SUSPECT does not match
_ALWAYS_SEEN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_JOINERS = frozenset("\u200c\u200d")
_EMOJI_PRESENTATION = "\ufe0f"
_TONES = range(0x1F3FB, 0x1F400)
# Scripts in which a joiner changes how letters are drawn: Arabic to Mongolian, and the Arabic extensions.
_JOINING = (
    (0x0600, 0x08FF),
    (0x0900, 0x0DFF),
    (0x0F00, 0x109F),
    (0x1780, 0x18AF),
    (0xA840, 0xA87F),
    (0x10A00, 0x11FFF),
    (0x1E900, 0x1E95F),
)


def strip_invisible(text: str) -> tuple[str, int]:
    r"""The text without invisible characters, and the number of characters removed.

    ``\r\n``, ``\r``, the next-line control and line separators become ``\n`` and are not counted. A lone surrogate becomes U+FFFD
    and counts as one. Idempotent.
    """
    odd = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    if not (odd and _SUSPECT.search("".join(set(odd.decode("utf-8", "surrogatepass"))))):
        return text, 0
    text = _NEWLINES.sub("\n", text)
    removed = 0
    if "\x1b" in text or "\x9b" in text:
        bare = _ESCAPES.sub("", _CONCEALED.sub("", text))
        removed, text = len(text) - len(bare), bare
    out: list[str] = []
    at = 0
    last = ""
    for suspect in _SUSPECT.finditer(text):
        place = suspect.start()
        last = text[place - 1] if place > at else last
        seen = _replace_suspect(last, text[place], text[place + 1 : place + 2])
        removed += seen != text[place] and seen != "\n"
        out += [text[at:place], seen]
        last = seen or last
        at = place + 1
    out.append(text[at:])
    return "".join(out), removed


def _replace_suspect(before: str, char: str, after: str) -> str:
    """The replacement of a suspect character between its neighbours: itself if it is needed, another character, or nothing."""
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    if char in "\u2028\u2029":
        return "\n"
    if char in _ALWAYS_SEEN:
        return char
    if char == _EMOJI_PRESENTATION:
        return char if before and (_is_emoji(before) or (before in "#*0123456789" and after == "\u20e3")) else ""
    if char in _JOINERS:
        pictures = char == "\u200d" and (_is_emoji(before) or before == _EMOJI_PRESENTATION) and _is_emoji(after)
        return char if pictures or (_is_joining(before) and (_is_joining(after) or char == "\u200d")) else ""
    return ""


def _is_emoji(char: str) -> bool:
    return bool(char) and (
        ord(char) in _TONES or ((char > "\u2000" or char in "©®") and unicodedata.category(char) in ("So", "Sm", "Po"))
    )


@cache
def _is_joining(char: str) -> bool:
    """True if a character is a letter or mark of a script whose shapes depend on joiners."""
    return bool(char) and any(low <= ord(char) <= high for low, high in _JOINING) and unicodedata.category(char)[0] in "LM"
