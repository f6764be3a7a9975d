"""When a tool deletes its own transcripts. Knows the setting that says so; reads it and nothing else."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kept.core.errors import SourceError
from kept.sources.records import open_regular

CLAUDE_CODE = "claude-code"
_DEFAULT_DAYS = 30
_WARNED = 7  # days before a tool deletes a transcript from which on kept says so
_MOST = 2**20


def claude_folder(home: Path, env: Mapping[str, str]) -> Path:
    """The folder of Claude Code: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    configured = env.get("CLAUDE_CONFIG_DIR", "")
    return Path(configured).expanduser() if configured else home / ".claude"


def deletion_time(info: os.stat_result, days: int | None, now: datetime) -> datetime | None:
    """When its tool deletes a file, where that is within a week; None where it is later or never."""
    if days is None:
        return None
    end = datetime.fromtimestamp(info.st_mtime, UTC) + timedelta(days=days)
    return end if end - timedelta(days=_WARNED) <= now else None


def retention_days(source: str, home: Path, env: Mapping[str, str]) -> int | None:
    """After how many days without a change a tool deletes a transcript; None where it never does."""
    if source != CLAUDE_CODE:
        return None
    try:
        with open_regular(claude_folder(home, env) / "settings.json") as file:
            stated = json.loads(file.read(_MOST))
    except (OSError, SourceError, ValueError, RecursionError):
        return _DEFAULT_DAYS
    days = stated.get("cleanupPeriodDays") if isinstance(stated, dict) else None
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else _DEFAULT_DAYS
