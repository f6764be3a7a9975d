"""The three-way merge: find what a person changed in a file, and insert their own lines into the newly rendered ones."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kept.core.document import END, HEADER, AddedLines, Edits, Layout, Line, UnsafeEdits, UserLine
from kept.core.markup import BOM, is_bullet, parse_fact, split_lines
from kept.outputs.merge_edits.match import (
    NOWHERE,
    STALE,
    TITLES,
    FileLine,
    Tags,
    classify_lines,
    fact_text,
    is_fact,
    line_sections,
    match_lines,
)

_TOO_LARGE = 500_000


def find_edits(base: Sequence[Line], theirs: bytes | None, *, bounded: bool = False) -> Edits | UnsafeEdits:
    """Return the edits between ``base``, the lines as last written, and ``theirs``, the bytes of the present file.

    A missing file (None) counts as unedited, and is written again with the user's lines in ``base``. UnsafeEdits is returned for a
    file that is empty, larger than 500 kB, not text, or has lost facts together with its header or its end. It is also returned for
    a file that contains kept's comments but was never written from this store (``base`` is empty), because the author of its lines
    is unknown. ``bounded`` is true if the text stood between two comments that were both found, so that none of it was cut off.
    """
    kept = Edits(foreign=tuple(_own_lines(base)), renamed={line.key: line.text for line in base if line.users and line.key})
    if theirs is None:
        return kept
    if len(theirs) > _TOO_LARGE:
        return UnsafeEdits(reason=f"it is larger than {_TOO_LARGE // 1000} kB", edits=None, kept=kept)
    if b"\0" in theirs:
        return UnsafeEdits(reason="it holds NUL bytes", edits=None, kept=kept)
    try:
        text = theirs.decode()
    except UnicodeDecodeError:
        return UnsafeEdits(reason="it is not UTF-8 text", edits=None, kept=kept)
    tags = match_lines(base, file_lines := classify_lines(split_lines(text.removeprefix(BOM))))
    if not base and theirs and (bounded or STALE in tags.values()):
        return UnsafeEdits(reason="kept wrote it from a store that is gone or elsewhere", edits=None, kept=kept)
    edits = _build_edits(base, file_lines, tags, text)
    if base and not bounded:
        if not text.removeprefix(BOM).strip():
            return UnsafeEdits(reason="it is empty", edits=edits, kept=kept)
        if broken := _find_damage(base, edits, frozenset(tags.values())):
            facts = sum(is_fact(line) for line in base)
            return UnsafeEdits(reason=f"{broken}, and {len(edits.removed)} of its {facts} facts", edits=edits, kept=kept)
    return edits


def _find_damage(base: Sequence[Line], edits: Edits, found: frozenset[int]) -> str:
    """The reason why a file looks damaged and not edited by a person. Empty if it does not.

    If a person deletes lines, kept's first and last lines usually remain. A truncated file has lost its last line.
    """
    header = [number for number, line in enumerate(base) if line.key.startswith(f"{HEADER}:") and "footer" not in line.key]
    last = max((number for number, line in enumerate(base) if line.key), default=-1)
    whole = {line.key: "{} ({})".format(*parse_fact(line.text)) for line in base if is_fact(line)}
    cropped = any(whole[key].startswith(words) for key, words in edits.revised.items())
    if last not in found and (edits.removed or cropped):
        return "its end is gone"
    if header and not found.intersection(header) and edits.removed:
        return "its first lines are gone"
    return ""


def locate_lines(base: Sequence[Line], text: str) -> dict[str, tuple[int, ...]]:
    """Memory id → the numbers (from 0) of the lines in ``text`` that match the memory's fact in ``base``.

    ``text`` has no byte order mark.
    """
    tags = match_lines(base, classify_lines(split_lines(text)))
    found: dict[str, tuple[int, ...]] = {}
    for at in sorted(tags):
        number = tags[at]
        if number != STALE and is_fact(base[number]):
            key = base[number].key
            found[key] = (*found.get(key, ()), at)
    return found


def unchanged_edits(base: Sequence[Line], theirs: bytes) -> Edits:
    """The result of :func:`find_edits` for a file that has not changed since it was written. Lines are not compared."""
    text = theirs.decode()
    layout = _detect_layout(text, [end for _, end in split_lines(text.removeprefix(BOM))])
    return Edits(
        foreign=tuple(_own_lines(base)), renamed={line.key: line.text for line in base if line.users and line.key}, layout=layout
    )


def _own_lines(base: Sequence[Line]) -> Iterator[UserLine]:
    after, section = "", NOWHERE
    for line, place in zip(base, line_sections(base), strict=True):
        if line.key:
            after, section = line.key, place
        else:
            yield UserLine(text=line.text, end=line.end, after=after, scope=section[0], category=section[1])


def _build_edits(base: Sequence[Line], file_lines: Sequence[FileLine], tags: Tags, text: str) -> Edits:
    layout = _detect_layout(text, [line.end for line in file_lines])
    words = _join_tagged(file_lines, tags)
    facts = [(number, line) for number, line in enumerate(base) if is_fact(line)]
    return Edits(
        revised={line.key: words[at] for at, line in facts if at in words and words[at] not in ("", parse_fact(line.text)[0])},
        removed=tuple(line.key for at, line in facts if not words.get(at)),
        added=tuple(_added_blocks(base, file_lines, tags)),
        gone=tuple(
            parse_fact(line.text)[0] for at, line in enumerate(base) if not line.key and line.text.strip() and at not in words
        ),
        foreign=tuple(_foreign_lines(base, file_lines, tags, layout)),
        renamed={
            base[number].key: file_lines[at].text
            for at, number in tags.items()
            if number != STALE and _has_person_words(base[number], file_lines[at])
        },
        layout=layout,
    )


def _has_person_words(line: Line, now: FileLine) -> bool:
    """True if the words of one of kept's lines are the user's.

    This is so for a title that the user changed, and for an unchanged line that already had the user's words.
    """
    same = line.text.rstrip() == now.bare
    return bool(line.key) and (line.users if same else line.key.startswith(TITLES))


def _detect_layout(text: str, ends: Sequence[str]) -> Layout:
    return Layout(bom=text.startswith(BOM), newline=max(("\n", "\r\n", "\r"), key=ends.count), final=not ends or bool(ends[-1]))


def _join_tagged(file_lines: Sequence[FileLine], tags: Tags) -> dict[int, str]:
    """Number of a line of the base → the joined text of the file's lines that match it."""
    places: dict[int, list[int]] = defaultdict(list)
    for at in sorted(tags):
        places[tags[at]].append(at)
    return {number: fact_text(file_lines, lines) for number, lines in places.items() if number != STALE}


