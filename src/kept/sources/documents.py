"""Files that are read whole, and the events made of them.

Knows bytes, lines, cursors and keys, but no format. A changed document is read again from its start. The key of an event comes from
its session, author's role, time as written and words, with a counter for repetitions, never from its position. So unchanged parts
keep their keys.

Also decides which prompts in the person's name are unconfirmed, for all clients: nothing shows that the person typed them.
"""

import codecs
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from kept.core.digest import hash_bytes, hash_texts
from kept.core.document import END
from kept.core.errors import SourceError
from kept.core.event import UNCONFIRMED_MARK, Author, Cursor, EventKind, Precision, Slice, ToolUse
from kept.core.handover import IGNORE
from kept.core.markup import parse_ids_line
from kept.core.pattern import compile_late
from kept.core.text import one_line
from kept.core.times import parse_instant
from kept.core.value import dataclass, field, replace
from kept.core.words import list_shapes
from kept.sources.drafts import EventDraft, content_text, count_note, relabel, requested_tool, safe_word, to_event, truncate_name
from kept.sources.json_lines import REWRITTEN, Outcome, make_slice
from kept.sources.records import SLICE_EVENTS, RecordPlace, open_source, refuse_wide_text

# A document is held several times while it is read (bytes, lines, sections); these limits keep that under 200 MB.
DOCUMENT_LIMIT = 16 * 2**20
ROWS_LIMIT = 150_000
# An id of this length is globally unique; a shorter one only within its session.
_GLOBAL_ID = 16
_OURS, _OURS_END = "<!-- kept:begin", "<!-- kept:end -->"


class Row(NamedTuple):
    """A line of text without its line break, and its byte range [start, end) including it."""

    text: str
    start: int
    end: int


class Snapshot(NamedTuple):
    """Identifies the state of a file: its inode, its length in bytes, a hash of them."""

    inode: int
    size: int
    mark: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentEntry:
    """A record of a document: what was said in it, or why there is nothing (by default: no text).

    ``session`` is the record's own, if a file contains several.
    """

    place: RecordPlace
    said: tuple[EventDraft, ...] = ()
    dropped: str = "no-text"
    noted: Mapping[str, int] = field(default_factory=dict)
    session: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceDocument:
    """A conversation or note: its identity and its records in order. ``session`` is the same in every copy of it."""

    session: str
    entries: tuple[DocumentEntry, ...]
    project: str = ""
    branch: str = ""


def close_document(
    rows: Sequence[Row], entries: list[DocumentEntry], notes: Mapping[str, int], *, dropped: str = "no-text"
) -> tuple[DocumentEntry, ...]:
    """The records of a document, at least one; the first one carries the document's own notes."""
    first = entries[0] if entries else DocumentEntry(place=RecordPlace(1, 0, rows[-1].end if rows else 0), dropped=dropped)
    return (replace(first, noted={**first.noted, **notes}), *entries[1:])


def draft_message(reason: str, written: Any, started: datetime | None, *, native: Any, parent: Any = None) -> EventDraft:
    """A draft of a message with its time as written, or else that of its conversation."""
    at = parse_instant(written)
    precision = Precision.MESSAGE if at else Precision.SESSION
    return EventDraft(
        reason=reason, at=at or started, precision=precision, native=truncate_name(native), parent=truncate_name(parent)
    )


def leave_out(document: SourceDocument, event_draft: EventDraft) -> SourceDocument:
    """A note that opts out: its first record starts with a prompt that says so, which excludes the session."""
    first, *others = document.entries
    marker = replace(event_draft, kind=EventKind.PROMPT, author=Author.HUMAN, text=IGNORE)
    return replace(document, entries=(replace(first, drafts=(marker, *first.drafts)), *others))


