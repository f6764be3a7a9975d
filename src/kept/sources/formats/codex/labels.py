"""Codex's items as pieces: which user text is the client's own, what a call works on, how an output says that it ended.

Knows no files and no order of records.
"""

from collections.abc import Mapping
from typing import Any

from kept.core.event import ToolUse
from kept.sources.pieces import (
    MessagePiece,
    call_detail,
    call_target,
    command_line,
    content_text,
    count_note,
    injected_piece,
    parse_object,
    truncate_name,
    truncate_text,
    typed_pieces,
)

CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")
# How text begins that the client writes in the user's name.
_OWN = (
    ("# AGENTS.md instructions", "agents-md"),
    ("<INSTRUCTIONS>", "agents-md"),
    ("<environment_context>", "environment-context"),
    ("<environments_instructions>", "environment-context"),
    ("<user_instructions>", "user-instructions"),
    ("<permissions instructions>", "permissions"),
    ("<skill>", "skill"),
    ("<skills_instructions>", "skill"),
    ("<plugins_instructions>", "plugins"),
    ("<apps_instructions>", "plugins"),
    ("<recommended_plugins>", "plugins"),
    ("<collaboration_mode>", "mode"),
    ("<multi_agent_mode>", "mode"),
    ("<personality_spec>", "mode"),
    ("<token_budget>", "budget"),
    ("<context_window", "budget"),
    ("<subagent_notification>", "subagent-notification"),
    ("<turn_aborted>", "turn-aborted"),
    ("<user_shell_command>", "user-shell-command"),
    ("<goal_context>", "internal-context"),
    ("<codex_internal_context", "internal-context"),
    ("<additional_context", "internal-context"),
    ("<external_", "internal-context"),
)
_HOOK, _HOOK_END = "<hook_prompt", "</hook_prompt>"
_IDE, _IDE_END = "# Context from my IDE setup:", "\n## My request for Codex:"


def client_text_reason(text: str) -> str:
    """Why a text of role user is the client's and not the user's; empty where it may be the user's."""
    text = text.lstrip()
    return next((reason for opening, reason in _OWN if text.startswith(opening)), "")


def strip_hook_blocks(text: str) -> tuple[str, str]:
    """A text without the blocks that hooks put into it, and those blocks."""
    kept, hooks, position = [], [], 0
    while (start := text.find(_HOOK, position)) >= 0:
        end = text.find(_HOOK_END, start)
        if end < 0:
            break
        end += len(_HOOK_END)
        kept.append(text[position:start])
        hooks.append(text[start:end])
        position = end
    return "".join([*kept, text[position:]]).strip(), "\n".join(hooks)


def prompt_pieces(text: str, noted: dict[str, int], *, reason: str) -> list[MessagePiece]:
    """The pieces of a prompt: what an editor's extension put before it, and what the user typed."""
    text, hooks = strip_hook_blocks(text)
    pieces = [injected_piece(hooks, "hook-prompt", 1)] if hooks else []
    if text.startswith(_IDE) and _IDE_END in text:
        context, _, text = text.rpartition(_IDE_END)  # a selection may hold the heading, the request comes last
        pieces.append(injected_piece(context, "ide-context", 2))
    return typed_pieces(text, noted, reason=reason) + pieces


def to_tool_call(item: Mapping[str, Any]) -> ToolUse:
    """The tool's side of a call item."""
    call = truncate_name(item.get("call_id")) or truncate_name(item.get("id"))
    match item.get("type"):
        case "custom_tool_call":
            text = item.get("input")
            text = text if isinstance(text, str) else ""
            files = _patched_files(text)
            return ToolUse(
                name=truncate_name(item.get("name")),
                call=call,
                target=truncate_text(", ".join(files) or text),
                detail=truncate_text(text) if files else "",
            )
        case "local_shell_call" | "web_search_call" | "tool_search_call" as kind:
            action = item.get("action") or item.get("arguments")
            return ToolUse(
                name=str(kind)[: -len("_call")], call=call, target=call_target(action) if isinstance(action, dict) else ""
            )
        case _:
            given = item.get("arguments")
            arguments = parse_object(given) if isinstance(given, str) else given if isinstance(given, dict) else {}
            command = command_line(arguments.get("command") or arguments.get("cmd"))
            files = _patched_files(command)
            target = ", ".join(files) or call_target(arguments) or (given if isinstance(given, str) and given != "{}" else "")
            return ToolUse(
                name=truncate_name(item.get("name")),
                call=call,
                target=truncate_text(target),
                detail=truncate_text(command) if files else call_detail(arguments),
            )


_PATCH_MARKS = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def _patched_files(text: str) -> list[str]:
    """The files that a patch changes, in order."""
    if "*** Begin Patch" not in text:
        return []
    return [line.partition(": ")[2].strip() for line in text.splitlines() if line.startswith(_PATCH_MARKS)]


def parse_output(output: Any, noted: dict[str, int]) -> tuple[str, bool | None, int | None]:
    """An output's text, whether the tool succeeded, and its exit status; the last two None where it is not said."""
    success = None
    if isinstance(output, dict):
        success = output.get("success")
        output = output.get("content", output.get("output"))
    if isinstance(output, list):
        for block in output:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind in ("input_image", "image"):
                count_note(noted, "block:image")
    text = content_text(output)
    code = None
    if text.startswith('{"output"'):
        inner = parse_object(text)
        metadata = inner.get("metadata")
        if isinstance(inner.get("output"), str):
            text = inner["output"].strip()
            code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    code = code if isinstance(code, int) and not isinstance(code, bool) else _header_exit_code(text)
    return text, code == 0 if code is not None else success if isinstance(success, bool) else None, code


_HEADER_CHARACTERS = 500
_STATED = ("Process exited with code ", "Exit code: ")


def _header_exit_code(text: str) -> int | None:
    """The status in the lines that the client writes above an output; what the tool printed below does not count."""
    for line in text[:_HEADER_CHARACTERS].splitlines():
        if line == "Output:":
            break
        digits = next((line[len(mark) :] for mark in _STATED if line.startswith(mark)), "")
        if digits.removeprefix("-").isdecimal() and len(digits) < 12:
            return int(digits)
    return None
