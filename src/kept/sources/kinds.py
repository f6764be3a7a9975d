"""What a file that no format claims looks like, in words for a report.

Knows magic numbers, encodings and suffixes; quotes nothing of what the file holds.
"""

from pathlib import Path

from kept.sources.compressed import MAGIC as ZSTD
from kept.sources.databases import MAGIC as SQLITE
from kept.sources.records import wide_encoding

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (SQLITE, "an SQLite database without a known tool's tables"),
    (ZSTD, "a zstd archive that is no transcript"),
    (b"\x89PNG", "an image (PNG)"),
    (b"\xff\xd8\xff", "an image (JPEG)"),
    (b"GIF8", "an image (GIF)"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive without an export of conversations"),
    (b"\x1f\x8b", "a gzip archive: unpack it first"),
    (b"BZh", "a bzip2 archive: unpack it first"),
    (b"\xfd7zXZ", "an xz archive: unpack it first"),
    (b"\x7fELF", "a program"),
)
_SUFFIXES = {
    "-wal": "a database's log, read with its database",
    "-shm": "a database's log, read with its database",
    "-journal": "a database's log, read with its database",
    ".jsonl": "JSON Lines whose records no reader knows",
    ".ndjson": "JSON Lines whose records no reader knows",
    ".json": "JSON that is no conversation a reader knows",
    ".html": "an HTML page",
    ".htm": "an HTML page",
    ".csv": "a table (CSV)",
    ".tsv": "a table (TSV)",
    ".md": "Markdown without speakers' names, and no dated note",
    ".markdown": "Markdown without speakers' names, and no dated note",
    ".mdx": "Markdown without speakers' names, and no dated note",
}
_TEXT = "plain text without speakers' names (lines such as `User:` and `Assistant:`)"


def describe_file(path: Path, head: bytes) -> str:
    """What a file looks like by its first bytes and its name."""
    for opening, kind in _MAGIC:
        if head.startswith(opening):
            return kind
    if encoding := wide_encoding(head):
        return f"{encoding} text: convert it to UTF-8"
    named = next((kind for suffix, kind in _SUFFIXES.items() if path.name.lower().endswith(suffix)), "")
    if named:
        return named
    if b"\0" in head:
        return "binary data"
    if not _is_utf8(head):
        return "text that is not UTF-8: convert it"
    text = head.lstrip()
    if text.startswith(b"<"):
        return "HTML or XML"
    is_json = text[:1] in (b"{", b"[") and text[1:].lstrip()[:1] in b'"{}[]-0123456789'  # a table of TOML opens with a letter
    return "JSON that is no conversation a reader knows" if is_json else _TEXT


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"  # the head ends in the middle of a character
    return True
