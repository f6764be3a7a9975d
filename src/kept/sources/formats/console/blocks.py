"""Split a coding agent's screen into blocks, which are recognized by the glyph in their first row.

Claude Code: ``>`` or ``❯`` before a prompt, ``⏺`` or ``●`` before an answer or a call, ``⎿`` before a result. Codex: ``›`` or ``▌``
before a prompt, ``•`` before an answer or a call, ``└`` before a result. Following rows belong to a block if they are indented or
follow without a blank line. Boxes, rules, status lines and the input line are not part of the conversation.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from kept.core.pattern import compile_late
from kept.core.value import dataclass, replace
from kept.sources.documents import Row


class BlockForm(StrEnum):
    """The kind of a block of rows."""

    PROMPT = "prompt"
    SHELL = "shell-command"
    ANSWER = "answer"
    CALL = "call"
    RESULT = "result"
    HEADING = "heading"
    UNLABELLED = "unlabelled"
    # Rows of the client's interface, which nobody said.
    BANNER = "banner"
    BOX = "box"
    RULE = "rule"
    STATUS = "status"
    COMPOSER = "composer"
    DIALOG = "dialog"
    COLLAPSED = "collapsed-calls"
    FENCE = "fence"


SAID = frozenset(
    {BlockForm.PROMPT, BlockForm.SHELL, BlockForm.ANSWER, BlockForm.CALL, BlockForm.RESULT, BlockForm.HEADING, BlockForm.UNLABELLED}
)


class ScreenClient(StrEnum):
    """The client that drew a screen."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScreenBlock:
    """The rows [first, after) of a screen. ``glyph`` identified their form. ``doubtful`` marks a prompt that may be a quotation."""

    form: BlockForm
    first: int
    after: int
    glyph: str = ""
    client: ScreenClient = ScreenClient.CLAUDE_CODE
    doubtful: bool = False


_SPINNER = compile_late(r"^[✻✽✶✳✢✺✹✸✷·*∗⚒] ?\S.*(?:…|\.\.\.|\bfor \d+(?:s|m|h)\b|esc to interrupt|compacted)")
_THINKING = compile_late(r"^(?:[✻∴] Thinking|∴ )")
_RULE = compile_late(r"^ ?[─━═╌](?:[─━═╌ ]{2,}|.{0,200}[─━═╌]{2,}) *$")
_BANNER = compile_late(r"Claude Code v?\d|Welcome to (?:the )?Claude Code|OpenAI Codex \(|^[│ ]*▐▛")
_LOGO = compile_late(r"^ {0,3}[▐▝▘][▛▜▝▘█▌▐ ]")
_FOOTER = compile_late(
    r"^ {1,4}(?:\? for shortcuts|⏵⏵|⏸ |(?:gpt|o\d|codex)[\w.-]*(?: [\w-]+){0,3} ·|\d{1,3}% context left|Context left until"
    r"|ctrl\+[a-z] to "
    r"|esc to interrupt|⏎ send|Tip: |new task\?|Press (?:Ctrl|ctrl|esc|up)|\S.{0,80}\(shift\+tab to cycle\))"
)
_KEYS = compile_late(r"(?i)\b(?:enter to (?:select|confirm)|esc to (?:cancel|exit|go back)|tab to amend|↑/↓ to navigate)")
_CHOICE = compile_late(r"^. \d\. ")
_HEADING = compile_late(r"^#{1,6} \S")
_COLLAPSED = compile_late(r"^ {1,4}\S.*\(ctrl ?\+ ?[a-z] to (?:expand|view transcript|see all)\) *$")
_CALL = compile_late(r"^[A-Za-z][\w:.-]{0,100}(?: [\w:.-]{1,60}){0,6}(?: \(MCP\))?\(")
_CALL_END = compile_late(r"(?:\)|…)(?: (?:timeout: [\w. ]{1,40}|\(ctrl\+. to [^)\n]{0,40}\)|\(.{1,60}\)))?$")
_CODEX_CALL = compile_late(
    r"^(?:Ran|Running|You ran|Called|Calling|Explored|Exploring|Edited|Added|Deleted|Updated Plan|Proposed|Searched"
    r"|Searching|Viewed"
    r"|Waited|Interacted|Generated|Proposed Change)\b"
)
_CODEX_CHANGE = compile_late(r"^(?:Edited|Added|Deleted|Proposed Change)\b.*\(\+\d+ -\d+\)$")
_CODEX_STATUS = compile_late(
    r"^(?:Working|Thinking|Running|Exploring|Calling|Searching|Queued|Model changed|Permissions updated)\b"
)
_CODEX_DONE = ("Ran ", "You ran ")
_NOTICE = "■⚠✔✗※✘⚡↓"
_SPACES = (" ", "\u00a0")
_SIDES = ("│", "╰", "┃")
_CODEX_GLYPHS = ("›", "▌")
_RESULT_MARGIN = 4
_TITLE = 60
_NEAR = 20


