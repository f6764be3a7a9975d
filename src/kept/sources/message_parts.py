"""Split a user message into the person's text and the additions by a client, its hooks and memory tools."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from kept.core.event import Author
from kept.core.pattern import Pattern
from kept.core.value import dataclass, field
from kept.core.words import fill_pattern, list_shapes, match_opening


class TextPart(NamedTuple):
    """A part of a record's text: its author, and the reason for choosing that author."""

    author: Author
    reason: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitText:
    """The parts of a text in order, and the number of removed blocks by reason."""

    parts: tuple[TextPart, ...] = ()
    removed: Mapping[str, int] = field(default_factory=dict)


_INTERRUPTION = "[Request interrupted by user"

# A tag, or the common prefix of several tags: hindsight_memories, hindsight_context …
_TAG = fill_pattern(r"<(‹shapes:clients.wrappers›)(?:[ \t][^<>\n]{0,200})?>|</(‹shapes:clients.wrappers›)>")
_BLANK_LINE = Pattern(r"\n[ \t\r]*\n")


class _Block(NamedTuple):
    tag: str
    start: int
    end: int
    inner: tuple[int, int]


def split_text(text: str) -> SplitText:
    """Separate the user's own words from the blocks that programs added around and between them.

    A block counts only if its opening tag starts a line (or follows another block), and its closing tag ends a line or precedes the
    first blank line. Text that merely mentions the tags therefore stays the user's. So does text that they typed into a slash
    command or a memory shortcut.
    """
    text = text.strip()
    if not text:
        return SplitText()
    if reason := match_opening("claude-code", text):
        return SplitText(parts=(TextPart(Author.COMPACTION if reason == "recap" else Author.INJECTED, reason, text),))
    for tag in list_shapes("clients", "outputs"):
        if text.startswith((f"<{tag}>", f"<{tag} ")):
            return SplitText(parts=(TextPart(Author.INJECTED, f"wrapper:{tag}", text),))
    interruption, text = _split_interruptions(text)
    split = _split_words(text) if text else SplitText()
    return SplitText(parts=(*split.parts, *interruption), removed=split.removed)


def _split_interruptions(text: str) -> tuple[tuple[TextPart, ...], str]:
    """Split off the client's notes that the user interrupted it. They may precede the user's words."""
    words = text
    while words.startswith(_INTERRUPTION):
        words = words.partition("]")[2].lstrip()
    note = text[: len(text) - len(words)].strip()
    return ((TextPart(Author.INJECTED, "interruption", note),) if note else ()), words


def _split_words(text: str) -> SplitText:
    blocks = _find_blocks(text) if "<" in text else []
    if not blocks:
        return SplitText(parts=(TextPart(Author.HUMAN, "typed", text),))
    typed = _typed_parts(text, blocks)
    rest = _text_outside(text, blocks)
    if rest:
        expanded = any(block.tag == "command-args" for block in blocks)  # text beside a command is the client's expansion of it
        typed.append(TextPart(Author.INJECTED, "wrapper:command-args", rest) if expanded else TextPart(Author.HUMAN, "typed", rest))
    removed = Counter(f"removed:{block.tag}" for block in blocks)
    injected = "\n".join(text[block.start : block.end] for block in blocks if block.tag not in _TYPED)
    wrapper = [TextPart(Author.INJECTED, f"wrapper:{blocks[0].tag}", injected)] if injected else []
    return SplitText(parts=(*typed, *wrapper), removed=removed if rest else {})


_TYPED = ("command-args", "user-memory-input")


def _typed_parts(text: str, blocks: list[_Block]) -> list[TextPart]:
    """The user's text inside the wrappers: a slash command with its arguments, or a memory shortcut."""
    inner = {block.tag: text[slice(*block.inner)].strip() for block in reversed(blocks)}
    typed = []
    if arguments := inner.get("command-args", ""):
        name = inner.get("command-name", "").lstrip("/")
        typed.append(TextPart(Author.HUMAN, "slash-command", f"/{name} {arguments}" if name else arguments))
    if memory := inner.get("user-memory-input", ""):
        typed.append(TextPart(Author.HUMAN, "memory-shortcut", memory))
    return typed


def _text_outside(text: str, blocks: list[_Block]) -> str:
    edges = [0, *(edge for block in blocks for edge in (block.start, block.end)), len(text)]
    return "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)).strip()


def _find_blocks(text: str) -> list[_Block]:
    """The outermost wrapper blocks of a text, in order. One pass over the text."""
    found: list[_Block] = []
    openers: dict[str, tuple[int, int]] = {}
    last_end = 0
    for match in _TAG.finditer(text):
        opened, closed = match.group(1), match.group(2)
        if opened:
            if _is_line_start(text, match.start(), last_end):
                openers[_tag_family(opened)] = (match.start(), match.end())
            continue
        start, inner = openers.pop(_tag_family(closed), (-1, -1))
        if start < 0 and found and found[-1].tag == _tag_family(closed) and _is_line_end(text, match.end()):
            # a block quoted this closing tag before, so the block ends at this second one
            start, inner = found[-1].start, found[-1].start
        if start < 0 or not (_is_line_end(text, match.end()) or not _BLANK_LINE.search(text[start : match.end()])):
            continue
        while found and found[-1].start >= start:
            found.pop()
        openers = {tag: place for tag, place in openers.items() if place[0] < start}
        found.append(_Block(_tag_family(closed), start, match.end(), (inner, match.start())))
        last_end = match.end()
    return found


def _tag_family(tag: str) -> str:
    return "hindsight" if tag.startswith("hindsight_") else tag


def _is_line_start(text: str, position: int, last_end: int) -> bool:
    while position > 0 and text[position - 1] in " \t" and position != last_end:
        position -= 1
    return position in (0, last_end) or text[position - 1] == "\n"


def _is_line_end(text: str, position: int) -> bool:
    while position < len(text) and text[position] in " \t\r":
        position += 1
    return position == len(text) or text[position] == "\n"


# The first prompts of sessions that a program started to process another session: a memory tool's observer, a summarizer, kept
# itself.
_OBSERVER = ("Hello memory agent", "You are a Claude-Mem", "<observed_from_primary_session>", "<kept-task")
_DIGEST = Pattern(
    r"(?i)^\W*(?:please |your task is to )?(?:summari[sz]e|condense|analy[sz]e|extract|title|name)\b[^\n]{0,100}"
    r"\b(?:conversation|transcript|session|dialogue|chat)\b"
)
_TURN = Pattern(r"(?m)^[ \t>#*_\[]*(?:User|Human|Agent|Assistant)\b[^\n:]{0,20}:")


def is_machine_session_start(text: str) -> bool:
    """True if a program wrote a session's first prompt: a known observer, or a program that orders the agent to process a
    transcript in the prompt.
    """
    if text.lstrip().startswith(_OBSERVER) or "\n<observed_from_primary_session>" in text:
        return True
    return bool(_DIGEST.search(text[:300])) and sum(1 for _ in _TURN.finditer(text[:20_000])) >= 2
