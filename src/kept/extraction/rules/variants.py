"""The same command called in another way: other options, variables, quotes, versions, wrappers, or another program in its place.

Says whether a later step is a changed form of a failed one, and whether the difference says how the program wants to be called.
"""

from collections.abc import Sequence

from kept.extraction.rules.actions import Command
from kept.extraction.rules.commands import Step, difference, is_setting, unquote_word
from kept.extraction.rules.remedies import CHANGE_CHARS, PASSING, Failure, Remedy, format_code, strip_redirections
from kept.extraction.rules.toolwords import (
    CARRIERS,
    CHOOSES,
    CONTAINERS,
    LACKING,
    LESSENS,
    LOOKERS,
    MISUSED,
    MUFFLES,
    VERSIONED,
)

_OPERAND = 5  # characters from which a word is not shared by chance


def is_variant(failed: Step, passed: Step) -> bool:
    """Whether a later step is the same thing called in another way: other options, variables, version, wrapper or path of its
    program.
    """
    if failed.where not in ("", passed.where) or CARRIERS.fullmatch(failed.program) or failed.trivial:
        return False
    if failed.program != passed.program:
        return False
    gone, new = _differences(failed, passed)
    if not gone and not new:
        return failed.words[0] != passed.words[0]
    if _is_version_change(failed.program, gone, new) or _is_requoted(gone, new):
        return True
    spoken = any(" " in word for word in (*gone, *new))
    return not spoken and _is_only_options(failed, gone) and _is_only_options(passed, new)


def _differences(failed: Step, passed: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    gone, new = difference(failed, passed)
    if failed.words[:1] != passed.words[:1]:
        gone, new = (tuple(word for word in words if word not in (failed.words[0], passed.words[0])) for words in (gone, new))
    return gone, new


def _is_version_change(program: str, gone: Sequence[str], new: Sequence[str]) -> bool:
    """Whether only the version of the same thing differs; behind a colon only of images, elsewhere it is a port."""
    if not gone or len(gone) != len(new):
        return False
    pairs = [(VERSIONED.fullmatch(left), VERSIONED.fullmatch(right)) for left, right in zip(gone, new, strict=True)]
    return all(
        left and right and left[1] == right[1] and (left[2] != ":" or CONTAINERS.fullmatch(program)) for left, right in pairs
    )


def _is_requoted(gone: Sequence[str], new: Sequence[str]) -> bool:
    return bool(gone) and [unquote_word(word) for word in gone] == [unquote_word(word) for word in new]


def _is_only_options(step: Step, words: Sequence[str]) -> bool:
    """Whether all of some words of a step are options or the values behind them; a short option that stays may be a switch without
    one.
    """
    valued = False
    for word in step.words:
        if word == "--":
            valued = False
        elif word in words:
            if not (word.startswith("-") or valued):
                return False
            valued = True
        else:
            valued = word.startswith("--") and "=" not in word
    return True


def is_weakened(failed: Step, passed: Step) -> bool:
    """Whether a later form of a step does less than the failed one."""
    _, new = difference(failed, passed)
    return any(LESSENS.fullmatch(unquote_word(word)) for word in new)


def is_muffled(command: Command, step: Step) -> bool:
    """Whether a step of a command could fail without anyone seeing it: another one follows in that case, or always passes."""
    after = command.steps[command.steps.index(step) + 1 :]
    alternative = bool(after) and after[0].joint == "||"
    ending = bool(after) and after[-1].joint == ";" and after[-1].text in ("true", ":", "exit 0")
    return alternative or ending or MUFFLES.search(step.text) is not None


def find_variant_remedy(failure: Failure, success: Command, step: Step) -> Remedy | None:
    """Another way of calling that passed, as a remedy; None where the difference does not say how the program wants to be
    called.
    """
    failed = failure.step
    if is_weakened(failed, step):
        return None
    gone, new = _differences(failed, step)
    error = failure.error
    complains = MISUSED.search(error) is not None or error.startswith(f"{failed.program}:")
    flags = [word for word in (*gone, *new) if word.startswith("-") or is_setting(word)]
    if flags and all(CHOOSES.fullmatch(word) for word in flags) and not complains:
        return None
    if _is_requoted(gone, new):
        return _replacement_remedy(success, step) if any(unquote_word(word) in error for word in new) else None
    if LOOKERS.fullmatch(failed.program) and not complains and not LACKING.search(error):
        return None
    if gone and not new and not any(unquote_word(word).split("=", 1)[0] in failure.command.output.text for word in gone):
        return None
    return _replacement_remedy(success, step)


def find_replacement(failure: Failure, later: Command) -> Remedy | None:
    """Another program, or other options, that did what a program that is absent, or lacks an option, should have done."""
    failed = failure.step
    if not LACKING.search(failure.error):
        return None
    rest = {step.text for step in failure.command.steps if step is not failed and not step.trivial}
    operands = {unquote_word(word) for word in failed.words[1:] if len(word) >= _OPERAND and not word.startswith("-")}
    for place, step in enumerate(later.steps):
        beside = {other.text for other in later.steps[max(0, place - 1) : place + 2] if other is not step}
        tail = failed.words[1:]
        shares = operands & {unquote_word(word) for word in step.words[1:]} or (len(tail) > 1 and step.words[-len(tail) :] == tail)
        if (
            not step.trivial
            and step.words != failed.words
            and not (is_weakened(failed, step) or is_muffled(later, step))
            and (shares or (step.joint == "|" and rest & beside))
        ):
            return _replacement_remedy(later, step)
    return None


def _replacement_remedy(success: Command, step: Step) -> Remedy | None:
    text = strip_redirections(step.text)
    if len(text) > CHANGE_CHARS or "\n" in text or PASSING.search(text):
        return None
    return Remedy(clause=f"use {format_code(text)} instead", proof=((success.call, text),), rank=1, action=success)
