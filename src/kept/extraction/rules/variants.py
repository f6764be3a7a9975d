"""Variants of a failed command: other options, variables, quotes or wrappers, or another program in its place."""

from collections.abc import Sequence

from kept.core.value import replace
from kept.extraction.rules import toolwords
from kept.extraction.rules.commands import Command, Step, compare_steps, is_setting, unquote_word
from kept.extraction.rules.remedies import (
    CHANGE_CHARS,
    TEMPORARY_PATH,
    Failure,
    Remedy,
    format_code,
    is_same_step,
    strip_redirections,
)

_OPERAND = 5  # characters; two commands do not share so long a word by chance


def is_variant(failed: Step, passed: Step) -> bool:
    """True if a later step is a variant of the failed one: other options, variables, wrapper, or path of its program."""
    if failed.program != passed.program or failed.where not in ("", passed.where):
        return False
    if toolwords.CARRIERS.fullmatch(failed.program) or failed.trivial:
        return False
    gone, new = _compare_words(failed, passed)
    if not gone and not new:
        return failed.words[0] != passed.words[0]
    if _is_requoted(gone, new):
        return True
    spoken = any(" " in word for word in (*gone, *new))
    return not spoken and _is_only_options(failed, gone) and _is_only_options(passed, new)


def find_exported_variant(failure: Failure, success: Command) -> Remedy | None:
    """The remedy of a line ``export NAME=value && step``, read as the variant ``NAME=value step`` of the failed step; else None."""
    place = next(number for number, step in enumerate(success.steps) if is_same_step(failure.step, step))
    first = place
    while first and success.steps[first - 1].program == "export" and all(map(is_setting, success.steps[first - 1].words[1:])):
        first -= 1
    exported = tuple(word for step in success.steps[first:place] for word in step.words[1:])
    parts = success.steps[first : place + 1]
    start = end = success.text.find(parts[0].text)
    for part in parts:
        end = success.text.find(part.text, end) + len(part.text)
    variant = replace(parts[-1], text=success.text[start:end], settings=(*parts[-1].settings, *exported))
    return find_variant_remedy(failure, success, variant) if exported else None


def _compare_words(failed: Step, passed: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    gone, new = compare_steps(failed, passed)
    if failed.words[:1] != passed.words[:1]:
        gone, new = (tuple(word for word in words if word not in (failed.words[0], passed.words[0])) for words in (gone, new))
    return gone, new


def _is_requoted(gone: Sequence[str], new: Sequence[str]) -> bool:
    return bool(gone) and [unquote_word(word) for word in gone] == [unquote_word(word) for word in new]


def _is_only_options(step: Step, words: Sequence[str]) -> bool:
    """True if all given words of a step are options or their values. A short option of both steps is taken to have no value."""
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
    """True if the step that passed does less than the failed one."""
    _, new = compare_steps(failed, passed)
    return any(toolwords.LESSENS.fullmatch(unquote_word(word)) for word in new)


def is_muffled(command: Command, step: Step) -> bool:
    """True if a failure of the step would go unnoticed, because the command always succeeds or has an alternative to the step."""
    after = command.steps[command.steps.index(step) + 1 :]
    alternative = bool(after) and after[0].joint == "||"
    ending = bool(after) and after[-1].joint == ";" and after[-1].text in ("true", ":", "exit 0")
    return alternative or ending or toolwords.MUFFLES.search(step.text) is not None


def find_variant_remedy(failure: Failure, success: Command, step: Step) -> Remedy | None:
    """The variant that passed, as a remedy. None if its difference from the failed step does not show how to call the program."""
    failed = failure.step
    if is_weakened(failed, step):
        return None
    gone, new = _compare_words(failed, step)
    error = failure.error
    complains = toolwords.MISUSED.search(error) is not None or error.startswith(f"{failed.program}:")
    flags = [word for word in (*gone, *new) if word.startswith("-") or is_setting(word)]
    if flags and all(toolwords.CHOOSES.fullmatch(word) for word in flags) and not complains:
        return None
    if _is_requoted(gone, new):
        return _build_replacement(success, step) if any(unquote_word(word) in error for word in new) else None
    if toolwords.LOOKERS.fullmatch(failed.program) and not complains and not toolwords.LACKING.search(error):
        return None
    if gone and not new and not any(unquote_word(word).split("=", 1)[0] in failure.command.output.text for word in gone):
        return None
    return _build_replacement(success, step)


def find_replacement(failure: Failure, later: Command) -> Remedy | None:
    """A remedy that did the work of a missing program or option with another program or other options; None if there is none."""
    failed = failure.step
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
            return _build_replacement(later, step)
    return None


def _build_replacement(success: Command, step: Step) -> Remedy | None:
    text = strip_redirections(step.text)
    if len(text) > CHANGE_CHARS or "\n" in text or TEMPORARY_PATH.search(text):
        return None
    return Remedy(clause=f"use {format_code(text)} instead", proof=((success.call, text),), rank=1, action=success)
