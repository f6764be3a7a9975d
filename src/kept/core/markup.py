"""The Markdown form of kept's lines: writes facts, headings and id comments, and parses them back.

A fact is one line. Escaping prevents Markdown from reading it as a heading, list item, task, quote, rule, fence, link definition,
HTML tag, comment or image. Emphasis, links and entities are not escaped. Unescaping returns exactly the same words. ``@path``
imports are put into code spans. At most ``READ_AT_MOST`` characters of a line are parsed.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date
from difflib import SequenceMatcher
from urllib.parse import quote, unquote

from kept.core.digest import digest
from kept.core.document import Layout, Line
from kept.core.pattern import compile_late

LONGEST = 500
NOTE = 160  # at most this many characters of an ``about`` or ``was`` note
_ABOUT, _WAS = "(about: ", "(was: "
READ_AT_MOST = 8_000
BOM = "\ufeff"
_COMMENT, _COMMENT_END = "<!-- kept: ", " -->"
_END_MARK = "end"
_UNDATED = "undated"

# Characters that render as nothing but are not in category Cf.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_FILLER_RANGES = (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0000", "\U000e0fff"))
_HIDDEN = frozenset({"Cc", "Cf", "Cs"})

_DAY = compile_late(r"(?:^| )\((\d{4}-\d\d-\d\d|undated)\)$")
_BULLET = compile_late(r"(?:[-*+•]|\d{1,9}[.)])(?:\s+|$)")
# Marks that open a block at the start of a line. Group 2 has the backslashes before the mark.
_BLOCK = compile_late(r"^()(\\*)(?:#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|~~~|\[[ xX]\](?:\s|$)|\[[^\]]*\]:|[-*_ ]+$)")
_ORDERED = compile_late(r"(\d{1,9})(\\*)[.)](?:\s|$)")
_CLOSING = compile_late(r"^(|.* )(\\*)#+$")
_IMAGE = compile_late(r"!(\\*)\[")
_LINE_END = compile_late(r"(\r\n|\n|\r)")
_SLASH = "\\"
_AFTER_IMPORT = ".,;:!?)]}'\"*_"


def remove_invisible(text: str) -> str:
    """The text without invisible characters: controls, format characters, fillers, variation selectors, lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if char.isspace() or not _is_invisible(char))


def _is_invisible(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    return char in _FILLERS or any(low <= char <= high for low, high in _FILLER_RANGES) or unicodedata.category(char) in _HIDDEN


def to_plain_line(text: str) -> str:
    """The text on one line, without invisible characters."""
    return " ".join(remove_invisible(text).split())


def to_fact_text(text: str, most: int = LONGEST) -> str:
    """The text as one visible line of at most ``most`` characters, the form of a fact.

    ``@path`` gets a code span, in which clients do not import the path. A backtick without a partner becomes an apostrophe.
    Idempotent.
    """
    words = to_plain_line(text[: 8 * most])
    limit = most
    while len(safe := _escape_imports(_replace_lone_backticks(_truncate(words, limit)))) > most:
        limit -= len(safe) - most
    return safe


def format_memory_line(content: str, about: str = "", most: int = LONGEST, *, was: str = "") -> str:
    """The text of a memory's line: its content, then notes with what it is about and what it may have replaced, if any."""
    words = to_fact_text(content, most)
    return f"{words}{_format_note(_ABOUT, about)}{_format_note(_WAS, was)}" if words else words


def _format_note(opening: str, words: str) -> str:
    return f" {opening}{to_fact_text(words, NOTE)})" if words else ""


def parse_memory_line(text: str, content: str, about: str = "", was: str = "") -> tuple[str, str]:
    """The content and ``about`` of a line of :func:`format_memory_line` that a person may have edited.

    Unedited words are returned as they are in ``content``, without the code spans and apostrophes of :func:`to_fact_text` (unless
    these changed the number of words).
    """
    text, note = text.removesuffix(_format_note(_WAS, was)), _format_note(_ABOUT, about)
    kept = about if note and text.endswith(note) else ""
    words = text.removesuffix(note).split(" ")
    before, after = to_plain_line(content).split(" "), to_fact_text(content, len(content) + READ_AT_MOST).split(" ")
    if len(before) == len(after):
        for old, new, size in SequenceMatcher(None, after, words, autojunk=False).get_matching_blocks():
            words[new : new + size] = before[old : old + size]
    return " ".join(words), kept


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(0, most - 1)].rstrip() + "…"


def _replace_lone_backticks(text: str) -> str:
    return "".join(piece if code else piece.replace("`", "'") for code, piece in _split_code_spans(text))


