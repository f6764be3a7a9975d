"""Read files as whole documents, and make events of their records.

A changed document is read again from its start. The key of an event is the record's id. Without an id, the key is a hash of the
session, the kind, the time as written and the words, with a counter for repetitions. Unchanged parts therefore keep their keys.

For all clients, this module also labels two kinds of prompts in the person's name: those that a program sent, and those that the
person may not have typed.
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
from kept.core.event import UNCONFIRMED_MARK, Author, Cursor, EventKind, Precision, Slice
from kept.core.fence import IGNORE
from kept.core.markup import parse_ids_line
from kept.core.pattern import compile_late
from kept.core.text import one_line
from kept.core.times import parse_instant
from kept.core.value import dataclass, field, replace
from kept.core.words import list_shapes
from kept.sources.drafts import EventDraft, relabel, requested_tool, result_tool, to_event
from kept.sources.fields import Fields, Notes, safe_word, truncate_name
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
    """The state of a file: its inode, its length in bytes, and a hash of its bytes."""

    inode: int
    size: int
    mark: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentEntry:
    """A record of a document: drafts of its events, or the reason why it has none.

    ``session`` is set only if one file contains several sessions.
    """

    place: RecordPlace
    drafts: tuple[EventDraft, ...] = ()
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
    """The records of a document, at least one. The first one gets the notes about the whole document."""
    first = entries[0] if entries else DocumentEntry(place=RecordPlace(1, 0, rows[-1].end if rows else 0), dropped=dropped)
    return (replace(first, noted={**first.noted, **notes}), *entries[1:])


def draft_message(reason: str, written: Any, started: datetime | None, *, native: Any, parent: Any = None) -> EventDraft:
    """A draft of a message. Its time is ``written`` if that can be parsed, else ``started``, the start of its conversation."""
    at = parse_instant(written)
    precision = Precision.MESSAGE if at else Precision.SESSION
    return EventDraft(
        reason=reason, at=at or started, precision=precision, native=truncate_name(native), parent=truncate_name(parent)
    )


def opt_out(document: SourceDocument, template: EventDraft) -> SourceDocument:
    """Exclude a note that opts out: its first record gets a prompt with the opt-out phrase, which excludes the session."""
    first, *others = document.entries
    marker = replace(template, kind=EventKind.PROMPT, author=Author.HUMAN, text=IGNORE)
    return replace(document, entries=(replace(first, drafts=(marker, *first.drafts)), *others))


def read_document(
    path: Path, cursor: Cursor, parse: Callable[[list[Row]], SourceDocument], *, setting: str = ""
) -> Iterator[Slice]:
    """Yield the slices of a text document, each of whole records. Yields none if this state of the file was read
    to its end.

    ``setting`` is anything else that affects the result; if it changes, the document counts as changed. Until the last slice, the
    cursor's offset is 0, its line counts the finished records, and its prefix identifies the state.

    Raises SourceError if the file is not regular, too large, not UTF-8, or binary.
    """
    if found := read_new_state(path, cursor, setting=setting):
        data, snapshot = found
        yield from split_slices(path, cursor, snapshot, to_outcomes(parse(blank_own_blocks(split_rows(data, path))), str(path)))


def read_new_state(path: Path, cursor: Cursor, *, limit: int | None = None, setting: str = "") -> tuple[bytes, Snapshot] | None:
    """Return the bytes of a file and its state; None if the cursor is at the end of this state. Raises SourceError."""
    limit = limit or DOCUMENT_LIMIT
    with open_source(path) as file:
        info = os.fstat(file.fileno())
        if info.st_size > limit:
            raise SourceError(f"is larger than {limit // 2**20} MB", where=str(path), hint="split it")
        data = file.read(limit)
    snapshot = Snapshot(info.st_ino, len(data), hash_bytes(data, setting))
    return None if (cursor.offset, cursor.prefix) == snapshot[1:] else (data, snapshot)


def split_slices(path: Path, cursor: Cursor, snapshot: Snapshot, outcomes: Iterator[Outcome]) -> Iterator[Slice]:
    """Yield slices of a document's outcomes. If the cursor belongs to this state of the file, outcomes before it are skipped."""
    done = cursor.line if (cursor.offset, cursor.prefix) == (0, snapshot.mark) else 0
    noted = {REWRITTEN: 1} if cursor.prefix and not done else {}
    part: list[Outcome] = []
    events = 0
    for outcome in islice(outcomes, done, None):
        if events >= SLICE_EVENTS:
            yield make_slice(path, part, Cursor(inode=snapshot.inode, prefix=snapshot.mark, line=done), noted=noted)
            part, events, noted = [], 0, {}
        part.append(outcome)
        events += len(outcome.events)
        done += 1
    reached = Cursor(inode=snapshot.inode, offset=snapshot.size, prefix=snapshot.mark, line=done)
    yield make_slice(path, part, reached, noted=noted)


