"""Parse the lines of a SpecStory document: where turns begin, and which parts of a turn are text, thinking, a tool's call or its
output.

Older versions of SpecStory put a tool's output into a fence of three backticks, even if the output contains fences. Fences alone
therefore do not show where a tool's block ends. Documents also quote other documents. A line counts as a turn's header only if its
surroundings match and its time is plausible.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from kept.core.pattern import Pattern
from kept.core.times import parse_instant
from kept.core.value import dataclass
from kept.sources.documents import Row
from kept.sources.markdown import parse_fence

_HEADER = Pattern(
    r"^_\*\*(User|Agent|Assistant)( - sidechain)?(?: \(([^()\n]{0,200}(?:\([^()\n]{0,80}\))?[^()\n]{0,80})\))?\*\*_[ \t]*$"
)
_STAMP = Pattern(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d))$")
_OPEN, _CLOSE = "<tool-use ", "</tool-use>"
_THINK, _THINK_END = "<think>", "</think>"
_RULE = "---"
# SpecStory inserts sidechains slightly out of order. A turn much older than the one before it is quoted from another session.
_DISORDER = timedelta(hours=1)


class RowZone(NamedTuple):
    """Whether a row is inside a tool's block, and inside a fence."""

    tool: bool
    fenced: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnHeader:
    """A turn's first line: its row, the role it names, the model, its time as written, and that time as an instant."""

    row: int
    human: bool
    sidechain: bool
    model: str
    stamp: str
    at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A turn: its header, the row after its last one, and the first row that quotes another transcript (or ``after``)."""

    header: TurnHeader
    after: int
    quoted: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolBlock:
    """A tool's block: its name, its target, its change, its output (None if missing), and the user's answer."""

    name: str
    target: str
    detail: str
    output: str | None
    answer: str


class _FenceLines:
    """The lines of a document that open or close a fence, and the lines that may begin a turn."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.lines = {number: found for number, row in enumerate(rows) if (found := parse_fence(row.text))}
        self._bare = [number for number, found in self.lines.items() if not found.language]
        self._numbers = list(self.lines)
        self._headers = [number for number, row in enumerate(rows) if _HEADER.match(row.text)]
        self._kept: dict[tuple[int, int], bool] = {}

    def find_closer(self, number: int, mark: str) -> int | None:
        """The first line after ``number`` that can close a fence opened with ``mark``; None if there is none."""
        following = self._bare[bisect_right(self._bare, number) :]
        return next((item for item in following if self.lines[item].mark.startswith(mark)), None)

    def is_unclosed_at(self, number: int, mark: str) -> bool:
        """True if the fence that is open at line ``number`` has no end, because the next closing line belongs to a later fence."""
        closer = self.find_closer(number, mark)
        if closer is None:
            return len(mark) == len("```")
        place = bisect_right(self._headers, closer)
        first = max(number, self._headers[place - 1]) if place else number
        if (first, closer) not in self._kept:
            after = self._headers[place] if place < len(self._headers) else None
            self._kept[first, closer] = self._is_paired(first, closer, after)
        return self._kept[first, closer]

    def _is_paired(self, first: int, closer: int, after: int | None) -> bool:
        """True if the fence line ``closer``, or one after it in the same turn, closes a fence that opens at ``first`` or later."""
        mark = ""
        for number in self._numbers[bisect_left(self._numbers, first) :]:
            if after is not None and number >= after:
                break
            found = self.lines[number]
            closes = bool(mark) and found.mark.startswith(mark) and not found.language
            if closes and number >= closer:
                return True
            mark = "" if closes else mark or found.mark
        return False


