"""Read the data exports of ChatGPT and Claude.ai: a ZIP, or the JSON file of conversations from it. The JSON array may have any
length, because it is read element by element in bounded memory.

A record is a message (for ChatGPT, a node of the conversation's tree). A conversation without messages has one record. Only members
named ``conversations*.json`` are opened, and nothing is unpacked to disk. Until the whole file was read, the cursor's offset is 0
and its carry counts the finished conversations.
"""

import json
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, Protocol

from kept.core.errors import SourceError
from kept.core.event import Cursor, Slice, ToolUse
from kept.core.pattern import compile_late
from kept.core.times import EARLIEST, parse_instant
from kept.core.value import dataclass, field
from kept.sources.documents import (
    DocumentEntry,
    SourceDocument,
    block_drafts,
    draft_message,
    label_unconfirmed,
    split_prompt,
    to_outcomes,
)
from kept.sources.drafts import truncate_text
from kept.sources.fields import Fields, Notes, content_text, safe_word, truncate_name
from kept.sources.json_lines import REWRITTEN, Outcome, hash_prefix, make_slice
from kept.sources.records import (
    HEAD_BYTES,
    LINE_LIMIT,
    SLICE_BYTES,
    SLICE_EVENTS,
    STRIDE,
    Record,
    RecordFault,
    RecordPlace,
    Reject,
    SourceLine,
    open_regular,
    open_source,
    parse_line,
    refuse_wide_text,
)
from kept.sources.roles import parse_role


def translate_chatgpt(value: Fields, place: RecordPlace) -> SourceDocument:
    """Translate a conversation of the export, with a record for each node of its tree."""
    session = value.name("conversation_id") or value.name("id")
    nodes = value.mapping("mapping")
    if value.get("is_do_not_remember") or value.get("is_temporary_chat"):
        entries = [DocumentEntry(place=place, dropped="do-not-remember") for _ in nodes]
    else:
        chain = _active_branch(nodes, value.get("current_node"))
        started = parse_instant(value.get("create_time"))
        entries = [_read_node(node, nodes[node], place, started) for node in chain]
        entries += [DocumentEntry(place=place, dropped=_off_path(nodes[node])) for node in nodes.keys() - set(chain)]
    return SourceDocument(session=session, entries=tuple(entries or [DocumentEntry(place=place, dropped="empty-conversation")]))


def _off_path(node: Any) -> str:
    return "off-path" if isinstance(node, Fields) and isinstance(node.get("message"), Fields) else "no-message"


def _active_branch(nodes: Fields, current: Any) -> list[str]:
    """The ids from the root to the current node, or to the youngest leaf if there is no current node. A cycle ends the branch."""
    if not isinstance(current, str) or current not in nodes:
        leaves = [node for node, value in nodes.items() if isinstance(value, Fields) and not value.get("children")]
        current = max(leaves, key=lambda node: _creation_time(nodes[node]), default=None)
    chain: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in chain:
        chain[current] = None
        node = nodes[current]
        current = node.get("parent") if isinstance(node, Fields) else None
    return list(reversed(chain))


def _creation_time(node: Fields) -> float:
    created = node.mapping("message").get("create_time")
    return float(created) if isinstance(created, int | float) else 0.0


_SPEECH = ("text", "multimodal_text")
_THINKING = ("thoughts", "reasoning_recap")


def _read_node(node: str, value: Any, place: RecordPlace, started: datetime | None) -> DocumentEntry:
    """Read a node of the branch."""
    message = value.get("message") if isinstance(value, Fields) else None
    if not isinstance(message, Fields):
        return DocumentEntry(place=place, dropped="no-message")
    author, metadata, content = (message.mapping(key) for key in ("author", "metadata", "content"))
    role, kind = author.get("role"), content.get("content_type")
    if metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message"):
        return DocumentEntry(place=place, dropped="hidden")
    if kind in ("user_editable_context", "model_editable_context"):
        return DocumentEntry(place=place, dropped="hidden-context")
    if kind in _THINKING or message.get("channel") == "analysis":
        return DocumentEntry(place=place, dropped="thinking")
    if role not in ("user", "assistant"):
        return DocumentEntry(place=place, dropped=f"role:{safe_word(role)}")
    native, parent = message.name("id") or node, value.get("parent")
    template = draft_message("export:user", message.get("create_time"), started, native=native, parent=parent)
    text, noted = _read_parts(content)
    if role == "user" and kind not in _SPEECH:
        return DocumentEntry(place=place, dropped=f"content:{safe_word(kind)}")
    recipient, answer = message.get("recipient"), template.answer(text, "export:assistant")
    if role == "user" and (mark := _not_typed(message, metadata)):
        drafts = [template.injected(text, mark)] if text else []
    elif role == "user":
        drafts = split_prompt(text, template, noted)
        if (name := author.get("name")) and (not isinstance(name, str) or parse_role(name) is None):
            drafts = label_unconfirmed(drafts, noted, "named")  # the message names one of several authors, perhaps a program
    elif text and isinstance(recipient, str) and recipient not in ("all", ""):
        drafts = [answer.call(ToolUse(name=truncate_name(recipient), target=truncate_text(text)))]
    else:
        drafts = [answer] if text else []
    return DocumentEntry(place=place, drafts=tuple(drafts), noted=noted)


