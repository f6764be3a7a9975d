"""Read screens of Claude Code and Codex that were saved as text: copied from a terminal, exported, or captured by tmux.

A record is a block of the screen: a prompt, an answer, a call, a result, or a part of the client's interface. The last kind is
dropped, with its form as the reason. Terminal colours, titles and modes are removed from rows. Only the glyphs of the two clients
identify such a file (see ``blocks.py``). A screen of any length is read in bounded memory.
"""

import codecs
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO
from zoneinfo import ZoneInfo

from kept.core.errors import SourceError
from kept.core.event import Cursor, Slice
from kept.core.pattern import compile_late
from kept.core.text import word_set
from kept.core.value import dataclass
from kept.sources.documents import DocumentEntry, Repetitions, Row, Snapshot, SourceDocument, rows_place, split_slices, to_outcomes
from kept.sources.formats.console.blocks import SAID, BlockForm, ScreenBlock, is_blank, is_turn_start, split_blocks
from kept.sources.formats.console.events import ScreenState, read_entries
from kept.sources.formats.vault import UTC, conversation_stamp, find_project
from kept.sources.json_lines import Outcome
from kept.sources.markdown import FrontMatter, read_front_matter
from kept.sources.records import STRIDE, open_source, refuse_wide_text, wide_encoding
from kept.sources.roles import find_turns
from kept.sources.stamps import Stamp, find_stamp

