"""Suggestions in a transcript: what the agent of a session handed over, by kept's tool, its command, or the last lines of a reply.

Only the assistant's own calls and replies count: what a tool printed, a page said, a sub-agent wrote or a hook put there is none.
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kept.core.event import Author, Event, EventKind, ToolUse
from kept.core.handover import is_suggestion_tool
from kept.core.pattern import Pattern

_SHELLS = ("bash", "shell", "terminal", "exec", "command", "cmd")
_COMMAND = "kept suggest"
_MOST = 2_000  # characters of a passage
_QUOTE = 400
_OPTIONS = {"--type": "category", "--replaces": "replaces", "--project": ""}
_ENDS = frozenset((";", "&&", "||", "|", "&"))
_LINE = Pattern(r"""(?:(?i:kept))\s*:\s*(?:"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]|«\s*([^»\n]+?)\s*»|「([^」\n]+)」)\.?""")
_MARKS = "*_`> \t"
_MOST_LINES = 3  # a reply hands over so many passages at most
_REFUSED = ("The user doesn't want to", "Permission to use ", "[Request interrupted by user")


@dataclass(frozen=True, kw_only=True, slots=True)
class Suggestion:
    """What was handed over: the words, what they replace, the category that was named, and how it stands in the event at
    ``place``.
    """

    place: int
    event: Event
    text: str
    replaces: str
    category: str
    quote: str


def suggestions(events: Sequence[Event], start: int, stop: int) -> Iterator[Suggestion]:
    """The suggestions among the events ``[start, stop)``, in order; calls that the person refused are none."""
    for place in range(start, min(stop, len(events))):
        event = events[place]
        if event.author is not Author.ASSISTANT:
            continue
        if event.kind is EventKind.RESPONSE and event.text:
            for words in reply_lines(event.text):
                yield Suggestion(place=place, event=event, text=words, replaces="", category="", quote=words[:_QUOTE])
        elif event.kind is EventKind.TOOL_CALL and event.tool is not None:
            given = _arguments(event.tool)
            if given.get("text", "").strip() and not _is_refused(events, place, stop):
                yield _suggestion(place, event, event.tool, given)


def reply_lines(reply: str) -> tuple[str, ...]:
    """The passages that a reply hands over in its last lines, each as ``kept: "exact words"``, in their order."""
    passages: list[str] = []
    for line in reversed(reply.rstrip().rsplit("\n", _MOST_LINES)[-_MOST_LINES:]):
        match = _LINE.fullmatch(line.strip(_MARKS))
        if match is None:
            break
        passages.append(str(match[match.lastindex or 0]))
    return tuple(reversed(passages))


def _suggestion(place: int, event: Event, tool: ToolUse, given: dict[str, str]) -> Suggestion:
    text = given["text"][:_MOST]
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    quote = next((words for words in (text, written) if words in tool.target), tool.target)
    replaces, category = given.get("replaces", ""), given.get("category", "")
    return Suggestion(place=place, event=event, text=text, replaces=replaces, category=category, quote=quote[:_QUOTE])


def _arguments(tool: ToolUse) -> dict[str, str]:
    """What a call hands over; empty for any other call."""
    if is_suggestion_tool(tool.name):
        try:
            body = json.loads(tool.target)
        except (ValueError, RecursionError):
            return {}
        return {name: value for name, value in body.items() if isinstance(value, str)} if isinstance(body, dict) else {}
    if _COMMAND in tool.target and any(part in tool.name.casefold() for part in _SHELLS):
        return _parse_suggest_command(tool.target)
    return {}


def _parse_suggest_command(command: str) -> dict[str, str]:
    """The arguments of the first ``kept suggest`` of a command line."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return {}
    for at in range(len(words) - 1):
        if words[at].rsplit("/", 1)[-1] == "kept" and words[at + 1] == "suggest" and (at == 0 or words[at - 1] in _ENDS):
            return _options(words[at + 2 :])
    return {}


def _options(words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    name = ""
    for word in words:
        option, joined, value = word.partition("=")
        if word in _ENDS:
            break
        if name:
            given[_OPTIONS[name]], name = word, ""
        elif option in _OPTIONS:
            if joined:
                given[_OPTIONS[option]] = value
            else:
                name = option
        elif not word.startswith("-"):
            given.setdefault("text", word)
    return given


def _is_refused(events: Sequence[Event], place: int, stop: int) -> bool:
    """True if the call did not run because the person, or their settings, did not allow it."""
    call = events[place].tool
    for event in events[place + 1 : stop]:
        if event.kind is EventKind.TOOL_OUTPUT and event.tool and call and call.call and event.tool.call == call.call:
            return event.label_reason.endswith("not-run") or event.text.startswith(_REFUSED)
    return False


__all__ = ["Suggestion", "reply_lines", "suggestions"]
