"""The two sides of the merge: lines as kept wrote them, tagged, and lines as the file now has them. Knows no matching."""

from collections.abc import Sequence
from dataclasses import dataclass

from kept.core.document import CATEGORY_LEVEL, END, HEADER, Line
from kept.core.markup import parse_heading

NOWHERE = ("", "")
TITLES = (f"{HEADER}:", "heading:")
_FRONT_MATTER = "---"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLine:
    """One line of the file as it now is. ``fenced`` says that it is code or front matter, or bounds it; ``level`` that it is a
    heading.
    """

    text: str
    end: str
    fenced: bool = False
    level: int = 0

    @property
    def bare(self) -> str:
        """The line without what an editor strips."""
        return self.text.rstrip()


def classify_lines(lines: Sequence[tuple[str, str]]) -> tuple[FileLine, ...]:
    """Lines and their endings, with what is code and what is a heading among them. A fence that nothing closes is none."""
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
    """Whether a line of kept's is that of a memory."""
    return bool(line.key) and line.key != END and not line.key.startswith((*TITLES, "ids:", "blank:"))


def heading_level(line: Line) -> int:
    """The level of a heading of kept's, as it is written; 0 for any other line."""
    return parse_heading(line.text)[0] if line.key.startswith(TITLES) else 0


def line_sections(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """The (scope, category) each line of kept's stands in, by the headings; the category is empty outside a section."""
    here, result = NOWHERE, []
    for line in lines:
        if line.key.startswith("heading:"):
            scope, _, category = (line.key.removeprefix("heading:")).rpartition(":")
            here = (scope, category) if heading_level(line) == CATEGORY_LEVEL else (line.key.removeprefix("heading:"), "")
        result.append(here)
    return result
