"""kept's section in a Markdown file that belongs to the user, such as a project's CLAUDE.md.

The section is a heading (the user's or kept's), and under it a block between two comments that clients strip::

    ## Memory Loop Insights
    <!-- kept:begin 5f0c2d9a1b3e in 0 -->
    - Releases are cut from main only. (2026-02-13)
    <!-- kept:end -->

Everything outside the two comments belongs to the user, even in the same section, and is never changed. The first comment has a
hash of the lines between the comments, so that edits are noticed. It also says what else kept wrote: ``own`` for the heading,
``empty`` for the heading in a file that existed and was empty, ``in`` for nothing. The number after it counts the line breaks that
kept wrote before the heading or comment. With these, removing the section restores the original bytes.

A heading or comment counts only at the top level of the document, and not in code, quotes, lists or HTML. This module works on
bytes and does not read files.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from kept.core.digest import digest
from kept.core.errors import ChangedError
from kept.core.markup import split_lines
from kept.core.value import dataclass

_TOO_LARGE = 400_000
_BEGIN, _END = "<!-- kept:begin", "<!-- kept:end -->"
_CLOSE = " -->"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True, slots=True)
class SectionBlock:
    """kept's block in a file. ``inside`` has the bytes between its two comments, which are in the lines ``first`` and ``last``.

    ``edited`` means that these bytes are not those that kept wrote. ``heading`` means that kept also wrote the line above the
    block. ``breaks`` is the number of line breaks that kept wrote before it. ``empty`` means that the file existed before and was
    empty.
    """

    inside: bytes
    edited: bool
    first: int
    last: int
    heading: bool
    breaks: int
    empty: bool


@dataclass(frozen=True, slots=True)
class _FileText:
    """A file as lines. Bytes that are not UTF-8 are preserved."""

    lines: tuple[tuple[str, str], ...]
    bom: bool
    newline: str

    def join_lines(self, start: int, stop: int | None = None) -> str:
        return "".join(f"{text}{end}" for text, end in self.lines[start:stop])


@lru_cache(maxsize=2_000)  # a run reads each file several times, and there are many day notes
def find_section(original: bytes, *, where: str = "") -> SectionBlock | None:
    """Find kept's block in a file. Returns None if there is none.

    Raises:
        ChangedError: kept's comments do not match each other, or the file is not text or over 400 kB.
    """
    return _find_block(_decode_file(original, where), where)


def place_section(
    original: bytes | None, heading: str, inside: Sequence[str], *, absorbed: bytes | None = None, where: str = ""
) -> bytes:
    """Return the bytes of the file with the lines ``inside`` as kept's block. ``original`` is None for a new file.

    An existing block is replaced. If there is none, the block is inserted under the first heading ``## <heading>``. If there is no
    such heading either, heading and block are appended. ``absorbed`` are the bytes of an edited block whose edits the caller has
    merged.

    Raises:
        ChangedError: for the reasons in :func:`find_section`, if the block was edited and is not ``absorbed``, or if ``inside``
            would not stay inside the block.
    """
    before = original or b""
    text = _decode_file(before, where)
    block = find_section(before, where=where)
    if block is not None and block.edited and block.inside != absorbed:
        raise ChangedError(
            "somebody edited kept's section since its edits were read", where=where, hint="run again, the edits are read first"
        )
    new = "".join(f"{line}{text.newline}" for line in inside)
    if block is not None:
        mark = _begin_comment(new, heading=block.heading, breaks=block.breaks, empty=block.empty)
        result = f"{text.join_lines(0, block.first)}{mark}{text.newline}{new}{text.join_lines(block.last)}"
    else:
        result = _insert_section(text, heading, new, empty=original == b"")
    data = (_BOM if text.bom else b"") + _encode_file(result)
    now = find_section(data, where=where)
    if now is None or now.edited or now.inside != _encode_file(new):
        raise ChangedError(
            "kept's section could not be separated from the rest of the file",
            where=where,
            hint="close the code block or comment that is left open",
        )
    return data


def replace_inside(original: bytes, inside: bytes, *, where: str = "") -> bytes:
    """Return the bytes of the file with other bytes inside kept's block. The comments stay the same, as after an edit by a person.

    Raises:
        ChangedError: for the reasons in :func:`find_section`, if there is no block, or if ``inside`` would not stay inside it.
    """
    text = _decode_file(original, where)
    block = find_section(original, where=where)
    if block is None:
        raise ChangedError("kept has no section in the file", where=where, hint="kept run writes it")
    before, after = _encode_file(text.join_lines(0, block.first + 1)), _encode_file(text.join_lines(block.last))
    data = (_BOM if text.bom else b"") + before + inside + after
    now = find_section(data, where=where)
    if now is None or now.inside != inside:
        raise ChangedError(
            "the text would not stay inside kept's section", where=where, hint="close the code block or comment that is left open"
        )
    return data


def remove_section(original: bytes, *, absorbed: bytes | None = None, where: str = "") -> bytes | None:
    """Return the bytes of the file without kept's text. They are those of the original file, with the user's later changes.

    Returns None if kept created the file and nobody else wrote into it. ``absorbed`` are the bytes of an edited block that the
    caller has saved elsewhere.

    Raises:
        ChangedError: for the reasons in :func:`find_section`, or if the block was edited and is not ``absorbed``.
    """
    text = _decode_file(original, where)
    block = find_section(original, where=where)
    if block is None:
        return original
    if block.edited and block.inside != absorbed:
        raise ChangedError("kept's section was edited", where=where, hint="move your lines elsewhere, or delete it by hand")
    before = text.join_lines(0, block.first - 1 if block.heading else block.first)
    for _ in range(block.breaks):
        before = before.removesuffix(text.newline)
    rest = (_BOM if text.bom else b"") + _encode_file(before + text.join_lines(block.last + 1))
    return rest if rest or block.empty else None


def _insert_section(text: _FileText, heading: str, new: str, *, empty: bool) -> str:
    title = f"## {heading}"
    at = next((number for number in _top_level_lines(text, "heading_open") if text.lines[number][0].rstrip(" \t") == title), None)
    if at is None:
        before, after, breaks = text.join_lines(0), "", _count_breaks(text)
    else:
        before, after, breaks = text.join_lines(0, at + 1), text.join_lines(at + 1), 0 if text.lines[at][1] else 1
    own = "" if at is not None else f"{title}{text.newline}"
    mark = _begin_comment(new, heading=at is None, breaks=breaks, empty=empty)
    return f"{before}{text.newline * breaks}{own}{mark}{text.newline}{new}{_END}{text.newline}{after}"


def _count_breaks(text: _FileText) -> int:
    """The number of line breaks that must be appended so that an empty line comes before further text."""
    if not text.lines:
        return 0
    last, end = text.lines[-1]
    return 2 if not end else 1 if last.strip() else 0


def _find_block(text: _FileText, where: str) -> SectionBlock | None:
    marks = [at for at in _top_level_lines(text, "html_block") if text.lines[at][0].startswith((_BEGIN, _END))]
    if not marks:
        return None
    here = f"{where}:{marks[0] + 1}" if where else f"line {marks[0] + 1}"
    words = text.lines[marks[0]][0].rstrip().removeprefix(_BEGIN).removesuffix(_CLOSE).split()
    begins = sum(text.lines[at][0].startswith(_BEGIN) for at in marks)
    if begins > 1 and len(marks) == 2 * begins:
        raise ChangedError(f"the file contains {begins} sections of kept's", where=here, hint="delete all but one")
    if len(marks) != 2 or text.lines[marks[1]][0].rstrip() != _END or len(words) != 3 or words[2] not in ("0", "1", "2"):
        raise ChangedError(
            "the comments that bound kept's section do not match",
            where=here,
            hint="delete the rest of them; kept writes the section again",
        )
    first, last = marks
    inside = text.join_lines(first + 1, last)
    own = words[1] in ("own", "empty") and first > 0 and text.lines[first - 1][0].startswith("## ")
    breaks = int(words[2]) if own or words[1] == "in" else 0
    return SectionBlock(
        inside=_encode_file(inside),
        edited=_hash_lines(inside) != words[0],
        first=first,
        last=last,
        heading=own,
        breaks=breaks,
        empty=words[1] == "empty",
    )


@cache
def _load_markdown() -> Any:
    """Create the Markdown parser. It is imported only if a file may have a section, because most runs have no such file."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    return MarkdownIt("commonmark").disable("inline")


