"""Convert messages in the forms of model APIs to records of the generic format. A record has one speaker, one text, and its calls.

Handles Anthropic's blocks, OpenAI's chat messages and response items, LangChain's messages, and the objects of their SDKs. Leaves
out reasoning and everything without words, such as images.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from kept.core.errors import UsageError


@runtime_checkable
class Dumpable(Protocol):
    """An SDK object (pydantic) that can be converted to a mapping."""

    def model_dump(self) -> Mapping[str, object]:
        """Return its fields."""


Message = Mapping[str, object] | Dumpable | str
_ROLES = {role: role for role in ("user", "assistant", "tool", "system")} | {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
}
_KEPT = ("timestamp", "id", "name", "tool_call_id", "is_error")
_TEXTS = frozenset({"text", "input_text", "output_text", "refusal"})


def to_records(message: Message) -> Iterator[dict[str, object]]:
    """Yield the records of a message, or of each message in a model's reply. A plain string is a user's message.

    Raises UsageError for a message without a known role.
    """
    fields = {"role": "user", "content": message} if isinstance(message, str) else _to_fields(message)
    parts = [choice.get("message") for choice in map(_to_fields, _to_items(fields.get("choices")))] or _to_items(
        fields.get("output")
    )
    whole = isinstance(fields.get("choices", fields.get("output")), list | tuple)
    if whole and fields.get("role") is None and fields.get("type") is None:
        for part in map(_to_fields, parts):
            yield from to_records(part)
        return
    match fields.get("type"):
        case "function_call" | "custom_tool_call":
            call = _make_call(fields.get("call_id"), fields.get("name"), fields.get("arguments", fields.get("input")))
            yield {"role": "assistant", "content": "", "tool_calls": [call]}
            return
        case "function_call_output" | "custom_tool_call_output":
            yield {"role": "tool", "content": _content_text(fields.get("output")), "tool_call_id": fields.get("call_id")}
            return
    role = _ROLES.get(str(fields.get("role") or fields.get("type")).removesuffix("MessageChunk").lower())
    if role is None and fields.get("type") and not any(fields.get(item) for item in ("role", "content", "text")):
        return  # a response item without words, such as reasoning, a search or a reference
    if role is None:
        raise UsageError("a message needs a role: user, assistant, tool or system")
    content, calls = fields.get("content"), [_chat_call(_to_fields(call)) for call in _to_items(fields.get("tool_calls"))]
    for block in map(_to_fields, _to_items(content)):
        match block.get("type"):
            case "tool_use":
                calls.append(_make_call(block.get("id"), block.get("name"), block.get("input")))
            case "tool_result":
                result = {"role": "tool", "content": _content_text(block.get("content")), "tool_call_id": block.get("tool_use_id")}
                yield result | {"is_error": bool(block.get("is_error"))}
    text = _content_text(content)
    if text or calls:
        kept = {name: fields[name] for name in _KEPT if fields.get(name) is not None}
        yield kept | {"role": role, "content": text} | ({"tool_calls": calls} if calls else {})


def _to_fields(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Dumpable):
        return value.model_dump()
    return {"type": "text", "text": value} if isinstance(value, str) else {}


def _to_items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _content_text(content: object) -> str:
    """The text of a string or of a list of blocks. A mapping that a tool returned becomes JSON."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list() | tuple():
            blocks = [_to_fields(item) for item in content]
            texts = [block.get("text", block.get("refusal")) for block in blocks if block.get("type", "text") in _TEXTS]
            return "\n".join(text for text in texts if isinstance(text, str))
    return json.dumps(content, ensure_ascii=False, default=str)


def _chat_call(call: Mapping[str, object]) -> Mapping[str, object]:
    """A call in the form of OpenAI's chat messages. LangChain's calls have name and arguments beside the id."""
    return call if "function" in call else _make_call(call.get("id"), call.get("name"), call.get("args"))


def _make_call(number: object, name: object, arguments: object) -> dict[str, object]:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}
