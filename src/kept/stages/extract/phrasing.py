"""The one line of a known fix: the error, when it comes, what made it go away and why. Never cut inside a word."""

from collections.abc import Sequence
from itertools import pairwise

from kept.model.failure import readable
from kept.model.text import one_line
from kept.stages.extract.commands import Step

CONTENT_CHARS = 300
COMMAND_CHARS = 90
_ERROR_CHARS = 120
_TAIL_CHARS = 25
_WORD_CHARS = 40


def compose(error: str, command: str, *, remedy: str, cause: str) -> str:
    """One line of at most ``CONTENT_CHARS`` characters; what does not fit is left out whole.

    ``command`` and ``remedy`` may be empty. ``error`` is a line of an output; the rest is prose with code in backticks.
    """
    head = f"`{shown_error(error)}`" + (f" when running `{command}`" if command else "")
    parts = [part.rstrip(". ") for part in ((remedy, cause) if command else (cause, remedy)) if part]
    line, mark = head, ": "
    for part in parts:
        if len(line) + len(mark) + len(part) < CONTENT_CHARS and part.count("`") % 2 == 0:
            line, mark = line + mark + (part if mark == ": " else _sentence(part)), ". "
    return line if line.endswith(("。", "…")) else f"{line}."


def compose_rule(rule: str, message: str, command: str) -> str:
    """One line for a linter's rule whose own message says what to write."""
    said = message.removesuffix(f"({rule})").removeprefix(f"{rule}:").strip().removesuffix("(staticcheck)").strip(" .")
    return f"Linter rule `{rule}` (`{command}`): {_sentence(fit(said, CONTENT_CHARS - len(rule) - len(command) - 30))}."


def _sentence(text: str) -> str:
    """The text with a capital at its start, unless it starts with a name in its own spelling."""
    return text[:1].upper() + text[1:] if text.split(" ", 1)[0].isalpha() else text


def shown_error(error: str) -> str:
    """The message of an error line as it is quoted in a memory; of a long one its last clause."""
    message = ticked(readable(error))
    tail = message.rsplit(": ", 1)[-1]
    if len(message) > _ERROR_CHARS and _TAIL_CHARS <= len(tail) <= _ERROR_CHARS:
        message = tail
    return fit(message.rstrip(" .:"), _ERROR_CHARS)


def shown_command(step: Step, focus: Sequence[str]) -> str:
    """A command as people would name it: whole where it is short, else its program and the words of ``focus``."""
    text = ticked(one_line(" ".join((*step.settings, *step.words))))
    if len(text) <= COMMAND_CHARS:
        return text
    kept = [
        step.program,
        *(word for place, word in enumerate(step.words[1:]) if len(word) <= _WORD_CHARS and (place < 2 or word in focus)),
    ]
    return f"{fit(ticked(one_line(' '.join(kept))), COMMAND_CHARS - 2).removesuffix(' …')} …"


def shown_pipe(steps: Sequence[Step], step: Step, failed: Sequence[Step]) -> str:
    """The working step, with the piped steps after it whose programs the failed command did not run."""
    programs = {each.program for each in failed}
    place = next(index for index, each in enumerate(steps) if each is step)
    texts = [shown_command(step, ())]
    for _, right in pairwise(steps[place:]):
        if right.joint != "|" or right.program in programs:
            break
        texts.append(shown_command(right, ()))
    return fit(" | ".join(texts), COMMAND_CHARS)


def ticked(text: str) -> str:
    """The text with other quotes for its backticks, so that it can stand between backticks."""
    return text.replace("`", "'")


def fit(text: str, limit: int) -> str:
    """The text within a limit, cut between words where it has any."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 2].rsplit(" ", 1)[0]
    return f"{cut.rstrip(' ,;:')} …" if len(cut) > limit // 3 else f"{text[: limit - 1]}…"