def _not_typed(message: Fields, metadata: Fields) -> str:
    """Why nobody typed a message in the user's role: a scheduled task sent it, it is a call, or the model did not get it. Empty if
    somebody may have typed it.
    """
    marks = {
        "automation": metadata.get("is_automation") or metadata.get("automation_id"),
        "recipient": message.get("recipient") not in (None, "", "all"),
        "weight": message.get("weight") == 0,
    }
    return next((name for name, holds in marks.items() if holds), "")


def _read_parts(content: Fields) -> tuple[str, Notes]:
    """The words of a message's content, including transcribed speech, and the counts of other parts such as pictures."""
    noted = Notes()
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content.text("text"), noted
    texts = []
    for part in parts:
        if isinstance(part, Fields) and not isinstance(part.get("text"), str):
            noted[f"part:{part.word('content_type')}"] += 1
        else:
            texts.append(part)
    return content_text(texts), noted


def translate_claude_ai(value: Fields, place: RecordPlace) -> SourceDocument:
    """Translate a conversation of the export, with a record for each message."""
    messages = value.mappings("chat_messages")
    started = parse_instant(value.get("created_at"))
    path = _active_messages(messages)
    entries = [
        _read_message(message, place, started) if number in path else DocumentEntry(place=place, dropped="off-path")
        for number, message in enumerate(messages)
    ]
    session = value.name("uuid")
    return SourceDocument(session=session, entries=tuple(entries or [DocumentEntry(place=place, dropped="empty-conversation")]))


def _active_messages(messages: Sequence[Fields]) -> frozenset[int]:
    """The indices of the messages from the root to the youngest one; all messages if none names its parent."""
    numbers = {message["uuid"]: number for number, message in enumerate(messages) if isinstance(message.get("uuid"), str)}
    if not any(isinstance(message.get("parent_message_uuid"), str) for message in messages):
        return frozenset(range(len(messages)))
    times = [parse_instant(message.get("created_at")) or EARLIEST for message in messages]
    current: int | None = max(range(len(messages)), key=lambda number: (times[number], number))
    path: set[int] = set()
    while current is not None and current not in path:
        path.add(current)
        current = numbers.get(messages[current].get("parent_message_uuid"))
    return frozenset(path)


def _read_message(message: Fields, place: RecordPlace, started: datetime | None) -> DocumentEntry:
    """Read a message. Text of an attached file does not count as the person's words."""
    sender = message.get("sender")
    if sender not in ("human", "assistant"):
        return DocumentEntry(place=place, dropped=f"role:{safe_word(sender)}")
    native, parent = message.get("uuid"), message.get("parent_message_uuid")
    template = draft_message("export:human", message.get("created_at"), started, native=native, parent=parent)
    blocks = message.mappings("content")
    if not any(block.get("type") == "text" for block in blocks):
        blocks.append(Fields(type="text", text=message.get("text")))
    noted = Notes()
    drafts = block_drafts(blocks, template, noted, answers="export:assistant" if sender == "assistant" else "")
    for attachment in message.mappings("attachments"):
        if text := attachment.text("extracted_content"):
            drafts.append(template.injected(text, "attachment"))
    return DocumentEntry(place=place, drafts=tuple(drafts), noted=noted)


# Matches a string that ends in the same chunk. The pattern is possessive, so it does not backtrack.
_OUTSIDE = compile_late(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}]')
_INSIDE = compile_late(rb'["\\]')
_BETWEEN = b" \t\r\n,\xef\xbb\xbf"


