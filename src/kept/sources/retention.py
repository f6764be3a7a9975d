"""When a tool deletes its own transcripts. Reads only the setting for that."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kept.sources.base import named_folder
from kept.sources.drafts import parse_object
from kept.sources.records import read_beginning

CLAUDE_CODE = "claude-code"
_DEFAULT_DAYS = 30
_WARNED = 7  # days before a tool deletes a transcript from which kept warns
_MOST = 2**20


def claude_folder(home: Path, env: Mapping[str, str]) -> Path:
    """The folder of Claude Code: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    return named_folder(env, "CLAUDE_CONFIG_DIR", home / ".claude")


def deletion_time(info: os.stat_result, days: int | None, now: datetime) -> datetime | None:
    """When its tool deletes a file, if that is within a week; None if later or never."""
    if days is None:
        return None
    end = datetime.fromtimestamp(info.st_mtime, UTC) + timedelta(days=days)
    return end if end - timedelta(days=_WARNED) <= now else None


def retention_days(source: str, home: Path, env: Mapping[str, str]) -> int | None:
    """The days without a change after which a tool deletes a transcript; None if it never does."""
    if source != CLAUDE_CODE:
        return None
    settings = read_beginning(claude_folder(home, env) / "settings.json", _MOST)
    days = parse_object(settings.decode("utf-8", "replace")).get("cleanupPeriodDays")
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else _DEFAULT_DAYS
