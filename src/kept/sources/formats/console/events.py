"""Make records from a screen's blocks: prompts, answers, calls and results, with line wraps undone. Finds sessions, days and
repaints.

A prompt that may be a quotation never counts as the person's, and neither does text without a glyph. The account notes both as
doubts.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.core.digest import hash_texts
from kept.core.event import ToolUse
from kept.core.pattern import compile_late
from kept.core.text import one_line
from kept.core.value import dataclass, field, replace
from kept.sources.documents import DocumentEntry, Row, rows_place, split_prompt
from kept.sources.drafts import EventDraft, truncate_text
from kept.sources.fields import Notes, truncate_name
from kept.sources.formats.console.blocks import SAID, BlockForm, ScreenBlock, ScreenClient, is_blank, split_blocks
from kept.sources.formats.console.wraps import WrapEdges, WrappedLine, find_edges, join_lines, to_line
from kept.sources.roles import ConversationTime, draft_template
from kept.sources.stamps import Stamp, find_stamp

_SEEN = 100_000
_REPEATED = 60  # characters; an answer this long does not follow the same prompt twice by chance
_UNINDENTED = 0.5
_WORDS = 1_000
_NEAR = 200  # blocks to look ahead; a prompt follows a banner sooner, and an answer follows a prompt sooner
# A call as the client draws it: ``Name(arguments)``, ``server - tool (MCP)(arguments)``.
_CALL = compile_late(r"(?s)^([A-Za-z][^()\n]{0,120}?)(?: \(MCP\))?\((.*?)\)?(?: (?:timeout: [\w. ]{1,40}|\(ctrl[^)\n]{0,40}\)))?$")
# The names that the clients' transcripts have for these tools.
_TOOLS = {"Update": "Edit", "Create": "Write", "Search": "Grep", "Fetch": "WebFetch", "List": "LS", "Web Search": "WebSearch"}
_CODEX_TOOLS = {
    **dict.fromkeys(("Ran ", "Running ", "You ran "), "shell"),
    **dict.fromkeys(("Edited ", "Added ", "Deleted ", "Proposed Change "), "apply_patch"),
    "Updated Plan": "update_plan",
}
_CHANGED = compile_late(r" \(\+\d+ -\d+\)$")
_FAILED = compile_late(r"^(?:Error\b|API Error)")
_EXIT = compile_late(r"^(?:Error: )?Exit code (\d{1,4})\b")
_SLASH = compile_late(r"^/[a-z][\w:-]{0,60}(?:\s|$)")
_DIRECTORY = compile_late(r"(?m)(?:cwd: |directory: +|[▘▝] +|^│ +)(~?/[^│\n]{1,300}?) *(?:│|$)")
_ANSWERED = "User answered Claude's question"


@dataclass(kw_only=True, slots=True)
class ScreenState:
    """The reader's state at its position in a screen.

    ``folder`` is the project of the file, ``project`` the project of the session. ``tool`` is the tool of the last call.
    ``answered`` is true if the person's answers to questions follow, ``repainting`` if the following blocks were drawn before.
    ``last`` is the form of the last block with words. ``edges`` are the right edges for each form, ``all_edges`` those of prompts
    and answers together. ``seen`` has hashes of blocks.
    """

    zone: ZoneInfo
    stamp: Stamp | None
    folder: str
    project: str
    client: ScreenClient | None = None
    glyph: str = ""
    session: str = ""
    tool: ToolUse | None = None
    answered: bool = False
    repainting: bool = False
    last: BlockForm | None = None
    edges: dict[BlockForm, WrapEdges] = field(default_factory=dict)
    all_edges: WrapEdges = field(default_factory=WrapEdges)
    seen: set[int] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True, slots=True)
class _BlockText:
    """A block and its text, which is empty for rows of the client's interface."""

    block: ScreenBlock
    text: str


def read_entries(rows: Sequence[Row], line: int, state: ScreenState) -> Iterator[DocumentEntry]:
    """Yield the records of some rows, before which the screen has ``line`` rows. Updates the state."""
    blocks = split_blocks(rows, state.client, state.glyph)
    if not blocks:
        return
    lines = {block.first: _strip_margins(rows, block) for block in blocks if block.form in SAID}
    _find_edges(blocks, lines, state)
    texts = [
        _BlockText(block=block, text=_block_text(lines[block.first], block.form, state) if block.form in SAID else "")
        for block in blocks
    ]
    unindented = _is_unindented(rows, blocks)
    _name_session(texts, 0, state)
    for number, text in enumerate(texts):
        if text.block.form is BlockForm.BANNER:
            _open_banner_session(rows, texts, number, state)
        elif text.block.form is BlockForm.HEADING and (stamp := find_stamp(rows[text.block.after - 1].text)):
            state.stamp, state.session = stamp, ""
            _name_session(texts, number + 1, state)
        yield _block_entry(rows, texts, number, state, line, unindented=unindented)
        if text.block.form in SAID:
            state.last = text.block.form
    state.client, state.glyph = (
        blocks[-1].client,
        next((block.glyph for block in reversed(blocks) if block.form is BlockForm.PROMPT), state.glyph),
    )


