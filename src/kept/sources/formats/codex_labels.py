"""Parse single items of Codex: which user text the client wrote, the target of a call, the exit status of an output. Also defines
the reader's state.
"""

import json
from typing import Any, NamedTuple

from kept.core.digest import hash_texts
from kept.core.event import ToolUse
from kept.core.text import one_line
from kept.core.value import dataclass, field
from kept.core.words import match_opening
from kept.sources.drafts import (
    EventDraft,
    OpenCalls,
    call_detail,
    call_target,
    command_line,
    exit_code_of,
    injected_draft,
    parse_exit_code,
    parse_object,
    truncate_text,
)
from kept.sources.fields import Fields, Notes, content_text, list_parts
from kept.sources.json_lines import Fetch
from kept.sources.records import RecordPlace

CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")
_HOOK, _HOOK_END = "<hook_prompt", "</hook_prompt>"
_IDE, _IDE_END = "# Context from my IDE setup:", "\n## My request for Codex:"


def client_text_reason(text: str) -> str:
    """The reason why the client wrote a text of role user; empty if the user may have written it."""
    return match_opening("codex", text.lstrip())


def strip_hook_blocks(text: str) -> tuple[str, str]:
    """Return the text without the blocks that hooks added, and these blocks."""
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


def prompt_drafts(text: str, noted: Notes, *, reason: str) -> list[EventDraft]:
    """The drafts of a prompt: the user's text, and additions by hooks and by an editor's extension."""
    text, hooks = strip_hook_blocks(text)
    drafts = [injected_draft(hooks, "hook-prompt", 1)] if hooks else []
    if text.startswith(_IDE) and _IDE_END in text:
        context, _, text = text.rpartition(_IDE_END)  # a selection may contain this heading, so the last one precedes the request
        drafts.append(injected_draft(context, "ide-context", 2))
    return EventDraft(reason=reason).typed(text, noted) + drafts


def called_tool(item: Fields) -> ToolUse:
    """The tool of a call item."""
    call = item.name("call_id") or item.name("id")
    match item.get("type"):
        case "custom_tool_call":
            text = item.get("input")
            text = text if isinstance(text, str) else ""
            files = _patched_files(text)
            return ToolUse(
                name=item.name("name"),
                call=call,
                target=truncate_text(", ".join(files) or text),
                detail=truncate_text(text) if files else "",
            )
        case "local_shell_call" | "web_search_call" | "tool_search_call" as kind:
            action = item.get("action") or item.get("arguments")
            return ToolUse(
                name=str(kind)[: -len("_call")], call=call, target=call_target(action) if isinstance(action, Fields) else ""
            )
        case _:
            given = item.get("arguments")
            arguments = parse_object(given) if isinstance(given, str) else item.mapping("arguments")
            command = command_line(arguments.get("command") or arguments.get("cmd"))
            files = _patched_files(command)
            target = ", ".join(files) or call_target(arguments) or (given if isinstance(given, str) and given != "{}" else "")
            return ToolUse(
                name=item.name("name"),
                call=call,
                target=truncate_text(target),
                detail=truncate_text(command) if files else call_detail(arguments),
            )


_PATCH_MARKS = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def _patched_files(text: str) -> list[str]:
    """The paths of the files that a patch changes, in the order of the patch."""
    if "*** Begin Patch" not in text:
        return []
    return [line.partition(": ")[2].strip() for line in text.splitlines() if line.startswith(_PATCH_MARKS)]


def parse_output(output: Any, noted: Notes) -> tuple[str, bool | None, int | None]:
    """An output's text, whether the tool succeeded, and its exit status. The last two are None if unknown."""
    success = None
    if isinstance(output, Fields):
        success = output.get("success")
        output = output.get("content", output.get("output"))
    if isinstance(output, list):
        for block in list_parts(output):
            if block.get("type") in ("input_image", "image"):
                noted["block:image"] += 1
    text = content_text(output)
    code = None
    if text.startswith('{"output"'):
        inner = parse_object(text)
        if isinstance(inner.get("output"), str):
            text, code = inner["output"].strip(), inner.mapping("metadata").get("exit_code")
    code = _header_exit_code(text) if exit_code_of(code) is None else code
    return text, code == 0 if code is not None else success if isinstance(success, bool) else None, code


_HEADER_CHARACTERS = 500
_STATED = ("Process exited with code ", "Exit code: ")


def _header_exit_code(text: str) -> int | None:
    """The exit status in the lines that the client adds above an output. Lines that the tool printed below them do not count."""
    for line in text[:_HEADER_CHARACTERS].splitlines():
        if line == "Output:":
            break
        stated = next((line[len(mark) :] for mark in _STATED if line.startswith(mark)), "")
        if (code := parse_exit_code(stated)) is not None:
            return code
    return None


_PROMPTS = 256
WAITING = 16


class WaitingPrompt(NamedTuple):
    """A prompt that waits for its second record: its place in the file, its time as written, and its text."""

    place: RecordPlace
    stamp: str
    text: str


