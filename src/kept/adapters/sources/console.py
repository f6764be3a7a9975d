"""Screens of Claude Code and Codex that were saved as text: copied out of a terminal, exported, captured by tmux or ``script``.

A record is a block of the screen: a prompt, an answer, a call, a result, or a piece of furniture, which is dropped by its kind. Only the
glyphs of the two clients decide that a file is such a screen, see ``console_blocks``. A screen of any length is read in bounded memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.adapters.sources.console_blocks import SAID, Block, Form, blocks_of, is_blank, opens_turn
from kept.adapters.sources.console_events import Reading, entries_of
from kept.adapters.sources.console_screen import head_rows, screen_rows, snapshot_of
from kept.adapters.sources.documents import Document, Entry, Repetitions, Row, outcomes_of, place_of, slices_of, unreadable
from kept.adapters.sources.folding import Outcome
from kept.adapters.sources.frontmatter import FrontMatter, read_front_matter
from kept.adapters.sources.records import open_regular
from kept.adapters.sources.roles import find_turns
from kept.adapters.sources.stamps import Stamp, find_stamp
from kept.adapters.sources.vault import UTC, project_of, stamp_of
from kept.model.event import Cursor, Slice

_SUFFIXES = (
    "",
    ".md",
    ".markdown",
    ".mdx",
    ".txt",
    ".text",
    ".log",
    ".out",
    ".ansi",
    ".console",
    ".term",
    ".typescript",
    ".capture",
)
_OWNED = 0.5  # the least share of rows that blocks of a screen hold; a page that shows a screen as an example has fewer
_STRETCH_ROWS, _STRETCH_CHARACTERS = 3_000, 2**20
_LONGEST_STRETCH = 6  # so many times as long a stretch may become while no row begins a turn


@dataclass(frozen=True, kw_only=True, slots=True)
class Console:
    """The reader of saved screens; ``zone`` is where their days are."""

    zone: ZoneInfo = UTC
    name: str = "console"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:  # noqa: ARG002 - the protocol's
        """None: such a file lies where a person says."""
        return ()

    def claims(self, path: Path, head: bytes) -> bool:
        """Whether most rows of a text are those of a client's screen, and no speaker's name stands before them."""
        if path.suffix.lower() not in _SUFFIXES:
            return False
        rows = head_rows(head)
        return bool(rows) and _is_screen(rows[read_front_matter(rows).rows :])

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """The events of a screen that is new or has changed. Raises SourceError."""
        try:
            with open_regular(path) as file:
                snapshot, recorded = snapshot_of(file, path)
                if (cursor.offset, cursor.prefix) == (snapshot.size, snapshot.mark):
                    return
                rows = screen_rows(file, recorded=recorded)
                yield from slices_of(path, cursor, snapshot, _outcomes(rows, path, self.zone))
        except OSError as error:
            raise unreadable(path, error) from error


def _is_screen(rows: Sequence[Row]) -> bool:
    blocks = blocks_of(rows)
    if not _has_glyphs(blocks, rows):
        return False
    others = (Form.UNLABELLED, Form.HEADING, Form.FENCE, Form.RULE)
    anchor = next(block.first for block in blocks if block.form not in others)
    texts = sum(not is_blank(row.text) for row in rows)
    owned = sum(not is_blank(row.text) for block in blocks if block.form not in others for row in rows[block.first : block.after])
    return owned >= texts * _OWNED and not find_turns(rows[:anchor])[0]


def _has_glyphs(blocks: Sequence[Block], rows: Sequence[Row]) -> bool:
    """Whether there are glyphs together that only one of the clients draws together."""
    said = [block for block in blocks if block.form in SAID and block.glyph]
    glyphs = {block.glyph for block in said}
    prompted = any(block.form is Form.PROMPT for block in said)
    actions = sum(block.form in (Form.ANSWER, Form.CALL) for block in said)
    furniture = any(block.form in (Form.BANNER, Form.COLLAPSED) or _is_spinner(block, rows) for block in blocks)
    if glyphs & {"⏺", "⎿"}:
        return len(said) > 1 and (prompted or actions > 0)
    if glyphs & {"❯", "●"}:
        return prompted and actions > 0 and (furniture or "❯" in glyphs)
    if glyphs & {"›", "▌"}:
        return actions > 0 and (furniture or actions > 1 or bool(glyphs & {"▌", "└"}))
    return "└" in glyphs and any(block.form is Form.CALL for block in said)


def _is_spinner(block: Block, rows: Sequence[Row]) -> bool:
    return block.form is Form.STATUS and any(row.text[:1] in tuple("✻✽✶✳✢") for row in rows[block.first : block.after])


def _outcomes(rows: Iterator[Row], path: Path, zone: ZoneInfo) -> Iterator[Outcome]:
    opening = list(islice(rows, _STRETCH_ROWS))
    front = read_front_matter(opening)
    project = project_of(path)
    reading = Reading(zone=zone, stamp=_stamp(front, path), folder=project, project=project)
    repeated = Repetitions()
    line = front.rows
    waiting: Iterable[Entry] = _front_entry(opening, front)
    for stretch in _stretches(chain(opening[front.rows :], rows)):
        for entry in chain(waiting, entries_of(stretch, line, reading)):
            document = Document(session=reading.session, entries=(entry,), project=reading.project)
            yield from outcomes_of(document, str(path), repeated)
        waiting = ()
        line += len(stretch)
    yield from outcomes_of(Document(session="", entries=tuple(waiting)), str(path), repeated)


def _stamp(front: FrontMatter, path: Path) -> Stamp | None:
    """The day of a whole file: its front matter's, its name's or its folder's."""
    return stamp_of(front, path) or find_stamp(path.parent.name)


def _front_entry(rows: Sequence[Row], front: FrontMatter) -> tuple[Entry, ...]:
    if not (front.rows or front.fault):
        return ()
    return (Entry(place=place_of(rows, 0, max(1, front.rows)), dropped="front-matter", noted=front.noted()),)


def _stretches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in pieces of bounded length, each cut before a row that begins a turn where there is one in time."""
    stretch: list[Row] = []
    size = 0
    for row in rows:
        full = max(len(stretch) / _STRETCH_ROWS, size / _STRETCH_CHARACTERS)
        if full >= _LONGEST_STRETCH or (full >= 1 and opens_turn(row.text)):
            yield stretch
            stretch, size = [], 0
        stretch.append(row)
        size += len(row.text)
    if stretch:
        yield stretch