def split_blocks(rows: Sequence[Row], client: ScreenClient | None = None, glyph: str = "") -> list[ScreenBlock]:
    """Split a screen's rows into blocks without gaps.

    If the rows continue a screen, ``client`` and ``glyph`` are those of the rows before them.
    """
    blocks = list(_BlockScanner(rows, client or _first_client(rows), glyph).scan_blocks())
    return [_mark_doubtful(block, blocks, number) for number, block in enumerate(blocks)]


def is_blank(text: str) -> bool:
    """True for a row without any text."""
    return not text.strip(" \u00a0\t")


def is_turn_start(text: str) -> bool:
    """True for a row that certainly begins a block. A long screen may be cut before such a row."""
    return text[:1] in ("⏺", "❯", "›") and text[1:2] in _SPACES


def _first_client(rows: Sequence[Row]) -> ScreenClient:
    """The client whose glyph comes first in the rows."""
    for row in rows:
        head = row.text.lstrip()[:1]
        if head in ("⏺", "❯", "⎿") or "Claude Code" in row.text[:200]:
            return ScreenClient.CLAUDE_CODE
        if row.text[:1] in _CODEX_GLYPHS or "OpenAI Codex" in row.text[:200] or head == "└":
            return ScreenClient.CODEX
    return ScreenClient.CLAUDE_CODE


def _mark_doubtful(block: ScreenBlock, blocks: Sequence[ScreenBlock], number: int) -> ScreenBlock:
    """Mark a prompt with ``>`` as doubtful if text without a glyph follows, because a quotation looks the same."""
    if block.form is not BlockForm.PROMPT or block.glyph != ">" or block.doubtful:
        return block
    after = next((later for later in blocks[number + 1 : number + _NEAR] if later.form is not BlockForm.RULE), None)
    doubtful = after is not None and after.form is BlockForm.UNLABELLED
    return replace(block, doubtful=doubtful)


