"""Parse command lines, and find the actions in a run of events: commands with their outcome, and edits with their changes.

Reads shell syntax in one pass over a bounded text, and pairs each output with its call. Structure (the exit status, the tool's own
flag) decides before text. This module runs nothing and knows nothing of fixes.
"""

from collections.abc import Sequence
from functools import lru_cache

from kept.core.error_fingerprint import find_error_lines, score_error_line
from kept.core.event import Author, Event, EventKind, ToolUse
from kept.core.pattern import compile_late
from kept.core.value import dataclass
from kept.extraction.rules import toolwords

COMMAND_CHARS = 2_000  # characters of a command line that are read
STEPS_KEPT = 24
WORDS_KEPT = 60

_PLAIN = compile_late(r"[^\\'\"`()<|&;\n#]+")  # neither quotes nor operators
_GROUPS = compile_late(r"['\"`()]")
_PLAIN_WORD = compile_late(r"(?:[^\W_]|[-_:])+")
# Syntax with which a read-only program writes or runs something: a redirection (except to /dev/null), a substitution, an option.
_MAY_WRITE = compile_late(
    r"(?:(?<![0-9&-])|(?<=1))>(?!\s*/dev/null|&)|[$`]\(|`|<<|\s-{1,2}(?:i|exec|delete|ok)|\bxargs\b|\benv\b|\bsource\b|(?:^|\s)\.\s"
    r"|\b(?:sort|tree)\b[^|;&\n]*\s-(?:-output|\w*o)"
)
_KEYWORDS = frozenset(
    {"do", "done", "then", "else", "elif", "fi", "if", "while", "until", "for", "!", "{", "}", "(", ")", "case", "esac"}
)
_WRAPPERS = frozenset({"sudo", "time", "timeout", "nohup", "command", "exec", "env", "builtin"})
_RUNNERS = frozenset({"run", "exec", "run-script"})
_IDLE = _RUNNERS | {"--"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One simple command.

    ``text`` is verbatim, ``words`` are as written. ``joint`` is the operator between the previous step and this one. ``settings``
    are the variables set for it, and ``sudo``. ``where`` is the directory to which an earlier ``cd`` in the chain changed.
    """

    text: str
    words: tuple[str, ...]
    joint: str
    settings: tuple[str, ...] = ()
    where: str = ""

    @property
    def program(self) -> str:
        """The program's name without its directory."""
        return _program_name(self.words[0]) if self.words else ""

    @property
    def family(self) -> tuple[str, str]:
        """Program and subcommand. ``npm run test`` and ``npm test`` have the same family."""
        if toolwords.LOOKERS.fullmatch(self.program):
            return self.program, ""
        named = [word for word in self.words[1:6] if word not in _RUNNERS and not word.startswith("-")]
        return self.program, named[0] if named and _PLAIN_WORD.fullmatch(named[0]) else ""

    @property
    def trivial(self) -> bool:
        """True if the step only prepares the shell or prints."""
        return not self.words or _is_trivial(self.words[0])

    @property
    def filters(self) -> bool:
        """True if the step only shortens the output of another one."""
        return self.joint == "|" and toolwords.FILTERS.fullmatch(self.program) is not None


@lru_cache(maxsize=2048)
def _program_name(word: str) -> str:
    return unquote_word(word).rsplit("/", 1)[-1]


@lru_cache(maxsize=2048)
def _is_trivial(word: str) -> bool:
    return toolwords.TRIVIAL.fullmatch(_program_name(word)) is not None


def unquote_word(word: str) -> str:
    """A shell word without its quotes."""
    return word.replace('"', "").replace("'", "").replace("\\", "")


def find_output(events: Sequence[Event], number: int) -> Event | None:
    """The output of the tool call at index ``number``; None if it is not among the events."""
    call = events[number].tool
    later = (event for event in events[number + 1 :] if event.kind is EventKind.TOOL_OUTPUT and event.tool)
    return next((event for event in later if call and event.tool and event.tool.call == call.call), None)


def is_reading(command: str) -> bool:
    """True if no part of a command line writes, and each of its steps is known to only prepare, read or print."""
    return not _MAY_WRITE.search(command) and all(
        step.trivial or toolwords.LOOKERS.fullmatch(step.program) for step in parse_steps(command)
    )


@lru_cache(maxsize=2048)
def parse_steps(command: str) -> tuple[Step, ...]:
    """Split a command line into steps, in order. Leaves out comments and everything after a here-document."""
    text = command[:COMMAND_CHARS].replace("\\\n", "  ")
    steps: list[Step] = []
    begin, joint, place, depth, quote = 0, "", 0, 0, ""
    while place <= len(text) and len(steps) < STEPS_KEPT:
        if not quote and (plain := _PLAIN.match(text, place)):
            place = plain.end()
        char = text[place] if place < len(text) else "\n"
        width = 1
        if quote and place < len(text):
            if char == "\\" and quote == '"':
                width = 2
            elif char == quote:
                quote = ""
        elif char == "\\":
            width = 2
        elif char in "'\"`":
            quote = char
        elif char == "(":
            depth += 1
        elif char == ")":
            depth = max(0, depth - 1)
        elif text.startswith("<<", place) and not text.startswith("<<<", place):
            _append_step(steps, text[begin:place], joint)
            return tuple(steps)
        elif char == "#" and depth == 0 and text[max(0, place - 1) : place].strip("|&;") in ("", " ", "\t", "\n"):
            _append_step(steps, text[begin:place], joint)
            begin = text.find("\n", place) if "\n" in text[place:] else len(text)
            width = begin - place
        elif char in "|&;\n" and (depth == 0 or place >= len(text)) and not _is_redirection(text, place):
            width = 2 if text[place : place + 2] in ("&&", "||", ";;") else 1
            _append_step(steps, text[begin:place], joint)
            joint, begin = text[place : place + width].strip() or ";", place + width
        place += width
    if begin < len(text) and len(steps) < STEPS_KEPT:
        _append_step(steps, text[begin:], joint)
    return tuple(steps)


def _is_redirection(text: str, place: int) -> bool:
    return text[place : place + 1] == "&" and (text[place - 1 : place] in (">", "<") or text[place + 1 : place + 2] == ">")


def _append_step(found: list[Step], raw: str, joint: str) -> None:
    words = list(_split_command_words(raw))
    settings: list[str] = []
    while words and (words[0] in _KEYWORDS or words[0] in _WRAPPERS or is_setting(words[0])):
        word = words.pop(0)
        if is_setting(word) or word == "sudo":
            settings.append(word)
        while word == "timeout" and words and (words[0].startswith("-") or words[0][:1].isdigit()):
            words.pop(0)  # its options and its duration
    if words and words[0] == "export":
        settings.extend(word for word in words[1:] if is_setting(word))
    if words or settings:
        last = found[-1] if found else None
        where = last.words[1] if last and last.program == "cd" and len(last.words) > 1 else last.where if last else ""
        found.append(
            Step(
                text=raw.strip(), words=tuple(words[:WORDS_KEPT]), joint=joint, settings=tuple(settings), where=unquote_word(where)
            )
        )


def is_setting(word: str) -> bool:
    """True if a word sets an environment variable (``NAME=value``)."""
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _split_command_words(raw: str) -> list[str]:
    words: list[str] = []
    word, quote, depth, skip = "", "", 0, False
    if not _GROUPS.search(raw):
        for word in raw.split():
            skip = _append_word(words, word, skip=skip)
        return words
    for char in f"{raw} ":
        if quote:
            word += char
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote, word = char, word + char
        elif char.isspace() and depth == 0:
            skip = _append_word(words, word, skip=skip)
            word = ""
        else:
            depth += (char == "(") - (char == ")" and depth > 0)
            word += char
    if word.strip():
        _append_word(words, word, skip=skip)
    return words


def _append_word(words: list[str], word: str, *, skip: bool) -> bool:
    """Append a word unless it is a redirection; return True if the next word is the redirection's target."""
    if not word or skip:
        return False
    head = word.lstrip("0123456789&")
    if head[:1] in ("<", ">"):
        return head.strip("<>&") == "" and not head.endswith("&")
    words.append(word)
    return False


def _find_main_step(steps: tuple[Step, ...]) -> Step | None:
    """The main step of a chain: the last one that neither prepares nor filters."""
    return next((step for step in reversed(steps) if not step.trivial and not step.filters), None)


def compare_steps(left: Step, right: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that only the left step contains, and those that only the right step contains, in order."""
    ours, theirs = list(left.settings + left.words), list(right.settings + right.words)
    gone = [word for word in ours if word not in theirs and word not in _IDLE]
    new = [word for word in theirs if word not in ours and word not in _IDLE]
    return tuple(gone), tuple(new)


ARROW = "→"
PATCH_FILE = " File: "
_SHELLS = ("bash", "shell", "sh", "terminal", "exec", "command", "cmd", "powershell", "process")
_EDITORS = ("edit", "write", "patch", "replace", "create_file", "insert")
_PATCHES = ("apply_patch", "applypatch", "patch")
_NOT_RUN, _NOT_RUN_CHARS = tuple(toolwords.NAMES["not_run"]), 400
_PRINTERS = frozenset({"git", "gh", "curl", "wget", "docker", "kubectl"})
_TELLING = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A command that ran: its index among the events, its line, and the exit code and outcome that its tool reports.

    Line and output are parsed only when a rule asks for them, because most commands passed and no rule asks.
    """

    place: int
    call: Event
    output: Event
    text: str
    code: int | None
    ok: bool | None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the command line."""
        return parse_steps(self.text)

    @property
    def stated(self) -> bool:
        """True if the tool reports whether the command passed."""
        return self.code is not None or self.ok is not None

    @property
    def passed(self) -> bool | None:
        """True if the command passed, False if it failed, None if the transcript does not say."""
        return False if self.errors or self._is_stated_failure else True if self.stated else None

    @property
    def errors(self) -> tuple[str, ...]:
        """Verbatim lines of the output that say how the command failed, the most specific first."""
        return _find_errors(self.text, self.output.text, failed=self._is_stated_failure, stated=self.stated)

    @property
    def culprit(self) -> Step | None:
        """The step that failed, or None if that is unknown. For a command that passed, its main step."""
        if self.passed is False:
            return _find_culprit(self.steps, self.errors, failed=self._is_stated_failure)
        return _find_main_step(self.steps)

    @property
    def _is_stated_failure(self) -> bool:
        return bool(self.code) or self.ok is False


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """A change to a file: its path as written, the old text (empty for a whole file), and the new text."""

    place: int
    call: Event
    path: str
    old: str
    new: str


Actions = tuple[tuple[Command, ...], tuple[Edit, ...]]
_NO_ACTORS = Author.ABANDONED, Author.COMPACTION, Author.INJECTED
_CALL, _OUTPUT = EventKind.TOOL_CALL, EventKind.TOOL_OUTPUT


def find_actions(events: Sequence[Event]) -> Actions:
    """The commands and edits whose output is among the events, in order, from the first failed command on. Those before it can
    neither fix nor undo anything.
    """
    calls: dict[tuple[str, str], Event] = {}
    commands: list[Command] = []
    edits: list[Edit] = []
    for place, event in enumerate(events):
        tool = event.tool
        if tool is None or event.author in _NO_ACTORS:
            continue
        if event.kind is _CALL:
            calls[event.session, tool.call] = event
        elif event.kind is _OUTPUT:
            call = calls.get((event.session, tool.call), event)
            if is_edit(call.tool or tool):
                if commands and tool.ok is not False and not _is_not_run(event):
                    edits.append(_build_edit(place, call, call.tool or tool))
            elif is_shell(tool if tool.name or call.tool is None else call.tool):
                target = (call.tool or tool).target or tool.target  # in an API's transcript, a result only names its call
                command = Command(place=place, call=call, output=event, text=target, code=tool.exit_code, ok=tool.ok)
                if (commands or command.passed is False) and not _is_not_run(event):
                    commands.append(command)
    return tuple(commands), tuple(edits)


def is_shell(tool: ToolUse) -> bool:
    """True if the tool runs command lines."""
    return _is_named(tool.name, _SHELLS)


@lru_cache(maxsize=512)
def _is_named(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name.casefold() for part in parts)


def is_edit(tool: ToolUse) -> bool:
    """True if the tool changes a file."""
    return tool.target.lstrip().startswith(_PATCHES) if is_shell(tool) else _is_named(tool.name, _EDITORS)


def _is_not_run(event: Event) -> bool:
    text = event.text[:_NOT_RUN_CHARS].lower()
    for words in _NOT_RUN:
        if words in text:
            return True
    return event.label_reason.endswith("not-run")


def _build_edit(place: int, call: Event, tool: ToolUse) -> Edit:
    if is_shell(tool) or PATCH_FILE in tool.target:
        named = next((line for line in tool.target.splitlines() if PATCH_FILE in line), "")
        gone, come = (
            "\n".join(line[1:] for line in tool.target.splitlines() if line.startswith(sign) and not line.startswith(sign * 3))
            for sign in "-+"
        )
        return Edit(place=place, call=call, path=named.partition(PATCH_FILE)[2].strip(), old=gone, new=come)
    old, arrow, new = tool.detail.partition(f"\n{ARROW}\n")
    return Edit(place=place, call=call, path=tool.target, old=old if arrow else "", new=new if arrow else old)


@lru_cache(maxsize=1024)  # each episode reads the commands of earlier episodes again
def _find_errors(target: str, text: str, *, failed: bool, stated: bool) -> tuple[str, ...]:
    """The error lines of a command that failed according to its exit status or its output. Empty if it did not fail."""
    if stated and not failed and "|" not in target and ";" not in target and "\n" not in target:
        return ()  # a single step has the status of the whole command
    errors = find_error_lines(text)
    if failed or not errors:
        return errors
    steps = parse_steps(target)
    hides_status = any(step.joint in ("|", "||", ";") for step in steps)  # the status may be that of another step
    return errors if (not stated or hides_status) and _is_masked_failure(steps, errors) else ()


def _is_masked_failure(steps: tuple[Step, ...], errors: tuple[str, ...]) -> bool:
    """True if a command failed although its status says otherwise, because one of its programs reports an error, or an error is
    uncaught. ``errors`` must not be empty.
    """
    if _find_complaining_step(steps, errors) is not None:
        return True
    main = _find_main_step(steps)
    prints = main is not None and (main.program in _PRINTERS or toolwords.LOOKERS.fullmatch(main.program))
    return main is not None and not prints and score_error_line(errors[0]) >= _TELLING


def _find_complaining_step(steps: tuple[Step, ...], errors: tuple[str, ...]) -> Step | None:
    """The step whose own program reports an error (``grep: invalid option``, ``command not found: jq``); None if none does."""
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
    command_step = missed or _find_complaining_step(steps, errors)
    if command_step is not None or not failed:
        return command_step or _find_main_step(steps)
    serious = [step for step in reversed(steps) if not step.trivial and not step.filters]
    # A look at the result had nothing to look at.
    working = (step for step in serious if not toolwords.LOOKERS.fullmatch(step.program))
    return next(working, next(iter(serious), None))
