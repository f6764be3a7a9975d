"""Translate the conversations of ChatGPT's data export to documents.

A conversation is a tree. Only the branch from the root to the node viewed last is read: regenerated answers and edited prompts are
dropped as ``off-path``. A conversation that the person excluded from memory is dropped as a whole.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kept.core.event import ToolUse
from kept.core.times import parse_instant
from kept.sources.documents import DocumentEntry, SourceDocument, draft_message, label_unconfirmed, split_prompt
from kept.sources.drafts import content_text, count_note, safe_word, to_mapping, truncate_name, truncate_text
from kept.sources.records import RecordPlace
from kept.sources.roles import parse_role


def translate_chatgpt(value: Mapping[str, Any], place: RecordPlace) -> SourceDocument:
    """Translate a conversation of the export, with a record for each node of its tree."""
    session = truncate_name(value.get("conversation_id")) or truncate_name(value.get("id"))
    nodes = to_mapping(value.get("mapping"))
    if value.get("is_do_not_remember") or value.get("is_temporary_chat"):
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
    """The ids from the root to the current node, or to the youngest leaf if there is no current node. A cycle ends the branch."""
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
    created = to_mapping(node.get("message")).get("create_time")
    return float(created) if isinstance(created, int | float) else 0.0


_SPEECH = ("text", "multimodal_text")
_THINKING = ("thoughts", "reasoning_recap")


def _read_node(node: str, value: Any, place: RecordPlace, started: datetime | None) -> DocumentEntry:
    """Read a node of the branch."""
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
    if role == "user" and kind not in _SPEECH:
        return DocumentEntry(place=place, dropped=f"content:{safe_word(kind)}")
    recipient, answer = message.get("recipient"), template.answer(text, "export:assistant")
    if role == "user" and (mark := _not_typed(message, metadata)):
        drafts = [template.injected(text, mark)] if text else []
    elif role == "user":
        drafts = split_prompt(text, template, noted)
        if (name := author.get("name")) and (not isinstance(name, str) or parse_role(name) is None):
            drafts = label_unconfirmed(drafts, noted, "named")  # the message names one of several authors, perhaps a program
    elif text and isinstance(recipient, str) and recipient not in ("all", ""):
        drafts = [answer.call(ToolUse(name=truncate_name(recipient), target=truncate_text(text)))]
    else:
        drafts = [answer] if text else []
    return DocumentEntry(place=place, drafts=tuple(drafts), noted=noted)


def _not_typed(message: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Why nobody typed a message in the user's role: a scheduled task sent it, it is a call, or the model did not get it. Empty if
    somebody may have typed it.
    """
    marks = {
        "automation": metadata.get("is_automation") or metadata.get("automation_id"),
        "recipient": message.get("recipient") not in (None, "", "all"),
        "weight": message.get("weight") == 0,
    }
    return next((name for name, holds in marks.items() if holds), "")


def _read_parts(content: Mapping[str, Any]) -> tuple[str, dict[str, int]]:
    """The words of a message's content, including transcribed speech, and the counts of other parts such as pictures."""
    noted: dict[str, int] = {}
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content_text(content.get("text")), noted
    texts = []
    for part in parts:
        if isinstance(part, dict) and not isinstance(part.get("text"), str):
            count_note(noted, f"part:{safe_word(part.get('content_type'))}")
        else:
            texts.append(part)
    return content_text(texts), noted