def read_document(
    path: Path, cursor: Cursor, parse: Callable[[list[Row]], SourceDocument], *, setting: str = ""
) -> Iterator[Slice]:
    """Read a text document, unless the cursor already knows this state, in slices of whole records.

    ``setting`` is anything else that affects the result: if it changes, the document counts as changed.

    The cursor's offset is 0 until the last slice; its line counts the finished records, and its prefix identifies the document.
    Raises SourceError if the file is not regular, too large, not UTF-8, or binary.
    """
    if found := read_new_state(path, cursor, setting=setting):
        data, snapshot = found
        yield from split_slices(path, cursor, snapshot, to_outcomes(parse(blank_own_blocks(split_rows(data, path))), str(path)))


def read_new_state(path: Path, cursor: Cursor, *, limit: int | None = None, setting: str = "") -> tuple[bytes, Snapshot] | None:
    """Return the bytes of a file and its state; None if the cursor already knows this state. Raises SourceError."""
    limit = DOCUMENT_LIMIT if limit is None else limit
    with open_source(path) as file:
        info = os.fstat(file.fileno())
        if info.st_size > limit:
            raise SourceError(f"is larger than {limit // 2**20} MB", where=str(path), hint="split it")
        data = file.read(limit)
    snapshot = Snapshot(info.st_ino, len(data), hash_bytes(data, setting))
    return None if (cursor.offset, cursor.prefix) == snapshot[1:] else (data, snapshot)


def split_slices(path: Path, cursor: Cursor, snapshot: Snapshot, outcomes: Iterator[Outcome]) -> Iterator[Slice]:
    """Yield slices of a document's outcomes, without those that the cursor has from the same state."""
    done = cursor.line if (cursor.offset, cursor.prefix) == (0, snapshot.mark) else 0
    noted = {REWRITTEN: 1} if cursor.prefix and not done else {}
    parts = _split_outcomes(islice(outcomes, done, None))
    part = next(parts, None)
    while part is not None:
        after = next(parts, None)
        done += len(part)
        reached = Cursor(inode=snapshot.inode, offset=snapshot.size if after is None else 0, prefix=snapshot.mark, line=done)
        yield make_slice(path, part, reached, noted=noted)
        part, noted = after, {}


def _split_outcomes(outcomes: Iterable[Outcome]) -> Iterator[list[Outcome]]:
    """Split outcomes into runs of about as many events as a slice has; one empty run if there are none."""
    part: list[Outcome] = []
    events = parts = 0
    for outcome in outcomes:
        part.append(outcome)
        events += len(outcome.events)
        if events >= SLICE_EVENTS:
            yield part
            part, events, parts = [], 0, parts + 1
    if part or not parts:
        yield part


def split_rows(data: bytes, path: Path) -> list[Row]:
    """Split UTF-8 text into lines with any line ends; a byte order mark is skipped. Raises SourceError for anything else."""
    refuse_wide_text(path, data[:4])
    if b"\0" in data:
        raise SourceError("is not text: it holds zero bytes", where=str(path))
    if data.count(b"\n") + data.count(b"\r") > ROWS_LIMIT:
        raise SourceError(f"has more than {ROWS_LIMIT} lines", where=str(path), hint="split it")
    position = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    rows = []
    for raw in data[position:].splitlines(keepends=True):
        end = position + len(raw)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            if end < len(data) or error.reason != "unexpected end of data":
                raise SourceError(
                    f"is not UTF-8: byte {position + error.start}",
                    where=str(path),
                    hint="convert it to UTF-8; nothing of it was read",
                ) from error
            text = raw[: error.start].decode("utf-8")  # a writer stopped in the middle of a character
        rows.append(Row(text.rstrip("\r\n"), position, end))
        position = end
    return rows


def sniff_rows(head: bytes, path: Path) -> list[Row]:
    """The lines of a file's first bytes, to recognize its format; other encodings are tolerated here, and refused when reading."""
    try:
        return split_rows(head, path)
    except SourceError:
        narrow = head.replace(b"\0", b"").lstrip(b"\xff\xfe")
        return split_rows(narrow.decode("latin-1").encode(), path)


