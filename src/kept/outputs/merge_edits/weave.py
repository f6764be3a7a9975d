"""The user's own lines and headings put back among newly rendered lines. Knows no file and no memories."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from kept.core.document import END, Edits, Line
from kept.core.markup import parse_fact
from kept.outputs.merge_edits.there import classify_lines, is_fact, line_sections


def restore_user_lines(rendered: Sequence[Line], edits: Edits) -> tuple[Line, ...]:
    """The rendered lines with the user's headings and lines back in their places.

    A line goes behind the line it stood behind; where that is gone, to the end of its section, of its scope, or of the file. A
    bullet that says what one of the facts says has become that fact, and does not stand there twice.
    """
    places = {line.key: number for number, line in enumerate(rendered)}
    ends = _section_ends(rendered)
    told = {parse_fact(line.text)[0] for line in rendered if is_fact(line)}
    behind: dict[int, list[Line]] = defaultdict(list)
    for each, file_line in zip(
        edits.foreign, classify_lines([(user_line.text, user_line.end) for user_line in edits.foreign]), strict=True
    ):
        if file_line.fenced or not each.text.startswith("- ") or parse_fact(each.text)[0] not in told:
            last = ends.get((each.scope, each.category), ends.get((each.scope, ""), len(rendered) - 1))
            at = places.get(each.after, last) if each.after else -1
            behind[at].append(Line(key="", text=each.text, users=True, end=each.end))
    woven = behind[-1]
    for number, line in enumerate(rendered):
        woven.append(replace(line, text=edits.renamed[line.key], users=True) if line.key in edits.renamed else line)
        woven += behind[number]
    return tuple(woven)


def _section_ends(rendered: Sequence[Line]) -> dict[tuple[str, str], int]:
    """The number of the last line of each section (before its comment) and of each scope (category empty)."""
    ends: dict[tuple[str, str], int] = {}
    for number, (line, (scope, category)) in enumerate(zip(rendered, line_sections(rendered), strict=True)):
        if scope and line.key != END and not line.key.startswith("blank:"):
            ends[scope, ""] = number
            if category and not line.key.startswith("ids:"):
                ends[scope, category] = number
    return ends