class _BlockScanner:
    """Splits rows into blocks in one pass. Each banner and each certain prompt sets ``client`` and the ``glyph`` of prompts."""

    def __init__(self, rows: Sequence[Row], client: ScreenClient, glyph: str) -> None:
        self.texts = [row.text.replace("\u00a0", " ") for row in rows]
        self.client = client
        self.glyph = glyph
        self.boxed: list[bool] = []
        for text in self.texts:
            inside = not self.boxed or self.boxed[-1]
            self.boxed.append(text.startswith("╭") or (inside and text.startswith(_SIDES)))

    def scan_blocks(self) -> Iterator[ScreenBlock]:
        end = len(self.texts)
        while end and is_blank(self.texts[end - 1]):
            end -= 1
        after = 0
        while after < end:
            first = number = after
            while is_blank(self.texts[number]):
                number += 1
            block = self._next_block(first, number)
            after = block.after
            yield block if after < end else replace(block, after=len(self.texts))

    def _make_block(self, form: BlockForm, first: int, after: int, glyph: str = "", *, doubtful: bool = False) -> ScreenBlock:
        return ScreenBlock(form=form, first=first, after=after, glyph=glyph, client=self.client, doubtful=doubtful)

    def _next_block(self, first: int, number: int) -> ScreenBlock:
        """The block that begins at row ``first`` and whose first row with text is ``number``."""
        text = self.texts[number]
        form, glyph = self._row_form(number)
        match form:
            case BlockForm.PROMPT:
                return self._prompt_block(first, number, glyph)
            case BlockForm.BANNER | BlockForm.BOX:
                after = number + 1
                while after < len(self.texts) and self._row_form(after)[0] in (BlockForm.BANNER, BlockForm.BOX):
                    after += 1
                joined = "\n".join(self.texts[number:after])
                if _BANNER.search(joined):
                    self._open_session(joined)
                    form = BlockForm.BANNER
                return self._make_block(form, first, after)
            case BlockForm.RULE | BlockForm.COLLAPSED | BlockForm.HEADING | BlockForm.FENCE:
                return self._make_block(form, first, number + 1)
            case BlockForm.STATUS:
                return self._make_block(form, first, self._block_end(number, results=True, spaced=bool(_THINKING.match(text))))
            case BlockForm.RESULT:
                return self._make_block(form, first, self._block_end(number, margin=3 if glyph == "⎿" else 2), glyph)
            case _:
                return self._make_block(form, first, self._block_end(number), glyph)

    def _open_session(self, banner: str) -> None:
        self.client = ScreenClient.CODEX if "OpenAI Codex" in banner else ScreenClient.CLAUDE_CODE
        self.glyph = ""

    def _prompt_block(self, first: int, number: int, glyph: str) -> ScreenBlock:
        after = self._block_end(number, barred=glyph == "▌")
        above = self.texts[number - 1] if number else ""
        below = self.texts[after] if after < len(self.texts) else ""
        inside = [text for text in self.texts[number:after] if text.strip()]
        if (above and _RULE.match(above) and _RULE.match(below)) or not "".join(inside).strip(f"{glyph} "):
            return self._make_block(BlockForm.COMPOSER, first, after, glyph)
        near = [text for text in self.texts[after : after + 4] if text.strip()][:1]
        if glyph in _CODEX_GLYPHS and any(_FOOTER.match(text) for text in (*inside[1:], *near)):
            return self._make_block(BlockForm.COMPOSER, first, after, glyph)
        if _CHOICE.match(inside[0]) and any(_KEYS.search(text) for text in (*inside, *self.texts[after : after + 4])):
            return self._make_block(BlockForm.DIALOG, first, after, glyph)
        doubtful = glyph == ">" and self.glyph == "❯"
        if not doubtful:
            self.glyph = glyph
        if glyph in ("❯", *_CODEX_GLYPHS):
            self.client = ScreenClient.CODEX if glyph in _CODEX_GLYPHS else ScreenClient.CLAUDE_CODE
        return self._make_block(BlockForm.PROMPT, first, after, glyph, doubtful=doubtful)

    def _block_end(self, number: int, *, margin: int = 2, results: bool = False, spaced: bool = True, barred: bool = False) -> int:
        """The row after the block that begins at row ``number``. The block includes rows indented by ``margin``, and rows that
        follow without a blank row.

        If ``results``, it also includes results. Unless ``spaced``, its first blank row ends it. If ``barred``, its rows repeat its
        glyph.
        """
        after, blank = number + 1, False
        end = after
        while after < len(self.texts):
            text = self.texts[after]
            if is_blank(text):
                blank = True
                if not spaced:
                    break
            elif barred and text.startswith("▌"):
                if blank:
                    break  # within a prompt even a blank row has a bar, so the next block begins here
                end = after + 1
            else:
                form, _ = self._row_form(after)
                indented = len(text) - len(text.lstrip(" ")) >= (margin if blank else 1)
                if form is BlockForm.UNLABELLED and (indented or not blank):
                    end = after + 1
                elif not (results and form is BlockForm.RESULT):
                    break
                blank, end = False, after + 1
            after += 1
        return end

    def _row_form(self, number: int) -> tuple[BlockForm, str]:
        """The form and the glyph of a row that opens a block. The form is ``UNLABELLED`` if the row has no glyph."""
        text = self.texts[number]
        head, space = text[:1], text[1:2] in ("", " ")
        match head:
            case "" | " " | "\t":
                return self._indented_form(text)
            case "❯" | "›" | "▌" if space:
                return BlockForm.PROMPT, head
            case ">" if space and self.client is ScreenClient.CLAUDE_CODE:
                return BlockForm.PROMPT, head
            case ">" if space and self.glyph == "▌":
                return BlockForm.ANSWER, head
            case "!" if space and len(text) > 2 and self._is_before_result(number):
                return BlockForm.SHELL, head
            case "⏺" | "●" if space:
                return self._action_form(number), head
            case "•" | "◦" if space and self.client is ScreenClient.CODEX:
                return self._codex_action_form(number), head
            case "⎿" if self.client is ScreenClient.CLAUDE_CODE:
                return BlockForm.RESULT, head
            case "└" if self.client is ScreenClient.CODEX and space:
                return BlockForm.RESULT, head
            case "╭" | "│" | "╰" | "┃" if self.boxed[number]:
                return BlockForm.BOX, head
            case "▐" | "▝" | "▘" if _LOGO.match(text):
                return BlockForm.BANNER, head
            case "─" | "━" | "═" | "╌" if _RULE.match(text):
                return BlockForm.RULE, head
            case "#" if _HEADING.match(text):
                return BlockForm.HEADING, ""
            case "`" | "~" if text.startswith(("```", "~~~")):
                return BlockForm.FENCE, ""
        if _SPINNER.match(text) or _THINKING.match(text) or (head in _NOTICE and space):
            return BlockForm.STATUS, head
        return (BlockForm.BANNER if _BANNER.search(text[:200]) and head in "/✻*" else BlockForm.UNLABELLED), ""

    def _indented_form(self, text: str) -> tuple[BlockForm, str]:
        stripped = text.lstrip(" \t")
        if not stripped:
            return BlockForm.UNLABELLED, ""
        margin = len(text) - len(stripped)
        if stripped[0] == "⎿" and margin < _RESULT_MARGIN:
            return BlockForm.RESULT, "⎿"
        if stripped[0] == "└" and margin < _RESULT_MARGIN and self.client is ScreenClient.CODEX and stripped[1:2] in ("", " "):
            return BlockForm.RESULT, "└"
        if margin < _RESULT_MARGIN and _LOGO.match(text):
            return BlockForm.BANNER, stripped[0]
        if _FOOTER.match(text):
            return BlockForm.STATUS, ""
        if stripped[0] not in "…+" and _COLLAPSED.match(text):
            return BlockForm.COLLAPSED, ""
        return BlockForm.UNLABELLED, ""

    def _is_before_result(self, number: int) -> bool:
        after = next((text for text in self.texts[number + 1 : number + 3] if not is_blank(text)), "")
        return after.lstrip().startswith("⎿") or "  ⎿  " in self.texts[number]

    def _action_form(self, number: int) -> BlockForm:
        """The form of an action on Claude Code's screen: a call or an answer."""
        text = self.texts[number][2:].rstrip()
        last, after = number, number + 1
        while after < len(self.texts) and self.texts[after].startswith("    ") and not self.texts[after].lstrip().startswith("⎿"):
            last, after = after, after + 1
        follows = after < len(self.texts) and self.texts[after].lstrip().startswith("⎿")
        if _CALL.match(text):
            whole = "\n".join([text, *self.texts[number + 1 : last + 1]]).rstrip()
            return BlockForm.CALL if follows or (_CALL_END.search(whole) and _is_closed_at_end(whole)) else BlockForm.ANSWER
        return BlockForm.CALL if follows and len(text) < _TITLE and not text.endswith((".", ":", "?")) else BlockForm.ANSWER

    def _codex_action_form(self, number: int) -> BlockForm:
        """The form of an action on Codex's screen: a call, a status line or an answer."""
        text = self.texts[number][2:].rstrip()
        if "esc to interrupt" in text:
            return BlockForm.STATUS
        if not _CODEX_CALL.match(text):
            return BlockForm.STATUS if _CODEX_STATUS.match(text) else BlockForm.ANSWER
        after = next((text for text in self.texts[number + 1 : number + 200] if not text.lstrip().startswith("│")), "")
        done = text.startswith(_CODEX_DONE) and text[-1] not in ".!?:"
        if done or after.lstrip().startswith("└") or _CODEX_CHANGE.match(text):
            return BlockForm.CALL
        return BlockForm.STATUS if _CODEX_STATUS.match(text) and is_blank(after) else BlockForm.ANSWER


def _is_closed_at_end(text: str) -> bool:
    """True if the first parenthesis of a call is closed at the end of the text, or never closed because the call was truncated."""
    depth = 0
    for number, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return not _CALL_END.sub("", text[number:])
    return True
