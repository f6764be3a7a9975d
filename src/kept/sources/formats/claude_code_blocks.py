"""Parse single records of Claude Code: their author, the drafts of their blocks, and the reader's state.

Knows the fields that the client and its hooks write, the client's tools, and the client's text for a refused call.
"""

import json
from collections.abc import Iterator
from typing import Any

from kept.core.digest import hash_texts
from kept.core.event import CHOICE, Author, EventKind, ToolUse
from kept.core.pattern import compile_late
from kept.core.value import dataclass, field
from kept.core.words import list_shapes
from kept.sources.documents import PRINTED, is_program, is_unattended
from kept.sources.drafts import EventDraft, OpenCalls, call_detail, call_target, exit_code_of, hold_newest, shorten_text
from kept.sources.fields import Fields, Notes, content_text, list_parts
from kept.sources.json_lines import Fetch


def label_record(value: Fields, *, subagent_file: bool) -> tuple[Author, str] | None:
    """The author of a user record according to its own fields, with the reason; None if its text must be examined.

    If the fields name two authors, the less trusted one counts.
    """
    if subagent_file:
        return Author.SUBAGENT, "subagent-file"
    for name, author, reason in _CLAIMS:
        if value.get(name):
            return author, reason
    role = value.mapping("message").get("role")
    if role is not None and role != "user":
        return Author.INJECTED, "role-mismatch"
    if value.get("planContent"):
        return Author.INJECTED, "planContent"
    origin = value.get("origin")
    kind = origin if isinstance(origin, str) else value.mapping("origin").get("kind")
    if kind is not None:
        return (Author.INJECTED, "origin-not-human") if kind != "human" else None
    entry, source = value.get("entrypoint"), value.get("promptSource")
    printed = entry == PRINTED and not is_unattended(value.get("cwd"))
    if is_program(entry) or (entry == PRINTED and not printed):
        return Author.INJECTED, "entrypoint-sdk"
    return (Author.INJECTED, "promptSource-machine") if source == "system" or (source == "sdk" and not printed) else None


# The author and the reason for each field that is true; the least trusted author comes first.
_CLAIMS = (
    ("isSidechain", Author.SUBAGENT, "isSidechain"),
    ("agentId", Author.SUBAGENT, "agentId"),
    ("agentName", Author.SUBAGENT, "agentName"),
    ("parent_tool_use_id", Author.SUBAGENT, "parent-tool-use"),
    ("parentToolUseID", Author.SUBAGENT, "parent-tool-use"),
    ("isCompactSummary", Author.COMPACTION, "isCompactSummary"),
    ("isMeta", Author.INJECTED, "isMeta"),
    ("isSynthetic", Author.INJECTED, "isSynthetic"),
    ("sourceToolUseID", Author.INJECTED, "sourceToolUseID"),
    ("isVisibleInTranscriptOnly", Author.INJECTED, "isVisibleInTranscriptOnly"),
)


CALLS = ("tool_use", "server_tool_use")


# The target of a call is the first of these inputs that the call has.
_TARGETS = ("command", "file_path", "notebook_path", "pattern", "url", "query", "path", "description", "skill")
# The text that a call writes is the first of these inputs: a new file, a notebook cell, a sub-agent's prompt.
_WRITTEN = ("content", "new_source", "prompt")


def called_tool(block: Fields) -> ToolUse:
    """The tool of a tool_use block."""
    given = block.mapping("input")
    target, detail = call_target(given, _TARGETS), call_detail(given, _WRITTEN)
    return ToolUse(name=block.name("name"), call=block.name("id"), target=target, detail=detail)