def _escape_imports(text: str) -> str:
    pieces = tuple(_split_code_spans(text))
    result = []
    for number, (code, piece) in enumerate(pieces):
        words = [piece] if code else [_wrap_import_as_code(word) for word in piece.split(" ")]
        if not code and number and words[0].startswith("`"):
            words[0] = f" {words[0]}"
        if not code and number < len(pieces) - 1 and words[-1].endswith("`"):
            words[-1] = f"{words[-1]} "
        result.append(" ".join(words))
    return "".join(result)


def _wrap_import_as_code(word: str) -> str:
    """Put a code span around the ``@path`` in a word that a client would import. The word itself has no backtick."""
    for at, char in enumerate(word):
        if char == "@" and not (at and (word[at - 1].isalnum() or word[at - 1] == "_")):
            bare = word[at:].rstrip(_AFTER_IMPORT)
            name = bare if len(bare) > 1 else word[at:]
            if len(name) > 1:
                gap = " " if word[:at].endswith(_SLASH) else ""
                return f"{word[:at]}{gap}`{name}`{word[at + len(name) :]}"
    return word


def _split_code_spans(text: str) -> Iterator[tuple[bool, str]]:
    """Split the text into pairs (is a code span, piece)."""
    start = at = 0
    while (at := text.find("`", at)) >= 0:
        if _count_backslashes(text[start:at]) % 2:
            at += 1
            continue
        run = _count_backticks(text, at)
        close = _find_closing_backticks(text, at + run, run)
        if close < 0:
            at += run
            continue
        yield False, text[start:at]
        yield True, text[at : close + run]
        start = at = close + run
    yield False, text[start:]


def _find_closing_backticks(text: str, at: int, run: int) -> int:
    while (at := text.find("`" * run, at)) >= 0:
        length = _count_backticks(text, at)
        if length == run:
            return at
        at += length
    return -1


def _count_backticks(text: str, at: int) -> int:
    end = at
    while end < len(text) and text[end] == "`":
        end += 1
    return end - at


def _count_backslashes(text: str) -> int:
    return len(text) - len(text.rstrip(_SLASH))


def escape(text: str) -> str:
    """Escape a text of :func:`to_fact_text`, so that after a bullet it opens no block, tag, comment or image."""
    return _escape_at(_ORDERED, _escape_at(_BLOCK, escape_inline(text)))


def unescape(text: str) -> str:
    """The inverse of :func:`escape`. Text that is not escaped does not change."""
    return unescape_inline(_unescape_at(_BLOCK, _unescape_at(_ORDERED, text)))


def escape_inline(text: str) -> str:
    """Escape every ``<`` that may open a tag or comment, and every ``![`` that may open an image."""
    return "".join(
        _toggle_tag_escapes(piece if code else _escape_images(piece), code=code, back=False)
        for code, piece in _split_code_spans(text)
    )


def unescape_inline(text: str) -> str:
    """The inverse of :func:`escape_inline`."""
    plain_pieces = ((code, _toggle_tag_escapes(piece, code=code, back=True)) for code, piece in _split_code_spans(text))
    return "".join(piece if code else _unescape_images(piece) for code, piece in plain_pieces)


def _escape_images(piece: str) -> str:
    """Escape images, because a viewer fetches an image from its address whenever it shows the file."""
    return _IMAGE.sub(lambda found: f"!{_SLASH * (2 * len(found[1]) + 1)}[", piece)


def _unescape_images(piece: str) -> str:
    return _IMAGE.sub(lambda found: f"!{_SLASH * (len(found[1]) // 2)}[" if len(found[1]) % 2 else found[0], piece)


def _escape_at(pattern: re.Pattern[str], text: str) -> str:
    """Escape each mark that the pattern finds: double the backslashes of its second group and add one."""
    match = pattern.match(text)
    return f"{match[1]}{_SLASH * (2 * len(match[2]) + 1)}{text[match.end(2) :]}" if match else text


