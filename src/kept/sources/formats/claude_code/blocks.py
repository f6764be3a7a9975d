"""The blocks of a Claude Code message as pieces of events: tool calls, tool results, and what a user typed into them.

Knows the client's tools and how it words a refused call; knows no files and no order of records.
"""

import json
from collections.abc import Mapping
from typing import Any

from kept.core.event import CHOICE, Author, EventKind, ToolUse
from kept.sources.pieces import MessagePiece, content_text, format_change, shorten_text, truncate_name, truncate_text

CALLS = ("tool_use", "server_tool_use")


# The first of these that an input holds says what the call worked on.
_TARGETS = ("command", "file_path", "notebook_path", "pattern", "url", "query", "path", "description", "skill")


def to_call_piece(block: Mapping[str, Any], *, author: Author, reason: str, index: int) -> MessagePiece:
    """A tool_use block as a call; its text is its target."""
    given = block.get("input")
    inputs: Mapping[str, Any] = given if isinstance(given, dict) else {}
    named = next((inputs[key] for key in _TARGETS if isinstance(inputs.get(key), str) and inputs[key]), None)
    target = truncate_text(named or (json.dumps(given, ensure_ascii=False) if given else ""))
    name = truncate_name(block.get("name"))
    tool = ToolUse(name=name, call=truncate_name(block.get("id")), target=target, detail=_call_detail(inputs))
    return MessagePiece(kind=EventKind.TOOL_CALL, author=author, reason=reason, text=target or name, index=index, tool=tool)


def _call_detail(inputs: Mapping[str, Any]) -> str:
    """What the call changes: old → new text of edits, the text of a new file, the prompt of a sub-agent; else nothing."""
    edits = inputs.get("edits")
    for edit in (inputs, *(edits if isinstance(edits, list) else ())):
        if not isinstance(edit, dict):
            continue
        old, new = edit.get("old_string"), edit.get("new_string")
        if isinstance(old, str) and isinstance(new, str):
            return format_change(old, new)
    texts = (inputs.get(key) for key in ("content", "new_source", "prompt"))
    return next((truncate_text(text) for text in texts if isinstance(text, str)), "")


# A call that did not run neither succeeded nor failed.
_NOT_RUN = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "[Request interrupted by user",
    "<tool_use_error>Sibling tool call errored",
    "<tool_use_error>Cancelled",
    "Permission to use ",
    "Claude requested permissions to ",
)


def to_result_piece(
    block: Mapping[str, Any], result: Any, *, name: str, call: str, target: str, index: int, noted: dict[str, int]
) -> MessagePiece:
    """A tool_result block as an output, with the record's ``toolUseResult`` as its second witness."""
    content = block.get("content")
    text = shorten_text(content_text(content), noted)
    if isinstance(content, list):
        for item in content:
            kind = item.get("type") if isinstance(item, dict) else None
            if kind in ("image", "document"):
                noted[f"block:{kind}"] = noted.get(f"block:{kind}", 0) + 1
    if not name:
        noted["output-without-call"] = noted.get("output-without-call", 0) + 1
    ran = not text.startswith(_NOT_RUN)
    tool = ToolUse(
        name=name,
        call=call,
        target=target,
        ok=_call_success(block.get("is_error"), result) if ran else None,
        exit_code=_stated_exit_code(text, result) if ran else None,
    )
    reason = "tool-result" if ran else "tool-result:not-run"
    return MessagePiece(kind=EventKind.TOOL_OUTPUT, author=Author.TOOL, reason=reason, text=text, index=index, tool=tool)


def _call_success(is_error: Any, result: Any) -> bool | None:
    if isinstance(is_error, bool):
        return not is_error
    match result:
        case str():
            return False if result.startswith("Error") else None
        case {"interrupted": True} | {"success": False}:
            return False
        case dict():
            return True
        case _:
            return None


_DIGITS = 3


def _stated_exit_code(text: str, result: Any) -> int | None:
    if isinstance(result, dict):
        codes = (result.get(key) for key in ("exitCode", "exit_code", "code"))
        stated = next((code for code in codes if isinstance(code, int) and not isinstance(code, bool)), None)
        if stated is not None:
            return stated
    opening, _, rest = text[:20].partition("Exit code ")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return int(digits) if not opening and 0 < len(digits) <= _DIGITS else None


_SAID = "the user said:\n"
_NOTE = "\n\nNote: The user's next message may contain a correction or preference"


def denial_pieces(block: Mapping[str, Any], value: Mapping[str, Any], index: int) -> list[MessagePiece]:
    """What the user typed while refusing a tool call.

    The client words the refusal as the tool's result. Only fields that a tool cannot write say that it is one: an error that
    a tool printed is recorded with ``Error:`` before it.
    """
    refused = value.get("toolDenialKind") == "user-rejected" or value.get("toolUseResult") == "User rejected tool use"
    text = content_text(block.get("content")) if refused and block.get("is_error") is True else ""
    if not text.startswith(_NOT_RUN[0]) or _SAID not in text:
        return []
    said = text.partition(_SAID)[2].partition(_NOTE)[0].strip()
    if not said or said.startswith("The user wants to clarify these questions"):
        return []
    return [
        MessagePiece(kind=EventKind.PROMPT, author=Author.HUMAN, reason="typed-while-refusing", text=said, index=index, order=1)
    ]


def answer_pieces(name: str, result: Any, target: str, index: int) -> list[MessagePiece]:
    """What the user chose or typed when the client itself put the assistant's questions to them; nothing where the call came with
    its answers, as from a hook.
    """
    answers = result.get("answers") if name == "AskUserQuestion" and isinstance(result, dict) else None
    if not isinstance(answers, dict) or '"answers"' in target:
        return []
    texts = [answer.strip() for answer in answers.values() if isinstance(answer, str) and answer.strip()]
    text = "\n".join(texts)
    labels = _option_labels(target)
    typed = labels and not any(label in answer for answer in map(str.casefold, texts) for label in labels)
    reason = "typed-answer" if typed else CHOICE
    return (
        [MessagePiece(kind=EventKind.PROMPT, author=Author.HUMAN, reason=reason, text=text, index=index, order=1)] if text else []
    )


def _option_labels(target: str) -> list[str]:
    """The wordings of the options that a call put before the user; none where the call is not whole."""
    try:
        asked = json.loads(target)["questions"]
        return [option["label"].strip(" .").casefold() for question in asked for option in question["options"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def message_blocks(value: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """A message's content as blocks; a plain string is one block of text. None where there is no message."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    match content:
        case str():
            return [{"type": "text", "text": content}]
        case list():
            blocks = ({"type": "text", "text": block} if isinstance(block, str) else block for block in content)
            return [block for block in blocks if isinstance(block, dict)]
        case _:
            return None