@dataclass(kw_only=True, slots=True)
class State:
    """The state after the records read so far. Its size is bounded.

    ``session`` is the file's own id, ``source`` the id of the conversation from which it was converted, ``root`` the id of the
    session from which its beginning was copied. ``created``, ``written`` and ``began`` are the times of the session, of its first
    line and of the root, as written. ``turn`` is the id of the current turn. ``grid`` counts the seconds of a converted beginning;
    it is -1 after its end.

    ``machine`` names the purpose for which the client itself runs the session. The flags mean: ``subagent``, an agent started the
    session; ``digest``, a program wrote its first prompt; ``unattended``, a program started it, or no person works in its folder;
    ``printed``, ``codex exec`` runs it; ``scheduled``, a schedule sent its first prompt; ``legacy``, the file has the old form;
    ``opened``, the first prompt was read; ``told``, the file has events that confirm prompts.

    ``chain`` is a hash of the conversation so far, ``tip`` its last record. ``prompts`` has the records that the last prompts
    follow. ``developer`` has hashes of the last messages of other roles than the user's and the assistant's. ``held`` has prompts
    whose event is still missing, ``early`` events whose prompt is still missing.
    """

    session: str = ""
    source: str = ""
    root: str = ""
    created: str = ""
    written: str = ""
    began: str = ""
    turn: str = ""
    grid: int = 0
    machine: str = ""
    subagent: bool = False
    digest: bool = False
    unattended: bool = False
    printed: bool = False
    scheduled: bool = False
    legacy: bool = False
    opened: bool = False
    told: bool = False
    cwd: str = ""
    branch: str = ""
    chain: str = ""
    tip: str = ""
    prompts: list[str] = field(default_factory=list)
    developer: list[str] = field(default_factory=list)
    calls: OpenCalls = field(default_factory=OpenCalls)
    held: list[WaitingPrompt] = field(default_factory=list)
    early: list[WaitingPrompt] = field(default_factory=list)

    @classmethod
    def restore(cls, carry: str, fetch: Fetch) -> "State":
        """Restore a state from the result of :meth:`dump`."""
        stored = json.loads(carry)
        state = cls(**{name: stored[name] for name in _CARRIED if name in stored})
        state.calls.load(stored.get("calls", {}), fetch, _calls_in)
        for name, waiting in (("held", state.held), ("early", state.early)):
            for place in stored.get(name, []):
                value = fetch(place[1], place[2])
                waiting.append(WaitingPrompt(RecordPlace(*place), record_stamp(value), prompt_text(record_item(value))))
        return state

    def dump(self) -> str:
        """The state as JSON: ids, hashes, folders, times and places, but no words of the transcript."""
        stored: dict[str, Any] = {name: getattr(self, name) for name in _CARRIED}
        stored["calls"] = self.calls.dump()
        stored["held"] = [prompt.place for prompt in self.held]
        stored["early"] = [prompt.place for prompt in self.early]
        return json.dumps({name: value for name, value in stored.items() if value}, ensure_ascii=False, separators=(",", ":"))

    def next_message_key(self, *parts: str) -> str:
        """The key of the next message: a hash of all messages before it and of itself.

        A fork copies the beginning of a conversation, and its copy has the same keys whatever its time stamps. A text that is said
        twice has two keys.
        """
        self.chain = hash_texts(self.chain or self.root, *parts)
        return self.chain

    def open_turn(self) -> None:
        """Begin the turn of a prompt. A later rollback may return to this point."""
        self.prompts = [*self.prompts, self.tip][-_PROMPTS:]

    def roll_back(self, turns: int) -> None:
        """Return to the point before the last ``turns`` prompts."""
        first = max(0, len(self.prompts) - turns)
        self.tip = self.prompts[first]
        self.prompts = self.prompts[:first]


_CARRIED = tuple(name for name in State.__slots__ if name not in ("calls", "held", "early"))


def _calls_in(value: Fields) -> list[ToolUse]:
    item = record_item(value)
    return [called_tool(item)] if item.get("type") in CALLS else []


def record_item(value: Fields) -> Fields:
    """The item in a record: its payload, or in the old form the record itself."""
    payload = value.get("payload")
    return payload if isinstance(payload, Fields) else value


def record_stamp(value: Fields) -> str:
    """A record's time as written; empty if it has none."""
    return value.name("timestamp")


def prompt_text(item: Fields) -> str:
    """The text of a prompt that the user may have typed: its event's message, or its item's text without the client's own texts."""
    if "message" in item:
        return content_text(item["message"])
    content = item.get("content")
    texts = [content_text([block]) for block in (content if isinstance(content, list) else [content])]
    return "\n".join(rest for text in texts if not client_text_reason(text) and (rest := strip_hook_blocks(text)[0]))


def take_prompt(waiting: list[WaitingPrompt], text: str) -> bool:
    """Remove the first waiting prompt that ends with this text, or that is the end of this text. Returns False if there is none."""
    words = one_line(text)
    for index, prompt in enumerate(waiting):
        other = one_line(prompt.text)
        if other == words or (words and other.endswith(words)) or (other and words.endswith(other)):
            del waiting[index]
            return True
    return False
