"""Turns and chunks: render events for a model, and cut a conversation into chunks that a model reads one at a time.

Every event is in exactly one chunk. A chunk ends where the topic seems to change. Only earlier text decides that, so a closed chunk
stays the same when the conversation grows. A few turns before a chunk are repeated as context.
"""

from collections.abc import Iterator, Sequence

from kept.core.error_fingerprint import find_error_lines
from kept.core.event import Author, Event, EventKind, ToolUse, is_note, is_prompt
from kept.core.pattern import compile_late
from kept.core.spans import event_spans, typed_text
from kept.core.statement import find_content
from kept.core.text import is_cjk
from kept.core.value import dataclass
from kept.extraction.rules.commands import is_reading

# Text that cannot support a memory is left out, because a program inserted it or it is not part of the conversation.
_LEFT_OUT = (Author.INJECTED, Author.SUBAGENT, Author.COMPACTION, Author.ABANDONED)
# The person's typed text is shown in full. Other text is only context, so its beginning and its end suffice.
_SAID_HEAD, _SAID_TAIL = 300, 600
_NOTE_CHARS = 208
_LEAST_WORDS = 5  # plain words; a note with fewer is left out
_PROSE_WORDS = 12  # plain words that make a sentence of a note count as prose
_FOREIGN_HEAD, _FOREIGN_TAIL = 240, 80
_TARGET = 160
_DETAIL = 100
_HEAD, _TAIL = 60, 60
_FAILED_HEAD, _FAILED_TAIL = 240, 160
_ERRORS = 2
# If a tool only shows or changes files, its output adds nothing to the call, unless it failed.
_READING = ("read", "view", "glob", "grep", "list", "todo")
_SHOWING = (*_READING, "edit", "write", "patch", "replace", "create")
_CHARS_A_TOKEN = 3
# Text that looks like the start of an event or the end of the conversation.
_FORGED = compile_late(r"(?m)^\[(?=e\d)|<(?=/?(?:conversation|foreign)\b)")
_SENTENCE = compile_late(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_WORD = compile_late(r"(?<![\w`./-])[^\W\d_]{2,}(?![\w`/-])")
_FENCED = compile_late(r"(?ms)^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)")


def estimate_tokens_high(text: str) -> int:
    """A high estimate of the number of tokens: one for three characters, and one for each character of a script without spaces."""
    dense = sum(map(is_cjk, text)) if not text.isascii() else 0
    return -(-(len(text) - dense) // _CHARS_A_TOKEN) + dense


def render_turn(event: Event, ordinal: int) -> str:
    """Render an event as a block of text that begins with its id and author. Empty if the event cannot support a memory."""
    said = "" if event.author in _LEFT_OUT else _render_event(event)
    return f"[e{ordinal}] {said}" if said else ""


def _render_event(event: Event) -> str:
    match event.kind:
        case EventKind.PROMPT:
            return f"person: {words}" if (words := _render_prompt(event)) else ""
        case EventKind.RESPONSE:
            return f"{'note' if is_note(event) else 'assistant'}: {words}" if (words := _render_response(event)) else ""
        case EventKind.TOOL_CALL:
            return "" if _is_tool_kind(event.tool, _READING) else f"call {_render_call(event.tool, event.text)}"
        case EventKind.TOOL_OUTPUT:
            words = _render_output(event)
            return f"output{_format_outcome(event.tool)}: {_escape_forged_tags(words)}" if words else ""


def is_worth_asking(event: Event) -> bool:
    """True if an event alone justifies a question: the person typed in it, or it is a journal entry."""
    return is_note(event) or bool(typed_text(event))


def _render_prompt(event: Event) -> str:
    """Render a prompt: typed text in full, and other text shortened, in tags that name its kind."""
    parts = []
    for span in event_spans(event):
        words = event.text[span.start : span.end].strip()
        if words and span.is_typed:
            parts.append(_escape_forged_tags(words))
        elif words:
            parts.append(
                f'<foreign kind="{span.kind}">{_escape_forged_tags(_cut_text(words, _FOREIGN_HEAD, _FOREIGN_TAIL))}</foreign>'
            )
    return "\n".join(parts)


def _render_response(event: Event) -> str:
    """Render a text of an assistant: a reply without code, or a journal entry."""
    if is_note(event):
        text = _FENCED.sub("", event.text).strip()
        return _escape_forged_tags(_select_prose(text, _NOTE_CHARS)) if _count_plain_words(text) >= _LEAST_WORDS else ""
    text = _FENCED.sub(lambda match: f"[{match[2].count(chr(10))} lines of code]\n", event.text).strip()
    return _escape_forged_tags(_cut_text(text, _SAID_HEAD, _SAID_TAIL))


def _count_plain_words(text: str) -> int:
    """The number of plain words in a note, without headings and names. Each character of a dense script counts as one."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return sum(len(_WORD.findall(line)) + (0 if line.isascii() else sum(map(is_cjk, line))) for line in lines)


def _select_prose(text: str, most: int) -> str:
    """The sentences and lines of a text that fit into ``most`` characters, in order. Prose is preferred to lists of names."""
    parts = [part for part in _SENTENCE.split(text) if part.strip()]
    if _count_chars(text) <= most + 40 or not parts:
        return text
    taken, left = set[int](), most
    for place in sorted(range(len(parts)), key=lambda place: (-min(_PROSE_WORDS, len(_WORD.findall(parts[place]))), place)):
        if (length := _count_chars(parts[place])) <= left:
            taken.add(place)
            left -= length + 1
    return "\n".join(parts[place].strip() for place in sorted(taken)) or _cut_text(text, most, 0)


def _escape_forged_tags(text: str) -> str:
    return _FORGED.sub("(", text.strip())


def _render_call(tool: ToolUse | None, text: str) -> str:
    if tool is None:
        return _escape_forged_tags(_cut_text(text, _TARGET, 0))
    parts = (
        _cut_text(tool.target, _TARGET, 0),
        _cut_text(tool.detail, _DETAIL, 0),
        "" if tool.target else _cut_text(text, _DETAIL, 0),
    )
    return _escape_forged_tags(f"{tool.name}: " + "\n".join(dict.fromkeys(part for part in parts if part.strip())))


def _is_tool_kind(tool: ToolUse | None, kinds: Sequence[str]) -> bool:
    return tool is not None and any(word in tool.name.lower() for word in kinds)


def _format_outcome(tool: ToolUse | None) -> str:
    if tool is None or not _has_failed(tool):
        return ""
    return f" (failed, exit status {tool.exit_code})" if tool.exit_code else " (failed)"


def _has_failed(tool: ToolUse | None) -> bool:
    return tool is not None and (tool.ok is False or bool(tool.exit_code))


def _render_output(event: Event) -> str:
    text = event.text.strip()
    if _has_failed(event.tool):
        return _cut_text(text, _FAILED_HEAD, _FAILED_TAIL)
    if _is_tool_kind(event.tool, _SHOWING) or (event.tool and event.tool.target and is_reading(event.tool.target)):
        return ""
    short = _cut_text(text, _HEAD, _TAIL)
    telling = [line for line in find_error_lines(text)[:_ERRORS] if line not in short] if short != text else []
    return "\n".join((short, *telling))


def _cut_text(text: str, head: int, tail: int) -> str:
    """The first ``head`` and the last ``tail`` characters of a text. A character of a dense script counts as three."""
    text = text.strip()
    if not text.isascii():
        head, tail = _count_fitting(text[:head], head), _count_fitting(text[len(text) - tail :][::-1], tail)
    left = len(text) - head - tail
    if left <= 40:
        return text
    return f"{text[:head].rstrip()} […] {text[len(text) - tail :].lstrip() if tail else ''}".rstrip()


def _count_chars(text: str) -> int:
    """The number of characters of a text. A character of a dense script counts as three."""
    return len(text) + (0 if text.isascii() else (_CHARS_A_TOKEN - 1) * sum(map(is_cjk, text)))


def _count_fitting(text: str, limit: int) -> int:
    """The number of characters of a text that fit into ``limit``."""
    left = limit
    for number, char in enumerate(text):
        left -= _CHARS_A_TOKEN if is_cjk(char) else 1
        if left < 0:
            return number
    return limit


# A long pause ends a chunk with at least this share of the limit, so that the next run need not read it again.
PAUSE_SECONDS = 4 * 3600
_LEAST_CHUNK_SHARE = 0.25
# The end of a full chunk is searched from this share of its size on.
_EARLIEST = 0.5
_SHORT_PAUSE = 1800
_LEAD_SHARE = 0.1
_LEAD_EVENTS = 6
_LEAD_CHARS = 240
_RECENT = 8  # events before a prompt whose words are not new in it
_EVENT_CHARS = 2_000
_PART_HEAD = 12  # tokens reserved for the label of a part of a long event


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """An event, or a part of a very long one, as a model reads it. ``ordinal`` is its position in the thread."""

    ordinal: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """The events with ordinals in [start, stop) as ``turns``. ``lead`` has turns before them, which belong to another chunk, as
    context.

    ``closed`` means that later events cannot change the chunk.
    """

    start: int
    stop: int
    closed: bool
    turns: tuple[Turn, ...]
    lead: tuple[Turn, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Unit:
    turn: Turn
    size: int
    whole: bool


def cut_chunks(events: Sequence[Event], *, offset: int, start: int, limit: int) -> tuple[Chunk, ...]:
    """Cut the events from ordinal ``start`` on into chunks, in order and without gaps. The last chunk may be open.

    ``events[0]`` has the ordinal ``offset``. Events before ``start`` serve as lead. ``limit`` is in tokens of
    :func:`estimate_tokens_high` and applies to the turns of a chunk; its lead adds at most a tenth. Raises ValueError for a limit
    below 200.
    """
    if limit < 200:
        raise ValueError("a chunk needs at least 200 tokens")
    units = [unit for place in range(start - offset, len(events)) for unit in _split_units(events[place], place + offset, limit)]
    found: list[Chunk] = []
    first = 0
    for stop in _find_ends(units, events, offset, limit):
        found.append(_build_chunk(units[first:stop], events, offset, limit, closed=True))
        first = stop
    if first < len(units):
        found.append(_build_chunk(units[first:], events, offset, limit, closed=not units[-1].whole))
    return tuple(found)


def _build_chunk(units: Sequence[_Unit], events: Sequence[Event], offset: int, limit: int, *, closed: bool) -> Chunk:
    start = units[0].turn.ordinal
    return Chunk(
        start=start,
        stop=units[-1].turn.ordinal + 1,
        closed=closed,
        turns=tuple(unit.turn for unit in units),
        lead=_build_lead(events, start - offset, offset, limit),
    )


def _build_lead(events: Sequence[Event], place: int, offset: int, limit: int) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    left = limit * _LEAD_SHARE
    for item in range(place - 1, max(-1, place - 1 - _LEAD_EVENTS), -1):
        text = render_turn(events[item], item + offset)[:_LEAD_CHARS]
        if not text:
            continue
        left -= estimate_tokens_high(text)
        if left < 0:
            break
        turns.append(Turn(ordinal=item + offset, text=text))
    return tuple(reversed(turns))


def _split_units(event: Event, ordinal: int, limit: int) -> Iterator[_Unit]:
    """Yield the whole event, or its parts if it is larger than a chunk. Each part fills a chunk."""
    text = render_turn(event, ordinal)
    size = estimate_tokens_high(text)
    if size <= limit:
        yield _Unit(turn=Turn(ordinal=ordinal, text=text), size=size, whole=True)
        return
    parts = list(_split_text(text, limit - _PART_HEAD))
    for number, part in enumerate(parts, 1):
        head = f"[e{ordinal}] part {number} of {len(parts)}: " if number > 1 else ""
        yield _Unit(turn=Turn(ordinal=ordinal, text=head + part), size=limit, whole=False)


def _split_text(text: str, limit: int) -> Iterator[str]:
    """Split a text into pieces of at most ``limit`` tokens, between words if possible."""
    at = 0
    while at < len(text):
        size = min(len(text) - at, limit)  # a token has at least one character
        while at + 2 * size < len(text) and estimate_tokens_high(text[at : at + 2 * size]) <= limit:
            size *= 2
        space = text.rfind(" ", at + size // 2, at + size) + 1 if at + size < len(text) else 0
        stop = space or at + size
        yield text[at:stop]
        at = stop


def _find_ends(units: Sequence[_Unit], events: Sequence[Event], offset: int, limit: int) -> Iterator[int]:
    """Yield the unit indices at which closed chunks end. Never looks beyond the unit that makes a chunk too large."""
    first = size = 0
    place = 0
    while place < len(units):
        unit = units[place]
        torn = place > first and not (unit.whole and units[place - 1].whole)
        if torn or (
            place > first
            and size >= limit * _LEAST_CHUNK_SHARE
            and _measure_pause(events, unit.turn.ordinal - offset) >= PAUSE_SECONDS
        ):
            yield place
            first, size = place, 0
        while place > first and size + unit.size > limit:
            first = _find_best_end(units, events, offset, first, place)
            yield first
            size = sum(unit.size for unit in units[first:place])
        size += unit.size
        place += 1


def _find_best_end(units: Sequence[_Unit], events: Sequence[Event], offset: int, first: int, last: int) -> int:
    """The end of a full chunk. It is in the last half, at the prompt with the largest change of topic. Without a prompt there, it
    is before a call, or at the limit.
    """
    total = sum(unit.size for unit in units[first:last])
    size, found = 0, list[tuple[float, int]]()
    fallback = last
    for place in range(first, last + 1):
        event = events[units[place].turn.ordinal - offset]
        if place > first and size >= total * _EARLIEST:
            if is_prompt(event):
                found.append((_measure_topic_shift(events, units[place].turn.ordinal - offset), place))
            elif event.kind is not EventKind.TOOL_OUTPUT:
                fallback = place
        size += units[place].size
    return max(found)[1] if found else fallback


def _measure_topic_shift(events: Sequence[Event], place: int) -> float:
    """How much a prompt changes the topic, from 0 to 2: the share of its words that are new, plus a share for the length of the
    pause before it.
    """
    known = {word for event in events[max(0, place - _RECENT) : place] for word in find_content(event.text[:_EVENT_CHARS])}
    words = find_content(events[place].text[:_EVENT_CHARS])
    fresh = len(words - known) / len(words) if words else 0.0
    return fresh + min(1.0, _measure_pause(events, place) / _SHORT_PAUSE)


def _measure_pause(events: Sequence[Event], place: int) -> float:
    """Seconds between a person's prompt and the event before it; 0 if either time is unknown."""
    event = events[place]
    if place == 0 or event.kind is not EventKind.PROMPT or event.author is not Author.HUMAN:
        return 0.0
    before = events[place - 1].at
    return max(0.0, (event.at - before).total_seconds()) if event.at and before else 0.0
