"""Read kept's own journal entries like any other journal. They are the only output of kept that kept reads.

Entries are left out unless their front matter says ``extract: yes``. Blocks with memories or with content from outside are left out
too, so that no memory confirms itself and no outside content becomes a memory. The rest has the trust of an assistant's text, even
where a person changed it.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from kept.core.digest import hash_texts
from kept.core.event import Author, Cursor, Slice
from kept.core.value import dataclass, replace
from kept.sources.base import ENTRY
from kept.sources.records import RecordPlace, read_beginning

if TYPE_CHECKING:
    from kept.sources.documents import Row, SourceDocument

_HEAD_BYTES = 4_096
_MARK = "generated_by: kept"
_OUTSIDE, _OUTSIDE_END = "<!-- outside:begin -->", "<!-- outside:end -->"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptEntries:
    """The reader of kept's journal entries. ``zone`` is the time zone of their days."""

    zone: ZoneInfo = ZoneInfo("UTC")
    name: str = ENTRY

    def places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:  # noqa: ARG002
        """Empty, because the folder of entries is a setting, and formats do not know settings."""
        return ()

    def claims(self, path: Path, head: bytes) -> bool:
        """True if a file's front matter says that kept wrote it."""
        return (
            path.suffix.lower() == ".md"
            and head.startswith(b"---")
            and _MARK in _front_matter_lines(head.decode("utf-8", "replace"))
        )

    def read(self, path: Path, cursor: Cursor) -> Iterator[Slice]:
        """Yield the sections of a new or changed entry. Raises SourceError."""
        from kept.sources.documents import read_document  # noqa: PLC0415 - every command asks whether there is an entry, few read one

        return read_document(path, cursor, lambda rows: _parse_entry(rows, path=path, reader=self))


def find_entries(folder: Path) -> Iterator[Path]:
    """Yield the entries in a folder from which memories are extracted, sorted by name."""
    for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md")):
        head = read_beginning(path, _HEAD_BYTES)
        if KeptEntries().claims(path, head) and "extract: yes" in _front_matter_lines(head.decode("utf-8", "replace")):
            yield path


def _front_matter_lines(text: str) -> tuple[str, ...]:
    lines = text.splitlines()
    end = next((number for number, (_, line) in enumerate(pairwise(lines), 1) if line.rstrip() == "---"), 0)
    return tuple(line.rstrip() for line in lines[1:end])


def _parse_entry(rows: "list[Row]", *, path: Path, reader: KeptEntries) -> "SourceDocument":
    from kept.sources.documents import DocumentEntry, SourceDocument  # noqa: PLC0415 - as above
    from kept.sources.formats.journal import Journal, parse_journal  # noqa: PLC0415

    front = _front_matter_lines("\n".join(row.text for row in rows[:60]))
    session = hash_texts(ENTRY, path.stem)
    if "extract: yes" not in front:
        nothing = DocumentEntry(place=RecordPlace(1, 0, rows[-1].end if rows else 0), dropped="kept's own")
        return SourceDocument(session=session, entries=(nothing,), project=str(path.parent))
    inside, found = False, []
    for row in rows:
        inside = inside or row.text.strip() == _OUTSIDE
        found += [] if inside else [row]
        inside = inside and row.text.strip() != _OUTSIDE_END
    made = parse_journal(found, path=path, reader=Journal(zone=reader.zone, author=Author.ASSISTANT))
    return replace(made, session=session, project=str(path.parent))