def split_rows(data: bytes, path: Path) -> list[Row]:
    """Split UTF-8 text into lines, whatever their line ends. Skips a byte order mark. Raises SourceError for any other encoding."""
    refuse_wide_text(path, data[:4])
    if b"\0" in data:
        raise SourceError("is not text: it contains zero bytes", where=str(path))
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
    """The lines of a file's first bytes, to recognize its format. Other encodings are refused only when the file is read."""
    try:
        return split_rows(head, path)
    except SourceError:
        narrow = head.replace(b"\0", b"").lstrip(b"\xff\xfe")
        return split_rows(narrow.decode("latin-1").encode(), path)


def blank_own_blocks(rows: list[Row]) -> list[Row]:
    """Blank the rows of the section that kept writes into notes, so that kept does not learn from its own words."""
    blanked = list(rows)
    begin = None
    for number, row in enumerate(rows):
        if row.text.startswith(_OURS):
            begin = number - (number > 0 and rows[number - 1].text.startswith("## "))  # the block's heading is blanked with it
        elif row.text.rstrip() == _OURS_END and begin is not None:
            blanked[begin : number + 1] = [row._replace(text="") for row in rows[begin : number + 1]]
            begin = None
    return blanked


def is_own_document(rows: list[Row]) -> bool:
    """True if kept wrote a Markdown file: it ends like kept's files, or contains nothing but kept's section."""
    left = [text for row in blank_own_blocks(rows) if (text := row.text.strip())]
    return bool(rows) and (not left or (parse_ids_line(left[-1]) or ("",))[0] == END)


def rows_place(rows: Sequence[Row], first: int, after: int) -> RecordPlace:
    """The byte range and first line number of the rows [first, after)."""
    return RecordPlace(first + 1, rows[first].start, rows[max(first, after - 1)].end)


# Editors put the prompt into one of these elements, with context around it. If an element occurs twice, the last one counts.
_REQUESTS = ("userRequest", "user_query", "user_request")


def split_prompt(text: str, template: EventDraft, noted: Notes) -> list[EventDraft]:
    """Split a text in the user's name into the person's own words, which get the template's reason, and additions by programs."""
    typed, around = _unwrap(text.strip())
    drafts = template.typed(typed, noted)
    return [*drafts, template.injected(around, "editor-context")] if around else drafts


def block_drafts(blocks: Iterable[Fields], template: EventDraft, noted: Notes, *, answers: str = "") -> list[EventDraft]:
    """Make drafts from the blocks of a message in Anthropic's form. Blocks of unknown types are counted in ``noted``.

    ``answers`` is the reason given to the assistant's texts and calls. If it is empty, the message is a person's.
    """
    drafts: list[EventDraft] = []
    answer = template.answer("", answers)
    for block in blocks:
        text = block.text("text")
        match block.get("type"):
            case "text" if not answers:
                drafts += split_prompt(text, template, noted)
            case "text":
                drafts += [replace(answer, text=text)] if text else []
            case "tool_use" if answers:
                drafts.append(answer.call(requested_tool(block.get("name"), block.get("id"), block.get("input"))))
            case "tool_result":
                tool = result_tool(block.get("name"), block.get("tool_use_id"), block.get("is_error"))
                drafts.append(answer.output(block.text("content"), tool, noted))
            case kind:
                noted[f"block:{safe_word(kind)}"] += 1
    return drafts