def _foreign_lines(base: Sequence[Line], file_lines: Sequence[FileLine], tags: Tags, layout: Layout) -> Iterator[UserLine]:
    sections = line_sections(base)
    after, section = "", NOWHERE
    for at, line in enumerate(file_lines):
        number = tags.get(at)
        if number is None or (number != STALE and not base[number].key):
            end = "" if line.end == layout.newline else line.end
            yield UserLine(text=line.text, end=end, after=after, scope=section[0], category=section[1])
        elif number != STALE:
            after, section = base[number].key, sections[number]


def _added_blocks(base: Sequence[Line], file_lines: Sequence[FileLine], tags: Tags) -> Iterator[AddedLines]:
    """Yield the added blocks: an item, a paragraph, a heading, or a piece of code."""
    sections = line_sections(base)
    after, section = "", NOWHERE
    block: list[FileLine] = []
    for at, line in enumerate((*file_lines, FileLine(text="", end=""))):
        number = tags.get(at)
        if block and (number is not None or _is_block_start(block[-1], line)):
            text = "".join(f"{file_line.text}{file_line.end}" for file_line in block)
            yield AddedLines(text=text, fact=_block_statement(block), after=after, scope=section[0], category=section[1])
            block = []
        if number is not None and number != STALE and base[number].key:
            after, section = base[number].key, sections[number]
        elif line.level:
            section = NOWHERE if line.level <= 2 else (section[0], "")
        if number is None and (line.bare or (line.fenced and block)):
            block.append(line)


def _is_block_start(before: FileLine, line: FileLine) -> bool:
    if line.fenced or before.fenced:
        return line.fenced != before.fenced
    return not line.bare or bool(line.level or before.level) or is_bullet(line.text)


def _block_statement(block: Sequence[FileLine]) -> str:
    text = " ".join(line.text for line in block)
    if block[0].fenced or block[0].level or text.lstrip().startswith("<!--"):
        return ""
    words = parse_fact(text)[0]
    return words if any(char.isalpha() for char in words) else ""


def restore_user_lines(rendered: Sequence[Line], edits: Edits) -> tuple[Line, ...]:
    """Insert the user's headings and lines into the rendered lines.

    A line of the user is inserted after the rendered line that it followed, or at the start of the file if it followed none. If the
    rendered line is gone, the user's line is inserted at the end of its section. If the section is gone too, it is inserted at the
    end of its scope, or else of the file. A bullet with the words of a fact is left out, because it has become that fact.
    """
    places = {line.key: number for number, line in enumerate(rendered)}
    ends = _section_ends(rendered)
    known = {parse_fact(line.text)[0] for line in rendered if is_fact(line)}
    behind: dict[int, list[Line]] = defaultdict(list)
    for each, file_line in zip(
        edits.foreign, classify_lines([(user_line.text, user_line.end) for user_line in edits.foreign]), strict=True
    ):
        if file_line.fenced or not each.text.startswith("- ") or parse_fact(each.text)[0] not in known:
            last = ends.get((each.scope, each.category), ends.get((each.scope, ""), len(rendered) - 1))
            at = places.get(each.after, last) if each.after else -1
            behind[at].append(Line(key="", text=each.text, users=True, end=each.end))
    woven = behind[-1]
    for number, line in enumerate(rendered):
        woven.append(replace(line, text=edits.renamed[line.key], users=True) if line.key in edits.renamed else line)
        woven += behind[number]
    return tuple(woven)


def _section_ends(rendered: Sequence[Line]) -> dict[tuple[str, str], int]:
    """(scope, category) → the number of the section's last line, not counting its comment.

    An empty category stands for the whole scope.
    """
    ends: dict[tuple[str, str], int] = {}
    for number, (line, (scope, category)) in enumerate(zip(rendered, line_sections(rendered), strict=True)):
        if scope and line.key != END and not line.key.startswith("blank:"):
            ends[scope, ""] = number
            if category and not line.key.startswith("ids:"):
                ends[scope, category] = number
    return ends