@dataclass(kw_only=True, slots=True)
class _LineState:
    """The blocks around the current line: a tool's block, a fence, the line that opened it, and the depth of quoted blocks."""

    tool: bool = False
    mark: str = ""
    opened: int = -1
    depth: int = 0

    def read_line(self, number: int, text: str, fences: _FenceLines) -> RowZone:
        """Return the blocks that contain a line, and update the state for the next line."""
        if not self.mark and text.startswith(_OPEN):
            self.tool = True
        zone = RowZone(self.tool, bool(self.mark))
        found = fences.lines.get(number)
        if self.mark and text.startswith(_OPEN):
            self.depth += 1
        if self.tool and _CLOSE in text and self._is_block_end(number, fences):
            self.reset()
        elif self.mark:
            if found and found.mark.startswith(self.mark) and not found.language:
                self.mark, self.depth = "", 0
        elif found and (self.tool or fences.find_closer(number, found.mark) is not None):
            self.mark, self.opened = found.mark, -1 if found.language else number
        return zone

    def _is_block_end(self, number: int, fences: _FenceLines) -> bool:
        """True if the end tag of a tool's block ends the current block, and not one quoted in it."""
        if self.depth:
            self.depth -= 1
            return False
        # A bare fence on the last line of the block closes the fence, even if an earlier line seemed to close it.
        return not self.mark or self.opened == number - 1 or fences.is_unclosed_at(number, self.mark)

    def reset(self) -> None:
        """Leave all blocks."""
        self.tool, self.mark, self.opened, self.depth = False, "", -1, 0


def parse_turns(rows: Sequence[Row], begun: datetime | None) -> tuple[list[Turn], list[RowZone]]:
    """Return the turns of a document that began at ``begun``, and for each row whether it is in a tool's block or a fence.

    A fence that is never closed ends with its tool's block, or at the next turn.
    """
    headers = {
        number: header
        for number, row in enumerate(rows)
        if row.text.startswith("_**") and (header := _parse_header(number, row.text))
    }
    ruled = any(_is_after_rule(rows, number) for number in headers)
    dated = {header.human for header in headers.values() if header.at is not None}
    fences, inside, zones = _FenceLines(rows), _LineState(), list[RowZone]()
    turns: list[Turn] = []
    last, latest, quoted = None, begun, len(rows)
    for number, row in enumerate(rows):
        header = headers.get(number)
        if header is not None:
            changes = last is not None and last.human != header.human
            fits = (number == 0 or not rows[number - 1].text.strip()) and (not changes or not ruled or _is_after_rule(rows, number))
            later = header.at is not None and latest is not None and header.at >= latest
            if inside.tool:
                fits = fits and later and (not inside.mark or _is_fence_reopened(fences, inside, number))
            elif inside.mark:
                unclosed = fences.is_unclosed_at(number, inside.mark)
                # SpecStory's own fences have three backticks and may lack their end. Other fences are part of a reply.
                fits = fits and (unclosed if header.at is None or inside.mark != "```" else later) and (later or header.at is None)
            elif header.at is not None and latest is not None:
                fits = fits and header.at >= latest - _DISORDER
            if header.at is None:
                fits = fits and not (header.human and header.human in dated)
            if not fits:
                quoted = min(quoted, number) if not (inside.mark or inside.tool) else quoted
            else:
                if last is not None:
                    turns.append(Turn(header=last, after=number, quoted=min(quoted, number)))
                last, quoted = header, len(rows)
                latest = max(header.at, latest) if header.at and latest else header.at or latest
                inside.reset()
        zones.append(inside.read_line(number, row.text, fences))
    if last is not None:
        turns.append(Turn(header=last, after=len(rows), quoted=quoted))
    return turns, zones


def _is_fence_reopened(fences: _FenceLines, inside: _LineState, number: int) -> bool:
    """True if a tool's block without an end left its fence open at this turn."""
    return not inside.depth and fences.find_closer(number, inside.mark) is not None and fences.is_unclosed_at(number, inside.mark)


def _parse_header(number: int, text: str) -> TurnHeader | None:
    found = _HEADER.match(text)
    if not found:
        return None
    inner = (found.group(3) or "").strip()
    stamp = _STAMP.search(inner)
    return TurnHeader(
        row=number,
        human=found.group(1) == "User",
        sidechain=bool(found.group(2)),
        model=inner[: stamp.start()].strip() if stamp else inner,
        stamp=stamp.group(1) if stamp else "",
        at=parse_instant(stamp.group(1)) if stamp else None,
    )


def _is_after_rule(rows: Sequence[Row], number: int) -> bool:
    number -= 1
    while number >= 0 and not rows[number].text.strip():
        number -= 1
    return number >= 0 and rows[number].text.strip() == _RULE