def _unescape_at(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.match(text)
    return f"{match[1]}{_SLASH * (len(match[2]) // 2)}{text[match.end(2) :]}" if match and len(match[2]) % 2 else text


def _toggle_tag_escapes(piece: str, *, code: bool, back: bool) -> str:
    done, *rest = piece.split("<")
    for after in rest:
        slashes = _count_backslashes(done)
        kept = after
        if after.lstrip(_SLASH).startswith("!"):  # `<!` is split within code too, because some clients strip comments everywhere
            kept = after.removeprefix(_SLASH) if back else _SLASH + after
        elif not code and (after.startswith(("/", "?")) or (after[:1].isascii() and after[:1].isalpha())):
            if not back:
                done += _SLASH * (slashes + 1)
            elif slashes % 2:
                done = done[: len(done) - slashes // 2 - 1]
        done = f"{done}<{kept}"
    return done


def header_lines(newest: date | None) -> tuple[str, str]:
    """The title of the memory file, and the sentence below it with the day of the newest evidence."""
    shown = f" (newest evidence: {newest.isoformat()})" if newest else ""
    return "# Memory", f"Facts remembered from earlier sessions{shown}; what is said now outranks them. Edit freely."


def size_in_bytes(lines: Sequence[str]) -> int:
    """The size of lines in a file, in bytes, with line endings of one byte."""
    return sum(len(line.encode()) + 1 for line in lines)


def fact_line(text: str, day: date | None) -> str:
    """A fact as a line: ``- text (2026-02-13)``.

    If the day is unknown, the line ends without a day, or with ``(undated)`` if the text itself ends in something like a day.
    """
    if day is not None:
        return f"- {escape(text)} ({day.isoformat()})"
    return f"- {escape(text)}" + (f" ({_UNDATED})" if _DAY.search(text) else "")


def parse_fact(line: str) -> tuple[str, str]:
    """The text and day of a fact's line, without bullet and escapes. The day is ``undated`` or empty if the line has none.

    This is the exact inverse of :func:`fact_line` for lines of at most ``READ_AT_MOST`` characters. A line that a person edited is
    parsed as far as possible.
    """
    words = to_plain_line(line[:READ_AT_MOST])
    if bullet := _BULLET.match(words):
        words = words[bullet.end() :]
    shown = _DAY.search(words)
    if shown:
        words = words[: shown.start()]
    return unescape(words), shown[1] if shown else ""


def is_bullet(line: str) -> bool:
    """True if a line is a list item."""
    return bool(_BULLET.match(line.lstrip()))


def heading_line(level: int, text: str) -> str:
    """A heading line with a text of :func:`to_fact_text`, escaped."""
    return f"{'#' * level} {_escape_at(_CLOSING, escape_inline(text))}"


def parse_heading(line: str) -> tuple[int, str]:
    """The level and text of an ATX heading. The level is 0 for any other line."""
    bare = line.lstrip("#")
    level = len(line) - len(bare)
    if not 1 <= level <= 6 or (bare and not bare[0].isspace()):
        return 0, ""
    return level, unescape_inline(_unescape_at(_CLOSING, bare[:READ_AT_MOST].strip()))


def ids_line(scope: str, category: str, ids: Sequence[str]) -> str:
    """The comment with the ids of a section's memories, in the order of their lines. Clients strip it, so it costs no tokens.

    For a project it contains a hash of the scope, because the scope contains the name of a folder, which anybody can choose.
    """
    return f"{_COMMENT}{' '.join(quote(item, safe=':') for item in (scope_mark(scope), category, *ids))}{_COMMENT_END}"


def scope_mark(scope: str) -> str:
    """The form of a scope in a comment. A project's is ``project:3f2a9c``; any other scope is unchanged."""
    kind, colon, name = scope.partition(":")
    return f"{kind}:{digest(name, size=3)}" if colon else scope


def end_line(facts: int) -> str:
    """The comment that ends a file, with the number of memory lines above it. A file without it was truncated."""
    return f"{_COMMENT}{_END_MARK} {facts}{_COMMENT_END}"


def parse_ids_line(line: str) -> tuple[str, str, tuple[str, ...]] | None:
    """The scope mark, category and ids in a line of :func:`ids_line`; None if the line is not a comment of ``kept``.

    For a line of :func:`end_line`, the mark is ``end``, the category is the number of memory lines, and there are no ids.
    """
    words = line.strip()
    if not (words.startswith(_COMMENT) and words.endswith(_COMMENT_END)):
        return None
    scope, *rest = [unquote(part) for part in words[len(_COMMENT) : -len(_COMMENT_END)].split()] or [""]
    return (scope, rest[0], tuple(rest[1:])) if rest else None


def holds_mark(data: bytes) -> bool:
    """True if a line of the file is a comment of :func:`ids_line` or :func:`end_line`."""
    return any(parse_ids_line(line) for line, _ in split_lines(data.decode("utf-8", "replace")))


def split_lines(text: str) -> tuple[tuple[str, str], ...]:
    """The lines of a text, each with its ending: LF, CRLF, CR, or empty for the last line."""
    parts = _LINE_END.split(text)
    lines = tuple(zip(parts[::2], (*parts[1::2], ""), strict=True))
    return lines if parts[-1] else lines[:-1]


def encode_lines(lines: Sequence[Line], layout: Layout) -> bytes:
    """The bytes of a file with these lines in this layout."""
    text = "".join(f"{line.text}{line.end or layout.newline}" for line in lines)
    if not layout.final and lines:
        text = text[: -len(lines[-1].end or layout.newline)]
    return ((BOM if layout.bom else "") + text).encode()
