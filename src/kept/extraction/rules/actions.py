"""What was done in a run of events: commands with their outcome, and edits with what they changed.

Pairs each output with its call. Decides from structure first (exit status, the tool's own flag) and from the text second.
Knows nothing of fixes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kept.core.error_fingerprint import find_error_lines, score_error_line
from kept.core.event import Author, Event, EventKind, ToolUse
from kept.extraction.rules.commands import Step, main_step, steps_of
from kept.extraction.rules.toolwords import LOOKERS, NAMES

ARROW = "→"
PATCH_FILE = " File: "
_SHELLS = ("bash", "shell", "sh", "terminal", "exec", "command", "cmd", "powershell", "process")
_EDITORS = ("edit", "write", "patch", "replace", "create_file", "insert")
_PATCHES = ("apply_patch", "applypatch", "patch")
_NOT_RUN_CHARS = 400
_PRINTERS = frozenset({"git", "gh", "curl", "wget", "docker", "kubectl"})
_TELLING = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A command that ran: its place among the events, its line, its steps, and how it ended (None: the transcript does not say).

    ``errors`` are verbatim lines of the output, the most telling first; ``culprit`` is the step that failed, where that can be
    told.
    """

    place: int
    call: Event
    output: Event
    text: str
    steps: tuple[Step, ...]
    passed: bool | None
    stated: bool
    errors: tuple[str, ...]
    culprit: Step | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """A change to a file: its path as written, and the old and new text (old is empty for a whole file)."""

    place: int
    call: Event
    path: str
    old: str
    new: str


Done = tuple[tuple[Command, ...], tuple[Edit, ...]]


def actions_of(events: Sequence[Event]) -> Done:
    """The commands and edits whose output stands in the events, in order."""
    calls: dict[tuple[str, str], Event] = {}
    commands: list[Command] = []
    edits: list[Edit] = []
    for place, event in enumerate(events):
        tool = event.tool
        if tool is None or event.author in (Author.ABANDONED, Author.COMPACTION, Author.INJECTED):
            continue
        if event.kind is EventKind.TOOL_CALL:
            calls[event.session, tool.call] = event
        elif event.kind is EventKind.TOOL_OUTPUT:
            call = calls.get((event.session, tool.call), event)
            if _is_not_run(event):
                continue
            if is_edit(call.tool or tool):
                if tool.ok is not False:
                    edits.append(_edit(place, call, call.tool or tool))
            elif is_shell(tool if tool.name or call.tool is None else call.tool):  # an API's result names its call alone
                commands.append(_command(place, call, event))
    return tuple(commands), tuple(edits)


def is_shell(tool: ToolUse) -> bool:
    """Whether the tool runs command lines."""
    return _is_named(tool.name, _SHELLS)


@lru_cache(maxsize=512)
def _is_named(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name.casefold() for part in parts)


def is_edit(tool: ToolUse) -> bool:
    """Whether the tool changes a file."""
    if is_shell(tool):
        return tool.target.lstrip().startswith(_PATCHES)
    return _is_named(tool.name, _EDITORS)


def _is_not_run(event: Event) -> bool:
    return event.label_reason.endswith("not-run") or _tells_not_run(event.text)


@lru_cache(maxsize=512)
def _tells_not_run(text: str) -> bool:
    opening = text[:_NOT_RUN_CHARS].casefold()
    return any(words in opening for words in NAMES["not_run"])


def _edit(place: int, call: Event, tool: ToolUse) -> Edit:
    if is_shell(tool) or PATCH_FILE in tool.target:
        named = next((line for line in tool.target.splitlines() if PATCH_FILE in line), "")
        gone, come = (
            "\n".join(line[1:] for line in tool.target.splitlines() if line.startswith(sign) and not line.startswith(sign * 3))
            for sign in "-+"
        )
        return Edit(place=place, call=call, path=named.partition(PATCH_FILE)[2].strip(), old=gone, new=come)
    old, arrow, new = tool.detail.partition(f"\n{ARROW}\n")
    return Edit(place=place, call=call, path=tool.target, old=old if arrow else "", new=new if arrow else old)


def _command(place: int, call: Event, output: Event) -> Command:
    tool = output.tool or call.tool
    target = (call.tool.target if call.tool else "") or (tool.target if tool else "")
    code, ok = (tool.exit_code, tool.ok) if tool else (None, None)
    came = _parse_outcome(target, output.text, code=code, ok=ok)
    return Command(
        place=place,
        call=call,
        output=output,
        text=target,
        steps=came.steps,
        passed=came.passed,
        stated=came.stated,
        errors=came.errors,
        culprit=came.culprit,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _CommandOutcome:
    """What came of a command line, wherever it stands."""

    steps: tuple[Step, ...]
    passed: bool | None
    stated: bool
    errors: tuple[str, ...]
    culprit: Step | None


@lru_cache(maxsize=512)  # each episode looks back on the commands of those before it
def _parse_outcome(target: str, text: str, *, code: int | None, ok: bool | None) -> _CommandOutcome:
    steps = parse_steps(target)
    stated = code is not None or ok is not None
    failed = bool(code) or ok is False
    errors = find_error_lines(text) if failed or not stated or _hides_status(steps) else ()
    if failed or _is_masked_failure(steps, errors):
        culprit = _find_culprit(steps, errors, failed=failed)
        return _CommandOutcome(steps=steps, passed=False, stated=stated, errors=errors, culprit=culprit)
    return _CommandOutcome(steps=steps, passed=True if stated else None, stated=stated, errors=(), culprit=main_step(steps))


@lru_cache(maxsize=2048)
def parse_steps(command: str) -> tuple[Step, ...]:
    """The steps of a command line; parsing the same line again costs nothing."""
    return steps_of(command)


def _hides_status(steps: tuple[Step, ...]) -> bool:
    """Whether the shell reports the status of another step than the one that matters."""
    return any(step.joint in ("|", "||", ";") for step in steps)


def _is_masked_failure(steps: tuple[Step, ...], errors: tuple[str, ...]) -> bool:
    """Whether a command failed although its status does not say so: a program of its own steps, or an uncaught error, complains."""
    if not errors:
        return False
    if complaining_step(steps, errors) is not None:
        return True
    main = main_step(steps)
    prints = main is not None and (main.program in _PRINTERS or LOOKERS.fullmatch(main.program))
    return main is not None and not prints and score_error_line(errors[0]) >= _TELLING


def complaining_step(steps: tuple[Step, ...], errors: tuple[str, ...]) -> Step | None:
    """The step whose own program complains in an error line (``grep: invalid option``, ``command not found: jq``)."""
    for line in errors:
        head = line.split(": ", 1)[0].rsplit("/", 1)[-1].strip()
        for step in steps:
            named = step.program and head == step.program
            absent = (
                step.program
                and line.removesuffix(f": {step.program}").endswith("not found")
                and step.program in line.replace(":", " ").split()
            )
            globbed = "no matches found: " in line and line.rsplit("no matches found: ", 1)[1].strip() in step.words
            if named or absent or globbed:
                return step
    return None


def _find_culprit(steps: tuple[Step, ...], errors: tuple[str, ...], *, failed: bool) -> Step | None:
    missed = next(
        (step for step in steps if step.trivial and any(word in line for word in step.words[1:] for line in errors)), None
    )
    command_step = missed or complaining_step(steps, errors)
    if command_step is not None or not failed:
        return command_step or main_step(steps)
    serious = [step for step in steps if not step.trivial and not step.filters]
    return next(reversed(serious), None)
