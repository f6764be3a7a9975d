"""Larger corpora out of a small one: the same sessions again with fresh ids, dates and file names."""

import re
import uuid
from datetime import datetime, timedelta
from pathlib import Path

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r'"timestamp":\s?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)Z"')


def repeat(source: Path, target: Path, times: int) -> int:
    """Write ``times`` copies of all JSONL files below ``source`` into ``target``, each with its own ids, shifted by 60 days a copy.

    Returns the bytes written.
    """
    total = 0
    for number in range(times):
        for path in sorted(source.rglob("*.jsonl")):
            text = renewed(path.read_text(encoding="utf-8"), number)
            folder = target / f"copy-{number:03d}" / path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{fresh(path.stem, number)}.jsonl").write_text(text, encoding="utf-8")
            total += len(text.encode())
    return total


def renewed(text: str, number: int) -> str:
    """A transcript with other ids and later dates."""
    text = _UUID.sub(lambda found: fresh(found[0], number), text)
    return _TIME.sub(lambda found: f'"timestamp":"{shifted(found[1], number)}Z"', text)


def fresh(name: str, number: int) -> str:
    """Another id for the same thing in another copy; the same one in copy 0."""
    return name if number == 0 else str(uuid.uuid5(uuid.NAMESPACE_URL, f"{number}:{name}"))


def shifted(moment: str, number: int) -> str:
    """The time ``number`` times 60 days later, with milliseconds."""
    return (datetime.fromisoformat(moment) + timedelta(days=60 * number)).isoformat(timespec="milliseconds")
