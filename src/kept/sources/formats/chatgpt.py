"""The conversations of ChatGPT's data export.

The conversation is the branch from the root to the node viewed last; regenerated answers and edited prompts are counted as
``off-path``. A conversation that is not to be remembered is skipped. Knows no files.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from kept.core.event import Author, EventKind, ToolUse
from kept.core.times import parse_instant
from kept.sources.documents import DocumentEntry, SourceDocument, draft_message, split_prompt
from kept.sources.drafts import EventDraft, content_text, safe_word, to_mapping, truncate_name, truncate_text
from kept.sources.records import RecordPlace


def translate_chatgpt(value: Mapping[str, Any], place: RecordPlace) -> SourceDocument:
    """Translate a conversation of the export, with a record for each node of its tree."""
    session = truncate_name(value.get("conversation_id")) or truncate_name(value.get("id"))
    mapping = value.get("mapping")
    nodes: Mapping[str, Any] = mapping if isinstance(mapping, dict) else {}
    if value.get("is_do_not_remember"):
        entries = [DocumentEntry(place=place, dropped="do-not-remember") for _ in nodes]
    else:
        chain = _active_branch(nodes, value.get("current_node"))
        started = parse_instant(value.get("create_time"))
        entries = [_read_node(node, nodes[node], place, started) for node in chain]
        entries += [DocumentEntry(place=place, dropped=_off_path(nodes[node])) for node in nodes.keys() - set(chain)]
    return SourceDocument(session=session, entries=tuple(entries or [DocumentEntry(place=place, dropped="empty-conversation")]))


def _off_path(node: Any) -> str:
    return "off-path" if isinstance(node, dict) and isinstance(node.get("message"), dict) else "no-message"


def _active_branch(nodes: Mapping[str, Any], current: Any) -> list[str]:
    """The ids from the root to the current node; without one, to the youngest leaf. Terminates on cycles."""
    if not isinstance(current, str) or current not in nodes:
        leaves = [node for node, value in nodes.items() if isinstance(value, dict) and not value.get("children")]
        current = max(leaves, key=lambda node: _creation_time(nodes[node]), default=None)
    chain: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in chain:
        chain[current] = None
        node = nodes[current]
        current = node.get("parent") if isinstance(node, dict) else None
    return list(reversed(chain))


def _creation_time(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    created = message.get("create_time") if isinstance(message, dict) else None
    return float(created) if isinstance(created, int | float) else 0.0


_SPEECH = ("text", "multimodal_text")
_THINKING = ("thoughts", "reasoning_recap")


def _read_node(node: str, value: Any, place: RecordPlace, started: datetime | None) -> DocumentEntry:
    """Read a node of the branch; it depends on the message's author, then on the type of its content."""
    message = value.get("message") if isinstance(value, dict) else None
    if not isinstance(message, dict):
        return DocumentEntry(place=place, dropped="no-message")
    author, metadata, content = (to_mapping(message.get(key)) for key in ("author", "metadata", "content"))
    role, kind = author.get("role"), content.get("content_type")
    if metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message"):
        return DocumentEntry(place=place, dropped="hidden")
    if kind in ("user_editable_context", "model_editable_context"):
        return DocumentEntry(place=place, dropped="hidden-context")
    if kind in _THINKING or message.get("channel") == "analysis":
        return DocumentEntry(place=place, dropped="thinking")
    if role not in ("user", "assistant"):
        return DocumentEntry(place=place, dropped=f"role:{safe_word(role)}")
    native, parent = truncate_name(message.get("id")) or node, value.get("parent")
    template = draft_message("export:user", message.get("create_time"), started, native=native, parent=parent)
    text, noted = _read_parts(content)
    if role == "user":
        return (
            _prompt_entry(place, text, template, noted)
            if kind in _SPEECH
            else DocumentEntry(place=place, dropped=f"content:{safe_word(kind)}")
        )
    recipient = message.get("recipient")
    if isinstance(recipient, str) and recipient not in ("all", ""):
        return _answer_entry(place, text, template, noted, ToolUse(name=truncate_name(recipient), target=truncate_text(text)))
    return _answer_entry(place, text, template, noted, None)


def _read_parts(content: Mapping[str, Any]) -> tuple[str, dict[str, int]]:
    """The words of a content, including speech, and the number of pictures and the like between them."""
    noted: dict[str, int] = {}
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content_text(content.get("text")), noted
    texts = []
    for part in parts:
        if isinstance(part, dict) and not isinstance(part.get("text"), str):
            kind = f"part:{safe_word(part.get('content_type'))}"
            noted[kind] = noted.get(kind, 0) + 1
        else:
            texts.append(part)
    return content_text(texts), noted


def _prompt_entry(place: RecordPlace, text: str, template: EventDraft, noted: Mapping[str, int]) -> DocumentEntry:
    drafts, removed = split_prompt(text, template.reason, template)
    return DocumentEntry(place=place, drafts=tuple(drafts), noted={**noted, **removed})


def _answer_entry(
    place: RecordPlace, text: str, template: EventDraft, noted: Mapping[str, int], tool: ToolUse | None
) -> DocumentEntry:
    if not text:
        return DocumentEntry(place=place, noted=noted)
    kind = EventKind.TOOL_CALL if tool else EventKind.RESPONSE
    text = tool.target if tool else text
    draft = replace(template, kind=kind, author=Author.ASSISTANT, reason="export:assistant", text=text, tool=tool)
    return DocumentEntry(place=place, drafts=(draft,), noted=noted)