def split_turn_blocks(rows: Sequence[Row], zones: Sequence[RowZone], first: int, after: int) -> Iterator[str | ToolBlock]:
    """Yield the parts of a turn's rows [first, after) in order: text and tools' blocks. Thinking is left out."""
    text: list[str] = []
    number = first
    while number < after:
        row = rows[number].text
        if zones[number].tool and row.startswith(_OPEN):
            end = number + 1
            while end < after and zones[end].tool and not (rows[end].text.startswith(_OPEN) and not zones[end].fenced):
                end += 1
            yield join_lines(text)
            yield _parse_tool_block([row.text for row in rows[number:end]])
            text, number = [], end
            continue
        if row.startswith(_THINK):
            while number < after and _THINK_END not in rows[number].text:
                number += 1
        else:
            text.append(row)
        number += 1
    yield join_lines(text)


def join_lines(lines: list[str]) -> str:
    """Join lines to a text. Blank lines and rules at the end are removed from ``lines`` first."""
    while lines and lines[-1].strip() in ("", _RULE):
        lines.pop()
    return "\n".join(lines).strip()


_NAME = Pattern(r'data-tool-type="([^"\n]{0,40})" data-tool-name="([^"\n]{0,200})"')
_END = Pattern(r"\s*(?:</details>\s*)?(?:</tool-use>)?\s*$")
_SUMMARY = Pattern(r"<summary>(?s:(.*?))</summary>")
_CODE = Pattern(r"`([^`\n]+)`")
_WRITTEN = Pattern(r"^(?:The file |File created successfully at: )(\S{1,900})")
_PRINTED = ("", "text", "output")
_ANSWER, _PREVIEW = "\n**Answer:** ", '" selected preview:'
_ANSWERED = "User has answered your question"


def _parse_tool_block(lines: list[str]) -> ToolBlock:
    named = _NAME.search(lines[0])
    kind, name = named.groups() if named else ("", "")
    text = "\n".join(lines)
    summary = _SUMMARY.search(text[:10_000])
    rest = text[summary.end() :] if summary else "\n".join(lines[1:])
    body = _END.sub("", rest.replace("</details></tool-use>", ""))
    prose, given, output = _split_fences(body.split("\n"))
    spans = [*_CODE.findall(summary.group(1) if summary else ""), *_CODE.findall(prose)]
    title = summary.group(1).partition("•")[2].rpartition(": ")[2] if summary else ""
    opening = next((line for line in prose.split("\n") if line.strip()), "")
    written = _WRITTEN.match(output or "")
    target = given if kind == "shell" and given else " ".join(spans) or title or opening or (written.group(1) if written else "")
    answer = ""
    if name == "AskUserQuestion":
        before, mark, given_answer = body.rpartition(_ANSWER)
        answer = given_answer.partition(_PREVIEW)[0].strip() if mark and before else _parse_answers(output or "")
    detail = given if kind == "write" else ""
    return ToolBlock(name=name, target=target.strip(), detail=detail, output=output, answer=answer)


def _parse_answers(output: str) -> str:
    if not output.startswith(_ANSWERED):
        return ""
    return "\n".join(part.partition('"')[0] for part in output.split('"="')[1:]).strip()


def _split_fences(lines: list[str]) -> tuple[str, str, str | None]:
    """Return a block's prose, the content of a fence with a language (a command, a file's text), and the output.

    The output extends to the last bare fence, because the output may itself contain fences.
    """
    prose: list[str] = []
    given = ""
    fences = [parse_fence(line) for line in lines]
    bare = [number for number, found in enumerate(fences) if found and not found.language]
    number = 0
    while number < len(lines):
        found = fences[number]
        if not found:
            prose.append(lines[number])
            number += 1
            continue
        if found.language in _PRINTED or given:
            end = bare[-1] if bare and bare[-1] > number else len(lines)
            return "\n".join(prose), given, "\n".join(lines[number + 1 : end]).strip()
        end = next((item for item in bare if item > number), len(lines))
        given = "\n".join(lines[number + 1 : end]).strip()
        number = end + 1
    return "\n".join(prose), given, None