def _find_edges(blocks: Sequence[ScreenBlock], lines: Mapping[int, Sequence[WrappedLine]], state: ScreenState) -> None:
    """Update the right edges at which rows were wrapped. An edge that these rows do not show keeps its value."""
    hyphenates = blocks[-1].client is ScreenClient.CODEX
    for form in (BlockForm.PROMPT, BlockForm.ANSWER, BlockForm.CALL, BlockForm.RESULT):
        found = find_edges((lines[block.first] for block in blocks if block.form is form), hyphenates=hyphenates)
        if found.columns or form not in state.edges:
            state.edges[form] = found
    spoken = (BlockForm.PROMPT, BlockForm.ANSWER)
    found = find_edges((lines[block.first] for block in blocks if block.form in spoken), hyphenates=hyphenates)
    if found.columns or not state.all_edges.columns:
        state.all_edges = found


def _block_text(lines: Sequence[WrappedLine], form: BlockForm, state: ScreenState) -> str:
    own = state.edges.get(form, WrapEdges())
    return join_lines(lines, own, state.all_edges).strip("\n").rstrip()


def _strip_margins(rows: Sequence[Row], block: ScreenBlock) -> list[WrappedLine]:
    """The rows of a block without its glyphs and margins, and without blank rows at its start and end."""
    texts = [row.text.replace("\u00a0", " ") for row in rows[block.first : block.after]]
    while texts and is_blank(texts[-1]):
        texts.pop()
    while texts and is_blank(texts[0]):
        texts.pop(0)
    margin = 0
    if texts and block.glyph:
        opening = texts[0].index(block.glyph) + 1
        margin = (
            min(len(texts[0]) - len(texts[0][opening:].lstrip()), opening + 3) if block.form is BlockForm.RESULT else opening + 1
        )
    found = []
    for number, text in enumerate(texts):
        bar = number > 0 and text.lstrip().startswith(("▌", "│")) and block.form in (BlockForm.PROMPT, BlockForm.CALL)
        indent = len(text) - len(text.lstrip("▌│ " if bar else " "))
        most = 12 if block.form is BlockForm.CALL else margin
        start = min(indent, most) if number else min(margin, len(text))
        found.append(to_line(text, start))
    return found


def _is_unindented(rows: Sequence[Row], blocks: Sequence[ScreenBlock]) -> bool:
    """True if most rows of answers have no margin, because copying the screen removed it."""
    following = [
        row.text
        for block in blocks
        if block.form is BlockForm.ANSWER
        for row in rows[block.first + 1 : block.after]
        if not is_blank(row.text) and not row.text.startswith(block.glyph)
    ]
    return sum(not text.startswith(" ") for text in following) > len(following) * _UNINDENTED


def _open_banner_session(rows: Sequence[Row], texts: Sequence[_BlockText], number: int, state: ScreenState) -> None:
    """Open the session that a banner announces. If it begins like the previous session, the screen was redrawn."""
    block = texts[number].block
    banner = "\n".join(row.text for row in rows[block.first : block.after])
    match = _DIRECTORY.search(banner)
    before = state.session
    state.project = str(Path(match.group(1).strip()).expanduser()) if match else state.folder
    state.session, state.tool, state.last = "", None, None
    _name_session(texts, number + 1, state)
    state.repainting = bool(before) and state.session == before


def _name_session(texts: Sequence[_BlockText], number: int, state: ScreenState) -> None:
    """Name the session that begins at a block by its client, its day and its first words. Does nothing if a session is open."""
    if state.session:
        return
    near = [text for text in texts[number : number + _NEAR] if text.text or text.block.form is BlockForm.BANNER]
    spoken = list(takewhile(lambda text: text.block.form is not BlockForm.BANNER, near))
    first = next((text for text in spoken if text.block.form is BlockForm.PROMPT), spoken[0] if spoken else None)
    if first is not None:
        state.session = hash_texts("console", first.block.client, str(state.stamp or ""), one_line(first.text)[:_WORDS])


def _block_entry(
    rows: Sequence[Row], texts: Sequence[_BlockText], number: int, state: ScreenState, line: int, *, unindented: bool
) -> DocumentEntry:
    text = texts[number]
    block = text.block
    place = rows_place(rows, block.first, block.after)
    place = place._replace(line=place.line + line)
    if block.form not in SAID:
        return DocumentEntry(place=place, dropped=block.form.value, session=state.session)
    if _is_repaint(texts, number, state):
        return DocumentEntry(place=place, dropped="repainted", session=state.session)
    template = replace(draft_template(ConversationTime(zone=state.zone, stamp=state.stamp)), text=text.text)
    noted = Notes()
    drafts = _block_drafts(text, template, state, noted, unindented=unindented)
    return DocumentEntry(place=place, drafts=tuple(drafts), noted=noted, session=state.session)


