"""Find out when a tool deletes its own transcripts. Only Claude Code does, after 30 days or those in its settings."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kept.sources.base import named_folder
from kept.sources.drafts import parse_object
from kept.sources.records import read_beginning

CLAUDE_CODE = "claude-code"
_DEFAULT_DAYS = 30
_WARNING_DAYS = 7  # days before the deletion of a transcript on which kept begins to warn
_SETTINGS_BYTES = 2**20


def claude_folder(home: Path, env: Mapping[str, str]) -> Path:
    """The folder of Claude Code: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    return named_folder(env, "CLAUDE_CONFIG_DIR", home / ".claude")


def deletion_time(info: os.stat_result, days: int | None, now: datetime) -> datetime | None:
    """When a tool deletes a file that it keeps for ``days`` without a change, if that is within a week; else None."""
    if days is None:
        return None
    end = datetime.fromtimestamp(info.st_mtime, UTC) + timedelta(days=days)
    return end if end - timedelta(days=_WARNING_DAYS) <= now else None


def retention_days(source: str, home: Path, env: Mapping[str, str]) -> int | None:
    """The days without a change after which a tool deletes a transcript; None if it never does."""
    if source != CLAUDE_CODE:
        return None
    settings = read_beginning(claude_folder(home, env) / "settings.json", _SETTINGS_BYTES)
    days = parse_object(settings.decode("utf-8", "replace")).get("cleanupPeriodDays")
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else _DEFAULT_DAYS
