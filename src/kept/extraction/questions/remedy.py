"""Whether a claimed fix names what really helped: a command or change that was made in the session, or that the person names."""

from collections.abc import Iterable, Sequence

from kept.core.error_fingerprint import error_message, find_error_lines
from kept.core.event import Author, Event, EventKind
from kept.core.pattern import Pattern
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.extraction.rules.hazards import is_harmful_command, is_spoken, named_error
from kept.extraction.rules.installs import places_unnamed

_PASSAGE = Pattern(r"`([^`\n]{2,300})`")
_ADDRESS = Pattern(r"(?:https?|ftp|git|ssh)://[^\s`'\")>]+")
_ORDERED = Pattern(
    r"(?i)\b(?:run|running|ran|execute|executing|use|using|type|call|install|installing|set|setting|add|adding|führe"
    r"|starte|exécute\w*|ejecuta\w*|execute)\s+[\"'“]?(\S+(?: \S+)?)"
)
_INSTALLED = Pattern(r"[\w.-]+ (?:-m pip |tool |pip )?(?:install|add|i|get|require) \S+")
_STEPS = Pattern(r"&&|\|\||[;|]")
_PREPARING = frozenset(("cd", "export", "set", "source", "echo", "cat", "ls"))
_LONG = 4
_ASKS = ("?", "？")
_SHELL = Pattern(r"[|;&]|\$\(|^(?:sudo|curl|wget|bash|sh|rm|iex|powershell|eval)\b")


def is_unproven_fix(
    content: str, cited: Iterable[Event], events: Sequence[Event], *, told: bool = False, agreed: Iterable[Event] = ()
) -> bool:
    """Whether a claimed fix names no command or change that was made in the session and helped, nor one that the person names; what
    the person told in their own words, or said of the assistant's that it helped (``told``), needs none. A question is no fix.

    ``events`` are those of the session around the claim, in order. What helped is a call that passed after something had failed,
    and is named by what the failed call does not hold. A command that stands in a tool's text alone spoils the claim; one in a
    reply that the person ``agreed`` to does not, unless it harms.
    """
    if content.rstrip().endswith(_ASKS):
        return True
    said = "\n".join(one_line(typed_text(event)) for event in cited if event.author is Author.HUMAN).casefold()
    helped, failed = _find_helpful_calls(events)
    ran = "\n".join((*helped, *failed)).casefold()
    names = [one_line(name).casefold() for name in _PASSAGE.findall(content)]
    known = "\n".join((ran, said, *(one_line(event.text).casefold() for event in agreed)))
    foreign = (name for name in names if name not in known and not _is_error(name, events))
    shown = [name for name in _PASSAGE.findall(content) or [content] if one_line(name).casefold() not in said]
    if any(
        is_harmful_command(name) or (name != content and is_spoken(name) and named_error(name) != name.rstrip(" .:,;=([{"))
        for name in shown
    ):
        return True
    errors = [line for event in events if event.kind is EventKind.TOOL_OUTPUT for line in find_error_lines(event.text)]
    placed = shown if shown != [content] else _INSTALLED.findall(content)
    if places_unnamed((item for item in placed if one_line(item).casefold() not in said), errors, " ; ".join(failed)):
        return True
    orders = [name for name in _ADDRESS.findall(content.casefold()) if name not in ran and name not in said]
    if orders or any(_SHELL.search(name) or " " in name for name in foreign):
        return True
    before = "\n".join(failed).casefold()
    parts = {word for name in names for word in (name, *name.split()) if len(word) > 2}
    parts |= {match.casefold() for match in _ORDERED.findall(one_line(content).replace("`", ""))}
    made = any(part in call.casefold() and part not in before for call in helped for part in parts)
    again = any(name in call.casefold() for call in helped for name in names if " " in name and name not in _last_call(failed))
    return not (told or made or again or any(part in said for part in parts))


def holds_harmful_command(content: str) -> bool:
    """Whether a sentence holds a command that only a person may pass on."""
    return any(map(is_harmful_command, _PASSAGE.findall(content) or [content]))


def _last_call(calls: Sequence[str]) -> str:
    return calls[-1].casefold() if calls else ""


def _is_error(name: str, events: Sequence[Event]) -> bool:
    """Whether a passage is how an error of the session begins."""
    for event in events:
        if event.kind is EventKind.TOOL_OUTPUT:
            for line in find_error_lines(event.text):
                shown = one_line(error_message(line)).casefold()
                if not _SHELL.search(name) and name in shown[: len(name) + 40]:
                    return True
    return False


def _find_helpful_calls(events: Sequence[Event]) -> tuple[list[str], list[str]]:
    """The calls that passed between a failure and the passing of what had failed, and the calls that failed."""
    calls = {event.tool.call: event for event in events if event.kind is EventKind.TOOL_CALL and event.tool and event.tool.call}
    failed: list[str] = []
    passed: list[str] = []
    helped: list[str] = []
    for event in events:
        if event.kind is not EventKind.TOOL_OUTPUT or event.tool is None or event.author is not Author.TOOL:
            continue
        call = calls.get(event.tool.call, event)
        tool = call.tool or event.tool
        text = one_line(f"{tool.target}\n{tool.detail}")
        if event.tool.ok is False or event.tool.exit_code or (event.tool.ok is None and find_error_lines(event.text)):
            failed.append(text)
        elif failed:
            passed.append(text)
            if any(_is_similar_call(text, line) for line in failed):
                helped = list(passed)
    return helped, failed


def _is_similar_call(left: str, right: str) -> bool:
    """Whether two command lines run the same program, or are about the same things."""
    common = set(left.split()) & set(right.split())
    programs = [{step.split()[0] for step in _STEPS.split(line) if step.split()} - _PREPARING for line in (left, right)]
    return bool(programs[0] & programs[1]) or sum(len(word) >= _LONG for word in common) > 1