def blank_own_blocks(rows: list[Row]) -> list[Row]:
    """Blank the rows of kept's own section: nobody else wrote it, so it confirms nothing."""
    found = list(rows)
    begin = None
    for number, row in enumerate(rows):
        if row.text.startswith(_OURS):
            begin = number - (number > 0 and rows[number - 1].text.startswith("## "))  # the block's heading is blanked with it
        elif row.text.rstrip() == _OURS_END and begin is not None:
            found[begin : number + 1] = [row._replace(text="") for row in rows[begin : number + 1]]
            begin = None
    return found


def is_own_document(rows: list[Row]) -> bool:
    """True if Markdown is kept's own: it ends like the files that kept writes, or contains only kept's section."""
    left = [text for row in blank_own_blocks(rows) if (text := row.text.strip())]
    return bool(rows) and (not left or (parse_ids_line(left[-1]) or ("",))[0] == END)


def rows_place(rows: Sequence[Row], first: int, after: int) -> RecordPlace:
    """The place of the rows [first, after)."""
    return RecordPlace(first + 1, rows[first].start, rows[max(first, after - 1)].end)


# The elements in which editors put the prompt itself, the last one of its kind; around it they put context.
_REQUESTS = ("userRequest", "user_query", "user_request")


def split_prompt(text: str, reason: str, template: EventDraft) -> tuple[list[EventDraft], Mapping[str, int]]:
    """Split a text in the person's name into their own words and what a program added around them."""
    removed: dict[str, int] = {}
    template = replace(template, kind=EventKind.PROMPT, reason=reason)
    typed, around = _unwrap(text.strip())
    drafts = template.typed(typed, removed)
    if around:
        drafts.append(replace(template, author=Author.INJECTED, reason="editor-context", text=around))
    return drafts, removed


def block_drafts(
    blocks: Iterable[Mapping[str, Any]], template: EventDraft, noted: dict[str, int], *, answers: str = ""
) -> list[EventDraft]:
    """Drafts from the blocks of a message in Anthropic's form: a person's words, or the assistant's (``answers`` is the reason for
    those) with its calls and their results. Blocks of other types are noted.
    """
    drafts: list[EventDraft] = []
    answer = template.answer("", answers)
    for block in blocks:
        text = content_text(block.get("text"))
        match block.get("type"):
            case "text" if not answers:
                typed, removed = split_prompt(text, template.reason, template)
                drafts += typed
                noted |= removed
            case "text":
                drafts += [replace(answer, text=text)] if text else []
            case "tool_use" if answers:
                drafts.append(answer.call(requested_tool(block.get("name"), block.get("id"), block.get("input"))))
            case "tool_result":
                failed = block.get("is_error")
                ok = not failed if isinstance(failed, bool) else None
                tool = ToolUse(name=truncate_name(block.get("name")), call=truncate_name(block.get("tool_use_id")), ok=ok)
                drafts.append(answer.output(content_text(block.get("content")), tool, noted))
            case kind:
                count_note(noted, f"block:{safe_word(kind)}")
    return drafts


def _unwrap(text: str) -> tuple[str, str]:
    """Split a prompt into the person's words and what an editor added around them."""
    if not text.startswith("<"):
        return text, ""
    for tag in _REQUESTS:
        start, end = text.rfind(f"<{tag}>"), text.rfind(f"</{tag}>")
        if 0 <= start < end:
            inner = start + len(tag) + 2
            return text[inner:end].strip(), (text[:start] + text[end + len(tag) + 3 :]).strip()
    position = 0
    while position < len(text) and text[position] == "<":
        tag = text[position + 1 : text.find(">", position, position + 200)].partition(" ")[0]
        if tag not in list_shapes("clients", "surroundings"):
            break
        end = text.find(f"</{tag}>", position)
        if end < 0:
            return "", text
        position = end + len(tag) + 3
        while position < len(text) and text[position].isspace():
            position += 1
    return text[position:], text[:position].strip()


class Repetitions:
    """Counts the occurrences of keys, in bounded memory.

    If there are too many keys they are dropped, and all counts continue from a number that none of them had.
    """

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._base = 0

    def next_number(self, key: str) -> int:
        """A number that no earlier occurrence of the key got; 0 for the first one."""
        if len(self._counts) >= ROWS_LIMIT:
            self._base += self._counts.total()
            self._counts.clear()
        found = self._base + self._counts[key]
        self._counts[key] += 1
        return found