def to_result_draft(block: Fields, result: Any, tool: ToolUse, *, index: int, noted: Notes) -> EventDraft:
    """Convert a tool_result block to an output of ``tool``. ``result`` is the record's ``toolUseResult``, which also says how the
    call ended.
    """
    content = block.get("content")
    for part in () if isinstance(content, str) else list_parts(content):
        if part.get("type") in ("image", "document"):
            noted[f"block:{part['type']}"] += 1
    if not tool.name:
        noted["output-without-call"] += 1
    text = content_text(content)
    ran = not text.startswith(list_shapes("clients", "not_run"))
    return EventDraft(
        kind=EventKind.TOOL_OUTPUT,
        author=Author.TOOL,
        reason="tool-result" if ran else "tool-result:not-run",
        text=shorten_text(text, noted),
        index=index,
        tool=ToolUse(
            name=tool.name,
            call=tool.call,
            target=tool.target,
            ok=_call_success(block.get("is_error"), result) if ran else tool.ok,
            exit_code=_stated_exit_code(text, result) if ran else tool.exit_code,
        ),
    )


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


_EXIT_CODE = compile_late(r"Exit code ([0-9]{1,3})(?![0-9])")


def _stated_exit_code(text: str, result: Any) -> int | None:
    if isinstance(result, Fields):
        for key in ("exitCode", "exit_code", "code"):
            if key in result and (code := exit_code_of(result[key])) is not None:
                return code
    printed = _EXIT_CODE.match(text) if text.startswith("Exit code") else None
    return int(printed[1]) if printed else None


_REFUSED = "The user doesn't want to proceed with this tool use"
_SAID = "the user said:\n"
_NOTE = "\n\nNote: The user's next message may contain a correction or preference"


def denial_drafts(block: Fields, value: Fields, index: int) -> list[EventDraft]:
    """Drafts of the text that the user typed while refusing a tool call. The client puts this text into the tool's result.

    A refusal is recognized by fields that a tool cannot write. The client puts ``Error:`` before an error that a tool printed.
    """
    refused = value.get("toolDenialKind") == "user-rejected" or value.get("toolUseResult") == "User rejected tool use"
    text = block.text("content") if refused and block.get("is_error") is True else ""
    if not text.startswith(_REFUSED) or _SAID not in text:
        return []
    typed = text.partition(_SAID)[2].partition(_NOTE)[0].strip()
    if not typed or typed.startswith("The user wants to clarify these questions"):
        return []
    return [EventDraft(reason="typed-while-refusing", text=typed, index=index, order=1)]


def answer_drafts(tool: ToolUse, result: Any, index: int) -> list[EventDraft]:
    """Drafts of the user's answers to questions that the assistant asked through the client. Empty if the call already contained
    the answers, for example from a hook.
    """
    if tool.name != "AskUserQuestion" or not isinstance(result, Fields) or '"answers"' in tool.target:
        return []
    texts = [answer.strip() for answer in result.mapping("answers").values() if isinstance(answer, str) and answer.strip()]
    text = "\n".join(texts)
    labels = _option_labels(tool.target)
    typed = labels and not any(label in text.casefold() for label in labels)
    reason = "typed-answer" if typed else CHOICE
    return [EventDraft(reason=reason, text=text, index=index, order=1)] if text else []


