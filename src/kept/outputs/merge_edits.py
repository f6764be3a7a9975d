"""The three-way merge: find what a person changed in a file since it was last written, and insert their own lines into the newly
rendered ones.

The lines of the file are matched to the lines that kept wrote by text, by words, by similarity, by position. Each matching function
takes the pairs found so far (``tags``: line number in the file -> line number in base) and returns more pairs. Work is bounded:
only the first thousand unmatched lines are compared by similarity. Uses neither the store nor the file on disk, and does not
interpret the edits.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kept.core.document import CATEGORY_LEVEL, END, HEADER, AddedLines, Edits, Layout, Line, UnsafeEdits, UserLine
from kept.core.markup import BOM, READ_AT_MOST, is_bullet, parse_fact, parse_heading, parse_ids_line, split_lines
from kept.core.text import jaccard_similarity, tokenize
from kept.core.value import dataclass

NOWHERE = ("", "")
TITLES = (f"{HEADER}:", "heading:")
_FRONT_MATTER = "---"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLine:
    """One line of the present file. ``fenced``: it is in or around code or front matter; ``level`` is that of a heading."""

    text: str
    end: str
    fenced: bool = False
    level: int = 0

    @property
    def bare(self) -> str:
        """The line without trailing white space."""
        return self.text.rstrip()


def classify_lines(lines: Sequence[tuple[str, str]]) -> tuple[FileLine, ...]:
    """Classify lines as code, headings or other text. A fence that is never closed does not count."""
    bare = [text.strip() for text, _ in lines]
    last = {
        mark: max((at for at, text in enumerate(bare) if _is_fence_end(mark, text)), default=-1)
        for mark in ("```", "~~~", _FRONT_MATTER)
    }
    fence, result = "", []
    for at, (text, end) in enumerate(lines):
        opened = ""
        if not fence:
            opened = next((mark for mark in last if bare[at].startswith(mark) and last[mark] > at), "")
            opened = opened if opened != _FRONT_MATTER or (at == 0 and bare[0] == _FRONT_MATTER) else ""
        fenced = bool(fence or opened)
        result.append(FileLine(text=text, end=end, fenced=fenced, level=0 if fenced else parse_heading(text)[0]))
        fence = "" if fence and _is_fence_end(fence, bare[at]) else fence or opened
    return tuple(result)


def _is_fence_end(mark: str, text: str) -> bool:
    return text.startswith(mark) and not text.strip(mark[0])


def is_fact(line: Line) -> bool:
    """True if one of kept's lines is a memory's line."""
    return bool(line.key) and line.key != END and not line.key.startswith((*TITLES, "ids:", "blank:"))


def heading_level(line: Line) -> int:
    """The level of one of kept's headings as written; 0 for any other line."""
    return parse_heading(line.text)[0] if line.key.startswith(TITLES) else 0