class Readable(Protocol):
    """An object with a ``read`` method that returns no bytes at the end."""

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes."""


def read_elements(file: Readable) -> Iterator[SourceLine]:
    """Yield the elements of the JSON array at the file's position, or the single object there.

    Elements are numbered from 1. Byte ranges count from where reading started. ``data`` is None if an element exceeds the line
    limit. ``ended`` is False if the last element is truncated. Any other text between two elements is yielded as an element too.
    """
    piece = _ElementBuffer()
    depth = base = 0  # base is the nesting depth of elements: 1 within an array, else 0
    in_string = skip = False
    offset = 0
    while chunk := file.read(STRIDE):
        position, skip, done = int(skip), False, 0
        while match := (_INSIDE if in_string else _OUTSIDE).search(chunk, position):
            position, mark = match.end(), match.group()
            if mark == b"\\":
                skip = position == len(chunk)
                position += 1
            elif len(mark) > 1:
                continue
            elif mark == b'"':
                in_string = not in_string
            elif mark in b"[{":
                if depth == base:
                    enters = base == 0 and mark == b"["
                    yield from piece.finish(chunk[done : match.start()])
                    done, base = (position, 1) if enters else (match.start(), base)
                    piece.start = offset + done
                depth += 1
            else:
                depth = max(0, depth - 1)
                if depth > base:
                    continue
                ends = depth < base  # true at the end of the array
                yield from piece.finish(chunk[done : match.start() if ends else position])
                done, base = position, 0 if ends else base
                piece.start = offset + done
        piece.append(chunk[done:])
        offset += len(chunk)
    yield from piece.finish(b"", ended=depth <= base)


@dataclass(kw_only=True, slots=True)
class _ElementBuffer:
    """Collects the bytes of an element or of the text between two elements; discards them above the line limit."""

    number: int = 0
    start: int = 0
    length: int = 0
    kept: list[bytes] = field(default_factory=list)

    def append(self, data: bytes) -> None:
        self.length += len(data)
        self.kept = [*self.kept, data] if self.length <= LINE_LIMIT else []

    def finish(self, data: bytes, *, ended: bool = True) -> Iterator[SourceLine]:
        self.append(data)
        whole = b"".join(self.kept).strip(_BETWEEN)
        fits = self.length <= LINE_LIMIT
        if whole or not fits:
            self.number += 1
            end = self.start + self.length
            yield SourceLine(number=self.number, start=self.start, end=end, data=whole if fits else None, ended=ended)
        self.start, self.length, self.kept = self.start + self.length, 0, []


# The errors that the library raises for a damaged or encrypted archive, or an unknown compression.
_ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OverflowError, struct.error)
_MEMBER = compile_late(r"conversations(?:[-_]?\d{1,6})?\.json")
# The library reads the directory of a ZIP at once. 16 MB of directory hold about 200,000 members.
_DIRECTORY_LIMIT = 16 * 2**20
_UNPACKED_LIMIT = 4 * 2**30
# Text compresses by a factor of four to twenty, a ZIP bomb by a thousand.
_RATIO_LIMIT = 200
_RATIO_FROM = 2**20


Translate = Callable[[Fields, RecordPlace], SourceDocument]
"""A function that translates one conversation of an export, found at a place, to a document."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Export:
    """The reader of a data export. ``opening`` matches the start of its first conversation; ``translate`` reads a conversation."""

    name: str
    opening: re.Pattern[bytes]
    translate: Translate

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:  # noqa: ARG002 - the protocol's
        """Empty, because a person may save an export anywhere."""
        return ()

    def claims(self, path: Path, head: bytes) -> bool:
        """True if the first conversation has the structure of this export."""
        return _opens_with(path, head, self.opening)

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events of a new or changed export. Raises SourceError."""
        return _read_export(path, cursor, self.translate)


CHATGPT = Export(name="chatgpt", opening=compile_late(rb'"mapping"\s*+:\s*+\{'), translate=translate_chatgpt)
CLAUDE_AI = Export(name="claude-ai", opening=compile_late(rb'"chat_messages"\s*+:\s*+\['), translate=translate_claude_ai)


def _opens_with(path: Path, head: bytes, pattern: re.Pattern[bytes]) -> bool:
    if head.startswith(b"PK\x03\x04"):
        try:
            with open_regular(path) as file, closing(_open_members(path, file)) as members:
                head = next(members).file.read(HEAD_BYTES)
        except (OSError, SourceError):
            return False
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{") and pattern.search(head) is not None


def _read_export(path: Path, cursor: Cursor, translate: Translate) -> Iterator[Slice]:
    with open_source(path) as file:
        info = os.fstat(file.fileno())
        mark = hash_prefix(file, info.st_size)
        if (cursor.offset, cursor.prefix) == (info.st_size, mark):
            return
        carry = json.loads(cursor.carry)
        done = carry.get("done", 0) if carry.get("mark") == mark else 0
        noted = Counter({REWRITTEN: 1} if cursor != Cursor() and not done else {})
        number, gathered, pending = 0, 0, 0
        outcomes: list[Outcome | Reject] = []
        for member in _open_members(path, file):
            noted.update(member.beside)
            for element in read_elements(member.file):
                number += 1
                if number <= done:
                    continue
                if not element.ended:
                    pending += element.end - element.start
                    continue
                outcomes += _element_outcomes(path, element, number, translate)
                gathered += element.end - element.start
                if gathered >= SLICE_BYTES or len(outcomes) >= SLICE_EVENTS:
                    state = json.dumps({"done": number, "mark": mark})
                    yield make_slice(path, outcomes, Cursor(inode=info.st_ino, line=number, carry=state), noted=noted)
                    outcomes, gathered, noted = [], 0, Counter()
        reached = Cursor(inode=info.st_ino, offset=info.st_size, prefix=mark, line=number)
        yield make_slice(path, outcomes, reached, noted=noted, pending=pending)


def _element_outcomes(path: Path, element: SourceLine, number: int, translate: Translate) -> Iterator[Outcome | Reject]:
    for piece in parse_line(element._replace(number=number)):
        match piece:
            case Record():
                yield from to_outcomes(translate(piece.value, RecordPlace(number, element.start, element.end)), str(path))
            case Reject():
                yield piece
            case None:
                yield Reject(fault=RecordFault.NOT_AN_OBJECT, line=number, start=element.start, end=element.end)


class _Member(NamedTuple):
    """A file of conversations. The first one also has a note for each file of the export that is not read."""

    file: Readable
    beside: Sequence[str]


def _open_members(path: Path, file: BinaryIO) -> Generator[_Member, None, None]:
    """Yield the conversation files in a ZIP, sorted by name, or the file itself if it is not a ZIP.

    Raises SourceError for a ZIP bomb, or for a ZIP without conversations.
    """
    file.seek(0)
    opening = file.read(4)
    file.seek(0)
    if opening != b"PK\x03\x04":
        refuse_wide_text(path, opening)
        yield _Member(file, ())
        return
    _check_directory(path, file)
    with _refuse_damage(path):
        archive = zipfile.ZipFile(file)
    with archive:
        entries = archive.infolist()
        wanted = [entry for entry in entries if _MEMBER.fullmatch(entry.filename.rpartition("/")[2])]
        safe = sorted((entry for entry in wanted if _is_safe(entry.filename)), key=lambda entry: entry.filename)
        if not safe:
            raise SourceError("is a ZIP without conversations", where=str(path), hint="give the export as it was downloaded")
        total = sum(entry.file_size for entry in safe)
        # Members may overlap, so their compressed size is at most that of the file.
        packed = min(sum(entry.compress_size for entry in safe), os.fstat(file.fileno()).st_size)
        if total > _UNPACKED_LIMIT or (total > _RATIO_FROM and total > _RATIO_LIMIT * max(1, packed)):
            raise SourceError(
                f"would unpack from {packed:,} to {total:,} bytes",
                where=str(path),
                hint="an export is not compressed that much; download it again",
            )
        beside = ["unsafe-member"] * (len(wanted) - len(safe)) + ["other-member"] * (len(entries) - len(wanted))
        for entry in safe:
            with _refuse_damage(path):
                member = archive.open(entry)
            with member:
                yield _Member(_UnpackedMember(member, path), beside)
            beside = []


@dataclass(frozen=True, slots=True)
class _UnpackedMember:
    """The content of a member. The library returns at most the declared size, which was checked."""

    member: IO[bytes]
    path: Path

    def read(self, size: int, /) -> bytes:
        """Read the next bytes. Raises SourceError."""
        with _refuse_damage(self.path):
            return self.member.read(size)


@contextmanager
def _refuse_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except _ZIP_FAULTS as error:
        raise SourceError("is a damaged or encrypted ZIP", where=str(path), hint="download the export again") from error


def _is_safe(name: str) -> bool:
    return (
        not name.startswith(("/", "\\")) and ".." not in name.replace("\\", "/").split("/") and ":" not in name and "\0" not in name
    )


def _check_directory(path: Path, file: BinaryIO) -> None:
    """Raise SourceError if reading the directory of a ZIP would take too much memory."""
    size = os.fstat(file.fileno()).st_size
    tail = os.pread(file.fileno(), 66_000, max(0, size - 66_000))
    short, long = tail.rfind(b"PK\x05\x06"), tail.rfind(b"PK\x06\x06")
    try:
        length = struct.unpack_from("<I", tail, short + 12)[0] if short >= 0 else 0
        if length == 0xFFFFFFFF and long >= 0:
            length = struct.unpack_from("<Q", tail, long + 40)[0]
    except struct.error:
        length = 0
    if length > _DIRECTORY_LIMIT:
        raise SourceError("is a ZIP with too many members", where=str(path))