def _option_labels(target: str) -> list[str]:
    """The option labels in the arguments of a call; empty if the arguments were truncated."""
    try:
        asked = json.loads(target)["questions"]
        return [option["label"].strip(" .").casefold() for question in asked for option in question["options"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def message_blocks(value: Fields) -> list[Fields] | None:
    """A message's content as a list of blocks, or None if there is no message. A plain string is one text block."""
    content = value.mapping("message").get("content")
    return list_parts(content) if isinstance(content, str | list) else None


_LINKS = 4096
_QUEUED = 16
_TELLING_WORDS = 4  # words; shorter prompts are often repeated
_SCHEDULERS = ("CronCreate", "ScheduleWakeup")  # tools by which the agent schedules a prompt that the client sends later
_CARRIED = ("session", "cwd", "branch", "opened", "machine", "command", "links", "steered", "scheduled")
Range = tuple[int, int]
"""The bytes [start, end) of a record in its file."""


@dataclass(kw_only=True, slots=True)
class State:
    """The state after the records read so far. Its size is bounded.

    ``links`` maps a record without events to its nearest ancestor with one. ``queue`` has the prompts waiting to be sent, with
    place and text; ``steered`` has hashes of texts already taken from the queue. ``opened`` is the session whose first prompt was
    read, ``machine`` the session that a program started, ``command`` the record of the previous prompt if it was a slash command.
    ``scheduled`` has hashes of the prompts that the agent told the client to send later.
    """

    session: str = ""
    cwd: str = ""
    branch: str = ""
    opened: str = ""
    machine: str = ""
    command: str = ""
    calls: OpenCalls = field(default_factory=OpenCalls)
    links: dict[str, str] = field(default_factory=dict)
    queue: list[tuple[Range, str]] = field(default_factory=list)
    steered: list[str] = field(default_factory=list)
    scheduled: list[str] = field(default_factory=list)

    @classmethod
    def restore(cls, carry: str, fetch: Fetch) -> "State":
        """Restore a state from the result of :meth:`dump`."""
        held = json.loads(carry)
        state = cls(**{name: held[name] for name in _CARRIED if name in held})
        state.calls.load(held.get("calls", {}), fetch, _calls_in)
        state.queue = [((start, end), queued_text(fetch(start, end))) for start, end in held.get("queue", [])]
        return state

    def dump(self) -> str:
        """The state as JSON: ids, hashes, folders, branches and places, but no words of the transcript."""
        held: dict[str, Any] = {name: getattr(self, name) for name in _CARRIED}
        held["calls"] = self.calls.dump()
        held["queue"] = [place for place, _ in self.queue]
        return json.dumps({name: value for name, value in held.items() if value}, ensure_ascii=False, separators=(",", ":"))

    def queue_prompt(self, place: Range, text: str) -> None:
        """Add a prompt to the queue."""
        self.queue = [*self.queue, (place, text)][-_QUEUED:]

    def unqueue_prompt(self, text: str) -> tuple[str, bool]:
        """Remove from the queue the prompt with this text, or the first one if the text is empty. Return its text, and whether it
        was in the queue.
        """
        text = text or next((waiting for _, waiting in self.queue), "")
        found = next((index for index, (_, waiting) in enumerate(self.queue) if waiting == text), len(self.queue))
        typed = found < len(self.queue)
        self.queue = self.queue[:found] + self.queue[found + 1 :]
        return text, typed

    def sent_before(self, text: str) -> bool:
        """True if a prompt repeats one that was taken from the queue. A prompt that is still in the queue is marked as taken."""
        if len(text.split()) < _TELLING_WORDS:
            return False
        known = any(waiting == text for _, waiting in self.queue) or hash_texts(text) in self.steered
        return known and not self.is_first_time(text)

    def is_first_time(self, text: str) -> bool:
        """True if a queued text was not taken before. A text may occur twice: as an attachment, and when it leaves the queue."""
        mark = hash_texts(text)
        if mark in self.steered:
            self.steered = [other for other in self.steered if other != mark]
            return False
        self.steered = [*self.steered, mark][-_QUEUED:]
        return True

    def note_scheduled(self, block: Fields) -> None:
        """Store the hash of the prompt that a call schedules."""
        if block.get("name") in _SCHEDULERS and (text := block.mapping("input").text("prompt")):
            self.scheduled = [*self.scheduled, hash_texts(text)][-_QUEUED:]

    def link_record(self, native: str, parent: str) -> None:
        """Store the parent of a record without events."""
        hold_newest(self.links, native, parent, _LINKS)


def _calls_in(value: Fields) -> Iterator[ToolUse]:
    return (called_tool(block) for block in message_blocks(value) or () if block.get("type") in CALLS)


def queued_text(value: Fields) -> str:
    """The text of a queued prompt; empty if the record's own fields say that nobody typed it."""
    return "" if label_record(value, subagent_file=False) else value.text("content")
