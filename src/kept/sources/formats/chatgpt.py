"""The conversations of ChatGPT's data export.

What was said is the branch from the root to the node that was last looked at; answers that were generated again and prompts
that were edited are counted as ``off-path``. A conversation that is not to be remembered is not. Knows no files.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from kept.core.event import Author, Kind, Precision, Tool
from kept.core.times import parse_instant
from kept.sources.documents import Document, Entry, Place, Said, mapping_of, split_prompt, word_of
from kept.sources.pieces import bounded, bounded_name, words_of


def translate(value: Mapping[str, Any], place: Place) -> Document:
    """A conversation of the export, which stands at this place, with a record for each node of its tree."""
    session = bounded_name(value.get("conversation_id")) or bounded_name(value.get("id"))
    mapping = value.get("mapping")
    nodes: Mapping[str, Any] = mapping if isinstance(mapping, dict) else {}
    if value.get("is_do_not_remember"):
        entries = [Entry(place=place, dropped="do-not-remember") for _ in nodes]
    else:
        chain = _chain(nodes, value.get("current_node"))
        started = parse_instant(value.get("create_time"))
        entries = [_read_node(node, nodes[node], place, started) for node in chain]
        entries += [Entry(place=place, dropped=_off_path(nodes[node])) for node in nodes.keys() - set(chain)]
    return Document(session=session, entries=tuple(entries or [Entry(place=place, dropped="empty-conversation")]))


def _off_path(node: Any) -> str:
    return "off-path" if isinstance(node, dict) and isinstance(node.get("message"), dict) else "no-message"


def _chain(nodes: Mapping[str, Any], current: Any) -> list[str]:
    """The ids from the root to the current node; where none is named, to the youngest leaf. Ends on cycles."""
    if not isinstance(current, str) or current not in nodes:
        leaves = [node for node, value in nodes.items() if isinstance(value, dict) and not value.get("children")]
        current = max(leaves, key=lambda node: _created(nodes[node]), default=None)
    chain: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in chain:
        chain[current] = None
        node = nodes[current]
        current = node.get("parent") if isinstance(node, dict) else None
    return list(reversed(chain))


def _created(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    created = message.get("create_time") if isinstance(message, dict) else None
    return float(created) if isinstance(created, int | float) else 0.0


_SPEECH = ("text", "multimodal_text")
_THINKING = ("thoughts", "reasoning_recap")


def _read_node(node: str, value: Any, place: Place, started: datetime | None) -> Entry:
    """A node of the branch: a message's author decides, then what its content is."""
    message = value.get("message") if isinstance(value, dict) else None
    if not isinstance(message, dict):
        return Entry(place=place, dropped="no-message")
    author, metadata, content = (mapping_of(message.get(key)) for key in ("author", "metadata", "content"))
    role, kind = author.get("role"), content.get("content_type")
    if metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message"):
        return Entry(place=place, dropped="hidden")
    if kind in ("user_editable_context", "model_editable_context"):
        return Entry(place=place, dropped="hidden-context")
    if kind in _THINKING or message.get("channel") == "analysis":
        return Entry(place=place, dropped="thinking")
    if role not in ("user", "assistant"):
        return Entry(place=place, dropped=f"role:{word_of(role)}")
    at = parse_instant(message.get("create_time"))
    template = Said(
        kind=Kind.PROMPT,
        author=Author.HUMAN,
        reason="export:user",
        text="",
        at=at or started,
        precision=Precision.MESSAGE if at else Precision.SESSION,
        native=bounded_name(message.get("id")) or node,
        parent=bounded_name(value.get("parent")),
    )
    text, noted = _read_parts(content)
    if role == "user":
        return _typed(place, text, template, noted) if kind in _SPEECH else Entry(place=place, dropped=f"content:{word_of(kind)}")
    recipient = message.get("recipient")
    if isinstance(recipient, str) and recipient not in ("all", ""):
        return _answer_entry(place, text, template, noted, Tool(name=bounded_name(recipient), target=bounded(text)))
    return _answer_entry(place, text, template, noted, None)


def _read_parts(content: Mapping[str, Any]) -> tuple[str, dict[str, int]]:
    """The words of a content, and how many pictures and the like stood between them. What was spoken is words too."""
    noted: dict[str, int] = {}
    parts = content.get("parts")
    if not isinstance(parts, list):
        return words_of(content.get("text")), noted
    texts = []
    for part in parts:
        if isinstance(part, dict) and not isinstance(part.get("text"), str):
            kind = f"part:{word_of(part.get('content_type'))}"
            noted[kind] = noted.get(kind, 0) + 1
        else:
            texts.append(part)
    return words_of(texts), noted


def _typed(place: Place, text: str, template: Said, noted: Mapping[str, int]) -> Entry:
    said, removed = split_prompt(text, template.reason, template)
    return Entry(place=place, said=tuple(said), dropped="" if said else "no-text", noted={**noted, **removed})


def _answer_entry(place: Place, text: str, template: Said, noted: Mapping[str, int], tool: Tool | None) -> Entry:
    if not text:
        return Entry(place=place, dropped="no-text", noted=noted)
    kind = Kind.TOOL_CALL if tool else Kind.RESPONSE
    text = tool.target if tool else text
    said = replace(template, kind=kind, author=Author.ASSISTANT, reason="export:assistant", text=text, tool=tool)
    return Entry(place=place, said=(said,), noted=noted)