def to_outcomes(document: SourceDocument, path: str, repeated: Repetitions | None = None) -> Iterator[Outcome]:
    """Yield the events of a document's records, with their keys; ``repeated`` counts the keys of earlier parts of the file."""
    repeated = repeated or Repetitions()
    for entry in document.entries:
        session = truncate_name(entry.session or document.session)
        counted = Counter[str]()
        events = []
        for draft in entry.drafts:
            if draft.native:
                native = truncate_name(draft.native)
                key = native if len(native) >= _GLOBAL_ID else hash_texts(session, native)
                count, counted[key] = counted[key], counted[key] + 1
            else:
                call = draft.tool.call if draft.tool else ""
                key = hash_texts(session, draft.kind, draft.stamp, call, one_line(draft.text))
                count = repeated.next_number(key)
            event = to_event(
                draft,
                key=key + (f"#{count}" if count else ""),
                session=session,
                at=draft.at,
                precision=draft.precision,
                pointer=entry.place.pointer(path),
                project=document.project,
                branch=document.branch,
                record=truncate_name(draft.native),
                parent=truncate_name(draft.parent),
                turn=truncate_name(draft.turn),
            )
            events.append(event)
        yield Outcome(events=tuple(events), dropped="" if events else entry.dropped, noted=entry.noted)


def label_unconfirmed(pieces: Sequence[EventDraft], noted: dict[str, int], mark: str) -> list[EventDraft]:
    """Mark prompts in the person's name that a program or agent may have sent as unconfirmed, which holds what they tell; ``mark``
    is the reason in the account.
    """
    own = [piece.kind is EventKind.PROMPT and piece.author is Author.HUMAN for piece in pieces]
    if any(own):
        count_note(noted, f"unconfirmed-prompt:{mark}")
    return [
        replace(piece, reason=f"{UNCONFIRMED_MARK}{piece.reason}") if unsure else piece
        for piece, unsure in zip(pieces, own, strict=True)
    ]


def doubt_entry(entry: DocumentEntry) -> DocumentEntry:
    """Mark the prompt of an entry as unconfirmed, because its heading may belong to the text above it."""
    noted = dict(entry.noted)
    return replace(entry, drafts=tuple(label_unconfirmed(entry.drafts, noted, "heading")), noted=noted)


# Folders for temporary files and on build machines.
_UNATTENDED = compile_late(
    r"^(?:/private)?/(?:tmp|var/tmp|var/folders)(?:/|$)|^/dev/shm(?:/|$)|^/(?:github/workspace|__w|builds)(?:/|$)"
    r"|^/home/(?:runner|circleci|vsts)/"
    r"|^/(?:var/lib/)?(?:jenkins|buildkite-agent)(?:/|$)|^[A-Za-z]:\\(?:Users\\[^\\]+\\AppData\\Local\\Temp|Windows\\Temp"
    r"|a)(?:\\|$)"
)

PRINTED = "sdk-cli"  # the entry point of `claude -p`, at a terminal or in a script
# Prefixes of Claude Code's entry points and Codex's originators that a program uses: a library, a build action, a server.
_PROGRAMS = ("sdk", "codex_sdk", "claude-code-github-action", "mcp")


def is_sdk(entry: object) -> bool:
    """True if a program started the session: with a client's library, a build action, or a server."""
    return isinstance(entry, str) and entry.startswith(_PROGRAMS) and entry != PRINTED


def is_unattended(folder: object) -> bool:
    """True if no person works in a session's folder; an unknown folder counts as such."""
    return not isinstance(folder, str) or not folder or bool(_UNATTENDED.search(folder))


def label_as_program(pieces: Sequence[EventDraft], noted: dict[str, int], mark: str) -> list[EventDraft]:
    """Relabel prompts as a program's; ``mark`` is the reason in the account."""
    count_note(noted, f"program-prompt:{mark}")
    return relabel(pieces, Author.INJECTED, "machine-session")
