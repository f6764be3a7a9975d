"""When a tool deletes its own transcripts. Knows the setting that says so; reads it and nothing else."""

import json
from collections.abc import Mapping
from pathlib import Path

from kept.core.errors import SourceError
from kept.sources.records import open_regular

_DEFAULT_DAYS = 30
_MOST = 2**20


def retention_days(source: str, home: Path, env: Mapping[str, str]) -> int | None:
    """After how many days without a change a tool deletes a transcript; None where it never does."""
    if source != "claude-code":
        return None
    configured = env.get("CLAUDE_CONFIG_DIR", "")
    folder = Path(configured).expanduser() if configured else home / ".claude"
    try:
        with open_regular(folder / "settings.json") as file:
            stated = json.loads(file.read(_MOST))
    except (OSError, SourceError, ValueError, RecursionError):
        return _DEFAULT_DAYS
    days = stated.get("cleanupPeriodDays") if isinstance(stated, dict) else None
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else _DEFAULT_DAYS
