"""What stands before a prompt: the assistant's turn it answers, what was edited in it, and the person's earlier prompts.

Looks back only, at most LOOKBACK events, so that what is seen at a prompt never changes when the session grows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from kept.model.artifact import artifacts
from kept.model.event import Author, Event, Kind
from kept.model.lexicon import Lexicon
from kept.model.text import tokens
from kept.stages.extract.causes import remedy_in
from kept.stages.extract.cues import has

LOOKBACK = 300
_CHANGES = ("edit", "write", "create", "patch", "replace", "update", "insert")
# An assistant's message is read to here from its end: the proposal or the summary stands last.
_READ = 8_000
_OLDER = 12
_REPLIES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Before:
    """What a prompt looks back on.

    ``replies`` are the assistant's messages since the prompt before, latest first, ``older`` those of earlier
    exchanges; ``edited`` the files changed since then, latest
    first; ``asked`` the earlier prompts of the person, latest first; ``question`` is the call of a tool that put a question to the
    person, where the prompt is the answer to it.
    """

    replies: tuple[Event, ...]
    older: tuple[Event, ...]
    edited: tuple[str, ...]
    asked: tuple[Event, ...]
    question: Event | None = None

    @property
    def reply(self) -> str:
        """The end of the assistant's last message; empty when there is none."""
        return self.replies[0].text[-_READ:] if self.replies else ""


def is_prompt(event: Event) -> bool:
    """Whether the event is a prompt that a person typed."""
    return event.kind is Kind.PROMPT and event.author is Author.HUMAN


def before(events: Sequence[Event], start: int, index: int) -> Before:
    """What the prompt at ``index`` of an episode that begins at ``start`` looks back on."""
    replies: list[Event] = []
    older: list[Event] = []
    edited: dict[str, None] = {}
    asked: list[Event] = []
    for event in reversed(events[max(0, start - LOOKBACK) : index]):
        if is_prompt(event):
            asked.append(event)
        elif event.kind is Kind.RESPONSE and event.author is Author.ASSISTANT and event.text.strip():
            (older if asked else replies).append(event)
        elif asked:
            continue
        elif event.kind is Kind.TOOL_CALL and event.author is Author.ASSISTANT and (name := _changed(event)):
            edited.setdefault(name)
    return Before(
        replies=tuple(replies),
        older=tuple(older[:_OLDER]),
        edited=tuple(edited),
        asked=tuple(asked),
        question=_question(events, start, index),
    )


def _question(events: Sequence[Event], start: int, index: int) -> Event | None:
    """The question tool's call just before an answer that the client itself recorded as one; the tool's own output may stand between."""
    if events[index].label_reason != "answer":
        return None
    for event in reversed(events[max(0, start - LOOKBACK, index - 4) : index]):
        if (
            event.kind is Kind.TOOL_CALL
            and event.author is Author.ASSISTANT
            and event.tool
            and "question" in event.tool.name.casefold()
        ):
            return event
        if event.kind is Kind.PROMPT:
            return None
    return None


def granted(events: Sequence[Event], index: int, stop: int, lexicon: Lexicon) -> bool:
    """Whether the exchange that the prompt at ``index`` opens grants what it asks: the assistant says so, or changes files."""
    for event in islice(events, index + 1, stop):
        if event.kind is Kind.PROMPT:
            break
        if event.author is not Author.ASSISTANT:
            continue
        if event.kind is Kind.TOOL_CALL and _changed(event):
            return True
        if event.kind is Kind.RESPONSE and has(lexicon.concession, event.text.lstrip(" *_#")[:80]):
            return True
    return False


def applied(events: Sequence[Event], index: int, stop: int) -> Event | None:
    """The first call in the exchange that the prompt at ``index`` opens that changes a file which is no test."""
    for event in islice(events, index + 1, stop):
        if event.kind is Kind.PROMPT:
            return None
        changes = event.kind is Kind.TOOL_CALL and event.author is Author.ASSISTANT and _changed(event)
        if changes and event.tool and is_file(_changed(event)) and "test" not in event.tool.target.casefold():
            return event
    return None


def replied(events: Sequence[Event], index: int, stop: int) -> tuple[Event, ...]:
    """The assistant's first messages in the exchange that the prompt at ``index`` opens."""
    found: list[Event] = []
    for event in islice(events, index + 1, stop):
        if event.kind is Kind.PROMPT or len(found) == _REPLIES:
            break
        if event.kind is Kind.RESPONSE and event.author is Author.ASSISTANT and event.text.strip():
            found.append(event)
    return tuple(found)


def short_place(path: str) -> str:
    """A file by its name and the folder it lies in."""
    name = "/".join(path.replace("\\", "/").split("/")[-2:]).lstrip("/")
    return name if "`" not in name and len(name) <= 80 else ""


def referent(content: str, seen: Before, *, points_back: bool) -> str:
    """The one file a sentence is about: for "that file" the only one the prompt before names; else the only one changed since then, if
    the assistant's messages hold most of the sentence's words. Empty if unclear.
    """
    named = artifacts(seen.asked[0].text) if points_back and seen.asked and len(seen.asked[0].text) < 600 else ()
    asked = [name.lstrip("@") for name in named if is_file(name)]
    if len(asked) == 1:
        return asked[0]
    said = " ".join(reply.text[-_READ:] for reply in seen.replies).casefold()
    files = [name for name in seen.edited if is_file(name) and name.casefold() in said]
    words = {word for word in tokens(content) if len(word) > 4}
    return files[0] if len(files) == 1 and words and sum(word in said for word in words) * 3 >= len(words) else ""


def proposed(seen: Before) -> str:
    """The one thing that the assistant's last proposal is about: the first name in the remedy it stated; empty if it stated none."""
    for event in seen.replies[:3]:
        names = artifacts(remedy_in(event.text[-_READ:]))
        if names:
            return names[0] if " " not in names[0] else ""
    return ""


def is_file(name: str) -> bool:
    """Whether a name has the shape of a file's, its folders aside."""
    stem, dot, ending = PurePosixPath(name).name.rpartition(".")
    return (
        bool(dot and ending.isalnum() and not ending[0].isdigit() and len(ending) <= 8 and (stem or "/" not in name))
        and " " not in name
        and "//" not in name
        and len(name) <= 80
    )


def _changed(event: Event) -> str:
    tool = event.tool
    if tool is None or not any(word in tool.name.lower() for word in _CHANGES) or "\n" in tool.target or " " in tool.target:
        return ""
    return PurePosixPath(tool.target).name[:80]
