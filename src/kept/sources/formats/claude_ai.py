"""The conversations of Claude.ai's data export.

What was said is the branch from the root to the youngest message; prompts that were edited are counted as ``off-path``. Knows
no files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kept.core.event import Author, Kind, Precision, Tool
from kept.core.times import EARLIEST, parse_instant
from kept.sources.documents import Document, Entry, Place, Said, mapping_of, split_prompt, word_of
from kept.sources.pieces import bounded_name, detail_of, target_of, words_of


def translate(value: Mapping[str, Any], place: Place) -> Document:
    """A conversation of the export, which stands at this place, with a record for each message."""
    listed = value.get("chat_messages")
    messages = [mapping_of(message) for message in listed] if isinstance(listed, list) else []
    started = parse_instant(value.get("created_at"))
    path = _active(messages)
    entries = [
        _read_message(message, place, started) if number in path else Entry(place=place, dropped="off-path")
        for number, message in enumerate(messages)
    ]
    session = bounded_name(value.get("uuid"))
    return Document(session=session, entries=tuple(entries or [Entry(place=place, dropped="empty-conversation")]))


def _active(messages: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The numbers of the messages from the root to the youngest one; all of them where none names its parent."""
    numbers = {message["uuid"]: number for number, message in enumerate(messages) if isinstance(message.get("uuid"), str)}
    if not any(isinstance(message.get("parent_message_uuid"), str) for message in messages):
        return frozenset(range(len(messages)))
    youngest = EARLIEST
    current: int | None = None
    for number, message in enumerate(messages):
        moment = parse_instant(message.get("created_at")) or EARLIEST
        if current is None or moment >= youngest:
            youngest, current = moment, number
    path: set[int] = set()
    while current is not None and current not in path:
        path.add(current)
        current = numbers.get(messages[current].get("parent_message_uuid"))
    return frozenset(path)


def _read_message(message: Mapping[str, Any], place: Place, started: datetime | None) -> Entry:
    """A message: the sender decides, then its blocks. The text of an attached file is not the person's speech."""
    sender = message.get("sender")
    if sender not in ("human", "assistant"):
        return Entry(place=place, dropped=f"role:{word_of(sender)}")
    at = parse_instant(message.get("created_at"))
    template = Said(
        kind=Kind.PROMPT,
        author=Author.HUMAN,
        reason="export:human",
        text="",
        at=at or started,
        precision=Precision.MESSAGE if at else Precision.SESSION,
        native=bounded_name(message.get("uuid")),
        parent=bounded_name(message.get("parent_message_uuid")),
    )
    content = message.get("content")
    blocks = [mapping_of(block) for block in content] if isinstance(content, list) else []
    if not any(block.get("type") == "text" for block in blocks):
        blocks.append({"type": "text", "text": message.get("text")})
    noted: dict[str, int] = {}
    said: list[Said] = []
    for block in blocks:
        text = words_of(block.get("text"))
        match block.get("type"):
            case "text" if sender == "human":
                typed, removed = split_prompt(text, "export:human", template)
                said += typed
                noted |= removed
            case "text" if text:
                said.append(replace(template, kind=Kind.RESPONSE, author=Author.ASSISTANT, reason="export:assistant", text=text))
            case "text":
                pass
            case "tool_use" if sender == "assistant":
                said.append(_call(block, template))
            case "tool_result" if sender == "assistant":
                said.append(_result(block, template))
            case kind:
                noted[f"block:{word_of(kind)}"] = noted.get(f"block:{word_of(kind)}", 0) + 1
    attachments = message.get("attachments")
    for attachment in attachments if isinstance(attachments, list) else ():
        if text := words_of(mapping_of(attachment).get("extracted_content")):
            said.append(replace(template, author=Author.INJECTED, reason="attachment", text=text))
    return Entry(place=place, said=tuple(said), dropped="" if said else "no-text", noted=noted)


def _call(block: Mapping[str, Any], template: Said) -> Said:
    given = mapping_of(block.get("input"))
    name = bounded_name(block.get("name"))
    tool = Tool(name=name, call=bounded_name(block.get("id")), target=target_of(given), detail=detail_of(given))
    text = tool.target or name
    return replace(template, kind=Kind.TOOL_CALL, author=Author.ASSISTANT, reason="export:assistant", text=text, tool=tool)


def _result(block: Mapping[str, Any], template: Said) -> Said:
    failed = block.get("is_error")
    ok = not failed if isinstance(failed, bool) else None
    tool = Tool(name=bounded_name(block.get("name")), call=bounded_name(block.get("tool_use_id")), ok=ok)
    text = words_of(block.get("content"))
    return replace(template, kind=Kind.TOOL_OUTPUT, author=Author.TOOL, reason="tool-result", text=text, tool=tool)
