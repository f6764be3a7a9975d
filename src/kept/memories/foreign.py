"""Find and read the notes that other tools keep in their own files. Nothing is written.

Claude Code has a memory for each project (``projects/*/memory``), Codex a single one (``memories``), and Gemini CLI a list in its
instructions. Other tools write blocks into the user's instructions, between two comments or tags. None of these notes are the
user's own words.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.core.markup import holds_mark
from kept.core.pattern import Pattern
from kept.core.value import dataclass, replace
from kept.sources.records import replace_surrogates
from kept.sources.stamps import Stamp, find_stamp, parse_stamp, stamp_instant

TOOLS = ("claude", "codex", "gemini", "blocks")
INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")
_HOMES = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md")
_BYTES = 200_000  # a larger file is skipped
_FILES = 500  # maximum number of files read for a tool
_NOTES = 1_000  # maximum number of notes read for a tool
_LEAST_NOTE_CHARS = 15  # a shorter line of a paragraph is skipped, because it says nothing by itself
_LEAST_ITEM = Pattern(r"\pL\S*\s+\S|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]{4}|\S{15}")  # two words: "Use pnpm."
_ITEM = Pattern(r"^(?:[-*]|\d{1,3}[.)])\s+")
_DATES = ("updated", "updated_at", "modified", "date", "created", "created_at")  # fields of front matter, the latest first
_UTC = ZoneInfo("UTC")
_ADDED = "## gemini added memories"
_COMMENT = Pattern(
    r"(?i)^\s*<!--\s*(?:(?P<name>[\w.-]+?)[ :_-]+(?:begin|start)\b|(?:begin|start)[ :_-]+(?P<other>[\w.-]+))[^>]*-->\s*$"
)
_TAG = Pattern(r"(?i)^\s*<(?P<name>[a-z][a-z0-9_-]*(?:context|memory|memories))>\s*$")
# Basic Memory writes observations as "- [kind] fact #tag (context)", and relations as "- kind [[other note]]". In an observation
# without a tag, text in parentheses belongs to the fact.
_OBSERVED = Pattern(r"^\[(?P<kind>[a-z][\w -]*)\]\s+(?P<fact>.+?)(?:(?:\s+#[\w/-]+)+(?:\s+\([^()]*\))?)?$")
_RELATED = Pattern(r"^[\w -]*\[\[[^\]]+\]\]\s*(?:\([^()]*\))?$")
_OWN_BEGIN, _OWN_END = "<!-- kept:begin", "<!-- kept:end"  # the comments around kept's section
_LINKED = Pattern(r"^\[[^\]]*\]\([^)]*\.md\)")


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignNote:
    """A note of another tool: its text, the kind that the tool gives it (may be empty), its file and its time.

    The time is the one that the tool or the file states; None if it is unknown. ``latest`` is when the file was last changed: the
    note may be much older. ``beside`` is the folder with the transcripts of the note's project, and ``folder`` is the project's own
    folder. Both may be empty.
    """

    tool: str
    text: str
    kind: str
    path: Path
    at: datetime | None
    beside: str = ""
    folder: str = ""
    latest: datetime | None = None


def read_tool_notes(home: Path, projects: Sequence[Path], tools: Sequence[str] = TOOLS) -> Iterator[ForeignNote]:
    """Read the notes of the given tools from a home folder and from the instruction files of projects.

    Unreadable files are skipped.
    """
    notes = {
        "claude": _folder_notes("claude", home / ".claude" / "projects", "*/memory/*.md"),
        "codex": _folder_notes("codex", home / ".codex" / "memories", "*.md"),
        "gemini": _gemini_notes(home),
        "blocks": _block_notes(home, projects),
    }
    for tool in tools:
        yield from islice(notes[tool], _NOTES)


def _folder_notes(tool: str, folder: Path, pattern: str) -> Iterator[ForeignNote]:
    for path in islice(sorted(folder.glob(pattern)), _FILES):
        yield from markdown_notes(tool, path, beside=str(path.parents[1]) if tool == "claude" else "")


def _gemini_notes(home: Path) -> Iterator[ForeignNote]:
    path = home / ".gemini" / "GEMINI.md"
    inside = False
    for line in _read_lines(path):
        if line.startswith("#"):
            inside = line.strip().lower() == _ADDED
        elif inside and (text := _bullet_text(line)):
            yield _note_of_file("gemini", path, text)


def _block_notes(home: Path, projects: Sequence[Path]) -> Iterator[ForeignNote]:
    """The list items in the blocks of other tools."""
    places = [(home / item, "") for item in _HOMES] + [(folder / name, str(folder)) for folder in projects for name in INSTRUCTIONS]
    for path, folder in places:
        name = ""
        for line in _read_lines(path):
            opened = _parse_block_owner(line)
            if name and not opened and line.lstrip().startswith(("<!--", "</")):
                name = ""
            elif name and (text := _bullet_text(line)):
                yield _note_of_file(name, path, text, folder=folder)
            elif opened:
                name = opened


def _parse_block_owner(line: str) -> str:
    """The tool whose block this line opens; empty if it opens none."""
    opening = _COMMENT.match(line) or _TAG.match(line)
    groups = opening.groupdict() if opening else {}
    return str(groups.get("name") or groups.get("other") or "")


def markdown_notes(tool: str, path: Path, *, beside: str = "") -> Iterator[ForeignNote]:
    """Read the notes in a Markdown file.

    A file with ``name`` and ``description`` in its front matter is a single note. Its text is the first non-empty line of the body,
    or the description if that line is too short or not a sentence. In any other file, each list item and each line of a paragraph
    is a note. Its day is the one it begins with, else that of the heading above it, of the front matter or of the file's
    name.
    """
    lines = _read_lines(path)
    head, body = _split_front_matter(lines)
    dates = (*(head.get(name, "") for name in _DATES), replace_surrogates(path.stem))
    stamp = next(filter(None, map(parse_stamp, dates)), None)
    if head.get("description") and "name" in head:  # in a rule file, the description only says when to read it
        first = next((line.strip() for line in body if line.strip()), "")
        fact = first if len(first) >= _LEAST_NOTE_CHARS and first[0].isalnum() else head["description"]
        note = _note_of_file(tool, path, fact, kind=head.get("type", ""), beside=beside, stamp=stamp)
        yield note if stamp else replace(note, at=note.latest)
        return
    level, above = 0, stamp
    for line in _lines_outside_code(body):
        if line.startswith("#"):
            deep = len(line) - len(line.lstrip("#"))
            day = find_stamp(line)
            if day or deep <= level:
                level, above = deep if day else 0, day or stamp
        item = _bullet_text(line)
        text = item or ("" if line.startswith(("#", "<", "|", " ")) else line.strip())
        observed = _OBSERVED.match(text)
        kind, text = (observed["kind"].lower(), observed["fact"]) if observed else (head.get("type", ""), text)
        if (item or len(text) >= _LEAST_NOTE_CHARS) and not _LINKED.match(text) and not _RELATED.search(text):
            own = find_stamp(text.lstrip("[(*")[: len("2026-01-31")])
            yield _note_of_file(tool, path, text, kind=kind, beside=beside, stamp=own or above)


def _lines_outside_code(lines: Sequence[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            inside = not inside
        elif not inside:
            yield line


def _split_front_matter(lines: Sequence[str]) -> tuple[dict[str, str], Sequence[str]]:
    if not lines or lines[0].strip() != "---" or "---" not in lines[1:]:
        return {}, lines
    stop = lines.index("---", 1)
    pairs = (line.partition(":") for line in lines[1:stop])
    return {name.strip(): value.strip().strip("'\"") for name, _, value in pairs}, lines[stop + 1 :]


def _bullet_text(line: str) -> str:
    item = _ITEM.sub("", line.strip(), 1) if _ITEM.match(line.strip()) else ""
    return item if _LEAST_ITEM.search(item) else ""


def _read_lines(path: Path) -> list[str]:
    """The lines of a text file without kept's section; empty if kept wrote it all, or it is a link, too large, or unreadable."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _BYTES:
            return []
        data = path.read_bytes()
        return [] if b"\0" in data or holds_mark(data) else list(_lines_of_others(data.decode(errors="replace").splitlines()))
    except OSError:
        return []


def _lines_of_others(lines: Sequence[str]) -> Iterator[str]:
    """The lines outside kept's section. A section without an end has no lines: somebody deleted its last line."""
    own = False
    end = max((number for number, line in enumerate(lines) if line.startswith(_OWN_END)), default=-1)
    for number, line in enumerate(lines):
        begins = line.startswith(_OWN_BEGIN)
        own = own or (begins and number < end)
        if not own and not begins:
            yield line
        own = own and not line.startswith(_OWN_END)


def _note_of_file(
    tool: str, path: Path, text: str, *, kind: str = "", beside: str = "", folder: str = "", stamp: Stamp | None = None
) -> ForeignNote:
    latest = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    at = stamp_instant(stamp, _UTC) if stamp else None
    return ForeignNote(tool=tool, text=text, kind=kind, path=path, at=at, beside=beside, folder=folder, latest=latest)