def _is_repaint(texts: Sequence[_BlockText], number: int, state: ScreenState) -> bool:
    """True if a block was drawn before. A repaint begins with a prompt and an answer that occurred before, and ends at new text."""
    text = texts[number]
    mark = hash((text.block.form, text.text))
    if text.block.form is BlockForm.PROMPT:
        after = next((later for later in texts[number + 1 : number + _NEAR] if later.block.form in SAID), None)
        if after is None:
            state.repainting = state.repainting and mark in state.seen
        else:
            again = {mark, hash((after.block.form, after.text))} <= state.seen
            answered = after.block.form is BlockForm.ANSWER and len(after.text) >= _REPEATED
            state.repainting = again and (state.repainting or answered)
    elif mark not in state.seen:
        state.repainting = False
    if len(state.seen) >= _SEEN:
        state.seen.clear()
    state.seen.add(mark)
    return state.repainting


def _block_drafts(
    block_text: _BlockText, template: EventDraft, state: ScreenState, noted: Notes, *, unindented: bool
) -> list[EventDraft]:
    """The drafts of a block. ``noted`` counts doubts."""
    text, block = block_text.text, block_text.block
    answered, state.answered = state.answered, False
    match block.form:
        case _ if not text.strip():
            return []
        case BlockForm.PROMPT if block.doubtful:
            noted["doubt:prompt-or-quotation"] = 1
            return [template.injected(text, "console:prompt-or-quotation")]
        case BlockForm.PROMPT:
            return split_prompt(text, replace(template, reason="slash-command" if _SLASH.match(text) else "typed"), noted)
        case BlockForm.SHELL:
            state.tool = ToolUse(name="Bash", target=truncate_text(text))
            return [replace(template.injected(text, "console:shell-mode").call(state.tool), text=text)]
        case BlockForm.CALL:
            state.tool = _codex_tool(text) if block.client is ScreenClient.CODEX else _claude_tool(text)
            state.answered = text.startswith(_ANSWERED)
            return [template.answer("", "console:call").call(state.tool)]
        case BlockForm.RESULT if answered and (answers := _chosen_answers(text)):
            return [replace(template, text=answers, reason="answer")]
        case BlockForm.RESULT:
            return [_output_draft(text, template, state)]
        case BlockForm.ANSWER:
            state.tool = None
            state.answered = text.startswith(_ANSWERED)
            return [template.answer(text, "console:answer")]
        case _:
            return [_unlabelled_draft(text, template, state, noted, unindented=unindented)]


def _unlabelled_draft(text: str, template: EventDraft, state: ScreenState, noted: Notes, *, unindented: bool) -> EventDraft:
    """The draft of a text without a glyph. It continues an answer if answers lost their margin or if the screen begins within an
    answer. Otherwise it has no author.
    """
    begun = state.last is None and all(line.startswith("  ") for line in text.split("\n") if line)
    if begun or (unindented and state.last in (BlockForm.ANSWER, BlockForm.UNLABELLED)):
        noted["doubt:answer-without-glyph"] = 1
        return template.answer("\n".join(line.removeprefix("  ") for line in text.split("\n")), "console:answer-without-glyph")
    noted["doubt:nobody-signed"] = 1
    return template.injected(text, "console:nobody-signed")


def _output_draft(text: str, template: EventDraft, state: ScreenState) -> EventDraft:
    stated = _EXIT.match(text)
    code = int(stated[1]) if stated else None
    tool = replace(state.tool or ToolUse(name=""), ok=False if code or _FAILED.match(text) else None, exit_code=code)
    return replace(template.output(text, tool), reason="console:result")


def _chosen_answers(text: str) -> str:
    """The person's choices: the words after the arrow in each line."""
    return "\n".join(answer.strip() for line in text.split("\n") if (answer := line.rpartition(" → ")[2]) != line)


def _claude_tool(text: str) -> ToolUse:
    call = _CALL.match(text)
    name, target = call.groups() if call else (text.partition("\n")[0], "")
    return ToolUse(name=truncate_name(_TOOLS.get(name, name)), target=truncate_text(target))


def _codex_tool(text: str) -> ToolUse:
    heading, _, rest = text.partition("\n")
    verb = next((verb for verb in _CODEX_TOOLS if text.startswith(verb)), "")
    if not verb:
        return ToolUse(name=truncate_name(heading))
    name = _CODEX_TOOLS[verb]
    if name == "apply_patch":
        return ToolUse(
            name=name, target=truncate_text(_CHANGED.sub("", heading.removeprefix(verb).strip())), detail=truncate_text(rest)
        )
    return ToolUse(name=name, target=truncate_text(text.removeprefix(verb).strip()))