# Sequences with which a program redraws rows above the cursor. The bytes then do not contain the final screen.
_REDRAWS = compile_late(rb"\x1b\[[0-9;]{0,20}[AFHLMSTdf]")
ROW_BYTES = 2**18  # bytes; a longer line is split into several rows
_CONTROL = compile_late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ESCAPE = compile_late(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


def snapshot_of(file: BinaryIO, path: Path) -> Snapshot:
    """The state of the file. Raises SourceError if the file is not UTF-8 text, or is a recording of a terminal."""
    info = os.fstat(file.fileno())
    file.seek(0)
    refuse_wide_text(path, file.read(4))
    file.seek(0)
    digest, decoder, position = blake2b(digest_size=16), codecs.getincrementaldecoder("utf-8")(), 0
    while data := file.read(STRIDE):
        digest.update(data)
        if b"\0" in data:
            raise SourceError("is not text: it contains zero bytes", where=str(path))
        try:
            decoder.decode(data)
        except UnicodeDecodeError as error:
            hint = "convert it to UTF-8; nothing of it was read"
            raise SourceError(f"is not UTF-8, near byte {position + error.start}", where=str(path), hint=hint) from error
        position += len(data)
        if _REDRAWS.search(data):
            hint = "copy the text from the screen into a file"
            raise SourceError("is the recording of a program that redraws its screen", where=str(path), hint=hint)
    return Snapshot(info.st_ino, position, digest.hexdigest())


def screen_rows(file: BinaryIO) -> Iterator[Row]:
    """Yield the rows of a file."""
    return (row for data, position in _split_bytes(file) for row in _parse_rows(data, position))


def _split_bytes(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield each line of a file with its position in bytes. A very long line comes in several pieces."""
    file.seek(0)
    position = 0
    while data := file.readline(ROW_BYTES):
        if len(data) == ROW_BYTES and not data.endswith(b"\n"):
            data = data[: _complete_length(data)]
            file.seek(position + len(data))
        yield data, position
        position += len(data)


def head_rows(head: bytes) -> list[Row]:
    """The rows of a file's first bytes, to recognize its format. Empty if they are not text or have no client's glyph. Other
    encodings are refused only when the file is read.
    """
    encoding = wide_encoding(head[:4])
    if encoding:
        head = head[: len(head) // 4 * 4].decode(encoding.lower(), "replace").encode("utf-8", "replace")
    elif b"\0" in head:
        return []
    if not any(glyph in head for glyph in _GLYPHS):
        return []
    return [row for number, line in enumerate(head.splitlines(keepends=True)) for row in _parse_rows(line, number)]


_GLYPHS = tuple(glyph.encode() for glyph in "⏺⎿❯●›▌└")


def _complete_length(data: bytes) -> int:
    """The length of the data in bytes, without an incomplete character at its end."""
    end = len(data)
    while end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if data[end - 1] >= 0xC0 else len(data)


def _parse_rows(data: bytes, position: int) -> Iterator[Row]:
    """Yield the rows of one line. A line that contains carriage returns has more than one row."""
    text = data.decode("utf-8", "replace").rstrip("\r\n")
    if position == 0:
        text = text.removeprefix("\ufeff")
    end = position + len(data)
    if not _CONTROL.search(text):
        yield Row(text.expandtabs(), position, end)
        return
    parts = _ESCAPE.sub("", text).split("\r")
    yield from (Row(part.expandtabs(), position, end) for part in parts)


_SUFFIXES = word_set(".md .markdown .mdx .txt .text .log .out .ansi .console .term .typescript .capture") | {""}
_OWNED = 0.5  # minimum share of rows within blocks with glyphs; a page that shows a screen as an example has less
_STRETCH_ROWS, _STRETCH_CHARACTERS = 3_000, 2**20
_LONGEST_STRETCH = 6  # maximum length in stretches if no row begins a turn


@dataclass(frozen=True, kw_only=True, slots=True)
class Console:
    """The reader of saved screens; ``zone`` is the time zone of their days."""

    zone: ZoneInfo = UTC
    name: str = "console"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:  # noqa: ARG002 - the protocol's
        """Empty, because a person may save a screen anywhere."""
        return ()

    def claims(self, path: Path, head: bytes) -> bool:
        """True if at least half of a text's rows look like a client's screen, and no speaker's name precedes them."""
        if path.suffix.lower() not in _SUFFIXES or head.startswith(b"<!-- Generated by SpecStory"):
            return False
        rows = head_rows(head)
        return bool(rows) and _is_screen(rows[read_front_matter(rows).rows :])

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events of a new or changed screen. Raises SourceError."""
        with open_source(path) as file:
            snapshot = snapshot_of(file, path)
            if (cursor.offset, cursor.prefix) == (snapshot.size, snapshot.mark):
                return
            yield from split_slices(path, cursor, snapshot, _read_outcomes(screen_rows(file), path, self.zone))


def _is_screen(rows: Sequence[Row]) -> bool:
    blocks = split_blocks(rows)
    if not _has_glyphs(blocks, rows):
        return False
    others = (BlockForm.UNLABELLED, BlockForm.HEADING, BlockForm.FENCE, BlockForm.RULE)
    anchor = next(block.first for block in blocks if block.form not in others)
    texts = sum(not is_blank(row.text) for row in rows)
    owned = sum(not is_blank(row.text) for block in blocks if block.form not in others for row in rows[block.first : block.after])
    return owned >= texts * _OWNED and not find_turns(rows[:anchor])[0]


def _has_glyphs(blocks: Sequence[ScreenBlock], rows: Sequence[Row]) -> bool:
    """True if the rows have a combination of glyphs that only one of the clients draws."""
    shown = [block for block in blocks if block.form in SAID and block.glyph]
    glyphs = {block.glyph for block in shown}
    prompted = any(block.form is BlockForm.PROMPT for block in shown)
    actions = sum(block.form in (BlockForm.ANSWER, BlockForm.CALL) for block in shown)
    furniture = any(block.form in (BlockForm.BANNER, BlockForm.COLLAPSED) or _is_spinner(block, rows) for block in blocks)
    if glyphs & {"⏺", "⎿"}:
        return len(shown) > 1 and (prompted or actions > 0)
    if glyphs & {"❯", "●"}:
        return prompted and actions > 0 and (furniture or "❯" in glyphs)
    if glyphs & {"›", "▌"}:
        return actions > 0 and (furniture or actions > 1 or bool(glyphs & {"▌", "└"}))
    return "└" in glyphs and any(block.form is BlockForm.CALL for block in shown)


def _is_spinner(block: ScreenBlock, rows: Sequence[Row]) -> bool:
    return block.form is BlockForm.STATUS and any(row.text[:1] in tuple("✻✽✶✳✢") for row in rows[block.first : block.after])


def _read_outcomes(rows: Iterator[Row], path: Path, zone: ZoneInfo) -> Iterator[Outcome]:
    opening = list(islice(rows, _STRETCH_ROWS))
    front = read_front_matter(opening)
    project = find_project(path)
    state = ScreenState(zone=zone, stamp=_file_stamp(front, path), folder=project, project=project)
    repeated = Repetitions()
    line = front.rows
    waiting: Iterable[DocumentEntry] = _front_entry(opening, front)
    for stretch in _split_stretches(chain(opening[front.rows :], rows)):
        for entry in chain(waiting, read_entries(stretch, line, state)):
            document = SourceDocument(session=state.session, entries=(entry,), project=state.project)
            yield from to_outcomes(document, str(path), repeated)
        waiting = ()
        line += len(stretch)
    yield from to_outcomes(SourceDocument(session="", entries=tuple(waiting)), str(path), repeated)


def _file_stamp(front: FrontMatter, path: Path) -> Stamp | None:
    """The day of a whole file, from its front matter, its name or its folder; None if none of them names a day."""
    return conversation_stamp(front, path) or find_stamp(path.parent.name)


def _front_entry(rows: Sequence[Row], front: FrontMatter) -> tuple[DocumentEntry, ...]:
    if not (front.rows or front.fault):
        return ()
    return (DocumentEntry(place=rows_place(rows, 0, max(1, front.rows)), dropped="front-matter", noted=front.fault_counts()),)


def _split_stretches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Split the rows into stretches of bounded length, which end before a row that begins a turn where there is one."""
    stretch: list[Row] = []
    size = 0
    for row in rows:
        full = max(len(stretch) / _STRETCH_ROWS, size / _STRETCH_CHARACTERS)
        if full >= _LONGEST_STRETCH or (full >= 1 and is_turn_start(row.text)):
            yield stretch
            stretch, size = [], 0
        stretch.append(row)
        size += len(row.text)
    if stretch:
        yield stretch