def _unwrap(text: str) -> tuple[str, str]:
    """Split a prompt into the person's own words and the text that an editor added around them."""
    for tag in _REQUESTS:
        start, end = text.rfind(f"<{tag}>"), text.rfind(f"</{tag}>")
        # Below other text, an element counts only if it begins a line and ends the prompt: a person may write about it.
        whole = text.startswith("<") or (text[start - 1 : start] == "\n" and text.endswith(f"</{tag}>"))
        if 0 <= start < end and whole:
            inner = start + len(tag) + 2
            return text[inner:end].strip(), (text[:start] + text[end + len(tag) + 3 :]).strip()
    position = 0
    while text.startswith("<", position):
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
    """Counts the occurrences of keys in bounded memory. With too many keys, it drops them and goes on from unused numbers."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._base = 0

    def next_number(self, key: str) -> int:
        """A number that no earlier occurrence of the key got. The first occurrence gets 0, unless keys were dropped before."""
        if len(self._counts) >= ROWS_LIMIT:
            self._base += self._counts.total()
            self._counts.clear()
        self._counts[key] += 1
        return self._base + self._counts[key] - 1


def to_outcomes(document: SourceDocument, path: str, repeated: Repetitions | None = None) -> Iterator[Outcome]:
    """Yield the outcome of each record of a document. ``repeated`` counts the keys of earlier parts of the file."""
    repeated = repeated or Repetitions()
    for entry in document.entries:
        session = truncate_name(entry.session or document.session)
        numbered = Counter[str]()
        events = []
        for draft in entry.drafts:
            if draft.native:
                native = truncate_name(draft.native)
                key = native if len(native) >= _GLOBAL_ID else hash_texts(session, native)
                count = numbered[key]
                numbered[key] += 1
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


def label_unconfirmed(drafts: Sequence[EventDraft], noted: Notes, cause: str) -> list[EventDraft]:
    """Label prompts in the person's name as unconfirmed, because somebody else may have written or sent them. Memories from such
    prompts are held for review. The account counts ``cause``.
    """
    labelled = [
        replace(draft, reason=f"{UNCONFIRMED_MARK}{draft.reason}")
        if draft.kind is EventKind.PROMPT and draft.author is Author.HUMAN
        else draft
        for draft in drafts
    ]
    if labelled != list(drafts):
        noted[f"unconfirmed-prompt:{cause}"] += 1
    return labelled


def label_entry_unconfirmed(entry: DocumentEntry) -> DocumentEntry:
    """Label the prompt of an entry as unconfirmed, because its heading may be part of the text above it."""
    noted = Notes(entry.noted)
    return replace(entry, drafts=tuple(label_unconfirmed(entry.drafts, noted, "heading")), noted=noted)


# Folders for temporary files, and folders of build machines.
_UNATTENDED = compile_late(
    r"^(?:/private)?/(?:tmp|var/tmp|var/folders)(?:/|$)|^/dev/shm(?:/|$)|^/(?:github/workspace|__w|builds)(?:/|$)"
    r"|^/home/(?:runner|circleci|vsts)/"
    r"|^/(?:var/lib/)?(?:jenkins|buildkite-agent)(?:/|$)|^[A-Za-z]:\\(?:Users\\[^\\]+\\AppData\\Local\\Temp|Windows\\Temp"
    r"|a)(?:\\|$)"
)

PRINTED = "sdk-cli"  # the entry point of `claude -p`, at a terminal or in a script
# Claude Code and Codex record what started a session. These prefixes name programs: a library, a build action, a server.
_PROGRAMS = ("sdk", "codex_sdk", "claude-code-github-action", "mcp")


def is_program(client: object) -> bool:
    """True if the recorded starter of a session is a program: a client's library, a build action, or a server."""
    return isinstance(client, str) and client.startswith(_PROGRAMS) and client != PRINTED


def is_unattended(folder: object) -> bool:
    """True if no person works in a session's folder, because it is temporary, on a build machine, or unknown."""
    return not isinstance(folder, str) or not folder or bool(_UNATTENDED.search(folder))


def label_as_program(drafts: Sequence[EventDraft], noted: Notes, cause: str) -> list[EventDraft]:
    """Label prompts as sent by a program. The account counts ``cause``."""
    noted[f"program-prompt:{cause}"] += 1
    return relabel(drafts, Author.INJECTED, "machine-session")