def line_sections(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """The (scope, category) of each of kept's lines, from the headings; the category is empty outside a section."""
    here, result = NOWHERE, []
    for line in lines:
        if line.key.startswith("heading:"):
            scope, _, category = (line.key.removeprefix("heading:")).rpartition(":")
            here = (scope, category) if heading_level(line) == CATEGORY_LEVEL else (line.key.removeprefix("heading:"), "")
        result.append(here)
    return result


STALE = -1  # the tag of a line that kept wrote, but not in its last version
_IN_PLACE = 0.2  # minimum word overlap at which a line at the position of a fact is that fact, reworded
_MOVED = 0.5  # minimum word overlap at which a line at another position is the fact, reworded
_COMPARED = 1_000
_WRAPPED = 12

Tags = Mapping[int, int]


def match_lines(base: Sequence[Line], file_lines: Sequence[FileLine]) -> Tags:
    """All pairs. Several lines of the file may match one of base, if an editor wrapped it, but no line matches two."""
    tags: Tags = _match_same_lines(base, file_lines)
    for step in (_match_same_words, _match_reworded, _match_renamed_headings, _match_blank_lines):
        tags = {**tags, **step(base, file_lines, tags)}
    return {
        **tags,
        **{at: STALE for at, line in enumerate(file_lines) if at not in tags and not line.fenced and parse_ids_line(line.text)},
    }


def fact_text(there: Sequence[FileLine], places: Iterable[int]) -> str:
    """The text of some lines, joined and parsed as one fact."""
    return parse_fact(_join_texts(there, places))[0]


def _join_texts(file_lines: Sequence[FileLine], places: Iterable[int]) -> str:
    return " ".join(file_lines[at].text for at in places)


def _match_same_lines(base: Sequence[Line], file_lines: Sequence[FileLine]) -> dict[int, int]:
    """Match equal lines. Repeated lines are matched first if a neighbour is matched, then to the nearest equal line."""
    free: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(base):
        if line.text.strip():
            free[line.text.rstrip()].append(number)
    found: dict[str, list[int]] = defaultdict(list)
    for at, here in enumerate(file_lines):
        if here.bare in free:
            found[here.bare].append(at)
    tags = {places[0]: free[text].pop() for text, places in found.items() if len(places) == len(free[text]) == 1}
    repeated = sorted(at for text, places in found.items() if free[text] for at in places)
    solid = [number for number, line in enumerate(base) if line.text.strip()]
    rank = {number: order for order, number in enumerate(solid)}
    for step, places in ((1, repeated), (-1, repeated[::-1])):
        for at in places:
            near = at - step
            while 0 <= near < len(file_lines) and not file_lines[near].bare:
                near -= step
            order = (
                rank[tags[near]] + step if near in tags else 0 if near < 0 else len(solid) - 1 if near >= len(file_lines) else -1
            )
            choice = free[file_lines[at].bare]
            if at not in tags and 0 <= order < len(solid) and solid[order] in choice:
                tags[at] = solid[order]
                choice.remove(solid[order])
    last = 0
    for at in repeated:
        if at not in tags and (choice := free[file_lines[at].bare]):
            tags[at] = min(choice, key=lambda number: abs(number - last))
            choice.remove(tags[at])
        last = tags.get(at, last)
    return tags


def _match_same_words(base: Sequence[Line], file_lines: Sequence[FileLine], tags: Tags) -> dict[int, int]:
    """Match facts with the same words but another bullet, another date or none, or wrapped over several lines."""
    matched = set(tags.values())
    facts: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(base):
        if is_fact(line) and number not in matched:
            facts[parse_fact(line.text)[0]].append(number)
    found: dict[int, int] = {}
    for at in _unmatched_lines(file_lines, tags) if facts else ():
        for more in range(0 if at in found else _count_wrapped_lines(file_lines, at, tags) + 1):
            lines = range(at, at + more + 1)
            if numbers := facts.get(fact_text(file_lines, lines)):
                found |= dict.fromkeys(lines, numbers.pop(0))
                break
    return found


def _match_reworded(base: Sequence[Line], file_lines: Sequence[FileLine], tags: Tags) -> dict[int, int]:
    """Match facts (and the sentence of the header) whose words changed, at their position or elsewhere; the closest pairs first."""
    back = {number: at for at, number in tags.items()}
    lost = [number for number, line in enumerate(base) if number not in back and (is_fact(line) or _is_sentence(line))]
    now = {at: parse_fact(file_lines[at].text) for at in _unmatched_lines(file_lines, tags)} if lost else {}
    meant = {at: tokenize(words) for at, (words, _) in now.items() if words}
    pairs = []
    for number in lost:
        words, day = parse_fact(base[number].text)
        was = tokenize(words)
        low = next((back[item] for item in range(number - 1, -1, -1) if item in back), -1)
        high = next((back[item] for item in range(number + 1, len(base)) if item in back), len(file_lines))
        for at, words_now in meant.items():
            like = jaccard_similarity(was, words_now)
            part = len(was & words_now) / max(1, min(len(was), len(words_now)))
            in_place = low < at < high
            same_day = bool(day) and now[at][1] == day
            if like >= _MOVED or (in_place and (like >= _IN_PLACE or part >= 2 * _IN_PLACE or same_day)):
                pairs.append((-(like + 0.3 * in_place + 0.3 * same_day), number, at))
    found: dict[int, int] = {}
    taken: set[int] = set()
    for _, number, at in sorted(pairs):
        if at not in found and number not in taken:
            found |= dict.fromkeys(_fact_range(base[number], file_lines, at, {**tags, **found}), number)
            taken.add(number)
    return found


def _is_sentence(line: Line) -> bool:
    return line.key.startswith(f"{HEADER}:") and not heading_level(line)


def _fact_range(line: Line, there: Sequence[FileLine], at: int, tags: Tags) -> range:
    """The lines from ``at`` on that together are the fact: up to the one with its date, or else those most similar to it."""
    words, day = parse_fact(line.text)
    was = tokenize(words)

    def closeness(lines: range) -> tuple[bool, float, int]:
        now, shown = parse_fact(_join_texts(there, lines))
        return bool(day) and shown == day, jaccard_similarity(was, tokenize(now)), len(lines)

    return max((range(at, at + more + 1) for more in range(_count_wrapped_lines(there, at, tags) + 1)), key=closeness)


def _unmatched_lines(file_lines: Sequence[FileLine], tags: Tags) -> list[int]:
    """The numbers of lines that may be a reworded fact. They are unmatched, not empty, and not a heading, a comment or code."""
    return [
        at
        for at, line in enumerate(file_lines)
        if at not in tags
        and line.bare
        and not line.fenced
        and not line.level
        and len(line.text) < READ_AT_MOST
        and not line.text.lstrip().startswith("<!--")
    ][:_COMPARED]


def _count_wrapped_lines(file_lines: Sequence[FileLine], at: int, tags: Tags) -> int:
    """The number of lines after ``at`` that may continue it as a Markdown paragraph, indented or not."""
    for more, after in enumerate(range(at + 1, min(at + 1 + _WRAPPED, len(file_lines)))):
        line = file_lines[after]
        if after in tags or line.fenced or line.level or not line.bare or is_bullet(line.text):
            return more
    return max(0, min(_WRAPPED, len(file_lines) - at - 1))


def _match_renamed_headings(base: Sequence[Line], file_lines: Sequence[FileLine], tags: Tags) -> dict[int, int]:
    """Match renamed headings: a heading above kept's lines, where kept's own heading of that level was."""
    matched = set(tags.values())
    found: dict[int, int] = {}
    below = STALE
    for at in range(len(file_lines) - 1, -1, -1):
        if tags.get(at, STALE) != STALE and base[tags[at]].key:
            below = tags[at]
        level = (
            0 if at in tags or below == STALE or 0 < heading_level(base[below]) <= file_lines[at].level else file_lines[at].level
        )
        above = next((item for item in range(below - 1, -1, -1) if heading_level(base[item]) == level), STALE) if level else STALE
        if above != STALE and above not in matched:
            found[at] = below = above
            matched.add(above)
    return found


def _match_blank_lines(base: Sequence[Line], file_lines: Sequence[FileLine], tags: Tags) -> dict[int, int]:
    """Match the empty line before each heading. All other empty lines are the user's."""
    back = {number: at for at, number in sorted(tags.items())}
    found: dict[int, int] = {}
    for number, line in enumerate(base):
        if line.key.startswith("blank:"):
            before = next((item for item in range(number - 1, -1, -1) if base[item].key), len(base))
            for at in (back.get(number + 1, 0) - 1, back.get(before, len(file_lines)) + 1):
                if 0 <= at < len(file_lines) and not file_lines[at].bare and at not in found and number not in found.values():
                    found[at] = number
    return found


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
