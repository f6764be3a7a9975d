"""Translate the conversations of Claude.ai's data export to documents.

A conversation is a tree. Only the branch from the root to the youngest message is read: edited prompts are dropped as ``off-path``.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kept.core.times import EARLIEST, parse_instant
from kept.sources.documents import DocumentEntry, SourceDocument, block_drafts, draft_message
from kept.sources.drafts import content_text, safe_word, to_mappings, truncate_name
from kept.sources.records import RecordPlace


def translate_claude_ai(value: Mapping[str, Any], place: RecordPlace) -> SourceDocument:
    """Translate a conversation of the export, with a record for each message."""
    messages = to_mappings(value.get("chat_messages"))
    started = parse_instant(value.get("created_at"))
    path = _active_messages(messages)
    entries = [
        _read_message(message, place, started) if number in path else DocumentEntry(place=place, dropped="off-path")
        for number, message in enumerate(messages)
    ]
    session = truncate_name(value.get("uuid"))
    return SourceDocument(session=session, entries=tuple(entries or [DocumentEntry(place=place, dropped="empty-conversation")]))


def _active_messages(messages: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The indices of the messages from the root to the youngest one; all messages if none names its parent."""
    numbers = {message["uuid"]: number for number, message in enumerate(messages) if isinstance(message.get("uuid"), str)}
    if not any(isinstance(message.get("parent_message_uuid"), str) for message in messages):
        return frozenset(range(len(messages)))
    times = [parse_instant(message.get("created_at")) or EARLIEST for message in messages]
    current: int | None = max(range(len(messages)), key=lambda number: (times[number], number))
    path: set[int] = set()
    while current is not None and current not in path:
        path.add(current)
        current = numbers.get(messages[current].get("parent_message_uuid"))
    return frozenset(path)


def _read_message(message: Mapping[str, Any], place: RecordPlace, started: datetime | None) -> DocumentEntry:
    """Read a message. Text of an attached file does not count as the person's words."""
    sender = message.get("sender")
    if sender not in ("human", "assistant"):
        return DocumentEntry(place=place, dropped=f"role:{safe_word(sender)}")
    native, parent = message.get("uuid"), message.get("parent_message_uuid")
    template = draft_message("export:human", message.get("created_at"), started, native=native, parent=parent)
    blocks = to_mappings(message.get("content"))
    if not any(block.get("type") == "text" for block in blocks):
        blocks.append({"type": "text", "text": message.get("text")})
    noted: dict[str, int] = {}
    drafts = block_drafts(blocks, template, noted, answers="export:assistant" if sender == "assistant" else "")
    for attachment in to_mappings(message.get("attachments")):
        if text := content_text(attachment.get("extracted_content")):
            drafts.append(template.injected(text, "attachment"))
    return DocumentEntry(place=place, drafts=tuple(drafts), noted=noted)