def _top_level_lines(text: _FileText, kind: str) -> list[int]:
    """The numbers of top-level lines that are a whole ``##`` heading or a whole HTML block, as ``kind`` says."""
    lines = [line for line, _ in text.lines]
    if lines and lines[0].rstrip() == "---":
        close = next((at for at, line in enumerate(lines) if at and line.rstrip() == "---"), -1)
        lines[: close + 1] = [""] * (close + 1)
    tokens = _load_markdown().parse("\n".join(lines))
    return [
        token.map[0]
        for token in tokens
        if token.type == kind and token.level == 0 and token.map and token.map[1] == token.map[0] + 1 and token.markup in ("##", "")
    ]


def _decode_file(original: bytes, where: str) -> _FileText:
    if len(original) > _TOO_LARGE:
        raise ChangedError("the file is over 400 kB", where=where, hint="kept's section goes into files people read")
    if b"\0" in original:
        raise ChangedError("the file is not UTF-8 text", where=where, hint="save it as UTF-8")
    lines = split_lines(original.removeprefix(_BOM).decode(errors="surrogateescape"))
    ends = [end for _, end in lines]
    newline = max(("\n", "\r\n", "\r"), key=ends.count)
    if newline == "\r" and "\n" in ends:
        newline = "\n"  # a lone CR before an empty line that ends with LF would become CRLF
    return _FileText(lines, bom=original.startswith(_BOM), newline=newline)


def _encode_file(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _begin_comment(new: str, *, heading: bool, breaks: int, empty: bool) -> str:
    return f"{_BEGIN} {_hash_lines(new)} {'empty' if empty else 'own' if heading else 'in'} {breaks}{_CLOSE}"


def _hash_lines(inside: str) -> str:
    """Hash the lines without their line endings, because converting the line endings of a file does not count as an edit."""
    return digest(*(line for line, _ in split_lines(inside)), size=6)
