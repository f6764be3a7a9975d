"""Command lines taken apart: the steps of a chain or pipe, the program and subcommand of each, and what differs between two.

Reads shell syntax in one pass over a bounded text. Runs nothing and does not know whether a program exists.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kept.core.event import Event, EventKind
from kept.extraction.rules.toolwords import FILTERS, LOOKERS, TRIVIAL

COMMAND_CHARS = 2_000
STEPS_KEPT = 24
WORDS_KEPT = 60

_PLAIN = re.compile(r"[^\\'\"`()<|&;\n#]+")  # characters that neither quote nor join
_GROUPS = re.compile(r"['\"`()]")
_PLAIN_WORD = re.compile(r"(?:[^\W_]|[-_:])+")
# What makes a reading program write or run another: a redirection but into nothing, a substitution, an option.
_MAY_WRITE = re.compile(
    r"(?:(?<![0-9&-])|(?<=1))>(?!\s*/dev/null|&)|[$`]\(|`|<<|\s-{1,2}(?:i|exec|delete|ok)|\bxargs\b|\benv\b|\bsource\b|(?:^|\s)\.\s"
)
_KEYWORDS = frozenset(
    {"do", "done", "then", "else", "elif", "fi", "if", "while", "until", "for", "!", "{", "}", "(", ")", "case", "esac"}
)
_WRAPPERS = frozenset({"sudo", "time", "nohup", "command", "exec", "env", "builtin"})
_RUNNERS = frozenset({"run", "exec", "run-script"})
_IDLE = _RUNNERS | {"--"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One simple command: its verbatim ``text``, the words as written, and the operator that joins it to the step before.

    ``settings`` are the variables set for it, and ``sudo``; ``where`` is the directory that the chain changed to before it.
    """

    text: str
    words: tuple[str, ...]
    joint: str
    settings: tuple[str, ...] = ()
    where: str = ""

    @property
    def program(self) -> str:
        """The program's name without its directory."""
        return unquote_word(self.words[0]).rsplit("/", 1)[-1] if self.words else ""

    @property
    def family(self) -> tuple[str, str]:
        """Program and subcommand; ``npm run test`` and ``npm test`` are one family."""
        if LOOKERS.fullmatch(self.program):
            return self.program, ""
        named = [word for word in self.words[1:6] if word not in _RUNNERS and not word.startswith("-")]
        return self.program, named[0] if named and _PLAIN_WORD.fullmatch(named[0]) else ""

    @property
    def trivial(self) -> bool:
        """Whether the step only prepares the shell or prints."""
        return not self.words or TRIVIAL.fullmatch(self.program) is not None

    @property
    def filters(self) -> bool:
        """Whether the step only shortens what another one prints."""
        return self.joint == "|" and FILTERS.fullmatch(self.program) is not None


def unquote_word(word: str) -> str:
    """A shell word without its quotes."""
    return word.replace('"', "").replace("'", "").replace("\\", "")


def find_output(events: Sequence[Event], number: int) -> Event | None:
    """What the tool call of a number printed; None where the events do not hold it."""
    call = events[number].tool
    later = (event for event in events[number + 1 :] if event.kind is EventKind.TOOL_OUTPUT and event.tool)
    return next((event for event in later if call and event.tool and event.tool.call == call.call), None)


def is_reading(command: str) -> bool:
    """Whether a command line only prepares, reads and prints: every step of it is known to, and no part of it writes."""
    return not _MAY_WRITE.search(command) and all(step.trivial or LOOKERS.fullmatch(step.program) for step in steps_of(command))


def steps_of(command: str) -> tuple[Step, ...]:
    """The steps of a command line, in order; comments, and what follows a here-document, are none."""
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
    words = list(_command_words(raw))
    settings: list[str] = []
    while words and (words[0] in _KEYWORDS or words[0] in _WRAPPERS or is_setting(words[0])):
        word = words.pop(0)
        if is_setting(word) or word == "sudo":
            settings.append(word)
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
    """Whether a word sets an environment variable (``NAME=value``)."""
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _command_words(raw: str) -> list[str]:
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
    """Keep a word unless it redirects; returns whether the next word is a redirection's target."""
    if not word or skip:
        return False
    head = word.lstrip("0123456789&")
    if head[:1] in ("<", ">"):
        return head.strip("<>&") == "" and not head.endswith("&")
    words.append(word)
    return False


def main_step(steps: tuple[Step, ...]) -> Step | None:
    """The step that a chain is run for: the last one that neither prepares nor filters."""
    return next((step for step in reversed(steps) if not step.trivial and not step.filters), None)


def difference(left: Step, right: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that only the left and only the right step have, in their order."""
    ours, theirs = list(left.settings + left.words), list(right.settings + right.words)
    gone = [word for word in ours if word not in theirs and word not in _IDLE]
    new = [word for word in theirs if word not in ours and word not in _IDLE]
    return tuple(gone), tuple(new)
