"""Read Aider's chat history, ``.aider.chat.history.md``. It contains one session after another, and only grows.

A record is a run of lines of one kind: a prompt (lines with ``####`` and the line break that Aider adds), output of the client
(``>``), or an answer. Only the start of a session has a time, without a zone.

An answer may contain lines of any kind. Below the first answer, a prompt therefore counts as typed only if its lines are in Aider's
input history ``.aider.input.history``, which is in the same folder and contains only what was typed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.core.digest import hash_texts
from kept.core.errors import KeptError
from kept.core.event import Author, Cursor, EventKind, Slice
from kept.core.value import dataclass, replace
from kept.local.files import read_text
from kept.sources.base import named_folder
from kept.sources.documents import (
    DocumentEntry,
    Row,
    SourceDocument,
    label_entry_unconfirmed,
    read_document,
    rows_place,
    sniff_rows,
    split_prompt,
)
from kept.sources.drafts import EventDraft, shorten_text
from kept.sources.fields import Notes
from kept.sources.formats.vault import UTC, find_project
from kept.sources.markdown import strip_edges
from kept.sources.records import RecordPlace
from kept.sources.roles import ConversationTime, draft_template
from kept.sources.stamps import find_stamp

_START = "# aider chat started at "
_TYPED = "#### "
_BREAK = "  "
_INPUT = ".aider.input.history"
_INPUT_LINE = "+"  # begins a line that was typed; lines with a time begin with #


@dataclass(frozen=True, kw_only=True, slots=True)
class Aider:
    """The reader of Aider's chat history; ``zone`` is the time zone of its sessions."""

    zone: ZoneInfo = UTC
    name: str = "aider"

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """``$AIDER_CHAT_HISTORY_FILE``, else the history in the home; other histories are in the projects."""
        return (named_folder(env, "AIDER_CHAT_HISTORY_FILE", home / ".aider.chat.history.md"),)

    def claims(self, path: Path, head: bytes) -> bool:
        """True if a file has the name of a history and contains lines of one, or if it begins with the start of a session."""
        if path.suffix != ".md" or not (b"\n" + _TYPED.encode() in head or _START.encode() in head):
            return False
        rows = sniff_rows(head, path)
        typed = any(_is_typed_line(row.text) for row in rows)
        return typed and ("aider.chat" in path.name or any(row.text.startswith(_START) for row in rows))

    def owns(self, path: Path) -> bool:
        """True for Markdown."""
        return path.suffix == ".md"

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the events of a new or grown history. Raises SourceError."""
        return read_document(path, cursor, partial(_parse_history, path=path, zone=self.zone, typed=_read_typed_lines(path)))


def _read_typed_lines(path: Path) -> frozenset[str]:
    """The lines that Aider's input history in the same folder records as typed; empty if it cannot be read."""
    with suppress(KeptError):
        lines = read_text(path.with_name(_INPUT)).splitlines()
        return frozenset(line.removeprefix(_INPUT_LINE).strip() for line in lines if line.startswith(_INPUT_LINE))
    return frozenset()


def _is_typed_line(text: str) -> bool:
    """True for a line of a prompt. A heading of this level in an answer lacks the line break at its end."""
    return text.startswith(_TYPED) and text.endswith(_BREAK)


def _row_kind(row: Row) -> str:
    if row.text.startswith(_START):
        return "start"
    if _is_typed_line(row.text):
        return "typed"
    if row.text.startswith(">") and row.text.endswith(_BREAK):
        return "printed"
    return "answer" if row.text.strip() else ""


def _parse_history(rows: list[Row], *, path: Path, zone: ZoneInfo, typed: Collection[str]) -> SourceDocument:
    entries: list[DocumentEntry] = []
    when, session = ConversationTime(zone=zone), ""
    first, answered = 0, False
    for kind, after in _split_line_runs(rows):
        if kind == "start":
            start = next(row.text.strip() for row in rows[first:after] if row.text.startswith(_START))
            when, session = ConversationTime(zone=zone, stamp=find_stamp(start.removeprefix(_START))), hash_texts("aider", start)
            entries.append(DocumentEntry(place=rows_place(rows, first, after), dropped="session-start"))
        elif strip_edges(rows, first, after):
            session = session or hash_texts("aider", strip_edges(rows, first, after)[:1000])
            entry = replace(_read_run(rows, first, after, kind, draft_template(when)), session=session)
            lines = {row.text.removeprefix(_TYPED).strip() for row in rows[first:after]} - {""}
            unsure = kind == "typed" and answered and not lines.issubset(typed)
            entries.append(label_entry_unconfirmed(entry) if unsure else entry)
            answered = answered or kind == "answer"
        first = after
    if not entries:
        entries.append(DocumentEntry(place=RecordPlace(1, 0, 0)))
    return SourceDocument(session=session, entries=tuple(entries), project=find_project(path) or str(path.absolute().parent))


def _split_line_runs(rows: Sequence[Row]) -> Iterator[tuple[str, int]]:
    """Yield the kind of each run of lines, and the row after the run. A blank line belongs to the run before it."""
    current = ""
    for number, row in enumerate(rows):
        kind = _row_kind(row)
        if current and kind and (kind != current or kind == "start"):
            yield current, number
            current = kind
        current = current or kind
    yield current, len(rows)


def _read_run(rows: Sequence[Row], first: int, after: int, kind: str, template: EventDraft) -> DocumentEntry:
    place = rows_place(rows, first, after)
    lines = [row.text for row in rows[first:after]]
    if kind == "typed":
        text = "\n".join(line.removeprefix(_TYPED).rstrip() for line in lines).strip()
        noted = Notes()
        template = replace(template, reason="slash-command" if text.startswith("/") else "typed")
        return DocumentEntry(place=place, drafts=tuple(split_prompt(text, template, noted)), noted=noted)
    if kind == "printed":
        text = shorten_text("\n".join(line.removeprefix(">").strip() for line in lines).strip())
        printed = replace(template, kind=EventKind.TOOL_OUTPUT, author=Author.TOOL, reason="client-output", text=text)
        return DocumentEntry(place=place, drafts=(printed,))
    return DocumentEntry(place=place, drafts=(template.answer(strip_edges(rows, first, after), "answer"),))
