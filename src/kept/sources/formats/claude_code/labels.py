"""Who wrote a Claude Code record, by the record's own fields.

Knows the fields that the client and its hooks write; knows no files and no order of records.
"""

from collections.abc import Mapping
from typing import Any

from kept.core.event import Author
from kept.sources.formats.attended import PRINTED, is_sdk, is_unattended


def label_record(value: Mapping[str, Any], *, subagent_file: bool) -> tuple[Author, str] | None:
    """The author that a user record's own fields decide; None where its text has to be looked at.

    The fields are tried from the least trusted reading to the most trusted: a record that claims two things is believed in
    the one that gives it less trust.
    """
    origin = value.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    message = value.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    entry, source = value.get("entrypoint"), value.get("promptSource")
    printed = entry == PRINTED and not is_unattended(value.get("cwd"))
    found: tuple[tuple[Any, Author, str], ...] = (
        (subagent_file, Author.SUBAGENT, "subagent-file"),
        (value.get("isSidechain"), Author.SUBAGENT, "isSidechain"),
        (value.get("agentId"), Author.SUBAGENT, "agentId"),
        (value.get("agentName"), Author.SUBAGENT, "agentName"),
        (value.get("isCompactSummary"), Author.COMPACTION, "isCompactSummary"),
        (value.get("isMeta"), Author.INJECTED, "isMeta"),
        (value.get("sourceToolUseID"), Author.INJECTED, "sourceToolUseID"),
        (value.get("isVisibleInTranscriptOnly"), Author.INJECTED, "isVisibleInTranscriptOnly"),
        (role is not None and role != "user", Author.INJECTED, "role-mismatch"),
        (value.get("planContent"), Author.INJECTED, "planContent"),
        (kind is not None and kind != "human", Author.INJECTED, "origin-not-human"),
        (kind is None and (is_sdk(entry) or (entry == PRINTED and not printed)), Author.INJECTED, "entrypoint-sdk"),
        (kind is None and source == "sdk" and not printed, Author.INJECTED, "promptSource-machine"),
        (kind is None and source == "system", Author.INJECTED, "promptSource-machine"),
    )
    return next(((author, reason) for holds, author, reason in found if holds), None)
