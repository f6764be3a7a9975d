"""What was said in the blocks of a screen: prompts, answers, calls and results with their wraps undone; sessions, days, repaints.

A prompt that may be a quotation, and text that nothing signs, are never the person's; both are counted as doubts. Knows no files.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.core.event import Author, Kind, Tool
from kept.core.text import one_line
from kept.sources.documents import Entry, Row, Said, cut, place_of, split_prompt
from kept.sources.formats.console.blocks import SAID, Block, Client, Form, blocks_of, is_blank
from kept.sources.formats.console.wraps import Edges, Line, find_edges, join_lines, line_of
from kept.sources.pieces import bounded, bounded_name, hash_of
from kept.sources.roles import When, template_of
from kept.sources.stamps import Stamp, find_stamp

_SEEN = 100_000
_REPEATED = 60  # an answer of so many characters does not come twice to the same prompt by chance
_UNINDENTED = 0.5
_WORDS = 1_000
_NEAR = 200  # blocks that are looked ahead; a banner is followed by a prompt, and a prompt by an answer, much sooner
# A call as it is drawn: ``Name(arguments)``, ``server - tool (MCP)(arguments)``.
_CALL = re.compile(r"(?s)^([A-Za-z][^()\n]{0,120}?)(?: \(MCP\))?\((.*?)\)?(?: (?:timeout: [\w. ]{1,40}|\(ctrl[^)\n]{0,40}\)))?$")
# The names under which the transcripts of the clients have these tools.
_TOOLS = {"Update": "Edit", "Create": "Write", "Search": "Grep", "Fetch": "WebFetch", "List": "LS", "Web Search": "WebSearch"}
_CODEX_TOOLS = {
    **dict.fromkeys(("Ran ", "Running ", "You ran "), "shell"),
    **dict.fromkeys(("Edited ", "Added ", "Deleted ", "Proposed Change "), "apply_patch"),
    "Updated Plan": "update_plan",
}
_CHANGED = re.compile(r" \(\+\d+ -\d+\)$")
_FAILED = re.compile(r"^(?:Error\b|API Error)")
_EXIT = re.compile(r"^(?:Error: )?Exit code (\d{1,4})\b")
_SLASH = re.compile(r"^/[a-z][\w:-]{0,60}(?:\s|$)")
_DIRECTORY = re.compile(r"(?m)(?:cwd: |directory: +|[▘▝] +|^│ +)(~?/[^│\n]{1,300}?) *(?:│|$)")
_STARTED = re.compile(r"^Script started on (.{10,40})")
_ANSWERED = "User answered Claude's question"


@dataclass(kw_only=True, slots=True)
class Reading:
    """What the reader knows at the place in a screen where it stands; ``folder`` is the project of the file itself."""

    zone: ZoneInfo
    stamp: Stamp | None
    folder: str
    project: str
    client: Client | None = None
    glyph: str = ""
    session: str = ""
    tool: Tool | None = None
    answered: bool = False
    repainting: bool = False
    last: Form | None = None
    edges: dict[Form, Edges] = field(default_factory=dict)
    everywhere: Edges = field(default_factory=Edges)
    seen: set[int] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Said:
    """A block with its text; empty for furniture."""

    block: Block
    text: str


def entries_of(rows: Sequence[Row], line: int, reading: Reading) -> Iterator[Entry]:
    """The records of a stretch of rows before which ``line`` rows stand. ``reading`` goes on with each of them."""
    blocks = blocks_of(rows, reading.client, reading.glyph)
    if not blocks:
        return
    lines = {block.first: _strip_margins(rows, block) for block in blocks if block.form in SAID}
    _find_edges(blocks, lines, reading)
    texts = [
        _Said(block=block, text=_block_text(lines[block.first], block.form, reading) if block.form in SAID else "")
        for block in blocks
    ]
    unindented = _is_unindented(rows, blocks)
    _begin(texts, 0, reading)
    for number, said in enumerate(texts):
        if said.block.form is Form.BANNER:
            _open(rows, texts, number, reading)
        elif (stamp := _day_of(rows, said.block)) is not None:
            reading.stamp, reading.session = stamp, ""
            _begin(texts, number + 1, reading)
        yield _block_entry(rows, texts, number, reading, line, unindented=unindented)
        if said.block.form in SAID:
            reading.last = said.block.form
    reading.client, reading.glyph = (
        blocks[-1].client,
        next((block.glyph for block in reversed(blocks) if block.form is Form.PROMPT), reading.glyph),
    )


def _find_edges(blocks: Sequence[Block], lines: Mapping[int, Sequence[Line]], reading: Reading) -> None:
    """Find where rows were wrapped; what a short stretch does not show is as it was before."""
    hyphenates = blocks[-1].client is Client.CODEX
    for form in (Form.PROMPT, Form.ANSWER, Form.CALL, Form.RESULT):
        found = find_edges((lines[block.first] for block in blocks if block.form is form), hyphenates=hyphenates)
        if found.columns or form not in reading.edges:
            reading.edges[form] = found
    spoken = (Form.PROMPT, Form.ANSWER)
    found = find_edges((lines[block.first] for block in blocks if block.form in spoken), hyphenates=hyphenates)
    if found.columns or not reading.everywhere.columns:
        reading.everywhere = found


def _block_text(lines: Sequence[Line], form: Form, reading: Reading) -> str:
    own = reading.edges.get(form, Edges())
    return join_lines(lines, own, reading.everywhere).strip("\n").rstrip()


def _strip_margins(rows: Sequence[Row], block: Block) -> list[Line]:
    """The rows of a block without glyphs and margins, blank ones at its edges left out."""
    texts = [row.text.replace("\u00a0", " ") for row in rows[block.first : block.after]]
    while texts and is_blank(texts[-1]):
        texts.pop()
    while texts and is_blank(texts[0]):
        texts.pop(0)
    margin = 0
    if texts and block.glyph:
        opening = texts[0].index(block.glyph) + 1
        margin = min(len(texts[0]) - len(texts[0][opening:].lstrip()), opening + 3) if block.form is Form.RESULT else opening + 1
    found = []
    for number, text in enumerate(texts):
        bar = number > 0 and text.lstrip().startswith(("▌", "│")) and block.form in (Form.PROMPT, Form.CALL)
        indent = len(text) - len(text.lstrip("▌│ " if bar else " "))
        most = 12 if block.form is Form.CALL else margin
        start = min(indent, most) if number else min(margin, len(text))
        found.append(line_of(text, start))
    return found


def _is_unindented(rows: Sequence[Row], blocks: Sequence[Block]) -> bool:
    """Whether the rows of answers lost their margin when they were copied."""
    following = [
        row.text
        for block in blocks
        if block.form is Form.ANSWER
        for row in rows[block.first + 1 : block.after]
        if not is_blank(row.text) and not row.text.startswith(block.glyph)
    ]
    return sum(not text.startswith(" ") for text in following) > len(following) * _UNINDENTED


def _day_of(rows: Sequence[Row], block: Block) -> Stamp | None:
    """The day that a heading between blocks, or what ``script`` wrote, says."""
    if block.form is Form.HEADING:
        return find_stamp(rows[block.after - 1].text)
    if block.form is Form.UNLABELLED:
        started = (_STARTED.match(row.text) for row in rows[block.first : block.first + 3])
        return next((find_stamp(match.group(1)) for match in started if match), None)
    return None


def _open(rows: Sequence[Row], texts: Sequence[_Said], number: int, reading: Reading) -> None:
    """Open the session that a banner announces; one whose first words came before is a screen that was drawn again."""
    block = texts[number].block
    banner = "\n".join(row.text for row in rows[block.first : block.after])
    found = _DIRECTORY.search(banner)
    before = reading.session
    reading.project = str(Path(found.group(1).strip()).expanduser()) if found else reading.folder
    reading.session, reading.tool, reading.last = "", None, None
    _begin(texts, number + 1, reading)
    reading.repainting = bool(before) and reading.session == before


def _begin(texts: Sequence[_Said], number: int, reading: Reading) -> None:
    """Name the session that begins at a block, if none is open, by its client, its day and its first words."""
    if reading.session:
        return
    near = [said for said in texts[number : number + _NEAR] if said.text or said.block.form is Form.BANNER]
    spoken = list(takewhile(lambda said: said.block.form is not Form.BANNER, near))
    first = next((said for said in spoken if said.block.form is Form.PROMPT), spoken[0] if spoken else None)
    if first is not None:
        reading.session = hash_of("console", first.block.client, str(reading.stamp or ""), one_line(first.text)[:_WORDS])


def _block_entry(
    rows: Sequence[Row], texts: Sequence[_Said], number: int, reading: Reading, line: int, *, unindented: bool
) -> Entry:
    said = texts[number]
    block = said.block
    place = place_of(rows, block.first, block.after)
    place = place._replace(line=place.line + line)
    if block.form not in SAID:
        return Entry(place=place, dropped=block.form.value, session=reading.session)
    if _is_repaint(texts, number, reading):
        return Entry(place=place, dropped="repainted", session=reading.session)
    template = replace(template_of(When(zone=reading.zone, stamp=reading.stamp)), text=said.text)
    noted: dict[str, int] = {}
    found = _block_events(said, template, reading, noted, unindented=unindented)
    return Entry(place=place, said=tuple(found), dropped="" if found else "no-text", noted=noted, session=reading.session)


def _is_repaint(texts: Sequence[_Said], number: int, reading: Reading) -> bool:
    """Whether a block was drawn before: a prompt with what follows it begins such a stretch, new text ends it."""
    said = texts[number]
    mark = hash((said.block.form, said.text))
    if said.block.form is Form.PROMPT:
        after = next((later for later in texts[number + 1 : number + _NEAR] if later.block.form in SAID), None)
        if after is None:
            reading.repainting = reading.repainting and mark in reading.seen
        else:
            again = {mark, hash((after.block.form, after.text))} <= reading.seen
            answered = after.block.form is Form.ANSWER and len(after.text) >= _REPEATED
            reading.repainting = again and (reading.repainting or answered)
    elif mark not in reading.seen:
        reading.repainting = False
    if len(reading.seen) >= _SEEN:
        reading.seen.clear()
    reading.seen.add(mark)
    return reading.repainting


def _block_events(said: _Said, template: Said, reading: Reading, noted: dict[str, int], *, unindented: bool) -> list[Said]:
    """The events of a block."""
    text, block = said.text, said.block
    answered, reading.answered = reading.answered, False
    match block.form:
        case _ if not text.strip():
            return []
        case Form.PROMPT if block.doubtful:
            noted["doubt:prompt-or-quotation"] = 1
            return [replace(template, author=Author.INJECTED, reason="console:prompt-or-quotation")]
        case Form.PROMPT:
            pieces, removed = split_prompt(text.strip(), "slash-command" if _SLASH.match(text) else "typed", template)
            noted |= removed
            return pieces
        case Form.SHELL:
            reading.tool = Tool(name="Bash", target=bounded(text))
            return [replace(template, kind=Kind.TOOL_CALL, author=Author.INJECTED, reason="console:shell-mode", tool=reading.tool)]
        case Form.CALL:
            reading.tool = _codex_tool(text) if block.client is Client.CODEX else _tool(text)
            call = replace(template, kind=Kind.TOOL_CALL, author=Author.ASSISTANT, reason="console:call", tool=reading.tool)
            reading.answered = text.startswith(_ANSWERED)
            return [replace(call, text=reading.tool.target or reading.tool.name)]
        case Form.RESULT if answered and (answers := _answers(text)):
            return [replace(template, text=answers, reason="answer")]
        case Form.RESULT:
            return [_output(text, template, reading)]
        case Form.ANSWER:
            reading.tool = None
            reading.answered = text.startswith(_ANSWERED)
            return [replace(template, kind=Kind.RESPONSE, author=Author.ASSISTANT, reason="console:answer")]
        case _:
            return [_unlabelled(text, template, reading, noted, unindented=unindented)]


def _unlabelled(text: str, template: Said, reading: Reading, noted: dict[str, int], *, unindented: bool) -> Said:
    """Text that no glyph signs: an answer's where answers lost their margin or the screen begins within one, else nobody's."""
    begun = reading.last is None and all(line.startswith("  ") for line in text.split("\n") if line)
    if begun or (unindented and reading.last in (Form.ANSWER, Form.UNLABELLED)):
        noted["doubt:answer-without-glyph"] = 1
        answer = replace(template, kind=Kind.RESPONSE, author=Author.ASSISTANT, reason="console:answer-without-glyph")
        return replace(answer, text="\n".join(line.removeprefix("  ") for line in text.split("\n")))
    noted["doubt:nobody-signed"] = 1
    return replace(template, author=Author.INJECTED, reason="console:nobody-signed")


def _output(text: str, template: Said, reading: Reading) -> Said:
    code = _EXIT.match(text)
    failed = bool(_FAILED.match(text)) or (code is not None and int(code.group(1)) != 0)
    tool = replace(reading.tool or Tool(name=""), ok=False if failed else None, exit_code=int(code.group(1)) if code else None)
    return replace(template, kind=Kind.TOOL_OUTPUT, author=Author.TOOL, reason="console:result", text=cut(text), tool=tool)


def _answers(text: str) -> str:
    """What the person chose: the words after the arrow of each question."""
    return "\n".join(answer.strip() for line in text.split("\n") if (answer := line.rpartition(" → ")[2]) != line)


def _tool(text: str) -> Tool:
    call = _CALL.match(text)
    name, target = call.groups() if call else (text.partition("\n")[0], "")
    return Tool(name=bounded_name(_TOOLS.get(name, name)), target=bounded(target))


def _codex_tool(text: str) -> Tool:
    heading, _, rest = text.partition("\n")
    verb = next((verb for verb in _CODEX_TOOLS if text.startswith(verb)), "")
    if not verb:
        return Tool(name=bounded_name(heading))
    name = _CODEX_TOOLS[verb]
    if name == "apply_patch":
        return Tool(name=name, target=bounded(_CHANGED.sub("", heading.removeprefix(verb).strip())), detail=bounded(rest))
    return Tool(name=name, target=bounded(text.removeprefix(verb).strip()))
